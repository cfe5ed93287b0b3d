//! A G1 over WebRTC and programs that were written elsewhere: the package people use, on the
//! simulated robot; a robot on aiortc, for our client.

pub(crate) mod python;

use std::process::{Child, Stdio};

use serde_json::{Value, json};
use sinew_wire::{slam, unitree::Binary, voxel::VoxelMap};

use self::python::Python;
use crate::{
    clients::Lines,
    g1::Daemon,
    namespace,
    support::{Dir, Process, until},
};

const KEY: &str = "00112233445566778899aabbccddeeff";

/// A test in a namespace of its own: the package knows the robots' ports and no others, and offers
/// no address that is exactly 127.0.0.1.
fn with_package(test: &str, body: impl FnOnce(&Python, &Dir)) {
    let Some(python) = Python::set_up() else { return };
    namespace::inside(test, || {
        namespace::add_addresses(0);
        body(&python, &Dir::new());
    });
}

/// A simulated robot on the ports that robots have.
fn simulator(dir: &Dir, more: &[&str]) -> Process {
    let teach = ["sim", "g1", "--json", "--teach", "127.0.0.1:0"];
    let sim = Process::sinew(dir, &[&teach, more].concat());
    let ready = sim.ready();
    assert!(ready["link"].as_str().unwrap().starts_with("udp:"), "{ready}");
    sim
}

fn client(python: &Python, more: &[&str]) -> Value {
    let mut command = python.script("client.py");
    Process::spawn(command.arg("127.0.0.1").args(more)).wait().ok().json()
}

/// Records, renames, plays, stops and deletes, as its user would.
fn teaches(report: &Value) {
    let codes = report["codes"].as_array().unwrap();
    assert!(codes.len() >= 8 && codes.iter().all(|code| code == 0), "{report}");
    assert_eq!(report["refused"], 7402);
    assert_eq!(report["left"], json!([]));
    let recorded = report["new"]["python"].as_f64().unwrap();
    assert!((recorded - report["recorded_s"].as_f64().unwrap()).abs() < 0.5, "{report}");
    let seen: Vec<_> = report["seen"].as_array().unwrap().iter().map(|seen| &seen[0]).collect();
    assert_eq!(seen, [0, -1, 99, 0, 100, 99, 0], "{report}");
    let states = report["counts"]["rt/arm/action/state"].as_u64().unwrap();
    assert!(states > 50, "{report}");
}

#[test]
fn the_package_teaches_a_robot_with_clear_signalling() {
    with_package("unitree::the_package_teaches_a_robot_with_clear_signalling", |python, dir| {
        let _sim = simulator(dir, &["--webrtc", "127.0.0.1:9991", "--signalling", "plain"]);
        teaches(&client(python, &[]));
    });
}

#[test]
fn the_package_teaches_a_robot_with_the_common_key_and_reads_voxels() {
    let name = "unitree::the_package_teaches_a_robot_with_the_common_key_and_reads_voxels";
    with_package(name, |python, dir| {
        let _sim = simulator(dir, &["--webrtc", "127.0.0.1:9991", "--go2-voxels"]);
        let report = client(python, &["--voxels"]);
        teaches(&report);
        let clouds = report["clouds"].as_array().unwrap();
        assert_eq!(clouds.len(), 4);
        let variants: Vec<_> = clouds.iter().map(same_voxels).collect();
        assert!(variants.contains(&true) && variants.contains(&false), "both forms: {variants:?}");
    });
}

/// What the package read is what is in the message; whether that has the form of a cloud.
fn same_voxels(cloud: &Value) -> bool {
    let hex = cloud["raw"].as_str().unwrap();
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let bytes: Vec<_> = (0..hex.len()).step_by(2).map(byte).collect();
    let binary = Binary::new_checked(&bytes).unwrap();
    let message = slam::Message { type_word: false, json: binary.json, body: binary.body };
    let map = VoxelMap::new(&message).unwrap();
    let points: Vec<_> = map.points().into_iter().map(|point| point.map(f64::from)).collect();
    assert_eq!(cloud["count"], points.len());
    assert!(points.len() > 100, "a room: {}", points.len());
    for axis in 0..3 {
        let of = |point: &[f64; 3]| point[axis];
        let sum: f64 = points.iter().map(of).sum();
        let near = |name: &str, ours: f64| {
            let theirs = cloud[name][axis].as_f64().unwrap();
            assert!((theirs - ours).abs() < 1e-3 * points.len() as f64, "{name}: {theirs} {ours}");
        };
        near("sum", sum);
        near("min", points.iter().map(of).fold(f64::MAX, f64::min));
        near("max", points.iter().map(of).fold(f64::MIN, f64::max));
    }
    bytes.starts_with(&[2, 0, 0, 0])
}

