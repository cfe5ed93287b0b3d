use std::collections::VecDeque;

use sinew_wire::gd32::{Body, Command as WireCommand, FrameBuf, Message};

use super::{Event, Output, Session};

/// Frames and events kept for a caller that does not fetch them.
const CAPACITY: usize = 512;

/// What waits to be fetched: frames first, then events.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    frames: VecDeque<FrameBuf>,
    events: VecDeque<Event>,
}

impl Outbox {
    pub(super) fn forget_frames(&mut self, forgotten: fn(&FrameBuf) -> bool) {
        self.frames.retain(|frame| !forgotten(frame));
    }

    /// Whether the port has not yet taken such a frame.
    pub(super) fn holds(&self, wanted: fn(&FrameBuf) -> bool) -> bool {
        self.frames.iter().any(wanted)
    }

    pub(super) fn clear_frames(&mut self) {
        self.frames.clear();
    }
}

impl Session {
    pub(super) fn fetch(&mut self) -> Option<Output> {
        if let Some(frame) = self.outbox.frames.pop_front() {
            let counters = &mut self.state.counters;
            counters.sent += 1;
            counters.heartbeats += u64::from(is_beat(&frame));
            return Some(Output::Transmit(frame));
        }
        self.outbox.events.pop_front().map(Output::Event)
    }

    pub(super) fn event(&mut self, event: Event) {
        if self.outbox.events.len() >= CAPACITY {
            self.outbox.events.pop_front();
            self.state.counters.events_lost += 1;
        }
        self.outbox.events.push_back(event);
    }

    pub(super) fn send(&mut self, body: Body<'_>) {
        if let Some(frame) = framed(body) {
            self.send_frame(frame);
        }
    }

    pub(super) fn send_frame(&mut self, frame: FrameBuf) {
        if self.outbox.frames.len() < CAPACITY {
            self.outbox.frames.push_back(frame);
        }
    }

    /// Sends what is sent again and again, unless the port has not even taken the one before: a
    /// port that was full must not get a burst.
    pub(super) fn send_again(&mut self, frame: FrameBuf) {
        if !self.outbox.frames.contains(&frame) {
            self.send_frame(frame);
        }
    }

    pub(super) fn repeat(&mut self, body: Body<'_>) {
        if let Some(frame) = framed(body) {
            self.send_again(frame);
        }
    }

    /// Puts frames before everything that waits for the port, of which `forgotten` is dropped.
    pub(super) fn send_first(&mut self, bodies: &[Body<'_>], forgotten: fn(&FrameBuf) -> bool) {
        let frames: Vec<_> = bodies.iter().filter_map(|body| framed(*body)).collect();
        let queue = &mut self.outbox.frames;
        // The listed frames of a boot switch nothing on, and none of them may be missing.
        if self.boot.is_none() {
            queue.retain(|frame| !forgotten(frame) && !frames.contains(frame));
        }
        if queue.len() < 2 * CAPACITY {
            frames.into_iter().rev().for_each(|frame| queue.push_front(frame));
        }
    }
}

/// The frame of a body; those of the host's commands always fit.
pub(super) fn framed(body: Body<'_>) -> Option<FrameBuf> {
    Message::from(body).frame().ok()
}

/// The command byte of a frame.
pub(super) fn command_of(frame: &FrameBuf) -> Option<WireCommand> {
    frame.as_bytes().get(3).map(|code| WireCommand::from(*code))
}

/// Whether any byte of a frame's payload is set.
pub(super) fn sets_something(frame: &FrameBuf) -> bool {
    let bytes = frame.as_bytes();
    let payload = bytes.get(4..bytes.len().saturating_sub(2)).unwrap_or_default();
    payload.iter().any(|&byte| byte != 0)
}

/// Whether a frame keeps the watchdog quiet.
pub(super) fn is_beat(frame: &FrameBuf) -> bool {
    matches!(
        command_of(frame),
        Some(WireCommand::Heartbeat | WireCommand::MotorVelocity | WireCommand::MotorSpeed)
    )
}
