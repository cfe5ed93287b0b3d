//! Recordings: kept alive from here, collected here, and ended from here.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use sinew_wire::unitree::arm::ArmRequest;

use super::{Event, Phase, Session, calls::Purpose};
use crate::{
    Code, Origin, Presence, Refusal, RequestId, later,
    teach::{Answer, take::Take},
    trajectory::Pose,
};

/// The app's pace.
const KEEP_ALIVE: Duration = Duration::from_secs(1);
/// The app lets a recording get no longer.
const LONG: Duration = Duration::from_secs(180);
/// The state shows a play 0.05 to 1.1 s after the robot was asked.
pub(super) const SHOWN_WITHIN: Duration = Duration::from_millis(1500);

/// The recording that was made last, or runs; and what the arms were asked last.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    /// One whose start the robot has not answered.
    trial: Option<Take>,
    take: Option<Take>,
    running: Option<Running>,
    /// A recording that may go on in the robot, although the channel is gone on which it was begun.
    left: Option<Arc<str>>,
    /// One that was told of as not ours.
    foreign: Option<Arc<str>>,
    /// What the arms were asked to do, as long as their state has not shown it.
    unseen: Option<Unseen>,
}

/// Something that the arms were asked to do and that their state has not shown.
#[derive(Debug, Clone, Copy)]
struct Unseen {
    /// When they were asked, or when the robot answered.
    at: Instant,
    answered: bool,
}

/// A recording that runs.
#[derive(Debug)]
struct Running {
    began: Instant,
    client: u64,
    presence: Presence,
    /// None while it is being ended: what is kept alive does not end.
    keep_alive_at: Option<Instant>,
    /// When it ends for want of its client.
    ends_at: Option<Instant>,
    told_long: bool,
    /// Whether the robot's state has shown it.
    seen: bool,
}

impl Recorder {
    pub(super) fn try_start(&mut self, now: Instant, name: &str) {
        self.trial = Some(Take::new(now, Some(name.into())));
        self.set_moving(now);
    }

    pub(super) fn give_up(&mut self) {
        self.trial = None;
        self.unseen = None;
    }

    /// The arms were asked to do something.
    pub(super) fn set_moving(&mut self, now: Instant) {
        self.unseen = Some(Unseen { at: now, answered: false });
    }

    /// The robot has answered; its state follows.
    pub(super) fn moved(&mut self, now: Instant) {
        if let Some(unseen) = &mut self.unseen {
            *unseen = Unseen { at: now, answered: true };
        }
    }

    /// The robot has refused.
    pub(super) fn refused(&mut self) {
        self.unseen = None;
    }

    /// Whether the arms may begin to play, although their state does not show it yet.
    pub(super) fn may_begin_play(&self) -> bool {
        self.unseen.is_some() && !self.may_run()
    }

    /// Whether the state shows all that the arms were asked to do: what was on its way before
    /// `since` has come to them by then, and shows a while later or did not happen.
    pub(super) fn is_settled(&self, now: Instant, since: Instant) -> bool {
        self.unseen.is_none_or(|unseen| now >= later(unseen.at.max(since), SHOWN_WITHIN))
    }

    /// The robot may go on with it: it is ended when its state shows it.
    pub(super) fn leave(&mut self) {
        self.left = self.trial.as_ref().or(self.take.as_ref()).and_then(|take| take.name.clone());
    }

    /// What was asked of the arms has come to nothing.
    pub(super) fn settled(&mut self) {
        self.unseen = None;
    }

    /// What the last recording is called in the robot.
    pub(super) fn name(&self) -> Option<&str> {
        self.take.as_ref()?.name.as_deref()
    }

    pub(super) fn renamed(&mut self, old: &str, new: &str) {
        if let Some(take) = self.take.as_mut().filter(|take| take.name.as_deref() == Some(old)) {
            take.name = Some(new.into());
        }
    }

    pub(super) fn duration_ms(&self) -> u32 {
        self.take.as_ref().map_or(0, Take::duration_ms)
    }

    /// A client has gone.
    pub(super) fn client_gone(&mut self, now: Instant, client: Option<u64>, orphan: Duration) {
        let of = |running: &&mut Running| client == Some(running.client);
        if let Some(running) = self.running.as_mut().filter(of) {
            running.ends_at.get_or_insert(later(now, orphan));
        }
    }

