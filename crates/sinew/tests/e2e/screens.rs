//! What `status`, `robots` and `watch` look like on terminals, and what they leave there.

use serde_json::{Value, json};

use crate::{
    clients::Lines,
    support::{Dir, Process, until},
    terminal::Terminal,
};

const WIDTHS: [u16; 4] = [40, 60, 80, 200];
const RULE: char = '─';

/// Two vacuums, a third whose port is not there, and a G1 where there are any.
struct Fleet {
    daemon: Process,
    server: String,
    dir: Dir,
}

impl Fleet {
    fn start() -> Self {
        let dir = Dir::new();
        let mut robots = String::new();
        for (name, link) in [
            ("left", "sim:"),
            ("right", "sim:?seed=2"),
            ("lost", "serial:/dev/a-port-that-is-not-there-and-has-a-long-name"),
        ] {
            robots +=
                &format!("[[robot]]\nname = \"{name}\"\nkind = \"crl200s\"\nlink = \"{link}\"\n");
        }
        if cfg!(feature = "g1") {
            robots += "[[robot]]\nname = \"g1\"\nkind = \"g1\"\nlink = \"sim:\"\n";
        }
        let config = dir.file("fleet.toml", &robots);
        let ports = ["--tcp", "off", "--lines", "127.0.0.1:0", "--http", "off"];
        let daemon =
            Process::sinew(&dir, &[&["serve", "--json", "--config", &config][..], &ports].concat());
        let server = daemon.ready()["lines"].as_str().unwrap().to_owned();
        let fleet = Fleet { daemon, server, dir };
        until("all to be ready", || {
            let is_ready = |robot: &Value| robot["link"]["state"] == "ready";
            let tells =
                |robot: &Value| robot["kind"] != "g1" || robot["state"]["positions"].is_object();
            let lost = |robot: &Value| robot["link"]["reason"].is_string();
            let fine = |robot: &Value| lost(robot) || is_ready(robot) && tells(robot);
            fleet.robots().iter().all(fine).then_some(())
        });
        fleet
    }

    fn robots(&self) -> Vec<Value> {
        let robots = Lines::connect(&self.server).ok(json!({ "type": "Robots" }));
        robots["robots"].as_array().unwrap().clone()
    }

    fn robot(&self, name: &str) -> Value {
        self.robots().into_iter().find(|robot| robot["name"] == name).unwrap()
    }

    fn terminal(&self, columns: u16, lines: u16, args: &[&str]) -> Terminal {
        let args = [args, &["--server", &self.server]].concat();
        Terminal::run(&self.dir, columns, lines, &args)
    }

    /// A screen that shows something.
    fn watch(&self, columns: u16, lines: u16, args: &[&str]) -> Terminal {
        let terminal = self.terminal(columns, lines, &[&["watch"], args].concat());
        terminal.await_frame("robots", |frame| contains(frame, "left (crl200s)"));
        terminal
    }

    /// A client that holds the controls of a vacuum whose wheels may turn.
    fn enable(&self, robot: &str) -> Lines {
        let mut client = Lines::connect(&self.server);
        let action = json!({ "type": "Enable" });
        client.ok(
            json!({ "type": "ComponentControl", "robot": robot, "id": "drive", "action": action }),
        );
        assert_eq!(self.robot(robot)["stopped_by"], Value::Null);
        client
    }
}

fn with(mut message: Value, member: &str, value: &str) -> Value {
    message[member] = value.into();
    message
}

fn contains(frame: &[String], text: &str) -> bool {
    frame.iter().any(|line| line.contains(text))
}

