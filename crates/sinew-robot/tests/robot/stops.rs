//! What ends motion beside a stop, and what it leaves alone.

use std::time::Duration;

use sinew_robot::{
    Code,
    vacuum::{Command, DockEvent, Event},
};
use sinew_wire::gd32::Flag;

use crate::bench::{Bench, MS, WHO, velocity};

const ENABLE: Command = Command::DriveEnable { mode: 2 };

fn raw(command: u8, payload: &[u8]) -> Command {
    Command::Raw { command, payload: payload.to_vec() }
}

/// Every command that makes the wheels turn.
fn motions() -> [Command; 5] {
    [
        Command::Velocity { linear: 0.1, angular: 0.0 },
        Command::Tank { left: 0.1, right: 0.1 },
        Command::Dock,
        raw(0x66, &velocity(100, 0)),
        raw(0x67, &[100, 0, 100, 0]),
    ]
}

/// On its way to a dock.
fn docking() -> Bench {
    let mut bench = Bench::ready();
    bench.controller.dock = Some([0.0; 3]);
    bench.run(50 * MS);
    bench.controller.place = [1.0, 0.0, 0.0];
    bench.run(50 * MS);
    bench.execute(ENABLE).unwrap();
    bench.run(150 * MS);
    bench.execute(Command::Dock).unwrap();
    bench.run(Duration::from_secs(1));
    assert!(bench.session.state().docking.is_some());
    bench.forget();
    bench
}

#[test]
fn commands_know_what_they_are() {
    assert!(motions().iter().all(Command::is_motion));
    assert!(motions().iter().all(Command::is_driving));
    for command in [ENABLE, raw(0x65, &[2])] {
        assert!(command.is_driving() && !command.is_motion());
    }
    for command in [
        raw(0x66, &[0; 8]),
        raw(0x67, &[0; 4]),
        raw(0x68, &[1, 1]),
        Command::Vacuum { percent: 1 },
        Command::DriveReset,
    ] {
        assert!(!command.is_motion() && !command.is_driving(), "{command:?}");
    }
    assert!(Command::DriveReset.is_stop() && Command::DriveDisable.is_stop());
    assert!(!ENABLE.is_stop() && !raw(0x66, &[0; 8]).is_stop());
    assert!(Command::Dock.moves_by_itself() && !ENABLE.moves_by_itself());
}

#[test]
fn taking_the_controls_ends_the_former_holders_velocity_and_latches() {
    let mut bench = Bench::enabled();
    bench.velocity(0.2, 0.0).unwrap();
    bench.run(50 * MS);
    bench.forget();
    bench.take("the other");
    assert_eq!(bench.sent[0].payload, velocity(0, 0));
    for motion in motions() {
        let refusal = bench.execute(motion).unwrap_err();
        assert_eq!(refusal.code, Code::NotReady);
        assert!(refusal.message.contains("the other took the controls"), "{refusal}");
    }
    bench.run(Duration::from_secs(1));
    assert!(!bench.moved());
    bench.execute(ENABLE).unwrap();
    bench.run(150 * MS);
    bench.velocity(0.1, 0.0).unwrap();
    assert!(bench.moved());
}

#[test]
fn taking_the_controls_or_a_pause_ends_a_return_to_the_dock() {
    for pause in [false, true] {
        let mut bench = docking();
        if pause {
            bench.pause(Duration::from_secs(2));
        } else {
            bench.take("the other");
        }
        assert_eq!(bench.sent[0].payload, velocity(0, 0));
        assert_eq!(bench.session.state().docking, None);
        let wanted =
            if pause { "a pause of the computer of 2.0 s" } else { "the other took the controls" };
        let gave_up = |event: &Event| match event {
            Event::Dock { dock: DockEvent::GaveUp { reason } } => reason.contains(wanted),
            _ => false,
        };
        assert!(bench.events.iter().any(gave_up), "{:?}", bench.events);
        bench.run(Duration::from_secs(1));
        assert!(!bench.moved());
    }
}

#[test]
fn disable_drops_motion_that_waits_and_nothing_else() {
    let mut bench = Bench::enabled();
    bench.execute(Command::Vacuum { percent: 50 }).unwrap();
    bench.execute(Command::SideBrush { percent: 30 }).unwrap();
    bench.run(10 * MS);
    bench.execute(ENABLE).unwrap();
    // These wait until the mode has settled.
    bench.velocity(0.2, 0.0).unwrap();
    bench.execute(Command::Vacuum { percent: 0 }).unwrap();
    bench.execute(Command::MainBrush { percent: 40 }).unwrap();
    bench.run(20 * MS);
    bench.forget();
    bench.execute(Command::DriveDisable).unwrap();
    bench.run(Duration::from_secs(1));
    assert!(!bench.moved());
    let vacuum = bench.sent_as(0x68);
    assert!(!vacuum.is_empty() && vacuum.iter().all(|sent| sent.payload == [0, 0]), "{vacuum:?}");
    assert_eq!(bench.sent_as(0x6A)[0].payload, [40], "what was to come on does");
    assert_eq!(bench.sent_as(0x69)[0].payload, [30], "what was on is on again");
    let state = bench.session.state();
    assert_eq!((state.vacuum, state.main_brush, state.side_brush), (0, 40, 30));
    assert_eq!(state.stopped_by.as_deref(), Some(WHO));
}

