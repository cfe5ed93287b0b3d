//! Programs that are not ours: Zenoh's own Python.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    VACUUM,
    field::{DEADMAN, Daemon, HERE, LEASE, SLACK, Wheels, to},
    hub,
    python::Python,
    station,
};
use crate::{
    clients::led,
    net::{Host, Net},
    support::{Ended, Process, until},
};

/// A hub, a robot whose line is recorded, and a Python beside them.
struct Lab {
    hub: Daemon,
    lab: Daemon,
    wheels: Wheels,
    python: Python,
    host: Host,
    _net: Net,
}

impl Lab {
    fn start() -> Option<Self> {
        let python = Python::find()?;
        let net = Net::new()?;
        let host = net.host("lab");
        let hub = hub(&host);
        let lab = station(&host, "lab", &["--link", VACUUM, "--record", "record.csv"]);
        hub.until_ready(&["lab.vacuum"]);
        let wheels = Wheels::of(&lab);
        Some(Lab { hub, lab, wheels, python, host, _net: net })
    }

    fn client(&self, words: &[&str]) -> Process {
        Process::spawn(&mut self.host.within(self.python.client(HERE, words)))
    }

    /// Runs `client.py` to its end.
    fn run(&self, words: &[&str]) -> (Ended, Vec<Value>) {
        let ended = self.client(words).wait();
        let said = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (ended, said)
    }

    fn until_free(&self) {
        self.lab.until("vacuum", "free", |robot| robot["holder"].is_null());
    }
}

#[test]
fn a_client_that_reaches_nobody_says_so() {
    let Some(python) = Python::find() else { return };
    // A port where nothing listens: it was the system's choice, and is closed again.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("tcp/{}", listener.local_addr().unwrap());
    drop(listener);
    let ended = Process::spawn(&mut python.client(&endpoint, &["robots"])).wait();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.stderr.contains(&endpoint), "{ended:?}");
}

#[test]
fn a_program_that_is_not_ours_looks_drives_and_stops() {
    let Some(lab) = Lab::start() else { return };
    let (ended, said) = lab.run(&["robots"]);
    ended.ok();
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!((&said[0]["host"], &said[0]["robot"]), (&json!("lab"), &json!("vacuum")));
    assert_eq!(said[0]["state"]["link"]["state"], "ready", "{said:?}");

    let begin = Instant::now();
    let (ended, said) = lab.run(&["drive", "lab", "vacuum", "0.1", "2"]);
    ended.ok();
    let last = said.last().unwrap();
    println!("of {} velocities {} were refused", last["sent"], last["refused"]);
    assert!(last["sent"].as_u64() > Some(30), "{last}");
    let motion = lab.wheels.motion();
    assert!(motion.iter().filter(|(at, _)| *at > begin).count() > 50, "{} frames", motion.len());
    lab.until_free();

    let mut driving = lab.client(&["drive", "lab", "vacuum", "0.0", "60", "--turn", "0.5"]);
    lab.wheels.await_motion(Instant::now());
    let begin = Instant::now();
    let (ended, said) = lab.run(&["stop", "--all"]);
    ended.ok();
    println!("stopped in {} ms", said[0]["ms"]);
    lab.wheels.assert_still(Instant::now(), SLACK, Duration::from_secs(1));
    println!("with the start of the program {:?}", begin.elapsed());
    driving.kill();
}

#[test]
fn a_program_that_is_killed_or_hangs_stops_its_robot() {
    let Some(lab) = Lab::start() else { return };
    let drive = ["drive", "lab", "vacuum", "0.0", "60", "--turn", "0.5"];
    let mut driving = lab.client(&drive);
    lab.wheels.await_motion(Instant::now());
    driving.kill();
    let killed = Instant::now();
    let took = lab.wheels.assert_still(killed, DEADMAN + SLACK, Duration::from_secs(1));
    lab.until_free();
    println!("killed: still after {took:?}");

    // Its session goes on, and its token with it: it has the controls, and the robot stands.
    let hang = ["drive", "lab", "vacuum", "0.0", "1", "--turn", "0.5", "--hang"];
    let mut hanging = lab.client(&hang);
    let hung = until_it_hangs(&hanging);
    let took = lab.wheels.assert_still(hung, DEADMAN + SLACK, Duration::from_secs(3));
    println!("hanging: still after {took:?}");
    lab.lab.until("vacuum", "held", |robot| robot["holder"] == "client.py");
    let killed = Instant::now();
    hanging.kill();
    lab.until_free();
    println!("and its controls were free {:?} after it was killed", killed.elapsed());
    assert!(killed.elapsed() < LEASE + Duration::from_secs(1));

    // One that said it would be heard is gone when it is not, though its session goes on.
    let mut hanging = lab.client(&[&hang[..], &["--beats"]].concat());
    let hung = until_it_hangs(&hanging);
    lab.until_free();
    println!("hanging after a promise: free after {:?}", hung.elapsed());
    assert!(hung.elapsed() < LEASE + Duration::from_secs(1));
    assert!(hanging.is_running());
    hanging.kill();
}

fn until_it_hangs(client: &Process) -> Instant {
    while !client.line().contains("\"hangs\"") {}
    Instant::now()
}

#[test]
fn rubbish_moves_nothing_and_ends_nothing() {
    let Some(mut lab) = Lab::start() else { return };
    let before = lab.wheels.motion().len();
    let ended =
        Process::spawn(&mut lab.host.within(lab.python.rubbish(HERE, "lab", "vacuum"))).wait().ok();
    let said: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let codes = |what: &str| -> Vec<&Value> {
        let found = said.iter().find(|said| said["tried"] == what);
        let found = found.unwrap_or_else(|| panic!("{what} was not tried: {said:?}"));
        found["codes"].as_array().unwrap().iter().collect()
    };
    for (what, wanted) in [
        ("no JSON", "invalid_json"),
        ("no payload", "invalid_json"),
        ("deep JSON", "invalid_json"),
        ("two MiB", "too_large"),
        ("unknown command", "invalid_argument"),
        ("rubbish beside a light", "invalid_argument"),
        ("velocity of nobody", "not_ready"),
        ("velocity for all", "invalid_argument"),
        ("strange client", "not_ready"),
        ("numbers too large", "not_ready"),
        ("subscribe", "unsupported"),
    ] {
        assert_eq!(codes(what), [wanted], "{what}");
    }
    // Nobody is kept from stopping by what stands beside it.
    for stop in ["rubbish beside a stop", "strange members beside a stop", "stop"] {
        assert_eq!(codes(stop), ["ok"], "{stop}");
    }
    for nothing in ["unknown robot", "unknown key"] {
        assert!(codes(nothing).is_empty(), "{nothing}");
    }
    assert_eq!(lab.wheels.motion().len(), before, "nothing moved");
    assert!(lab.lab.process.is_running() && lab.hub.process.is_running());
    lab.hub.until_ready(&["lab.vacuum"]);
    let mut client = lab.hub.lines();
    until("the light", || (client.ask(to("lab.vacuum", led(6)))["ok"] == true).then_some(()));
    lab.lab.until("vacuum", "lit", |robot| robot["state"]["led"] == 6);
    lab.hub.until("lab.vacuum", "seen as lit", |robot| robot["state"]["led"] == 6);
    println!("resident: {} MB", lab.lab.process.resident() / 1_000_000);
}
