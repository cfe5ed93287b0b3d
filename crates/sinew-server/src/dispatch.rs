//! What becomes of a message, on whichever port it came.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use serde::Serialize;
use serde_json::Value;
use sinew_api::{Command, Message, Pong, Rules, Topic};
use sinew_robot::{
    Code, Refusal,
    capability::{Boxed, Capability, Drive, Task},
    component::Request,
    drive, mapping,
};

use crate::{
    hub::{Client, Hub, Job, Member, Stamp},
    legacy::{Legacy, Sent},
};

/// Why a raw frame for a robot of another daemon needs a connection.
const RAW: &str = "raw frames by POST: whether one drives is known to the robot's own daemon only, \
                   and there is no connection whose loss would stop the robot";

/// How a reply to a message comes about.
pub(crate) enum Outcome {
    /// Its data is there.
    Data(Value),
    /// A robot has to do something for it.
    Job(Job),
    /// Robots of other daemons are being stopped for it, and have yet to confirm that.
    Halting(Boxed<'static, Result<Value, Refusal>>),
    /// It is about the connection that it came on.
    Own(Own),
}

/// What is about the connection that it came on.
pub(crate) enum Own {
    Auth { token: Option<String>, name: Option<String> },
    TakeControl { name: Option<String> },
    Subscribe { topics: Vec<Topic>, max_hz: Option<f64> },
    Ack { topic: Topic, seq: u64 },
}

/// How a message came.
#[derive(Debug)]
pub(crate) enum Via<'a> {
    /// On a connection whose loss is noticed.
    Connection,
    /// The same, of document 003's interface.
    Legacy(&'a mut Legacy),
    /// By a request that ends with its reply.
    Post,
}

impl Hub {
    /// Does what a client asks, as far as it may and as the table of commands says.
    pub(crate) fn dispatch(
        &self,
        client: &Client,
        message: Message,
        stamp: Stamp,
        via: Via<'_>,
    ) -> Result<Outcome, Refusal> {
        let rules = message.rules();
        self.permit(client, rules.access)?;
        let robot = message.robot.as_deref();
        let is_post = matches!(via, Via::Post);
        if let Some(why) = rules.connection.filter(|_| is_post) {
            return Err(Refusal::new(Code::Unsupported, why));
        }
        let command = match message.command {
            Command::Halt(halt) => return self.halt(robot, &halt, client),
            Command::Robots => return Ok(Outcome::Data(data(&self.report()))),
            Command::Ping => return Ok(Outcome::Data(data(&self.pong()))),
            Command::Auth { token, name } => return Ok(Outcome::Own(Own::Auth { token, name })),
            Command::TakeControl { name } => return Ok(Outcome::Own(Own::TakeControl { name })),
            Command::Subscribe { topics, max_hz } => {
                return Ok(Outcome::Own(Own::Subscribe { topics, max_hz }));
            }
            Command::Ack { topic, seq } => return Ok(Outcome::Own(Own::Ack { topic, seq })),
            of_robot => of_robot,
        };
        let member = self.robot(robot, rules.capability)?;
        if let Via::Legacy(legacy) = via {
            let sent = Sent { client, member: &member, received: stamp.received };
            let task = self.legacy_task(legacy, &sent, command, message.confirmed, rules)?;
            let job = member.accept(client, task, rules, stamp, &self.workers);
            return job.map(Outcome::Job).inspect_err(|_| legacy.forget(&member));
        }
        let task = member.task(command, message.confirmed, rules)?;
        if is_post && task.nature.needs_connection {
            let why = if member.relayed.is_some() { RAW } else { sinew_api::DRIVING };
            return Err(Refusal::new(Code::Unsupported, why));
        }
        member.accept(client, task, rules, stamp, &self.workers).map(Outcome::Job)
    }
}

impl Hub {
    /// Has a capability check a command of a client that knows neither limits, dead-man nor
    /// `confirm`.
    fn legacy_task(
        &self,
        legacy: &mut Legacy,
        sent: &Sent<'_>,
        command: Command,
        confirmed: bool,
        rules: Rules,
    ) -> Result<Task, Refusal> {
        if sent.member.relayed.is_some() {
            if matches!(&command, Command::ComponentControl { id, .. } if id == drive::ID) {
                legacy.tell_strictness(sent);
            }
            return sent.member.task(command, confirmed, rules);
        }
        let Command::ComponentControl { id, action } = &command else {
            return sent.member.task(command, confirmed, rules);
        };
        let is_allowed = self.config.legacy_confirm.iter().any(|allowed| id == allowed);
        let confirmed = confirmed || is_allowed;
        if id == drive::ID {
            let drive = sent.member.drive()?;
            let command = drive::parse(action, confirmed)?;
            let hold = self.config.legacy_hold;
            return drive.drive(legacy.ease(sent, command, hold, drive.limits().deadman));
        }
        let id = id.clone();
        sent.member.task(command, confirmed, rules).map_err(|mut refusal| {
            if refusal.code == Code::NotConfirmed {
                refusal.message += &format!(
                    ", which a button of such a client does not say; legacy_confirm = [{id}] in \
                     [server] allows it"
                );
            }
            refusal
        })
    }
}

impl Member {
    fn drive(&self) -> Result<&Arc<dyn Drive>, Refusal> {
        self.robot.drive.as_ref().ok_or_else(|| Capability::Drive.missing(&self.name))
    }

