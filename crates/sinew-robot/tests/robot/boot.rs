use std::time::Duration;

use sinew_robot::{
    Code,
    vacuum::{Command, Event, LinkState as Link, Settings},
};
use sinew_wire::gd32::BOOT;

use crate::bench::{Bench, MS};

/// Everything but heartbeats of either kind.
fn listed(bench: &Bench) -> Vec<(u8, Vec<u8>)> {
    bench.commands().into_iter().filter(|(command, _)| *command != 0x6B).collect()
}

#[test]
fn the_eighteen_frames_go_out_in_order_and_byte_for_byte() {
    let mut bench = Bench::new(Settings::default());
    bench.connect();
    bench.run(Duration::from_secs(4));
    let pulses = |sent: &&(u8, Vec<u8>)| !(sent.0 == 0x6B && sent.1 == [0x64]);
    let commands = bench.commands();
    let sent: Vec<_> = commands.iter().filter(pulses).collect();
    for (step, sent) in BOOT.iter().zip(&sent) {
        assert_eq!((step.command.code(), step.payload), (sent.0, &*sent.1), "step {}", step.step);
    }
    assert_eq!(*sent[18], (0x8D, vec![0x01]), "the LED once more");
    assert_eq!(sent.len(), 19);
}

#[test]
fn two_seconds_of_handshake_with_zero_velocity_between_come_before_ready() {
    let mut bench = Bench::new(Settings::default());
    bench.connect();
    bench.run_until(Duration::from_secs(4), |bench| bench.session.state().link == Link::Ready);
    let pulses = bench.sent.iter().filter(|sent| sent.command == 0x6B && sent.payload == [0x64]);
    let pulses: Vec<_> = pulses.map(|sent| sent.at).collect();
    let time = *pulses.last().unwrap() - pulses[0];
    assert!(time >= 2000 * MS && time <= 2200 * MS, "{time:?}");
    assert!(pulses.windows(2).all(|two| two[1] - two[0] <= 25 * MS));
    let zeros = bench.sent_as(0x66).into_iter().filter(|sent| sent.at >= pulses[0]).count();
    assert!(zeros > 90, "{zeros}");
    assert!(bench.events.contains(&Event::BootDone));
    bench.forget();
    bench.run(Duration::from_secs(1));
    assert!(bench.sent_as(0x6B).is_empty(), "the handshake is over");
}

#[test]
fn heartbeats_go_on_during_the_boot() {
    let mut bench = Bench::new(Settings::default());
    bench.connect();
    bench.run(Duration::from_secs(5));
    let beats = bench.sent.iter().filter(|sent| matches!(sent.command, 0x06 | 0x66));
    let beats: Vec<_> = beats.map(|sent| sent.at).collect();
    assert!(beats[0] <= 20 * MS);
    assert!(beats.windows(2).all(|two| two[1] - two[0] <= 22 * MS));
}

#[test]
fn motion_is_refused_until_the_boot_is_over() {
    let mut bench = Bench::new(Settings::default());
    assert_eq!(bench.velocity(0.1, 0.0).unwrap_err().code, Code::LinkLost);
    bench.connect();
    while bench.session.state().link != Link::Ready {
        let refusal = bench.velocity(0.1, 0.0).unwrap_err();
        assert_eq!(refusal.code, Code::NotReady);
        assert!(refusal.message.contains("booting"), "{refusal}");
        assert_eq!(
            bench.execute(Command::DriveEnable { mode: 2 }).unwrap_err().code,
            Code::NotReady
        );
        bench.run(100 * MS);
    }
    assert!(!bench.moved());
}

#[test]
fn an_unanswered_step_is_retried() {
    for command in [0x0C, 0x07, 0x17, 0x18, 0x08] {
        let mut bench = Bench::new(Settings::default());
        bench.controller.deaf_to.push(command);
        bench.connect();
        bench.run(1700 * MS);
        assert!(bench.sent_as(command).len() >= 3, "0x{command:02X}");
        bench.controller.deaf_to.clear();
        bench.run(Duration::from_secs(4));
        assert_eq!(bench.session.state().link, Link::Ready, "0x{command:02X}");
    }
}

#[test]
fn initialize_is_repeated_for_five_seconds() {
    let mut bench = Bench::new(Settings::default());
    bench.controller.deaf_to.push(0x08);
    bench.connect();
    bench.run_until(Duration::from_secs(10), |bench| {
        matches!(bench.session.state().link, Link::Failed { .. })
    });
    let sent = bench.sent_as(0x08);
    let time = bench.elapsed() - sent[0].at;
    assert!(time >= 5000 * MS && time < 5300 * MS, "{time:?}");
}

