//! What a client with a connection may ask.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use serde_json::{Value, json};
use sinew_api::{Access, Command, Message, Request, Topic};
use sinew_robot::{Code, Refusal};
use tokio::time::sleep_until;

use super::{Connection, Phase, Watched};
use crate::{
    dispatch::{Outcome, Via},
    frame::Framing,
    hub::{Job, Member, Stamp},
    ring::{Form, Ring},
};

/// The reply to a message.
enum Answer {
    /// It is there.
    Data(Value),
    /// It comes later.
    Later,
}

impl Connection {
    pub(super) fn ask(&mut self, request: Request, stamp: Stamp) {
        let Request { req, asked } = request;
        let mut greeting = Vec::new();
        let answer =
            asked.and_then(|message| self.decide(req.as_ref(), message, stamp, &mut greeting));
        match answer {
            Ok(Answer::Later) => {}
            Ok(Answer::Data(data)) => self.respond(req.as_ref(), &Ok(data)),
            Err(refusal) => self.respond(req.as_ref(), &Err(refusal)),
        }
        self.out.append(&mut greeting);
    }

    fn decide(
        &mut self,
        req: Option<&Value>,
        message: Message,
        stamp: Stamp,
        greeting: &mut Vec<u8>,
    ) -> Result<Answer, Refusal> {
        let hub = Arc::clone(&self.hub);
        let client = self.peer.client().clone();
        hub.permit(&client, message.rules().access)?;
        // To show a token, or to stop, a client needs no seat.
        match message.rules().urgent {
            true => {}
            false => self.introduce()?,
        }
        let robot = message.robot.clone();
        match hub.dispatch(&client, message, stamp, Via::Connection)? {
            Outcome::Data(data) => {
                let _ = self.introduce();
                Ok(Answer::Data(data))
            }
            Outcome::Job(job) => {
                let _ = self.introduce();
                self.begin(req, job)
            }
            Outcome::Own(command) => self.own(req, robot.as_deref(), command, greeting),
        }
    }

    /// What is about this connection.
    fn own(
        &mut self,
        req: Option<&Value>,
        robot: Option<&str>,
        command: Command,
        greeting: &mut Vec<u8>,
    ) -> Result<Answer, Refusal> {
        match command {
            Command::Auth { token, name } => self.authenticate(req, token.as_deref(), name),
            Command::TakeControl { name } => self.take_control(robot, name).map(Answer::Data),
            Command::Subscribe { topics, max_hz } => {
                self.subscribe(robot, &topics, max_hz, greeting).map(Answer::Data)
            }
            _ => Ok(Answer::Later),
        }
    }

    /// Puts a command among those of this client.
    fn begin(&mut self, req: Option<&Value>, job: Job) -> Result<Answer, Refusal> {
        if job.lasts() && self.watched == Watched::No {
            self.watched = Watched::Wanted;
        }
        self.work.add(req.cloned(), job)?;
        Ok(Answer::Later)
    }

    /// A valid message came, so the client is no stranger any more, if there is a seat for it.
    fn introduce(&self) -> Result<(), Refusal> {
        self.peer.is_new.store(false, Ordering::Release);
        if self.peer.seat.introduce() {
            return Ok(());
        }
        self.hub.metrics.count_turned_away();
        Err(self.hub.no_seat())
    }

    fn take_control(
        &mut self,
        robot: Option<&str>,
        name: Option<String>,
    ) -> Result<Value, Refusal> {
        let hub = Arc::clone(&self.hub);
        let member = hub.robot(robot, None)?;
        self.rename(name);
        let client = self.peer.client().clone();
        let from = member.take_control(&client);
        Ok(json!({ "robot": &*member.name, "from": from.as_deref() }))
    }

    fn authenticate(
        &mut self,
        req: Option<&Value>,
        token: Option<&str>,
        name: Option<String>,
    ) -> Result<Answer, Refusal> {
        let hub = Arc::clone(&self.hub);
        if let Some(token) = token {
            let mut client = self.peer.client();
            match hub.access(token) {
                Ok(access) => client.access = access,
                Err(refusal) => {
                    let at = hub.guesses.wrong(client.address, std::time::Instant::now());
                    // Too many wrong tokens wait for their answer: this one gets none.
                    let at = at.ok_or_else(|| {
                        self.phase = Phase::Over;
                        refusal.clone()
                    })?;
                    drop(client);
                    self.refuse_at(at, req.cloned(), refusal);
                    return Ok(Answer::Later);
                }
            }
        }
        let client = self.peer.client().clone();
        hub.permit(&client, Access::Read)?;
        // Without a seat it may still stop.
        let _ = self.introduce();
        self.rename(name);
        self.stream_legacy();
        let access = match client.access {
            Access::Control => "control",
            _ => "read",
        };
        let name = Arc::clone(&self.peer.client().name);
        Ok(Answer::Data(json!({ "access": access, "name": &*name })))
    }

