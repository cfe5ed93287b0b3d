use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use sinew_wire::gd32::{Body, Command as WireCommand, FrameBuf, Message};

use super::{Event, Output, Session, line::Line, motion::moves, outputs::is_mode, session::BEAT};
use crate::{Code, Refusal, later};

/// Events kept for a caller that does not fetch them, and frames whatever asks for them.
const CAPACITY: usize = 512;
/// Frames of commands that may wait for the line before the next command is refused. One command
/// is at most a dozen frames.
const MOST_WAITING: usize = 64;
/// Zero velocities of a stop, and the frames behind them.
const ZEROS: usize = 2;
const STOP: usize = 8;
/// Status packets that a terminal hands over in one read, 4095 bytes, and some.
const EVENTS: usize = 64;

/// How long one frame may keep the line: the watchdog waits 50 ms, a beat comes every 20. Only raw
/// frames can be as long, and only on lines slower than 115200 baud.
const LONGEST_FRAME: Duration = Duration::from_millis(25);

/// What waits to be fetched: frames as the line has room for them, then events.
///
/// Frames go in the order of the fields: a stop overtakes everything, and no number of commands
/// keeps the watchdog waiting.
#[derive(Debug)]
pub(super) struct Outbox {
    /// Zero velocities of a stop. They do not even wait for the line.
    zeros: VecDeque<FrameBuf>,
    /// The newest velocity or heartbeat.
    beat: Option<FrameBuf>,
    /// What a stop sends behind its zero velocity.
    stop: VecDeque<FrameBuf>,
    /// Everything else, in its order.
    commands: VecDeque<FrameBuf>,
    events: VecDeque<Event>,
    line: Line,
    /// When the wheels were last told to stand still; none once they were told otherwise.
    still_at: Option<Instant>,
    /// They are to be told again with the next beat.
    owes_zero: bool,
}

impl Outbox {
    pub(super) fn new(baud: u32, now: Instant) -> Self {
        // With room from the beginning, so that nothing is allocated while it runs.
        Outbox {
            zeros: VecDeque::with_capacity(ZEROS),
            beat: None,
            stop: VecDeque::with_capacity(STOP),
            commands: VecDeque::with_capacity(MOST_WAITING),
            events: VecDeque::with_capacity(EVENTS),
            line: Line::new(baud, now),
            still_at: None,
            owes_zero: false,
        }
    }

    /// The port is another one, or closed.
    pub(super) fn clear_frames(&mut self, now: Instant) {
        self.zeros.clear();
        self.beat = None;
        self.stop.clear();
        self.commands.clear();
        self.line.clear(now);
        self.still_at = None;
        self.owes_zero = false;
    }

    /// What was asked before is not sent any more, but for what a stop sends.
    pub(super) fn forget_commands(&mut self) {
        self.commands.clear();
    }

    /// Whether the port has not yet taken such a frame.
    pub(super) fn holds(&self, wanted: fn(&FrameBuf) -> bool) -> bool {
        self.stop.iter().chain(&self.commands).any(wanted)
    }

    /// Whether the wheels were last told to turn.
    pub(super) fn moves(&self) -> bool {
        self.still_at.is_none()
    }

    pub(super) fn has_beat(&self) -> bool {
        self.beat.is_some() || !self.zeros.is_empty()
    }

    /// The newest beat counts. One without motion adds nothing to a zero that waits already.
    pub(super) fn set_beat(&mut self, frame: FrameBuf) {
        if moves(&frame) || self.zeros.is_empty() {
            self.beat = Some(frame);
        }
    }

    /// Puts a velocity in the place of an older one that the port has not taken; whether there was
    /// one.
    pub(super) fn replace_velocity(&mut self, frame: FrameBuf) -> bool {
        let older = self.beat.as_mut().filter(|beat| moves(beat));
        older.map(|beat| *beat = frame).is_some()
    }

    /// Puts zero velocities before everything. When the wheels have just been told and the line is
    /// full, the next beat tells them again: stops without end must not fill the line. Whether they
    /// are on their way now.
    pub(super) fn halt(&mut self, now: Instant, zeros: &[FrameBuf]) -> bool {
        let length = zeros.iter().map(|zero| zero.as_bytes().len()).sum();
        let told = self.still_at.is_some_and(|at| now < later(at, BEAT));
        if told && !self.line.has_room(now, length) {
            if let (Some(beat), Some(zero)) = (&mut self.beat, zeros.first()) {
                *beat = *zero;
            }
            self.owes_zero = !self.has_beat();
            return self.has_beat();
        }
        self.beat = None;
        self.zeros.clear();
        self.zeros.extend(zeros);
        true
    }

    pub(super) fn is_stopping(&self) -> bool {
        !self.zeros.is_empty() || !self.stop.is_empty() || self.owes_zero
    }

    /// Whether the next beat is the zero velocity of a stop.
    pub(super) fn owes_zero(&self) -> bool {
        self.owes_zero
    }

    pub(super) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// What goes next, and from when.
    fn first(&self) -> Option<(&FrameBuf, Option<Instant>)> {
        if let Some(zero) = self.zeros.front() {
            return Some((zero, None));
        }
        let paced = self.beat.as_ref().or(self.stop.front()).or(self.commands.front())?;
        Some((paced, Some(self.line.room_at(paced.as_bytes().len()))))
    }

