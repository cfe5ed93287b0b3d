use std::{
    fmt,
    future::poll_fn,
    net::IpAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use serde_json::Value;
use sinew_robot::{Code, Refusal, teach::Verb, vacuum::Command};
use tokio::sync::Notify;

use super::Epoch;
use crate::{Access, Robot, feed::Feed, lock};

/// A robot with a name, its telemetry, and who controls it.
pub(crate) struct Member {
    pub(crate) name: Arc<str>,
    pub(crate) robot: Arc<dyn Robot>,
    pub(crate) feed: Feed,
    pub(crate) control: Mutex<Control>,
    /// Told when the holder changes.
    pub(crate) changed: Notify,
    epoch: Epoch,
}

/// Who is on the other side of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) id: u64,
    pub(crate) name: Arc<str>,
    pub(crate) access: Access,
    pub(crate) address: IpAddr,
    /// It sends no more; set before its controls are freed.
    pub(crate) gone: Arc<AtomicBool>,
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
    /// The last stop: nothing that was asked for before it is sent.
    stopped: Cut,
    /// The last time that only what moves was cut off.
    halted: Cut,
}

/// A moment before which what was asked for is not carried out, and who made it.
#[derive(Debug, Default)]
struct Cut {
    epoch: u64,
    by: Option<Arc<str>>,
    /// A client whose own commands it does not cut off.
    spared: Option<u64>,
}

impl Control {
    /// Refuses what was asked for before a stop.
    fn check_stops(
        &self,
        robot: &str,
        client: &Client,
        nature: Nature,
        stamp: Stamp,
    ) -> Result<(), Refusal> {
        if nature.query {
            return Ok(());
        }
        let cuts = [Some(&self.stopped), Some(&self.halted).filter(|_| nature.moves)];
        let cuts_off = |cut: &&Cut| cut.epoch > stamp.epoch && cut.spared != Some(client.id);
        let Some(cut) = cuts.into_iter().flatten().find(cuts_off) else {
            return Ok(());
        };
        let by = cut.by.as_deref().unwrap_or("a client");
        let message = format!("{by} stopped {robot} before it was sent");
        Err(Refusal::new(Code::NotReady, message))
    }
}

impl Member {
    pub(crate) fn new(name: &str, robot: Arc<dyn Robot>, epoch: Epoch) -> Self {
        let feed = Feed::new(name, robot.groups());
        let (control, changed) = (Mutex::default(), Notify::new());
        Member { name: name.into(), robot, feed, control, changed, epoch }
    }

    /// Stops the robot before anything that waits, whichever client asks.
    pub(crate) fn stop(&self, by: &Arc<str>) {
        let mut control = lock(&self.control);
        if control.stopped.epoch < u64::MAX {
            control.stopped = self.cut(by);
        }
        // With the lock held, a command is either on its way before this or refused after it.
        self.robot.stop(by);
    }

    /// Stops the robot for good: nothing that a client asks for is carried out any more.
    pub(crate) fn end(&self, by: &Arc<str>) {
        let mut control = lock(&self.control);
        control.stopped = Cut { epoch: u64::MAX, by: Some(Arc::clone(by)), spared: None };
        self.robot.stop(by);
    }

    /// Stops the wheels before anything that waits, and drops what would move them.
    pub(crate) fn disable(&self, by: &Arc<str>) {
        let mut control = lock(&self.control);
        control.halted = self.cut(by);
        self.robot.disable(by);
    }

    fn cut(&self, by: &Arc<str>) -> Cut {
        let epoch = self.epoch.fetch_add(1, Ordering::AcqRel) + 1;
        Cut { epoch, by: Some(Arc::clone(by)), spared: None }
    }

    /// Gives a client the controls. If another had them, what that one set moving ends.
    pub(crate) fn take_control(&self, client: &Client) {
        let mut control = lock(&self.control);
        let before = control.holder.replace(client.clone());
        if before.is_some_and(|before| before.id != client.id) {
            // What the new holder sent behind this may have been read before it.
            control.halted = Cut { spared: Some(client.id), ..self.cut(&client.name) };
            self.robot.taken(&client.name);
        }
        self.changed.notify_one();
    }

