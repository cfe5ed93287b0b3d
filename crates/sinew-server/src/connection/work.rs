use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
};

use serde_json::Value;
use sinew_robot::{Code, Refusal, capability::Boxed};

use super::front::begun;
use crate::hub::{Job, Member};

/// Commands that may wait for those before them.
const MAX_WAITING: usize = 64;

/// What a reply is to.
#[derive(Default)]
pub(super) struct Asked {
    /// Is sent back with it.
    pub(super) req: Option<Value>,
    /// The robot and the command, where its refusal is shown to others.
    pub(super) shown: Option<(Arc<Member>, String)>,
}

impl Asked {
    pub(super) fn by(req: Option<Value>) -> Self {
        Asked { req, shown: None }
    }
}

/// What was asked, and how it ended.
pub(super) type Ended = (Asked, Result<Value, Refusal>);

/// The commands of a client: one after the other, except those that stop. To robots of other daemons
/// they are sent one after the other, and carried out so there: waiting here for each reply would make
/// every velocity older than the one before.
#[derive(Default)]
pub(super) struct Work {
    running: Option<Boxed<'static, Ended>>,
    /// On their way to other daemons.
    relayed: Vec<Boxed<'static, Ended>>,
    urgent: Vec<Boxed<'static, Ended>>,
    waiting: VecDeque<(Asked, Job)>,
}

impl Work {
    pub(super) fn is_empty(&self) -> bool {
        let has_begun =
            self.running.is_some() || !self.relayed.is_empty() || !self.urgent.is_empty();
        !has_begun && self.waiting.is_empty()
    }

    /// Adds one; one too many is given back.
    pub(super) fn add(&mut self, asked: Asked, job: Job) -> Result<(), Asked> {
        if job.is_urgent() {
            self.add_running(begun(Box::pin(run(asked, job))));
        } else if self.waiting.len() < MAX_WAITING {
            self.waiting.push_back((asked, job));
        } else {
            return Err(asked);
        }
        Ok(())
    }

    /// Why one too many is refused.
    pub(super) fn too_many() -> Refusal {
        let message = format!("{MAX_WAITING} commands of this client are waiting already");
        Refusal::new(Code::Busy, message)
    }

    /// Adds one that waits for no other. One too many is dropped: what it was to do is done, only
    /// its answer is missing.
    pub(super) fn add_running(&mut self, running: Boxed<'static, Ended>) {
        if self.urgent.len() < MAX_WAITING {
            self.urgent.push(running);
        }
    }

    /// Drops what has not begun.
    pub(super) fn forget_waiting(&mut self) {
        self.waiting.clear();
    }

    /// The next command that ends. Nothing is lost if this is dropped. Unless `begins`, none of
    /// those that wait begins.
    pub(super) async fn next(&mut self, begins: bool) -> Ended {
        poll_fn(|context| {
            for begun in [&mut self.urgent, &mut self.relayed] {
                if let Some(ended) = first_ended(begun, context) {
                    return Poll::Ready(ended);
                }
            }
            while begins
                && self.running.is_none()
                && self.relayed.len() < MAX_WAITING
                && let Some((asked, job)) = self.waiting.pop_front()
            {
                let is_relayed = job.is_relayed();
                let mut running: Boxed<'static, Ended> = Box::pin(run(asked, job));
                if !is_relayed {
                    self.running = Some(running);
                } else if let Poll::Ready(ended) = running.as_mut().poll(context) {
                    return Poll::Ready(ended);
                } else {
                    self.relayed.push(running);
                }
            }
            let Some(running) = &mut self.running else { return Poll::Pending };
            running.as_mut().poll(context).map(|ended| {
                self.running = None;
                ended
            })
        })
        .await
    }
}

/// The first of these that has ended.
fn first_ended(begun: &mut Vec<Boxed<'static, Ended>>, context: &mut Context<'_>) -> Option<Ended> {
    for index in 0..begun.len() {
        if let Poll::Ready(ended) = begun[index].as_mut().poll(context) {
            drop(begun.remove(index));
            return Some(ended);
        }
    }
    None
}

async fn run(asked: Asked, job: Job) -> Ended {
    (asked, job.run().await)
}