    /// Whether a recording runs, or may have begun, on this channel.
    pub(super) fn may_run(&self) -> bool {
        self.running.is_some() || self.trial.is_some()
    }

    /// Nothing keeps it alive any more.
    pub(super) fn stop_keeping(&mut self, now: Instant) {
        if let Some(running) = &mut self.running {
            running.keep_alive_at = None;
        }
        if let Some(take) = &mut self.take {
            take.end(now);
        }
    }
}

impl Session {
    /// Refuses a second recording.
    pub(super) fn may_record(&self) -> Result<(), Refusal> {
        let runs = self.state.arm.as_ref().filter(|arm| arm.phase == Phase::Recording);
        match runs {
            _ if self.state.recording => {
                Err(Refusal::new(Code::NotReady, "a recording runs already; stop it first"))
            }
            Some(arm) => Err(Refusal::new(
                Code::NotReady,
                format!("the robot records {:?} already; a stop ends it", arm.name),
            )),
            None => Ok(()),
        }
    }

    pub(super) fn recording_begun(&mut self, now: Instant, name: &str, origin: &Origin) {
        let trial = self.recorder.trial.take();
        self.recorder.take = Some(trial.unwrap_or_else(|| Take::new(now, Some(name.into()))));
        self.recorder.moved(now);
        self.recorder.running = Some(Running {
            began: now,
            client: origin.client,
            presence: origin.presence.clone(),
            keep_alive_at: Some(later(now, KEEP_ALIVE)),
            ends_at: None,
            told_long: false,
            seen: self.state.arm.as_ref().is_some_and(|arm| arm.id == -1),
        });
        self.state.recording = true;
        self.state.recording_name = Some(name.into());
        self.count_frames();
        let (name, frames) = (self.state.recording_name.clone(), self.state.recorded_frames);
        self.event(Event::Recording { on: true, name, frames, by: (*origin.by).into() });
        // The app's first follows the acknowledgement at once.
        self.call_arm(now, Purpose::KeepAlive, &ArmRequest::RecordKeepAlive);
    }

    pub(super) fn recording_due(&self) -> Option<Instant> {
        let running = self.recorder.running.as_ref()?;
        running.keep_alive_at?;
        let gone = running.presence.has_ended() && running.ends_at.is_none();
        let long = (!running.told_long).then(|| later(running.began, LONG));
        let gone = gone.then_some(running.began);
        [running.keep_alive_at, running.ends_at, long, gone].into_iter().flatten().min()
    }

    pub(super) fn advance_recording(&mut self, now: Instant) {
        let Some(running) = &mut self.recorder.running else { return };
        if running.keep_alive_at.is_none() {
            return;
        }
        if running.presence.has_ended() {
            running.ends_at.get_or_insert(later(now, self.settings.orphan));
        }
        let seconds = now.saturating_duration_since(running.began).as_secs();
        let long = seconds >= LONG.as_secs() && !running.told_long;
        running.told_long |= long;
        if running.ends_at.is_some_and(|at| now >= at) {
            let orphan = self.settings.orphan.as_secs();
            return self.end_recording(now, &format!("its client has gone {orphan} s ago"));
        }
        if running.keep_alive_at.is_some_and(|at| now >= at) {
            running.keep_alive_at = Some(later(now, KEEP_ALIVE));
            self.calls.forget(Purpose::KeepAlive);
            self.call_arm(now, Purpose::KeepAlive, &ArmRequest::RecordKeepAlive);
        }
        if long {
            self.event(Event::RecordingLong { seconds });
        }
    }

    /// A client ends the recording.
    pub(super) fn record_stop(&mut self, now: Instant, id: RequestId, by: &str) {
        let foreign = self.state.arm.as_ref().is_some_and(|arm| arm.phase == Phase::Recording);
        if !self.recorder.may_run() && !foreign && !self.stops_recording() {
            return self.refuse(id, Refusal::new(Code::NotReady, "no recording runs"));
        }
        self.end_recording_for(now, Some(id), by);
    }

