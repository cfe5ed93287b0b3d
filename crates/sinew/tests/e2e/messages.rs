//! What commands say when they are done, and when they are not: compared with files, word for word.

use std::fmt::Write;

use crate::{
    clients::{control, drive},
    golden,
    support::{Dir, Process, Rig, await_robots, run, sinew, until},
};

/// Commands, what they said and how they ended, as they would stand in a terminal's history.
struct Transcript<'a> {
    dir: &'a Dir,
    server: &'a str,
    text: String,
}

impl<'a> Transcript<'a> {
    fn new(dir: &'a Dir, server: &'a str) -> Self {
        Transcript { dir, server, text: String::new() }
    }

    /// Runs a command to its end.
    fn run(&mut self, command: &str) -> &mut Self {
        let args: Vec<_> = command.split(' ').collect();
        let process = self.start(&args);
        self.ended(command, process)
    }

    fn start(&self, args: &[&str]) -> Process {
        let mut sinew = sinew(self.dir);
        sinew.args(args).args(["--server", self.server]).env("USER", "ann");
        Process::spawn(&mut sinew)
    }

    /// Takes down a command that has ended.
    fn ended(&mut self, command: &str, mut process: Process) -> &mut Self {
        let ended = process.wait();
        writeln!(self.text, "$ sinew {command}").unwrap();
        for (mark, text) in [("", &ended.stdout), ("2> ", &ended.stderr)] {
            for line in text.lines() {
                writeln!(self.text, "{mark}{}", self.steady(line)).unwrap();
            }
        }
        if ended.code != Some(0) {
            writeln!(self.text, "[{:?}]", ended.code.unwrap()).unwrap();
        }
        self.text.push('\n');
        self
    }

    /// A line without what is another every time: times and ways, this machine's name, ports, places.
    fn steady(&self, line: &str) -> String {
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy();
        let host = host.split('.').next().unwrap();
        let dir = self.dir.join("").display().to_string();
        let line = line.replace(self.server, "SERVER").replace(&dir, "DIR/");
        let line = line.replace(&format!("ann@{host}"), "ann@HOST");
        // Whether it is, depends on where the arms were.
        let line = line.replace("; it takes longer where a joint would be too fast", "");
        let mut steady = String::new();
        let mut rest = line.as_str();
        while let Some(begin) = rest.find(|c: char| c.is_ascii_digit()) {
            let number = &rest[begin..];
            let end =
                number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
            let number = number[..end].trim_end_matches('.');
            steady.push_str(&rest[..begin]);
            rest = &rest[begin + number.len()..];
            let counted = [" frames", " keyframes", " pieces"];
            let varies = number.contains('.')
                || number.len() > 2
                || counted.iter().any(|what| rest.starts_with(what));
            steady.push_str(if varies { "#" } else { number });
        }
        steady + rest
    }

    #[track_caller]
    fn check(&self, name: &str) {
        golden::check(&format!("messages/{name}"), &self.text);
    }
}

#[test]
fn a_vacuums_commands_say_what_happened() {
    let rig = Rig::start();
    let mut said = Transcript::new(&rig.dir, rig.address("lines"));
    for command in [
        "vacuum led 3",
        "vacuum set vacuum 75",
        "vacuum set main-brush 40",
        "vacuum lidar on --pwm 50",
        "vacuum lidar off",
        "vacuum imu state",
        "vacuum imu state --json",
        "vacuum imu calibrate",
        "vacuum imu calibrate --confirm",
        "vacuum compass state",
        "vacuum sync",
        "vacuum power charger-on",
        "vacuum power main-board-off",
        "vacuum raw 0x8D 07",
        "vacuum raw 0x8D 07 --confirm",
        "vacuum drive --linear 0.1 --for 300ms",
        "vacuum drive --linear 0.1 --for 300ms --quiet",
        "vacuum tank --left 0.1 --right 0.1 --for 300ms",
        "vacuum drive --linear 0.5 --for 1s",
        "vacuum stop",
        "stop",
        "stop --robot vacuum -q",
        "stop --json",
        "stop --robot unknown",
        "control drive configure linear=0.1 angular=0",
        "control drive enable",
        "control drive disable",
        "control main-brush Configure speed=20",
        "control led configure state=4 --json",
        "control mcu disable",
        "control lamp enable",
        "release",
        "vacuum boot",
    ] {
        said.run(command);
    }
    said.check("vacuum");
}