    /// Refuses something, but not before this time.
    fn refuse_at(&mut self, at: Instant, req: Option<Value>, refusal: Refusal) {
        self.work.add_running(Box::pin(async move {
            sleep_until(at.into()).await;
            (req, Err(refusal))
        }));
    }

    fn rename(&mut self, name: Option<String>) {
        if let Some(name) = name {
            let mut client = self.peer.client();
            client.name = name.into();
            self.hub.robots.iter().for_each(|member| member.rename(&client));
        }
    }

    /// Subscribes to more, or ends all subscriptions when no topic is given.
    fn subscribe(
        &mut self,
        robot: Option<&str>,
        topics: &[Topic],
        max_hz: Option<f64>,
        greeting: &mut Vec<u8>,
    ) -> Result<Value, Refusal> {
        let hub = Arc::clone(&self.hub);
        let members = hub.robots(robot)?;
        let mut found: Vec<(&Topic, &Arc<Member>, &Arc<Ring>)> = Vec::new();
        for topic in topics {
            let before = found.len();
            found.extend(
                members
                    .iter()
                    .filter_map(|member| Some((topic, member, self.ring(member, topic)?))),
            );
            if found.len() == before {
                return Err(missing(robot, members, topic));
            }
        }
        if topics.is_empty() {
            self.telemetry.clear();
        }
        for (topic, member, ring) in &found {
            // Each event is said once: one that is left out would never be known.
            let max_hz = max_hz.filter(|_| **topic != Topic::Events);
            self.telemetry.add(ring, self.form(topic), max_hz);
            self.greet(topic, member, greeting);
        }
        Ok(found
            .iter()
            .map(|(topic, member, _)| json!({ "robot": &*member.name, "topic": topic.to_string() }))
            .collect())
    }

    /// Tells what will not be told again soon.
    fn greet(&self, topic: &Topic, member: &Member, out: &mut Vec<u8>) {
        let text = match topic {
            Topic::State => Some(member.state_message(self.form(topic))),
            Topic::Sensors(group) => member
                .robot
                .retained(group)
                .map(|reading| member.feed.write_reading(self.form(topic), &reading)),
            Topic::Events | Topic::Cloud => None,
        };
        if let Some(text) = text {
            self.framing.put(&[text.as_bytes()], out);
        }
    }

    /// A robot's topic, if this connection can carry it.
    fn ring<'a>(&self, member: &'a Member, topic: &Topic) -> Option<&'a Arc<Ring>> {
        let carries = self.form(topic) != Form::Frame || self.framing.carries_frames();
        member.feed.ring(topic).filter(|_| carries)
    }

    fn form(&self, topic: &Topic) -> Form {
        match (topic, self.framing) {
            (Topic::Cloud, _) => Form::Frame,
            (_, Framing::Prefixed) => Form::Legacy,
            _ => Form::Event,
        }
    }

    /// Begins the stream that a length-prefixed client expects without asking.
    pub(super) fn stream_legacy(&mut self) {
        let begun = !self.telemetry.is_empty();
        let legacy = self.framing == Framing::Prefixed;
        if begun || !legacy || self.peer.client().access < Access::Read {
            return;
        }
        let hub = Arc::clone(&self.hub);
        let has = |member: &&Arc<Member>| member.robot.components.is_some();
        let Some(member) = hub.robots.iter().find(has) else { return };
        let mut greeting = Vec::new();
        for group in &member.groups {
            let topic = Topic::Sensors((*group).into());
            if let Some(ring) = member.feed.ring(&topic) {
                self.telemetry.add(ring, Form::Legacy, None);
                self.greet(&topic, member, &mut greeting);
            }
        }
        self.out.append(&mut greeting);
    }
}

fn missing(robot: Option<&str>, members: &[Arc<Member>], topic: &Topic) -> Refusal {
    let who = robot.unwrap_or("any robot here");
    let Topic::Sensors(group) = topic else {
        let message = format!("{topic} is not a topic of {who}");
        return Refusal::new(Code::Unsupported, message);
    };
    let groups: Vec<_> = members.iter().flat_map(|member| &member.groups).copied().collect();
    Refusal::new(
        Code::NotFound,
        format!("sensors of {who}: wanted one of {}, got {group:?}", groups.join(", ")),
    )
}
