//! A daemon whose standard error is a pipe that is not read goes on, stops its robots, and ends.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    pipe::fcntl_setpipe_size,
    process::{Pid, Signal, kill_process},
};
use serde_json::Value;

use crate::{
    clients::{Lines, control, drive, stop},
    support::{DEADLINE, Dir, simulator, sinew, until},
};

/// A daemon that says more than its pipe takes, and the address of its JSON lines.
fn unread_daemon(dir: &Dir) -> (Child, String) {
    let mut daemon = sinew(dir)
        .args(["serve", "--json", "--trace", "--vacuum", "serial:port", "--lines", "127.0.0.1:0"])
        .args(["--tcp", "off", "--http", "off"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    fcntl_setpipe_size(daemon.stderr.as_ref().unwrap(), 4096).unwrap();
    let mut line = String::new();
    BufReader::new(daemon.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    (daemon, ready["lines"].as_str().unwrap().to_owned())
}

#[test]
fn a_log_that_is_not_read_keeps_nothing_from_stopping_and_ending() {
    let dir = Dir::new();
    let _robot = simulator(&dir);
    let (mut daemon, lines) = unread_daemon(&dir);
    let mut client = Lines::connect(&lines);
    let robot = |client: &mut Lines| client.ok(serde_json::json!({ "type": "Robots" }));
    until("boot", || (robot(&mut client)["robots"][0]["link"]["state"] == "ready").then_some(()));
    // Ten refusals of each are logged.
    for _ in 0..20 {
        let mut refused = Lines::connect(&lines);
        (0..10).for_each(|_| drop(refused.fails(drive(9.0), "invalid_argument")));
    }
    // The last of them had the controls, and leaves.
    until("the controls", || (client.ask(control("drive", "Enable"))["ok"] == true).then_some(()));
    client.ok(drive(0.1));
    let begin = Instant::now();
    Lines::connect(&lines).ok(stop());
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    client.fails(drive(0.1), "not_ready");
    let id = Pid::from_raw(daemon.id().try_into().unwrap()).unwrap();
    let begin = Instant::now();
    kill_process(id, Signal::TERM).unwrap();
    let ended = until("the end", || daemon.try_wait().unwrap());
    assert!(ended.success(), "{ended}");
    assert!(begin.elapsed() < DEADLINE / 3, "{:?}", begin.elapsed());
}
