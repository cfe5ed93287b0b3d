use std::{
    fmt,
    future::poll_fn,
    net::IpAddr,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
    time::Instant,
};

use serde_json::{Value, json};
use sinew_api::{Access, Rules};
use sinew_robot::{
    Code, Epoch, Order, OrderKind, Origin, Presence, Refusal, Remedy,
    capability::{Audience, Capability, Nature, Reading, Robot, Task},
    drive::{self, HoldEnd},
};
use tokio::runtime::Handle;

use crate::{feed::Feed, lock, relay::Relayed};

/// A robot with a name, its telemetry, and the client that controls it.
pub(crate) struct Member {
    pub(crate) name: Arc<str>,
    /// What it is made of; nothing, where another daemon serves it.
    pub(crate) robot: Robot,
    /// How it is asked where another daemon serves it.
    pub(crate) relayed: Option<Relayed>,
    pub(crate) capabilities: Vec<Capability>,
    pub(crate) groups: Vec<Arc<str>>,
    pub(crate) feed: Arc<Feed>,
    pub(crate) control: Mutex<Control>,
    epoch: Epoch,
}

/// The client at the other end of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) id: u64,
    pub(crate) name: Arc<str>,
    pub(crate) access: Access,
    pub(crate) address: IpAddr,
    /// Ended before its controls are freed.
    pub(crate) presence: Presence,
}

/// When something was asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp {
    pub(crate) epoch: u64,
    pub(crate) received: Instant,
}

#[derive(Debug, Default)]
pub(crate) struct Control {
    pub(crate) holder: Option<Client>,
}

impl Member {
    pub(crate) fn new(name: &str, robot: Robot, feed: Arc<Feed>, epoch: Epoch) -> Self {
        let groups: Vec<_> = robot.groups().into_iter().map(Into::into).collect();
        feed.open(&groups, &robot.frames);
        let (name, capabilities, control) = (name.into(), robot.capabilities(), Mutex::default());
        Member { name, robot, relayed: None, capabilities, groups, feed, control, epoch }
    }

    /// One that another daemon serves.
    #[cfg(feature = "relay")]
    pub(crate) fn relay(name: &str, relayed: Relayed, feed: Arc<Feed>, epoch: Epoch) -> Self {
        let report = relayed.report();
        let groups = relayed.groups();
        feed.open(&groups, &relayed.frames());
        let (name, capabilities, control) = (name.into(), report.capabilities, Mutex::default());
        let (robot, relayed) = (Robot::new("relay"), Some(relayed));
        Member { name, robot, relayed, capabilities, groups, feed, control, epoch }
    }

    /// Whether it has a capability.
    pub(crate) fn can(&self, capability: Capability) -> bool {
        self.capabilities.contains(&capability)
    }

    /// It can be asked from now on.
    pub(crate) fn joins(&self) {
        if let Some(relayed) = &self.relayed {
            relayed.joins(self.epoch.now());
        }
    }

    /// The last reading of a group that stays true.
    pub(crate) fn retained(&self, group: &str) -> Option<Reading> {
        match &self.relayed {
            Some(relayed) => relayed.retained(group),
            None => self.robot.retained(group),
        }
    }

    /// Stops the robot, or its wheels, before anything that waits, whichever client asks.
    pub(crate) fn halt(&self, kind: OrderKind, by: &Client) {
        self.order(kind, by, self.epoch.advance());
    }

    /// Stops the robot for good: nothing that a client asks for is carried out any more.
    pub(crate) fn end(&self, by: &Arc<str>) {
        let by = Arc::clone(by);
        self.robot.order(&Order { kind: OrderKind::Stop, epoch: u64::MAX, by, client: None });
    }

    fn order(&self, kind: OrderKind, by: &Client, epoch: u64) {
        let (by, client) = (Arc::clone(&by.name), Some(by.id));
        self.robot.order(&Order { kind, epoch, by, client });
    }

    /// Ends the drivers. Returns when they have ended.
    pub(crate) fn shut_down(&self) {
        self.robot.drivers.iter().for_each(|(_, driver)| driver.shut_down());
    }

    /// Gives a client the controls; tells which other client had them. What that one set moving
    /// ends.
    pub(crate) fn take_control(&self, client: &Client) -> Option<Arc<str>> {
        let mut control = lock(&self.control);
        let before = control.holder.replace(client.clone());
        let before = before.filter(|before| before.id != client.id).map(|before| before.name);
        if let Some(from) = &before {
            self.order(OrderKind::Taken, client, self.epoch.advance());
            let (by, from) = (&*client.name, &**from);
            self.feed.event(json!({ "event": "taken", "by": by, "from": from }));
            tracing::info!(robot = &*self.name, "{by} took the controls from {from}");
        }
        self.feed.changed();
        before
    }

    /// Accepts a command of a client, which gets the controls if it needs them and no other has
    /// them. Those of a robot that another daemon serves are given there.
    pub(crate) fn accept(
        self: &Arc<Self>,
        client: &Client,
        task: Task,
        rules: Rules,
        mut stamp: Stamp,
        workers: &Handle,
    ) -> Result<Job, Refusal> {
        // A stop ends what was asked before it, also what is still waiting.
        if rules.urgent {
            stamp.epoch = self.epoch.advance();
            self.overtake(client, stamp.epoch);
        }
        client.check_presence(task.nature)?;
        if rules.controls && self.relayed.is_none() {
            let mut control = lock(&self.control);
            match &control.holder {
                Some(holder) => self.check_holder(holder, client)?,
                None => {
                    control.holder = Some(client.clone());
                    self.feed.changed();
                }
            }
        }
        let (member, client) = (Arc::clone(self), client.clone());
        Ok(Job { member, client, task, rules, stamp, workers: workers.clone() })
    }

