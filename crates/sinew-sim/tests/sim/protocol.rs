//! What the controller says, and when it keeps quiet.

use sinew_sim::vacuum::{Options, SYNC_DELAY};
use sinew_wire::gd32::{BOOT, Command, DockIr, Frame, LedMode, Mode, Version};

use crate::support::{Bench, SYNC, frame, ms};

const STATUS: u8 = 0x15;

#[test]
fn nothing_is_said_or_done_before_the_sync() {
    let mut bench = Bench::new(Options::default());
    for step in &BOOT[1..] {
        bench.send(step.command.code(), step.payload);
    }
    bench.send(0x65, &[2]);
    bench.run(ms(2000));
    assert!(bench.heard.is_empty());
    assert_eq!(bench.robot.outputs().mode, Mode::Idle);
    assert_eq!(bench.robot.outputs().led, LedMode(0));
    assert_eq!(bench.robot.received().len(), 18, "heard, though not obeyed");
}

#[test]
fn sync_is_echoed_after_270_ms_and_starts_the_status() {
    let mut bench = Bench::new(Options::default());
    bench.bytes(&SYNC);
    bench.run(SYNC_DELAY - ms(1));
    assert!(bench.heard.is_empty());
    assert!(!bench.robot.outputs().synced);
    bench.run(ms(1));
    assert_eq!(bench.heard[0], (bench.start + SYNC_DELAY, SYNC.to_vec()));
    assert_eq!(bench.heard(STATUS).len(), 1);
    assert!(bench.robot.outputs().synced);
}

#[test]
fn status_comes_at_the_rate_asked_for() {
    for (asked, rate) in [(110, 110), (500, 500), (1, 1), (0, 1), (9999, 500)] {
        let mut bench = Bench::new(Options { rate_hz: asked, ..Options::default() });
        bench.sync();
        let before = bench.count(STATUS);
        bench.run(ms(10_000));
        let got = bench.count(STATUS) - before;
        assert!(got.abs_diff(rate * 10) <= 1, "{got} at {asked} Hz");
    }
}

#[test]
fn boot_frames_sent_at_once_are_answered_behind_the_sync() {
    let mut bench = Bench::new(Options::default());
    for step in &BOOT {
        bench.bytes(step.frame().unwrap().as_bytes());
    }
    bench.run(SYNC_DELAY);
    let commands: Vec<u8> = bench.heard.iter().map(|(_, bytes)| bytes[3]).collect();
    assert_eq!(commands[..5], [0x0C, 0x07, 0x07, 0x17, 0x18]);
    let sent: Vec<_> = bench.robot.received().iter().map(|r| r.bytes().to_vec()).collect();
    let boot: Vec<_> = BOOT.iter().map(|step| step.frame().unwrap().as_bytes().to_vec()).collect();
    assert_eq!(sent, boot);
}

#[test]
fn a_sync_repeated_before_its_echo_is_not_answered_twice() {
    let mut bench = Bench::new(Options::default());
    for _ in 0..5 {
        bench.bytes(&SYNC);
        bench.run(ms(50));
    }
    bench.run(ms(500));
    assert_eq!(bench.count(0x0C), 1);
    assert_eq!(bench.elapsed(bench.heard(0x0C)[0].0), SYNC_DELAY);
}

#[test]
fn a_running_controller_echoes_another_sync_and_keeps_its_handshake() {
    let mut bench = Bench::ready(Options::default());
    bench.sync();
    assert_eq!(bench.count(0x0C), 2);
    assert!(bench.robot.outputs().handshake_done);
    bench.send(0x07, &[]);
    assert_eq!(bench.count(0x07), 1, "answers are not held back again");
}

#[test]
fn queries_are_answered() {
    let mut bench = Bench::new(Options::default());
    bench.sync();
    bench.send(0x17, &[0x01, 0xF0, 0xDF, 0xFA]);
    bench.send(0x18, &[]);
    bench.send(0xA2, &[]);
    bench.send(0xA2, &[0x10, 0x0E, 0x00, 0x00]);
    bench.send(0x07, &[]);
    let payloads = |command| bench.heard(command).into_iter().map(|(_, p)| p).collect::<Vec<_>>();
    assert_eq!(payloads(0x17), [[1]]);
    assert_eq!(payloads(0x18), [[0x04, 0, 0, 0, 0x7F, 0, 0, 0]]);
    assert_eq!(payloads(0xA2), [[1], [1]]);
    let version = &payloads(0x07)[0];
    assert_eq!(Version(version).text(), b"SIM");
    assert_eq!(Version(version).code(), Some(100));
}

