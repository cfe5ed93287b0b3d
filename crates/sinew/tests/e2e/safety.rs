//! Whatever ends or breaks, the wheels stop.

use std::{fs::File, io::Read, os::unix::fs::OpenOptionsExt, path::Path, thread, time::Duration};

use serde_json::json;

use crate::{
    clients::{Lines, control, drive},
    support::{ALL_OFF, FORWARD, Rig, STILL, daemon, frame, simulator, until},
};

/// The deadman's time; what is stopped sooner was not stopped by it.
const DEADMAN_MS: u64 = 2000;

fn rig() -> Rig {
    Rig::with(&["--deadman-ms", &DEADMAN_MS.to_string()])
}

/// Sees that the last velocity is zero, and that it does not change again.
fn stands(rig: &Rig, mark: usize) {
    until("zero velocity", || (rig.velocities(mark).last()? == &frame(STILL)).then_some(()));
    rig.quiet();
    assert_eq!(rig.velocities(mark).last(), Some(&frame(STILL)));
}

/// Metres driven, as the robot's encoders say.
fn distance(rig: &Rig) -> f64 {
    rig.robot()["state"]["distance"].as_f64().unwrap()
}

/// Time that the robot would need to show that it moves.
fn watch_a_while(rig: &Rig) -> f64 {
    let before = distance(rig);
    let seen = |rig: &Rig| rig.robot()["state"]["counters"]["frames"].as_u64().unwrap();
    let begin = seen(rig);
    until("status packets", || (seen(rig) > begin + 60).then_some(()));
    distance(rig) - before
}

#[test]
fn a_driving_client_that_is_killed_stops_the_robot_at_once() {
    let rig = rig();
    let mark = rig.mark();
    let mut client = rig.cli(&["vacuum", "drive", "--linear", "0.2", "--for", "60s"]);
    rig.await_frame(mark, FORWARD);
    until("the robot to move", || (distance(&rig) > 0.02).then_some(()));
    let killed = rig.mark();
    let last = rig.at(killed - 1);
    client.kill();
    let stop = rig.await_frame(killed, STILL);
    let took = rig.at(stop) - last;
    assert!(took < 1_000_000, "{took} us: the deadman stopped it, not the disconnect");
    stands(&rig, killed);
    assert_eq!(rig.velocities(stop), [frame(STILL)]);
    let refusal = rig.lines().fails(drive(0.1), "not_ready");
    assert!(refusal.contains("the wheels are stopped"), "{refusal}");
    assert!(rig.robot()["stopped_by"].as_str().unwrap().ends_with(" left"));
    assert_eq!(rig.robot()["holder"], json!(null));
}

#[test]
fn velocity_expires_when_the_client_is_silent_and_needs_no_enable() {
    let rig = Rig::start();
    let mut client = rig.lines();
    let mark = rig.quiet();
    client.ok(control("drive", "Enable"));
    // Once a velocity is sent the mode has settled: the next one is sent when it is asked for.
    client.ok(drive(0.0));
    rig.await_frame(mark, STILL);
    let mark = rig.mark();
    client.ok(drive(0.2));
    let begin = rig.await_frame(mark, FORWARD);
    stands(&rig, begin);
    let end = rig.await_frame(begin, STILL);
    let took = rig.at(end) - rig.at(begin);
    // Its time counts from when its bytes came, a moment before it was sent.
    assert!((250_000..500_000).contains(&took), "{took} us");
    client.ok(drive(0.2));
}

#[test]
fn velocity_is_repeated_every_20_ms() {
    let rig = rig();
    let mut client = rig.lines();
    let mark = rig.quiet();
    client.ok(control("drive", "Enable"));
    client.ok(drive(0.2));
    let begin = rig.await_frame(mark, FORWARD);
    let moving = until("50 velocities", || {
        let mut record = rig.record.borrow_mut();
        let sent = record.read()[begin..].iter().filter(|sent| sent.command() == 0x66);
        let sent: Vec<_> = sent.map(|sent| sent.at).collect();
        (sent.len() >= 50).then_some(sent)
    });
    let mut gaps: Vec<_> = moving.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_unstable();
    assert!((18_000..22_000).contains(&gaps[gaps.len() / 2]), "{gaps:?}");
    // Without real-time priority the machine's load decides.
    if !rig.daemon.errors().contains("no real-time priority") {
        assert!(gaps[gaps.len() - 1] <= 50_000, "{gaps:?}");
    }
}

#[test]
fn drive_for_stops_at_its_end() {
    let rig = rig();
    let mark = rig.quiet();
    let mut drive = rig.cli(&["vacuum", "drive", "--linear", "0.2", "--for", "1s"]);
    drive.wait().ok();
    stands(&rig, mark);
    let (begin, end) = (rig.await_frame(mark, FORWARD), rig.await_frame(mark, STILL));
    let took = rig.at(end) - rig.at(begin);
    assert!((800_000..1_900_000).contains(&took), "{took} us");
    let driven = distance(&rig);
    assert!((0.1..0.4).contains(&driven), "{driven} m");
    assert_eq!(watch_a_while(&rig), 0.0);
}

#[test]
fn drive_for_stops_on_ctrl_c() {
    let rig = rig();
    for signal in ["INT", "TERM"] {
        let mark = rig.quiet();
        let mut drive =
            rig.cli(&["vacuum", "tank", "--left", "0.1", "--right", "0.1", "--for", "60s"]);
        rig.await_frame(mark, "67 64 00 64 00");
        drive.signal(signal);
        drive.wait().ok();
        rig.await_frame(mark, STILL);
        rig.await_frame(mark, "67 00 00 00 00");
        rig.quiet();
    }
    assert_eq!(watch_a_while(&rig), 0.0);
}

