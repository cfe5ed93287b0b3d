//! What stands on a terminal while commands run and afterwards, at every width.

use std::{
    fs::File,
    io::Read,
    os::fd::OwnedFd,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use rustix::{
    fs::{Mode, OFlags, open},
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use crate::support::{Dir, Rig, sinew, until};

const WIDTHS: [u16; 4] = [40, 60, 80, 200];

/// A terminal with a program that runs on it.
struct Terminal {
    master: OwnedFd,
    child: Child,
    screen: Arc<Mutex<Screen>>,
}

impl Terminal {
    fn run(mut command: Command, columns: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let screen = Arc::new(Mutex::new(Screen::new(columns.into())));
        set_size(&master, columns);
        let end = || Stdio::from(slave.try_clone().unwrap());
        command.env_remove("COLUMNS").env("TERM", "xterm").env("USER", "ann");
        command.stdin(end()).stdout(end()).stderr(end());
        let child = command.spawn().unwrap();
        // What the command holds would keep the terminal open.
        drop(command);
        drop(slave);
        let (mut reader, kept) = (File::from(master.try_clone().unwrap()), Arc::clone(&screen));
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            // A terminal whose last program has gone cannot be read.
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                kept.lock().unwrap().take(&bytes[..count]);
            }
            kept.lock().unwrap().is_over = true;
        });
        Terminal { master, child, screen }
    }

    /// Gives the terminal another width. What is on it already may be longer then.
    fn resize(&self, columns: u16) {
        set_size(&self.master, columns);
        self.screen.lock().unwrap().resize(columns.into());
    }

    /// Waits until something is or was shown.
    fn wait_for(&self, text: &str) {
        until(&format!("{text:?} in {:?}", self.screen.lock().unwrap()), || {
            self.screen.lock().unwrap().has_shown(text).then_some(())
        });
    }

    fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    /// Waits for the program's end; gives its code and what is left on the screen.
    fn end(mut self) -> (Option<i32>, Screen) {
        let status = until("the end of a program", || self.child.try_wait().unwrap());
        let screen = until("the end of what it wrote", || {
            let screen = self.screen.lock().unwrap();
            screen.is_over.then(|| screen.clone())
        });
        assert_eq!(screen.too_long, None);
        (status.code(), screen)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn set_size(master: &OwnedFd, columns: u16) {
    let size = Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(master, size).unwrap();
}

/// As much of a terminal as the command line uses. It grows downwards without end.
#[derive(Debug, Clone)]
struct Screen {
    columns: usize,
    lines: Vec<Vec<char>>,
    column: usize,
    /// What has come of a character or an escape sequence.
    partial: Vec<u8>,
    /// Each line as it was whenever it was left or overwritten.
    shown: Vec<String>,
    /// A line that the terminal had to break.
    too_long: Option<String>,
    is_over: bool,
}

impl Screen {
    fn new(columns: usize) -> Self {
        let (lines, partial, shown) = (vec![Vec::new()], Vec::new(), Vec::new());
        Screen { columns, lines, column: 0, partial, shown, too_long: None, is_over: false }
    }

    fn resize(&mut self, columns: usize) {
        self.columns = columns;
    }

    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.partial.push(*byte);
            if self.partial.starts_with(b"\x1b") {
                self.escape();
            } else if let Ok(text) = str::from_utf8(&self.partial) {
                let c = text.chars().next().unwrap();
                self.partial.clear();
                self.put(c);
            }
        }
    }

    fn escape(&mut self) {
        let sequence = str::from_utf8(&self.partial).unwrap().to_owned();
        let Some(last) = sequence.strip_prefix("\x1b[").and_then(|rest| rest.chars().last()) else {
            assert!(sequence == "\x1b" || sequence == "\x1b[", "{sequence:?}");
            return;
        };
        if !last.is_ascii_alphabetic() {
            return;
        }
        self.partial.clear();
        match &sequence[2..] {
            "K" => {
                let column = self.column;
                self.line().truncate(column);
            }
            colour if colour.ends_with('m') => {}
            other => panic!("what does {other:?} do?"),
        }
    }

    fn put(&mut self, c: char) {
        match c {
            '\r' => {
                self.remember();
                self.column = 0;
            }
            '\n' => {
                self.remember();
                self.lines.push(Vec::new());
            }
            c => {
                let (column, columns) = (self.column, self.columns);
                let line = self.line();
                // One word that is longer than a line cannot be helped.
                let is_long = column >= columns && line.contains(&' ');
                if column < line.len() {
                    line[column] = c;
                } else {
                    line.push(c);
                }
                self.column += 1;
                if is_long {
                    let line: String = self.line().iter().collect();
                    self.too_long.get_or_insert_with(|| format!("{columns} columns: {line:?}"));
                }
            }
        }
    }

    fn line(&mut self) -> &mut Vec<char> {
        self.lines.last_mut().unwrap()
    }

    fn remember(&mut self) {
        let line: String = self.line().iter().collect();
        if !line.is_empty() && self.shown.last() != Some(&line) {
            self.shown.push(line);
        }
    }

    fn has_shown(&self, text: &str) -> bool {
        let now: String = self.lines.last().unwrap().iter().collect();
        now.contains(text) || self.shown.iter().any(|line| line.contains(text))
    }

    /// What is left, as one line of words.
    fn text(&self) -> String {
        let lines = self.lines.iter().map(|line| line.iter().collect::<String>());
        let text = lines.map(|line| line.trim().to_owned()).collect::<Vec<_>>().join(" ");
        text.trim().to_owned()
    }
}

