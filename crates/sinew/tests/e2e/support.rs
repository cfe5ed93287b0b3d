//! Processes, directories, and the record of the line.

use std::{
    cell::RefCell,
    env,
    fs::{self, File},
    io::{BufRead, BufReader, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
        mpsc::{Receiver, channel},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::clients::{Lines, Prefixed};

/// Nothing that works takes this long.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// Looks again and again until there is something.
pub(crate) fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    until_within(DEADLINE, what, look)
}

/// The same for what may take another time.
pub(crate) fn until_within<T>(
    most: Duration,
    what: &str,
    mut look: impl FnMut() -> Option<T>,
) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < most, "waited too long for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A directory that goes when the test ends.
pub(crate) struct Dir(PathBuf);

impl Dir {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("sinew-e2e-{}-{count}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Dir(path)
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file and gives its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        fs::write(self.join(name), text).unwrap();
        self.join(name).to_str().unwrap().to_owned()
    }

    /// The same for a file that its owner alone may read.
    pub(crate) fn secret(&self, name: &str, text: &str) -> String {
        let path = self.join(name);
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&path);
        file.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Tokens for clients that may do everything, and for those that may look and stop.
    pub(crate) fn tokens(&self) -> String {
        self.secret("tokens", &format!("control {CONTROL_TOKEN}\nread {READ_TOKEN}\n"))
    }
}

pub(crate) const CONTROL_TOKEN: &str = "control-0123456789abcdef";
pub(crate) const READ_TOKEN: &str = "read-0123456789abcdef";

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A process that ends with the test.
pub(crate) struct Process {
    child: Child,
    lines: Receiver<String>,
    errors: Arc<Mutex<String>>,
}

/// What a process that ended left behind.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }
}

impl Process {
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            stdout.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
        });
        let errors = Arc::new(Mutex::new(String::new()));
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let kept = Arc::clone(&errors);
        thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                *kept.lock().unwrap() += &format!("{line}\n");
            }
        });
        Process { child, lines, errors }
    }

    /// `sinew` in this directory.
    pub(crate) fn sinew(dir: &Dir, args: &[&str]) -> Self {
        Self::spawn(sinew(dir).args(args))
    }

    /// What it has printed to standard error so far.
    pub(crate) fn errors(&self) -> String {
        self.errors.lock().unwrap().clone()
    }

    /// The next line it prints.
    pub(crate) fn line(&self) -> String {
        self.lines.recv_timeout(DEADLINE).unwrap_or_else(|_| {
            panic!("no line; standard error: {}", self.errors());
        })
    }

    /// The line that says it is ready.
    pub(crate) fn ready(&self) -> Value {
        let ready: Value = serde_json::from_str(&self.line()).unwrap();
        assert_eq!(ready["type"], "ready");
        ready
    }

    /// Whether it has printed anything.
    #[cfg(all(feature = "g1", feature = "tools"))]
    pub(crate) fn has_said(&mut self) -> bool {
        !self.errors().is_empty() || self.lines.try_recv().is_ok()
    }

    /// A line it has printed, if there is one.
    #[cfg(feature = "mqtt")]
    pub(crate) fn try_line(&self) -> Option<String> {
        self.lines.try_recv().ok()
    }

    #[cfg(any(all(feature = "g1", feature = "tools"), feature = "mqtt", feature = "webrtc"))]
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub(crate) fn signal(&self, name: &str) {
        let signal = match name {
            "CONT" => Signal::CONT,
            "INT" => Signal::INT,
            "STOP" => Signal::STOP,
            "TERM" => Signal::TERM,
            other => panic!("no signal {other}"),
        };
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Bytes in memory.
    pub(crate) fn resident(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
    }

    /// SIGKILL: it gets no chance to say goodbye.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> Ended {
        let status = until("the end of a process", || self.child.try_wait().unwrap());
        let mut stdout = String::new();
        // Ends when the pipe does.
        while let Ok(line) = self.lines.recv_timeout(DEADLINE) {
            stdout += &format!("{line}\n");
        }
        let stderr = until("the end of standard error", || {
            (Arc::strong_count(&self.errors) == 1).then(|| self.errors.lock().unwrap().clone())
        });
        Ended { code: status.code(), stdout, stderr }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Whatever a test is about: nothing that comes from outside may panic.
        let errors = self.errors();
        assert!(thread::panicking() || !errors.contains("panicked at"), "{errors}");
    }
}

