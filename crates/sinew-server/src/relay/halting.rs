//! Stops on their way to robots of other daemons. They go on whether or not the client that asked for
//! them is still there, and reads.

use std::{
    future::{poll_fn, ready},
    sync::{Arc, TryLockError},
    task::{Context, Poll, Waker},
};

use serde_json::Value;
use sinew_api::Halt;
use sinew_robot::{Code, Order, OrderKind, Refusal, capability::Boxed, cut};
use tokio::{runtime::Handle, sync::watch};

use super::Relayed;
use crate::{
    hub::{Client, Member},
    lock,
};

/// Stops of one robot that may wait for their confirmation. A client that sends them faster than they
/// are confirmed has the rest sent as one, so that it costs no more memory than that.
const MOST: usize = 16;
/// Robots that a refusal names.
const NAMED: usize = 32;
/// Characters of the reason of each.
const LONGEST: usize = 160;

/// Stops that are on their way.
#[derive(Default)]
pub(super) struct Halting {
    under_way: usize,
    /// What is sent as soon as one of those has ended: no more than one of each kind.
    waiting: Vec<(Kind, Started)>,
}

/// What is sent before all that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Stop,
    Reset,
    Disable,
    /// A command that stops, as that for what a robot plays.
    Command,
}

type Outcome = Result<Value, Refusal>;

struct Started {
    running: Boxed<'static, Outcome>,
    /// Where it is told how it ended.
    ended: watch::Sender<Option<Outcome>>,
}

/// Stops those of the robots that other daemons serve; what gives their confirmations, if there are
/// any such.
pub(crate) fn halt(
    members: &[Arc<Member>],
    halt: &Halt,
    by: &Client,
    epoch: u64,
    workers: &Handle,
) -> Option<Boxed<'static, Result<(), Refusal>>> {
    let begun = |member: &Arc<Member>| {
        let relayed = member.relayed.as_ref()?;
        Some((Arc::clone(&member.name), relayed.halt(halt, by, epoch, workers)))
    };
    let begun: Vec<_> = members.iter().filter_map(begun).collect();
    let count = members.len();
    (!begun.is_empty()).then(|| Box::pin(all(begun, count)) as Boxed<_>)
}

/// Waits for all of them, which are some of so many that were to stop; each goes on by itself.
async fn all(begun: Vec<(Arc<str>, Boxed<'static, Outcome>)>, count: usize) -> Result<(), Refusal> {
    let mut failed = Vec::new();
    for (robot, confirmation) in begun {
        if let Err(refusal) = confirmation.await {
            failed.push((robot, refusal));
        }
    }
    let Some((_, first)) = failed.first() else { return Ok(()) };
    let is_same = failed.iter().all(|(_, refusal)| refusal.code == first.code);
    let code = if is_same { first.code } else { Code::LinkLost };
    let why = |(robot, refusal): &(Arc<str>, Refusal)| {
        format!("{robot} ({})", cut(refusal.message.clone(), LONGEST))
    };
    let mut names: Vec<_> = failed.iter().take(NAMED).map(why).collect();
    if failed.len() > NAMED {
        names.push(format!("{} more", failed.len() - NAMED));
    }
    let others = if failed.len() < count { "; all others have stopped" } else { "" };
    let message = format!("not known to have stopped: {}{others}", names.join(", "));
    let robots = failed.iter().map(|(robot, _)| (**robot).into()).collect();
    Err(Refusal::new(code, message).about(robots))
}

impl Relayed {
    fn halt(
        &self,
        halt: &Halt,
        by: &Client,
        epoch: u64,
        workers: &Handle,
    ) -> Boxed<'static, Outcome> {
        let (order, kind) = match halt {
            Halt::Stop { .. } => (OrderKind::Stop, Kind::Stop),
            Halt::Reset => (OrderKind::Stop, Kind::Reset),
            Halt::Disable => (OrderKind::Disable, Kind::Disable),
        };
        let (name, client) = (Arc::clone(&by.name), by.id);
        self.note(Order { kind: order, epoch, by: name, client: Some(client) });
        self.hasten(kind, self.relay.halt(halt, &by.name, client, epoch), workers)
    }

    /// Puts something on its way before all that waits, without waiting for anything here; what gives
    /// its end.
    pub(super) fn hasten(
        &self,
        kind: Kind,
        mut running: Boxed<'static, Outcome>,
        workers: &Handle,
    ) -> Boxed<'static, Outcome> {
        {
            let mut halting = lock(&self.way.halting);
            if halting.under_way >= MOST {
                return ending(halting.wait(kind, running));
            }
            halting.under_way += 1;
        }
        let gate = match self.way.gate.try_lock() {
            Ok(gate) => Some(gate),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            // Something is being put on its way, and a worker may wait for that.
            Err(TryLockError::WouldBlock) => None,
        };
        let is_begun = gate.is_some();
        if is_begun
            && let Poll::Ready(outcome) =
                running.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        {
            if let Some(next) = self.next() {
                workers.spawn(self.clone().see_to(next, false));
            }
            return Box::pin(ready(outcome));
        }
        drop(gate);
        let (ended, outcome) = watch::channel(None);
        // The first thing that happens there is that it is polled, so that it is woken from then on.
        workers.spawn(self.clone().see_to(Started { running, ended }, is_begun));
        ending(outcome)
    }

    /// Sees to one to its end, then to one of those that wait.
    async fn see_to(self, mut started: Started, mut is_begun: bool) {
        loop {
            let Started { running, ended } = started;
            // As a task of its own: whatever becomes of it, the next one gets its turn.
            let gated = self.clone().gated(running, is_begun);
            let outcome = tokio::spawn(gated).await.unwrap_or_else(|_| Err(unknown()));
            ended.send_replace(Some(outcome));
            let Some(next) = self.next() else { return };
            (started, is_begun) = (next, false);
        }
    }

    /// One of those that wait, in the place of one that has ended.
    fn next(&self) -> Option<Started> {
        let mut halting = lock(&self.way.halting);
        if halting.waiting.is_empty() {
            halting.under_way -= 1;
            return None;
        }
        Some(halting.waiting.remove(0).1)
    }

    async fn gated(self, mut running: Boxed<'static, Outcome>, mut is_begun: bool) -> Outcome {
        poll_fn(|context| {
            let _gate = (!is_begun).then(|| lock(&self.way.gate));
            is_begun = true;
            running.as_mut().poll(context)
        })
        .await
    }
}

impl Halting {
    /// Puts one among those that wait, or joins it to the one of its kind that does.
    fn wait(
        &mut self,
        kind: Kind,
        running: Boxed<'static, Outcome>,
    ) -> watch::Receiver<Option<Outcome>> {
        if let Some((_, started)) = self.waiting.iter().find(|(other, _)| *other == kind) {
            return started.ended.subscribe();
        }
        let (ended, outcome) = watch::channel(None);
        self.waiting.push((kind, Started { running, ended }));
        outcome
    }
}

fn ending(mut outcome: watch::Receiver<Option<Outcome>>) -> Boxed<'static, Outcome> {
    Box::pin(async move {
        let ended = outcome.wait_for(Option::is_some).await.ok().and_then(|ended| ended.clone());
        ended.unwrap_or_else(|| Err(unknown()))
    })
}

fn unknown() -> Refusal {
    Refusal::new(Code::Unconfirmed, "what became of it is not known")
}
