use std::time::Duration;

use fastrand::Rng;

use sinew_wire::teach::{G1_ARM_JOINTS, JOINTS};

use super::joints::{Arms, Pose, STEP, STEP_S};

/// How fast a hand moves a joint at most, in rad/s.
pub const HAND_VELOCITY: f32 = 1.5;

/// How fast a hand gets there, in rad/s².
const HAND_ACCELERATION: f32 = 8.0;
/// A hand's speed by its distance from the target, per second. Below acceleration / speed, so that
/// it does not overshoot.
const EAGERNESS: f32 = 4.0;

/// How a hand moves the arms while they are soft. Time counts from the beginning of teaching,
/// without the plays in between.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Script {
    /// Lifts the right arm, waves with it, lowers it, and begins again. The seed says how far and
    /// how fast.
    Wave,
    /// These moves.
    Moves {
        /// In any order.
        moves: Vec<Move>,
        /// After how long to begin again.
        repeat: Option<Duration>,
    },
}

/// Begins to move a slot towards a target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Move {
    /// When.
    pub at: Duration,
    /// Which, from 0 to 11.
    pub slot: usize,
    /// Where to, in rad.
    pub target: f32,
}

/// A hand on every joint, and what it is about to do.
#[derive(Debug, Clone)]
pub(super) struct Operator {
    moves: Vec<Move>,
    repeat: Option<Duration>,
    clock: Duration,
    /// How many moves of this round have begun.
    begun: usize,
    targets: [Option<f32>; JOINTS],
}

impl Operator {
    pub(super) fn new(script: Option<Script>, seed: u64) -> Self {
        let (mut moves, repeat) = match script {
            None => (Vec::new(), None),
            Some(Script::Wave) => wave(&mut Rng::with_seed(seed)),
            Some(Script::Moves { moves, repeat }) => (moves, repeat),
        };
        moves.sort_by_key(|one| one.at);
        let targets = Default::default();
        Operator { moves, repeat, clock: Duration::ZERO, begun: 0, targets }
    }

    /// Begins the script anew.
    pub(super) fn restart(&mut self) {
        self.clock = Duration::ZERO;
        self.begun = 0;
        self.let_go();
    }

    /// Takes the hands off; the script goes on when the arms are soft again.
    pub(super) fn let_go(&mut self) {
        self.targets = Default::default();
    }

    pub(super) fn grab(&mut self, slot: usize, target: f32) {
        if let (Some(place), Some(joint)) = (self.targets.get_mut(slot), G1_ARM_JOINTS.get(slot))
            && target.is_finite()
        {
            *place = Some(joint.clamp(target));
        }
    }

    /// Moves soft arms for one step.
    pub(super) fn step(&mut self, arms: &mut Arms) {
        while let Some(next) = self.moves.get(self.begun).filter(|next| next.at <= self.clock) {
            let Move { slot, target, .. } = *next;
            self.begun += 1;
            self.grab(slot, target);
        }
        self.clock = self.clock.saturating_add(STEP);
        if self.repeat.is_some_and(|repeat| self.clock >= repeat) {
            self.clock = Duration::ZERO;
            self.begun = 0;
        }
        self.push(arms);
    }

    fn push(&self, arms: &mut Arms) {
        const MOST: f32 = HAND_ACCELERATION * STEP_S;
        let mut goal: Pose = arms.positions;
        for (slot, place) in goal.iter_mut().enumerate() {
            let way = self.targets[slot].map_or(0.0, |target| target - *place);
            let wanted = (way * EAGERNESS).clamp(-HAND_VELOCITY, HAND_VELOCITY);
            let velocity = arms.velocities[slot];
            *place += (velocity + (wanted - velocity).clamp(-MOST, MOST)) * STEP_S;
        }
        arms.approach(&goal);
    }
}

fn wave(rng: &mut Rng) -> (Vec<Move>, Option<Duration>) {
    const LIFTED: [(usize, f32); 3] = [(6, -1.2), (7, -0.5), (9, 0.4)];
    let (swing, beat) = (0.35 + 0.25 * rng.f32(), 450 + rng.u64(0..=200));
    let at = Duration::from_millis;
    let mut moves: Vec<Move> = Vec::new();
    for (slot, target) in LIFTED {
        let target = target * (0.9 + 0.2 * rng.f32());
        moves.push(Move { at: at(200), slot, target });
    }
    for number in 0..6 {
        let target = if number % 2 == 0 { swing } else { -swing };
        moves.push(Move { at: at(1500 + number * beat), slot: 8, target });
    }
    let down = 1500 + 6 * beat;
    moves.extend([6, 7, 8, 9].map(|slot| Move { at: at(down), slot, target: 0.0 }));
    (moves, Some(at(down + 2000)))
}
