//! The test plan over a bad link, by a client that repeats until it is answered.

use std::time::{Duration, Instant};

use sinew_faults::{DatagramFaults, FaultyDatagrams};
use sinew_sim::g1::{Code, Mode, Options, Output, Robot};
use sinew_wire::teach::{Datagram, G1_ARM_JOINTS, Layout, Message, Sender, Sequence};

use crate::support::*;

const STEP: Duration = ms(5);
const RETRY: Duration = ms(300);

struct Pair {
    robot: Robot,
    there: FaultyDatagrams,
    back: FaultyDatagrams,
    now: Instant,
    sequence: Sequence,
    maintained: Instant,
    /// What the robot was seen to do, without repetition.
    modes: Vec<Mode>,
}

impl Pair {
    fn new(faults: &str, seed: u64) -> Self {
        let faults: DatagramFaults = faults.parse().unwrap();
        let now = Instant::now();
        Pair {
            robot: Robot::new(Options { seed, ..Options::default() }, now),
            there: FaultyDatagrams::new(faults, seed * 2),
            back: FaultyDatagrams::new(faults, seed * 2 + 1),
            now,
            sequence: Sequence(65_500),
            maintained: now,
            modes: Vec::new(),
        }
    }

    fn send(&mut self, message: &Message<'_>) -> Sequence {
        let bytes = message.to_vec(Layout::Documented, self.sequence).unwrap();
        self.there.send(self.now, &bytes);
        let sent = self.sequence;
        self.sequence = sent.next();
        sent
    }

    /// Lets five milliseconds pass and gives what came back.
    fn step(&mut self) -> Vec<Vec<u8>> {
        self.now += STEP;
        while let Some(bytes) = self.there.receive(self.now) {
            self.robot.handle_datagram(self.now, client(0), &bytes);
        }
        self.robot.handle_timeout(self.now);
        while let Some(output) = self.robot.poll_output() {
            match output {
                Output::Send { bytes, .. } => self.back.send(self.now, &bytes),
                Output::Store { id, .. } => self.robot.stored(self.now, id, true),
                other => panic!("{other:?}"),
            }
        }
        if self.modes.last() != Some(&self.robot.mode()) {
            self.modes.push(self.robot.mode());
        }
        for (position, joint) in self.robot.joints().into_iter().zip(G1_ARM_JOINTS) {
            assert!((joint.min..=joint.max).contains(&position));
        }
        std::iter::from_fn(|| self.back.receive(self.now)).collect()
    }

    /// Repeats a request, each time under a new number, until one of them is answered.
    fn ask(&mut self, message: &Message<'_>) -> Code {
        let mut sent = Vec::new();
        loop {
            sent.push(self.send(message).next());
            let until = self.now + RETRY;
            while self.now < until {
                for bytes in self.step() {
                    if let Some(code) = answer(&bytes, message, &sent) {
                        return code;
                    }
                }
            }
            assert!(sent.len() < 60, "an answer to {message:?}");
        }
    }

    fn teach(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            if self.now - self.maintained >= ms(2000) {
                self.maintained = self.now;
                self.send(&MAINTAIN);
            }
            self.step();
        }
    }
}

/// The code of an answer to one of the requests whose numbers + 1 are these.
fn answer(bytes: &[u8], request: &Message<'_>, numbers: &[Sequence]) -> Option<Code> {
    let datagram = Datagram::new_checked(bytes).ok()?;
    if !numbers.contains(&datagram.sequence) {
        return None;
    }
    match Message::parse(&datagram, Some(Sender::Robot)).ok()? {
        Message::Answer { command, status, .. } if command == request.command() => {
            Code::from_number(status)
        }
        Message::List(_) => Some(Code::Success),
        _ => None,
    }
}

fn eight_steps(faults: &str, seed: u64) -> Pair {
    let mut pair = Pair::new(faults, seed);
    let mut plan: Vec<Message<'_>> = opening().to_vec();
    plan.extend([LIST, enter(), START]);
    for message in &plan {
        assert_eq!(pair.ask(message), Code::Success, "{message:?}");
    }
    pair.teach(ms(3000));
    for message in [STOP, save("wave", 1, &[]), play_with(1, |play| play.duration_ms = 4000)] {
        assert_eq!(pair.ask(&message), Code::Success, "{message:?}");
    }
    pair.teach(ms(8000));
    assert_eq!(pair.ask(&EXIT), Code::Success);
    pair
}

#[test]
fn the_test_plan_passes_over_a_bad_link_and_everything_happens_once() {
    for seed in 0..40 {
        let pair = eight_steps(
            "drop=0.2,duplicate=0.2,reorder=0.2,corrupt=0.05,delay=5ms,jitter=10ms",
            seed,
        );
        assert_eq!(pair.robot.actions().len(), 1, "seed {seed}");
        let plays = pair.modes.iter().filter(|mode| **mode == Mode::Playing).count();
        let records = pair.modes.iter().filter(|mode| **mode == Mode::Recording).count();
        assert_eq!((plays, records), (1, 1), "seed {seed}: {:?}", pair.modes);
        assert_eq!(pair.robot.mode(), Mode::Idle);
        let counters = pair.robot.counters();
        assert!(counters.duplicates + counters.old > 0, "seed {seed}: {counters:?}");
    }
}

#[test]
fn a_cut_link_leaves_the_arms_held() {
    for seed in 0..20 {
        let mut pair = Pair::new("delay=5ms", seed);
        for message in opening().iter().chain(&[enter(), START]) {
            pair.ask(message);
        }
        pair.teach(ms(1000 + 100 * seed));
        pair.there.cut();
        pair.back.cut();
        pair.teach(ms(10_010));
        assert_eq!((pair.robot.mode(), pair.robot.clients()), (Mode::Idle, 0));
        let held = pair.robot.joints();
        pair.teach(ms(5000));
        assert_eq!(pair.robot.joints(), held);
        pair.there.restore();
        pair.back.restore();
        assert_eq!(pair.ask(&save("what is left", 1, &[])), Code::Success);
    }
}