#[test]
fn the_package_needs_the_key_of_a_robot_that_has_its_own() {
    let name = "unitree::the_package_needs_the_key_of_a_robot_that_has_its_own";
    with_package(name, |python, dir| {
        let key = dir.secret("key", KEY);
        let device = ["--signalling", "device", "--key-file", &key];
        let _sim = simulator(dir, &[&["--webrtc", "127.0.0.1:9991"], &device[..]].concat());
        assert_eq!(client(python, &["--brief"])["failed"], "AesKeyRequiredError");
        let wrong = KEY.replace("00", "99");
        assert_eq!(client(python, &["--brief", "--key", &wrong])["failed"], "AesKeyRejectedError");
        teaches(&client(python, &["--key", KEY]));
    });
}

#[test]
fn the_package_finds_the_old_port() {
    with_package("unitree::the_package_finds_the_old_port", |python, dir| {
        let _sim = simulator(dir, &["--webrtc-old", "127.0.0.1:8081"]);
        teaches(&client(python, &[]));
    });
}

#[test]
fn a_robot_has_one_client_whatever_it_is_written_in() {
    let name = "unitree::a_robot_has_one_client_whatever_it_is_written_in";
    with_package(name, |python, dir| {
        let _sim = simulator(dir, &["--webrtc", "127.0.0.1:9991"]);
        let mut ours = Daemon::start(dir, "webrtc:127.0.0.1:9991");
        ours.wait_link("ready");
        assert_eq!(client(python, &["--brief"])["failed"], "RobotBusyError");
        ours.process.signal("TERM");
        ours.process.wait().ok();
        // Its goodbye freed the robot.
        let report = client(python, &["--brief"]);
        assert!(report["presets"].as_array().unwrap().len() > 10, "{report}");
    });
}

/// The robot on aiortc.
struct Robot {
    process: Child,
    lines: std::sync::mpsc::Receiver<Value>,
    port: u64,
}