#[test]
fn after_disable_the_mode_stays_idle_when_the_last_output_was_about_to_go_off() {
    let mut bench = Bench::enabled();
    bench.execute(Command::Vacuum { percent: 50 }).unwrap();
    bench.execute(Command::LidarOn { pwm: 60 }).unwrap();
    bench.run(10 * MS);
    bench.execute(ENABLE).unwrap();
    bench.execute(Command::Vacuum { percent: 0 }).unwrap();
    bench.execute(Command::LidarOff).unwrap();
    bench.forget();
    bench.execute(Command::DriveDisable).unwrap();
    bench.run(Duration::from_secs(1));
    assert_eq!(bench.commands(), [(0x65, vec![0]), (0x68, vec![0, 0]), (0x97, vec![0])]);
}

#[test]
fn off_switches_that_wait_outlive_their_clients_connection() {
    let mut bench = Bench::enabled();
    bench.execute(Command::Vacuum { percent: 50 }).unwrap();
    bench.run(10 * MS);
    bench.execute(ENABLE).unwrap();
    bench.execute(Command::Vacuum { percent: 0 }).unwrap();
    bench.execute(Command::MainBrush { percent: 40 }).unwrap();
    bench.forget();
    bench.release();
    bench.run(Duration::from_secs(1));
    assert_eq!(bench.sent_as(0x68)[0].payload, [0, 0]);
    assert!(bench.sent_as(0x6A).is_empty(), "nothing comes on for a client that has gone");
}

#[test]
fn a_pause_stops_latches_and_says_so() {
    let mut bench = Bench::enabled();
    bench.velocity(0.2, 0.0).unwrap();
    bench.run(50 * MS);
    bench.forget();
    bench.pause(Duration::from_millis(4060));
    assert_eq!(bench.sent[0].payload, velocity(0, 0));
    let by = "a pause of the computer of 4.1 s";
    assert!(bench.events.contains(&Event::Stopped { by: by.into() }), "{:?}", bench.events);
    assert_eq!(bench.session.state().stopped_by.as_deref(), Some(by));
    let status = bench.controller.status_frame();
    bench.input(&status);
    // What waited in a socket comes now, an Enable among it.
    for command in motions().into_iter().chain([ENABLE]).chain(motions()) {
        let refusal = bench.execute(command).unwrap_err();
        assert_eq!(refusal.code, Code::NotReady);
        assert!(refusal.message.contains(by), "{refusal}");
    }
    bench.execute(Command::DriveReset).unwrap();
    bench.execute(Command::Led { state: 3 }).unwrap();
    bench.run(290 * MS);
    assert!(bench.execute(ENABLE).is_err());
    bench.run(20 * MS);
    bench.execute(ENABLE).unwrap();
    bench.run(150 * MS);
    assert!(!bench.moved());
    bench.velocity(0.1, 0.0).unwrap();
    assert!(bench.moved());
}

#[test]
fn a_velocity_counts_from_when_it_was_received() {
    for motion in [
        Command::Velocity { linear: 0.1, angular: 0.0 },
        Command::Tank { left: 0.1, right: 0.1 },
        raw(0x66, &velocity(100, 0)),
        raw(0x67, &[100, 0, 100, 0]),
    ] {
        let mut bench = Bench::enabled();
        bench.execute_old(200 * MS, motion.clone()).unwrap();
        let at = bench.elapsed();
        bench.run(Duration::from_secs(1));
        let last = bench.sent.iter().rfind(|sent| sent.moves()).unwrap().at;
        assert!(last - at < 100 * MS, "{motion:?}: {:?}", last - at);
        assert!(bench.events.contains(&Event::DeadmanExpired));
        bench.forget();
        let refusal = bench.execute_old(1600 * MS, motion).unwrap_err();
        assert_eq!(refusal.code, Code::NotReady);
        assert!(refusal.message.contains("1600 ms"), "{refusal}");
        assert!(!bench.moved());
    }
}

#[test]
fn a_dock_that_is_too_old_is_refused_and_an_old_stop_is_not() {
    let mut bench = docking();
    bench.execute(Command::DriveDisable).unwrap();
    bench.run(200 * MS);
    bench.execute(ENABLE).unwrap();
    bench.run(150 * MS);
    assert_eq!(bench.execute_old(400 * MS, Command::Dock).unwrap_err().code, Code::NotReady);
    bench.velocity(0.1, 0.0).unwrap();
    bench.forget();
    let zero = Command::Velocity { linear: 0.0, angular: 0.0 };
    bench.execute_old(Duration::from_secs(2), zero).unwrap();
    assert_eq!(bench.sent[0].payload, velocity(0, 0));
    bench.execute_old(Duration::from_secs(2), Command::DriveReset).unwrap();
}

