use std::{
    fs, io,
    net::{SocketAddr, UdpSocket},
    os::fd::AsFd,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use sinew_sim::g1::{Options, Output, Robot, StoredAction, discovery};

use crate::{
    discovery::{ANSWER_PORT, QUERY_PORT, answer_socket, interfaces},
    file,
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
    waker: Arc<Waker>,
    ending: Arc<AtomicBool>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl G1Simulator {
    /// Starts it.
    pub fn spawn(options: G1Options) -> io::Result<Self> {
        let socket = UdpSocket::bind(options.listen)?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        let mut robot = options.robot;
        if let Some(store) = &options.store {
            robot.actions = load(store)?;
        }
        let waker = Arc::new(Waker::new()?);
        let ending = Arc::new(AtomicBool::new(false));
        let pump = Pump {
            socket,
            robot: Robot::new(robot, Instant::now()),
            store: options.store,
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
        Ok(G1Simulator { address, waker, ending, threads })
    }

    /// Where its teaching service listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for G1Simulator {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Release);
        self.waker.wake();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

struct Pump {
    socket: UdpSocket,
    robot: Robot,
    store: Option<PathBuf>,
    waker: Arc<Waker>,
    ending: Arc<AtomicBool>,
}

impl Pump {
    fn run(mut self) {
        let mut buffer = vec![0; 65_535];
        while !self.ending.load(Ordering::Acquire) {
            let now = Instant::now();
            // Bounded, so that a flood does not keep the robot from its own times.
            for _ in 0..256 {
                let Ok((count, from)) = self.socket.recv_from(&mut buffer) else { break };
                let bytes = buffer.get(..count).unwrap_or_default();
                self.robot.handle_datagram(now, from, bytes);
            }
            if self.robot.poll_timeout() <= now {
                self.robot.handle_timeout(now);
            }
            while let Some(output) = self.robot.poll_output() {
                match output {
                    // What cannot be sent is lost, as on any network.
                    Output::Send { to, bytes } => drop(self.socket.send_to(&bytes, to)),
                    Output::StoreChanged => self.keep(),
                    _ => {}
                }
            }
            let until = Some(self.robot.poll_timeout());
            if self.waker.wait(Some(self.socket.as_fd()), until).is_err() {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    fn keep(&self) {
        if let Some(store) = &self.store
            && let Err(error) = save(store, self.robot.actions())
        {
            eprintln!("actions are not kept in {}: {error}", store.display());
        }
    }
}

const FILE: &str = "actions.json";

fn load(store: &Path) -> io::Result<Vec<StoredAction>> {
    fs::create_dir_all(store)?;
    let path = store.join(FILE);
    match fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text).map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", path.display()))
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn save(store: &Path, actions: &[StoredAction]) -> io::Result<()> {
    file::remove_leftovers(store);
    file::replace(&store.join(FILE), &serde_json::to_vec_pretty(actions)?)
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
