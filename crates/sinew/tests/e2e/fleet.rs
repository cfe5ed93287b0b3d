//! Robots of other daemons, by Zenoh: real processes on hosts of their own, and wires between them that fail.

mod cuts;
mod driving;
mod field;
mod foreign;
mod many;
mod names;
mod python;
mod tokens;

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use self::field::{Daemon, HERE, run_on, to, try_robot};
use crate::{
    clients::{configure, led, stop},
    net::{Host, Net},
    support::{Dir, Ended, Process, sinew, until},
};

/// A vacuum that costs little.
const VACUUM: &str = "crl200s=sim:?rate=10&seed=1";
/// What a daemon that was killed may take to be seen as gone: the lease, and how often it is looked.
const GONE: Duration = Duration::from_secs(4);

/// A hub to which others connect, a daemon with a vacuum and a G1, and one with a vacuum, all on one host.
struct Flat {
    hub: Daemon,
    kitchen: Daemon,
    lab: Daemon,
    host: Host,
    dir: Dir,
    _net: Net,
}

impl Flat {
    fn start() -> Option<Self> {
        let net = Net::new()?;
        let host = net.host("flat");
        let hub = hub(&host);
        let kitchen = station(&host, "kitchen", &["--link", VACUUM, "--link", "g1=sim:"]);
        let lab = station(&host, "lab", &["--link", VACUUM]);
        hub.until_ready(&["kitchen.vacuum", "kitchen.g1", "lab.vacuum"]);
        Some(Flat { hub, kitchen, lab, host, dir: Dir::new(), _net: net })
    }

    /// A command line of the fleet, without a daemon.
    fn run(&self, arguments: &[&str]) -> Ended {
        run_on(&self.host, &self.dir, &[&["--fleet", HERE], arguments].concat())
    }
}

/// A hub that listens on its host's loopback.
fn hub(host: &Host) -> Daemon {
    Daemon::start(host, &["--hub", "--fleet-listen", HERE, "--fleet-name", "hub"])
}

/// A daemon that connects to it.
fn station(host: &Host, name: &str, more: &[&str]) -> Daemon {
    Daemon::start(host, &[&["--fleet", HERE, "--fleet-name", name], more].concat())
}

const ALL: [&str; 3] = ["kitchen.g1", "kitchen.vacuum", "lab.vacuum"];