/// Everything on the lines without what wrapping puts in.
fn words(lines: &[String]) -> String {
    lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn status_and_robots_fit_every_width_and_leave_nothing_out() {
    let fleet = Fleet::start();
    let mut holder = Lines::connect(&fleet.server);
    holder.ok(json!({ "type": "TakeControl", "robot": "right", "name": "机器人 of Ann" }));
    for columns in WIDTHS {
        let (code, lines) = fleet.terminal(columns, 160, &["status"]).end();
        assert_eq!(code, Some(0));
        let all = words(&lines);
        for wanted in [
            "left (crl200s) ready",
            "stopped by not enabled since the port was opened",
            "battery 75 %, 15.0 V, charging",
            "bumpers free",
            "cliffs none",
            "dock connected",
            "dustbox in place",
            "buttons none pressed",
            "firmware SIM, code 100",
            "velocity 0.00 m/s, 0.00 rad/s",
            "outputs vacuum 0 %, main brush 0 %, side brush 0 %, lidar off, LED 1, motor mode 0",
            "right (crl200s) ready",
            "holder 机器人 of Ann",
            "lost (crl200s) disconnected",
            "No such file or directory",
            "seen never",
        ] {
            assert!(all.contains(wanted), "{wanted} at {columns} in {lines:#?}");
        }
        #[cfg(feature = "g1")]
        for wanted in ["teaching off", "recording off", "playing -", "shoulder pitch 0.00 0.00"] {
            assert!(all.contains(wanted), "{wanted} at {columns} in {lines:#?}");
        }
        // Names of rows stand in one column, values in another.
        for line in lines[1..].iter().filter(|line| line.starts_with("  ")) {
            let is_value = line.starts_with(&" ".repeat(13));
            let is_cell = line.starts_with("    ") && line.contains('.');
            let is_row = line.as_bytes()[2] != b' ' && line.as_bytes()[12] == b' ';
            assert!(is_value || is_cell || is_row, "{line:?} at {columns}");
        }

        let (code, lines) = fleet.terminal(columns, 60, &["robots"]).end();
        assert_eq!(code, Some(0));
        let table = &lines[1..];
        let link = table[0].find("LINK").unwrap();
        for wanted in ["left", "right", "lost", "disconnected", "机器人"] {
            assert!(contains(table, wanted), "{wanted} at {columns} in {table:#?}");
        }
        let left = table.iter().find(|line| line.starts_with("left")).unwrap();
        assert_eq!(&left[link..link + 5], "ready", "{table:#?}");
        // A long reason goes on under its own column.
        let more = table.iter().filter(|line| line.starts_with(' ')).count();
        assert_eq!(more > 0, columns < 200, "{table:#?}");
        let holder = table[0].find("HOLDER").unwrap();
        let under = |line: &String| {
            let cell = line.get(link..holder).or(line.get(link..)).unwrap_or_default();
            cell.trim().to_owned()
        };
        let reason = words(&table.iter().map(under).collect::<Vec<_>>());
        assert!(
            reason.contains("disconnected: No such file or directory (os error 2)"),
            "{reason}"
        );
    }
}

#[test]
fn a_watch_fits_every_size_and_leaves_nothing_behind() {
    let fleet = Fleet::start();
    for columns in WIDTHS {
        for (lines, end) in [(24, "q"), (50, "\x03"), (8, "SIGTERM")] {
            let terminal = fleet.watch(columns, lines, &[]);
            let frame = terminal.await_frame("a frame", |_| true);
            if lines == 50 && columns == 200 {
                for wanted in ["right (crl200s)", "bumpers", "cliffs", "velocity", "No such file"] {
                    assert!(contains(&frame, wanted), "{wanted} in {frame:#?}");
                }
            }
            assert!(frame.last().unwrap().starts_with("q end  space stop all"), "{frame:#?}");
            match end {
                "SIGTERM" => terminal.terminate(),
                key => terminal.press(key),
            }
            terminal.check_frames();
            let (code, lines) = terminal.end();
            assert_eq!(code, Some(0), "{end:?}");
            assert!(lines[1..].iter().all(String::is_empty), "{end:?} left {lines:#?}");
        }
    }
}

#[test]
fn a_watch_follows_the_size_of_its_terminal() {
    let fleet = Fleet::start();
    let mut terminal = fleet.watch(80, 24, &["--robot", "left"]);
    for (columns, lines) in [(40, 24), (200, 50), (60, 12), (40, 6), (80, 24)] {
        terminal.resize(columns, lines);
        terminal.await_frame(&format!("{columns} columns, {lines} lines"), |frame| {
            let rule = frame.iter().map(|line| line.matches(RULE).count()).max().unwrap();
            let ends = frame.last().unwrap().starts_with("q end  space stop left");
            let has_rule = rule + "  events, times in UTC ".len() - 1 == usize::from(columns);
            ends && (has_rule || lines < 8)
        });
    }
    terminal.press("q");
    let (code, lines) = terminal.end();
    assert_eq!(code, Some(0));
    assert!(lines[1..].iter().all(String::is_empty), "{lines:#?}");
}

#[test]
fn the_space_bar_stops_all_robots_or_the_chosen_one() {
    let fleet = Fleet::start();
    let terminal = fleet.watch(80, 40, &[]);
    let (_left, _right) = (fleet.enable("left"), fleet.enable("right"));
    // What clients do is told in words, with the time and the robot.
    terminal.await_frame("the event", |frame| {
        frame.iter().any(|line| {
            let is_time = line.get(2..3) == Some(":") && line.get(5..6) == Some(":");
            is_time && line.contains("left") && line.contains("the wheels may turn")
        })
    });
    // Down twice: from all to the first, to the second.
    terminal.press("\x1b[B\t");
    terminal.await_frame("the chosen one", |frame| {
        contains(frame, "▸ right") && contains(frame, "space stop right")
    });
    terminal.press(" ");
    until("the stop", || fleet.robot("right")["stopped_by"].is_string().then_some(()));
    assert_eq!(fleet.robot("left")["stopped_by"], Value::Null, "the other one goes on");
    let stopped = terminal.await_frame("the event", |frame| contains(frame, "stopped by ann@"));
    assert!(contains(&stopped, "stop sent"), "{stopped:#?}");
    // Up twice: back to all.
    terminal.press("\x1b[A\x1b[A");
    terminal.await_frame("all", |frame| contains(frame, "space stop all"));
    terminal.press(" ");
    until("the stop", || fleet.robot("left")["stopped_by"].is_string().then_some(()));
    terminal.press("q");
    assert_eq!(terminal.end().0, Some(0));
}

#[test]
fn a_watch_whose_daemon_is_gone_says_so_on_the_terminal_as_it_was() {
    let mut fleet = Fleet::start();
    let terminal = fleet.watch(60, 24, &[]);
    fleet.daemon.kill();
    let (code, lines) = terminal.end();
    assert_eq!(code, Some(1));
    assert!(words(&lines).contains("error: lost the daemon: "), "{lines:#?}");
}

#[test]
fn a_daemon_that_does_not_answer_is_not_taken_for_one_that_does() {
    let fleet = Fleet::start();
    let terminal = fleet.watch(80, 40, &["--robot", "left"]);
    fleet.daemon.signal("STOP");
    let frame =
        terminal.await_frame("the silence", |frame| contains(frame, "has not answered for"));
    assert!(contains(&frame, "what it told is stale"), "{frame:#?}");
    assert!(contains(&frame, "charging (stale)"), "{frame:#?}");
    fleet.daemon.signal("CONT");
    terminal.await_frame("the answer", |frame| !contains(frame, "stale"));
    terminal.press("q");
    assert_eq!(terminal.end().0, Some(0));
}

#[test]
fn in_a_pipe_there_is_a_line_for_each_change() {
    let fleet = Fleet::start();
    let args = ["watch", "--robot", "left", "--server", &fleet.server];
    let mut watch = Process::sinew(&fleet.dir, &args);
    let mut begun = Vec::new();
    until("the beginning", || {
        begun.push(watch.line());
        begun.last().unwrap().contains("holder -").then_some(())
    });
    for wanted in ["left: link ready", "left: bumpers free", "left: battery 75 %, 15.0 V, charging"]
    {
        assert!(begun.iter().any(|line| line.ends_with(wanted)), "{wanted} in {begun:#?}");
    }
    let mut client = fleet.enable("left");
    let mut set = |state: u8| {
        let action = json!({ "type": "Configure", "config": { "state": { "U8": state } } });
        let led = json!({ "type": "ComponentControl", "id": "led", "action": action });
        client.ok(with(led, "robot", "left"));
    };
    let mut said = Vec::new();
    for led in [5, 6] {
        set(led);
        until("the change", || {
            said.push(watch.line());
            said.last().unwrap().contains(&format!("LED {led}")).then_some(())
        });
    }
    drop(client);
    until("the event", || {
        said.push(watch.line());
        said.last().unwrap().ends_with(" left").then_some(())
    });
    watch.signal("INT");
    said.extend(watch.wait().ok().stdout.lines().map(str::to_owned));
    let about = |text: &str| said.iter().filter(|line| line.contains(text)).count();
    assert_eq!((about("LED 5"), about("LED 6")), (1, 1), "{said:#?}");
    for line in begun.iter().chain(&said) {
        let (time, rest) = line.split_once(' ').unwrap();
        assert!(time.ends_with('Z') && time.len() == "2000-01-01T00:00:00.000000Z".len(), "{line}");
        assert!(rest.starts_with("left: ") && !rest.contains('\x1b'), "{line}");
    }
}

#[test]
fn a_watch_ends_when_its_time_is_over() {
    use std::time::{Duration, Instant};
    let fleet = Fleet::start();
    let args = ["watch", "--for", "500ms", "--json", "--server", &fleet.server];
    // The best of some, since the machine may be busy.
    let times = [(); 4].map(|()| {
        let begin = Instant::now();
        Process::sinew(&fleet.dir, &args).wait().ok();
        begin.elapsed()
    });
    let best = times.into_iter().min().unwrap();
    assert!(best >= Duration::from_millis(500) && best < Duration::from_millis(700), "{times:?}");
}
