//! Requests that wait, and the one that is being carried out.

use std::{collections::VecDeque, time::Instant};

use super::{Answer, RobotRequest, exchange::Exchange};
use crate::RequestId;

/// Requests that may wait for the one before them.
pub(super) const MAX_WAITING: usize = 32;

/// Requests in the order in which they came, one of which is carried out at a time.
#[derive(Debug, Default)]
pub(super) struct Queue {
    last_id: RequestId,
    waiting: VecDeque<Waiting>,
    /// The first that waits, while its recording is reduced.
    preparing: Option<RequestId>,
    active: Option<Active>,
}

/// A request whose turn has not come.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) id: RequestId,
    pub(super) request: RobotRequest,
    pub(super) by: String,
    pub(super) since: Instant,
}

/// The request that is being carried out.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) id: RequestId,
    pub(super) request: RobotRequest,
    pub(super) by: String,
    pub(super) exchange: Exchange,
    /// What is answered when the robot has said yes.
    pub(super) answer: Answer,
    /// Whether the robot may be teaching on account of this request alone.
    pub(super) began_teaching: bool,
}

impl Queue {
    pub(super) fn new_id(&mut self) -> RequestId {
        self.last_id += 1;
        self.last_id
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= MAX_WAITING
    }

    pub(super) fn push(&mut self, waiting: Waiting) {
        self.waiting.push_back(waiting);
    }

    /// The next to be carried out.
    pub(super) fn first(&self) -> Option<&Waiting> {
        self.waiting.front()
    }

    pub(super) fn take_first(&mut self) -> Option<Waiting> {
        self.waiting.pop_front()
    }

    /// Takes all that wait, and prepares none of them further.
    pub(super) fn take_waiting(&mut self) -> VecDeque<Waiting> {
        self.preparing = None;
        std::mem::take(&mut self.waiting)
    }

    /// Takes those that wait and would move the arms.
    pub(super) fn take_moving(&mut self) -> VecDeque<Waiting> {
        let moving;
        (moving, self.waiting) =
            self.waiting.drain(..).partition(|waiting| waiting.request.moves());
        moving
    }

    /// What the first one needs is being made.
    pub(super) fn prepare(&mut self, id: RequestId) {
        self.preparing = Some(id);
    }

    /// Takes the first one, if it is this that was being prepared.
    pub(super) fn take_prepared(&mut self, id: RequestId) -> Option<Waiting> {
        self.preparing.take_if(|preparing| *preparing == id)?;
        self.waiting.pop_front()
    }

    /// Whether a request is being carried out or prepared.
    pub(super) fn is_busy(&self) -> bool {
        self.active.is_some() || self.preparing.is_some()
    }

    pub(super) fn active(&self) -> Option<&Active> {
        self.active.as_ref()
    }

    pub(super) fn take_active(&mut self) -> Option<Active> {
        self.active.take()
    }

    /// Takes the one that is being carried out, if it is such.
    pub(super) fn take_active_if(&mut self, is: impl Fn(&Active) -> bool) -> Option<Active> {
        self.active.take_if(|active| is(active))
    }

    pub(super) fn set_active(&mut self, active: Active) {
        self.active = Some(active);
    }

    /// Those that wait and the one that is being carried out.
    pub(super) fn all(&self) -> impl Iterator<Item = &RobotRequest> {
        let active = self.active.iter().map(|active| &active.request);
        self.waiting.iter().map(|waiting| &waiting.request).chain(active)
    }
}
