use serde::{Deserialize, Serialize};
use sinew_wire::teach::{G1_ARM_JOINTS, Keyframes, Name, Save};

use super::{
    Code, MAX_DURATION,
    joints::{Pose, allows, slot_of},
};

/// What a robot keeps of an action. As JSON it can be read and written by hand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredAction {
    /// Its name: 1 to 31 bytes without NUL.
    pub name: String,
    /// When the host says it was saved, in Unix seconds. A save with the same name and the same
    /// time is a retry.
    pub saved_at: u32,
    /// How long it lasts, at most 65,535: the metadata in a list.
    pub duration_ms: u32,
    /// How many frames it stands for; a play can ask for the first few.
    pub frames: u32,
    /// The flags it was saved with: 1 save, 2 loop, 4 speed. Only loop has a meaning here.
    pub flags: u32,
    /// How the arms move.
    pub motion: Motion,
}

/// How the arms move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Motion {
    /// What a host made of its recording. A joint without keyframes stays where it is.
    Keyframes(Vec<Key>),
    /// The robot's own recording: poses of the twelve slots, evenly spread over the duration.
    Poses(Vec<Pose>),
}

/// A joint's position at a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// The body's joint, or a slot from 0 to 11.
    pub joint: u16,
    /// Milliseconds from the beginning.
    pub time_ms: u16,
    /// Position in rad.
    pub value: f32,
}

const LOOP: u32 = 2;

impl StoredAction {
    /// Says why an action cannot be stored or played.
    pub fn check(&self) -> Result<(), Code> {
        Name::new(&self.name).map_err(|_| Code::BadName)?;
        if u128::from(self.duration_ms) > MAX_DURATION.as_millis() {
            return Err(Code::TooLong);
        }
        match &self.motion {
            Motion::Keyframes(keys) if keys.is_empty() => Err(Code::NothingRecorded),
            Motion::Poses(poses) if poses.is_empty() => Err(Code::NothingRecorded),
            Motion::Keyframes(keys) => keys.iter().try_for_each(Key::check),
            Motion::Poses(poses) => {
                let mut positions = poses.iter().flat_map(|pose| pose.iter().zip(&G1_ARM_JOINTS));
                let allowed = positions.all(|(position, joint)| allows(joint, *position));
                if allowed { Ok(()) } else { Err(Code::BadJoint) }
            }
        }
    }

    /// What a save asks to store: its keyframes, or `recorded` (poses and their length in ms) when
    /// it has none.
    pub(super) fn from_save(
        save: &Save<'_>,
        recorded: Option<(&[Pose], u32)>,
    ) -> Result<Self, Code> {
        let keys = keys(&save.keyframes);
        let (motion, duration_ms, frames) = if keys.is_empty() {
            let (poses, duration_ms) = recorded.ok_or(Code::NothingRecorded)?;
            let frames = u32::try_from(poses.len()).unwrap_or(u32::MAX);
            (Motion::Poses(poses.to_vec()), duration_ms, frames)
        } else {
            let last = keys.iter().map(|key| u32::from(key.time_ms)).max().unwrap_or(0);
            (Motion::Keyframes(keys), save.duration_ms.max(last), save.frame_count)
        };
        let name = save.name.as_str().map_err(|_| Code::BadName)?.to_owned();
        let saved_at = save.timestamp;
        let action =
            StoredAction { name, saved_at, duration_ms, frames, flags: save.flags, motion };
        action.check().map(|()| action)
    }

    /// Whether it plays until it is stopped.
    pub fn is_looped(&self) -> bool {
        self.flags & LOOP != 0
    }
}

impl Key {
    /// The slot it is for.
    pub fn slot(&self) -> Option<usize> {
        slot_of(self.joint)
    }

    pub(super) fn check(&self) -> Result<(), Code> {
        let joint = self.slot().and_then(|slot| G1_ARM_JOINTS.get(slot)).ok_or(Code::BadJoint)?;
        if allows(joint, self.value) { Ok(()) } else { Err(Code::BadJoint) }
    }
}

/// The used keyframes, by the body's joints.
pub(super) fn keys(keyframes: &Keyframes) -> Vec<Key> {
    let keys = keyframes.iter().map(|keyframe| {
        let known = slot_of(keyframe.joint).and_then(|slot| G1_ARM_JOINTS.get(slot));
        let joint = known.map_or(keyframe.joint, |joint| joint.number.into());
        Key { joint, time_ms: keyframe.time_ms, value: keyframe.value }
    });
    keys.collect()
}