/// `sinew` in this directory: the build under test, or another one to compare it with.
pub(crate) fn sinew(dir: &Dir) -> Command {
    let other = env::var_os("SINEW_E2E_BINARY");
    let mut command = Command::new(other.unwrap_or(env!("CARGO_BIN_EXE_sinew").into()));
    command.current_dir(&dir.0).env("XDG_DATA_HOME", &dir.0).env_remove("SINEW_TOKEN");
    command
}

/// The same with so many descriptors at most.
pub(crate) fn sinew_with_descriptors(dir: &Dir, count: u32) -> Command {
    let plain = sinew(dir);
    let mut command = Command::new("prlimit");
    command.arg(format!("--nofile={count}")).arg(plain.get_program()).current_dir(&dir.0);
    command.env("XDG_DATA_HOME", &dir.0).env_remove("SINEW_TOKEN");
    command
}

/// Waits until the daemon at this address has all its robots.
pub(crate) fn await_robots(dir: &Dir, server: &str) {
    until("robots that are ready", || {
        let robots = run(dir, &["robots", "--json", "--server", server]).ok().json();
        let is_ready = |robot: &Value| robot["link"]["state"] == "ready";
        robots.as_array()?.iter().all(is_ready).then_some(())
    });
}

/// Runs `sinew` to its end.
pub(crate) fn run(dir: &Dir, args: &[&str]) -> Ended {
    Process::sinew(dir, args).wait()
}

/// A simulator, and a daemon that records the line to it.
pub(crate) struct Rig {
    pub(crate) daemon: Process,
    pub(crate) sim: Process,
    pub(crate) ready: Value,
    pub(crate) record: RefCell<Record>,
    pub(crate) dir: Dir,
}

pub(crate) fn simulator(dir: &Dir) -> Process {
    let sim = Process::sinew(dir, &["sim", "vacuum", "--symlink", "port", "--json"]);
    assert_eq!(sim.ready()["link"], "serial:port");
    sim
}

/// A daemon for the port of this name, and what it said when it was ready.
pub(crate) fn daemon(dir: &Dir, port: &str, record: &str, more: &[&str]) -> (Process, Value) {
    let link = format!("serial:{}", dir.join(port).display());
    serve(sinew(dir), &link, &[&["--record", record], more].concat())
}

/// A daemon for a vacuum on this link, on ports that are free unless they are given.
pub(crate) fn serve(mut sinew: Command, link: &str, more: &[&str]) -> (Process, Value) {
    sinew.args(["serve", "--json", "--vacuum", link]).args(more);
    for port in ["--tcp", "--lines", "--http"] {
        if !more.contains(&port) {
            sinew.args([port, "127.0.0.1:0"]);
        }
    }
    let daemon = Process::spawn(&mut sinew);
    let ready = daemon.ready();
    (daemon, ready)
}

impl Rig {
    /// A robot that has booted.
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// The same, with more arguments for `sinew serve`.
    pub(crate) fn with(more: &[&str]) -> Self {
        let rig = Self::booting(more);
        rig.wait_ready();
        rig
    }

    pub(crate) fn booting(more: &[&str]) -> Self {
        let dir = Dir::new();
        let sim = simulator(&dir);
        let (daemon, ready) = daemon(&dir, "port", "record.csv", more);
        let record = RefCell::new(Record::open(&dir.join("record.csv")));
        Rig { daemon, sim, ready, record, dir }
    }

    /// Starts another daemon, with another record, where one has ended.
    pub(crate) fn restart_daemon(&mut self) {
        (self.daemon, self.ready) = daemon(&self.dir, "port", "record-2.csv", &[]);
        self.record = RefCell::new(Record::open(&self.dir.join("record-2.csv")));
    }

