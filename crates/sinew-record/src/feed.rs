//! A client of the daemon that listens to all it is asked to, and acknowledges frames as they come.

use std::{
    collections::{BTreeSet, VecDeque},
    fmt,
    io::ErrorKind,
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};
use sinew_api::{DaemonMessage, FRAMES, Pong, RobotReport, Robots, frame::Frame};
use sinew_robot::capability::Capability;
use tungstenite::{
    Error as SocketError, HandshakeError, Message, WebSocket,
    client::client_with_config,
    protocol::{Role, WebSocketConfig},
};

use crate::recorder::Told;

/// How long the daemon may take for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest message that is taken: robots send clouds of a megabyte.
const LONGEST: usize = 16 << 20;
/// What is listened to if nothing else is asked for: all but a robot's own bytes.
const USUAL: [&str; 5] = ["state", "events", "sensors", "cloud", "map"];

/// What to listen to.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Of which robots; of all if none is named.
    pub robots: Vec<String>,
    /// `state`, `events`, `sensors` (all of them), `sensors/GROUP`, `cloud`, `map`, `messages`, `raw`; all
    /// but the last two if none is named.
    pub topics: Vec<String>,
    /// Secret for a daemon that asks for one.
    pub token: Option<String>,
    /// What the client is called.
    pub name: Option<String>,
}

impl Wanted {
    /// Whether a name is one of a topic.
    pub fn is_topic(name: &str) -> bool {
        let group = name.strip_prefix("sensors/").is_some_and(|group| !group.is_empty());
        group || ["state", "events", "sensors"].contains(&name) || FRAMES.contains(&name)
    }

    /// The topics of a robot that are asked for.
    fn of(&self, robot: &RobotReport) -> BTreeSet<String> {
        let wanted = self.topics.iter().map(String::as_str);
        let usual = USUAL.iter().copied().filter(|_| self.topics.is_empty());
        let mut topics = BTreeSet::new();
        let maps = robot.capabilities.contains(&Capability::Mapping);
        for topic in wanted.chain(usual) {
            match topic {
                // What is not asked for by name is not missed.
                "cloud" | "map" if !maps && self.topics.is_empty() => {}
                "sensors" => {
                    topics.extend(robot.sensors.iter().map(|group| format!("sensors/{group}")));
                }
                topic => drop(topics.insert(topic.into())),
            }
        }
        topics
    }
}

/// Why there is no feed, or no more of it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The connection has ended, or never was.
    Lost(String),
    /// The daemon says no.
    Refused(String),
    /// It has no robot of this name.
    NoRobot(String),
    /// What was asked for, none of the robots has.
    Nothing,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Lost(reason) => write!(f, "lost the daemon: {reason}"),
            Error::Refused(reason) => f.write_str(reason),
            Error::NoRobot(name) => write!(f, "the daemon has no robot called {name}"),
            Error::Nothing => f.write_str("none of the robots has any of these topics"),
        }
    }
}

impl std::error::Error for Error {}

/// A connection that only listens.
#[derive(Debug)]
pub struct Feed {
    socket: WebSocket<TcpStream>,
    /// As `Robots` lists them: frames say which by its place.
    robots: Vec<String>,
    /// The daemon's clock less ours.
    ahead_ns: i128,
    requests: u64,
    /// What a robot does not have, though it was asked for.
    missing: Vec<(String, String)>,
    /// What was told while we still asked.
    early: VecDeque<Told>,
}

