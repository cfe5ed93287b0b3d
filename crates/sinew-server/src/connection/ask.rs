//! What a client with a connection may ask.

use std::sync::Arc;

use serde_json::{Value, json};
use sinew_robot::{Code, Refusal};

use super::Connection;
use crate::{
    Access, Capability,
    feed::Topic,
    frame::Framing,
    hub::{Member, Order},
    message::{Asked, Request},
    ring::{Form, Ring},
};

impl Connection {
    pub(super) fn ask(&mut self, request: Request) {
        let Request { req, asked } = request;
        let mut greeting = Vec::new();
        let result = asked.and_then(|(robot, asked)| {
            self.hub.permit(&self.client, asked.access())?;
            let robot = robot.as_deref();
            match asked {
                Asked::Robot(command, capability) => {
                    let member = self.hub.robot(robot, Some(capability))?;
                    return member.accept(&self.client, Order::Vacuum(command)).map(Err);
                }
                Asked::Teach(verb) => {
                    let member = self.hub.robot(robot, Some(Capability::Teach))?;
                    return member.accept(&self.client, Order::Teach(verb)).map(Err);
                }
                Asked::Incapable(capability) => {
                    let member = self.hub.robot(robot, Some(capability))?;
                    Err(cannot(member, capability))
                }
                Asked::Stop => {
                    self.hub.robots(robot)?.iter().for_each(|one| one.stop(&self.client.name));
                    Ok(Value::Null)
                }
                Asked::Robots => Ok(self.hub.to_json()),
                Asked::TakeControl { name } => self.take_control(robot, name),
                Asked::Auth { token, name } => self.authenticate(token.as_deref(), name),
                Asked::Subscribe { topics, max_hz } => {
                    self.subscribe(robot, &topics, max_hz, &mut greeting)
                }
            }
            .map(Ok)
        });
        match result {
            Ok(Ok(data)) => self.respond(req.as_ref(), &Ok(data)),
            Err(refusal) => self.respond(req.as_ref(), &Err(refusal)),
            Ok(Err(job)) => {
                if let Err((req, refusal)) = self.work.add(req, job) {
                    self.respond(req.as_ref(), &Err(refusal));
                }
            }
        }
        self.out.append(&mut greeting);
    }

    fn take_control(
        &mut self,
        robot: Option<&str>,
        name: Option<String>,
    ) -> Result<Value, Refusal> {
        let hub = Arc::clone(&self.hub);
        let member = hub.robot(robot, None)?;
        self.rename(name);
        member.take_control(&self.client);
        Ok(Value::Null)
    }

    fn authenticate(
        &mut self,
        token: Option<&str>,
        name: Option<String>,
    ) -> Result<Value, Refusal> {
        if let Some(token) = token {
            self.client.access = self.hub.access(token)?;
        }
        self.hub.permit(&self.client, Access::Read)?;
        self.rename(name);
        self.stream_legacy();
        let access = match self.client.access {
            Access::Control => "control",
            _ => "read",
        };
        Ok(json!({ "access": access, "name": &*self.client.name }))
    }

    fn rename(&mut self, name: Option<String>) {
        if let Some(name) = name {
            self.client.name = name.into();
            self.hub.robots.iter().for_each(|member| member.rename(&self.client));
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
        let legacy = matches!(self.framing, Framing::Prefixed);
        if begun || !legacy || self.client.access < Access::Read {
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