#[test]
fn a_screen_is_what_was_written_last() {
    let mut screen = Screen::new(10);
    screen.take("abc\rxy\x1b[K\r\x1b[1mz\x1b[0m\r\n█░\r\n".as_bytes());
    assert_eq!(screen.text(), "zy █░");
    assert!(screen.has_shown("abc") && !screen.has_shown("b\r"));
    // A word that is too long is let pass, a line is not.
    screen.take(b"0123456789abc");
    assert_eq!(screen.too_long, None);
    screen.take(b"\r\n01234 6789abc");
    assert!(screen.too_long.is_some());
}

fn on_rig(rig: &Rig, columns: u16, args: &[&str]) -> Terminal {
    let mut command = sinew(&rig.dir);
    command.args(args).args(["--server", rig.address("lines")]);
    Terminal::run(command, columns)
}

#[test]
fn driving_shows_how_far_it_is_and_then_how_far_it_went() {
    let rig = Rig::start();
    for columns in WIDTHS {
        let drive = ["vacuum", "drive", "--linear", "0.1", "--for", "700ms"];
        let terminal = on_rig(&rig, columns, &drive);
        let (code, screen) = terminal.end();
        assert_eq!(code, Some(0), "{screen:?}");
        assert!(screen.has_shown("of 0.7 s"), "{screen:?}");
        assert!(screen.has_shown("vacuum: 0.0"), "{screen:?}");
        assert_eq!(screen.has_shown("█"), columns >= 60, "a bar where there is room: {screen:?}");
        let left = screen.text();
        assert!(left.starts_with("vacuum drove 0.0") && left.ends_with(": time over"), "{left}");
    }
    // Ctrl-C ends it in time, and nothing of the progress is left.
    let terminal = on_rig(&rig, 60, &["vacuum", "drive", "--linear", "0.1", "--for", "1m"]);
    terminal.wait_for("of 60.0 s");
    terminal.interrupt();
    let (code, screen) = terminal.end();
    let left = screen.text();
    assert_eq!(code, Some(0), "{left}");
    assert!(left.starts_with("vacuum drove") && left.ends_with(": Ctrl-C"), "{left}");
    // An error stands alone, too.
    let terminal = on_rig(&rig, 40, &["vacuum", "drive", "--linear", "0.1", "--for", "1m"]);
    terminal.wait_for("of 60.0 s");
    rig.cli(&["stop"]).wait().ok();
    let (code, screen) = terminal.end();
    let left = screen.text();
    assert_eq!(code, Some(1), "{left}");
    assert!(left.starts_with("error: vacuum drove") && left.contains(": stopped by "), "{left}");
}