    pub(super) fn record_answer(&self) -> Answer {
        let take = self.recorder.take.as_ref();
        let recording = take.map(Take::recording);
        let frames = recording.map_or(0, |recording| recording.len());
        let stored = "the robot stores what it recorded, and keeps it";
        let note = match frames {
            0 => format!("{stored}; it did not tell its joints, so nothing of it came here"),
            _ => stored.into(),
        };
        Answer::RecordStop {
            frames,
            duration_ms: self.recorder.duration_ms(),
            largest_gap_ms: recording.map_or(0, |recording| recording.largest_gap_ms()),
            note: Some(note),
        }
    }

    /// A pose of the arms came.
    pub(super) fn record_pose(&mut self, now: Instant, positions: Pose) {
        let time_ms = self.clock.millis(now);
        if let Some(trial) = &mut self.recorder.trial {
            trial.add(now, time_ms, positions);
        }
        let running = self.recorder.take.as_mut().filter(|take| take.is_running());
        let Some(take) = running else { return };
        let was_full = take.is_full();
        take.add(now, time_ms, positions);
        let (frames, is_full) = (take.recording().len(), take.is_full());
        self.count_frames();
        if is_full && !was_full {
            self.event(Event::RecordingFull { frames });
        }
    }

    fn count_frames(&mut self) {
        let recording = self.recorder.take.as_ref().map(Take::recording);
        self.state.recorded_frames = recording.map_or(0, |recording| recording.len());
        self.state.recorded_ms = recording.map_or(0, |recording| recording.duration_ms());
    }

    /// The recording is over, as far as is known.
    pub(super) fn recording_ended(&mut self, now: Instant, by: &str) {
        self.recorder.trial = None;
        self.recorder.stop_keeping(now);
        self.recorder.running = None;
        if std::mem::take(&mut self.state.recording) {
            let recording = self.recorder.take.as_ref().map(Take::recording);
            let kept = recording.filter(|recording| !recording.is_empty());
            self.state.recorded = kept.cloned().map(Arc::new);
            let (name, frames) = (self.state.recording_name.clone(), self.state.recorded_frames);
            self.event(Event::Recording { on: false, name, frames, by: by.into() });
        }
    }

    /// The channel is gone. Without keep-alives the robot should end the recording itself; if it is
    /// found recording later, it is told to.
    pub(super) fn recording_cut(&mut self, now: Instant) {
        let begun = self.recorder.trial.as_ref().or(match self.recorder.running {
            Some(_) => self.recorder.take.as_ref(),
            None => None,
        });
        if let Some(name) = begun.and_then(|take| take.name.clone()) {
            self.recorder.left = Some(name);
        }
        self.recorder.unseen = None;
        self.recorder.foreign = None;
        self.recording_ended(now, "the link was lost");
    }

    /// The arms' state came.
    pub(super) fn recording_shown(&mut self, now: Instant) {
        let Some(arm) = &self.state.arm else { return };
        let (phase, name) = (arm.phase, Arc::clone(&arm.name));
        let moves = phase != Phase::Idle && phase != Phase::Returning;
        let nothing = |unseen: &mut Unseen| {
            moves || (unseen.answered && now >= later(unseen.at, SHOWN_WITHIN))
        };
        self.recorder.unseen.take_if(nothing);
        match (&mut self.recorder.running, phase) {
            (Some(running), Phase::Recording) => running.seen = true,
            (Some(running), _) if running.seen && running.keep_alive_at.is_some() => {
                self.recording_ended(now, "the robot ended it");
            }
            (None, Phase::Recording) if self.recorder.trial.is_none() => {
                self.found_recording(now, name);
            }
            (None, _) => {
                self.recorder.left = None;
                self.recorder.foreign = None;
            }
            _ => {}
        }
    }

    /// The robot records, and not for a client of now.
    fn found_recording(&mut self, now: Instant, name: Arc<str>) {
        if self.stops_recording() {
            return;
        }
        if self.recorder.left.take_if(|left| *left == name).is_some() {
            return self.end_recording(now, "it went on after the link was lost");
        }
        if self.recorder.foreign.as_ref() != Some(&name) {
            self.recorder.foreign = Some(Arc::clone(&name));
            self.event(Event::ForeignRecording { name });
        }
    }
}