    pub(crate) fn address(&self, port: &str) -> &str {
        self.ready[port].as_str().unwrap()
    }

    pub(crate) fn lines(&self) -> Lines {
        Lines::connect(self.address("lines"))
    }

    pub(crate) fn prefixed(&self) -> Prefixed {
        Prefixed::connect(self.address("tcp"))
    }

    /// A command line that talks to this daemon.
    pub(crate) fn cli(&self, args: &[&str]) -> Process {
        let server = self.address("lines").to_owned();
        Process::sinew(&self.dir, &[args, &["--server", &server]].concat())
    }

    /// The robot as anybody may see it.
    pub(crate) fn robot(&self) -> Value {
        self.lines().ok(json!({ "type": "Robots" }))["robots"][0].clone()
    }

    pub(crate) fn wait_link(&self, state: &str) {
        let mut client = self.lines();
        until(&format!("the link to be {state}"), || {
            let robots = client.ok(json!({ "type": "Robots" }));
            (robots["robots"][0]["link"]["state"] == state).then_some(())
        });
    }

    pub(crate) fn wait_ready(&self) {
        self.wait_link("ready");
    }

    /// How many frames have been sent to the robot.
    pub(crate) fn mark(&self) -> usize {
        self.record.borrow_mut().read().len()
    }

    /// Waits until only the idle heartbeat has been sent for a while, then marks.
    pub(crate) fn quiet(&self) -> usize {
        until("the line to be quiet", || {
            let mut record = self.record.borrow_mut();
            let sent = record.read();
            let moving = sent.iter().rfind(|sent| matches!(sent.command(), 0x66 | 0x67));
            // A stop is repeated for 200 ms, and may pause for 100 ms after a mode switch.
            let calm = moving.is_none_or(|moving| moving.at + 250_000 < sent[sent.len() - 1].at);
            calm.then_some(sent.len())
        })
    }

    /// What was sent since a mark, without heartbeats, polls and repetitions.
    pub(crate) fn acts(&self, mark: usize) -> Vec<String> {
        acts(self.record.borrow_mut().read(), mark)
    }

    /// Waits until exactly these frames have been sent since the mark.
    #[track_caller]
    pub(crate) fn expect(&self, mark: usize, what: &str, frames: &[&str]) {
        let wanted: Vec<_> = frames.iter().map(|content| frame(content)).collect();
        until(&format!("{what}: {wanted:?}; got {:?}", self.acts(mark)), || {
            let acts = self.acts(mark);
            let so_far = &wanted[..acts.len().min(wanted.len())];
            assert_eq!(acts, so_far, "{what}: wanted {wanted:?}");
            (acts.len() == wanted.len()).then_some(())
        });
    }

    /// Waits for a frame since the mark; gives its place.
    pub(crate) fn await_frame(&self, mark: usize, content: &str) -> usize {
        let wanted = frame(content);
        until(&format!("{content}; got {:?}", self.acts(mark)), || {
            let mut record = self.record.borrow_mut();
            let found = record.read()[mark..].iter().position(|sent| hex(&sent.bytes) == wanted)?;
            Some(mark + found)
        })
    }

    /// The velocities sent since a mark, without repetitions.
    pub(crate) fn velocities(&self, mark: usize) -> Vec<String> {
        let mut record = self.record.borrow_mut();
        let moving = record.read()[mark..].iter().filter(|sent| sent.command() == 0x66);
        let mut all: Vec<_> = moving.map(|sent| hex(&sent.bytes)).collect();
        all.dedup();
        all
    }

    /// Microseconds, on the record's clock, of a frame.
    pub(crate) fn at(&self, place: usize) -> u64 {
        self.record.borrow_mut().read()[place].at
    }
}

pub(crate) const STILL: &str = "66 00 00 00 00 00 00 00 00";
/// 0.2 m/s.
pub(crate) const FORWARD: &str = "66 C8 00 00 00 00 00 00 00";
/// `drive` Reset, after zero velocity.
pub(crate) const ALL_OFF: [&str; 6] =
    ["68 00 00", "69 00", "6A 00", "71 00 00 00 00", "97 00", "65 00"];