#[test]
fn docking_shows_its_phases_at_any_width_and_while_it_changes() {
    let rig = Rig::start();
    rig.cli(&["vacuum", "drive", "--linear", "0.2", "--for", "2s"]).wait().ok();
    let terminal = on_rig(&rig, WIDTHS[0], &["vacuum", "dock"]);
    let phases =
        ["getting ready", "driving to the dock", "backing onto the dock", "on the dock, charging"];
    for (phase, columns) in phases.iter().zip(WIDTHS.into_iter().rev()) {
        terminal.wait_for(phase);
        terminal.resize(columns);
    }
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0), "{screen:?}");
    assert!(screen.text().starts_with("vacuum: on the dock, charging, after "), "{screen:?}");
    // It is there already.
    for columns in WIDTHS {
        let (code, screen) = on_rig(&rig, columns, &["vacuum", "dock"]).end();
        assert_eq!(code, Some(0), "{screen:?}");
        assert!(screen.text().starts_with("vacuum: on the dock, charging, after "), "{screen:?}");
    }
}

#[test]
fn lists_fit_every_width() {
    let dir = Dir::new();
    let frame = "fa fb 0b 66 c8 00 00 00 00 00 00 00 66 c8";
    for columns in WIDTHS {
        for args in [&["control"][..], &["decode", frame], &["control", "--help"]] {
            // The line of usage is never broken.
            let is_narrow_help = columns < 60 && args.contains(&"--help");
            if is_narrow_help || (args[0] == "decode" && !cfg!(feature = "tools")) {
                continue;
            }
            let mut command = sinew(&dir);
            command.args(args);
            let (code, screen) = Terminal::run(command, columns).end();
            assert_eq!(code, Some(0), "{screen:?}");
        }
    }
}

#[cfg(feature = "g1")]
#[test]
fn recording_and_playing_show_a_clock_that_ends_at_the_end() {
    let dir = Dir::new();
    let ports = ["--tcp", "off", "--http", "off", "--lines", "127.0.0.1:0"];
    let serve = [&["serve", "--json", "--g1", "sim:"][..], &ports].concat();
    let daemon = crate::support::Process::sinew(&dir, &serve);
    let ready = daemon.ready();
    let server = ready["lines"].as_str().unwrap();
    let on = |columns: u16, args: &[&str]| {
        let mut command = sinew(&dir);
        command.args(args).args(["--server", server]);
        let (code, screen) = Terminal::run(command, columns).end();
        assert_eq!(code, Some(0), "{args:?}: {screen:?}");
        screen
    };
    crate::support::await_robots(&dir, server);
    for (index, columns) in WIDTHS.into_iter().enumerate() {
        let name = format!("wave{index}");
        let left = on(columns, &["teach", "enter"]).text();
        assert!(left.contains("the arms are soft") && left.contains("5 min"), "{left}");
        let screen = on(columns, &["teach", "record", &name, "--for", "600ms"]);
        assert!(screen.has_shown("0.6 of 0.6 s"), "{screen:?}");
        let left = screen.text();
        assert!(left.starts_with(&format!("saved {name} (")), "{left}");
        for wanted in
            [&format!("in the robot as number {}", index + 1005), &format!("/{name}.json")]
        {
            assert!(left.contains(wanted), "{wanted} in {left}");
        }
        assert!(on(columns, &["teach", "exit"]).text().contains("stiff"));
        for args in [&["teach", "play", &name][..], &["teach", "play", &name, "--library"]] {
            let screen = on(columns, args);
            assert!(screen.has_shown(&format!("playing {name},")), "{screen:?}");
            let left = screen.text();
            // What is played, then what is to be known about it.
            let (first, _) = left.split_once(" note: ").unwrap();
            assert!(first.starts_with(&format!("playing {name}")), "{left}");
            assert!(left.ends_with(&format!("played {name} to its end")), "{left}");
        }
        let shown = on(columns, &["teach", "show", &name]).text();
        assert!(shown.contains("right_elbow") && shown.contains("not moving: left"), "{shown}");
        assert!(on(columns, &["teach", "list"]).text().contains("robot, library"));
    }
}
