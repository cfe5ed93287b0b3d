use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use sinew_wire::teach::{Command, Message, Play, Sequence};

use super::{
    Answer, Performed, Session,
    exchange::{Exchange, Waited},
    receive::MAX_ACTIONS,
    requests::not_ready,
    saving::ROUGH,
    session::later,
    wire::to_wire,
};
use crate::{
    Code, Refusal,
    trajectory::{Piece, Plan, Pose},
};

/// How much longer than it should a piece may take before it counts as over.
const GRACE: Duration = Duration::from_secs(1);

const NOTE: &str = "Sinew plays it in pieces, as plays that carry keyframes: within the joint limits, \
                    from where the arms are; between two pieces they stand still for a moment";

const SLOWED: &str = "; it takes longer where a joint would be too fast";
const ROUGH_NOTE: &str =
    "; with so many joints moving at once it is rough: slower comes out better";

/// A motion that is played piece by piece.
#[derive(Debug)]
pub(super) struct Performance {
    plan: Arc<Plan>,
    looped: bool,
    /// What is left of this pass.
    left: VecDeque<Piece>,
    /// The piece that the robot has not acknowledged.
    exchange: Option<Exchange>,
    /// The number under which the next piece is played. A robot takes a play of the number it
    /// played just now for a repetition, so each piece has another.
    number: u32,
}

/// A performance whose first piece the robot has not acknowledged.
#[derive(Debug)]
pub(super) struct Rehearsed {
    pub(super) performance: Performance,
    /// How long that piece takes.
    pub(super) first_ms: u32,
}

impl Performance {
    /// A performance from the present pose, with its first piece in `left`.
    pub(super) fn new(plan: &Arc<Plan>, looped: bool, present: &Pose) -> Self {
        let (plan, exchange) = (Arc::clone(plan), None);
        let left = pass(&plan, present);
        Performance { plan, looped, left, exchange, number: 1 }
    }

    pub(super) fn duration_ms(&self) -> u32 {
        self.left.iter().map(|piece| piece.duration_ms).sum()
    }

    pub(super) fn is_looped(&self) -> bool {
        self.looped
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.exchange.as_ref().map(|exchange| exchange.due)
    }

    pub(super) fn answer(&self, name: &str) -> Answer {
        let performed = Performed {
            pieces: self.left.len(),
            duration_ms: self.duration_ms(),
            error_rad: self.plan.error,
            limited: self.plan.limited.clone(),
        };
        let slowed = if self.plan.slowed { SLOWED } else { "" };
        let rough = if self.plan.error > ROUGH { ROUGH_NOTE } else { "" };
        let (name, note) = (Some(name.into()), format!("{NOTE}{slowed}{rough}"));
        Answer::Play { id: None, name, performed: Some(performed), note }
    }

    /// The next piece of this pass, and how long it takes.
    pub(super) fn next(&mut self) -> Result<Option<(Message<'static>, u32)>, Refusal> {
        let Some(piece) = self.left.pop_front() else { return Ok(None) };
        let keyframes = to_wire(&piece.keyframes)
            .map_err(|error| Refusal::new(Code::Unsupported, error.to_string()))?;
        let message = Message::Play(Play {
            action_id: self.number,
            frame_count: 0,
            duration_ms: piece.duration_ms,
            interpolation: piece.interpolation.into(),
            keyframes,
            rest: &[],
        });
        self.number = self.number % MAX_ACTIONS + 1;
        Ok(Some((message, piece.duration_ms)))
    }
}

/// All pieces from a pose to the end of the motion. One whose joints all stay where they are has
/// no keyframes, which in a play would mean something else: it is left out.
fn pass(plan: &Plan, present: &Pose) -> VecDeque<Piece> {
    let pieces = plan.approach(present).into_iter().chain(plan.pieces.iter().cloned());
    pieces.filter(|piece| !piece.keyframes.is_empty()).collect()
}

impl Session {
    /// Whether a motion may be played from here now.
    pub(super) fn performance(
        &self,
        plan: &Arc<Plan>,
        looped: bool,
    ) -> Result<Performance, Refusal> {
        if let Some(playing) = &self.state.playing {
            let name = playing.name.as_deref().unwrap_or("an action");
            return Err(not_ready(&format!("{name} plays already; stop it first")));
        }
        if self.state.teaching {
            return Err(not_ready(
                "the robot is being taught, so its arms would be soft between two pieces; exit \
                 first",
            ));
        }
        let Some(present) = &self.state.positions else {
            return Err(not_ready(
                "the robot does not tell its pose, so the motion cannot begin where its arms are",
            ));
        };
        let performance = Performance::new(plan, looped, present);
        if performance.left.is_empty() {
            return Err(not_ready("the arms are where this motion has them, and it moves nothing"));
        }
        Ok(performance)
    }

    /// The piece that plays is over: sends the next one.
    pub(super) fn next_piece(&mut self, now: Instant) {
        let Some(mut performance) = self.performance.take() else { return };
        if performance.left.is_empty() && performance.looped {
            let Some(present) = &self.state.positions else {
                return self.play_ended("the robot no longer tells its pose");
            };
            performance.left = pass(&performance.plan, present);
            if let Some(playing) = &mut self.state.playing {
                playing.began = now;
                playing.duration_ms = Some(performance.duration_ms());
            }
        }
        match performance.next() {
            Ok(None) => self.played("all of it was played"),
            Err(refusal) => self.play_ended(refusal.message),
            Ok(Some((message, duration_ms))) => {
                performance.exchange = Some(self.exchange(now, message));
                self.performance = Some(performance);
                self.piece_began(now, duration_ms);
            }
        }
    }

    pub(super) fn piece_began(&mut self, now: Instant, duration_ms: u32) {
        let longest = Duration::from_millis(duration_ms.into()).saturating_add(GRACE);
        self.play_until = Some(later(now, longest));
        if let Some(playing) = &mut self.state.playing {
            playing.observed = false;
        }
    }

    pub(super) fn advance_performance(&mut self, now: Instant) {
        let Some(mut performance) = self.performance.take() else { return };
        if let Some(mut exchange) = performance.exchange.take() {
            match self.wait(now, &mut exchange) {
                // Its answer was lost, if it plays.
                Waited::Enough if self.is_seen_playing() => {}
                Waited::Enough => return self.play_ended("the robot did not answer a piece"),
                _ => performance.exchange = Some(exchange),
            }
        }
        self.performance = Some(performance);
    }

    /// Whether an answer was to a piece on its way.
    pub(super) fn piece_answered(
        &mut self,
        number: Sequence,
        command: Command,
        status: u32,
    ) -> bool {
        let Some(mut performance) = self.performance.take() else { return false };
        let exchange = performance.exchange.take();
        let is_answer =
            exchange.as_ref().is_some_and(|exchange| self.is_to(exchange, command, number));
        if !is_answer {
            performance.exchange = exchange;
        } else if status != 0 {
            self.play_ended(format!("the robot refused a piece with status {status}"));
            return true;
        }
        self.performance = Some(performance);
        is_answer
    }

    /// The time of what plays is over. A piece that was acknowledged and not seen was played.
    pub(super) fn end_play(&mut self, now: Instant) {
        if self.play_until.is_none_or(|at| now < at) {
            return;
        }
        match &self.performance {
            Some(performance) if performance.exchange.is_none() => self.next_piece(now),
            Some(_) => {
                self.performance = None;
                self.play_ended("the robot did not answer a piece");
            }
            None => self.played("no action takes longer"),
        }
    }

    fn is_seen_playing(&self) -> bool {
        self.state.playing.as_ref().is_some_and(|playing| playing.observed)
    }
}
