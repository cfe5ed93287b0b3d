//! Robots that another daemon serves.
//!
//! A relay stands where a robot of our own would: clients see, ask and stop it like any other, and all
//! of it is asked at the daemon that serves the robot. Who holds the controls is decided there. What is
//! seen to here is that nothing which was asked for before a stop is sent after it, and that a stop is
//! only said to have happened when it is confirmed.

mod halting;

use std::{
    fmt,
    future::poll_fn,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::Value;
use sinew_api::{Command, Halt, RobotReport, Rules, Taken};
use sinew_robot::{
    Code, Order, OrderKind, Origin, Overtaking, Refusal,
    capability::{Boxed, Capability, Frames, Nature, Reading, Task},
    mapping,
};
use tokio::runtime::Handle;

pub(crate) use self::halting::halt;
use self::halting::{Halting, Kind};
use crate::{dispatch::data, lock};

/// A robot that another daemon serves. None of its methods blocks; those that give futures do their
/// part when these are polled for the first time, which must take no longer than handing something
/// over: stops of other robots wait for it.
pub trait Relay: Send + Sync {
    /// All that there is to tell of the robot. The server gives it the name that it has here.
    fn report(&self) -> RobotReport;

    /// Its sensor groups. They, the capabilities in its report and [`frames`](Self::frames) stay as
    /// they were when it joined: one with others joins anew.
    fn groups(&self) -> Vec<Arc<str>> {
        self.report().sensors.into_iter().map(Into::into).collect()
    }

    /// Topics of frames that it publishes: `cloud`, `map`, `messages`.
    fn frames(&self) -> Vec<(&'static str, Frames)>;

    /// Asks the robot for something, on behalf of the client that `origin` names. The first poll puts
    /// it on its way. Gives the reply's data.
    fn ask(
        &self,
        command: Command,
        confirmed: bool,
        rules: Rules,
        origin: Origin,
    ) -> Boxed<'static, Result<Value, Refusal>>;

    /// Stops the robot. The first poll puts it on its way; it ends well once the robot's daemon has
    /// confirmed it, and otherwise after a time that it sets itself.
    fn halt(
        &self,
        halt: &Halt,
        by: &Arc<str>,
        client: u64,
        epoch: u64,
    ) -> Boxed<'static, Result<Value, Refusal>>;

    /// A client has gone, and with it what it held and set moving. Every client's end is told, several
    /// times maybe, whether it asked for anything or not. Something that it asked for may be polled for
    /// the first time in this very moment; the presence in its origin has ended by then.
    fn left(&self, client: u64);

    /// A client that had no connection, and asked for one thing, has its reply. What it asked for is carried out, though
    /// some of it may still wait.
    fn done(&self, client: u64) {
        self.left(client);
    }

    /// The map that is made of the robot's surroundings, as a file.
    fn export(&self, format: mapping::Format) -> Boxed<'static, Result<Vec<u8>, Refusal>>;

    /// The last reading of a group that is read once and stays true.
    fn retained(&self, group: &str) -> Option<Reading>;
}

/// A relay, and what it must not be asked any more.
#[derive(Clone)]
pub(crate) struct Relayed {
    relay: Arc<dyn Relay>,
    way: Arc<Way>,
}

/// The way to a robot. One that is replaced by another leaves it to that one, whose stops overtake
/// what still waits for the first.
#[derive(Default)]
struct Way {
    /// Held while something is put on its way: a stop comes before it or behind it, not between the
    /// look at what was stopped and the sending. The thread that hears clients does not wait for it.
    gate: Mutex<()>,
    overtaking: Mutex<Overtaking>,
    /// The orders that there were when the robot came.
    joined: AtomicU64,
    halting: Mutex<Halting>,
}

impl Relayed {
    /// A relay, in the place of the one before.
    pub(crate) fn new(relay: Arc<dyn Relay>, before: Option<&Relayed>) -> Self {
        Relayed { relay, way: before.map(|before| Arc::clone(&before.way)).unwrap_or_default() }
    }

    pub(crate) fn report(&self) -> RobotReport {
        self.relay.report()
    }

    pub(crate) fn groups(&self) -> Vec<Arc<str>> {
        self.relay.groups()
    }

    pub(crate) fn frames(&self) -> Vec<(&'static str, Frames)> {
        self.relay.frames()
    }

    pub(crate) fn retained(&self, group: &str) -> Option<Reading> {
        self.relay.retained(group)
    }

    #[cfg(feature = "maps")]
    pub(crate) fn export(
        &self,
        format: mapping::Format,
    ) -> Boxed<'static, Result<Vec<u8>, Refusal>> {
        self.relay.export(format)
    }

    pub(crate) fn left(&self, client: u64) {
        self.relay.left(client);
    }

    pub(crate) fn done(&self, client: u64) {
        self.relay.done(client);
    }

    /// What was asked for before this order is not sent any more.
    pub(crate) fn note(&self, order: Order) {
        lock(&self.way.overtaking).note(order);
    }

    /// It can be asked from now on, after so many orders: none of those before was given to it.
    pub(crate) fn joins(&self, epoch: u64) {
        self.way.joined.store(epoch, Ordering::Release);
    }

    /// What it takes to ask a command there.
    pub(crate) fn task(
        &self,
        name: &Arc<str>,
        command: Command,
        confirmed: bool,
        rules: Rules,
    ) -> Task {
        let nature = Nature {
            needs_client: rules.controls || rules.connection.is_some(),
            lasts: rules.connection.is_some(),
            needs_connection: goes_on(&command),
        };
        let (relay, name) = (Arc::clone(&self.relay), Arc::clone(name));
        Task::new(nature, move |origin| async move {
            let takes = matches!(command, Command::TakeControl { .. });
            let reply = relay.ask(command, confirmed, rules, origin).await?;
            Ok(if takes { taken(&name, &reply) } else { reply })
        })
    }

    /// Has a command carried out there, unless it is overtaken.
    pub(crate) async fn run(
        &self,
        task: Task,
        rules: Rules,
        origin: Origin,
        workers: &Handle,
    ) -> Result<Value, Refusal> {
        let nature = task.nature;
        let mut asking = task.run(origin.clone());
        if rules.urgent {
            return self.hasten(Kind::Command, asking, workers).await;
        }
        let mut begun = false;
        poll_fn(|context| {
            if begun {
                return asking.as_mut().poll(context);
            }
            let _gate = lock(&self.way.gate);
            self.check(&origin, rules, nature)?;
            begun = true;
            asking.as_mut().poll(context)
        })
        .await
    }

    /// Refuses what came before the robot did, or before an order that overtakes it.
    fn check(&self, origin: &Origin, rules: Rules, nature: Nature) -> Result<(), Refusal> {
        if origin.epoch < self.way.joined.load(Ordering::Acquire) {
            let message = format!("{} was not here yet when this was asked for", origin.robot);
            return Err(Refusal::new(Code::NotReady, message));
        }
        let drives = rules.capability == Some(Capability::Drive);
        let moves = drives || nature.lasts || nature.needs_connection;
        lock(&self.way.overtaking).check(origin, |kind| match kind {
            OrderKind::Stop => true,
            OrderKind::Disable => moves,
            OrderKind::Released => nature.needs_client,
            // Who has the controls is decided where the robot is.
            OrderKind::Taken => false,
        })
    }
}

/// Whether it may still move the robot when its client has its reply. Only the robot's daemon could tell what a raw frame
/// does, and a motion ends there with the client that asked for it.
fn goes_on(command: &Command) -> bool {
    match command {
        Command::Raw { .. } => true,
        Command::Teach(request) => request.op() == "play",
        _ => false,
    }
}

/// The reply to `TakeControl`, with the robot's name as it is here.
fn taken(robot: &str, reply: &Value) -> Value {
    let from = reply.get("from").and_then(Value::as_str).map(Into::into);
    data(&Taken { robot: robot.into(), from })
}

impl fmt::Debug for Relayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relayed").finish_non_exhaustive()
    }
}
