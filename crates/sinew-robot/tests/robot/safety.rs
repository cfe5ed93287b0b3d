use std::time::Duration;

use proptest::prelude::*;
use sinew_robot::{
    Code, Remedy,
    vacuum::{Command, Event, Output},
};
use sinew_wire::gd32::{Flag, Frame};

use crate::bench::{Bench, MS, Sent, WHO, velocity};

const HAZARDS: [Flag; 6] = [
    Flag::BumperLeft,
    Flag::BumperRight,
    Flag::CliffLeftSide,
    Flag::CliffLeftFront,
    Flag::CliffRightFront,
    Flag::CliffRightSide,
];

#[test]
fn velocity_expires_when_the_client_is_silent() {
    let mut bench = Bench::enabled();
    bench.velocity(0.2, 0.1).unwrap();
    let at = bench.elapsed();
    bench.run(Duration::from_secs(1));
    let last = bench.sent.iter().rfind(|sent| sent.moves()).unwrap();
    assert!(last.at - at < 300 * MS);
    let zero = bench.sent_as(0x66).into_iter().find(|sent| !sent.moves()).unwrap();
    assert_eq!(zero.at - at, 300 * MS);
    assert!(bench.events.contains(&Event::DeadmanExpired));
    assert_eq!(bench.session.state().stopped_by, None, "no latch");
    bench.velocity(0.2, 0.1).unwrap();
}

#[test]
fn a_renewed_velocity_does_not_expire() {
    let mut bench = Bench::enabled();
    for _ in 0..20 {
        bench.velocity(0.1, 0.0).unwrap();
        bench.run(250 * MS);
    }
    assert!(!bench.events.contains(&Event::DeadmanExpired));
    assert!(bench.sent_as(0x66).iter().all(|sent| sent.moves()));
}

#[test]
fn a_velocity_of_zero_expires_silently() {
    let mut bench = Bench::enabled();
    bench.velocity(0.0, 0.0).unwrap();
    assert_eq!(bench.sent_as(0x66).len(), 1);
    bench.run(Duration::from_secs(1));
    assert!(!bench.events.contains(&Event::DeadmanExpired));
}

#[test]
fn a_host_that_slept_does_not_send_a_stale_velocity() {
    let mut bench = Bench::enabled();
    bench.velocity(0.2, 0.0).unwrap();
    bench.sleep(400 * MS);
    bench.forget();
    let status = bench.controller.status_frame();
    bench.input(&status);
    assert!(!bench.moved());
    assert_eq!(bench.sent[0].payload, velocity(0, 0));
}

#[test]
fn zero_velocity_is_repeated_lest_the_first_got_lost() {
    let mut bench = Bench::enabled();
    bench.velocity(0.2, 0.0).unwrap();
    bench.run(100 * MS);
    bench.forget();
    // The stop itself does not reach the controller.
    bench.controller.unplugged = true;
    bench.execute(Command::DriveReset).unwrap();
    bench.controller.unplugged = false;
    assert!(bench.controller.wheels()[0] > 0.1);
    bench.run(25 * MS);
    assert_eq!(bench.controller.wheels(), [0.0; 2]);
    bench.run(Duration::from_secs(1));
    bench.forget();
    bench.run(100 * MS);
    assert!(bench.sent_as(0x66).is_empty(), "then the idle heartbeat returns");
}

#[test]
fn a_stop_latches_until_enable_and_names_who_stopped() {
    for stop in [Command::DriveReset, Command::DriveDisable] {
        let mut bench = Bench::enabled();
        bench.velocity(0.2, 0.0).unwrap();
        bench.session.execute(bench.now, stop, "somebody else").unwrap();
        for motion in [
            Command::Velocity { linear: 0.1, angular: 0.0 },
            Command::Tank { left: 0.1, right: 0.1 },
            Command::Dock,
        ] {
            let refusal = bench.execute(motion).unwrap_err();
            assert_eq!(refusal.code, Code::NotReady);
            assert!(refusal.message.contains("somebody else"), "{refusal}");
            assert_eq!(refusal.remedy, Some(Remedy::Enable), "{refusal}");
        }
        bench.run(Duration::from_secs(1));
        bench.forget();
        bench.execute(Command::DriveEnable { mode: 2 }).unwrap();
        bench.run(150 * MS);
        assert!(!bench.moved(), "nothing that was in effect comes back");
        bench.velocity(0.1, 0.0).unwrap();
        assert!(bench.moved());
    }
}

