//! Programs that were written elsewhere.

use std::{
    cell::RefCell,
    process::{Command, Stdio},
};

use serde_json::json;

use crate::{
    clients::{control, drive},
    support::{Dir, FORWARD, Process, Record, Rig, STILL, daemon, simulator, until},
};

/// Whether a program is there; if not, says so.
pub(crate) fn is_there(program: &str, version: &str) -> bool {
    let found = Command::new(program)
        .arg(version)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        println!("SKIPPED: {program} is not installed");
    }
    found
}

#[test]
fn a_python_client_of_document_003_listens_and_drives() {
    if !is_there("python3", "--version") {
        return;
    }
    let rig = Rig::start();
    let mark = rig.quiet();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/client.py");
    let mut command = Command::new("python3");
    command.arg(script).args(rig.address("tcp").split(':'));
    let report = Process::spawn(&mut command).wait().ok().json();
    assert_eq!(
        report["types"],
        json!({
            "is_charging": "Bool", "is_dock_connected": "Bool", "battery_voltage": "F32",
            "battery_level": "U8", "wheel_left": "U16", "wheel_right": "U16",
            "bumper_left": "Bool", "bumper_right": "Bool", "cliff_left_side": "Bool",
            "cliff_left_front": "Bool", "cliff_right_front": "Bool", "cliff_right_side": "Bool",
            "dustbox_attached": "Bool", "start_button": "U16", "dock_button": "U16",
            "raw_packet": "Bytes",
        })
    );
    assert_eq!(report["battery_level"], 75);
    assert_eq!(report["raw_length"], 96);
    assert_eq!(report["version"], json!({ "version_string": "String", "version_code": "I32" }));
    assert!(report["rate"].as_f64().unwrap() > 50.0, "{report}");
    assert!(report["ticks"].as_u64().unwrap() > 100, "{report}");
    assert_eq!(report["other_topics"], json!([]), "it used no req, so it gets no answers");
    rig.await_frame(mark, FORWARD);
    // It left without a word.
    let stop = rig.await_frame(rig.mark() - 1, STILL);
    assert!(rig.velocities(stop).iter().all(|sent| *sent == crate::support::frame(STILL)));
    rig.lines().fails(drive(0.1), "not_ready");
}

#[test]
fn socat_carries_the_line() {
    if !is_there("socat", "-V") {
        return;
    }
    let dir = Dir::new();
    let sim = simulator(&dir);
    let ends = [
        format!("PTY,link={},raw,echo=0", dir.join("host").display()),
        format!("OPEN:{},raw,echo=0", dir.join("port").display()),
    ];
    let join = || {
        let socat = Process::spawn(Command::new("socat").args(&ends));
        until("socat's end of the line", || dir.join("host").exists().then_some(()));
        socat
    };
    let mut socat = join();
    let (daemon, ready) = daemon(&dir, "host", "record.csv", &[]);
    let record = RefCell::new(Record::open(&dir.join("record.csv")));
    let rig = Rig { daemon, sim, ready, record, dir };
    rig.wait_ready();
    let mut client = rig.lines();
    client.ok(control("drive", "Enable"));
    let mark = rig.quiet();
    until("the robot to move", || {
        client.ok(drive(0.2));
        (rig.robot()["state"]["distance"].as_f64()? > 0.05).then_some(())
    });
    rig.await_frame(mark, FORWARD);
    let counters = rig.robot()["state"]["counters"].clone();
    assert_eq!((&counters["bad_checks"], &counters["dropped"]), (&json!(0), &json!(0)));

    // The cable is pulled out and put back.
    socat.kill();
    rig.wait_link("disconnected");
    client.fails(drive(0.2), "link_lost");
    let _ = std::fs::remove_file(rig.dir.join("host"));
    let mark = rig.mark();
    let socat = Process::spawn(Command::new("socat").args(&ends));
    rig.wait_ready();
    rig.await_frame(mark, "0C 01");
    client.fails(drive(0.2), "not_ready");
    assert_eq!(rig.velocities(mark), [crate::support::frame(STILL)]);
    drop((rig, socat));
}