#[test]
fn a_controller_that_never_answers_fails_with_the_step_and_is_tried_again_for_ever() {
    let steps = [(0x0C, 1), (0x07, 2), (0x17, 6), (0x18, 7), (0x08, 16)];
    for (command, wanted) in steps {
        let mut bench = Bench::new(Settings::default());
        bench.controller.deaf_to.push(command);
        bench.connect();
        for attempt in 1..=3 {
            bench.run_until(Duration::from_secs(10), |bench| {
                matches!(bench.session.state().link, Link::Failed { .. })
            });
            let Link::Failed { step, reason } = bench.session.state().link.clone() else {
                unreachable!()
            };
            assert_eq!(step, wanted);
            assert!(reason.contains(&format!("0x{command:02X}")), "{reason}");
            let failures = bench.events.iter();
            let failures = failures.filter(|event| matches!(event, Event::BootFailed { .. }));
            assert_eq!(failures.count(), attempt);
            let refusal = bench.execute(Command::Vacuum { percent: 1 }).unwrap_err();
            assert_eq!(refusal.code, Code::NotReady);
            assert!(refusal.message.contains(&*reason));
            bench.run(3100 * MS);
            assert!(matches!(bench.session.state().link, Link::Booting { .. }));
        }
    }
}

#[test]
fn a_silent_controller_is_told_from_one_that_only_streams() {
    let reason = |streams| {
        let mut bench = Bench::new(Settings::default());
        bench.controller.deaf_to.push(0x0C);
        bench.controller.streams = streams;
        bench.connect();
        bench.run(Duration::from_secs(5));
        match bench.session.state().link.clone() {
            Link::Failed { reason, .. } => reason,
            other => panic!("{other:?}"),
        }
    };
    assert!(reason(true).contains("status packets arrive"));
    assert!(reason(false).contains("nothing arrives"));
}

#[test]
fn a_host_that_slept_through_the_handshake_does_it_again() {
    let mut bench = Bench::new(Settings::default());
    bench.connect();
    bench.run_until(Duration::from_secs(2), |bench| {
        bench.session.state().link == Link::Booting { step: 19 }
    });
    bench.sleep(1900 * MS);
    let status = bench.controller.status_frame();
    bench.input(&status);
    bench.run(500 * MS);
    assert_eq!(bench.session.state().link, Link::Booting { step: 19 });
    bench.run(1800 * MS);
    assert_eq!(bench.session.state().link, Link::Ready);
}

#[test]
fn boot_can_be_asked_for_again_and_stops_first() {
    let mut bench = Bench::enabled();
    bench.velocity(0.1, 0.0).unwrap();
    bench.forget();
    bench.execute(Command::Boot).unwrap();
    assert_eq!(bench.sent[0].command, 0x66);
    assert!(!bench.sent[0].moves());
    assert_eq!(bench.sent[1].command, 0x0C);
    assert_eq!(bench.execute(Command::Boot).unwrap_err().code, Code::NotReady);
    bench.run(Duration::from_secs(4));
    assert_eq!(bench.session.state().link, Link::Ready);
    assert_eq!(bench.velocity(0.1, 0.0).unwrap_err().code, Code::NotReady);
    assert!(!bench.moved());
}

#[test]
fn boot_after_a_failure_does_not_wait() {
    let mut bench = Bench::new(Settings::default());
    bench.controller.deaf_to.push(0x0C);
    bench.connect();
    bench.run(4100 * MS);
    assert!(matches!(bench.session.state().link, Link::Failed { .. }));
    bench.controller.deaf_to.clear();
    bench.execute(Command::Boot).unwrap();
    bench.run(2900 * MS);
    assert_eq!(bench.session.state().link, Link::Ready);
}

#[test]
fn version_and_led_are_known_after_the_boot() {
    let bench = Bench::ready();
    assert_eq!(bench.session.state().version.as_deref(), Some("v1.23"));
    assert_eq!(bench.session.state().led, 1);
    assert_eq!(bench.session.state().mode, 0);
    assert!(listed(&bench).is_empty());
}

#[test]
fn data_is_requested_every_three_seconds_once_ready() {
    let mut bench = Bench::new(Settings::default());
    bench.connect();
    bench.run(2 * Duration::from_secs(1));
    assert!(bench.sent_as(0x0D).is_empty());
    bench.run(Duration::from_secs(13));
    let polls: Vec<_> = bench.sent_as(0x0D).iter().map(|sent| sent.at).collect();
    assert!(polls.len() >= 4);
    assert!(polls.windows(2).all(|two| two[1] - two[0] == 3000 * MS));
}
