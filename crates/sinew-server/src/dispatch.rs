//! What becomes of a message, on whichever port it came.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};
use sinew_api::{Command, Message};
use sinew_robot::{
    Code, Refusal,
    capability::{Capability, Drive, Task},
    component::Request,
    drive,
};

use crate::{
    hub::{Client, Hub, Job, Member, Stamp},
    legacy::{Legacy, Sent},
};

/// How a reply to a message comes about.
pub(crate) enum Outcome {
    /// Its data is there.
    Data(Value),
    /// A robot has to do something for it.
    Job(Job),
    /// It is about the connection that it came on.
    Own(Command),
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
        match message.command {
            Command::Halt(halt) => return self.halt(robot, &halt, client).map(Outcome::Data),
            Command::Robots => return Ok(Outcome::Data(self.to_json())),
            Command::Ping => return Ok(Outcome::Data(ping())),
            Command::Subscribe { .. } | Command::TakeControl { .. } | Command::Auth { .. } => {
                return Ok(Outcome::Own(message.command));
            }
            Command::ComponentControl { .. }
            | Command::Sync
            | Command::Dock
            | Command::Boot
            | Command::Raw { .. }
            | Command::Teach(_)
            | Command::Mapping { .. } => {}
        }
        let member = self.robot(robot, rules.capability)?;
        if let Via::Legacy(legacy) = via {
            let sent = Sent { client, member, received: stamp.received };
            let task = self.legacy_task(legacy, &sent, message.command, message.confirmed)?;
            let job = member.accept(client, task, rules, stamp);
            return job.map(Outcome::Job).inspect_err(|_| legacy.forget(member));
        }
        let task = member.task(message.command, message.confirmed)?;
        if is_post && task.nature.needs_connection {
            return Err(Refusal::new(Code::Unsupported, sinew_api::DRIVING));
        }
        member.accept(client, task, rules, stamp).map(Outcome::Job)
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
    ) -> Result<Task, Refusal> {
        let Command::ComponentControl { id, action } = &command else {
            return sent.member.task(command, confirmed);
        };
        let is_allowed = self.config.legacy_confirm.iter().any(|allowed| id == allowed);
        let confirmed = confirmed || is_allowed;
        if id == drive::ID {
            let drive = sent.member.drive()?;
            let command = drive::parse(action, confirmed)?;
            let hold = self.config.legacy_hold;
            return drive.drive(legacy.ease(sent, command, hold, drive.deadman()));
        }
        let id = id.clone();
        sent.member.task(command, confirmed).map_err(|mut refusal| {
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
    fn task(&self, command: Command, confirmed: bool) -> Result<Task, Refusal> {
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
            _ => Err(missing(Capability::Mapping)),
        }
    }
}

fn ping() -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    json!({ "build": env!("CARGO_PKG_VERSION"), "time_ms": now.as_millis() as u64 })
}
