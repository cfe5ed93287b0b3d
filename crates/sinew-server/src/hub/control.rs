use std::{
    fmt,
    future::poll_fn,
    sync::{Arc, Mutex},
};

use serde_json::Value;
use sinew_robot::{Code, Refusal, teach::Verb, vacuum::Command};
use tokio::sync::Notify;

use crate::{Access, Robot, feed::Feed, lock};

/// A robot with a name, its telemetry, and who controls it.
pub(crate) struct Member {
    pub(crate) name: Arc<str>,
    pub(crate) robot: Arc<dyn Robot>,
    pub(crate) feed: Feed,
    pub(crate) control: Mutex<Control>,
    /// Told when the holder changes.
    pub(crate) changed: Notify,
}

/// Who is on the other side of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) id: u64,
    pub(crate) name: Arc<str>,
    pub(crate) access: Access,
}

#[derive(Debug, Default)]
pub(crate) struct Control {
    pub(crate) holder: Option<Client>,
    /// How often the robot was stopped; a command that was waiting meanwhile is not sent.
    stops: u64,
    stopped_by: Option<Arc<str>>,
}

impl Member {
    pub(crate) fn new(name: &str, robot: Arc<dyn Robot>) -> Self {
        let feed = Feed::new(name, robot.groups());
        let (control, changed) = (Mutex::default(), Notify::new());
        Member { name: name.into(), robot, feed, control, changed }
    }

    /// Stops the robot before anything that waits, whoever asks.
    pub(crate) fn stop(&self, by: &Arc<str>) {
        let mut control = lock(&self.control);
        control.stops += 1;
        control.stopped_by = Some(Arc::clone(by));
        // With the lock held, a command is either on its way before this or refused after it.
        self.robot.stop(by);
    }

    /// Takes the controls from whoever has them.
    pub(crate) fn take_control(&self, client: &Client) {
        let before = lock(&self.control).holder.replace(client.clone());
        if let Some(before) = before.filter(|before| before.id != client.id) {
            self.robot.taken(&before.name);
        }
        self.changed.notify_one();
    }

    /// Accepts a command of a client, who gets the controls if nobody has them.
    pub(crate) fn accept(self: &Arc<Self>, client: &Client, order: Order) -> Result<Job, Refusal> {
        let mut control = lock(&self.control);
        match &control.holder {
            _ if order.is_free() => {}
            Some(holder) => self.check_holder(holder, client)?,
            None => {
                control.holder = Some(client.clone());
                self.changed.notify_one();
            }
        }
        // It ends what was asked before it, also what is still waiting.
        if order.is_urgent() {
            control.stops += 1;
            control.stopped_by = Some(Arc::clone(&client.name));
        }
        let (member, client) = (Arc::clone(self), client.clone());
        Ok(Job { member, client, order, stops: control.stops })
    }

    fn check_holder(&self, holder: &Client, client: &Client) -> Result<(), Refusal> {
        if holder.id == client.id {
            return Ok(());
        }
        Err(Refusal::new(
            Code::Busy,
            format!("{} holds the controls of {}; TakeControl takes them", holder.name, self.name),
        ))
    }

    /// Frees the controls if this client has them.
    pub(crate) fn free(&self, client: &Client) -> bool {
        let mut control = lock(&self.control);
        let held = control.holder.as_ref().is_some_and(|holder| holder.id == client.id);
        if held {
            control.holder = None;
            self.changed.notify_one();
        }
        held
    }

    /// Frees the controls because this client has gone, and tells the robot if it had them.
    pub(crate) fn leave(&self, client: &Client) {
        if self.free(client) {
            self.robot.release(&client.name);
        }
    }

    /// Shows a new name of a client where it holds the controls.
    pub(crate) fn rename(&self, client: &Client) {
        let mut control = lock(&self.control);
        if let Some(holder) = control.holder.as_mut().filter(|holder| holder.id == client.id) {
            holder.name = Arc::clone(&client.name);
            self.changed.notify_one();
        }
    }
}

/// What a robot is told to do.
#[derive(Debug)]
pub(crate) enum Order {
    Vacuum(Command),
    Teach(Verb),
}

impl Order {
    /// `drive` Reset, the emergency stop of clients that know no other, and the end of playback.
    /// Disable is not: a client that switches one component after the other off means all of them.
    fn is_urgent(&self) -> bool {
        matches!(self, Order::Vacuum(Command::DriveReset) | Order::Teach(Verb::Stop))
    }

    /// Whether it only asks.
    fn is_query(&self) -> bool {
        matches!(self, Order::Teach(verb) if verb.is_query())
    }

    /// Whether it needs no controls: anyone may ask, anyone may stop, and the library is no robot.
    fn is_free(&self) -> bool {
        match self {
            Order::Teach(Verb::Play { .. }) | Order::Vacuum(_) => false,
            Order::Teach(verb) => verb.is_query() || verb.is_of_library() || *verb == Verb::Stop,
        }
    }
}

/// A command that was accepted and waits for its turn.
#[derive(Debug)]
pub(crate) struct Job {
    member: Arc<Member>,
    client: Client,
    order: Order,
    stops: u64,
}

impl Job {
    /// Whether it must not wait for those before it.
    pub(crate) fn is_urgent(&self) -> bool {
        self.order.is_urgent()
    }

    /// Has the robot do it, unless it was stopped or the controls were taken meanwhile.
    pub(crate) async fn run(self) -> Result<Value, Refusal> {
        let Job { member, client, order, stops } = self;
        let (query, free) = (order.is_query(), order.is_free());
        let mut execution = match order {
            Order::Vacuum(command) => {
                let execution = member.robot.execute(command, &client.name);
                Box::pin(async { execution.await.map(|()| Value::Null) })
            }
            Order::Teach(verb) => member.robot.teach(verb, &client.name),
        };
        let mut begun = false;
        poll_fn(|context| {
            if begun {
                return execution.as_mut().poll(context);
            }
            let control = lock(&member.control);
            if control.stops != stops && !query {
                let by = control.stopped_by.as_deref().unwrap_or("somebody");
                let message = format!("{by} stopped {} before it was sent", member.name);
                return Err(Refusal::new(Code::NotReady, message)).into();
            }
            if let Some(holder) = control.holder.as_ref().filter(|_| !free)
                && let Err(busy) = member.check_holder(holder, &client)
            {
                return Err(busy).into();
            }
            begun = true;
            execution.as_mut().poll(context)
        })
        .await
    }
}

/// The controls for as long as one request takes; a request that is cut short was a client who
/// left.
#[derive(Debug)]
pub(crate) struct Lease {
    member: Arc<Member>,
    client: Client,
    done: bool,
}

impl Lease {
    pub(crate) fn new(member: &Arc<Member>, client: &Client) -> Self {
        Lease { member: Arc::clone(member), client: client.clone(), done: false }
    }

    pub(crate) fn end(mut self) {
        self.done = true;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.done {
            self.member.free(&self.client);
        } else {
            self.member.leave(&self.client);
        }
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("name", &self.name).finish_non_exhaustive()
    }
}