#[test]
fn one_heartbeat_in_ten_is_acknowledged() {
    let mut bench = Bench::new(Options::default());
    bench.sync();
    for sent in 1..=100 {
        bench.send(0x06, &[]);
        bench.run(ms(20));
        assert_eq!(bench.count(0x06), sent / 10);
    }
}

#[test]
fn initialize_is_accepted_after_none_to_three_tries() {
    let mut tries = [0; 4];
    for seed in 0..64 {
        let mut bench = Bench::new(Options { seed, ..Options::default() });
        bench.sync();
        let ignored = (0..4).find(|_| {
            bench.send(0x08, &[]);
            bench.count(0x08) == 1
        });
        tries[ignored.unwrap()] += 1;
        assert!(bench.robot.outputs().initialized);
        bench.send(0x08, &[]);
        assert_eq!(bench.count(0x08), 2, "once accepted, always answered");
    }
    assert!(tries.iter().all(|&count| count > 0), "{tries:?}");
}

#[test]
fn initialize_without_a_check_is_understood() {
    let mut bench = Bench::new(Options::default());
    bench.sync();
    for _ in 0..4 {
        bench.bytes(&[0xFA, 0xFB, 0x01, 0x08]);
    }
    assert!(bench.robot.outputs().initialized);
}

#[test]
fn sleep_silences_until_wakeup() {
    let mut bench = Bench::ready(Options::default());
    bench.send(0x97, &[1]);
    bench.drive(ms(500), 0.1, 0.0);
    bench.send(0x04, &[]);
    assert!(bench.robot.outputs().asleep);
    bench.heard.clear();
    bench.send(0x07, &[]);
    bench.bytes(&SYNC);
    bench.drive(ms(1000), 0.1, 0.0);
    assert!(bench.heard.is_empty());
    assert!(!bench.robot.is_moving());
    assert!(!bench.robot.outputs().lidar_power);

    bench.send(0x05, &[]);
    bench.run(ms(100));
    assert!(!bench.robot.outputs().asleep);
    assert!(bench.count(STATUS) >= 10);
}

#[test]
fn a_sync_that_falls_asleep_is_answered_on_waking() {
    let mut bench = Bench::new(Options::default());
    bench.bytes(&SYNC);
    bench.send(0x07, &[]);
    bench.send(0x04, &[]);
    bench.run(ms(5000));
    assert!(bench.heard.is_empty());
    bench.send(0x05, &[]);
    let commands: Vec<u8> = bench.heard.iter().map(|(_, bytes)| bytes[3]).collect();
    assert_eq!(commands, [0x0C, 0x07, STATUS]);
}

#[test]
fn reboot_loses_sync_handshake_and_outputs() {
    let mut bench = Bench::ready(Options { boot_delay: ms(300), ..Options::default() });
    assert!(!bench.robot.outputs().synced, "the sync came before it listened");
    bench.sync();
    bench.shake_hands();
    bench.send(0x65, &[2]);
    bench.beat(ms(120));
    bench.send(0x68, &5000u16.to_le_bytes());
    bench.drive(ms(500), 0.2, 0.0);
    assert!(bench.robot.is_moving());

    bench.robot.reboot(bench.now);
    bench.heard.clear();
    bench.bytes(&SYNC);
    bench.drive(ms(1000), 0.2, 0.0);
    let outputs = bench.robot.outputs();
    assert!(bench.heard.is_empty(), "it did not listen yet");
    assert!(!bench.robot.is_moving());
    assert!(!outputs.synced && !outputs.handshake_done && !outputs.initialized);
    assert_eq!((outputs.mode, outputs.vacuum), (Mode::Idle, 0));

    bench.sync();
    let travelled = bench.status().encoders;
    assert!(travelled.iter().all(|count| *count < 100), "only running out: {travelled:?}");
}

#[test]
fn switches_are_remembered() {
    let mut bench = Bench::ready(Options::default());
    assert!(bench.robot.outputs().cliff_ir && bench.robot.outputs().charger);
    for (command, value) in [(0x78, 0), (0x79, 3), (0x86, 0x10), (0x8D, 6), (0x9B, 0), (0x99, 0)] {
        bench.send(command, &[value]);
    }
    bench.send(0x9A, &[]);
    bench.send(0x9A, &[]);
    let outputs = bench.robot.outputs();
    assert!(!outputs.cliff_ir && !outputs.charger && !outputs.main_board_on);
    assert_eq!(outputs.cliff_direction, 3);
    assert_eq!(outputs.dock_ir, DockIr::Approach);
    assert_eq!(outputs.led, LedMode(6));
    assert_eq!(outputs.main_board_restarts, 2);
    bench.send(0x99, &[7]);
    assert!(!bench.robot.outputs().main_board_on, "an unknown value changes nothing");
    bench.send(0x99, &[1]);
    assert!(bench.robot.outputs().main_board_on);
}

