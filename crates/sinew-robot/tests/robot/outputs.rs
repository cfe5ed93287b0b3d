use std::time::Duration;

use sinew_robot::{
    Code,
    vacuum::{Command, Event},
};

use crate::bench::{Bench, MS};

#[test]
fn outputs_in_mode_zero_switch_to_mode_two_first_and_wait() {
    let cases = [
        (Command::Vacuum { percent: 75 }, vec![(0x68, vec![0x4C, 0x1D])]),
        (Command::Vacuum { percent: 0 }, vec![(0x68, vec![0, 0])]),
        (Command::MainBrush { percent: 100 }, vec![(0x6A, vec![100])]),
        (Command::SideBrush { percent: 30 }, vec![(0x69, vec![30])]),
        (Command::SideBrush { percent: 0 }, vec![(0x69, vec![0])]),
        (
            Command::LidarOn { pwm: 60 },
            vec![(0xA2, vec![0x10, 0x0E, 0, 0]), (0x97, vec![1]), (0x71, vec![60, 0, 0, 0])],
        ),
        (
            Command::LidarOn { pwm: 0 },
            vec![(0xA2, vec![0x10, 0x0E, 0, 0]), (0x97, vec![1]), (0x71, vec![0; 4])],
        ),
        (Command::LidarOff, vec![(0x97, vec![0])]),
    ];
    for (command, frames) in cases {
        let mut bench = Bench::ready();
        bench.execute(command.clone()).unwrap();
        assert_eq!(bench.commands(), [(0x65, vec![0x02])], "{command:?}");
        bench.run(99 * MS);
        assert_eq!(bench.commands().len(), 1, "{command:?}");
        // The mode may have been on the line behind a heartbeat, half a millisecond long.
        bench.run(2 * MS);
        assert_eq!(bench.commands()[1..], frames, "{command:?}");
    }
}

#[test]
fn outputs_in_mode_two_go_out_at_once_also_when_nothing_changes() {
    let mut bench = Bench::enabled();
    for _ in 0..2 {
        bench.execute(Command::Vacuum { percent: 0 }).unwrap();
        bench.execute(Command::MainBrush { percent: 0 }).unwrap();
    }
    assert_eq!(
        bench.commands(),
        [(0x68, vec![0, 0]), (0x6A, vec![0]), (0x68, vec![0, 0]), (0x6A, vec![0])]
    );
}

#[test]
fn what_is_on_is_repeated_every_hundred_milliseconds() {
    let mut bench = Bench::enabled();
    bench.execute(Command::Vacuum { percent: 10 }).unwrap();
    bench.execute(Command::SideBrush { percent: 20 }).unwrap();
    bench.execute(Command::LidarOn { pwm: 40 }).unwrap();
    bench.run(Duration::from_secs(1));
    for command in [0x68, 0x69, 0x71] {
        let times: Vec<_> = bench.sent_as(command).iter().map(|sent| sent.at).collect();
        assert_eq!(times.len(), 11, "0x{command:02X}");
        assert!(times.windows(2).all(|two| two[1] - two[0] == 100 * MS));
    }
    assert!(bench.sent_as(0x6A).is_empty());
    assert_eq!(bench.sent_as(0x97).len(), 1);
    bench.execute(Command::Vacuum { percent: 0 }).unwrap();
    bench.execute(Command::LidarOff).unwrap();
    bench.forget();
    bench.run(Duration::from_secs(1));
    assert!(bench.sent_as(0x68).is_empty() && bench.sent_as(0x71).is_empty());
    assert_eq!(bench.sent_as(0x69).len(), 10);
}

#[test]
fn commands_without_an_actuator_do_not_touch_the_mode() {
    let cases = [
        (Command::Led { state: 4 }, 0x8D, vec![4]),
        (Command::Led { state: 255 }, 0x8D, vec![255]),
        (Command::ImuState, 0xA2, vec![]),
        (Command::ImuCalibrate, 0xA1, vec![]),
        (Command::CompassState, 0xA4, vec![]),
        (Command::CompassCalibrate, 0xA3, vec![]),
        (Command::CliffIr { on: true }, 0x78, vec![1]),
        (Command::CliffIr { on: false }, 0x78, vec![0]),
        (Command::CliffIrDirection { direction: 3 }, 0x79, vec![3]),
        (Command::MainBoard { on: true }, 0x99, vec![1]),
        (Command::MainBoard { on: false }, 0x99, vec![0]),
        (Command::MainBoardRestart, 0x9A, vec![]),
        (Command::Charger { on: true }, 0x9B, vec![1]),
        (Command::Charger { on: false }, 0x9B, vec![0]),
        (Command::McuWake, 0x05, vec![]),
        (Command::McuSleep, 0x04, vec![]),
        (Command::McuClearErrors, 0x0A, vec![]),
        (Command::ProtocolSync, 0x0C, vec![1]),
        (Command::Raw { command: 0xEE, payload: vec![1, 2, 3] }, 0xEE, vec![1, 2, 3]),
    ];
    for (command, code, payload) in cases {
        let mut bench = Bench::ready();
        bench.execute(command.clone()).unwrap();
        assert_eq!(bench.commands(), [(code, payload)], "{command:?}");
    }
}