    /// Has a capability check a command.
    pub(crate) fn task(
        &self,
        command: Command,
        confirmed: bool,
        rules: Rules,
    ) -> Result<Task, Refusal> {
        if let Some(relayed) = &self.relayed {
            let saved = match command {
                Command::Mapping(mapping::Request::Save { format }) => Some(format),
                _ => None,
            };
            let task = relayed.task(&self.name, command, confirmed, rules);
            return Ok(match saved {
                Some(format) => with_path(task, &self.name, format),
                None => task,
            });
        }
        let robot = &self.robot;
        let missing = |capability: Capability| capability.missing(&self.name);
        let components =
            || robot.components.as_ref().ok_or_else(|| missing(Capability::Components));
        match command {
            Command::ComponentControl { id, action } if id == drive::ID => {
                self.drive()?.drive(drive::parse(&action, confirmed)?)
            }
            Command::ComponentControl { id, action } => {
                components()?.control(Request::Control { id: &id, action: &action, confirmed })
            }
            Command::Dock => self.drive()?.drive(drive::Command::Dock),
            Command::Sync => components()?.control(Request::Sync),
            Command::Boot => components()?.control(Request::Boot),
            Command::Raw { command, payload } => {
                components()?.control(Request::Raw { command, payload })
            }
            Command::Teach(verb) => {
                let teach = robot.teach.as_ref().ok_or_else(|| missing(Capability::Teach))?;
                teach.teach(verb)
            }
            Command::Mapping(request) => {
                let mapping = robot.mapping.as_ref();
                let mapping = mapping.ok_or_else(|| missing(Capability::Mapping))?;
                match request {
                    mapping::Request::Save { format } => {
                        Ok(with_path(mapping.map(request)?, &self.name, format))
                    }
                    request => mapping.map(request),
                }
            }
            // Dispatched before a robot is chosen.
            Command::Halt(_)
            | Command::Robots
            | Command::Ping
            | Command::Auth { .. }
            | Command::TakeControl { .. }
            | Command::Subscribe { .. }
            | Command::Ack { .. } => {
                Err(Refusal::new(Code::Unsupported, "this is not asked of a robot"))
            }
        }
    }
}

/// Adds where HTTP has the file to what a robot answers. A robot's name has no characters that would
/// have to be written otherwise in an address.
fn with_path(task: Task, robot: &str, format: mapping::Format) -> Task {
    let path = format!("/api/v1/robots/{robot}/map?format={}", format.name());
    Task::new(task.nature, move |origin| async move {
        let mut data = task.run(origin).await?;
        if let Some(members) = data.as_object_mut() {
            members.insert("path".into(), path.into());
        }
        Ok(data)
    })
}

impl Hub {
    fn pong(&self) -> Pong {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (build, time_ms) = (env!("CARGO_PKG_VERSION").into(), now.as_millis() as u64);
        Pong { build, time_ms, http: self.http }
    }
}

/// A reply's data.
pub(crate) fn data(reply: &impl Serialize) -> Value {
    // Only a map whose keys are not text could fail.
    serde_json::to_value(reply).unwrap_or_default()
}
