//! What is sent when more is asked than the line carries.

use std::time::Duration;

use sinew_robot::{
    Code,
    vacuum::{Command, Settings},
};

use crate::bench::{Bench, MS, Sent, velocity};

/// Bytes of a frame beside its payload.
const ENVELOPE: usize = 6;

fn bytes(sent: &[Sent]) -> usize {
    sent.iter().map(|sent| sent.payload.len() + ENVELOPE).sum()
}

/// Longest time between two frames that keep the watchdog quiet.
fn widest_gap(bench: &Bench) -> Duration {
    let beats = bench.sent.iter().filter(|sent| matches!(sent.command, 0x06 | 0x66 | 0x67));
    let times: Vec<_> = beats.map(|sent| sent.at).collect();
    times.windows(2).map(|two| two[1] - two[0]).max().unwrap()
}

#[test]
fn a_thousand_velocities_a_second_become_fifty_and_the_newest_wins() {
    let mut bench = Bench::enabled();
    for count in 1..=1000 {
        bench.velocity(f32::from(count as u16) / 10_000.0, 0.0).unwrap();
        bench.run(MS);
    }
    let sent = bench.sent_as(0x66);
    assert!((45..=55).contains(&sent.len()), "{}", sent.len());
    for sent in &sent {
        let speed = i32::from_le_bytes(sent.payload[..4].try_into().unwrap());
        let newest = (sent.at - bench.sent[0].at).as_millis() as i32 / 10;
        assert!((speed - newest).abs() <= 1, "{speed} when {newest} was asked for");
    }
    assert!(widest_gap(&bench) <= 20 * MS);
}

#[test]
fn at_any_rate_of_velocities_a_stop_goes_at_once() {
    for rate in [1000, 2000, 20_000] {
        for stop in [Command::DriveReset, Command::DriveDisable] {
            let mut bench = Bench::enabled();
            for _ in 0..rate {
                bench.velocity(0.2, 0.1).unwrap();
                bench.run(Duration::from_secs(1) / rate);
            }
            let last_second: Vec<_> = bench.sent.split_off(0);
            assert!(bytes(&last_second) < 2000, "{rate} Hz: {} bytes", bytes(&last_second));
            bench.execute(stop).unwrap();
            assert_eq!(bench.sent[0].payload, velocity(0, 0), "{rate} Hz");
            bench.run(Duration::from_secs(1));
            assert!(!bench.moved());
        }
    }
}

#[test]
fn a_client_that_lets_go_stops_at_once() {
    let mut bench = Bench::enabled();
    for _ in 0..10 {
        bench.velocity(0.2, 0.0).unwrap();
        bench.run(3 * MS);
    }
    bench.forget();
    bench.velocity(0.0, 0.0).unwrap();
    assert_eq!(bench.sent[0].payload, velocity(0, 0));
    for _ in 0..1000 {
        bench.velocity(0.0, 0.0).unwrap();
        bench.run(MS / 2);
    }
    assert!(bench.sent_as(0x66).len() <= 30, "and does not fill the line with it");
}

#[test]
fn a_flood_of_commands_is_refused_and_never_delays_the_heartbeat() {
    let mut bench = Bench::enabled();
    let (mut taken, mut refused) = (0, 0);
    for count in 0..4000_u32 {
        match bench.execute(Command::Led { state: count as u8 }) {
            Ok(()) => taken += 1,
            Err(refusal) => {
                assert_eq!(refusal.code, Code::Busy);
                assert!(refusal.message.contains("frames wait"), "{refusal}");
                refused += 1;
            }
        }
        bench.run(MS / 4);
    }
    assert!(refused > 1000, "{refused}");
    assert!(widest_gap(&bench) <= 27 * MS, "{:?}", widest_gap(&bench));
    bench.run(Duration::from_secs(1));
    assert_eq!(bench.sent_as(0x8D).len(), taken, "what was accepted is sent");
}

#[test]
fn no_more_is_handed_over_than_the_line_carries() {
    for baud in [9600, 19_200, 115_200] {
        let mut bench = Bench::enabled_with(Settings { baud, ..Settings::default() });
        for _ in 0..2000 {
            let _ = bench.execute(Command::Led { state: 4 });
            let _ = bench.velocity(0.1, 0.0);
            bench.run(MS / 2);
        }
        // The line has room for a second of bytes, and a few milliseconds more wait in front of it.
        let most = baud as usize / 10 + 70;
        assert!(bytes(&bench.sent) <= most, "{baud}: {}", bytes(&bench.sent));
        assert!(bytes(&bench.sent) > most / 2, "{baud}: the line is used");
        assert!(widest_gap(&bench) < 50 * MS, "{baud}: {:?}", widest_gap(&bench));
        bench.forget();
        bench.execute(Command::DriveReset).unwrap();
        assert_eq!(bench.sent[0].payload, velocity(0, 0), "{baud}: a stop waits for nothing");
        bench.run(Duration::from_secs(2));
        assert!(!bench.moved());
        for off in [0x68, 0x69, 0x6A, 0x71, 0x97, 0x65] {
            assert_eq!(bench.sent_as(off).len(), 1, "{baud}: 0x{off:02X}");
        }
    }
}

