//! What the arms can do from the factory. Names, numbers and lengths are a real robot's; the
//! motions are made up.

use sinew_wire::{
    teach::{G1_ARM_JOINTS, JOINTS},
    unitree::arm::{Preset, RELEASE},
};

use super::super::{Key, Motion, StoredAction, joints::clamped};

/// How long the arms take to where a preset has them.
const REACH_MS: u16 = 1200;
/// Time of one swing.
const BEAT_MS: u16 = 400;
const SWINGS: u16 = 4;

/// A preset or a factory's taught action: where the arms go, and which joint swings there how far.
pub(super) struct Row {
    pub(super) id: i64,
    pub(super) name: &'static str,
    /// The states in which it can be played, where it has its own.
    fsm: &'static [i64],
    /// The builds that have it, where not all do.
    mode_machine: &'static [i64],
    /// Whether the arms stay up until they are released. Supposed, after the vendor's example.
    pub(super) holds: bool,
    reach: &'static [(usize, f32)],
    swing: (usize, f32),
}

const STANDING: &[i64] = &[500, 501];
const BOTH_UP: &[(usize, f32)] = &[(0, -2.4), (1, 0.4), (6, -2.4), (7, -0.4)];
const RIGHT_UP: &[(usize, f32)] = &[(6, -2.4), (7, -0.3)];
const RIGHT_FORWARD: &[(usize, f32)] = &[(6, -1.3), (9, 0.3)];
const RIGHT_FACE: &[(usize, f32)] = &[(6, -1.2), (7, -0.3), (9, 1.8)];
const LEFT_FACE: &[(usize, f32)] = &[(0, -1.2), (1, 0.3), (3, 1.8)];
const BOTH_FACE: &[(usize, f32)] = &[(0, -1.2), (3, 1.8), (6, -1.2), (9, 1.8)];
const BOTH_FORWARD: &[(usize, f32)] =
    &[(0, -1.1), (1, 0.3), (3, 0.8), (6, -1.1), (7, -0.3), (9, 0.8)];

pub(super) const PRESETS: [Row; 20] = [
    preset(RELEASE, "release_arm", false, &[], (0, 0.0)),
    Row { fsm: STANDING, ..preset(1, "turn_back_wave", false, RIGHT_UP, (8, 0.5)) },
    preset(11, "blow_kiss_with_both_hands", false, BOTH_FACE, (3, 0.2)),
    preset(12, "blow_kiss_with_left_hand", false, LEFT_FACE, (3, 0.2)),
    preset(13, "blow_kiss_with_right_hand", false, RIGHT_FACE, (9, 0.2)),
    preset(15, "both_hands_up", true, BOTH_UP, (0, 0.0)),
    preset(17, "clamp", false, BOTH_FORWARD, (2, 0.3)),
    preset(18, "high_five", true, RIGHT_UP, (6, 0.1)),
    preset(19, "hug", true, BOTH_FORWARD, (2, 0.2)),
    preset(22, "refuse", true, RIGHT_FORWARD, (8, 0.4)),
    preset(23, "right_hand_up", true, RIGHT_UP, (0, 0.0)),
    preset(24, "ultraman_ray", true, BOTH_FORWARD, (0, 0.0)),
    preset(25, "wave_under_head", false, RIGHT_FORWARD, (8, 0.5)),
    preset(26, "wave_above_head", false, RIGHT_UP, (8, 0.5)),
    preset(27, "shake_hand", true, RIGHT_FORWARD, (9, 0.15)),
    only_four(preset(31, "extend_right_arm_forward", true, RIGHT_FORWARD, (0, 0.0))),
    only_four(preset(32, "right_hand_on_mouth", true, RIGHT_FACE, (0, 0.0))),
    preset(33, "right_hand_on_heart", true, RIGHT_FACE, (0, 0.0)),
    preset(34, "both_hands_up_deviate_right", true, BOTH_UP, (2, 0.2)),
    only_four(preset(35, "emphasize", true, RIGHT_FORWARD, (9, 0.3))),
];

/// Taught actions from the factory, with their length in milliseconds.
const FACTORY: [(Row, u16); 4] = [
    (preset(0, "Waist_Drum_Dance", false, BOTH_FORWARD, (3, 0.6)), 9500),
    (preset(0, "Spin_discs", false, RIGHT_FORWARD, (8, 0.8)), 6900),
    (preset(0, "Scratch_head", false, RIGHT_UP, (9, 0.3)), 8100),
    (preset(0, "Throw_money", false, RIGHT_FACE, (9, 0.9)), 8100),
];

const fn preset(
    id: i64,
    name: &'static str,
    holds: bool,
    reach: &'static [(usize, f32)],
    swing: (usize, f32),
) -> Row {
    Row { id, name, fsm: &[], mode_machine: &[], holds, reach, swing }
}

const fn only_four(row: Row) -> Row {
    Row { mode_machine: &[4], ..row }
}

/// The taught actions from the factory.
pub(super) fn factory() -> impl Iterator<Item = StoredAction> {
    FACTORY.iter().map(|(row, length)| StoredAction {
        name: row.name.into(),
        saved_at: 0,
        duration_ms: (*length).into(),
        frames: 0,
        flags: 0,
        motion: row.motion(*length),
    })
}

impl Row {
    pub(super) fn preset(&self) -> Preset {
        let (fsm, mode_machine) = (self.fsm.to_vec(), self.mode_machine.to_vec());
        Preset { id: self.id, name: self.name.into(), fsm, mode_machine }
    }

    /// Whether a build of the body has it.
    pub(super) fn is_for(&self, mode_machine: i64) -> bool {
        self.mode_machine.is_empty() || self.mode_machine.contains(&mode_machine)
    }

    /// Whether a state allows it, beside what all actions ask for.
    pub(super) fn allows(&self, fsm_id: i64) -> bool {
        self.fsm.is_empty() || self.fsm.contains(&fsm_id)
    }

    pub(super) const fn length_ms() -> u16 {
        REACH_MS + SWINGS * BEAT_MS
    }

    /// There, and swinging until `length_ms`.
    pub(super) fn motion(&self, length_ms: u16) -> Motion {
        let mut pose = [0.0; JOINTS];
        for &(slot, value) in self.reach {
            pose[slot] = value;
        }
        let mut keys = Vec::new();
        let mut at = |time_ms: u16, pose: [f32; JOINTS]| {
            let joints = G1_ARM_JOINTS.iter().zip(clamped(pose));
            keys.extend(joints.map(|(joint, value)| Key {
                joint: joint.number.into(),
                time_ms,
                value,
            }));
        };
        at(0, [0.0; JOINTS]);
        at(REACH_MS, pose);
        let (slot, way) = self.swing;
        let beats = length_ms.saturating_sub(REACH_MS) / BEAT_MS;
        for beat in 1..beats {
            let mut swung = pose;
            swung[slot] += if beat % 2 == 0 { -way } else { way };
            at(REACH_MS + beat * BEAT_MS, swung);
        }
        at(length_ms.max(REACH_MS + 1), pose);
        Motion::Keyframes(keys)
    }
}
