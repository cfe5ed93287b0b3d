use std::{collections::VecDeque, future::poll_fn, sync::Arc, task::Poll};

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

/// The commands of a client: one after the other, except those that stop.
#[derive(Default)]
pub(super) struct Work {
    running: Option<Boxed<'static, Ended>>,
    urgent: Vec<Boxed<'static, Ended>>,
    waiting: VecDeque<(Asked, Job)>,
}

impl Work {
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_none() && self.urgent.is_empty() && self.waiting.is_empty()
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
            for index in 0..self.urgent.len() {
                if let Poll::Ready(ended) = self.urgent[index].as_mut().poll(context) {
                    drop(self.urgent.remove(index));
                    return Poll::Ready(ended);
                }
            }
            if begins
                && self.running.is_none()
                && let Some((asked, job)) = self.waiting.pop_front()
            {
                self.running = Some(Box::pin(run(asked, job)));
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

async fn run(asked: Asked, job: Job) -> Ended {
    (asked, job.run().await)
}
