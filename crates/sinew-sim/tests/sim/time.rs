//! The same calls give the same bytes; late callers and hostile ones do no harm.

use std::time::{Duration, Instant};

use proptest::{collection::vec, prelude::*};
use sinew_sim::vacuum::{Controller, Options, World};

use crate::support::{Bench, SYNC, frame, ms, velocity};

const STATUS: u8 = 0x15;

fn drive_about(bench: &mut Bench) -> Vec<(Duration, Vec<u8>)> {
    bench.send(0x08, &[]);
    bench.drive(ms(2000), 0.2, 0.3);
    bench.robot.press_start(bench.now, ms(40));
    bench.drive(ms(2000), -0.1, -0.7);
    bench.robot.reboot(bench.now);
    bench.sync();
    bench.heard.iter().map(|(at, bytes)| (bench.elapsed(*at), bytes.clone())).collect()
}

#[test]
fn the_same_seed_and_calls_give_the_same_bytes() {
    let run = |seed| drive_about(&mut Bench::ready(Options { seed, ..Options::default() }));
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn noise_depends_on_the_seed() {
    let statuses = |seed| {
        let mut bench = Bench::new(Options { seed, ..Options::default() });
        bench.sync();
        bench.send(0xA1, &[]);
        bench.heard.clear();
        bench.run(ms(100));
        bench.heard(STATUS)
    };
    let readings = |seed| statuses(seed).into_iter().map(|(_, raw)| raw).collect::<Vec<_>>();
    assert_eq!(readings(1), readings(1));
    assert_ne!(readings(1), readings(2), "even without a bias");
    assert_ne!(readings(1)[0], readings(1)[1]);
}

#[test]
fn calling_more_often_changes_nothing() {
    let run = |pause: Duration| {
        let mut bench = Bench::in_the_open();
        let mut statuses = Vec::new();
        for _ in 0..100 {
            bench.bytes(&velocity(0.2, 0.5));
            let end = bench.now + ms(20);
            while bench.now < end {
                bench.now += pause;
                bench.robot.handle_timeout(bench.now);
                statuses.extend(std::iter::from_fn(|| bench.robot.poll_transmit()));
            }
        }
        (statuses, bench.pose())
    };
    let (often, seldom) = (run(Duration::from_micros(100)), run(ms(20)));
    assert_eq!(often.0, seldom.0);
    assert_eq!(often.1, seldom.1);
}

#[test]
fn a_caller_who_was_away_is_not_flooded() {
    for (rate_hz, most) in [(110, 6), (500, 26)] {
        for away in [ms(200), ms(3500), ms(10_000), Duration::from_secs(86_400 * 365)] {
            let mut bench = Bench::ready(Options { rate_hz, ..Options::default() });
            bench.heard.clear();
            bench.now += away;
            bench.robot.handle_timeout(bench.now);
            bench.run(ms(1));
            let count = bench.count(STATUS);
            assert!((1..=most).contains(&count), "{count} after {away:?}");
            bench.heard.clear();
            bench.run(ms(1000));
            assert!(bench.count(STATUS).abs_diff(rate_hz as usize) <= 1, "and then as before");
        }
    }
}

#[test]
fn a_robot_left_alone_in_motion_stops_as_it_would_have() {
    let run = |away: &[Duration]| {
        let mut bench = Bench::in_the_open();
        bench.drive(ms(1000), 0.2, 0.0);
        for pause in away {
            bench.now += *pause;
            bench.robot.handle_timeout(bench.now);
        }
        assert!(!bench.robot.is_moving());
        (bench.pose(), bench.robot.battery_volts())
    };
    let (pose, volts) = run(&vec![ms(10); 1000]);
    let (gap_pose, gap_volts) = run(&[ms(10_000)]);
    assert_eq!(pose, gap_pose);
    assert!((volts - gap_volts).abs() < 1e-4, "{volts} {gap_volts}");
}

#[test]
fn frames_nobody_fetches_do_not_pile_up() {
    let mut bench = Bench::ready(Options::default());
    for _ in 0..10_000 {
        bench.robot.handle_input(bench.now, &frame(0x07, &[]));
    }
    let waiting = std::iter::from_fn(|| bench.robot.poll_transmit()).count();
    assert!(waiting <= 256, "{waiting}");
}

#[test]
fn time_that_goes_back_stands_still() {
    let mut bench = Bench::in_the_open();
    bench.drive(ms(500), 0.2, 0.0);
    let pose = bench.pose();
    bench.robot.handle_timeout(bench.start);
    bench.robot.handle_input(bench.start, &velocity(0.2, 0.0));
    bench.robot.press_dock(bench.start, Duration::MAX);
    assert_eq!(bench.pose(), pose);
    bench.drive(ms(500), 0.2, 0.0);
    assert!(bench.pose().x > pose.x);
    assert_eq!(bench.status().dock_button, 1);
}

#[test]
fn the_longest_boot_never_ends() {
    let mut bench = Bench::new(Options { boot_delay: Duration::MAX, ..Options::default() });
    bench.sync();
    bench.run(ms(60_000));
    assert!(bench.heard.is_empty());
}

#[derive(Debug, Clone)]
enum Act {
    Bytes(Vec<u8>),
    Frame(u8, Vec<u8>),
    Wait(u64),
    Reboot,
    Press(u64),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let known = prop::sample::select(sinew_wire::gd32::Command::ALL);
    let act = prop_oneof![
        3 => vec(prop_oneof![3 => any::<u8>(), 1 => Just(0xFA), 1 => Just(0xFB)], 0..40)
            .prop_map(Act::Bytes),
        6 => (known, vec(any::<u8>(), 0..12))
            .prop_map(|(command, payload)| Act::Frame(command.code(), payload)),
        1 => (any::<u8>(), vec(any::<u8>(), 0..=252)).prop_map(|(c, p)| Act::Frame(c, p)),
        4 => (0..200u64).prop_map(Act::Wait),
        1 => Just(Act::Wait(20_000)),
        1 => Just(Act::Bytes(SYNC.to_vec())),
        1 => Just(Act::Reboot),
        1 => any::<u64>().prop_map(Act::Press),
    ];
    vec(act, 0..60)
}

/// Plays the acts; gives what was sent and checks what always holds.
fn play(seed: u64, ready: bool, acts: &[Act]) -> Vec<u8> {
    let options = Options { seed, record: 50, ..Options::default() };
    let room = World::default().room;
    let mut bench = if ready { Bench::ready(options) } else { Bench::new(options) };
    for act in acts {
        match act {
            Act::Bytes(bytes) => bench.bytes(bytes),
            Act::Frame(command, payload) => bench.send(*command, payload),
            Act::Wait(time) => bench.run(ms(*time)),
            Act::Reboot => bench.robot.reboot(bench.now),
            Act::Press(hold) => bench.robot.press_start(bench.now, ms(*hold)),
        }
        let pose = bench.pose();
        assert!((room.left..room.right).contains(&pose.x));
        assert!((room.bottom..room.top).contains(&pose.y));
        assert!(bench.robot.received().len() <= 50);
        let (left, right) = bench.robot.wheels();
        assert!(left.abs() <= 0.5 && right.abs() <= 0.5);
        if !bench.robot.outputs().handshake_done || bench.robot.outputs().asleep {
            assert_eq!(bench.robot.wheel_targets(), (0.0, 0.0));
        }
    }
    // Whatever was sent: a silent host means a robot at rest.
    bench.run(ms(400));
    assert!(!bench.robot.is_moving());
    bench.heard.into_iter().flat_map(|(_, bytes)| bytes).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn no_bytes_do_harm_and_all_are_answered_alike(
        seed: u64, ready: bool, acts in acts(),
    ) {
        prop_assert_eq!(play(seed, ready, &acts), play(seed, ready, &acts));
    }

    #[test]
    fn the_split_of_the_input_does_not_matter(
        payloads in vec((prop::sample::select(sinew_wire::gd32::Command::ALL), vec(any::<u8>(), 0..9)), 0..20),
        split in 1..20usize,
    ) {
        let now = Instant::now();
        let bytes: Vec<u8> = payloads.iter().flat_map(|(c, p)| frame(c.code(), p)).collect();
        let run = |size: usize| {
            let mut robot = Controller::new(Options::default(), now);
            robot.handle_input(now, &SYNC);
            for part in bytes.chunks(size) {
                robot.handle_input(now, part);
            }
            robot.handle_timeout(now + ms(300));
            let sent: Vec<_> = std::iter::from_fn(|| robot.poll_transmit()).collect();
            (sent, robot.outputs(), robot.received().to_vec())
        };
        prop_assert_eq!(run(split), run(1 << 16));
    }
}