    /// Remembers that nothing which came before is to be sent, where no session does.
    fn overtake(&self, by: &Client, epoch: u64) {
        if let Some(relayed) = &self.relayed {
            let (by, client) = (Arc::clone(&by.name), Some(by.id));
            relayed.note(Order { kind: OrderKind::Stop, epoch, by, client });
        }
    }

    /// Ends the velocity that a client holds, if it still has the controls; false when the robot has
    /// too much to do to hear it. What comes of it is an event.
    pub(crate) fn let_go(&self, client: &Client, stamp: Stamp, reason: HoldEnd) -> bool {
        let Some(drive) = &self.robot.drive else { return true };
        let Ok(task) = drive.drive(drive::Command::LetGo { reason }) else { return true };
        let control = lock(&self.control);
        if control.holder.as_ref().is_none_or(|holder| holder.id != client.id) {
            return true;
        }
        // The first poll puts it on its way, before the controls are taken or freed.
        let mut running = task.run(self.origin(client, stamp));
        let begun = running.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        !matches!(begun, Poll::Ready(Err(refusal)) if refusal.code == Code::Busy)
    }

    fn origin(&self, client: &Client, stamp: Stamp) -> Origin {
        let Stamp { epoch, received } = stamp;
        let (by, robot) = (Arc::clone(&client.name), Arc::clone(&self.name));
        let presence = client.presence.clone();
        Origin { by, client: client.id, robot, epoch, received, presence }
    }

    fn check_holder(&self, holder: &Client, client: &Client) -> Result<(), Refusal> {
        if holder.id == client.id {
            return Ok(());
        }
        let message = format!("{} holds the controls of {}", holder.name, self.name);
        Err(Refusal::new(Code::Busy, message).helped_by(Remedy::TakeControl))
    }

    /// Frees the controls if this client has them.
    pub(crate) fn free(&self, client: &Client) {
        match &self.relayed {
            Some(relayed) => relayed.done(client.id),
            None => self.free_and(client, || {}),
        }
    }

    /// Frees the controls because this client has gone, and tells the robot if it had them.
    pub(crate) fn leave(&self, client: &Client) {
        self.free_and(client, || self.order(OrderKind::Released, client, self.epoch.advance()));
    }

    fn free_and(&self, client: &Client, then: impl FnOnce()) {
        if let Some(relayed) = &self.relayed {
            return relayed.left(client.id);
        }
        let mut control = lock(&self.control);
        if control.holder.as_ref().is_some_and(|holder| holder.id == client.id) {
            control.holder = None;
            self.feed.changed();
            // With the lock held: the next holder's commands come after it.
            then();
        }
    }

    /// Shows a new name of a client where it holds the controls.
    pub(crate) fn rename(&self, client: &Client) {
        let mut control = lock(&self.control);
        if let Some(holder) = control.holder.as_mut().filter(|holder| holder.id == client.id) {
            holder.name = Arc::clone(&client.name);
            self.feed.changed();
        }
    }
}

impl Client {
    /// Refuses what goes on moving for a client that has gone: it would outlive its end.
    fn check_presence(&self, nature: Nature) -> Result<(), Refusal> {
        if self.presence.has_ended() && nature.needs_client {
            return Err(Refusal::new(Code::NotReady, "its client has gone"));
        }
        Ok(())
    }
}

/// A command that was accepted and waits for its turn.
#[derive(Debug)]
pub(crate) struct Job {
    member: Arc<Member>,
    client: Client,
    task: Task,
    rules: Rules,
    stamp: Stamp,
    /// Where goes on what must not end with its client.
    workers: Handle,
}

impl Job {
    /// The controls for as long as it takes.
    pub(crate) fn lease(&self) -> Lease {
        Lease { member: Arc::clone(&self.member), client: self.client.clone(), done: false }
    }

    /// Whether it must not wait for those before it.
    pub(crate) fn is_urgent(&self) -> bool {
        self.rules.urgent
    }

    /// Whether another daemon carries it out.
    pub(crate) fn is_relayed(&self) -> bool {
        self.member.relayed.is_some()
    }

    /// Whether it goes on moving without further commands.
    pub(crate) fn lasts(&self) -> bool {
        self.task.nature.lasts
    }

    /// Has the robot do it, unless its client has gone or the controls were taken meanwhile. What
    /// an order has overtaken, the robot refuses.
    pub(crate) async fn run(self) -> Result<Value, Refusal> {
        let Job { member, client, task, rules, stamp, workers } = self;
        if let Some(relayed) = &member.relayed {
            return relayed.run(task, rules, member.origin(&client, stamp), &workers).await;
        }
        let nature = task.nature;
        let mut execution = task.run(member.origin(&client, stamp));
        let mut begun = false;
        poll_fn(|context| {
            if begun {
                return execution.as_mut().poll(context);
            }
            // With the lock held, it is on its way before the controls are taken or freed.
            let control = lock(&member.control);
            client.check_presence(nature)?;
            if let Some(holder) = control.holder.as_ref().filter(|_| rules.controls) {
                member.check_holder(holder, &client)?;
            }
            begun = true;
            execution.as_mut().poll(context)
        })
        .await
    }
}

/// The controls for as long as one request takes; a request that is cut short was a client that
/// left.
#[derive(Debug)]
pub(crate) struct Lease {
    member: Arc<Member>,
    client: Client,
    done: bool,
}

impl Lease {
    pub(crate) fn end(mut self) {
        self.done = true;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.done {
            self.member.free(&self.client);
        } else {
            self.client.presence.end();
            self.member.leave(&self.client);
        }
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("name", &self.name).finish_non_exhaustive()
    }
}
