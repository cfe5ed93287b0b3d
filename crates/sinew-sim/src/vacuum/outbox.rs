use std::collections::VecDeque;

use sinew_wire::gd32::{Body, FrameBuf, Message};

/// Frames a host that does not read may leave lying about; then the oldest are lost.
const CAPACITY: usize = 256;

/// Frames for the host.
#[derive(Debug, Clone, Default)]
pub(super) struct Outbox {
    ready: VecDeque<FrameBuf>,
    /// Answers that wait until the sync has been answered.
    held: VecDeque<FrameBuf>,
    holding: bool,
}

impl Outbox {
    pub(super) fn push(&mut self, body: Body<'_>) {
        let Ok(frame) = Message::from(body).frame() else { return };
        let queue = if self.holding { &mut self.held } else { &mut self.ready };
        if queue.len() >= CAPACITY {
            queue.pop_front();
        }
        queue.push_back(frame);
    }

    pub(super) fn pop(&mut self) -> Option<FrameBuf> {
        self.ready.pop_front()
    }

    /// Keeps what is pushed from now on back.
    pub(super) fn hold(&mut self) {
        self.holding = true;
    }

    /// Sends `first`, then all that was kept back.
    pub(super) fn release(&mut self, first: Body<'_>) {
        self.holding = false;
        self.push(first);
        self.ready.append(&mut self.held);
    }

    pub(super) fn clear(&mut self) {
        *self = Outbox::default();
    }
}
