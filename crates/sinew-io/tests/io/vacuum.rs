use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use sinew_io::{Around, Wiring, sim::Simulator};
use sinew_robot::{
    Code,
    vacuum::{Command, LinkState as Link, Settings, State},
};
use sinew_sim::vacuum::Options;
use tokio::runtime::{Builder, Runtime};

use crate::support::Vacuum;

/// Longer than anything here takes, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(60);

const FORWARD: Command = Command::Velocity { linear: 0.2, angular: 0.0 };
const ENABLE: Command = Command::DriveEnable { mode: 2 };

pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

pub(crate) fn spawn(seed: u64) -> Vacuum {
    Vacuum::simulated(seed, Vec::new())
}

fn serial(path: &Path) -> Vacuum {
    Vacuum::spawn(path, Settings::default(), Wiring::default())
}

/// A name in the temporary directory that no other test uses.
fn name(what: &str) -> PathBuf {
    std::env::temp_dir().join(format!("sinew-io-{}-{what}", std::process::id()))
}

pub(crate) fn until(vacuum: &Vacuum, what: &str, holds: impl Fn(&State) -> bool) {
    let start = Instant::now();
    while !holds(&vacuum.state()) {
        assert!(start.elapsed() < PATIENCE, "{what}: {:?}", vacuum.state());
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn is_ready(state: &State) -> bool {
    state.link == Link::Ready
}

/// Streams a velocity until the robot has moved.
fn drive(vacuum: &Vacuum, runtime: &Runtime, distance: f64) {
    let before = vacuum.state().distance;
    let start = Instant::now();
    while vacuum.state().distance < before + distance {
        if runtime.block_on(vacuum.execute(FORWARD, "test")).is_err() {
            // A machine so busy that the simulator fell silent for 200 ms: a lost link, rightly.
            // Or one so busy that this process fell silent: a pause, after which an Enable that came
            // too soon is refused.
            until(vacuum, "the link", is_ready);
            let _ = runtime.block_on(vacuum.execute(ENABLE, "test"));
        }
        assert!(start.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_simulated_vacuum_boots_drives_and_stops_when_its_client_is_silent() {
    let (vacuum, runtime) = (spawn(3), runtime());
    until(&vacuum, "boot", is_ready);
    runtime.block_on(vacuum.execute(ENABLE, "test")).unwrap();
    drive(&vacuum, &runtime, 0.02);
    until(&vacuum, "deadman", |state| state.velocity.linear == 0.0);
    vacuum.shut_down();
}

#[test]
fn a_stop_latches_until_the_drive_is_enabled_again() {
    let (vacuum, runtime) = (spawn(4), runtime());
    until(&vacuum, "boot", is_ready);
    runtime.block_on(vacuum.execute(ENABLE, "test")).unwrap();
    runtime.block_on(vacuum.execute(FORWARD, "test")).unwrap();
    vacuum.stop("somebody");
    until(&vacuum, "stop", |state| state.stopped_by.as_deref() == Some("somebody"));
    let refusal = runtime.block_on(vacuum.execute(FORWARD, "test")).unwrap_err();
    assert_eq!(refusal.code, Code::NotReady);
    assert!(refusal.message.contains("somebody"), "{refusal}");
    runtime.block_on(vacuum.execute(ENABLE, "test")).unwrap();
    runtime.block_on(vacuum.execute(FORWARD, "test")).unwrap();
    vacuum.shut_down();
}

#[test]
fn an_unplugged_robot_is_booted_again_and_does_not_move() {
    let (link, runtime) = (name("replug"), runtime());
    let simulator = Simulator::spawn(Options::default(), Some(&link)).unwrap();
    let vacuum = serial(&link);
    until(&vacuum, "boot", is_ready);
    runtime.block_on(vacuum.execute(ENABLE, "test")).unwrap();
    drive(&vacuum, &runtime, 0.01);
    drop(simulator);
    until(&vacuum, "unplugged", |state| matches!(state.link, Link::Disconnected { .. }));
    let refusal = runtime.block_on(vacuum.execute(FORWARD, "test")).unwrap_err();
    assert_eq!(refusal.code, Code::LinkLost);
    let _simulator = Simulator::spawn(Options::default(), Some(&link)).unwrap();
    until(&vacuum, "boot again", is_ready);
    let refusal = runtime.block_on(vacuum.execute(FORWARD, "test")).unwrap_err();
    assert_eq!(refusal.code, Code::NotReady);
    assert_eq!(vacuum.state().velocity.linear, 0.0);
    vacuum.shut_down();
}

#[test]
fn a_port_that_is_not_there_is_waited_for() {
    let link = name("later");
    let vacuum = serial(&link);
    until(&vacuum, "reason", |state| {
        state.link.to_string().contains("No such file or directory (os error 2)")
    });
    let _simulator = Simulator::spawn(Options::default(), Some(&link)).unwrap();
    until(&vacuum, "boot", is_ready);
    vacuum.shut_down();
}

#[test]
fn faults_cost_bytes_but_not_the_link() {
    let faults = "drop=0.001,corrupt=0.001,duplicate=0.001".parse().unwrap();
    let vacuum = Vacuum::simulated(5, vec![Around::Faults(faults, 5)]);
    until(&vacuum, "boot", is_ready);
    until(&vacuum, "faults", |state| state.counters.bad_checks > 0 && state.counters.dropped > 0);
    vacuum.shut_down();
}

#[test]
fn a_record_holds_both_directions_in_the_taps_format() {
    let file = name("record.csv");
    let vacuum = Vacuum::simulated(6, vec![Around::record(&file).unwrap()]);
    until(&vacuum, "boot", is_ready);
    vacuum.shut_down();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let rows: Vec<Vec<_>> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(',').collect())
        .collect();
    assert!(rows.iter().all(|row| row.len() == 3 && row[0].parse::<u64>().is_ok()));
    let first_out = rows.iter().find(|row| row[1] == "TX").unwrap();
    assert_eq!(first_out[2], "FA FB 04 0C 01 0C 01");
    assert!(rows.iter().any(|row| row[1] == "RX" && row[2].contains("FA FB 63 15")));
}

#[test]
fn a_name_that_is_taken_is_not_overwritten() {
    let file = name("taken");
    std::fs::write(&file, "mine").unwrap();
    let error = Simulator::spawn(Options::default(), Some(&file)).unwrap_err();
    assert!(error.to_string().contains("in the way"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    std::fs::remove_file(&file).unwrap();
}
