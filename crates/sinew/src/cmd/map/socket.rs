//! The daemon's frames, over a WebSocket.

use std::{
    io::ErrorKind,
    net::{SocketAddr, TcpStream},
    os::fd::{AsFd, BorrowedFd},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, anyhow, bail};
use serde_json::Value;
use sinew_api::{Command, DaemonMessage, Pong, Reply, Topic};
use sinew_robot::{capability::Capability, mapping::Request};
use tungstenite::{
    Error, HandshakeError, Message, WebSocket, client::client_with_config,
    protocol::WebSocketConfig,
};

use crate::{
    client::{self, Client, Daemon},
    phrases::Refused,
};

/// How long the daemon may take for the handshake, or to take what is sent.
const PATIENCE: Duration = Duration::from_secs(3);
/// Messages are taken when they are there, not waited for.
const LOOK: Duration = Duration::from_millis(1);
/// The longest message that is taken: robots send clouds of a megabyte.
const LONGEST: usize = 16 << 20;
/// How often the daemon is asked how mapping goes, which also shows that it is there.
const ASK: Duration = Duration::from_millis(400);
/// Without a word for so long it is silent.
pub(super) const SILENCE: Duration = Duration::from_millis(1000);

/// A connection that frames of one robot come by.
pub(super) struct Socket {
    stream: WebSocket<TcpStream>,
    robot: String,
    address: SocketAddr,
    /// The daemon's clock less ours, microseconds.
    ahead: i64,
    requests: u64,
    subscribed: u64,
    /// When it was asked last, and whether it has not answered yet.
    asked: (Instant, bool),
    heard: Instant,
    /// Asks, leaves and, where it runs in this process, is the daemon.
    _client: Client,
}

/// What came.
pub(super) enum Heard {
    Frame(Vec<u8>),
    /// How mapping goes.
    Info(Value),
    Message(DaemonMessage),
}

impl Socket {
    /// Finds the robot, and subscribes to these topics of it.
    pub(super) fn open(daemon: &Daemon, topics: &[Topic]) -> anyhow::Result<Self> {
        let mut client = daemon.connect_for(Some(Capability::Mapping))?;
        let Some(robot) = client.choose(Capability::Mapping)? else {
            // The daemon says what is wrong.
            client.request(Command::Mapping(Request::Info))?;
            bail!("none of the robots, or more than one, makes maps");
        };
        let before = now_us();
        let pong: Pong = client::read(client.request(Command::Ping)?)?;
        let ours = before + (now_us() - before) / 2;
        let ahead = i64::try_from(pong.time_ms).unwrap_or(0).saturating_mul(1000) - ours;
        let port = pong.http.context("the daemon serves no HTTP, by which maps are given out")?;
        let address = SocketAddr::new(client.socket().peer_addr()?.ip(), port);
        let stream = shake_hands(address)
            .with_context(|| format!("cannot fetch the map from http://{address}"))?;
        let now = Instant::now();
        let mut socket = Socket {
            stream,
            robot: robot.name,
            address,
            ahead,
            requests: 0,
            subscribed: 0,
            asked: (now, false),
            heard: now,
            _client: client,
        };
        let token = daemon.token().map(Into::into);
        socket.send(Command::Auth { token, name: Some(crate::name::own_name()) })?;
        let subscribe = Command::Subscribe { topics: topics.to_vec(), max_hz: None };
        socket.subscribed = socket.send(subscribe)?;
        Ok(socket)
    }

