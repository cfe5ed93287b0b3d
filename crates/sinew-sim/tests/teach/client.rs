//! Somebody who teaches, mostly in a sensible order.

use std::{sync::Arc, time::Instant};

use fastrand::Rng;
use sinew_robot::{
    teach::{Playback, RobotRequest, Target},
    trajectory::{Document, G1_ARMS, Interpolation, Keyframe, Plan, PlanOptions, Recording},
};

use crate::harness::{Pair, ms};

#[derive(Debug)]
pub(crate) struct Client {
    rng: Rng,
    /// Place in the documents' test plan.
    place: usize,
    hurry: u64,
    pub(crate) next: Instant,
}

impl Client {
    pub(crate) fn new(seed: u64, now: Instant) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0xC11E_0000);
        let hurry = rng.u64(50..900);
        let next = now + ms(rng.u64(0..800));
        Client { rng, place: 0, hurry, next }
    }

    pub(crate) fn act(&mut self, pair: &mut Pair) {
        self.next = pair.now + ms(10 + self.rng.u64(0..2 * self.hurry));
        if pair.is_frozen() {
            return;
        }
        // Some ask for more before the first is on its way.
        let count = if self.rng.u8(..) < 40 { self.rng.usize(2..6) } else { 1 };
        for _ in 0..count {
            let verb = self.verb();
            pair.ask(verb);
        }
        if self.rng.u8(..) < 8 {
            pair.release();
        }
        if self.rng.u8(..) < 16 {
            pair.take();
        }
        pair.drain();
    }

    fn verb(&mut self) -> RobotRequest {
        match self.rng.u8(0..20) {
            0 => RobotRequest::Stop,
            1 => RobotRequest::List,
            2 => RobotRequest::Enter,
            3 => RobotRequest::Exit,
            4 => self.play(),
            5 => self.save(),
            6 => self.anything(),
            7 | 8 => self.perform(),
            _ => self.planned(),
        }
    }

    fn planned(&mut self) -> RobotRequest {
        self.place += 1;
        match self.place % 9 {
            1 => RobotRequest::Enter,
            2 => RobotRequest::RecordStart { name: None },
            4 => RobotRequest::RecordStop,
            5 | 6 => self.save(),
            7 => self.play(),
            _ => RobotRequest::List,
        }
    }

    fn anything(&mut self) -> RobotRequest {
        let name = self.name();
        match self.rng.u8(0..6) {
            0 => RobotRequest::Rename { name: name.clone(), new_name: name },
            1 => RobotRequest::Delete { action: Target::Id(self.rng.u32(..)) },
            2 => RobotRequest::RecordStart { name: Some(name) },
            3 => RobotRequest::RecordStop,
            4 => RobotRequest::Save { name: None, looped: false },
            _ => RobotRequest::Save { name: Some("a".repeat(32)), looped: true },
        }
    }

    fn save(&mut self) -> RobotRequest {
        RobotRequest::Save { name: Some(self.name()), looped: self.rng.u8(0..4) == 0 }
    }

    fn name(&mut self) -> String {
        format!("action {}", self.rng.u8(0..24))
    }

    fn play(&mut self) -> RobotRequest {
        let action = match self.rng.u8(0..8) {
            0 => Target::Id([0, 16, u32::MAX][self.rng.usize(0..3)]),
            1 | 2 => Target::Name(self.name()),
            _ => Target::Id(self.rng.u32(1..6)),
        };
        let kinds = [Interpolation::Linear, Interpolation::Cubic, Interpolation::Smooth];
        RobotRequest::Play {
            action,
            how: Playback {
                frames: if self.rng.bool() { 0 } else { self.rng.u32(0..40) },
                duration_ms: if self.rng.bool() { 0 } else { self.rng.u32(0..3000) },
                interpolation: kinds[self.rng.usize(0..3)],
                looped: self.rng.u8(0..16) == 0,
                ..Playback::default()
            },
            keyframes: (self.rng.u8(0..4) == 0).then(|| self.keyframes()),
        }
    }

    fn perform(&mut self) -> RobotRequest {
        let mut recording = Recording::new();
        let mut time = 0;
        for _ in 0..self.rng.u8(1..30) {
            let pose = std::array::from_fn(|_| self.rng.f32() * 2.0 - 1.0);
            recording.push(time, pose).unwrap();
            time += self.rng.u32(1..600);
        }
        let document = Document { recording, ..Document::default() };
        let plan = Plan::new(&document, 0, PlanOptions::default(), &G1_ARMS).unwrap();
        RobotRequest::Perform { name: self.name(), plan: Arc::new(plan), looped: self.rng.bool() }
    }

    fn keyframes(&mut self) -> Vec<Keyframe> {
        let wild = self.rng.u8(0..4) == 0;
        let count = if wild { self.rng.usize(0..22) } else { self.rng.usize(1..20) };
        let rng = &mut self.rng;
        let mut keyframe = || {
            let joint = if wild { rng.u16(0..40) } else { rng.u16(0..12) };
            let value = match rng.u8(0..12) {
                0 if wild => f32::NAN,
                1 if wild => f32::INFINITY,
                2 if wild => -1e30,
                _ if wild => rng.f32() * 8.0 - 4.0,
                _ => rng.f32() * 2.6 - 1.04,
            };
            Keyframe { joint, time_ms: rng.u16(0..2000), value }
        };
        (0..count).map(|_| keyframe()).collect()
    }
}
