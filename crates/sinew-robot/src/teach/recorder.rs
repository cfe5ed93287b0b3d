//! Recordings as they are made.

use std::{sync::Arc, time::Instant};

use sinew_wire::teach::Status;

use super::{Answer, Event, Session, take::Take};

/// The recording that was made last, or runs.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    /// One whose start the robot has not answered yet.
    trial: Option<Take>,
    take: Option<Take>,
    /// The time in the last save.
    saved_at: u32,
}

impl Recorder {
    pub(super) fn take(&self) -> Option<&Take> {
        self.take.as_ref()
    }

    /// The robot was asked to record.
    pub(super) fn try_start(&mut self, now: Instant, name: Option<&str>) {
        self.trial = Some(Take::new(now, name.map(Into::into)));
    }

    /// It was asked again, having missed it before.
    pub(super) fn try_again(&mut self, now: Instant) {
        if let Some(trial) = &mut self.trial {
            *trial = Take::new(now, trial.name.take());
        }
    }

    /// It does not record.
    pub(super) fn give_up(&mut self) {
        self.trial = None;
    }

    /// It records.
    pub(super) fn start(&mut self, now: Instant) {
        self.take = Some(self.trial.take().unwrap_or_else(|| Take::new(now, None)));
    }

    pub(super) fn end(&mut self, now: Instant) {
        if let Some(take) = &mut self.take {
            take.end(now);
        }
    }

    /// The robot refused to end it.
    pub(super) fn go_on(&mut self) {
        if let Some(take) = &mut self.take {
            take.go_on();
        }
    }

    /// The time of a save. No two carry the same: a peer takes a stored name with the same time
    /// for a repetition.
    pub(super) fn save_time(&self, unix: u32) -> u32 {
        unix.max(self.saved_at.saturating_add(1))
    }

    pub(super) fn saved(&mut self, time: u32) {
        self.saved_at = time;
    }
}

impl Session {
    pub(super) fn record(&mut self, now: Instant, status: &Status<'_>) {
        if let Some(trial) = &mut self.recorder.trial {
            trial.add(now, status.time_ms, status.positions);
        }
        let running = self.recorder.take.as_mut().filter(|take| take.is_running());
        let Some(take) = running else { return };
        let was_full = take.is_full();
        take.add(now, status.time_ms, status.positions);
        let (frames, is_full) = (take.recording().len(), take.is_full());
        self.count_frames();
        if is_full && !was_full {
            self.event(Event::RecordingFull { frames });
        }
    }

    /// The robot has none any more, whether it ran or was finished.
    pub(super) fn recording_lost(&mut self, by: &str) {
        self.recording_ended(by);
        self.recorder.give_up();
        if let Some(take) = &mut self.recorder.take {
            take.kept = false;
        }
    }

    pub(super) fn recording_ended(&mut self, by: &str) {
        if std::mem::take(&mut self.state.recording) {
            let recording = self.recorder.take().map(Take::recording);
            let kept = recording.filter(|recording| !recording.is_empty());
            self.state.recorded = kept.cloned().map(Arc::new);
            let frames = self.state.recorded_frames;
            self.event(Event::Recording { on: false, frames, by: by.into() });
        }
    }

    pub(super) fn record_answer(&self) -> Answer {
        let take = self.recorder.take();
        let recording = take.map(Take::recording);
        let frames = recording.map_or(0, |recording| recording.len());
        Answer::RecordStop {
            frames,
            duration_ms: take.map_or(0, Take::duration_ms),
            largest_gap_ms: recording.map_or(0, |recording| recording.largest_gap_ms()),
            note: (frames == 0)
                .then(|| "the robot pushes no status: only its own recording exists".into()),
        }
    }

    pub(super) fn count_frames(&mut self) {
        let recording = self.recorder.take().map(Take::recording);
        self.state.recorded_frames = recording.map_or(0, |recording| recording.len());
        self.state.recorded_ms = recording.map_or(0, |recording| recording.duration_ms());
    }
}