#[test]
fn answers_become_events() {
    let mut bench = Bench::ready();
    bench.execute(Command::ImuState).unwrap();
    bench.execute(Command::CompassState).unwrap();
    bench.execute(Command::Raw { command: 0x18, payload: vec![] }).unwrap();
    bench.run(50 * MS);
    assert!(bench.events.contains(&Event::ImuState { value: 1 }));
    assert!(bench.events.contains(&Event::CompassState { payload: vec![2, 3] }));
    assert!(bench.events.contains(&Event::LidarState { bytes: [4, 0, 0, 0, 0x7F, 0, 0, 0] }));
}

#[test]
fn percentages_over_a_hundred_are_refused() {
    let mut bench = Bench::ready();
    for command in [
        Command::Vacuum { percent: 101 },
        Command::MainBrush { percent: 101 },
        Command::SideBrush { percent: 255 },
        Command::LidarOn { pwm: 101 },
    ] {
        assert_eq!(bench.execute(command).unwrap_err().code, Code::InvalidArgument);
    }
    assert!(bench.commands().is_empty());
}

#[test]
fn a_lidar_is_not_started_within_1400_milliseconds_of_an_initialisation() {
    let mut bench = Bench::enabled();
    bench.execute(Command::Raw { command: 0x08, payload: vec![] }).unwrap();
    bench.run(50 * MS);
    bench.execute(Command::LidarOn { pwm: 60 }).unwrap();
    bench.execute(Command::Vacuum { percent: 5 }).unwrap();
    let at = bench.elapsed();
    assert_eq!(bench.sent_as(0x68).len(), 1, "only the lidar waits");
    bench.run(Duration::from_secs(2));
    let power = &bench.sent_as(0x97)[0];
    let waited = power.at - at;
    assert!(waited > 1300 * MS && waited < 1400 * MS, "{waited:?}");
    assert_eq!(bench.session.state().lidar, Some(60));
}

#[test]
fn a_lidar_switched_off_before_it_started_stays_off() {
    let mut bench = Bench::ready();
    bench.execute(Command::LidarOn { pwm: 60 }).unwrap();
    bench.run(50 * MS);
    bench.execute(Command::LidarOff).unwrap();
    bench.run(Duration::from_secs(1));
    assert_eq!(bench.commands(), [(0x65, vec![2]), (0x97, vec![0])]);
}

#[test]
fn mode_zero_switches_off_what_is_on() {
    let mut bench = Bench::enabled();
    bench.execute(Command::Vacuum { percent: 10 }).unwrap();
    bench.execute(Command::LidarOn { pwm: 40 }).unwrap();
    bench.forget();
    bench.execute(Command::DriveEnable { mode: 0 }).unwrap();
    assert_eq!(bench.commands(), [(0x68, vec![0, 0]), (0x97, vec![0]), (0x65, vec![0])]);
    bench.forget();
    bench.run(Duration::from_secs(1));
    assert!(bench.commands().is_empty(), "nothing is repeated");
}

#[test]
fn a_raw_frame_that_sets_an_output_changes_what_is_repeated() {
    let mut bench = Bench::enabled();
    bench.execute(Command::Vacuum { percent: 50 }).unwrap();
    bench.execute(Command::Raw { command: 0x68, payload: vec![0, 0] }).unwrap();
    bench.forget();
    bench.run(Duration::from_secs(1));
    assert!(bench.sent_as(0x68).is_empty());
    bench.execute(Command::Raw { command: 0x6A, payload: vec![44] }).unwrap();
    bench.run(250 * MS);
    assert_eq!(bench.sent_as(0x6A).len(), 3);
    assert_eq!(bench.session.state().main_brush, 44);
}

#[test]
fn a_raw_payload_that_fits_no_frame_is_refused() {
    let mut bench = Bench::ready();
    let refusal = bench.execute(Command::Raw { command: 0x01, payload: vec![0; 253] }).unwrap_err();
    assert_eq!(refusal.code, Code::InvalidArgument);
    bench.execute(Command::Raw { command: 0x01, payload: vec![0; 252] }).unwrap();
}
