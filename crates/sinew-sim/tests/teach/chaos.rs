//! What happens to the network, the robot and the host's process.

use std::time::{Duration, Instant};

use fastrand::Rng;
use sinew_faults::{DatagramFaults, Faults};

use crate::{
    harness::{Pair, ms},
    hostile,
};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Trouble {
    StallUp,
    StallDown,
    Cut,
    CutUp,
    CutDown,
    Restart,
    Freeze,
    FreezeRobot,
    SlowDisk,
    FullDisk,
    Hostile,
}

/// Troubles of a run, one at a time.
#[derive(Debug)]
pub(crate) struct Chaos {
    rng: Rng,
    kinds: Vec<Trouble>,
    pause: u64,
    /// Whether something is to be mended at `next`.
    broken: bool,
    pub(crate) next: Instant,
}

impl Chaos {
    pub(crate) fn new(seed: u64, now: Instant) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0xBAD0_0000);
        let all = [
            (Trouble::StallUp, 80),
            (Trouble::StallDown, 80),
            (Trouble::Cut, 70),
            (Trouble::CutUp, 50),
            (Trouble::CutDown, 50),
            (Trouble::Restart, 90),
            (Trouble::Freeze, 50),
            (Trouble::FreezeRobot, 60),
            (Trouble::SlowDisk, 80),
            (Trouble::FullDisk, 80),
            (Trouble::Hostile, 160),
        ];
        let kinds: Vec<_> =
            all.into_iter().filter(|(_, odds)| rng.u8(..) < *odds).map(|(kind, _)| kind).collect();
        let pause = rng.u64(200..4000);
        let next = now + ms(rng.u64(0..3000));
        Chaos { rng, kinds, pause, broken: false, next }
    }

    pub(crate) fn act(&mut self, pair: &mut Pair) {
        let calm = ms(20 + self.rng.u64(0..2 * self.pause));
        self.next = pair.now + calm;
        if std::mem::take(&mut self.broken) {
            return pair.restore();
        }
        let Some(&kind) = self.rng.choice(&self.kinds) else {
            self.next = pair.now + ms(600_000);
            return;
        };
        let long = self.rng.u8(..) < 20;
        let pause = ms(if long { self.rng.u64(2000..14_000) } else { self.rng.u64(10..1500) });
        pair.say("chaos", || format!("{kind:?} {pause:?}"));
        match kind {
            Trouble::StallUp => pair.up.stall(pair.now + pause),
            Trouble::StallDown => pair.down.stall(pair.now + pause),
            Trouble::Cut => pair.cut(),
            Trouble::CutUp => pair.up.cut(),
            Trouble::CutDown => pair.down.cut(),
            Trouble::Restart => pair.restart(self.rng.bool()),
            Trouble::Freeze => {
                pair.rules.tally.pauses += 1;
                pair.freeze(pair.now + pause);
            }
            Trouble::FreezeRobot => {
                pair.rules.tally.pauses += 1;
                pair.freeze_robot(pair.now + ms(self.rng.u64(100..5000)));
            }
            Trouble::SlowDisk => pair.disk.delay = ms(self.rng.u64(1..5000)),
            Trouble::FullDisk => pair.disk.full = true,
            Trouble::Hostile => {
                for _ in 0..self.rng.u8(1..6) {
                    hostile::at_robot(pair, &mut self.rng);
                    hostile::at_host(pair, &mut self.rng);
                }
            }
        }
        let lasts = [Trouble::Cut, Trouble::CutUp, Trouble::CutDown];
        if lasts.contains(&kind) || matches!(kind, Trouble::SlowDisk | Trouble::FullDisk) {
            self.broken = true;
            self.next = pair.now + pause;
        }
    }
}

/// How bad a link is.
pub(crate) fn faults(rng: &mut Rng) -> DatagramFaults {
    let mut odds = |share: u8| {
        if rng.u8(..) >= share { 0.0 } else { [0.01, 0.05, 0.15, 0.4][rng.usize(0..4)] }
    };
    let (drop, corrupt, duplicate, reorder) = (odds(120), odds(50), odds(80), odds(80));
    let mut up_to = |longest: u64| match rng.u8(0..3) {
        0 => Duration::ZERO,
        1 => Duration::from_micros(rng.u64(0..longest)),
        _ => Duration::from_micros(rng.u64(0..longest / 10)),
    };
    let (delay, jitter) = (up_to(250_000), up_to(60_000));
    DatagramFaults { link: Faults { drop, corrupt, duplicate, delay, jitter, seed: 0 }, reorder }
}
