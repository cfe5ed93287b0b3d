use std::time::Instant;

use sinew_wire::teach::{JOINTS, Message, Save, State};

use super::{
    Answer, Reduction, RequestId, Session, name::new_name, requests::not_ready, status::Stream,
    take::Take, wire::to_wire,
};
use crate::{
    Code, Refusal,
    trajectory::{Error, MAX_SAVED_MS, Reduced},
};

/// Flags of a save.
const SAVE: u32 = 1;
const LOOP: u32 = 2;

const OWN_RECORDING: &str = "the robot pushed no status, so it was asked to store its own recording; how good that is, \
     only the robot knows";

/// An error above this is seen from across the room, rad.
pub(super) const ROUGH: f32 = 0.1;
const ROUGH_NOTE: &str = "twenty keyframes hold only the rough of this motion; a shorter one, or one that moves fewer \
     joints, comes out better";

impl Session {
    /// The robot's own state, as far as it told it.
    pub(super) fn enter_message(&self) -> Message<'static> {
        Message::Enter(State {
            mode_flags: 1,
            positions: self.state.positions.unwrap_or([0.0; JOINTS]),
            velocities: self.state.velocities.unwrap_or([0.0; JOINTS]),
            imu: [0.0; 6],
            feet: [0.0; 4],
            timestamp_ms: self.stream.as_ref().map_or(0, Stream::time_ms),
            flags: 0,
            rest: &[],
        })
    }

    /// Has the recording reduced for the first request that waits, a save. What needs no reducing
    /// is gone on with at once.
    pub(super) fn prepare_save(&mut self, now: Instant, id: RequestId, name: Option<&str>) {
        let recording = self.savable(name).map(|_| self.state.recorded.clone());
        self.queue.prepare(id);
        match recording {
            Ok(Some(recording)) => self.outbox.reduce(Reduction { id, recording }),
            Ok(None) => self.reduced(now, id, Ok(Reduced::default())),
            Err(refusal) => self.prepared_save(now, id, Err(refusal)),
        }
    }

    pub(super) fn reduced(&mut self, now: Instant, id: RequestId, result: Result<Reduced, Error>) {
        let result = result.map_err(|error| Refusal::new(Code::Unsupported, error.to_string()));
        self.prepared_save(now, id, result);
    }

    pub(super) fn save_message(
        &mut self,
        now: Instant,
        name: Option<&str>,
        looped: bool,
        reduced: Reduced,
    ) -> Result<(Message<'static>, Answer), Refusal> {
        let time = self.save_time(now)?;
        let (name, take) = self.savable(name)?;
        let keyframes = to_wire(&reduced.keyframes)
            .map_err(|error| Refusal::new(Code::Unsupported, error.to_string()))?;
        let (duration_ms, frames) = (take.duration_ms(), take.recording().len());
        let field = new_name(&name)?;
        let answer = Answer::Save {
            name,
            error_rad: (frames > 0).then_some(reduced.error),
            keyframes: reduced.keyframes.len(),
            frames,
            duration_ms,
            note: match reduced.error {
                _ if frames == 0 => Some(OWN_RECORDING.into()),
                error if error > ROUGH => Some(ROUGH_NOTE.into()),
                _ => None,
            },
            sent: reduced.keyframes,
        };
        self.recorder.saved(time);
        let message = Message::Save(Save {
            name: field,
            timestamp: time,
            duration_ms,
            frame_count: u32::try_from(frames).unwrap_or(u32::MAX),
            flags: SAVE | if looped { LOOP } else { 0 },
            keyframes,
            rest: &[],
        });
        Ok((message, answer))
    }

    /// The recording and its name, if it can be saved.
    fn savable(&self, name: Option<&str>) -> Result<(String, &Take), Refusal> {
        let take = self.recorder.take().ok_or_else(|| not_ready("nothing was recorded"))?;
        let name = name
            .or(take.name.as_deref())
            .ok_or_else(|| Refusal::invalid("save: wanted name, got none, here or at the start"))?;
        new_name(name)?;
        if take.is_running() {
            return Err(not_ready("the recording still runs; stop it first"));
        }
        if !take.kept {
            return Err(not_ready(
                "teaching ended, and the robot's recording with it; the library takes what came \
                 here",
            ));
        }
        let duration_ms = take.duration_ms();
        if duration_ms > MAX_SAVED_MS {
            return Err(Refusal::new(
                Code::Unsupported,
                format!(
                    "the recording takes {duration_ms} ms and a robot holds at most \
                     {MAX_SAVED_MS}; record a shorter one, or save this one in the library"
                ),
            ));
        }
        Ok((name.into(), take))
    }

    /// The time a save carries.
    fn save_time(&self, now: Instant) -> Result<u32, Refusal> {
        let Some(begun) = self.settings.unix_time else {
            return Err(not_ready("a save carries the time, and this session was not told it"));
        };
        let unix = begun.saturating_add(now.saturating_duration_since(self.begun).as_secs());
        let unix = u32::try_from(unix).unwrap_or(u32::MAX);
        Ok(self.recorder.save_time(unix))
    }
}
