mod store;

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Waker},
    thread,
    time::{Duration, Instant},
};

use sinew_robot::Origin;
#[cfg(feature = "webrtc")]
use sinew_sim::g1::UnitreeOptions;
use sinew_sim::g1::{Body, Options, Robot, Touch, discovery};

use self::store::Store;
#[cfg(feature = "webrtc")]
use crate::link::{Link, OpenSsl, WebRtcServer, WebRtcServerOptions};
use crate::{
    Around,
    discovery::{ANSWER_PORT, QUERY_PORT, answer_socket, interfaces},
    link::{Both, Side, UdpServer},
    pump::{Handle, Policy},
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
    /// Whether and where it is reached over WebRTC.
    #[cfg(feature = "webrtc")]
    pub webrtc: Option<WebRtcServerOptions>,
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
    /// Where it is reached over WebRTC: as robots are now, and as they were.
    #[cfg(feature = "webrtc")]
    signalling: [Option<SocketAddr>; 2],
    hand: Hand,
    ending: Arc<AtomicBool>,
    responder: Option<thread::JoinHandle<()>>,
}

/// A hand on a simulated robot's arms.
#[derive(Debug, Clone)]
pub struct Hand {
    handle: Handle<Robot>,
}

impl Hand {
    /// Moves the joint in a slot to a target, rad, if the arms are soft; only within its limits.
    pub fn move_arm(&self, slot: usize, target: f32) {
        let by: Arc<str> = "a hand".into();
        let robot = Arc::clone(&by);
        let origin = Origin {
            by,
            client: 0,
            robot,
            epoch: 0,
            received: Instant::now(),
            presence: Default::default(),
        };
        // The first poll puts it on its way; a robot that is gone has no arms.
        let mut moved = Box::pin(self.handle.request(Touch { slot, target }, origin));
        let _ = moved.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
}

/// A disk that is slow does not keep the robot from moving; one that is at something when the robot
/// ends gets this long.
const POLICY: Policy =
    Policy { name: "g1", priority: None, relayed: false, farewell: Duration::from_secs(2) };

impl Default for G1Options {
    fn default() -> Self {
        G1Options {
            robot: Options::default(),
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            store: None,
            discovery: None,
            #[cfg(feature = "webrtc")]
            webrtc: None,
        }
    }
}

impl G1Simulator {
    /// Starts it.
    pub fn spawn(options: G1Options) -> io::Result<Self> {
        Self::spawn_with(options, Vec::new())
    }

    /// Starts it with something between its clients and it.
    pub fn spawn_with(options: G1Options, around: Vec<Around>) -> io::Result<Self> {
        Self::spawn_on(UdpSocket::bind(options.listen)?, options, around)
    }

    fn spawn_on(socket: UdpSocket, options: G1Options, around: Vec<Around>) -> io::Result<Self> {
        let link = UdpServer::new(socket)?;
        let address = link.address();
        let mut robot = options.robot;
        let mut store = Store::new(options.store);
        if let Some(actions) = store.load()? {
            robot.actions = actions;
        }
        let ending = Arc::new(AtomicBool::new(false));
        let responder = match options.discovery {
            Some(place) => {
                let responder = Responder::new(place, Arc::clone(&ending))?;
                let thread = thread::Builder::new().name("discovery".into());
                Some(thread.spawn(move || responder.run())?)
            }
            None => None,
        };
        #[cfg(feature = "webrtc")]
        let (channels, signalling, robot) = {
            let channels = options.webrtc.map(WebRtcServer::new).transpose()?;
            let at = channels.as_ref().map(|server| [server.address(), server.old_address()]);
            let unitree = UnitreeOptions { md5: Some(OpenSsl::digest), ..robot.unitree };
            (channels, at.unwrap_or_default(), Options { unitree, ..robot })
        };
        let robot = Robot::new(robot, Instant::now());
        #[cfg(feature = "webrtc")]
        let channels = channels.map(|channels| Box::new(channels) as Box<dyn Link<Peer = _>>);
        #[cfg(not(feature = "webrtc"))]
        let channels = None;
        let link = Both::new(link, channels)?;
        let link = Around::all(link, Side::Robot, around)?;
        let work = Box::new(move |job| store.keep(job));
        let handle = Handle::spawn(robot, link, POLICY, Arc::new(()), Some(work))?;
        let hand = Hand { handle };
        #[cfg(feature = "webrtc")]
        return Ok(G1Simulator { address, signalling, hand, ending, responder });
        #[cfg(not(feature = "webrtc"))]
        Ok(G1Simulator { address, hand, ending, responder })
    }

    /// A hand on its arms.
    pub fn hand(&self) -> Hand {
        self.hand.clone()
    }

    /// Where its signalling listens.
    #[cfg(feature = "webrtc")]
    pub const fn webrtc(&self) -> Option<SocketAddr> {
        self.signalling[0]
    }

    /// Where that of old firmware listens.
    #[cfg(feature = "webrtc")]
    pub const fn webrtc_old(&self) -> Option<SocketAddr> {
        self.signalling[1]
    }

    /// What its body does now.
    pub fn body(&self) -> Body {
        self.hand.handle.state()
    }

    /// Where its teaching service listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for G1Simulator {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Release);
        self.hand.handle.shut_down();
        if let Some(responder) = self.responder.take() {
            let _ = responder.join();
        }
    }
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

    use std::fs;

    use sinew_wire::teach::{Layout, Message, Sequence};

    use super::*;

    #[test]
    fn a_robot_does_not_talk_to_itself() {
        let listen: SocketAddr = (Ipv4Addr::LOCALHOST, 0).into();
        let robot = Options::default();
        let options = G1Options { robot, ..G1Options::default() };
        let record = std::env::temp_dir().join(format!("sinew-io-{}-own", std::process::id()));
        let around = vec![Around::record(&record).unwrap()];
        let socket = UdpSocket::bind(listen).unwrap();
        let itself = socket.try_clone().unwrap();
        let simulator = G1Simulator::spawn_on(socket, options, around).unwrap();
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
        assert_eq!((text.matches(",TX,").count(), text.matches(",RX,").count()), (1, 1), "{text}");
    }
}