    /// Accepts a command of a client, which gets the controls if no other has them.
    pub(crate) fn accept(
        self: &Arc<Self>,
        client: &Client,
        order: Order,
        mut stamp: Stamp,
    ) -> Result<Job, Refusal> {
        let nature = order.nature();
        let mut control = lock(&self.control);
        // It ends what was asked before it, also what is still waiting.
        if order.is_urgent() && control.stopped.epoch < u64::MAX {
            control.stopped = self.cut(&client.name);
            stamp.epoch = control.stopped.epoch;
        }
        control.check_stops(&self.name, client, nature, stamp)?;
        client.check_presence(nature)?;
        match &control.holder {
            _ if nature.free => {}
            Some(holder) => self.check_holder(holder, client)?,
            None => {
                control.holder = Some(client.clone());
                self.changed.notify_one();
            }
        }
        let (member, client) = (Arc::clone(self), client.clone());
        Ok(Job { member, client, order, stamp })
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
    pub(crate) fn free(&self, client: &Client) {
        self.free_and(client, || {});
    }

    /// Frees the controls because this client has gone, and tells the robot if it had them.
    pub(crate) fn leave(&self, client: &Client) {
        self.free_and(client, || self.robot.release(&client.name));
    }

    fn free_and(&self, client: &Client, then: impl FnOnce()) {
        let mut control = lock(&self.control);
        if control.holder.as_ref().is_some_and(|holder| holder.id == client.id) {
            control.holder = None;
            self.changed.notify_one();
            // With the lock held: the next holder's commands come after it.
            then();
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

impl Client {
    /// Refuses what goes on moving for a client that has gone: it would outlive its end.
    fn check_presence(&self, nature: Nature) -> Result<(), Refusal> {
        if self.gone.load(Ordering::Acquire) && nature.needs_client {
            return Err(Refusal::new(Code::NotReady, "its client has gone"));
        }
        Ok(())
    }
}

/// What a robot is told to do.
#[derive(Debug)]
pub(crate) enum Order {
    Vacuum(Command),
    Teach(Verb),
}

/// What the rules ask about an order.
#[derive(Debug, Clone, Copy)]
struct Nature {
    /// It only asks.
    query: bool,
    /// The robot may move because of it.
    moves: bool,
    /// It must not begin when its client has gone.
    needs_client: bool,
    /// It needs no controls: any client may ask, any may stop, and the library is no robot.
    free: bool,
}

impl Order {
    /// Whether it ends playback, and so must not wait.
    fn is_urgent(&self) -> bool {
        matches!(self, Order::Teach(Verb::Stop))
    }

    /// Whether it goes on moving without further commands.
    pub(crate) fn moves_by_itself(&self) -> bool {
        match self {
            Order::Vacuum(command) => command.moves_by_itself(),
            Order::Teach(verb) => matches!(verb, Verb::Play { looped: true, .. }),
        }
    }

    fn nature(&self) -> Nature {
        match self {
            Order::Vacuum(command) => {
                let moves = command.is_driving();
                Nature { query: false, moves, needs_client: moves, free: false }
            }
            // A single play ends by itself.
            Order::Teach(Verb::Play { looped, .. }) => {
                Nature { query: false, moves: true, needs_client: *looped, free: false }
            }
            Order::Teach(verb) => Nature {
                query: verb.is_query(),
                moves: false,
                needs_client: false,
                free: verb.is_query() || verb.is_of_library() || *verb == Verb::Stop,
            },
        }
    }
}

/// A command that was accepted and waits for its turn.
#[derive(Debug)]
pub(crate) struct Job {
    member: Arc<Member>,
    client: Client,
    order: Order,
    stamp: Stamp,
}

impl Job {
    /// Whether it must not wait for those before it.
    pub(crate) fn is_urgent(&self) -> bool {
        self.order.is_urgent()
    }

    /// Has the robot do it, unless it was stopped or the controls were taken meanwhile.
    pub(crate) async fn run(self) -> Result<Value, Refusal> {
        let Job { member, client, order, stamp } = self;
        let nature = order.nature();
        let mut execution = match order {
            Order::Vacuum(command) => {
                let execution = member.robot.execute(command, &client.name, stamp.received);
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
            control.check_stops(&member.name, &client, nature, stamp)?;
            client.check_presence(nature)?;
            if let Some(holder) = control.holder.as_ref().filter(|_| !nature.free) {
                member.check_holder(holder, &client)?;
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
