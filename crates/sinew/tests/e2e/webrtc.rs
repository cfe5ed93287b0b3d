//! A simulated G1 at the other end of a cable, reached over WebRTC: restarts, losses, cuts, clients
//! and daemons that are killed.

use std::{
    env,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    cable::{Cable, THERE},
    clients::Lines,
    g1::Daemon,
    namespace::inside,
    support::{Dir, Process, sinew, until},
};

/// Loss and delay that no cable has, below the channel: 5 % each way, 0.1 s there and back.
const BAD: [&str; 2] = ["--fault", "drop=0.05,delay=50ms"];
/// Our own watch, and what a busy machine adds.
const NOTICED: Duration = Duration::from_secs(6);
/// A stop is shown to be over by then, whatever is lost: the robot's own word for it comes late.
const STOPPED: Duration = Duration::from_secs(5);
/// Seconds that a map takes; more by hand.
const MAP_SECONDS: &str = "SINEW_E2E_MAP_SECONDS";

/// A robot in a network of its own, and the cable to it.
struct Far {
    dir: Dir,
    cable: Cable,
    robot: Process,
}

impl Far {
    fn start(more: &[&str]) -> Self {
        let (dir, cable) = (Dir::new(), Cable::plug());
        let robot = robot(&dir, &cable, more);
        Far { dir, cable, robot }
    }

    fn daemon(&self) -> Daemon {
        Daemon::start(&self.dir, &format!("webrtc:{THERE}"))
    }

    fn ready(&self) -> Daemon {
        let daemon = self.daemon();
        daemon.wait_link("ready");
        daemon
    }
}

fn robot(dir: &Dir, cable: &Cable, more: &[&str]) -> Process {
    let plain = sinew(dir);
    let mut command = cable.there(plain.get_program());
    command.current_dir(plain.get_current_dir().unwrap());
    let (teach, webrtc) = (format!("{THERE}:0"), format!("{THERE}:9991"));
    command.args(["sim", "g1", "--json", "--store", "store", "--teach", &teach]);
    let robot = Process::spawn(command.args(["--webrtc", &webrtc]).args(more));
    assert_eq!(robot.ready()["webrtc"], format!("webrtc:{webrtc}"));
    robot
}

fn teach(op: &str, name: &str) -> Value {
    json!({ "type": "Teach", "op": op, "name": name })
}

/// Asks again where a bad network lets the robot seem lost, as its user would.
fn insist(client: &mut Lines, message: &Value) {
    until(&message.to_string(), || {
        let answer = client.ask(message.clone());
        let code = answer["error"]["code"].as_str();
        let excused = matches!(code, Some("link_lost" | "unconfirmed"));
        assert!(answer["ok"] == true || excused, "{answer}");
        (!excused).then_some(())
    });
}

/// Has the arms begin something. Where the answer got lost it may have begun, and is refused then.
fn set_going(daemon: &Daemon, client: &mut Lines, message: &Value, phase: &str) {
    until(&message.to_string(), || {
        if daemon.state("/arm/phase") == phase {
            return Some(());
        }
        let answer = client.ask(message.clone());
        let code = answer["error"]["code"].as_str();
        let excused = matches!(code, Some("link_lost" | "unconfirmed" | "refused" | "not_ready"));
        assert!(answer["ok"] == true || excused, "{answer}");
        (!excused).then_some(())
    });
    wait_phase(daemon, phase);
}

fn mapping(op: &str) -> Value {
    json!({ "type": "Mapping", "op": op })
}

/// What the robot itself says about its arms.
fn wait_phase(daemon: &Daemon, phase: &str) {
    until(&format!("{phase}; state {}", daemon.robot()["state"]), || {
        (daemon.state("/arm/phase") == phase).then_some(())
    });
}

/// Measures until it is so.
fn took(what: &str, begin: Instant, most: Duration, mut is_so: impl FnMut() -> bool) {
    until(what, || is_so().then_some(()));
    let took = begin.elapsed();
    eprintln!("{what}: {:.1} s", took.as_secs_f64());
    assert!(took < most, "{what} took {took:?}");
}

fn wait_lost(daemon: &Daemon, since: Instant) {
    took("the loss", since, NOTICED, || daemon.robot()["link"]["state"] == "lost");
    let link = daemon.robot()["link"].clone();
    assert!(link["reason"].as_str().is_some_and(|reason| reason.len() > 10), "{link}");
}

fn clouds(client: &mut Lines) -> u64 {
    client.ok(mapping("info"))["clouds"].as_u64().unwrap()
}

