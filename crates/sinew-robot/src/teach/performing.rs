use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use sinew_wire::teach::{Command, Message, Play, Sequence};

use super::{
    Answer, Event, MODE_PLAYING, Performed, Playing, Session,
    ending::Ending,
    exchange::{Exchange, Waited},
    receive::MAX_ACTIONS,
    requests::not_ready,
    saving::ROUGH,
    wire::to_wire,
};
use crate::{
    Code, Refusal, Remedy, later,
    trajectory::{MAX_SAVED_MS, Piece, Plan, Pose},
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
struct Performance {
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

/// What plays, as far as it has to be watched.
#[derive(Debug, Default)]
pub(super) struct Stage {
    /// A motion whose first piece is the request that is being carried out.
    prepared: Option<Prepared>,
    performance: Option<Performance>,
    /// What plays will not be played to its end, since the link was lost.
    was_cut: bool,
    /// When what plays is over for certain.
    until: Option<Instant>,
}

/// A performance whose first piece the robot has not acknowledged.
#[derive(Debug)]
struct Prepared {
    performance: Performance,
    /// How long that piece takes.
    first_ms: u32,
}

impl Stage {
    /// Whether a motion is played in pieces.
    pub(super) fn is_performing(&self) -> bool {
        self.performance.is_some()
    }

    /// Whether it repeats.
    pub(super) fn repeats(&self) -> bool {
        self.performance.as_ref().is_some_and(|performance| performance.looped)
    }

    /// No further piece is sent.
    pub(super) fn end_performance(&mut self) {
        self.performance = None;
    }

    /// The first piece was not played.
    pub(super) fn drop_prepared(&mut self) {
        self.prepared = None;
    }

    /// No further piece is sent, since the link was lost. The robot may still be at the last one.
    pub(super) fn cut(&mut self) {
        self.was_cut |= self.performance.take().is_some();
    }

    pub(super) fn due(&self) -> [Option<Instant>; 2] {
        let exchange = self.performance.as_ref().and_then(|playing| playing.exchange.as_ref());
        [self.until, exchange.map(|exchange| exchange.due)]
    }
}

impl Performance {
    /// A performance from the present pose, with its first piece in `left`.
    fn new(plan: &Arc<Plan>, looped: bool, present: &Pose) -> Self {
        let (plan, exchange) = (Arc::clone(plan), None);
        let left = pass(&plan, present);
        Performance { plan, looped, left, exchange, number: 1 }
    }

    fn duration_ms(&self) -> u32 {
        self.left.iter().map(|piece| piece.duration_ms).sum()
    }

    fn answer(&self, name: &str) -> Answer {
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
    fn next(&mut self) -> Result<Option<(Message<'static>, u32)>, Refusal> {
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
    fn performance(&self, plan: &Arc<Plan>, looped: bool) -> Result<Performance, Refusal> {
        if let Some(playing) = &self.state.playing {
            let name = playing.name.as_deref().unwrap_or("an action");
            return Err(not_ready(&format!("{name} plays already; stop it first")));
        }
        if self.state.teaching {
            let message = "the robot is being taught: its arms would be soft between two pieces";
            return Err(not_ready(message).helped_by(Remedy::Exit));
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
    fn next_piece(&mut self, now: Instant) {
        let Some(mut performance) = self.stage.performance.take() else { return };
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
                self.stage.performance = Some(performance);
                self.piece_began(now, duration_ms);
            }
        }
    }

    fn piece_began(&mut self, now: Instant, duration_ms: u32) {
        let longest = Duration::from_millis(duration_ms.into()).saturating_add(GRACE);
        self.stage.until = Some(later(now, longest));
        if let Some(playing) = &mut self.state.playing {
            playing.observed = false;
        }
    }

    pub(super) fn advance_performance(&mut self, now: Instant) {
        let Some(mut performance) = self.stage.performance.take() else { return };
        if let Some(mut exchange) = performance.exchange.take() {
            match self.wait(now, &mut exchange) {
                // Its answer was lost, if it plays.
                Waited::Enough if self.is_seen_playing() => {}
                Waited::Enough => return self.play_ended("the robot did not answer a piece"),
                _ => performance.exchange = Some(exchange),
            }
        }
        self.stage.performance = Some(performance);
    }

    /// Whether an answer was to a piece on its way.
    pub(super) fn piece_answered(
        &mut self,
        number: Sequence,
        command: Command,
        status: u32,
    ) -> bool {
        let Some(mut performance) = self.stage.performance.take() else { return false };
        let exchange = performance.exchange.take();
        let is_answer =
            exchange.as_ref().is_some_and(|exchange| self.is_to(exchange, command, number));
        if !is_answer {
            performance.exchange = exchange;
        } else if status != 0 {
            self.play_ended(format!("the robot refused a piece with status {status}"));
            return true;
        }
        self.stage.performance = Some(performance);
        is_answer
    }

    /// The time of what plays is over. A piece that was acknowledged and not seen was played.
    pub(super) fn end_play(&mut self, now: Instant) {
        if self.stage.until.is_none_or(|at| now < at) {
            return;
        }
        match &self.stage.performance {
            Some(performance) if performance.exchange.is_none() => self.next_piece(now),
            Some(_) => {
                self.stage.performance = None;
                self.play_ended("the robot did not answer a piece");
            }
            None => self.played("no action takes longer"),
        }
    }

    /// The first piece of a motion and what is answered when the robot plays it.
    pub(super) fn prepare(
        &mut self,
        name: &str,
        plan: &Arc<Plan>,
        looped: bool,
    ) -> Result<(Message<'static>, Answer), Refusal> {
        let mut performance = self.performance(plan, looped)?;
        let answer = performance.answer(name);
        let Some((message, first_ms)) = performance.next()? else {
            return Err(not_ready("the motion has no pieces"));
        };
        self.stage.prepared = Some(Prepared { performance, first_ms });
        Ok((message, answer))
    }

    /// An action of the robot plays.
    pub(super) fn play_began(&mut self, now: Instant, answer: &Answer, duration_ms: u32) {
        let longest = if duration_ms == 0 { MAX_SAVED_MS } else { duration_ms };
        self.stage.until = Some(later(now, Duration::from_millis(longest.into())));
        self.set_playing(now, answer, Some(duration_ms).filter(|&ms| ms != 0));
    }

    /// A motion's first piece plays.
    pub(super) fn performance_began(&mut self, now: Instant, answer: &Answer) {
        let prepared = self.stage.prepared.take();
        let Some(Prepared { performance, first_ms }) = prepared else { return };
        let duration_ms = performance.duration_ms().saturating_add(first_ms);
        self.stage.performance = Some(performance);
        self.set_playing(now, answer, Some(duration_ms));
        self.piece_began(now, first_ms);
    }

    fn set_playing(&mut self, now: Instant, answer: &Answer, duration_ms: Option<u32>) {
        let Answer::Play { id, name, .. } = answer else { return };
        let (id, name) = (*id, name.as_deref().map(Arc::from));
        self.event(Event::Playing { id, name: Option::clone(&name) });
        let (observed, elapsed_ms) = (false, 0);
        let playing = Playing { id, name, elapsed_ms, duration_ms, began: now, observed };
        self.state.playing = Some(playing);
    }

    /// The end of a playback is seen in the status of a robot whose status showed it.
    pub(super) fn watch_play(&mut self, now: Instant, mode: u32) {
        let Some(playing) = &mut self.state.playing else { return };
        if mode == MODE_PLAYING {
            playing.observed = true;
            // It may be longer than any that was saved here, or repeat.
            self.stage.until = None;
        } else if playing.observed && self.stage.is_performing() {
            self.next_piece(now);
        } else if playing.observed && self.ending.is_none() {
            self.played("the robot says so");
        } else if playing.observed {
            let why = self.ending.as_ref().map_or("stopped", Ending::why).to_owned();
            self.play_ended(why);
        }
    }

    /// It was played to its end.
    pub(super) fn played(&mut self, why: &str) {
        self.end_playing(true, why.into());
    }

    /// It was not.
    pub(super) fn play_ended(&mut self, why: impl Into<String>) {
        self.end_playing(false, why.into());
    }

    fn end_playing(&mut self, whole: bool, why: String) {
        self.stage.until = None;
        self.stage.performance = None;
        let (whole, why) = match std::mem::take(&mut self.stage.was_cut) {
            true => (false, "the link was lost".into()),
            false => (whole, why),
        };
        if let Some(Playing { id, name, .. }) = self.state.playing.take() {
            self.event(Event::PlayEnded { id, name, whole, why });
        }
    }

    fn is_seen_playing(&self) -> bool {
        self.state.playing.as_ref().is_some_and(|playing| playing.observed)
    }
}
