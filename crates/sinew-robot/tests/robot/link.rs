use std::time::Duration;

use serde_json::Value;
use sinew_robot::{
    Code,
    vacuum::{Command, Event, LinkState as Link, Settings},
};
use sinew_wire::gd32::{Flag, FrameBuf};

use crate::bench::{Bench, MS, velocity};

#[test]
fn a_silent_status_stream_loses_the_link_after_two_hundred_milliseconds() {
    let mut bench = Bench::enabled();
    bench.velocity(0.2, 0.0).unwrap();
    let seen = bench.session.state().last_seen.unwrap();
    bench.controller.streams = false;
    bench.run_until(Duration::from_secs(1), |bench| bench.session.state().link == Link::Lost);
    let time = bench.now - seen;
    assert!(time >= 200 * MS && time <= 206 * MS, "{time:?}");
    assert_eq!(bench.session.state().last_seen, Some(seen));
    assert_eq!(bench.session.state().stopped_by.as_deref(), Some("link lost"));
    let lost = bench.events.iter().find_map(|event| match event {
        Event::Link { link: Link::Lost, silent_ms } => *silent_ms,
        _ => None,
    });
    assert_eq!(lost, Some(200));
    let zero = bench.sent.iter().rfind(|sent| sent.command == 0x66).unwrap();
    assert!(!zero.moves());
    for command in [
        Command::Velocity { linear: 0.1, angular: 0.0 },
        Command::DriveEnable { mode: 2 },
        Command::Vacuum { percent: 1 },
        Command::ProtocolSync,
    ] {
        assert_eq!(bench.execute(command).unwrap_err().code, Code::LinkLost);
    }
    bench.forget();
    bench.run(Duration::from_secs(3));
    assert!(!bench.moved());
}

#[test]
fn five_periods_count_when_they_are_longer() {
    let settings = Settings { status_period: 100 * MS, ..Settings::default() };
    let mut bench = Bench::ready_with(settings);
    bench.controller.streams = false;
    bench.run(480 * MS);
    assert_eq!(bench.session.state().link, Link::Ready);
    bench.run(30 * MS);
    assert_eq!(bench.session.state().link, Link::Lost);
}

#[test]
fn a_stream_that_comes_back_boots_again_and_carries_no_motion_over() {
    let mut bench = Bench::enabled();
    bench.execute(Command::Vacuum { percent: 50 }).unwrap();
    bench.velocity(0.2, 0.0).unwrap();
    bench.controller.unplugged = true;
    bench.run(Duration::from_secs(1));
    assert_eq!(bench.session.state().link, Link::Lost);
    bench.controller.unplugged = false;
    bench.forget();
    bench.run(100 * MS);
    assert!(matches!(bench.session.state().link, Link::Booting { .. }));
    assert_eq!(bench.execute(Command::Led { state: 1 }).unwrap_err().code, Code::NotReady);
    bench.run(Duration::from_secs(4));
    assert_eq!(bench.session.state().link, Link::Ready);
    assert!(!bench.moved());
    assert!(bench.sent_as(0x68).iter().all(|sent| sent.payload == [0, 0]));
    let refusal = bench.velocity(0.1, 0.0).unwrap_err();
    assert_eq!(refusal.code, Code::NotReady);
    assert!(refusal.message.contains("link lost"), "{refusal}");
    bench.execute(Command::DriveEnable { mode: 2 }).unwrap();
    bench.run(150 * MS);
    bench.velocity(0.1, 0.0).unwrap();
}

#[test]
fn a_controller_that_restarted_and_waits_to_be_woken_is_woken() {
    let mut bench = Bench::ready();
    bench.controller.restart();
    bench.controller.streams = false;
    bench.run(4 * Duration::from_secs(1));
    assert!(!bench.sent_as(0x0C).is_empty());
    assert_eq!(bench.session.state().link, Link::Ready, "it answers and is booted");
}