#[test]
fn a_drive_says_why_it_ended() {
    let mut rig = Rig::start();
    let mut said = Transcript::new(&rig.dir, rig.address("lines"));
    let drive_on = ["vacuum", "drive", "--linear", "0.1", "--for", "1m"];
    let moving =
        || until("motion", || (rig.robot()["state"]["velocity"]["linear"] != 0.0).then_some(()));

    let process = said.start(&drive_on);
    moving();
    rig.lines().ok(serde_json::json!({ "type": "Stop" }));
    said.ended("vacuum drive --linear 0.1 --for 1m   # and a stop of another client", process);

    let process = said.start(&drive_on);
    moving();
    let mut other = rig.lines();
    other.ok(serde_json::json!({ "type": "TakeControl", "name": "bob@desk" }));
    said.ended(
        "vacuum drive --linear 0.1 --for 1m   # and another client takes the controls",
        process,
    );
    said.run("vacuum led 1").run("vacuum drive --linear 0.1 --for 1s").run("release");

    let process = said.start(&drive_on);
    moving();
    process.signal("INT");
    said.ended("vacuum drive --linear 0.1 --for 1m   # and Ctrl-C", process);

    let process = said.start(&drive_on);
    moving();
    rig.sim.signal("STOP");
    said.ended("vacuum drive --linear 0.1 --for 1m   # and the robot falls silent", process);
    rig.sim.signal("CONT");
    rig.wait_ready();

    said.check("drive");

    // Which of its bumpers meets the wall is a matter of luck.
    let wall = said.start(&["vacuum", "drive", "--linear", "0.3", "--for", "1m"]).wait();
    assert_eq!(wall.code, Some(1), "{wall:?}");
    let wanted = " bumper: only backwards or turning in place until it clears\n";
    assert!(wall.stderr.ends_with(wanted), "{wall:?}");
    said.start(&["vacuum", "drive", "--linear", "-0.2", "--for", "300ms"]).wait().ok();
    // The events name the command line as the holder does.
    let stopped = rig.robot()["stopped_by"].as_str().unwrap().to_owned();
    assert!(stopped.starts_with("ann@") && stopped.ends_with(" left"), "{stopped}");

    let mut orphan = said.start(&["vacuum", "drive", "--linear", "-0.1", "--for", "1m"]);
    moving();
    rig.daemon.kill();
    let orphan = orphan.wait();
    assert_eq!(orphan.code, Some(1), "{orphan:?}");
    assert!(orphan.stderr.ends_with(" s: the daemon closed the connection\n"), "{orphan:?}");
}

#[test]
fn taking_and_releasing_the_controls_say_from_whom() {
    let rig = Rig::start();
    let mut said = Transcript::new(&rig.dir, rig.address("lines"));
    let held = |by: &str| {
        until(by, || {
            let holder = rig.robot()["holder"].clone();
            holder.as_str().is_some_and(|holder| holder.starts_with(by)).then_some(())
        });
    };
    // Until Ctrl-C.
    let process = said.start(&["take"]);
    held("ann@");
    assert_eq!(rig.lines().ask(control("drive", "Enable"))["error"]["remedy"], "take_control");
    said.run("vacuum led 1");
    process.signal("INT");
    said.ended("take   # and Ctrl-C", process);
    // From a client that drives, until another one takes them.
    let mut driver = rig.lines();
    driver.ok(serde_json::json!({ "type": "Auth", "name": "bob@desk" }));
    driver.ok(control("drive", "Enable"));
    driver.ok(drive(0.1));
    let process = said.start(&["take"]);
    held("ann@");
    driver.fails(drive(0.1), "busy");
    driver.ok(serde_json::json!({ "type": "TakeControl" }));
    said.ended("take   # from a client that takes them back", process);
    let process = said.start(&["take", "--json"]);
    held("ann@");
    process.signal("INT");
    said.ended("take --json   # and Ctrl-C", process);
    // One of the same user is another client all the same.
    let process = said.start(&["take"]);
    held("ann@");
    said.run("release");
    said.ended("take   # and a release by the same user", process);
    until("the controls to be free", || rig.robot()["holder"].is_null().then_some(()));
    driver.ok(control("drive", "Enable"));
    said.run("release --json")
        .run("release")
        .run("release --robot unknown")
        .run("take --robot unknown");
    driver.fails(drive(0.1), "not_ready");
    said.check("take");
}

#[cfg(feature = "g1")]
#[test]
fn teaching_says_what_happened() {
    let dir = Dir::new();
    let robot = Process::sinew(&dir, &["sim", "g1", "--teach", "127.0.0.1:0", "--json"]);
    let (_daemon, server) = taught(&dir, robot.ready()["link"].as_str().unwrap());
    dir.file("other.csv", "time_ms,right_elbow,tail\n0,0,0\n500,0.3,1\n1000,0,0\n");
    let mut said = Transcript::new(&dir, &server);
    for command in [
        "teach list",
        "teach record wave --for 500ms",
        "teach enter",
        "teach record wave --for 500ms",
        "teach record long --for 300ms --library",
        "teach record quiet --for 300ms -q",
        "teach save wave2",
        "teach save wave2 --library",
        "teach save wave2 --library",
        "teach play long",
        "teach exit",
        "teach play wave --wait",
        "teach play long --wait",
        "teach play unknown",
        "teach play wave --speed 0.5 --no-wait",
        "teach stop",
        "teach rename wave hello",
        "teach rename wave hello --library",
        "teach rename long longer",
        "teach delete wave",
        "teach delete longer",
        "teach export hello hello.csv",
        "teach export hello hello.csv",
        "teach export unknown",
        "teach import other.csv",
        "teach import nowhere.csv",
        "teach list",
        "vacuum led 3",
    ] {
        said.run(command);
    }
    said.check("teach");
}