#[test]
fn the_robot_needs_enable_after_the_boot() {
    let mut bench = Bench::ready();
    assert_eq!(bench.velocity(0.1, 0.0).unwrap_err().code, Code::NotReady);
    assert_eq!(bench.execute(Command::Dock).unwrap_err().code, Code::NotReady);
    assert!(!bench.moved());
}

#[test]
fn release_stops_at_once_and_latches() {
    let mut bench = Bench::enabled();
    bench.velocity(0.2, 0.0).unwrap();
    bench.run(50 * MS);
    bench.forget();
    bench.release();
    assert_eq!(bench.sent[0].payload, velocity(0, 0));
    assert!(bench.events.iter().any(|event| matches!(event, Event::Stopped { .. })));
    let refusal = bench.velocity(0.1, 0.0).unwrap_err();
    assert!(refusal.message.contains(WHO), "{refusal}");
    bench.run(Duration::from_secs(1));
    assert!(!bench.moved());
}

#[test]
fn nothing_that_waited_is_sent_after_a_stop() {
    for stop in [Command::DriveReset, Command::Boot] {
        let mut bench = Bench::ready();
        bench.execute(Command::DriveEnable { mode: 2 }).unwrap();
        bench.velocity(0.2, 0.0).unwrap();
        bench.execute(Command::Vacuum { percent: 100 }).unwrap();
        bench.execute(Command::LidarOn { pwm: 60 }).unwrap();
        bench.run(50 * MS);
        bench.forget();
        bench.execute(stop).unwrap();
        bench.run(Duration::from_secs(2));
        assert!(!bench.moved());
        assert!(bench.sent_as(0x68).iter().all(|sent| sent.payload == [0, 0]));
        assert!(bench.sent_as(0x97).iter().all(|sent| sent.payload == [0]));
    }
}

#[test]
fn a_stop_overtakes_what_the_port_has_not_taken_yet() {
    let mut bench = Bench::enabled();
    let session = &mut bench.session;
    let now = bench.now;
    session.execute(now, Command::Vacuum { percent: 100 }, WHO).unwrap();
    session.execute(now, Command::Velocity { linear: 0.2, angular: 0.0 }, WHO).unwrap();
    session.execute(now, Command::Led { state: 4 }, WHO).unwrap();
    session.execute(now, Command::DriveReset, WHO).unwrap();
    let mut sent = Vec::new();
    while let Some(output) = session.poll_output() {
        if let Output::Transmit(frame) = output {
            let frame = Frame::new_checked(frame.as_bytes()).unwrap();
            sent.push((frame.command(), frame.payload().to_vec()));
        }
    }
    let commands: Vec<_> = sent.iter().map(|(command, _)| *command).collect();
    assert_eq!(commands, [0x66, 0x68, 0x69, 0x6A, 0x71, 0x97, 0x65, 0x8D]);
    assert!(sent[..7].iter().all(|(_, payload)| payload.iter().all(|&byte| byte == 0)));
}

#[test]
fn a_stop_is_accepted_whatever_the_link() {
    let mut bench = Bench::new(Default::default());
    bench.execute(Command::DriveReset).unwrap();
    bench.execute(Command::DriveDisable).unwrap();
    assert!(bench.sent.is_empty(), "no port");
    bench.connect();
    bench.forget();
    bench.execute(Command::DriveReset).unwrap();
    assert_eq!(bench.sent[0].payload, velocity(0, 0));
    bench.run(Duration::from_secs(4));
    bench.controller.unplugged = true;
    bench.run(500 * MS);
    bench.forget();
    bench.execute(Command::DriveDisable).unwrap();
    assert_eq!(bench.sent[0].payload, velocity(0, 0));
}