/// Keeps sending a velocity until the connection ends or somebody refuses it.
fn keep_driving(mut client: Lines) -> thread::JoinHandle<()> {
    client.ok(control("drive", "Enable"));
    client.ok(drive(0.2));
    thread::spawn(move || {
        use std::io::Write;
        let line = format!("{}\n", drive(0.2));
        while client.socket.write_all(line.as_bytes()).is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
    })
}

#[test]
fn a_simulator_that_comes_back_is_booted_and_stands_until_enable() {
    let mut rig = rig();
    let driver = keep_driving(rig.lines());
    rig.await_frame(0, FORWARD);
    rig.sim.kill();
    rig.wait_link("disconnected");
    let refusal = rig.lines().fails(json!({ "type": "TakeControl", "robot": "x" }), "not_found");
    assert!(refusal.contains("vacuum"), "{refusal}");
    let mut other = rig.lines();
    other.ok(json!({ "type": "TakeControl" }));
    let refusal = other.fails(control("led", "Configure"), "invalid_argument");
    assert!(refusal.contains("state"), "{refusal}");
    other.fails(control("charger", "Enable"), "link_lost");
    drop(other);
    let gone = rig.mark();
    rig.sim = simulator(&rig.dir);
    rig.wait_ready();
    let acts = rig.acts(gone);
    let booted = acts.iter().position(|sent| *sent == frame("0C 01"));
    assert!(booted.is_some() && acts.contains(&frame("7C 00 FF FF")), "{acts:?}");
    // The driver has not stopped asking.
    assert_eq!(watch_a_while(&rig), 0.0);
    assert_eq!(rig.velocities(gone), [frame(STILL)]);
    let mut client = rig.lines();
    client.ok(json!({ "type": "TakeControl" }));
    client.fails(drive(0.2), "not_ready");
    client.ok(control("drive", "Enable"));
    client.ok(drive(0.2));
    rig.await_frame(gone, FORWARD);
    rig.daemon.kill();
    driver.join().unwrap();
}

/// Reads so many status packets from the simulator's port, without a word to it.
fn encoders(port: &Path, count: usize) -> Vec<[u8; 8]> {
    const O_NOCTTY: i32 = 0o400;
    let mut file = File::options().read(true).custom_flags(O_NOCTTY).open(port).unwrap();
    let mut bytes = Vec::new();
    let mut encoders = Vec::new();
    while encoders.len() < count {
        let mut buffer = [0; 4096];
        let read = file.read(&mut buffer).unwrap();
        bytes.extend_from_slice(&buffer[..read]);
        while let Some(at) = bytes.windows(4).position(|head| head == [0xFA, 0xFB, 0x63, 0x15]) {
            let Some(packet) = bytes.get(at..at + 102) else { break };
            encoders.push(packet[4 + 0x10..4 + 0x18].try_into().unwrap());
            bytes.drain(..at + 102);
        }
    }
    encoders
}

#[test]
fn a_daemon_that_is_killed_leaves_a_robot_that_stands() {
    let mut rig = rig();
    let driver = keep_driving(rig.lines());
    until("the robot to move", || (distance(&rig) > 0.02).then_some(()));
    rig.daemon.kill();
    driver.join().unwrap();
    // Two seconds of status packets; the first of them are from before.
    let encoders = encoders(&rig.dir.join("port"), 220);
    assert!(encoders[0] != [0; 8]);
    assert!(encoders[100..].iter().all(|at| *at == encoders[100]), "{encoders:?}");
    rig.restart_daemon();
    until("a status packet", || rig.robot()["state"]["battery_volts"].as_f64());
    rig.wait_ready();
    assert_eq!(distance(&rig), 0.0);
    assert_eq!(watch_a_while(&rig), 0.0);
    assert_eq!(rig.velocities(0), [frame(STILL)]);
}

#[test]
fn sigterm_stops_the_robot_before_the_daemon_ends() {
    for signal in ["TERM", "INT"] {
        let mut rig = rig();
        let driver = keep_driving(rig.lines());
        until("the robot to move", || (distance(&rig) > 0.02).then_some(()));
        let mark = rig.mark();
        rig.daemon.signal(signal);
        rig.daemon.wait().ok();
        driver.join().unwrap();
        assert_eq!(rig.velocities(mark).last(), Some(&frame(STILL)));
        let acts = rig.acts(mark);
        let wanted: Vec<_> = [STILL].iter().chain(&ALL_OFF).map(|sent| frame(sent)).collect();
        assert_eq!(acts[..wanted.len()], wanted);
        let on = |sent: &&String| ![frame(STILL)].iter().chain(&wanted).any(|off| off == *sent);
        assert_eq!(acts.iter().find(on), None);
    }
}

#[test]
fn a_second_daemon_is_kept_off_the_line_until_the_first_has_gone() {
    let mut rig = rig();
    let (second, ready) = daemon(&rig.dir, "port", "record-2.csv", &[]);
    let mut client = Lines::connect(ready["lines"].as_str().unwrap());
    let mut link = || client.ok(json!({ "type": "Robots" }))["robots"][0]["link"]["state"].clone();
    for _ in 0..3 {
        watch_a_while(&rig);
        assert_eq!(link(), "disconnected");
    }
    assert_eq!(rig.robot()["state"]["counters"]["dropped"], 0);
    rig.daemon.kill();
    until("the second to take over", || (link() == "ready").then_some(()));
    drop(second);
}
