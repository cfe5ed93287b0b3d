//! What a client's text does.

use std::time::{Duration, Instant};

use serde_json::json;
use sinew_wire::{
    text::is_unshowable,
    unitree::{
        FileRequest, Inner, Kind, Message, NetworkStatus, Request, VALIDATED, VALIDATION_NEEDED,
        arm, mapping, state::Faults, validation_answer_with,
    },
};

use super::{
    Call, MAX_CHANNELS, Robot,
    client::{Challenge, Client},
    stream::{self, Stream},
};

/// Channels that are remembered, those included that are to be closed: more come only to a caller
/// that closes none.
const MOST_KNOWN: usize = 1024;
/// After so many wrong answers the channel is closed.
const MAX_WRONG: u32 = 5;
/// A client that is not validated by then is closed: it keeps others out.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often the delay is measured.
const PROBE_EVERY: Duration = Duration::from_secs(10);
/// After how long the first message of a topic comes.
const FIRST: Duration = Duration::from_millis(20);
/// What a late caller missed is sent when it is no older than this.
const BACKLOG: Duration = Duration::from_millis(50);
/// Most characters of a topic that come back with its refusal.
const MOST_ECHOED: usize = 64;

impl Robot {
    pub(super) fn channel_opened(&mut self, now: Instant, id: u32) {
        let unitree = &mut self.unitree;
        unitree.counters.opened += 1;
        if unitree.clients.len() >= MOST_KNOWN {
            return;
        }
        let mut client = Client::new(now, PATIENCE);
        if unitree.options.md5.is_none() || unitree.clients.len() >= MAX_CHANNELS {
            client.cut();
        }
        unitree.clients.insert(id, client);
        self.challenge(now, id);
    }

    /// Asks a client, from now on, before anything else.
    fn challenge(&mut self, now: Instant, id: u32) {
        let unitree = &mut self.unitree;
        let Some(client) = unitree.clients.get_mut(&id) else { return };
        if client.is_closing() {
            return;
        }
        let challenge = format!("{:016x}{:016x}", unitree.rng.u64(..), unitree.rng.u64(..));
        client.say(&Message::with_data(Kind::Validation, "", challenge.as_str()));
        client.challenge = Challenge(challenge);
        client.is_valid = false;
        client.ask_at = Some(crate::later(now, PATIENCE));
    }

    pub(super) fn channel_text(&mut self, now: Instant, id: u32, text: &[u8]) {
        let unitree = &mut self.unitree;
        unitree.counters.received += 1;
        let Some(client) = unitree.clients.get_mut(&id).filter(|client| !client.is_closing())
        else {
            return;
        };
        let Ok(message) = Message::parse(text) else {
            unitree.counters.malformed += 1;
            return;
        };
        if message.kind == Kind::Validation {
            return self.validate(now, id, &message);
        }
        if !client.is_valid {
            unitree.counters.unvalidated += 1;
            return client.say(&refusal(VALIDATION_NEEDED));
        }
        match message.kind {
            Kind::Heartbeat => client.say(&message),
            Kind::Subscribe => self.subscribe(now, id, message.topic()),
            Kind::Unsubscribe => {
                Stream::of(message.topic()).for_each(|one| client.unsubscribe(one))
            }
            Kind::Req => self.call(now, id, &message),
            Kind::RtcInnerReq => self.inner(id, &message),
            Kind::Msg if message.topic() == stream::LIDAR_SWITCH => {
                self.switch_lidar(now, message.data.as_ref());
            }
            // Sticks, media and whatever else there may be have no effect here.
            _ => {}
        }
    }

    fn validate(&mut self, now: Instant, id: u32, message: &Message) {
        let unitree = &mut self.unitree;
        let (Some(md5), Some(client)) = (unitree.options.md5, unitree.clients.get_mut(&id)) else {
            return;
        };
        if client.is_valid {
            return;
        }
        if validation_answer_with(&client.challenge.0, md5).data != message.data {
            unitree.counters.wrong += 1;
            client.wrong += 1;
            client.say(&refusal(VALIDATION_NEEDED));
            if client.wrong >= MAX_WRONG {
                client.close();
            }
            return;
        }
        client.is_valid = true;
        client.wrong = 0;
        client.ask_at = unitree.options.revalidate_every.map(|every| crate::later(now, every));
        client.probe_at.get_or_insert(crate::later(now, PROBE_EVERY));
        client.say(&Message::with_data(Kind::Validation, "", VALIDATED));
        client.say(&Faults::All(unitree.options.faults.clone()).message());
    }