    /// When the line has room for what waits for it; none when nothing does.
    pub(super) fn timeout(&self, now: Instant) -> Option<Instant> {
        self.first().and_then(|(_, from)| from).filter(|from| *from > now)
    }

    /// Takes the next frame that may go, and the time at which the line begins with it.
    fn take(&mut self, now: Instant) -> Option<(FrameBuf, Instant)> {
        let (_, from) = self.first()?;
        if from.is_some_and(|from| now < from) {
            return None;
        }
        let frame = self
            .zeros
            .pop_front()
            .or_else(|| self.beat.take())
            .or_else(|| self.stop.pop_front())
            .or_else(|| self.commands.pop_front())?;
        if is_velocity(&frame) {
            self.still_at = (!moves(&frame)).then_some(now);
            self.owes_zero = false;
        }
        Some((frame, self.line.put(now, frame.as_bytes().len())))
    }
}

impl Session {
    pub(super) fn fetch(&mut self) -> Option<Output> {
        if self.recorded {
            return self.outbox.next_event().map(Output::Event);
        }
        let Some((frame, begins)) = self.outbox.take(self.now) else {
            return self.outbox.next_event().map(Output::Event);
        };
        let counters = &mut self.state.counters;
        counters.sent += 1;
        counters.heartbeats += u64::from(is_beat(&frame));
        if moves(&frame) {
            self.tank = command_of(&frame) == Some(WireCommand::MotorSpeed);
        }
        if is_mode(&frame) {
            self.outputs.settle_from(begins);
        }
        Some(Output::Transmit(frame))
    }

    pub(super) fn event(&mut self, event: Event) {
        if self.outbox.events.len() >= CAPACITY {
            self.outbox.events.pop_front();
            self.state.counters.events_lost += 1;
        }
        self.outbox.events.push_back(event);
    }

    /// Whether another command may wait for the line.
    pub(super) fn may_wait(&self) -> Result<(), Refusal> {
        let waiting = self.outbox.commands.len() + self.outputs.waiting();
        if waiting < MOST_WAITING {
            return Ok(());
        }
        let message = format!("{waiting} frames wait for the line already: send this more slowly");
        Err(Refusal::new(Code::Busy, message))
    }

    /// Whether the line is through with a frame before the watchdog must hear the next beat.
    pub(super) fn may_occupy_line(&self, command: u8, frame: &FrameBuf) -> Result<(), Refusal> {
        let bytes = frame.as_bytes().len();
        let time = self.outbox.line.time(bytes);
        if time <= LONGEST_FRAME {
            return Ok(());
        }
        let message = format!(
            "raw 0x{command:02X}: {bytes} bytes keep a line of {} baud from the heartbeat for {} ms, \
             wanted at most {}",
            self.settings.baud,
            time.as_millis(),
            LONGEST_FRAME.as_millis()
        );
        Err(Refusal::invalid(message))
    }

    pub(super) fn send(&mut self, body: Body<'_>) {
        if let Some(frame) = framed(body) {
            self.send_frame(frame);
        }
    }

    pub(super) fn send_frame(&mut self, frame: FrameBuf) {
        if self.outbox.commands.len() < CAPACITY {
            self.outbox.commands.push_back(frame);
        }
    }

    /// Sends what is sent again and again, unless the port has not even taken the one before: a
    /// port that was full must not get a burst.
    pub(super) fn send_again(&mut self, frame: FrameBuf) {
        if !self.outbox.commands.contains(&frame) {
            self.send_frame(frame);
        }
    }

    pub(super) fn repeat(&mut self, body: Body<'_>) {
        if let Some(frame) = framed(body) {
            self.send_again(frame);
        }
    }

    /// Puts frames of a stop before everything that waits but a beat; of the rest `forgotten` is
    /// dropped. One that waits already keeps its place, so that stops without end do not send their
    /// first frame for ever.
    pub(super) fn send_first(&mut self, bodies: &[Body<'_>], forgotten: fn(&FrameBuf) -> bool) {
        let Outbox { stop, commands, .. } = &mut self.outbox;
        for frame in bodies.iter().filter_map(|body| framed(*body)) {
            if !stop.contains(&frame) {
                stop.push_back(frame);
            }
        }
        // The listed frames of a boot switch nothing on, and none of them may be missing.
        if self.boot.is_none() {
            commands.retain(|frame| !forgotten(frame) && !stop.contains(frame));
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

/// The command of a frame and its payload.
pub(super) fn content(frame: &FrameBuf) -> Option<(u8, &[u8])> {
    let [_, _, _, command, payload @ .., _, _] = frame.as_bytes() else { return None };
    Some((*command, payload))
}

/// Whether a frame keeps the watchdog quiet.
fn is_beat(frame: &FrameBuf) -> bool {
    is_velocity(frame) || command_of(frame) == Some(WireCommand::Heartbeat)
}

fn is_velocity(frame: &FrameBuf) -> bool {
    matches!(command_of(frame), Some(WireCommand::MotorVelocity | WireCommand::MotorSpeed))
}