#[test]
fn a_port_that_is_gone_refuses_and_a_new_one_boots_from_nothing() {
    let mut bench = Bench::enabled();
    bench.velocity(0.2, 0.0).unwrap();
    bench.session.disconnected(bench.now);
    assert_eq!(bench.session.poll_timeout(), None);
    assert_eq!(bench.velocity(0.1, 0.0).unwrap_err().code, Code::LinkLost);
    bench.forget();
    let status = bench.controller.status_frame();
    bench.input(&status);
    bench.timeout();
    assert!(bench.sent.is_empty() && bench.events.is_empty());
    bench.connect();
    bench.run(Duration::from_secs(4));
    assert_eq!(bench.session.state().link, Link::Ready);
    assert_eq!(bench.session.state().mode, 0);
    assert!(!bench.moved());
    assert_eq!(bench.velocity(0.1, 0.0).unwrap_err().code, Code::NotReady);
}

#[test]
fn input_may_come_in_any_split_with_rubbish_between() {
    let mut bench = Bench::ready();
    bench.controller.streams = false;
    let before = bench.session.state().counters;
    let mut bytes = vec![0x00, 0xFA, 0xFB, 0x02];
    bytes.extend(bench.controller.status_frame());
    bytes.extend(FrameBuf::new(0xEE, &[7]).unwrap().as_bytes());
    for byte in bytes {
        bench.input(&[byte]);
    }
    let after = bench.session.state().counters;
    assert_eq!(after.frames - before.frames, 2);
    assert_eq!(after.dropped - before.dropped, 4);
    assert_eq!(after.bad_lengths - before.bad_lengths, 1);
    assert!(bench.events.contains(&Event::Unknown { command: 0xEE, payload: vec![7] }));
}

#[test]
fn a_false_header_on_a_quiet_line_does_not_hold_a_frame_back() {
    let mut bench = Bench::ready();
    bench.controller.streams = false;
    bench.forget();
    let mut bytes = vec![0xFA, 0xFB, 0xFF];
    bytes.extend(bench.controller.status_frame());
    bench.input(&bytes);
    let heard =
        |bench: &Bench| bench.events.iter().any(|event| matches!(event, Event::Status { .. }));
    bench.run(49 * MS);
    assert!(!heard(&bench));
    bench.run(MS);
    assert!(heard(&bench));
}

#[test]
fn a_short_status_is_counted_and_passed_on_but_not_believed() {
    let mut bench = Bench::ready();
    bench.controller.streams = false;
    let before = bench.session.state().status;
    bench.input(FrameBuf::new(0x15, &[0xFF; 20]).unwrap().as_bytes());
    assert_eq!(bench.session.state().counters.malformed, 1);
    assert_eq!(bench.session.state().status, before);
    bench.run(250 * MS);
    assert_eq!(bench.session.state().link, Link::Lost, "it is no stream");
}

#[test]
fn events_nobody_fetches_are_bounded_and_counted() {
    let mut bench = Bench::ready();
    let frame = bench.controller.status_frame();
    for _ in 0..2000 {
        bench.session.handle_input(bench.now, &frame);
    }
    assert!(bench.session.state().counters.events_lost > 1000);
    let mut left = 0;
    while bench.session.poll_output().is_some() {
        left += 1;
    }
    assert!(left < 1000);
}

#[test]
fn state_and_events_are_json() {
    let bench = Bench::ready();
    let state = serde_json::to_value(bench.session.state()).unwrap();
    assert_eq!(state["link"]["state"], "ready");
    assert_eq!(state["version"], "v1.23");
    assert_eq!(state["battery_percent"], 50);
    let settings = serde_json::to_value(bench.session.settings()).unwrap();
    assert_eq!(settings["deadman_ms"], 300.0);
    assert_eq!(settings["profile"]["encoder_order"], "right_first");
    for event in &bench.events {
        assert!(serde_json::to_value(event).unwrap()["event"].is_string());
    }
    let event = Event::Dock { dock: sinew_robot::vacuum::DockEvent::GaveUp { reason: "x".into() } };
    let json = serde_json::to_value(event).unwrap();
    assert_eq!(json, serde_json::json!({"event": "dock", "dock": "gave_up", "reason": "x"}));
}