fn names(robots: &Value) -> Vec<&str> {
    let robots = robots.as_array().unwrap().iter();
    let mut names: Vec<_> = robots.map(|robot| robot["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn all_robots_are_on_the_hub_and_on_command_lines_without_a_daemon() {
    let Some(flat) = Flat::start() else { return };
    for by_hub in [true, false] {
        let ask = |words: &[&str]| if by_hub { flat.hub.cli(words) } else { flat.run(words) };
        assert_eq!(names(&ask(&["robots", "--json"]).ok().json()), ALL);
        let status = ask(&["status", "--json", "--robot", "lab.vacuum"]).ok().stdout;
        assert!(status.contains("battery_percent"), "{status}");
        let seen = ask(&["watch", "--for", "1s", "--json"]).ok().stdout;
        for robot in ALL {
            assert!(seen.contains(&format!("\"robot\":\"{robot}\"")), "{robot} in {seen}");
        }
        // Each robot is free to be stopped by anybody, and says who it was.
        let mut owner = flat.lab.lines();
        until("the robot to be enabled", || {
            (owner.ask(field::enable())["ok"] == true).then_some(())
        });
        drop(owner);
        let stopped = ask(&["stop", "--all", "--json"]).ok().json();
        println!("3 robots were stopped in {} ms", stopped["ms"]);
        let mut all: Vec<_> = stopped["stopped"].as_array().unwrap().clone();
        all.sort_by_key(Value::to_string);
        assert_eq!(
            (all.as_slice(), &stopped["not_reached"]),
            (&ALL.map(Value::from)[..], &json!([]))
        );
        let by = try_robot(&mut flat.lab.lines(), "vacuum").unwrap()["stopped_by"].to_string();
        assert!(by.contains(" via "), "{by}");
    }
}

#[test]
fn what_robots_sense_map_and_play_goes_through_the_hub() {
    let Some(flat) = Flat::start() else { return };
    let mut client = flat.hub.lines();
    let mut topics = flat.hub.lines();
    let mut heard = |topic: &str, robot: &str| {
        topics.ok(json!({ "type": "Subscribe", "topics": [] }));
        topics.ok(to(robot, json!({ "type": "Subscribe", "topics": [topic] })));
        let mut next =
            || std::iter::from_fn(|| Some(topics.next())).find(|told| told["topic"] == topic);
        next().unwrap()["data"].clone()
    };
    assert!(heard("sensors/gd32_status", "lab.vacuum").is_object());
    // It is told once, and was told before.
    assert!(heard("sensors/gd32_version", "lab.vacuum").is_object());
    assert!(heard("sensors/joints", "kitchen.g1").is_object());

    let mapping = |op: &str| to("lab.vacuum", json!({ "type": "Mapping", "op": op }));
    until("a map", || (client.ask(mapping("start"))["ok"] == true).then_some(()));
    let mut page = flat.hub.socket();
    page.ok(to("lab.vacuum", json!({ "type": "Subscribe", "topics": ["map"] })));
    until("a frame with points", || {
        let frame = page.next_binary();
        let frame = sinew_api::frame::Frame::read(&frame).unwrap();
        assert_eq!(frame.kind, sinew_api::frame::Kind::Map);
        let ack = json!({ "type": "Ack", "topic": "map", "seq": frame.header.sequence });
        page.send(&to("lab.vacuum", ack));
        (frame.points().count() > 0).then_some(())
    });
    for by_hub in [true, false] {
        let file = flat.dir.join(&format!("flat-{by_hub}.pgm")).to_str().unwrap().to_owned();
        let save = ["map", "save", &file, "--robot", "lab.vacuum"];
        let saved = if by_hub { flat.hub.cli(&save) } else { flat.run(&save) };
        saved.ok();
        assert!(fs::read(&file).unwrap().starts_with(b"P5"));
    }

    let g1 = ["--robot", "kitchen.g1"];
    let list = flat.hub.cli(&[&["teach", "list", "--json"][..], &g1].concat()).ok().json();
    let actions = list["actions"].as_array().unwrap();
    let name = actions.iter().find(|action| action["kind"] == "taught").unwrap()["name"].clone();
    client.ok(to("kitchen.g1", json!({ "type": "Teach", "op": "play", "name": name })));
    flat.hub.until("kitchen.g1", "playing", |robot| robot["state"]["playing"]["name"] == name);
    flat.kitchen.until("g1", "playing", |robot| robot["state"]["playing"]["name"] == name);
    client.ok(to("kitchen.g1", json!({ "type": "Stop" })));
    flat.hub.until("kitchen.g1", "at rest", |robot| robot["state"]["playing"].is_null());
}

#[test]
fn a_robot_of_another_daemon_has_the_name_that_it_was_given() {
    let Some(net) = Net::new() else { return };
    let host = net.host("flat");
    let _hub = hub(&host);
    let dir = Dir::new();
    let robots = "[[robot]]\nname = \"scrubber\"\nlink = \"zenoh:kitchen/vacuum\"\n";
    dir.file("sinew.toml", robots);
    // It is listed before it is there, and says why it is of no use.
    let here = Daemon::within(dir, &host, &["--fleet", HERE, "--fleet-name", "desk"]);
    let report = here.until("scrubber", "listed", |robot| robot["link"]["state"] == "disconnected");
    assert!(report["link"]["reason"].to_string().contains("not seen"), "{report}");
    assert_eq!(here.lines().ask(to("scrubber", led(3)))["ok"], false);
    let kitchen = station(&host, "kitchen", &["--link", VACUUM]);
    here.until_ready(&["scrubber"]);
    let mut client = here.lines();
    until("the light", || (client.ask(to("scrubber", led(3)))["ok"] == true).then_some(()));
    kitchen.until("vacuum", "lit", |robot| robot["state"]["led"] == 3);
    assert_eq!(names(&here.cli(&["robots", "--json"]).ok().json()), ["scrubber"], "and no other");
}

#[test]
fn daemons_come_go_and_come_back() {
    let Some(net) = Net::new() else { return };
    let host = net.host("flat");
    let hub = hub(&host);
    let _kitchen = station(&host, "kitchen", &["--link", VACUUM]);
    hub.until_ready(&["kitchen.vacuum"]);
    let mut early = hub.lines();
    early.ok(json!({ "type": "Subscribe", "topics": ["state", "events"] }));
    let mut lab = station(&host, "lab", &["--link", VACUUM]);
    let mut await_state = |state: &str| {
        let begin = Instant::now();
        loop {
            let told = early.next();
            let link = &told["data"]["link"];
            if told["topic"] == "state" && told["robot"] == "lab.vacuum" && link["state"] == state {
                return (begin.elapsed(), link.clone());
            }
        }
    };
    await_state("ready");
    let mut client = hub.lines();
    client.ok(to("lab.vacuum", configure("vacuum", json!({ "speed": { "U8": 50 } }))));
    for _ in 0..2 {
        lab.process.kill();
        let (took, link) = await_state("disconnected");
        println!("a daemon that was killed is gone after {took:?}");
        assert!(took < GONE, "{took:?}");
        assert!(link["reason"].as_str().unwrap().contains("lab"), "{link}");
        client.fails(to("lab.vacuum", led(1)), "link_lost");
        let reason = client.fails(stop(), "link_lost");
        assert!(reason.contains("lab.vacuum"), "what it does is not known: {reason}");
        lab.restart();
        let (took, _) = await_state("ready");
        println!("and ready {took:?} after it was started anew");
        // Another daemon now: a client that knew the old one is known to this one.
        client.ok(to("lab.vacuum", led(1)));
    }
    // One that is told to end has stopped its robots: they are not missed.
    lab.process.signal("TERM");
    let (took, link) = await_state("disconnected");
    println!("a daemon that has ended is gone after {took:?}");
    assert!(link["reason"].as_str().unwrap().contains("has ended"), "{link}");
    client.ok(stop());
    lab.restart();
    await_state("ready");
    client.ok(to("lab.vacuum", led(1)));
}

#[test]
fn a_router_that_is_frozen_keeps_no_client_from_stopping_by_another() {
    let Some(net) = Net::new() else { return };
    let host = net.host("flat");
    let other = "tcp/127.0.0.1:7448";
    let frozen = hub(&host);
    let lab = ["--fleet-listen", other, "--fleet-name", "lab", "--link", VACUUM];
    let lab = Daemon::start(&host, &lab);
    lab.until_ready(&["vacuum"]);
    frozen.process.signal("STOP");
    let begin = Instant::now();
    let both = ["--fleet", HERE, "--fleet", other, "stop", "--all", "--json"];
    let stopped = run_on(&host, &Dir::new(), &both).ok().json();
    println!("stopped by the second router after {:?}", begin.elapsed());
    assert_eq!(stopped["stopped"], json!(["lab.vacuum"]), "{stopped}");
    assert!(begin.elapsed() < GONE, "{:?}", begin.elapsed());
}

#[test]
fn a_walk_whose_robot_is_lost_ends() {
    let Some(net) = Net::new() else { return };
    let host = net.host("flat");
    let hub = hub(&host);
    let mut lab = station(&host, "lab", &["--link", "g1=sim:"]);
    hub.until_ready(&["lab.g1"]);
    let dir = Dir::new();
    let run = |words: &[&str]| run_on(&host, &dir, &[&["--fleet", HERE], words].concat()).ok();
    run(&["map", "start"]);
    let has_seen = |robot: &Value| robot["state"]["mapping"]["clouds"].as_u64() > Some(3);
    hub.until("lab.g1", "looking around", has_seen);
    run(&["map", "stop", "hall"]);
    run(&["map", "relocate", "hall", "0", "0"]);
    let walk = ["--fleet", HERE, "map", "go-to", "6", "0", "--confirm"];
    let mut walk = Process::spawn(host.within(sinew(&dir)).args(walk));
    let walks = |robot: &Value| robot["state"]["mapping"]["walking"] == true;
    hub.until("lab.g1", "walking", walks);
    until("the answer", || walk.errors().contains("the robot walks").then_some(()));
    lab.process.kill();
    let ended = walk.wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("no contact to lab.g1"), "{ended:?}");
}