    pub(super) fn robot(&self) -> &str {
        &self.robot
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// How long ago something was, by the daemon's clock.
    pub(super) fn age(&self, time_us: u64) -> Duration {
        let there = now_us().saturating_add(self.ahead);
        let age = there.saturating_sub(i64::try_from(time_us).unwrap_or(i64::MAX));
        Duration::from_micros(u64::try_from(age).unwrap_or(0))
    }

    /// How long the daemon has said nothing, if that is longer than it should be.
    pub(super) fn silence(&self) -> Option<Duration> {
        Some(self.heard.elapsed()).filter(|silence| *silence > SILENCE)
    }

    /// Asks how mapping goes when it is time to; gives when that will be again.
    pub(super) fn ask(&mut self, now: Instant) -> anyhow::Result<Instant> {
        let (at, waits) = self.asked;
        if now.saturating_duration_since(at) < ASK {
            return Ok(at + ASK);
        }
        // One that does not read is not asked on and on.
        if !waits {
            self.send(Command::Mapping(Request::Info))?;
        }
        self.asked = (now, true);
        Ok(now + ASK)
    }

    pub(super) fn send(&mut self, command: impl Into<Value>) -> anyhow::Result<u64> {
        let mut command = command.into();
        self.requests += 1;
        command["req"] = self.requests.into();
        if command["type"] != "Auth" {
            command["robot"] = self.robot.as_str().into();
        }
        self.write(&command)?;
        Ok(self.requests)
    }

    /// Says that a frame was taken, without which there will be no more of them.
    pub(super) fn acknowledge(&mut self, topic: &'static str, seq: u64) -> anyhow::Result<()> {
        let mut message: Value = Command::Ack { topic: Topic::Frames(topic), seq }.into();
        message["robot"] = self.robot.as_str().into();
        self.write(&message)
    }

    fn write(&mut self, message: &Value) -> anyhow::Result<()> {
        let mut sent = self.stream.send(Message::text(message.to_string()));
        // A signal came first; the message waits inside.
        while let Err(Error::Io(error)) = &sent
            && error.kind() == ErrorKind::Interrupted
        {
            sent = self.stream.flush();
        }
        sent.map_err(lost)
    }

    /// The next that came, or none when there is nothing more now.
    pub(super) fn next(&mut self) -> anyhow::Result<Option<Heard>> {
        loop {
            let message = match self.stream.read() {
                Ok(message) => message,
                // Nothing is there, or a signal was: it is looked at first.
                Err(Error::Io(error))
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) =>
                {
                    return Ok(None);
                }
                Err(error) => return Err(lost(error)),
            };
            self.heard = Instant::now();
            match message {
                Message::Binary(bytes) => return Ok(Some(Heard::Frame(bytes.into()))),
                Message::Text(text) => {
                    if let Some(heard) = self.text(&text)? {
                        return Ok(Some(heard));
                    }
                }
                _ => {}
            }
        }
    }

    fn text(&mut self, text: &str) -> anyhow::Result<Option<Heard>> {
        // Of a daemon that knows more than we do there may be others.
        let Ok(message) = serde_json::from_str(text) else { return Ok(None) };
        Ok(match message {
            DaemonMessage::Reply(Reply { error: Some(refusal), req, .. })
                if req
                    .as_ref()
                    .and_then(Value::as_u64)
                    .is_some_and(|req| req <= self.subscribed) =>
            {
                return Err(Refused(refusal).into());
            }
            DaemonMessage::Reply(Reply { data, .. }) => {
                let data = data.filter(|data| data.get("mapping").is_some());
                self.asked.1 = false;
                data.map(Heard::Info)
            }
            message => Some(Heard::Message(message)),
        })
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.get_ref().as_fd()
    }
}

fn shake_hands(address: SocketAddr) -> anyhow::Result<WebSocket<TcpStream>> {
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let config =
        WebSocketConfig::default().max_message_size(Some(LONGEST)).max_frame_size(Some(LONGEST));
    let shaken = client_with_config(format!("ws://{address}/ws"), stream, Some(config));
    let (socket, _) = shaken.map_err(|error| match error {
        HandshakeError::Failure(error) => lost(error),
        HandshakeError::Interrupted(_) => anyhow!("it did not answer within {PATIENCE:?}"),
    })?;
    socket.get_ref().set_read_timeout(Some(LOOK))?;
    Ok(socket)
}

/// A daemon that is gone is not a reader of our output that is, whatever the socket says.
fn lost(error: Error) -> anyhow::Error {
    match error {
        Error::ConnectionClosed | Error::AlreadyClosed | Error::Protocol(_) => {
            anyhow!("lost the daemon: it closed the connection")
        }
        error => anyhow!("lost the daemon: {error}"),
    }
}

fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