#[test]
fn bumper_and_cliffs_stop_forward_motion_and_say_so() {
    for flag in HAZARDS {
        for forward in [
            Command::Velocity { linear: 0.1, angular: 0.0 },
            Command::Velocity { linear: 0.01, angular: 1.0 },
            Command::Tank { left: 0.1, right: 0.1 },
            Command::Tank { left: -0.05, right: 0.1 },
        ] {
            let mut bench = Bench::enabled();
            bench.execute(forward.clone()).unwrap();
            bench.controller.status.set(flag, true);
            bench.forget();
            bench.run(30 * MS);
            let last = bench.sent.last().unwrap();
            assert!(!last.moves(), "{forward:?}");
            assert!(bench.events.contains(&Event::Reflex { what: vec![flag.name()] }));
            assert_eq!(bench.session.state().stopped_by, None, "no latch");
            let refusal = bench.execute(forward.clone()).unwrap_err();
            assert_eq!(refusal.code, Code::NotReady);
            let words = flag.name().replace('_', " ");
            assert!(refusal.message.contains(&words), "{refusal}");
            for way_out in [
                Command::Velocity { linear: -0.1, angular: 0.3 },
                Command::Velocity { linear: 0.0, angular: 0.5 },
                Command::Tank { left: -0.1, right: -0.1 },
                Command::Tank { left: -0.1, right: 0.1 },
            ] {
                bench.execute(way_out).unwrap();
                bench.forget();
                bench.run(100 * MS);
                assert!(bench.moved(), "the way out stays open");
            }
            bench.controller.status.set(flag, false);
            bench.run(20 * MS);
            bench.execute(forward).unwrap();
        }
    }
}

#[test]
fn a_bumper_does_not_stop_the_way_back() {
    let mut bench = Bench::enabled();
    bench.velocity(-0.1, 0.0).unwrap();
    bench.controller.status.set(Flag::BumperLeft, true);
    bench.run(100 * MS);
    assert!(bench.sent_as(0x66).iter().all(|sent| sent.moves()));
}

#[test]
fn a_velocity_that_waits_for_the_mode_is_dropped_by_the_bumper() {
    let mut bench = Bench::ready();
    bench.execute(Command::DriveEnable { mode: 2 }).unwrap();
    bench.velocity(0.1, 0.0).unwrap();
    bench.controller.status.set(Flag::BumperRight, true);
    bench.run(500 * MS);
    assert!(!bench.moved());
}

#[test]
fn motion_is_refused_while_no_status_has_come() {
    let mut bench = Bench::new(Default::default());
    bench.controller.streams = false;
    bench.connect();
    bench.run(Duration::from_secs(4));
    bench.execute(Command::DriveEnable { mode: 2 }).unwrap();
    bench.run(150 * MS);
    let refusal = bench.velocity(0.1, 0.0).unwrap_err();
    assert_eq!(refusal.code, Code::NotReady);
    assert!(refusal.message.contains("status"), "{refusal}");
    bench.controller.streams = true;
    bench.run(20 * MS);
    bench.velocity(0.1, 0.0).unwrap();
}

#[test]
fn raw_frames_do_not_get_around_the_rules() {
    let raw = |command, payload: Vec<u8>| Command::Raw { command, payload };
    let mut bench = Bench::ready();
    let refusal = bench.execute(raw(0x66, velocity(100, 0))).unwrap_err();
    assert_eq!(refusal.code, Code::NotReady, "latched");
    assert_eq!(bench.execute(raw(0x67, vec![100, 0, 100, 0])).unwrap_err().code, Code::NotReady);
    bench.execute(raw(0x65, vec![2])).unwrap();
    bench.run(150 * MS);
    assert_eq!(bench.execute(raw(0x66, velocity(100, 0))).unwrap_err().code, Code::NotReady);
    bench.execute(raw(0x66, velocity(0, 0))).unwrap();
    bench.execute(raw(0x67, vec![0; 4])).unwrap();
    assert!(!bench.moved());

    let mut bench = Bench::enabled();
    for (command, payload) in [
        (0x66, velocity(301, 0)),
        (0x66, velocity(0, -1001)),
        (0x66, vec![1; 7]),
        (0x66, vec![1; 9]),
        (0x66, vec![]),
        (0x67, vec![0x2D, 0x01, 0x2D, 0x01]),
        (0x67, vec![0x9C, 0xFF, 200, 0]),
        (0x67, vec![1; 5]),
    ] {
        let refusal = bench.execute(raw(command, payload.clone())).unwrap_err();
        assert_eq!(refusal.code, Code::InvalidArgument, "{command:02X} {payload:?}");
    }
    assert!(!bench.moved());
    bench.execute(raw(0x66, velocity(123, -456))).unwrap();
    assert_eq!(bench.sent_as(0x66)[0].payload, velocity(123, -456));
    bench.run(Duration::from_secs(1));
    assert!(bench.events.contains(&Event::DeadmanExpired));
}

