//! A daemon and a simulated robot whose disk is really full: 256 KiB of memory, mounted where no
//! other process sees it.

use std::{path::PathBuf, process::Command};

use serde_json::{Value, json};

use crate::{
    clients::Lines,
    support::{Dir, Process, until},
};

const ANY: &str = "127.0.0.1:0";
const SINEW: &str = env!("CARGO_BIN_EXE_sinew");

/// A small disk, for as long as this is there.
struct Disk {
    path: PathBuf,
    /// Has the mount; none where mounting is not allowed.
    holder: Option<Holder>,
}

struct Holder {
    pid: String,
    _process: Process,
}

impl Disk {
    fn new(dir: &Dir) -> Self {
        let path = dir.join("disk");
        std::fs::create_dir(&path).unwrap();
        let mount =
            "mount -t tmpfs -o size=256k tmpfs \"$0\" && echo $$ || echo no; exec sleep 600";
        let mut command = Command::new("unshare");
        let process = Process::spawn(command.args(["-rm", "sh", "-c", mount]).arg(&path));
        let pid = process.line();
        let holder = (pid != "no").then_some(Holder { pid, _process: process });
        if holder.is_none() {
            eprintln!("NO MOUNT ALLOWED HERE: files are limited to 4 KiB instead of a full disk");
        }
        Disk { path, holder }
    }

    /// `sinew` on this disk. Without a mount, what it writes is limited instead.
    fn sinew(&self, args: &[&str]) -> Process {
        let limited = "trap '' XFSZ; ulimit -f 4; exec \"$0\" \"$@\"";
        let mut command = match &self.holder {
            Some(Holder { pid, .. }) => self.inside(pid, SINEW),
            None => {
                let mut command = Command::new("bash");
                command.args(["-c", limited, SINEW]);
                command
            }
        };
        Process::spawn(command.args(args))
    }

    fn inside(&self, pid: &str, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", pid, "-U", "-m", "--preserve-credentials", program]);
        command
    }

    /// Leaves room for so many KiB, and not more.
    fn fill(&self, free: u32) {
        let Some(Holder { pid, .. }) = &self.holder else { return };
        let script = format!("head -c {}k /dev/zero > \"$0/fill\"", 256 - free);
        let mut command = self.inside(pid, "sh");
        let filled = command.args(["-c", &script]).arg(&self.path).status().unwrap().success();
        // Something is there already, so all of it does not fit.
        assert_eq!(filled, free > 0);
    }

    fn join(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }
}

fn serve(daemon: impl FnOnce(&[&str]) -> Process, link: &str, library: &str) -> (Process, Lines) {
    let args = ["serve", "--json", "--g1", link, "--tcp", "off", "--http", "off", "--lines", ANY];
    let daemon = daemon(&[&args[..], &["--library", library]].concat());
    let lines = daemon.ready()["lines"].as_str().unwrap().to_owned();
    let mut client = Lines::connect(&lines);
    until("the robot", || {
        let robots = client.ok(json!({ "type": "Robots" }));
        let g1 = &robots["robots"][0];
        (g1["link"]["state"] == "ready" && g1["state"]["positions"].is_object()).then_some(())
    });
    (daemon, client)
}

fn teach(op: &str, members: Value) -> Value {
    let mut message = json!({ "type": "Teach", "op": op });
    message.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    message
}

/// A recording of over a second, which can be saved.
fn record(client: &mut Lines) {
    client.ok(teach("enter", json!({})));
    client.ok(teach("record_start", json!({})));
    until("frames", || {
        let robots = client.ok(json!({ "type": "Robots" }));
        (robots["robots"][0]["state"]["recorded_frames"].as_u64()? > 60).then_some(())
    });
    client.ok(teach("record_stop", json!({})));
}

fn names(list: &Value) -> Vec<String> {
    let list = list.as_array().unwrap();
    list.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

/// A motion of this many keyframes.
fn motion(name: &str, keyframes: usize) -> Value {
    let keyframe = json!({ "joint": "left_elbow", "time_ms": 500, "value": 0.5 });
    json!({ "version": 1, "name": name, "created": 1, "joints": ["left_elbow"],
            "keyframes": vec![keyframe; keyframes] })
}

#[test]
fn a_save_that_does_not_fit_costs_no_older_motion() {
    let dir = Dir::new();
    let disk = Disk::new(&dir);
    let robot = Process::sinew(&dir, &["sim", "g1", "--json", "--teach", ANY]);
    let link = robot.ready()["link"].as_str().unwrap().to_owned();
    let library = disk.join("library");
    let (_daemon, mut client) = serve(|args| disk.sinew(args), &link, &library);
    record(&mut client);
    for name in ["w1", "w1~"] {
        client.ok(teach("import", json!({ "document": motion(name, 3) })));
    }
    let before = client.ok(teach("library", json!({})));
    assert_eq!(names(&before["motions"]), ["w1", "w1~"]);
    let shown = |client: &mut Lines| {
        ["w1", "w1~"].map(|name| client.ok(teach("show", json!({ "name": name }))))
    };
    let whole = shown(&mut client);
    disk.fill(0);
    // The robot has it then, and the answer says that the library has not, and why.
    let saved = client.ok(teach("save", json!({ "name": "w1" })));
    assert_eq!(saved["library"], false, "{saved}");
    let note = saved["note"].as_str().unwrap();
    assert!(note.contains("No space left") || note.contains("File too large"), "{note}");
    // In the library alone it is refused, for that reason and no other.
    let refusal = client.fails(teach("save", json!({ "name": "w2", "library": true })), "refused");
    assert!(!refusal.contains("already"), "{refusal}");
    assert_eq!(client.ok(teach("library", json!({}))), before);
    assert_eq!(shown(&mut client), whole);
}

/// The answer follows the disk, and so does what is there after the power was cut.
#[test]
fn a_robot_with_a_full_disk_says_so_and_keeps_what_it_acknowledged() {
    let dir = Dir::new();
    let disk = Disk::new(&dir);
    disk.fill(16);
    let store = disk.join("store");
    let args = ["sim", "g1", "--json", "--teach", ANY, "--store", &store];
    let library = dir.join("library").display().to_string();
    let start = || {
        let robot = disk.sinew(&args);
        let link = robot.ready()["link"].as_str().unwrap().to_owned();
        let (daemon, client) = serve(|args| Process::sinew(&dir, args), &link, &library);
        (robot, daemon, client)
    };
    let (mut robot, daemon, mut client) = start();
    record(&mut client);
    let (mut acknowledged, mut refused) = (Vec::new(), 0);
    for number in 0..12 {
        let name = format!("action {number}");
        let answer = client.ask(teach("save", json!({ "name": name })));
        if answer["ok"] == true {
            acknowledged.push(name);
        } else {
            assert_eq!(answer["error"]["code"], "refused", "{answer}");
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(message.contains("status 12") && message.contains("disk"), "{message}");
            refused += 1;
        }
        let listed = client.ok(teach("list", json!({})));
        assert_eq!(names(&listed["actions"]), acknowledged);
    }
    assert!(!acknowledged.is_empty() && refused > 0, "{acknowledged:?}, {refused} refused");
    // It still plays and stops.
    client.ok(teach("play", json!({ "id": 1 })));
    client.ok(json!({ "type": "Stop" }));
    robot.kill();
    drop((robot, daemon, client));
    let (_robot, _daemon, mut client) = start();
    let listed = client.ok(teach("list", json!({})));
    assert_eq!(names(&listed["actions"]), acknowledged, "after the power was cut");
}
