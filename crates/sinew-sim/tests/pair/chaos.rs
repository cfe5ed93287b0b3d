//! What happens to the cable, the port and the robot.

use std::time::{Duration, Instant};

use fastrand::Rng;
use sinew_faults::Faults;
use sinew_sim::vacuum::Pose;

use crate::harness::{Pair, ms};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Trouble {
    StallUp,
    StallDown,
    Cut,
    CutUp,
    Unplug,
    Reboot,
    Block,
    Carry,
    /// The host does not run.
    Pause,
    /// The robot neither hears nor speaks.
    Freeze,
}

/// Troubles of a run, one at a time.
#[derive(Debug)]
pub(crate) struct Chaos {
    rng: Rng,
    kinds: Vec<Trouble>,
    pause: u64,
    blocked: Duration,
    /// What is to be mended at `next`.
    broken: Option<Trouble>,
    pub(crate) next: Instant,
}

impl Chaos {
    pub(crate) fn new(seed: u64, now: Instant, blocked: Duration) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0xBAD0_0000);
        let all = [
            (Trouble::StallUp, 90),
            (Trouble::StallDown, 90),
            (Trouble::Cut, 70),
            (Trouble::CutUp, 60),
            (Trouble::Unplug, 80),
            (Trouble::Reboot, 70),
            (Trouble::Carry, 60),
            (Trouble::Pause, 60),
            (Trouble::Freeze, 40),
        ];
        let mut kinds: Vec<_> =
            all.into_iter().filter(|(_, odds)| rng.u8(..) < *odds).map(|(kind, _)| kind).collect();
        if !blocked.is_zero() {
            kinds.extend([Trouble::Block; 8]);
        }
        let pause = if blocked.is_zero() { rng.u64(500..6000) } else { rng.u64(50..500) };
        let first = if rng.u8(..) < 60 { 0 } else { 3500 };
        let next = now + ms(first + rng.u64(0..2500));
        Chaos { rng, kinds, pause, blocked, broken: None, next }
    }

    pub(crate) fn act(&mut self, pair: &mut Pair) {
        if let Some(broken) = self.broken.take() {
            match broken {
                Trouble::Unplug => pair.connect(),
                _ => pair.restore(),
            }
            self.next = pair.now + ms(40 + self.rng.u64(0..2 * self.pause));
            return;
        }
        let Some(&kind) = self.rng.choice(&self.kinds) else {
            self.next = pair.now + ms(60_000);
            return;
        };
        let pause = match kind {
            Trouble::Pause | Trouble::Freeze => {
                let most = if self.rng.bool() { 600 } else { 5000 };
                ms(self.rng.u64(100..most))
            }
            _ => ms(self.rng.u64(10..600)),
        };
        match kind {
            Trouble::StallUp => {
                pair.rules.disturbed(pair.now + pause);
                pair.up.stall(pair.now + pause);
            }
            Trouble::StallDown => pair.down.stall(pair.now + pause),
            Trouble::Cut => pair.cut(),
            Trouble::CutUp => pair.cut_up(),
            Trouble::Unplug => pair.disconnect(),
            Trouble::Reboot => pair.reboot(),
            Trouble::Block => pair.block(self.blocked.mul_f64(self.rng.f64())),
            Trouble::Carry => pair.robot.place(anywhere(&mut self.rng)),
            Trouble::Pause => pair.pause(pause),
            Trouble::Freeze => pair.stall(pause),
        }
        pair.say("chaos", || format!("{kind:?} {pause:?}"));
        if matches!(kind, Trouble::Cut | Trouble::CutUp | Trouble::Unplug) {
            self.broken = Some(kind);
            self.next = pair.now + pause;
        } else {
            // Not two full ports in one beat, and nothing else to a host that does not run.
            let pause = if kind == Trouble::Pause { pause } else { Duration::ZERO };
            self.next = pair.now + pause + ms(40 + self.rng.u64(0..2 * self.pause));
        }
    }
}

/// A place in the default room, which may be beside a wall or at the step.
pub(crate) fn anywhere(rng: &mut Rng) -> Pose {
    match rng.u8(0..4) {
        0 => Pose::new(3.6, 2.1, rng.f64() - 0.5),
        1 => Pose::new(4.3, 0.0, rng.f64() - 0.5),
        _ => Pose::new(rng.f64() * 4.5, rng.f64() * 3.5 - 1.3, rng.f64() * 6.3),
    }
}

/// How bad a link is.
pub(crate) fn faults(rng: &mut Rng) -> Faults {
    let mut odds = |share: u8| {
        if rng.u8(..) >= share { 0.0 } else { [1e-4, 1e-3, 5e-3, 2e-2][rng.usize(0..4)] }
    };
    let (drop, corrupt, duplicate) = (odds(80), odds(80), odds(50));
    Faults {
        drop,
        corrupt,
        duplicate,
        delay: if rng.bool() { Duration::ZERO } else { Duration::from_micros(rng.u64(0..20_000)) },
        jitter: if rng.bool() { Duration::ZERO } else { Duration::from_micros(rng.u64(0..10_000)) },
        seed: 0,
    }
}