#[test]
fn sleep_and_power_off_stop_the_wheels_first() {
    for command in [Command::McuSleep, Command::MainBoard { on: false }, Command::MainBoardRestart]
    {
        let mut bench = Bench::enabled();
        bench.velocity(0.2, 0.0).unwrap();
        bench.forget();
        bench.execute(command).unwrap();
        assert_eq!(bench.sent[0].payload, velocity(0, 0));
        bench.run(500 * MS);
        assert!(!bench.moved());
    }
}

#[derive(Debug, Clone)]
enum Step {
    Execute(Command),
    Release,
    Run(u64),
    Hazard(bool),
    Plug(bool),
    Sleep(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let command = prop_oneof![
        4 => (-0.35f32..0.35, -1.2f32..1.2)
            .prop_map(|(linear, angular)| Command::Velocity { linear, angular }),
        2 => (-0.35f32..0.35, -0.35f32..0.35)
            .prop_map(|(left, right)| Command::Tank { left, right }),
        3 => prop_oneof![Just(0u8), Just(2)].prop_map(|mode| Command::DriveEnable { mode }),
        1 => Just(Command::DriveDisable),
        1 => Just(Command::DriveReset),
        1 => Just(Command::Dock),
        1 => (0u8..120).prop_map(|percent| Command::Vacuum { percent }),
        1 => Just(Command::LidarOn { pwm: 60 }),
        1 => Just(Command::LidarOff),
        1 => (any::<u8>(), prop::collection::vec(any::<u8>(), 0..10))
            .prop_map(|(command, payload)| Command::Raw { command, payload }),
    ];
    prop_oneof![
        8 => command.prop_map(Step::Execute),
        1 => Just(Step::Release),
        6 => (1u64..400).prop_map(Step::Run),
        1 => any::<bool>().prop_map(Step::Hazard),
        1 => any::<bool>().prop_map(Step::Plug),
        1 => (1u64..400).prop_map(Step::Sleep),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_rules_hold_whatever_happens(steps in prop::collection::vec(step(), 1..60)) {
        let mut bench = Bench::ready();
        let mut fresh = None;
        for step in steps {
            let from = bench.sent.len();
            match step {
                Step::Execute(command) => {
                    let stop = command.is_stop();
                    let drives = command.is_motion();
                    let dock = command == Command::Dock;
                    let done = bench.execute(command);
                    if stop {
                        prop_assert!(done.is_ok());
                        // Of two stops at once the second need not fill the line.
                        let velocities = |sent: &&Sent| matches!(sent.command, 0x66 | 0x67);
                        let told = bench.sent.iter().rfind(velocities).unwrap();
                        prop_assert!(!told.moves() && bench.elapsed() - told.at < 20 * MS);
                        fresh = None;
                    } else if drives && done.is_ok() {
                        fresh = Some((bench.elapsed(), dock));
                    }
                    if bench.session.state().stopped_by.is_some() {
                        prop_assert!(!bench.sent[from..].iter().any(|sent| sent.moves()));
                    }
                }
                Step::Release => {
                    bench.release();
                    fresh = None;
                }
                Step::Run(time) => bench.run(Duration::from_millis(time)),
                Step::Hazard(on) => bench.controller.status.set(Flag::BumperLeft, on),
                Step::Plug(unplugged) => bench.controller.unplugged = unplugged,
                Step::Sleep(time) => bench.sleep(Duration::from_millis(time)),
            }
            for sent in &bench.sent[from..] {
                if !sent.moves() {
                    continue;
                }
                match fresh {
                    None => prop_assert!(false, "moves after a stop: {sent:?}"),
                    Some((at, false)) => prop_assert!(sent.at - at <= 300 * MS, "stale: {sent:?}"),
                    Some((_, true)) => {}
                }
            }
        }
    }
}