#[test]
fn raw_motion_obeys_latch_mode_hazard_and_dead_man() {
    let raws = [raw(0x66, &velocity(100, 0)), raw(0x67, &[100, 0, 100, 0])];
    type End = fn(&mut Bench);
    let ends: [End; 5] = [
        |bench| bench.execute(Command::DriveReset).unwrap(),
        |bench| bench.execute(Command::DriveDisable).unwrap(),
        Bench::release,
        |bench| bench.take("the other"),
        |bench| bench.execute(Command::DriveEnable { mode: 0 }).unwrap(),
    ];
    for motion in &raws {
        for end in ends {
            let mut bench = Bench::enabled();
            bench.execute(motion.clone()).unwrap();
            bench.run(30 * MS);
            assert!(bench.moved());
            bench.forget();
            end(&mut bench);
            // A mode alone gives the wheels back to no client.
            let _ = bench.execute(raw(0x65, &[0]));
            bench.run(150 * MS);
            assert_eq!(bench.execute(motion.clone()).unwrap_err().code, Code::NotReady);
            bench.run(500 * MS);
            assert!(!bench.moved());
        }
        let mut bench = Bench::enabled();
        bench.controller.status.set(Flag::BumperLeft, true);
        bench.run(20 * MS);
        assert_eq!(bench.execute(motion.clone()).unwrap_err().code, Code::NotReady);
        bench.controller.status.set(Flag::BumperLeft, false);
        bench.run(20 * MS);
        bench.execute(motion.clone()).unwrap();
        bench.run(Duration::from_secs(1));
        assert!(bench.events.contains(&Event::DeadmanExpired));
        assert_eq!(bench.controller.wheels(), [0.0; 2]);
    }
}

#[test]
fn a_raw_mode_does_not_undo_a_stop() {
    let mut bench = Bench::enabled();
    bench.execute(Command::DriveReset).unwrap();
    bench.run(150 * MS);
    bench.execute(raw(0x65, &[2])).unwrap();
    bench.run(150 * MS);
    for motion in motions() {
        assert_eq!(bench.execute(motion).unwrap_err().code, Code::NotReady);
    }
    assert!(!bench.moved());
}

#[test]
fn raw_speeds_at_the_ends_of_their_range_are_refused() {
    let mut bench = Bench::enabled();
    let extremes = [i32::MIN, i32::MIN + 1, -301, 301, i32::MAX - 1, i32::MAX];
    for speed in extremes {
        for payload in
            [velocity(speed, 0), velocity(0, speed.saturating_mul(4)), velocity(speed, 1)]
        {
            let refusal = bench.execute(raw(0x66, &payload)).unwrap_err();
            assert_eq!(refusal.code, Code::InvalidArgument, "{payload:?}");
        }
    }
    for speed in [i16::MIN, -301, 301, i16::MAX] {
        let [low, high] = speed.to_le_bytes();
        for payload in [[low, high, 0, 0], [0, 0, low, high], [low, high, low, high]] {
            let refusal = bench.execute(raw(0x67, &payload)).unwrap_err();
            assert_eq!(refusal.code, Code::InvalidArgument, "{payload:?}");
        }
    }
    for (command, right) in [(0x66, 8), (0x67, 4)] {
        for len in (0..20).chain([252]).filter(|len| *len != right) {
            for fill in [0, 1] {
                let refusal = bench.execute(raw(command, &vec![fill; len])).unwrap_err();
                assert_eq!(refusal.code, Code::InvalidArgument, "{command:02X}, {len} bytes");
            }
        }
    }
    bench.run(500 * MS);
    assert!(!bench.moved());
}

#[test]
fn the_pump_goes_off_with_everything_and_comes_back_after_the_wheels_alone() {
    let mut bench = Bench::ready();
    bench.execute(Command::WaterPump { percent: 40 }).unwrap();
    bench.run(Duration::from_secs(1));
    let pump = bench.sent_as(0x6B);
    assert_eq!(pump.last().unwrap().payload, [40]);
    assert_eq!(bench.session.state().water_pump, 40);

    bench.forget();
    bench.execute(Command::DriveDisable).unwrap();
    bench.run(Duration::from_secs(1));
    let again = bench.sent_as(0x6B);
    assert!(again.len() == 1 && again[0].payload == [40], "{again:?}");

    bench.forget();
    bench.execute(Command::DriveReset).unwrap();
    bench.run(Duration::from_secs(1));
    let off = bench.sent_as(0x6B);
    assert!(off.len() == 1 && off[0].payload == [0], "{off:?}");
    assert_eq!(bench.session.state().water_pump, 0);

    // One that is off is not told so again.
    bench.forget();
    bench.execute(Command::DriveReset).unwrap();
    bench.run(Duration::from_secs(1));
    assert!(bench.sent_as(0x6B).is_empty());
    assert!(bench.execute(Command::WaterPump { percent: 101 }).is_err());
}