impl Feed {
    /// Connects to a daemon's HTTP port.
    pub fn connect(address: SocketAddr, wanted: &Wanted) -> Result<Self, Error> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(lost)?;
        stream.set_nodelay(true).map_err(lost)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(lost)?;
        let shaken = client_with_config(format!("ws://{address}/ws"), stream, Some(config()));
        let (socket, _) = shaken.map_err(|error| match error {
            HandshakeError::Failure(error) => lost(error),
            HandshakeError::Interrupted(_) => Error::Lost("it did not answer".into()),
        })?;
        Self::begin(socket, wanted)
    }

    /// Uses the client's end of a WebSocket of this process whose handshake is over.
    pub fn over(stream: TcpStream, wanted: &Wanted) -> Result<Self, Error> {
        stream.set_nodelay(true).map_err(lost)?;
        let socket = WebSocket::from_raw_socket(stream, Role::Client, Some(config()));
        Self::begin(socket, wanted)
    }

    fn begin(socket: WebSocket<TcpStream>, wanted: &Wanted) -> Result<Self, Error> {
        let stream = socket.get_ref();
        stream.set_read_timeout(Some(Duration::from_millis(100))).map_err(lost)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(lost)?;
        let mut feed = Feed {
            socket,
            robots: Vec::new(),
            ahead_ns: 0,
            requests: 0,
            missing: Vec::new(),
            early: VecDeque::new(),
        };
        if wanted.token.is_some() || wanted.name.is_some() {
            let mut auth = json!({ "type": "Auth" });
            if let Some(token) = &wanted.token {
                auth["token"] = token.as_str().into();
            }
            if let Some(name) = &wanted.name {
                auth["name"] = name.as_str().into();
            }
            feed.ask(auth)?.map_err(Error::Refused)?;
        }
        let before = now_ns();
        let pong = feed.ask(json!({ "type": "Ping" }))?.map_err(Error::Refused)?;
        let ours = before + (now_ns() - before) / 2;
        if let Ok(pong) = serde_json::from_value::<Pong>(pong) {
            let ahead = i128::from(pong.time_ms) * 1_000_000 - ours;
            // It tells milliseconds: what is less than that is no difference.
            feed.ahead_ns = if ahead.abs() < 20_000_000 { 0 } else { ahead };
        }
        let robots = feed.ask(json!({ "type": "Robots" }))?.map_err(Error::Refused)?;
        let robots: Robots =
            serde_json::from_value(robots).map_err(|error| Error::Lost(error.to_string()))?;
        let robots = robots.robots;
        feed.robots = robots.iter().map(|robot| robot.name.clone()).collect();
        if let Some(name) = wanted.robots.iter().find(|name| !feed.robots.contains(name)) {
            return Err(Error::NoRobot(name.clone()));
        }
        let mut count = 0;
        for robot in robots {
            if !wanted.robots.is_empty() && !wanted.robots.contains(&robot.name) {
                continue;
            }
            for topic in wanted.of(&robot) {
                let subscribe =
                    json!({ "type": "Subscribe", "robot": robot.name, "topics": [topic] });
                match feed.ask(subscribe)? {
                    Ok(_) => count += 1,
                    Err(_) => feed.missing.push((robot.name.clone(), topic)),
                }
            }
        }
        if count == 0 { Err(Error::Nothing) } else { Ok(feed) }
    }

    /// The robots, in the daemon's order.
    pub fn robots(&self) -> &[String] {
        &self.robots
    }

    /// Robots and topics that were asked for by name, and are not there.
    pub fn missing(&self) -> &[(String, String)] {
        &self.missing
    }

    /// The time by the daemon's clock, nanoseconds since 1970.
    pub fn now_ns(&self) -> u64 {
        u64::try_from(now_ns() + self.ahead_ns).unwrap_or(0)
    }

    /// What came next; none if that takes longer than a tenth of a second.
    pub fn hear(&mut self) -> Result<Option<Told>, Error> {
        if let Some(early) = self.early.pop_front() {
            return Ok(Some(early));
        }
        let Some(message) = self.read()? else { return Ok(None) };
        Ok(match message {
            Message::Binary(bytes) => {
                self.acknowledge(&bytes)?;
                Some(Told::Frame(bytes.into()))
            }
            Message::Text(text) => match serde_json::from_str(&text) {
                Ok(DaemonMessage::Event(event)) => Some(Told::Event(event)),
                Ok(DaemonMessage::Lost(lost)) => Some(Told::Lost(lost.count)),
                // Of a daemon that knows more than we do there may be others.
                _ => None,
            },
            Message::Close(_) => return Err(Error::Lost("it closed the connection".into())),
            _ => None,
        })
    }

    fn read(&mut self) -> Result<Option<Message>, Error> {
        match self.socket.read() {
            Ok(message) => Ok(Some(message)),
            Err(SocketError::Io(error)) if is_later(error.kind()) => Ok(None),
            Err(error) => Err(lost(error)),
        }
    }

    /// Without it there would be no more frames.
    fn acknowledge(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let Ok(frame) = Frame::read(bytes) else { return Ok(()) };
        let Some(robot) = self.robots.get(usize::from(frame.header.robot)) else { return Ok(()) };
        let topic = FRAMES[frame.kind as usize - 1];
        let ack = json!({
            "type": "Ack", "robot": robot, "topic": topic, "seq": frame.header.sequence,
        });
        self.send(&ack)
    }

    /// Asks, and waits for the answer; what is told meanwhile is kept.
    fn ask(&mut self, mut message: Value) -> Result<Result<Value, String>, Error> {
        self.requests += 1;
        message["req"] = self.requests.into();
        self.send(&message)?;
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            match self.read()? {
                Some(Message::Text(text)) => match serde_json::from_str(&text) {
                    Ok(DaemonMessage::Reply(reply)) if reply.req == Some(self.requests.into()) => {
                        return Ok(match reply.error {
                            Some(refusal) => Err(refusal.message),
                            None => Ok(reply.data.unwrap_or_default()),
                        });
                    }
                    Ok(DaemonMessage::Event(event)) => self.early.push_back(Told::Event(event)),
                    _ => {}
                },
                Some(Message::Binary(bytes)) => {
                    self.acknowledge(&bytes)?;
                    self.early.push_back(Told::Frame(bytes.into()));
                }
                Some(Message::Close(_)) => {
                    return Err(Error::Lost("it closed the connection".into()));
                }
                _ => {}
            }
        }
        Err(Error::Lost("it did not answer".into()))
    }

    fn send(&mut self, message: &Value) -> Result<(), Error> {
        let mut sent = self.socket.send(Message::text(message.to_string()));
        // A signal came first; the message waits inside.
        while let Err(SocketError::Io(error)) = &sent
            && error.kind() == ErrorKind::Interrupted
        {
            sent = self.socket.flush();
        }
        sent.map_err(lost)
    }
}

fn config() -> WebSocketConfig {
    WebSocketConfig::default().max_message_size(Some(LONGEST)).max_frame_size(Some(LONGEST))
}

fn is_later(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn lost(error: impl fmt::Display) -> Error {
    Error::Lost(error.to_string())
}

fn now_ns() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i128::try_from(since.as_nanos()).unwrap_or(i128::MAX)
}