#[test]
fn a_robot_is_taught_at_the_other_end_of_a_cable_by_one_daemon_at_a_time() {
    let name = "webrtc::a_robot_is_taught_at_the_other_end_of_a_cable_by_one_daemon_at_a_time";
    inside(name, || {
        let far = Far::start(&[]);
        let mut daemon = far.ready();
        let second = far.daemon();
        let teach = |args: &[&str]| daemon.ask(&far.dir, &[&["teach"], args].concat());
        let names = || {
            let list = teach(&["list", "--json"]).ok().json();
            let actions = list["actions"].as_array().unwrap().clone();
            let taught = actions.into_iter().filter(|action| action["kind"] == "taught");
            taught.map(|action| action["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let before = names();
        teach(&["record", "wave", "--for", "1s"]).ok();
        let saved: Vec<_> = names().into_iter().filter(|name| !before.contains(name)).collect();
        assert_eq!(saved, ["wave"]);
        teach(&["rename", "wave", "greet"]).ok();
        assert!(names().contains(&"greet".into()) && !names().contains(&"wave".into()));
        wait_phase(&daemon, "idle");
        let mut playing = daemon.cli(&far.dir, &["teach", "play", "greet"]);
        wait_phase(&daemon, "playing");
        let begin = Instant::now();
        daemon.ask(&far.dir, &["stop"]).ok();
        took("the stop", begin, STOPPED, || daemon.state("/arm/phase") != "playing");
        playing.wait();
        teach(&["delete", "greet"]).ok();
        assert_eq!(names(), before);
        let link = second.robot()["link"].clone();
        assert!(link["reason"].as_str().unwrap().contains("another client"), "{link}");
        assert_ne!(link["state"], "ready");
        daemon.process.signal("TERM");
        daemon.process.wait().ok();
        second.wait_link("ready");
    });
}

#[test]
fn a_map_goes_on_after_a_cut_and_so_do_subscriptions() {
    inside("webrtc::a_map_goes_on_after_a_cut_and_so_do_subscriptions", || {
        const CUT: Duration = Duration::from_secs(10);
        let seconds = env::var(MAP_SECONDS).map_or(3, |text| text.parse().unwrap());
        let far = Far::start(&[]);
        let daemon = far.ready();
        let mut client = daemon.lines();
        let mut watcher = daemon.lines();
        watcher.ok(json!({ "type": "Subscribe", "topics": ["sensors/odometry"] }));
        client.ok(mapping("start"));
        let begin = Instant::now();
        let mut count = 0;
        while begin.elapsed() < Duration::from_secs(seconds) {
            let before = count;
            until("a cloud", || {
                count = clouds(&mut client);
                (count > before).then_some(())
            });
            odometry(&mut watcher);
        }
        // They come at 10 Hz; a busy machine may lose some, since only the newest counts.
        assert!(count >= seconds * 5, "{count} clouds in {seconds} s");
        eprintln!("{count} clouds in {seconds} s");
        let voxels = daemon.state("/map/voxels").as_u64().unwrap();

        let cut = Instant::now();
        far.cable.pull();
        wait_lost(&daemon, cut);
        let refused = client.ask(mapping("stop"));
        assert_eq!(refused["error"]["code"], "link_lost", "{refused}");
        until("the end of the cut", || (cut.elapsed() >= CUT).then_some(()));
        assert_ne!(daemon.robot()["link"]["state"], "ready");
        let begin = Instant::now();
        far.cable.mend();
        took("the link after a cut", begin, Duration::from_secs(12), || {
            daemon.robot()["link"]["state"] == "ready"
        });
        let before = clouds(&mut client);
        until("clouds after the cut", || (clouds(&mut client) > before + 3).then_some(()));
        until_new_odometry(&mut watcher);
        // The map that is made here is the same one still.
        let map = daemon.state("/map");
        assert!(map["clouds"].as_u64().unwrap() > before, "{map}");
        assert!(map["voxels"].as_u64().unwrap() * 10 > voxels * 9, "{voxels}: {map}");
        client.ok(json!({ "type": "Mapping", "op": "stop", "name": "hall" }));
        let map = client.ok(json!({ "type": "Mapping", "op": "download", "name": "hall" }));
        assert!(map["bytes"].as_u64().unwrap() > 1000, "{map}");
    });
}

/// The next reading.
fn odometry(watcher: &mut Lines) -> Value {
    loop {
        let message = watcher.next();
        if message["topic"] == "sensors/odometry" {
            return message["data"].clone();
        }
    }
}

/// Readings that were not there already.
fn until_new_odometry(watcher: &mut Lines) {
    let now = json!(
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_micros()
            as u64
    );
    until("odometry", || {
        let reading = odometry(watcher);
        let time = reading["timestamp_us"].as_u64().unwrap_or_else(|| panic!("{reading}"));
        (time > now.as_u64().unwrap()).then_some(())
    });
}

#[test]
fn a_robot_that_restarts_is_found_again() {
    inside("webrtc::a_robot_that_restarts_is_found_again", || {
        let mut far = Far::start(&[]);
        let daemon = far.ready();
        // Killed: no goodbye.
        let begin = Instant::now();
        far.robot.kill();
        wait_lost(&daemon, begin);
        far.robot = robot(&far.dir, &far.cable, &["--restart-every", "3s"]);
        took("the link after a restart", Instant::now(), Duration::from_secs(8), || {
            daemon.robot()["link"]["state"] == "ready"
        });
        // Its power is cut now and then.
        let mut watcher = daemon.lines();
        watcher.ok(json!({ "type": "Subscribe", "topics": ["events"] }));
        for state in ["lost", "ready", "lost", "ready"] {
            until(state, || (watcher.next()["data"]["link"]["state"] == state).then_some(()));
        }
        daemon.lines().ok(json!({ "type": "Teach", "op": "list" }));
    });
}

#[test]
fn a_stop_over_a_bad_network_ends_a_recording_and_a_play() {
    inside("webrtc::a_stop_over_a_bad_network_ends_a_recording_and_a_play", || {
        let far = Far::start(&BAD);
        let daemon = far.ready();
        let mut client = daemon.lines();
        set_going(&daemon, &mut client, &teach("record_start", "wave"), "recording");
        // Some seconds: the answer to a play may come late, and the play must not be over by then.
        until("frames", || (daemon.state("/recorded_frames").as_u64()? > 150).then_some(()));
        let begin = Instant::now();
        daemon.ask(&far.dir, &["stop"]).ok();
        took("a recording's end", begin, STOPPED, || daemon.state("/arm/phase") != "recording");
        until("a stop", || (daemon.state("/recording") == false).then_some(()));
        wait_phase(&daemon, "idle");
        set_going(&daemon, &mut client, &teach("play", "wave"), "playing");
        let begin = Instant::now();
        daemon.ask(&far.dir, &["stop"]).ok();
        took("a play's end", begin, STOPPED, || daemon.state("/arm/phase") != "playing");
    });
}

#[test]
fn a_walk_over_a_bad_network_ends_with_a_stop_and_with_its_client() {
    inside("webrtc::a_walk_over_a_bad_network_ends_with_a_stop_and_with_its_client", || {
        let far = Far::start(&BAD);
        let daemon = far.ready();
        let mut client = daemon.lines();
        insist(&mut client, &mapping("start"));
        until("clouds", || (clouds(&mut client) > 5).then_some(()));
        let pose = client.ok(mapping("info"))["pose"].clone();
        insist(&mut client, &json!({ "type": "Mapping", "op": "stop", "name": "hall" }));
        drop(client);
        let here = json!({ "type": "Mapping", "op": "relocate", "map": "hall", "pose": pose });
        let walk = ["map", "go-to", "0.0", "0.0", "--confirm"];
        for end in ["stop", "kill"] {
            until("the controls to be free", || daemon.robot()["holder"].is_null().then_some(()));
            insist(&mut daemon.lines(), &here);
            until("its place", || daemon.state("/pose").is_object().then_some(()));
            until("the controls to be free", || daemon.robot()["holder"].is_null().then_some(()));
            let mut walker = daemon.cli(&far.dir, &walk);
            until("a walk", || {
                if !walker.is_running() {
                    walker = daemon.cli(&far.dir, &walk);
                }
                walks(&daemon).then_some(())
            });
            let begin = Instant::now();
            match end {
                "stop" => drop(daemon.ask(&far.dir, &["stop"]).ok()),
                _ => walker.kill(),
            }
            took(&format!("a walk's end by {end}"), begin, STOPPED, || !walks(&daemon));
            stands(&daemon);
        }
    });
}

/// Whether the robot is on its way.
fn walks(daemon: &Daemon) -> bool {
    let mapping = daemon.state("/mapping");
    mapping["walking"] == true && mapping["paused"] == false
}

/// The robot's own place does not change any more.
fn stands(daemon: &Daemon) {
    let mut client = daemon.lines();
    let mut last = (Value::Null, Instant::now());
    until("the robot to stand for a second", || {
        let pose = client.ok(mapping("info"))["pose"].clone();
        if pose != last.0 {
            last = (pose, Instant::now());
        }
        (last.1.elapsed() > Duration::from_secs(1)).then_some(())
    });
}

#[test]
fn a_recording_does_not_outlive_a_daemon_that_is_killed() {
    inside("webrtc::a_recording_does_not_outlive_a_daemon_that_is_killed", || {
        let far = Far::start(&[]);
        let mut daemon = far.ready();
        daemon.lines().ok(teach("record_start", "wave"));
        let begin = Instant::now();
        wait_phase(&daemon, "recording");
        // Kept alive for longer than the robot waits for that.
        until("a while", || (daemon.state("/recorded_ms").as_u64()? > 4_000).then_some(()));
        let killed = Instant::now();
        daemon.process.kill();
        let recorded = killed - begin;
        let next = far.daemon();
        took("the robot to be free", killed, Duration::from_secs(12), || {
            next.robot()["link"]["state"] == "ready"
        });
        until("the arms' state", || next.state("/arm/phase").is_string().then_some(()));
        assert_ne!(next.state("/arm/phase"), "recording");
        let list = next.lines().ok(json!({ "type": "Teach", "op": "list" }));
        let actions = list["actions"].as_array().unwrap();
        let wave = actions.iter().find(|action| action["name"] == "wave").unwrap();
        let kept = Duration::from_millis(wave["duration_ms"].as_u64().unwrap());
        eprintln!("killed after {recorded:?}, recorded {kept:?}");
        // The keep-alive of the robot is 3 s, and was sent each second.
        assert!(kept < recorded + Duration::from_millis(3_500), "{kept:?} {recorded:?}");
        assert!(kept + Duration::from_millis(1_500) > recorded, "{kept:?} {recorded:?}");
    });
}
