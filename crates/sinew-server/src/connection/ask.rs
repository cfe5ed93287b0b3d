//! What a client with a connection may ask.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use serde_json::{Value, json};
use sinew_robot::{Code, Refusal};
use tokio::time::sleep_until;

use super::{Connection, Reading, Watched};
use crate::{
    Access, Capability,
    feed::Topic,
    frame::Framing,
    hub::{Member, Order, Stamp},
    message::{Asked, Request},
    ring::{Form, Ring},
};

/// How an answer to a message comes about.
enum Outcome {
    /// It is there.
    Data(Value),
    /// A robot has to do something for it.
    Order(Arc<Member>, Order),
    /// It is held back until then.
    Late(Instant, Refusal),
}

impl Connection {
    pub(super) fn ask(&mut self, request: Request, stamp: Stamp) {
        let Request { req, asked } = request;
        let mut greeting = Vec::new();
        let outcome = asked.and_then(|(robot, asked)| self.decide(robot, asked, &mut greeting));
        let outcome = outcome.and_then(|outcome| match outcome {
            Outcome::Order(member, order) => self.begin(req.clone(), &member, order, stamp),
            Outcome::Late(at, refusal) => {
                let req = req.clone();
                self.work.add_running(Box::pin(async move {
                    sleep_until(at.into()).await;
                    (req, Err(refusal))
                }));
                Ok(None)
            }
            Outcome::Data(data) => Ok(Some(data)),
        });
        match outcome {
            Ok(None) => {}
            Ok(Some(data)) => self.respond(req.as_ref(), &Ok(data)),
            Err(refusal) => self.respond(req.as_ref(), &Err(refusal)),
        }
        self.out.append(&mut greeting);
    }

    fn decide(
        &mut self,
        robot: Option<String>,
        asked: Asked,
        greeting: &mut Vec<u8>,
    ) -> Result<Outcome, Refusal> {
        let hub = Arc::clone(&self.hub);
        let client = self.peer.client().clone();
        hub.permit(&client, asked.access())?;
        let robot = robot.as_deref();
        match asked {
            Asked::Auth { token, name } => return self.authenticate(token.as_deref(), name),
            Asked::Halt(halt) => {
                // Also for a client that finds no seat.
                let data = hub.halt(robot, &halt, &client.name)?;
                let _ = self.introduce();
                return Ok(Outcome::Data(data));
            }
            _ => self.introduce()?,
        }
        Ok(Outcome::Data(match asked {
            Asked::Robot(command, capability) => {
                let member = hub.robot(robot, Some(capability))?;
                return Ok(Outcome::Order(Arc::clone(member), Order::Vacuum(command)));
            }
            Asked::Teach(verb) => {
                let member = hub.robot(robot, Some(Capability::Teach))?;
                return Ok(Outcome::Order(Arc::clone(member), Order::Teach(verb)));
            }
            Asked::Incapable(capability) => {
                return Err(cannot(hub.robot(robot, Some(capability))?, capability));
            }
            Asked::TakeControl { name } => self.take_control(robot, name)?,
            Asked::Subscribe { topics, max_hz } => {
                self.subscribe(robot, &topics, max_hz, greeting)?
            }
            Asked::Robots | Asked::Auth { .. } | Asked::Halt(_) => hub.to_json(),
        }))
    }

    /// Puts a command among those of this client.
    fn begin(
        &mut self,
        req: Option<Value>,
        member: &Arc<Member>,
        order: Order,
        stamp: Stamp,
    ) -> Result<Option<Value>, Refusal> {
        if order.moves_by_itself() && self.watched == Watched::No {
            self.watched = Watched::Wanted;
        }
        let client = self.peer.client().clone();
        let job = member.accept(&client, order, stamp)?;
        self.work.add(req, job)?;
        Ok(None)
    }

    /// A valid message came, so the client is no stranger any more, if there is a seat for it.
    fn introduce(&self) -> Result<(), Refusal> {
        self.peer.is_new.store(false, Ordering::Release);
        if self.peer.guest.introduce() {
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
        member.take_control(&client);
        Ok(Value::Null)
    }

    fn authenticate(
        &mut self,
        token: Option<&str>,
        name: Option<String>,
    ) -> Result<Outcome, Refusal> {
        let hub = Arc::clone(&self.hub);
        if let Some(token) = token {
            let mut client = self.peer.client();
            match hub.access(token) {
                Ok(access) => client.access = access,
                Err(refusal) => {
                    let at = hub.guesses.wrong(client.address, std::time::Instant::now());
                    // Too many wrong ones wait for their answer: this one gets none.
                    let at = at.ok_or_else(|| {
                        self.reading = Reading::Over;
                        refusal.clone()
                    })?;
                    return Ok(Outcome::Late(at, refusal));
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
        Ok(Outcome::Data(json!({ "access": access, "name": &*name })))
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
                members.iter().filter_map(|member| Some((topic, member, member.feed.ring(topic)?))),
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
            self.telemetry.add(ring, self.form(), max_hz);
            member.robot.listen(true);
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
            Topic::State => Some(member.state_message(self.form())),
            Topic::Sensors(group) => member
                .robot
                .lasting(group)
                .map(|reading| member.feed.write_reading(self.form(), &reading)),
            Topic::Events | Topic::Cloud => None,
        };
        if let Some(text) = text {
            self.framing.put(&[text.as_bytes()], out);
        }
    }

    fn form(&self) -> Form {
        match self.framing {
            Framing::Prefixed => Form::Legacy,
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
        let has =
            |member: &&Arc<Member>| member.robot.capabilities().contains(&Capability::Components);
        let Some(member) = hub.robots.iter().find(has) else { return };
        let mut greeting = Vec::new();
        for group in member.robot.groups() {
            let topic = Topic::Sensors((*group).into());
            if let Some(ring) = member.feed.ring(&topic) {
                self.telemetry.add(ring, Form::Legacy, None);
                member.robot.listen(true);
                self.greet(&topic, member, &mut greeting);
            }
        }
        self.out.append(&mut greeting);
    }
}

fn cannot(member: &Member, capability: Capability) -> Refusal {
    Refusal::new(Code::Unsupported, format!("{} cannot {} here", member.name, capability.verb()))
}

fn missing(robot: Option<&str>, members: &[Arc<Member>], topic: &Topic) -> Refusal {
    let who = robot.unwrap_or("any robot here");
    let Topic::Sensors(group) = topic else {
        let message = format!("{topic} is not a topic of {who}");
        return Refusal::new(Code::Unsupported, message);
    };
    let groups: Vec<_> = members.iter().flat_map(|member| member.robot.groups()).copied().collect();
    Refusal::new(
        Code::NotFound,
        format!("sensors of {who}: wanted one of {}, got {group:?}", groups.join(", ")),
    )
}
