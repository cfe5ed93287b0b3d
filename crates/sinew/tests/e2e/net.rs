//! Hosts in network namespaces of their own, joined by wires that delay, lose and can be cut. No packet
//! leaves the namespaces.
//!
//! ```text
//! let Some(net) = Net::new() else { return };
//! let (hub, robot) = (net.host("hub"), net.host("robot"));
//! let wire = net.wire(&hub, &robot, Faults { loss: 0.05, ..Faults::default() });
//! let daemon = Process::spawn(robot.within(sinew(&dir)).args(["serve", …]));
//! wire.cut();
//! ```

mod tests;

use std::{
    cell::Cell,
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
        mpsc::{Receiver, channel},
    },
    thread,
    time::Duration,
};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::support::DEADLINE;

/// What the names of our namespaces begin with; the process follows.
const PREFIX: &str = "sinew-e2e-";
const WIRE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/net/wire.py");

/// A network of a test. All of it goes with this.
pub(crate) struct Net {
    /// What the names of its namespaces begin with.
    tag: String,
    namespaces: Mutex<Vec<String>>,
    /// Each wire has addresses of its own: `10.77.N.1` and up.
    wires: Cell<u8>,
}

/// A computer in it.
#[derive(Clone)]
pub(crate) struct Host {
    namespace: String,
}

/// What is wrong with a wire, both ways alike.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Faults {
    /// How long a packet takes one way.
    pub(crate) delay: Duration,
    /// The share of packets that do not arrive.
    pub(crate) loss: f64,
    /// Bits a second; none for any.
    pub(crate) rate: Option<u64>,
    /// What the luck of packets is made from.
    pub(crate) seed: u64,
}

/// A wire between two hosts, for as long as this is kept.
pub(crate) struct Wire {
    child: Child,
    commands: Mutex<Option<ChildStdin>>,
    answers: Mutex<Receiver<String>>,
    /// Of the first host, and of the second.
    pub(crate) addresses: [String; 2],
}

impl Net {
    /// None where there can be none, which is said.
    pub(crate) fn new() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let missing = missing();
        if let Some(what) = missing {
            eprintln!("skipped: hosts in network namespaces need {what}");
            return None;
        }
        sweep();
        let tag = format!("{PREFIX}{}-{count}", std::process::id());
        Some(Net { tag, namespaces: Mutex::default(), wires: Cell::new(0) })
    }

    /// Another host.
    pub(crate) fn host(&self, name: &str) -> Host {
        let namespace = format!("{}-{name}", self.tag);
        ip(&["netns", "add", &namespace]);
        self.namespaces.lock().unwrap().push(namespace.clone());
        let host = Host { namespace };
        host.ip("link set lo up");
        host
    }

    /// Joins two hosts by a wire of their own.
    pub(crate) fn wire(&self, one: &Host, other: &Host, faults: Faults) -> Wire {
        let number = self.next_wire();
        let addresses = [1, 2].map(|end| format!("10.77.{number}.{end}"));
        let mut command = Command::new("python3");
        command.arg(WIRE).arg(format!("wire{number}"));
        for (host, address) in [one, other].into_iter().zip(&addresses) {
            command.arg(&host.namespace).arg(format!("{address}/30"));
        }
        let wire = Wire::spawn(command.arg(faults.seed.to_string()), addresses);
        wire.delay(faults.delay);
        wire.loss(faults.loss);
        wire.rate(faults.rate);
        wire
    }

    /// Joins hosts by a switch without faults; gives the address of each.
    pub(crate) fn lan(&self, hosts: &[&Host]) -> Vec<String> {
        let number = self.next_wire();
        let switch = self.host(&format!("switch{number}"));
        switch.ip("link add switch type bridge");
        switch.ip("link set switch up");
        let join = |(host, place): (&&Host, usize)| {
            let (address, there) = (format!("10.77.{number}.{place}"), &host.namespace);
            let device = format!("lan{number}");
            switch.ip(&format!("link add p{place} type veth peer name {device} netns {there}"));
            switch.ip(&format!("link set p{place} master switch up"));
            host.ip(&format!("address add {address}/24 dev {device}"));
            host.ip(&format!("link set {device} up"));
            address
        };
        hosts.iter().zip(1..).map(join).collect()
    }

    fn next_wire(&self) -> u8 {
        self.wires.set(self.wires.get() + 1);
        self.wires.get()
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        // Also after a panic of whoever held it.
        let mut namespaces =
            self.namespaces.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        namespaces.drain(..).for_each(|name| remove(&name));
    }
}

