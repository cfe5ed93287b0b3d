use std::{collections::VecDeque, future::poll_fn, task::Poll};

use serde_json::Value;
use sinew_robot::{Code, Refusal, capability::Boxed};

use super::front::begun;
use crate::hub::Job;

/// Commands that may wait for those before them.
const MAX_WAITING: usize = 64;

/// A command's `req`, and how it ended.
pub(super) type Ended = (Option<Value>, Result<Value, Refusal>);

/// The commands of a client: one after the other, except those that stop.
#[derive(Default)]
pub(super) struct Work {
    running: Option<Boxed<'static, Ended>>,
    urgent: Vec<Boxed<'static, Ended>>,
    waiting: VecDeque<(Option<Value>, Job)>,
}

impl Work {
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_none() && self.urgent.is_empty() && self.waiting.is_empty()
    }

    pub(super) fn add(&mut self, req: Option<Value>, job: Job) -> Result<(), Refusal> {
        if job.is_urgent() {
            self.add_running(begun(Box::pin(run(req, job))));
        } else if self.waiting.len() < MAX_WAITING {
            self.waiting.push_back((req, job));
        } else {
            let message = format!("{MAX_WAITING} commands of this client are waiting already");
            return Err(Refusal::new(Code::Busy, message));
        }
        Ok(())
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
                && let Some((req, job)) = self.waiting.pop_front()
            {
                self.running = Some(Box::pin(run(req, job)));
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

async fn run(req: Option<Value>, job: Job) -> Ended {
    (req, job.run().await)
}