impl Robot {
    fn start(python: &Python, args: &[&str]) -> Self {
        let mut command = python.script("robot.py");
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let stdout = std::io::BufReader::new(process.stdout.take().unwrap());
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let read = std::io::BufRead::lines(stdout).map_while(Result::ok);
            for line in read {
                eprintln!("robot: {line}");
                let _ = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        let mut robot = Robot { process, lines, port: 0 };
        let ready = robot.says("ready");
        robot.port = ready["new"].as_u64().or(ready["old"].as_u64()).unwrap();
        robot
    }

    /// Waits until it tells this.
    fn says(&self, event: &str) -> Value {
        until(&format!("the robot's {event}"), || {
            self.lines.try_iter().find(|line| line["event"] == event)
        })
    }

    fn link(&self) -> String {
        format!("webrtc:127.0.0.1:{}", self.port)
    }
}

impl Drop for Robot {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What a client of ours does with a robot, by the daemon's own interface.
fn taught_by_us(daemon: &Daemon, robot: &Robot) {
    let mut client = daemon.lines();
    let list = |client: &mut Lines| {
        let list = client.ok(json!({ "type": "Teach", "op": "list" }));
        let actions = list["actions"].as_array().unwrap().clone();
        actions.iter().map(|action| action["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        list(&mut client),
        ["release_arm", "shake_hand", "turn_back_wave", "Waist_Drum_Dance"],
        "from its own list"
    );
    let teach = |op: &str, more: Value| {
        let mut message = json!({ "type": "Teach", "op": op });
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message
    };
    client.ok(teach("record_start", json!({ "name": "wave" })));
    // Its recording is kept alive each second.
    let is_alive = |line: &Value| line["parameter"] == r#"{"action_name":""}"#;
    let mut alive = 0;
    while alive < 2 {
        alive += usize::from(is_alive(&robot.says("arm")));
    }
    client.ok(teach("record_stop", json!({})));
    assert!(list(&mut client).contains(&"wave".to_owned()));
    client.ok(teach("rename", json!({ "name": "wave", "new_name": "greet" })));
    wait_arm(daemon, 0);
    client.ok(teach("play", json!({ "name": "greet" })));
    wait_arm(daemon, 100);
    client.ok(json!({ "type": "Stop" }));
    wait_arm(daemon, 0);
    client.ok(teach("delete", json!({ "name": "greet" })));
    assert!(!list(&mut client).contains(&"greet".to_owned()));
    client.fails(teach("play", json!({ "name": "greet" })), "not_found");
    client.fails(teach("play", json!({ "name": "Waist_Drum_Dance", "loop": true })), "unsupported");
}

fn wait_arm(daemon: &Daemon, id: i64) {
    until(&format!("arm state {id}; state {}", daemon.robot()["state"]), || {
        (daemon.robot()["state"]["arm"]["id"] == id).then_some(())
    });
}

/// Maps: clouds come as they are in the message.
fn mapped_by_us(daemon: &Daemon) {
    let mut client = daemon.lines();
    client.ok(json!({ "type": "Mapping", "op": "start" }));
    let info = until("clouds", || {
        let info = client.ok(json!({ "type": "Mapping", "op": "info" }));
        (info["clouds"].as_u64()? >= 3).then_some(info)
    });
    let cloud = &info["last_cloud"];
    assert_eq!(cloud["points"], 50);
    let near = |path: &str, wanted: f64| {
        let got = cloud["bounds"].pointer(path).and_then(Value::as_f64).unwrap();
        assert!((got - wanted).abs() < 1e-3, "{path}: {cloud}");
    };
    // 2 m from the corner at (-1, 0.5, 0).
    [("/min/0", 1.0), ("/max/0", 1.0), ("/min/1", 0.5), ("/max/1", 1.48), ("/max/2", 0.49)]
        .iter()
        .for_each(|(path, wanted)| near(path, *wanted));
    client.ok(json!({ "type": "Mapping", "op": "stop", "name": "hall" }));
}

/// A robot with these habits, taught and mapped with by our client.
fn gets_along_with(habits: &[&str], parameters: impl FnOnce(&Dir) -> String) {
    let Some(python) = Python::set_up() else { return };
    let dir = Dir::new();
    let port = if habits.contains(&"OLD") { "--old" } else { "--new" };
    let habits: Vec<_> = habits.iter().copied().filter(|habit| *habit != "OLD").collect();
    let robot = Robot::start(&python, &[&[port, "127.0.0.1:0"], &habits[..]].concat());
    let daemon = Daemon::start(&dir, &format!("{}{}", robot.link(), parameters(&dir)));
    daemon.wait_link("ready");
    taught_by_us(&daemon, &robot);
    mapped_by_us(&daemon);
}

#[test]
fn a_robot_with_the_common_key() {
    gets_along_with(&["--data2", "2"], |_| String::new());
}

#[test]
fn a_robot_that_answers_as_a_real_one_did_and_never_acknowledges_the_channel() {
    gets_along_with(&["--kvs", "--no-ack", "--data2", "1"], |_| String::new());
}

#[test]
fn a_robot_with_its_own_key() {
    gets_along_with(&["--data2", "3", "--key", KEY], |dir| {
        format!("?key_file={}", dir.secret("key", KEY))
    });
}

#[test]
fn a_robot_of_the_old_kind() {
    gets_along_with(&["OLD"], |_| String::new());
}

#[test]
fn a_robot_with_an_rsa_certificate() {
    gets_along_with(&["--rsa"], |_| String::new());
}

#[test]
fn a_robot_with_an_rsa_certificate_that_lets_us_begin() {
    gets_along_with(&["--rsa", "--passive"], |_| String::new());
}

#[test]
fn a_robot_without_extended_master_secret_and_with_old_ciphers_only() {
    gets_along_with(&["--no-ems", "--cbc"], |_| String::new());
}

#[test]
fn a_robot_with_all_old_habits_at_once() {
    gets_along_with(&["--rsa", "--no-ems", "--cbc", "--kvs", "--no-ack"], |_| String::new());
}

#[test]
fn a_robot_that_lets_us_begin() {
    gets_along_with(&["--passive"], |_| String::new());
}

#[test]
fn a_robot_that_wants_to_know_again() {
    gets_along_with(&["--revalidate", "1.0"], |_| String::new());
}

#[test]
fn a_busy_robot_is_named_and_waited_for() {
    let Some(python) = Python::set_up() else { return };
    let dir = Dir::new();
    let robot = Robot::start(&python, &["--new", "127.0.0.1:0", "--busy", "1"]);
    let daemon = Daemon::start(&dir, &robot.link());
    until("the reason", || {
        let link = daemon.robot()["link"].clone();
        link["reason"].as_str()?.contains("another client").then_some(())
    });
    daemon.wait_link("ready");
}

#[test]
fn a_wrong_and_a_missing_key_are_named() {
    let Some(python) = Python::set_up() else { return };
    let dir = Dir::new();
    let robot = Robot::start(&python, &["--new", "127.0.0.1:0", "--data2", "3", "--key", KEY]);
    let wrong = dir.secret("wrong", &KEY.replace("00", "99"));
    for (parameters, word) in [(String::new(), "key"), (format!("?key_file={wrong}"), "key")] {
        let daemon = Daemon::start(&dir, &format!("{}{parameters}", robot.link()));
        let reason = until("the reason", || {
            daemon.robot()["link"]["reason"].as_str().map(ToOwned::to_owned)
        });
        assert!(reason.contains(word), "{reason}");
        assert!(!daemon.process.errors().contains(&KEY.replace("00", "99")), "a key in the log");
    }
}