#[test]
fn stops_without_end_neither_fill_the_line_nor_starve_each_other() {
    for baud in [9600, 115_200] {
        let mut bench = Bench::enabled_with(Settings { baud, ..Settings::default() });
        bench.execute(Command::Vacuum { percent: 50 }).unwrap();
        bench.run(20 * MS);
        bench.forget();
        for _ in 0..4000 {
            bench.execute(Command::DriveReset).unwrap();
            bench.execute(Command::DriveDisable).unwrap();
            bench.run(MS / 4);
        }
        assert!(bytes(&bench.sent) <= baud as usize / 10 + 100, "{baud}: {}", bytes(&bench.sent));
        assert!(widest_gap(&bench) < 50 * MS, "{baud}: {:?}", widest_gap(&bench));
        for off in [0x68, 0x69, 0x6A, 0x71, 0x97, 0x65] {
            assert!(bench.sent_as(off).len() > 1, "{baud}: 0x{off:02X}");
        }
    }
}

#[test]
fn a_command_of_several_frames_is_taken_whole_or_not_at_all() {
    let mut bench = Bench::enabled();
    let mut taken = 0;
    for _ in 0..200 {
        let before = bench.session.state().counters.sent;
        match bench.execute(Command::LidarOn { pwm: 60 }) {
            Ok(()) => taken += 1,
            Err(refusal) => {
                assert_eq!(refusal.code, Code::Busy);
                assert_eq!(bench.session.state().counters.sent, before);
            }
        }
    }
    assert!(taken < 100);
    bench.run(Duration::from_secs(1));
    let repeats = 10;
    assert_eq!(bench.sent_as(0xA2).len(), taken);
    assert_eq!(bench.sent_as(0x97).len(), taken);
    assert!((taken..=taken + repeats).contains(&bench.sent_as(0x71).len()));
}

#[test]
fn a_mode_that_waits_for_the_line_settles_only_when_it_is_out() {
    let mut bench = Bench::ready_with(Settings { baud: 9600, ..Settings::default() });
    for _ in 0..20 {
        bench.execute(Command::Led { state: 1 }).unwrap();
    }
    bench.execute(Command::DriveEnable { mode: 2 }).unwrap();
    let asked = bench.elapsed();
    for _ in 0..40 {
        bench.velocity(0.1, 0.0).unwrap();
        bench.run(10 * MS);
    }
    let mode = bench.sent_as(0x65)[0].at;
    assert!(mode - asked > 50 * MS, "it waits its turn");
    let first = bench.sent.iter().find(|sent| sent.moves()).unwrap().at;
    assert!(first - mode >= 100 * MS && first - mode < 130 * MS, "{:?}", first - mode);
}

#[test]
fn a_raw_frame_that_would_keep_the_line_from_the_heartbeat_is_refused() {
    let raw = |len| Command::Raw { command: 0xEE, payload: vec![7; len] };
    let mut bench = Bench::ready_with(Settings { baud: 9600, ..Settings::default() });
    let refusal = bench.execute(raw(100)).unwrap_err();
    assert_eq!(refusal.code, Code::InvalidArgument);
    assert!(refusal.message.contains("9600"), "{refusal}");
    bench.execute(raw(18)).unwrap();
    bench.run(Duration::from_secs(1));
    assert!(widest_gap(&bench) < 50 * MS);
    Bench::ready().execute(raw(252)).unwrap();
}

#[test]
fn a_slow_line_boots() {
    let mut bench = Bench::new(Settings { baud: 9600, ..Settings::default() });
    bench.connect();
    bench.run(Duration::from_secs(5));
    assert_eq!(bench.session.state().link, sinew_robot::vacuum::LinkState::Ready);
    let listed: Vec<_> = bench
        .commands()
        .into_iter()
        .filter(|(command, payload)| (*command, payload.as_slice()) != (0x6B, &[0x64]))
        .map(|(command, _)| command)
        .collect();
    let wanted = sinew_wire::gd32::BOOT.map(|step| step.command.code());
    assert_eq!(listed[..18], wanted);
}