    fn subscribe(&mut self, now: Instant, id: u32, topic: &str) {
        let Some(client) = self.unitree.clients.get_mut(&id) else { return };
        if !stream::exists(topic, self.unitree.options.go2_voxels) {
            let shown = topic.chars().filter(|c| !is_unshowable(*c));
            let topic: String = shown.take(MOST_ECHOED).collect();
            return client.say(&refusal(&format!("Invalid Topic.{topic}")));
        }
        for one in Stream::of(topic) {
            let first = one.period().map(|_| crate::later(now, FIRST));
            client.streams.entry(one).or_insert(first);
        }
    }

    fn call(&mut self, now: Instant, client: u32, message: &Message) {
        let Ok(request) = Request::parse(message) else {
            self.unitree.counters.malformed += 1;
            return;
        };
        let Request { service, id, api_id, parameter, .. } = request;
        let call = Call { client, service, id, api_id };
        match call.service.as_str() {
            arm::SERVICE => self.call_arm(now, &call, &parameter),
            mapping::SERVICE => self.call_slam(now, &call, &parameter),
            _ => self.call_service(now, &call, &parameter),
        }
    }

    fn inner(&mut self, id: u32, message: &Message) {
        let unitree = &mut self.unitree;
        let Some(client) = unitree.clients.get_mut(&id) else { return };
        if let Ok(Some(FileRequest { uuid, path, .. })) = FileRequest::parse(message) {
            // What is not there gets no answer: none is known.
            if let Some(file) = unitree.slam.file(&path) {
                client.send_file(&uuid, &file);
            }
            return;
        }
        match Inner::parse(message) {
            Ok(Some(Inner::NetworkQuestion { uuid })) => {
                let status = NetworkStatus::Wifi;
                client.say(&Inner::NetworkAnswer { uuid, status }.message(true));
            }
            Ok(Some(Inner::TrafficSaving { disabled })) => {
                client.takes_all = disabled;
                client.say(&Inner::Execution { good: true }.message(true));
            }
            Ok(Some(Inner::RttProbe(_))) => unitree.counters.probes += 1,
            Ok(_) => {}
            Err(_) => unitree.counters.malformed += 1,
        }
    }

    /// Asks, probes and publishes what is due at a time.
    pub(super) fn step_clients(&mut self, at: Instant, now: Instant) {
        let ids: Vec<u32> = self.unitree.clients.keys().copied().collect();
        for id in ids {
            self.step_client(id, at, now);
        }
    }

    fn step_client(&mut self, id: u32, at: Instant, now: Instant) {
        let Some(client) = self.unitree.clients.get_mut(&id) else { return };
        if client.ask_at.is_some_and(|due| due <= at) {
            if client.is_valid {
                return self.challenge(now, id);
            }
            return client.close();
        }
        if client.probe_at.is_some_and(|due| due <= at) {
            client.probe_at = Some(crate::later(now, PROBE_EVERY));
            let probe = format!("{:016x}", self.unitree.rng.u64(..));
            let content = json!({ "req_type": "rtt_probe_send_from_mechine", "uuid": probe });
            client.say(&Inner::RttProbe(content).message(true));
        }
        let due = |(stream, due): (&Stream, &Option<Instant>)| {
            due.is_some_and(|due| due <= at).then_some(*stream)
        };
        let due: Vec<Stream> = client.streams.iter().filter_map(due).collect();
        for stream in due {
            let period = stream.period().unwrap_or(PROBE_EVERY);
            let next = crate::later(at, period);
            let late = now.saturating_duration_since(at) > BACKLOG.max(period);
            let next = if late { crate::later(now, period) } else { next };
            let message = self.content(stream, at);
            let Some(client) = self.unitree.clients.get_mut(&id) else { return };
            client.streams.insert(stream, Some(next));
            if let Some((form, bytes)) = message.filter(|_| client.is_valid) {
                client.publish(stream, form, bytes);
            }
        }
    }
}

fn refusal(text: &str) -> Message {
    Message { topic: None, info: Some(text.into()), ..Message::new(Kind::Err, "") }
}