impl Host {
    /// A program on this host.
    pub(crate) fn command(&self, program: &str) -> Command {
        self.within(Command::new(program))
    }

    /// The same command on this host. It is the process itself that is started, so that its end is
    /// this one's.
    pub(crate) fn within(&self, plain: Command) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace]).arg(plain.get_program());
        command.args(plain.get_args());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(dir) = plain.get_current_dir() {
            command.current_dir(dir);
        }
        command
    }

    /// Does something on this host. Sockets stay there that were opened there.
    pub(crate) fn inside<T: Send>(&self, act: impl FnOnce() -> T + Send) -> T {
        let namespace = File::open(Path::new("/run/netns").join(&self.namespace)).unwrap();
        let moved = || {
            let kind = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(std::os::fd::AsFd::as_fd(&namespace), kind).unwrap();
            act()
        };
        // A thread of its own: it is there to its end.
        thread::scope(|scope| scope.spawn(moved).join().unwrap())
    }

    fn ip(&self, words: &str) {
        let arguments: Vec<_> =
            ["-n", &self.namespace].into_iter().chain(words.split(' ')).collect();
        ip(&arguments);
    }
}

impl Wire {
    fn spawn(command: &mut Command, addresses: [String; 2]) -> Self {
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let (sender, answers) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            stdout.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
        });
        let commands = Mutex::new(child.stdin.take());
        let wire = Wire { child, commands, answers: Mutex::new(answers), addresses };
        assert_eq!(wire.answer(), "ready");
        wire
    }

    /// From now on nothing arrives, nor does what is on its way.
    pub(crate) fn cut(&self) {
        self.tell("cut");
    }

    /// It carries again.
    pub(crate) fn join(&self) {
        self.tell("join");
    }

    pub(crate) fn delay(&self, delay: Duration) {
        self.tell(&format!("delay {}", delay.as_secs_f64() * 1000.0));
    }

    pub(crate) fn loss(&self, share: f64) {
        self.tell(&format!("loss {share}"));
    }

    pub(crate) fn rate(&self, bits: Option<u64>) {
        self.tell(&format!("rate {}", bits.unwrap_or(0)));
    }

    /// How many packets it has carried, and how many it has lost.
    pub(crate) fn count(&self) -> [u64; 2] {
        let answer = self.ask("count");
        let numbers = answer.split(' ').skip(1).map(|number| number.parse().unwrap());
        numbers.collect::<Vec<_>>().try_into().unwrap()
    }

    /// Returns when it holds.
    fn tell(&self, command: &str) {
        assert_eq!(self.ask(command), command);
    }

    fn ask(&self, command: &str) -> String {
        let mut commands = self.commands.lock().unwrap();
        writeln!(commands.as_mut().unwrap(), "{command}").unwrap();
        self.answer()
    }

    fn answer(&self) -> String {
        let answer = self.answers.lock().unwrap().recv_timeout(DEADLINE);
        answer.unwrap_or_else(|_| panic!("the wire did not answer"))
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // Its devices go with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a network of this kind cannot be without.
fn missing() -> Option<&'static str> {
    let works = |program: &str, argument: &str| {
        let quiet = Command::new(program).arg(argument).output();
        quiet.is_ok_and(|ended| ended.status.success())
    };
    if !rustix::process::geteuid().is_root() {
        return Some("root");
    }
    if !works("ip", "-V") {
        return Some("ip (apt-get install iproute2)");
    }
    if !works("python3", "-V") {
        return Some("python3");
    }
    if File::options().read(true).write(true).open("/dev/net/tun").is_err() {
        return Some("/dev/net/tun");
    }
    let probe = format!("{PREFIX}{}-probe-{:?}", std::process::id(), thread::current().id());
    let probe = probe.replace(['(', ')'], "");
    let made = Command::new("ip").args(["netns", "add", &probe]).output();
    let allowed = made.is_ok_and(|ended| ended.status.success());
    remove(&probe);
    (!allowed).then_some("the right to make them")
}

/// Removes what processes left that were killed.
fn sweep() {
    let Ok(entries) = fs::read_dir("/run/netns") else { return };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    for name in names {
        let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if process.is_some_and(|id| !Path::new("/proc").join(id).exists()) {
            remove(&name);
        }
    }
}

/// Nothing that there is to complain about: it may have gone already.
fn remove(namespace: &str) {
    let _ = Command::new("ip").args(["netns", "del", namespace]).output();
}

#[track_caller]
fn ip(arguments: &[&str]) {
    let ended = Command::new("ip").args(arguments).output().unwrap();
    assert!(ended.status.success(), "ip {arguments:?}: {ended:?}");
}
