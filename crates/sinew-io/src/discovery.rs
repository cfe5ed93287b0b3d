//! Finding robots: a question to four multicast groups, and the robots that answer.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket},
    time::{Duration, Instant},
};

use if_addrs::{IfAddr, Interface};
use serde::Serialize;
#[cfg(feature = "sim")]
use sinew_wire::discovery::ANSWER_GROUP;
pub use sinew_wire::discovery::{ACCESS_POINT, ANSWER_PORT, GROUPS, QUERY_PORT};
use sinew_wire::discovery::{Answer, Question};
use socket2::{Domain, Protocol, Socket, Type};

/// A burst of questions, since datagrams get lost.
const ROUNDS: u32 = 3;

/// What to ask, and where.
#[derive(Debug, Clone)]
pub struct Query {
    /// Only this interface; all that have an IPv4 address otherwise.
    pub interface: Option<String>,
    /// Newer firmware answers only a question that names its own serial number.
    pub sn: Option<String>,
    /// Also ask the address of a robot's own access point.
    pub access_point: bool,
    /// How long to listen.
    pub wait: Duration,
    /// Where robots listen, and where they answer to.
    pub ports: (u16, u16),
}

/// A robot that answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found {
    /// Its serial number.
    pub sn: String,
    /// Its address: the one it gives, or else the one it answered from.
    pub ip: IpAddr,
    /// Where the answer came from.
    pub from: SocketAddr,
    /// The interface it came in on, by name.
    pub interface: String,
    /// How long it took.
    pub after_ms: u64,
}

impl Default for Query {
    fn default() -> Self {
        Query {
            interface: None,
            sn: None,
            access_point: false,
            wait: Duration::from_secs(2),
            ports: (QUERY_PORT, ANSWER_PORT),
        }
    }
}

impl Query {
    /// The questions: without a serial number, and with the one that is wanted.
    pub fn questions(&self) -> Vec<String> {
        let named = self.sn.clone().map(|sn| Question { sn: Some(sn) });
        [Question::default()].iter().chain(&named).map(Question::emit).collect()
    }

    /// Asks, and listens; each robot is told once to `found`, as soon as it answers.
    pub fn run(&self, mut found: impl FnMut(&Found)) -> io::Result<Vec<Found>> {
        let sockets = self.sockets()?;
        let start = Instant::now();
        let mut robots: Vec<Found> = Vec::new();
        let mut asked = 0;
        while start.elapsed() < self.wait {
            let due = self.wait / 4 * asked;
            if asked < ROUNDS && start.elapsed() >= due {
                sockets.iter().for_each(|(_, socket)| self.ask(socket));
                asked += 1;
            }
            for (interface, socket) in &sockets {
                for (from, answer) in answers(socket) {
                    let ip = answer.ip.unwrap_or(from.ip());
                    if robots.iter().any(|robot| robot.sn == answer.sn && robot.ip == ip) {
                        continue;
                    }
                    let after_ms = start.elapsed().as_millis() as u64;
                    let interface = interface.clone();
                    let robot = Found { sn: answer.sn, ip, from, interface, after_ms };
                    found(&robot);
                    robots.push(robot);
                }
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(robots)
    }

    /// One socket an interface, joined to the groups there, since answers come to a group.
    fn sockets(&self) -> io::Result<Vec<(String, UdpSocket)>> {
        let mut sockets = Vec::new();
        let mut failure = None;
        for interface in interfaces(self.interface.as_deref())? {
            match listen(&interface, self.ports.1) {
                Ok(socket) => sockets.push((interface.name, socket)),
                Err(error) => failure = Some(error),
            }
        }
        match failure {
            Some(error) if sockets.is_empty() => Err(error),
            _ => Ok(sockets),
        }
    }

    fn ask(&self, socket: &UdpSocket) {
        let access_point = self.access_point.then_some(ACCESS_POINT);
        for address in GROUPS.into_iter().chain(access_point) {
            for question in self.questions() {
                // An interface without a route to a group is no reason to give the others up.
                let _ = socket.send_to(question.as_bytes(), (address, self.ports.0));
            }
        }
    }
}

/// The interfaces with an IPv4 address: the one named, or all but loopback.
pub(crate) fn interfaces(name: Option<&str>) -> io::Result<Vec<Interface>> {
    let all: Vec<_> = if_addrs::get_if_addrs()?
        .into_iter()
        .filter(|interface| matches!(interface.addr, IfAddr::V4(_)))
        .collect();
    let chosen: Vec<_> = all
        .iter()
        .filter(|interface| match name {
            Some(name) => interface.name == name || interface.ip().to_string() == name,
            None => !interface.is_loopback(),
        })
        .cloned()
        .collect();
    if chosen.is_empty() {
        let names: Vec<_> = all.iter().map(|interface| interface.name.as_str()).collect();
        let wanted = name.unwrap_or("an interface with an IPv4 address");
        let message = format!("wanted {wanted}, there is {}", names.join(", "));
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    Ok(chosen)
}

/// A socket on `port` that hears the groups on this interface and sends to them from it.
pub(crate) fn listen(interface: &Interface, port: u16) -> io::Result<UdpSocket> {
    let IpAddr::V4(address) = interface.ip() else {
        return Err(io::Error::new(io::ErrorKind::AddrNotAvailable, "no IPv4 address"));
    };
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port).into())?;
    socket.set_multicast_if_v4(&address)?;
    socket.set_multicast_loop_v4(true)?;
    for group in GROUPS {
        socket.join_multicast_v4(&group, &address)?;
    }
    Ok(socket.into())
}

/// Answers as a real robot does.
#[cfg(feature = "sim")]
pub(crate) fn answer_socket(socket: &UdpSocket, port: u16, answer: &[u8]) {
    let _ = socket.send_to(answer, (ANSWER_GROUP, port));
}

/// The answers that wait at a socket; what is none is passed over.
fn answers(socket: &UdpSocket) -> Vec<(SocketAddr, Answer)> {
    let mut buffer = [0; 2048];
    let mut answers = Vec::new();
    // Bounded, so that a flood on one interface does not starve the others.
    for _ in 0..256 {
        let Ok((count, from)) = socket.recv_from(&mut buffer) else { break };
        let bytes = buffer.get(..count).unwrap_or_default();
        answers.extend(Answer::parse(bytes).map(|answer| (from, answer)));
    }
    answers
}
