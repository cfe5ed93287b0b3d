//! A terminal with a program on it, seen as a person sees it.

use std::{
    num::NonZeroU16,
    os::fd::OwnedFd,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use rustix::{
    fs::{Mode, OFlags, open},
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcgetattr, tcsetwinsize},
};

use crate::support::{Dir, sinew, until};

/// What stood on the terminal before.
pub(crate) const BEFORE: &str = "a line of before";
/// What each frame of a screen begins with.
const FRAME: &str = "\x1b[H";

pub(crate) struct Terminal {
    master: OwnedFd,
    slave: OwnedFd,
    /// What was written to it.
    written: Arc<Mutex<Vec<u8>>>,
    child: Child,
    columns: u16,
    lines: u16,
    modes: String,
}

impl Terminal {
    /// Runs `sinew` on a terminal of this size.
    pub(crate) fn run(dir: &Dir, columns: u16, lines: u16, args: &[&str]) -> Self {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = open(&name, flags, Mode::empty()).unwrap();
        resize(&master, columns, lines);
        let modes = modes(&slave);
        let plain = sinew(dir);
        // A session of its own, whose terminal this is: only then is it told of a new size.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(plain.get_program()).args(args);
        command.current_dir(plain.get_current_dir().unwrap()).env("TERM", "xterm-256color");
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env_remove("SINEW_TOKEN").env_remove("NO_COLOR").env("USER", "ann");
        let end = || Stdio::from(slave.try_clone().unwrap());
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let written = Arc::new(Mutex::new(Vec::new()));
        let (kept, reader) = (Arc::clone(&written), master.try_clone().unwrap());
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Fails when the other end is closed for good.
            while let Ok(count) = rustix::io::read(&reader, &mut bytes) {
                kept.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        Terminal { master, slave, written, child, columns, lines, modes }
    }

    /// Types these bytes.
    pub(crate) fn press(&self, keys: &str) {
        rustix::io::write(&self.master, keys.as_bytes()).unwrap();
    }

    pub(crate) fn resize(&mut self, columns: u16, lines: u16) {
        (self.columns, self.lines) = (columns, lines);
        resize(&self.master, columns, lines);
    }

    pub(crate) fn terminate(&self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
    }

    /// What was written to it so far.
    fn written(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned()
    }

    /// The frames that are whole.
    fn frames(&self) -> Vec<String> {
        let written = self.written();
        let mut frames: Vec<_> = written.split(FRAME).skip(1).map(str::to_owned).collect();
        frames.pop();
        frames
    }

    /// Waits until the newest frame is as it should be; gives it as lines.
    #[track_caller]
    pub(crate) fn await_frame(&self, what: &str, fits: impl Fn(&[String]) -> bool) -> Vec<String> {
        until(what, || {
            let frame = self.frames().pop()?;
            // After a change of size there may be one for the size before.
            let lines = shown(&self.process(&frame)).ok()?;
            Some(lines).filter(|lines| fits(lines))
        })
    }

    /// Whether all frames so far fit.
    #[track_caller]
    pub(crate) fn check_frames(&self) {
        for frame in self.frames() {
            shown(&self.process(&frame)).unwrap();
        }
    }

    /// A frame as a terminal of this size shows it.
    fn process(&self, frame: &str) -> vt100::Parser {
        let mut parser = self.parser();
        parser.process(format!("{FRAME}{frame}").as_bytes());
        parser
    }

    /// Waits for the end of the program; gives its code, and the lines that stand on the terminal
    /// then, which has to be as it was.
    #[track_caller]
    pub(crate) fn end(mut self) -> (Option<i32>, Vec<String>) {
        let status = until("the program's end", || self.child.try_wait().unwrap());
        // All of it was read when nothing more comes: what it wrote is there before its end is.
        let mark = "\x1b[999m";
        rustix::io::write(&self.slave, mark.as_bytes()).unwrap();
        let written = until("all that it wrote", || {
            Some(self.written()).filter(|written| written.ends_with(mark))
        });
        assert_eq!(modes(&self.slave), self.modes, "the terminal's modes");
        let mut parser = self.parser();
        parser.process(format!("{BEFORE}\r\n{written}").as_bytes());
        let screen = parser.screen();
        assert!(!screen.alternate_screen(), "it is still on its own screen");
        assert!(!screen.hide_cursor(), "the cursor is hidden");
        assert!(written.rfind("?7h") >= written.rfind("?7l"), "long lines are cut");
        let lines = shown(&parser).unwrap();
        assert_eq!(lines[0], BEFORE);
        (status.code(), lines)
    }

    fn parser(&self) -> vt100::Parser {
        let size = |count| NonZeroU16::new(count).unwrap();
        vt100::Parser::new(size(self.lines), size(self.columns), 0)
    }
}

/// The lines that are shown, unless one was too wide and went on in the next.
fn shown(parser: &vt100::Parser) -> Result<Vec<String>, String> {
    let (lines, columns) = parser.screen().size();
    let rows: Vec<_> = parser.screen().rows(0, columns.get()).collect();
    match (0..lines.get()).find(|line| parser.screen().row_wrapped(*line)) {
        Some(line) => Err(format!("line {line} is too wide: {rows:#?}")),
        None => Ok(rows),
    }
}

fn resize(terminal: &OwnedFd, columns: u16, lines: u16) {
    let size = Winsize { ws_col: columns, ws_row: lines, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}

fn modes(terminal: &OwnedFd) -> String {
    format!("{:?}", tcgetattr(terminal).unwrap())
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