#[test]
fn the_state_tells_what_touches_the_robot() {
    let told = |bench: &Bench| serde_json::to_value(bench.session.state()).unwrap();
    let mut bench = Bench::new(Settings::default());
    let names = Flag::ALL.iter().map(|flag| flag.name()).chain(["start_button", "dock_button"]);
    for name in names {
        assert_eq!(told(&bench).get(name), Some(&Value::Null), "{name} before the first packet");
    }
    bench = Bench::ready();
    bench.controller.status.dock_button = 100;
    for flag in [Flag::BumperLeft, Flag::CliffRightFront, Flag::Charging] {
        bench.controller.status.set(flag, true);
    }
    bench.run(Duration::from_millis(50));
    let told = told(&bench);
    let is = |name: &str| told[name].as_bool().unwrap();
    let set: Vec<_> = Flag::ALL.iter().map(|flag| flag.name()).filter(|name| is(name)).collect();
    let wanted = ["bumper_left", "cliff_right_front", "dustbox_attached", "is_charging"];
    assert_eq!(set, wanted);
    assert_eq!((is("start_button"), is("dock_button")), (false, true));
}

#[test]
fn while_lost_zero_velocity_goes_on_in_case_it_is_heard() {
    let mut bench = Bench::enabled();
    bench.velocity(0.2, 0.0).unwrap();
    // Only the way back is cut.
    bench.controller.streams = false;
    bench.controller.deaf_to.push(0x0C);
    bench.run(400 * MS);
    assert_eq!(bench.session.state().link, Link::Lost);
    assert_eq!(bench.controller.wheels(), [0.0; 2]);
    bench.forget();
    bench.run(100 * MS);
    assert_eq!(bench.sent_as(0x66).len(), 5);
    assert!(bench.sent.iter().all(|sent| sent.payload == velocity(0, 0)));
}

#[test]
fn a_port_that_was_full_gets_no_burst_and_no_stale_velocity() {
    let mut bench = Bench::enabled();
    bench.execute(Command::Vacuum { percent: 50 }).unwrap();
    bench.velocity(0.2, 0.0).unwrap();
    bench.full = true;
    for _ in 0..5 {
        bench.run(50 * MS);
        bench.velocity(0.1, 0.1).unwrap();
    }
    bench.forget();
    bench.full = false;
    bench.drain();
    assert_eq!(bench.sent_as(0x66).len(), 1, "the newest only");
    assert_eq!(bench.sent_as(0x66)[0].payload, velocity(100, 100));
    assert_eq!(bench.sent_as(0x68).len(), 1);
    bench.full = true;
    bench.run(350 * MS);
    bench.forget();
    bench.full = false;
    bench.drain();
    assert!(!bench.moved(), "it expired meanwhile");
    assert_eq!(bench.sent[0].payload, velocity(0, 0));
    assert!(bench.sent.len() < 6, "{:?}", bench.sent);
}

#[test]
fn a_mode_that_a_full_port_held_back_still_settles_before_what_needs_it() {
    let mut bench = Bench::ready();
    bench.full = true;
    bench.execute(Command::Vacuum { percent: 50 }).unwrap();
    bench.run(333 * MS);
    bench.full = false;
    bench.drain();
    bench.run(500 * MS);
    let mode = bench.sent_as(0x65)[0].at;
    let vacuum = bench.sent_as(0x68)[0].at;
    assert!(vacuum - mode >= 100 * MS && vacuum - mode <= 120 * MS, "{:?}", vacuum - mode);
}

#[test]
fn a_handshake_that_a_full_port_held_up_takes_two_whole_seconds() {
    let mut bench = Bench::new(Settings::default());
    bench.connect();
    bench.run(1500 * MS);
    bench.full = true;
    bench.run(120 * MS);
    bench.full = false;
    bench.drain();
    let resumed = bench.elapsed();
    bench.run_until(Duration::from_secs(4), |bench| bench.session.state().link == Link::Ready);
    let last = bench.sent_as(0x6B).last().unwrap().at;
    assert!(last - resumed >= 2000 * MS, "{:?}", last - resumed);
}
