//! What a client with a connection may ask.

use std::{
    mem::take,
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use serde_json::Value;
use sinew_api::{
    Access, Authenticated, Command, Message, Request, Rules, Subscribed, Taken, Topic,
};
use sinew_robot::{Code, Refusal, Remedy};
use tokio::time::sleep_until;

use super::{
    Connection, Phase, Watched,
    work::{Asked, Work},
};
use crate::{
    dispatch::{Outcome, Own, Via, data},
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
        let Request { req, asked: message } = request;
        let mut asked = Asked::by(req);
        let mut greeting = Vec::new();
        let answer = message.and_then(|message| {
            asked.shown = self.shown(&message);
            self.decide(&mut asked, message, stamp, &mut greeting)
        });
        match answer {
            Ok(Answer::Later) => {}
            Ok(Answer::Data(data)) => self.respond(&asked, &Ok(data)),
            Err(refusal) => self.respond(&asked, &Err(refusal)),
        }
        self.out.append(&mut greeting);
    }

    /// What is shown to others if it is refused to a client that is not told.
    fn shown(&self, message: &Message) -> Option<(Arc<Member>, String)> {
        let meant = || self.hub.robot(message.robot.as_deref(), message.rules().capability).ok();
        let member = self.is_legacy().then(|| meant().or(self.hub.streamed())).flatten()?;
        Some((member, message.described()))
    }

    fn decide(
        &mut self,
        asked: &mut Asked,
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
        let (robot, rules) = (message.robot.clone(), message.rules());
        let via = match self.is_legacy() {
            true => Via::Legacy(&mut self.legacy),
            false => Via::Connection,
        };
        match hub.dispatch(&client, message, stamp, via)? {
            Outcome::Data(data) => {
                let _ = self.introduce();
                Ok(Answer::Data(data))
            }
            Outcome::Job(job) => {
                let _ = self.introduce();
                self.begin(asked, job)
            }
            Outcome::Halting(confirmed) => {
                let _ = self.introduce();
                let asked = take(asked);
                self.work.add_running(Box::pin(async { (asked, confirmed.await) }));
                Ok(Answer::Later)
            }
            Outcome::Own(own) => self.own(asked, robot.as_deref(), own, (rules, stamp), greeting),
        }
    }

    /// What is about this connection.
    fn own(
        &mut self,
        asked: &mut Asked,
        robot: Option<&str>,
        own: Own,
        terms: (Rules, Stamp),
        greeting: &mut Vec<u8>,
    ) -> Result<Answer, Refusal> {
        match own {
            Own::Auth { token, name } => self.authenticate(asked, token.as_deref(), name),
            Own::TakeControl { name } => self.take_control(asked, robot, name, terms),
            Own::Subscribe { topics, max_hz } => {
                self.subscribe(robot, &topics, max_hz, greeting).map(Answer::Data)
            }
            Own::Ack { topic, seq } => {
                self.acknowledge(robot, &topic, seq).map(|()| Answer::Data(Value::Null))
            }
        }
    }

    /// Puts a command among those of this client.
    fn begin(&mut self, asked: &mut Asked, job: Job) -> Result<Answer, Refusal> {
        if job.lasts() && self.watched == Watched::No {
            self.watched = Watched::Wanted;
        }
        self.work.add(take(asked), job).map_err(|given| {
            *asked = given;
            Work::too_many()
        })?;
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
        asked: &mut Asked,
        robot: Option<&str>,
        name: Option<String>,
        (rules, stamp): (Rules, Stamp),
    ) -> Result<Answer, Refusal> {
        let hub = Arc::clone(&self.hub);
        let member = hub.robot(robot, None)?;
        self.rename(name);
        let client = self.peer.client().clone();
        if member.relayed.is_some() {
            // Which client has the controls is known to the robot's own daemon; the relay tells it this one's name.
            let command = Command::TakeControl { name: None };
            let task = member.task(command, false, rules)?;
            let job = member.accept(&client, task, rules, stamp, &hub.workers)?;
            return self.begin(asked, job);
        }
        let from = member.take_control(&client);
        let (robot, from) = ((*member.name).into(), from.as_deref().map(Into::into));
        Ok(Answer::Data(data(&Taken { robot, from })))
    }

    fn authenticate(
        &mut self,
        asked: &mut Asked,
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
                    self.refuse_at(at, take(asked), refusal);
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
        let name = (*self.peer.client().name).into();
        Ok(Answer::Data(data(&Authenticated { access: client.access, name })))
    }

    /// Refuses something, but not before this time.
    fn refuse_at(&mut self, at: Instant, asked: Asked, refusal: Refusal) {
        self.work.add_running(Box::pin(async move {
            sleep_until(at.into()).await;
            (asked, Err(refusal))
        }));
    }

    fn rename(&mut self, name: Option<String>) {
        if let Some(name) = name {
            let mut client = self.peer.client();
            client.name = name.into();
            self.hub.members().iter().for_each(|member| member.rename(&client));
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
            // Where there is no robot yet, every one that joins has these.
            let may_come = members.is_empty() && matches!(topic, Topic::State | Topic::Events);
            if found.len() == before && !may_come {
                return Err(self.missing(robot, &members, topic));
            }
        }
        if topics.is_empty() {
            self.telemetry.clear();
            self.following.clear();
        }
        for (topic, member, ring) in &found {
            self.listen(topic, member, ring, max_hz, greeting);
        }
        self.following.add(robot, topics, max_hz);
        let subscribed = |(topic, member, _): &(&Topic, &Arc<Member>, _)| Subscribed {
            robot: (*member.name).into(),
            topic: topic.to_string(),
        };
        Ok(data(&found.iter().map(subscribed).collect::<Vec<_>>()))
    }

    /// Begins to read a topic of a robot, or reads it at another rate from now on.
    pub(super) fn listen(
        &mut self,
        topic: &Topic,
        member: &Member,
        ring: &Arc<Ring>,
        max_hz: Option<f64>,
        greeting: &mut Vec<u8>,
    ) {
        // Each event is said once: one that is left out would never be known.
        let max_hz = max_hz.filter(|_| *topic != Topic::Events);
        self.telemetry.add(ring, self.form(topic), max_hz);
        self.greet(topic, member, greeting);
    }

    /// Lets the next frame come. What is not subscribed any more needs none.
    fn acknowledge(&mut self, robot: Option<&str>, topic: &Topic, seq: u64) -> Result<(), Refusal> {
        let hub = Arc::clone(&self.hub);
        let members = hub.robots(robot)?;
        let given = members.iter().filter_map(|member| {
            let ring = member.feed.ring(topic)?;
            self.telemetry.reads(ring).then_some((member, ring))
        });
        match &given.collect::<Vec<_>>()[..] {
            [] => {}
            [(_, ring)] => self.telemetry.acknowledge(ring, seq),
            several => {
                let names: Vec<_> = several.iter().map(|(member, _)| &*member.name).collect();
                let message = format!("several robots give {topic}: {}", names.join(", "));
                return Err(Refusal::invalid(message).helped_by(Remedy::NameRobot));
            }
        }
        Ok(())
    }

    /// Tells what will not be told again soon.
    fn greet(&self, topic: &Topic, member: &Member, out: &mut Vec<u8>) {
        let text = match topic {
            Topic::State => Some(member.state_message(self.form(topic)).into()),
            Topic::Sensors(group) => member
                .retained(group)
                .map(|reading| member.feed.write_reading(self.form(topic), &reading)),
            Topic::Events | Topic::Frames(_) => None,
        };
        if let Some(text) = text {
            self.framing.put(&[&text], out);
        }
    }

    /// A robot's topic, if this connection can carry it.
    pub(super) fn ring<'a>(&self, member: &'a Member, topic: &Topic) -> Option<&'a Arc<Ring>> {
        let carries = self.form(topic) != Form::Frame || self.framing.carries_frames();
        member.feed.ring(topic).filter(|_| carries)
    }

    /// Why there is no such topic for this client.
    fn missing(&self, robot: Option<&str>, members: &[Arc<Member>], topic: &Topic) -> Refusal {
        let who = robot.unwrap_or("any robot here");
        let groups = || members.iter().flat_map(|member| &member.groups).map(|group| &**group);
        let (code, message) = match topic {
            Topic::Sensors(group) => {
                let groups: Vec<_> = groups().collect();
                let groups = groups.join(", ");
                let message = format!("sensors of {who}: wanted one of {groups}, got {group:?}");
                (Code::NotFound, message)
            }
            Topic::Frames(_) if !self.framing.carries_frames() => {
                (Code::Unsupported, format!("{topic} is bytes, which come on /ws only"))
            }
            Topic::State | Topic::Events | Topic::Frames(_) => {
                (Code::Unsupported, format!("{topic} is not a topic of {who}"))
            }
        };
        Refusal::new(code, message)
    }

    fn form(&self, topic: &Topic) -> Form {
        match topic {
            Topic::Frames(_) => Form::Frame,
            Topic::State | Topic::Events | Topic::Sensors(_) => match self.framing {
                Framing::Prefixed => Form::Legacy,
                Framing::Sangam => Form::Sangam,
                Framing::Lines | Framing::WebSocket => Form::Event,
            },
        }
    }

    /// Begins the stream that clients of document 003's interface expect without asking.
    pub(super) fn stream_legacy(&mut self) {
        let begun = !self.telemetry.is_empty();
        if begun || !self.framing.is_legacy() || self.peer.client().access < Access::Read {
            return;
        }
        let hub = Arc::clone(&self.hub);
        let Some(member) = hub.streamed() else { return };
        for group in &member.groups {
            let topic = Topic::Sensors((**group).into());
            if let Some(ring) = member.feed.ring(&topic) {
                self.telemetry.add(ring, self.form(&topic), None);
            }
        }
        if self.framing != Framing::Sangam {
            let mut greeting = self.lasting();
            self.out.append(&mut greeting);
        }
    }

    /// What is read once and stays true, of all that such a client gets.
    pub(super) fn lasting(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let Some(member) = self.hub.streamed() else { return out };
        for group in &member.groups {
            self.greet(&Topic::Sensors((**group).into()), &member, &mut out);
        }
        out
    }
}