/// A daemon for a G1, when it has it, and its address.
fn taught(dir: &Dir, link: &str) -> (Process, String) {
    let ports = ["--tcp", "off", "--http", "127.0.0.1:0", "--lines", "127.0.0.1:0"];
    let daemon = Process::sinew(dir, &[&["serve", "--json", "--g1", link][..], &ports].concat());
    let server = daemon.ready()["lines"].as_str().unwrap().to_owned();
    await_robots(dir, &server);
    (daemon, server)
}

#[test]
fn a_g1_over_webrtc_says_what_happened() {
    let dir = Dir::new();
    let ports = ["--teach", "127.0.0.1:0", "--webrtc", "127.0.0.1:0"];
    let robot = Process::sinew(&dir, &[&["sim", "g1", "--json"][..], &ports].concat());
    let (_daemon, server) = taught(&dir, robot.ready()["webrtc"].as_str().unwrap());
    let mut said = Transcript::new(&dir, &server);
    for command in [
        "teach enter",
        "teach exit",
        "teach record wave --for 500ms",
        "teach play wave --wait",
        "teach save wave2",
        "teach save short --library",
        "teach play wave2 --loop",
        "teach play short",
        "teach play unknown",
        "teach play clamp --wait",
        "teach rename wave2 hello",
        "teach delete hello",
        "teach delete 17",
        "teach play hug --no-wait",
        "teach stop",
        "map stop",
        "map start",
        "map start",
        "map stop hall",
        "map relocate nowhere 0 0",
        "map relocate hall 0 0",
        "map go-to 1 0",
        "map go-to 40 0 --confirm",
        "map go-to 1 0 --confirm",
        "map pause",
        "map resume",
        "map download hall hall.pcd",
        "map download hall hall.pcd",
        "map close",
    ] {
        said.run(command);
    }
    said.check("g1");
}

#[test]
fn a_daemon_says_what_is_wrong_with_its_robots() {
    let dir = Dir::new();
    let ports = ["--tcp", "off", "--http", "off", "--lines", "127.0.0.1:0"];
    let serve = |more: &[&str]| {
        let daemon = Process::sinew(&dir, &[&["serve"], more, &ports[..]].concat());
        daemon.line();
        until("the lines port", || daemon.line().contains("http").then_some(()));
        daemon
    };
    let daemon = serve(&["--vacuum", "serial:/dev/nope"]);
    until("the warning", || daemon.errors().contains("again and again").then_some(()));
    let errors = daemon.errors();
    let wanted = "warning: vacuum: cannot open /dev/nope: No such file or directory";
    assert!(errors.contains(wanted), "{errors}");
    assert!(errors.contains("serial ports here"), "{errors}");
    let daemon = serve(&[]);
    until("the warning", || daemon.errors().contains("no robots").then_some(()));
    let errors = daemon.errors();
    for wanted in ["--vacuum serial:/dev/ttyS3", "`sinew demo`"] {
        assert!(errors.contains(wanted), "{wanted} in {errors}");
    }
    assert_eq!(errors.contains("--g1 udp:"), cfg!(feature = "g1"), "{errors}");
}

#[test]
fn without_a_daemon_it_says_what_to_do() {
    let dir = Dir::new();
    // A port that has just been closed is free.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = port.to_string();
    let mut said = Transcript::new(&dir, &server);
    said.run("robots").run("stop").run("vacuum led 1 --json").check("no_daemon");
    let nowhere = run(&dir, &["robots", "--server", "nowhere.invalid"]);
    assert_eq!(nowhere.code, Some(1));
    assert!(nowhere.stderr.contains("nowhere.invalid: no address"), "{nowhere:?}");
    let wrong = run(&dir, &["robots", "--server", "a:b:c"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    let missing = run(&dir, &["robots", "--link", "serial:/dev/nope"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.stderr.contains("disconnected after 2 s: No such file"), "{missing:?}");
}

#[test]
fn hints_name_the_program_as_it_was_called() {
    let dir = Dir::new();
    let mut demo = sinew(&dir);
    demo.args(["demo", "--tcp", "off", "--http", "off", "--lines", "127.0.0.1:0"]);
    let program = demo.get_program().to_str().unwrap().to_owned();
    let demo = Process::spawn(&mut demo);
    until("the hints", || demo.errors().contains("Ctrl-C stops").then_some(()));
    assert!(demo.errors().contains(&format!("  {program} robots\n")), "{}", demo.errors());
    // From where it is, it is near.
    let here = std::path::Path::new(&program).parent().unwrap();
    let mut sim = std::process::Command::new(&program);
    let sim = Process::spawn(sim.args(["sim", "vacuum"]).current_dir(here));
    until("the hint", || sim.errors().contains("./sinew serve --vacuum serial:").then_some(()));
}
