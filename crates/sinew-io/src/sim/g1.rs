mod store;

use std::{
    io,
    net::{SocketAddr, UdpSocket},
    os::fd::AsFd,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use sinew_sim::g1::{Options, Output, Robot, StoredAction, discovery};

use self::store::{Done, Store};
use crate::{
    discovery::{ANSWER_PORT, QUERY_PORT, answer_socket, interfaces},
    tap::{Socket, Tap, Way},
    wake::Waker,
};

/// How often queries are looked for; a real robot takes 0.2 to 0.8 s to answer.
const LOOK: Duration = Duration::from_millis(50);

/// A simulated G1 and where it is found.
#[derive(Debug, Clone)]
pub struct G1Options {
    /// The robot.
    pub robot: Options,
    /// Where its teaching service listens.
    pub listen: SocketAddr,
    /// A directory that its actions are kept in.
    pub store: Option<PathBuf>,
    /// Whether and where it answers discovery.
    pub discovery: Option<Discovery>,
}

/// Where a simulated robot answers queries.
#[derive(Debug, Clone)]
pub struct Discovery {
    /// The interface, by name or address.
    pub interface: String,
    /// The serial number it gives.
    pub sn: String,
    /// Where queries come to, and where answers go to.
    pub ports: (u16, u16),
}

impl Discovery {
    /// Discovery on an interface, on the ports that robots use.
    pub fn new(interface: String) -> Self {
        Discovery { interface, sn: "SIMULATED-G1".into(), ports: (QUERY_PORT, ANSWER_PORT) }
    }
}

/// A simulated G1 that runs until it is dropped.
#[derive(Debug)]
pub struct G1Simulator {
    address: SocketAddr,
    hand: Hand,
    ending: Arc<AtomicBool>,
    threads: Vec<thread::JoinHandle<()>>,
}

/// A hand on a simulated robot's arms.
#[derive(Debug, Clone)]
pub struct Hand {
    moves: mpsc::Sender<(usize, f32)>,
    waker: Arc<Waker>,
}

impl Hand {
    /// Moves the joint in a slot to a target, rad, if the arms are soft; only within its limits.
    pub fn move_arm(&self, slot: usize, target: f32) {
        // A robot that is gone has no arms.
        let _ = self.moves.send((slot, target));
        self.waker.wake();
    }
}

impl G1Simulator {
    /// Starts it.
    pub fn spawn(options: G1Options) -> io::Result<Self> {
        Self::spawn_with(options, Tap::default(), None)
    }

    /// Starts it with something between its clients and it, and with its power cut for a moment
    /// every so often.
    pub fn spawn_with(
        options: G1Options,
        tap: Tap,
        restart_every: Option<Duration>,
    ) -> io::Result<Self> {
        Self::spawn_on(UdpSocket::bind(options.listen)?, options, tap, restart_every)
    }

    fn spawn_on(
        socket: UdpSocket,
        options: G1Options,
        tap: Tap,
        restart_every: Option<Duration>,
    ) -> io::Result<Self> {
        let address = socket.local_addr()?;
        let mut robot = options.robot;
        let waker = Arc::new(Waker::new()?);
        let mut store = None;
        if let Some(dir) = options.store {
            let (opened, actions) = Store::open(dir, Arc::clone(&waker))?;
            robot.actions = actions;
            store = Some(opened);
        }
        let ending = Arc::new(AtomicBool::new(false));
        let now = Instant::now();
        let (moves, moved) = mpsc::channel();
        let pump = Pump {
            address,
            moved,
            socket: Socket::new(socket, Way::Out, tap)?,
            robot: Robot::new(robot, now),
            restart_every,
            restart_at: later(now, restart_every),
            store,
            waker: Arc::clone(&waker),
            ending: Arc::clone(&ending),
        };
        let mut threads = Vec::new();
        if let Some(place) = options.discovery {
            let responder = Responder::new(place, Arc::clone(&ending))?;
            let name = "discovery".to_owned();
            threads.push(thread::Builder::new().name(name).spawn(move || responder.run())?);
        }
        threads.push(thread::Builder::new().name("g1".into()).spawn(move || pump.run())?);
        Ok(G1Simulator { address, hand: Hand { moves, waker }, ending, threads })
    }

    /// A hand on its arms.
    pub fn hand(&self) -> Hand {
        self.hand.clone()
    }

    /// Where its teaching service listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for G1Simulator {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Release);
        self.hand.waker.wake();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

struct Pump {
    address: SocketAddr,
    moved: mpsc::Receiver<(usize, f32)>,
    socket: Socket,
    robot: Robot,
    restart_every: Option<Duration>,
    restart_at: Option<Instant>,
    store: Option<Store>,
    waker: Arc<Waker>,
    ending: Arc<AtomicBool>,
}

impl Pump {
    fn run(mut self) {
        while !self.ending.load(Ordering::Acquire) {
            let now = Instant::now();
            if self.restart_at.is_some_and(|due| due <= now) {
                self.restart_at = later(now, self.restart_every);
                self.robot.restart(now);
            }
            while let Ok((slot, target)) = self.moved.try_recv() {
                self.robot.move_arm(slot, target);
            }
            self.read(now);
            while let Some(Done { id, ok }) = self.store.as_mut().and_then(Store::poll) {
                self.robot.stored(now, id, ok);
            }
            if self.robot.poll_timeout() <= now {
                self.robot.handle_timeout(now);
            }
            self.drain();
            let robot = Some(self.robot.poll_timeout());
            let due = [robot, self.socket.poll_timeout(), self.restart_at];
            let until = due.into_iter().flatten().min();
            if self.waker.wait(Some(self.socket.as_fd()), until).is_err() {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    fn read(&mut self, now: Instant) {
        while let Some((from, datagram)) = self.socket.receive() {
            // Most answers look like requests, so a robot that heard itself would talk to itself.
            if !is_own(self.address, from) {
                self.robot.handle_datagram(now, from, &datagram);
                self.drain();
            }
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.robot.poll_output() {
            match output {
                Output::Send { to, bytes } => self.socket.send(to, &bytes),
                Output::Store { id, actions } => self.keep(id, actions),
                _ => {}
            }
        }
        self.socket.send_due();
    }

    fn keep(&mut self, id: u64, actions: Vec<StoredAction>) {
        let kept_elsewhere = self.store.as_mut().map(|store| store.write(id, actions));
        // Without a directory it is kept as soon as it is known; without a thread it never is.
        if kept_elsewhere != Some(true) {
            self.robot.stored(Instant::now(), id, kept_elsewhere.is_none());
        }
    }
}

fn later(now: Instant, by: Option<Duration>) -> Option<Instant> {
    by.and_then(|by| now.checked_add(by))
}

/// Whether somebody is ourselves. Who listens everywhere has all addresses of this machine, and
/// nobody can be bound to those of others.
fn is_own(own: SocketAddr, from: SocketAddr) -> bool {
    let everywhere = || own.ip().is_unspecified() && UdpSocket::bind((from.ip(), 0)).is_ok();
    from.port() == own.port() && (from.ip() == own.ip() || everywhere())
}

struct Responder {
    socket: UdpSocket,
    place: Discovery,
    ip: std::net::IpAddr,
    ending: Arc<AtomicBool>,
}

impl Responder {
    fn new(place: Discovery, ending: Arc<AtomicBool>) -> io::Result<Self> {
        let interface = interfaces(Some(&place.interface))?.remove(0);
        let socket = crate::discovery::listen(&interface, place.ports.0)?;
        Ok(Responder { socket, place, ip: interface.ip(), ending })
    }

    fn run(self) {
        let mut buffer = [0; 2048];
        while !self.ending.load(Ordering::Acquire) {
            while let Ok((count, _)) = self.socket.recv_from(&mut buffer) {
                let query = buffer.get(..count).unwrap_or_default();
                if let Some(answer) = discovery::answer(query, &self.place.sn, self.ip) {
                    answer_socket(&self.socket, self.place.ports.1, &answer);
                }
            }
            thread::sleep(LOOK);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::{fs, net::Ipv4Addr};

    use sinew_wire::teach::{Layout, Message, Sequence};

    use super::*;

    #[test]
    fn a_robot_does_not_talk_to_itself() {
        let listen = (Ipv4Addr::LOCALHOST, 0).into();
        let robot = Options::default();
        let options = G1Options { robot, listen, store: None, discovery: None };
        let record = std::env::temp_dir().join(format!("sinew-io-{}-own", std::process::id()));
        let tap = Tap::default().with_record(&record).unwrap();
        let socket = UdpSocket::bind(listen).unwrap();
        let itself = socket.try_clone().unwrap();
        let simulator = G1Simulator::spawn_on(socket, options, tap, None).unwrap();
        let request = Message::ControlMode { rest: &[] };
        let request = request.to_vec(Layout::Documented, Sequence(7)).unwrap();
        itself.send_to(&request, simulator.address()).unwrap();
        let other = UdpSocket::bind(listen).unwrap();
        other.send_to(&request, simulator.address()).unwrap();
        other.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        other.recv(&mut [0; 2048]).unwrap();
        drop(simulator);
        let text = fs::read_to_string(&record).unwrap();
        fs::remove_file(&record).unwrap();
        assert_eq!((text.matches(",TX,").count(), text.matches(",RX,").count()), (2, 1), "{text}");
    }

    #[test]
    fn who_listens_everywhere_has_every_address_of_this_machine() {
        let own = "0.0.0.0:49504".parse().unwrap();
        for (from, wanted) in [
            ("0.0.0.0:49504", true),
            ("127.0.0.1:49504", true),
            ("127.0.0.1:49505", false),
            // Kept for documents, so nobody's.
            ("192.0.2.1:49504", false),
        ] {
            assert_eq!(is_own(own, from.parse().unwrap()), wanted, "{from}");
        }
    }
}
