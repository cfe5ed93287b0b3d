//! A simulated G1, the daemon and the command line, as processes of their own.

use serde_json::{Value, json};

use crate::{
    clients::Lines,
    support::{Dir, Ended, Process, run, until},
};

/// A robot and the daemon that talks to it.
struct School {
    dir: Dir,
    robot: Process,
    daemon: Process,
    lines: String,
}

impl School {
    fn open(layout: &str) -> Self {
        let dir = Dir::new();
        let store = dir.join("store").display().to_string();
        let args = ["sim", "g1", "--json", "--teach", "127.0.0.1:0", "--store", &store];
        let robot = Process::sinew(&dir, &args);
        let link = format!("{}?layout={layout}", robot.ready()["link"].as_str().unwrap());
        let (daemon, lines) = serve(&dir, &link);
        let school = School { dir, robot, daemon, lines };
        school.wait_ready();
        school
    }

    fn ask(&self, args: &[&str]) -> Ended {
        run(&self.dir, &[args, &["--server", &self.lines]].concat())
    }

    fn teach(&self, args: &[&str]) -> Ended {
        self.ask(&[&["teach"], args].concat())
    }

    fn g1(&self) -> Value {
        self.ask(&["status", "--json"]).ok().json()
    }

    fn wait_ready(&self) {
        until("the link", || (self.g1()["link"]["state"] == "ready").then_some(()));
    }

    fn names(&self) -> Vec<String> {
        let list = self.teach(&["list", "--json"]).ok().json();
        let actions = list["actions"].as_array().unwrap().clone();
        actions.iter().map(|action| action["name"].as_str().unwrap().to_owned()).collect()
    }
}

fn serve(dir: &Dir, link: &str) -> (Process, String) {
    let args = ["serve", "--json", "--g1", link, "--tcp", "off", "--http", "off"];
    let daemon = Process::sinew(dir, &[&args[..], &["--lines", "127.0.0.1:0"]].concat());
    let ready = daemon.ready();
    assert_eq!(ready["robots"], json!([{ "name": "g1", "kind": "g1" }]));
    let lines = ready["lines"].as_str().unwrap().to_owned();
    (daemon, lines)
}

#[test]
fn a_wave_is_taught_in_five_commands_in_both_layouts() {
    for layout in ["documented", "compact"] {
        let mut school = School::open(layout);
        school.teach(&["enter"]).ok();
        // It survives the command line that asked for it.
        assert_eq!(school.g1()["state"]["teaching"], true);
        let saved = school.teach(&["record", "wave", "--for", "1s", "--json"]).ok().json();
        assert!(saved["frames"].as_u64().unwrap() >= 20, "{saved}");
        assert!(saved["error_rad"].as_f64().is_some(), "{saved}");
        assert_eq!(school.names(), ["wave"]);
        assert!(school.teach(&["list"]).ok().stdout.contains("wave"));
        let played = school.teach(&["play", "wave"]).ok();
        assert_eq!(played.stdout, "", "what is said is no data");
        assert!(played.stderr.starts_with("playing wave"), "{played:?}");
        assert!(played.stderr.contains("robot's own"), "{played:?}");
        school.teach(&["exit"]).ok();
        assert_eq!(school.g1()["state"]["teaching"], false);
        // The robot keeps it, also when it is killed.
        school.robot.kill();
        school.daemon.signal("TERM");
        assert_eq!(school.daemon.wait().code, Some(0));
        let store = school.dir.join("store").join("actions.json");
        let stored: Value = serde_json::from_str(&std::fs::read_to_string(store).unwrap()).unwrap();
        assert_eq!(stored[0]["name"], "wave");
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_code() {
    let school = School::open("documented");
    for (args, code, what) in [
        (&["play", "nobody"][..], 1, "not_found"),
        (&["play", "0"], 1, "invalid_argument"),
        (&["play", "16"], 1, "invalid_argument"),
        (&["rename", "a", "b"], 1, "unsupported"),
        (&["delete", "a"], 1, "unsupported"),
        (&["save", "x"], 1, "not_ready"),
        (&["save", "this name is longer than the thirty-one bytes"], 1, "invalid_argument"),
        (&["record"], 2, "NAME"),
    ] {
        let ended = school.teach(&[args, &["--json"]].concat());
        assert_eq!(ended.code, Some(code), "{args:?}: {ended:?}");
        match code {
            1 => assert_eq!(ended.json()["error"]["code"], what, "{args:?}"),
            _ => assert!(ended.stderr.contains(what), "{args:?}: {}", ended.stderr),
        }
    }
    // A vacuum's command is not for it.
    assert_eq!(school.ask(&["vacuum", "led", "3"]).code, Some(1));
}

#[test]
fn a_robot_that_goes_is_lost() {
    let mut school = School::open("documented");
    school.robot.kill();
    until("the loss", || (school.g1()["link"]["state"] == "lost").then_some(()));
    let refused = school.teach(&["enter", "--json"]);
    assert_eq!(refused.code, Some(1));
    assert_eq!(refused.json()["error"]["code"], "link_lost");
    assert!(refused.stderr.contains("was last heard"), "{}", refused.stderr);
}

/// Taking the controls ends what another client has the robot play, its own actions too, but not
/// teaching, which belongs to the robot.
#[test]
fn who_takes_the_controls_ends_playback_and_not_teaching() {
    let school = School::open("documented");
    let mut former = Lines::connect(&school.lines);
    let teach = |op: &str| json!({ "type": "Teach", "op": op });
    former.ok(teach("enter"));
    former.ok(teach("record_start"));
    until("frames", || (school.g1()["state"]["recorded_frames"].as_u64()? > 25).then_some(()));
    former.ok(teach("record_stop"));
    // The robot would repeat it for ever.
    former.ok(json!({ "type": "Teach", "op": "save", "name": "wave", "loop": true }));
    former.ok(json!({ "type": "Teach", "op": "play", "name": "wave" }));
    until("playback", || (school.g1()["state"]["mode"] == 3).then_some(()));
    let mut newcomer = Lines::connect(&school.lines);
    newcomer.ok(json!({ "type": "TakeControl" }));
    until("teaching alone", || {
        let state = school.g1()["state"].clone();
        assert_eq!(state["teaching"], true, "{state}");
        (state["playing"].is_null() && state["mode"] == 1).then_some(())
    });
    newcomer.ok(teach("record_start"));
    newcomer.ok(teach("exit"));
}