/// The daemon's record of the line, read while it is written.
pub(crate) struct Record {
    file: File,
    partial: String,
    sent: Vec<Sent>,
}

/// A frame that was sent to the robot.
pub(crate) struct Sent {
    pub(crate) at: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Sent {
    pub(crate) fn command(&self) -> u8 {
        self.bytes[3]
    }
}

impl Record {
    pub(crate) fn open(path: &Path) -> Self {
        Record { file: File::open(path).unwrap(), partial: String::new(), sent: Vec::new() }
    }

    pub(crate) fn read(&mut self) -> &[Sent] {
        self.file.read_to_string(&mut self.partial).unwrap();
        let whole = self.partial.rfind('\n').map_or(0, |end| end + 1);
        for line in self.partial[..whole].lines().filter(|line| !line.starts_with('#')) {
            let [at, way, bytes] = *line.split(',').collect::<Vec<_>>() else {
                panic!("not a line of a record: {line}");
            };
            let bytes = bytes.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap());
            match way {
                "TX" => self.sent.push(Sent { at: at.parse().unwrap(), bytes: bytes.collect() }),
                "RX" => {}
                other => panic!("neither TX nor RX: {other}"),
            }
        }
        self.partial.drain(..whole);
        &self.sent
    }
}

/// Leaves out what the session sends by itself: heartbeats, the poll, and what it repeats.
fn acts(sent: &[Sent], mark: usize) -> Vec<String> {
    let mut last: [Option<&[u8]>; 256] = [None; 256];
    let is_moving = |frame: &&Sent| matches!(frame.command(), 0x66 | 0x67);
    let is_beat = |frame: &&Sent| frame.command() == 0x06 || is_moving(frame);
    // While the wheels turn, their velocity is the beat.
    if let Some(beat) = sent[..mark].iter().rfind(is_beat).filter(is_moving) {
        last[usize::from(beat.command())] = Some(&beat.bytes);
    }
    let is_output = |frame: &&Sent| matches!(frame.command(), 0x68 | 0x69 | 0x6A | 0x71);
    for frame in sent[..mark].iter().filter(is_output) {
        last[usize::from(frame.command())] = Some(&frame.bytes);
    }
    let mut acts = Vec::new();
    for frame in &sent[mark..] {
        if frame.bytes[3..5] == [0x65, 0x00] {
            // Nothing is on in mode 0, so what is on after it was switched on again.
            [0x68, 0x69, 0x6A, 0x71].iter().for_each(|&output| last[output] = None);
        }
        let before = &mut last[usize::from(frame.command())];
        let again = *before == Some(&frame.bytes);
        *before = Some(&frame.bytes);
        let is_on = frame.bytes[4..frame.bytes.len() - 2].iter().any(|&byte| byte != 0);
        let repeated = again && (is_moving(&frame) || is_output(&frame) && is_on);
        if !matches!(frame.command(), 0x06 | 0x0D) && !repeated {
            acts.push(hex(&frame.bytes));
        }
    }
    acts
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(" ")
}

/// A command and its payload with header, length and check, as document 003 has them.
pub(crate) fn frame(content: &str) -> String {
    let content: Vec<u8> =
        content.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    let mut check = 0u16;
    for word in content.chunks(2) {
        match *word {
            [high, low] => check = check.wrapping_add(u16::from_be_bytes([high, low])),
            [odd] => check ^= u16::from(odd),
            _ => {}
        }
    }
    let length = content.len() as u8 + 2;
    hex(&[&[0xFA, 0xFB, length], &content[..], &check.to_be_bytes()].concat())
}

#[test]
fn frames_are_those_of_the_captures() {
    assert_eq!(frame("17 01 F0 DF FA"), "FA FB 07 17 01 F0 DF FA 07 1A");
    assert_eq!(frame("08"), "FA FB 03 08 00 08");
    assert_eq!(frame("7C 00 FF FF"), "FA FB 06 7C 00 FF FF 7B FF");
    assert_eq!(frame("A2 10 0E 00 00"), "FA FB 07 A2 10 0E 00 00 B0 10");
}