#[test]
fn buttons_and_dustbox_are_reported() {
    let mut bench = Bench::new(Options::default());
    bench.sync();
    bench.robot.press_start(bench.now, ms(100));
    bench.run(ms(50));
    assert_eq!((bench.status().start_button, bench.status().dock_button), (1, 0));
    bench.robot.press_dock(bench.now, ms(100));
    bench.run(ms(80));
    assert_eq!((bench.status().start_button, bench.status().dock_button), (0, 1));
    bench.run(ms(80));
    assert_eq!((bench.status().start_button, bench.status().dock_button), (0, 0));

    assert!(bench.status().is(sinew_wire::gd32::Flag::DustboxAttached));
    bench.robot.set_dustbox(false);
    bench.run(ms(20));
    assert!(!bench.status().is(sinew_wire::gd32::Flag::DustboxAttached));
}

#[test]
fn unknown_commands_are_recorded_and_ignored() {
    let mut bench = Bench::ready(Options::default());
    let before = bench.robot.outputs();
    bench.send(0xEE, &[1, 2, 3]);
    let last = bench.robot.received().last().unwrap().clone();
    assert_eq!((last.at, last.command()), (bench.now, Command::Unknown(0xEE)));
    assert_eq!(last.payload(), [1, 2, 3]);
    assert!(last.message().is_ok());
    assert_eq!(bench.robot.outputs(), before);
}

#[test]
fn the_recorder_keeps_the_latest_frames() {
    let mut bench = Bench::new(Options { record: 10, ..Options::default() });
    for number in 0..100 {
        bench.send(0x8D, &[number]);
        assert!(bench.robot.received().len() <= 10);
    }
    let kept: Vec<u8> = bench.robot.received().iter().map(|r| r.payload()[0]).collect();
    assert_eq!(kept, (90..100).collect::<Vec<u8>>());
    let taken: Vec<u8> = bench.robot.take_received().iter().map(|r| r.payload()[0]).collect();
    assert_eq!(taken, kept);
    assert!(bench.robot.received().is_empty());
}

#[test]
fn a_false_start_holds_frames_back_for_50_ms_at_most() {
    let mut bench = Bench::new(Options::default());
    bench.sync();
    bench.bytes(&[0xFA, 0xFB, 0xFF]);
    for _ in 0..3 {
        bench.bytes(&frame(0x07, &[]));
        bench.run(ms(16));
    }
    assert_eq!(bench.count(0x07), 0);
    bench.run(ms(2));
    assert_eq!(bench.count(0x07), 3);
    assert_eq!(bench.robot.counters().dropped, 3);
}

#[test]
fn false_starts_in_a_row_are_given_up_together() {
    let mut bench = Bench::new(Options::default());
    bench.sync();
    bench.bytes(&[0xFA, 0xFB, 0xFF, 0xFA, 0xFB, 0xFE, 0xFA, 0xFB, 0xFD]);
    bench.bytes(&frame(0x07, &[]));
    bench.run(ms(50));
    assert_eq!(bench.count(0x07), 1);
    assert_eq!(bench.robot.counters().dropped, 9);
}

#[test]
fn a_reboot_takes_unsent_frames_with_it() {
    let mut bench = Bench::new(Options::default());
    bench.sync();
    bench.robot.handle_input(bench.now, &frame(0x07, &[]));
    bench.robot.reboot(bench.now);
    assert_eq!(bench.robot.poll_transmit(), None);
}

#[test]
fn frames_may_come_a_byte_at_a_time() {
    let mut bench = Bench::new(Options::default());
    bench.sync();
    for byte in frame(0x18, &[]) {
        bench.bytes(&[byte]);
        bench.run(ms(1));
    }
    assert_eq!(bench.count(0x18), 1);
    assert_eq!(bench.robot.counters().dropped, 0);
}

#[test]
fn every_frame_it_sends_is_whole() {
    let mut bench = Bench::ready(Options::default());
    bench.drive(ms(1000), 0.1, 0.5);
    for (_, bytes) in &bench.heard {
        Frame::new_checked(bytes).unwrap();
    }
}
