//! Talks to a running daemon over its JSON-lines port.

use std::{
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::{Shutdown, TcpStream, ToSocketAddrs},
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use serde::de::DeserializeOwned;
use serde_json::Value;
use sinew_api::{Command, DaemonMessage, Event, Robots};
use sinew_robot::capability::Capability;

use crate::{config::LinkArg, daemon::Running};

/// How long a daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long it may take to notice that we go.
const FAREWELL: Duration = Duration::from_millis(300);

/// How to reach the daemon.
#[derive(clap::Args, Clone)]
pub(crate) struct Daemon {
    /// The daemon's JSON-lines address.
    #[arg(long, global = true, value_name = "ADDR", default_value = "127.0.0.1:5556")]
    server: String,
    /// Token for a daemon that asks for one.
    #[arg(long, global = true, value_name = "TOKEN", env = "SINEW_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Which robot, where there are several.
    #[arg(long, global = true, value_name = "NAME")]
    robot: Option<String>,
    /// Run a daemon for this robot in this process instead (`serial:PATH`, `sim:`, `g1=sim:`).
    #[arg(long, global = true, value_name = "[KIND=]ADDRESS")]
    link: Option<LinkArg>,
}

/// A connection to the daemon.
pub(crate) struct Client {
    reader: BufReader<TcpStream>,
    /// A line whose end has not come yet.
    partial: Vec<u8>,
    writer: TcpStream,
    robot: Option<String>,
    requests: u64,
    /// The daemon itself, when it runs in this process.
    _daemon: Option<Running>,
}

impl Daemon {
    /// One that runs at this address.
    pub(crate) fn at(server: &str, token: Option<&str>) -> Self {
        let token = token.map(Into::into);
        Daemon { server: server.into(), token, robot: None, link: None }
    }

    /// The robot that was asked for.
    pub(crate) fn robot(&self) -> Option<&str> {
        self.robot.as_deref()
    }

    pub(crate) fn connect(&self) -> anyhow::Result<Client> {
        self.connect_for(None)
    }

    /// Connects to do something that takes this capability: a robot in this process is of a kind
    /// that has it.
    pub(crate) fn connect_for(&self, needed: Option<Capability>) -> anyhow::Result<Client> {
        let robot = self.link.as_ref().map(|link| link.entry(needed)).transpose()?;
        let daemon = robot.map(Running::start).transpose()?;
        let address = match &daemon {
            Some(daemon) => daemon.lines().to_string(),
            None => self.server.clone(),
        };
        let stream = connect(&address)?;
        stream.set_nodelay(true)?;
        let mut client = Client {
            reader: BufReader::new(stream.try_clone()?),
            partial: Vec::new(),
            writer: stream,
            robot: self.robot.clone(),
            requests: 0,
            _daemon: daemon,
        };
        if let Some(token) = &self.token {
            client.request(Command::Auth { token: Some(token.clone()), name: None })?;
        }
        if self.link.is_some() {
            client.wait_until_ready()?;
        }
        Ok(client)
    }
}

/// Goes when the daemon knows: the controls are free for the next client.
impl Drop for Client {
    fn drop(&mut self) {
        // As long as it has something to tell it stays.
        let _ = self.send(Command::Subscribe { topics: Vec::new(), max_hz: None });
        let told = self.writer.shutdown(Shutdown::Write);
        let limited = self.writer.set_read_timeout(Some(FAREWELL));
        let begin = Instant::now();
        if told.is_ok() && limited.is_ok() {
            let mut rest = [0; 4096];
            while begin.elapsed() < FAREWELL
                && self.reader.get_mut().read(&mut rest).is_ok_and(|count| count > 0)
            {}
        }
    }
}

fn connect(address: &str) -> anyhow::Result<TcpStream> {
    let addresses = address.to_socket_addrs().with_context(|| format!("{address}: no address"))?;
    let mut last = None;
    for address in addresses {
        match TcpStream::connect_timeout(&address, Duration::from_secs(3)) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    let error = last.map_or("no address".into(), |error| error.to_string());
    bail!("no daemon at {address} ({error}): start one with `sinew serve`, or use --link sim:")
}

impl Client {
    /// Sends a command and waits for its reply's data. Telemetry that comes between is dropped.
    pub(crate) fn request(&mut self, command: impl Into<Value>) -> anyhow::Result<Value> {
        let command = command.into();
        // The daemon hears no long message from a client that it does not know.
        if self.requests == 0 && command["type"] == "Teach" && command["op"] == "import" {
            self.request(Command::Robots)?;
        }
        let req = self.send(command)?;
        self.writer.set_read_timeout(Some(PATIENCE))?;
        loop {
            let Some(message) = self.next()? else {
                bail!("the daemon did not answer within {} s", PATIENCE.as_secs());
            };
            if message["req"] != req {
                continue;
            }
            let DaemonMessage::Reply(reply) = read(message)? else { continue };
            return match reply.error {
                Some(refusal) => Err(refusal.into()),
                None => Ok(reply.data.unwrap_or_default()),
            };
        }
    }

    /// What there is to tell about the robots.
    pub(crate) fn robots(&mut self) -> anyhow::Result<Robots> {
        read(self.request(Command::Robots)?)
    }

    /// Sends a command without waiting for its reply.
    pub(crate) fn send(&mut self, command: impl Into<Value>) -> anyhow::Result<u64> {
        let mut command = command.into();
        self.requests += 1;
        command["req"] = self.requests.into();
        let about_robot = !matches!(command["type"].as_str(), Some("Auth" | "Robots"));
        if let (Some(robot), true) = (&self.robot, about_robot) {
            command["robot"] = robot.as_str().into();
        }
        writeln!(self.writer, "{command}")?;
        Ok(self.requests)
    }

    /// The next event, or none when another message or none came within the time-out.
    pub(crate) fn next_event(&mut self) -> anyhow::Result<Option<Event>> {
        let message = self.next()?.filter(|message| message["type"] == "Event");
        message.map(read).transpose()
    }

    /// The next message, or none when none came within the time-out.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<Value>> {
        match self.reader.read_until(b'\n', &mut self.partial) {
            Ok(0) => bail!("the daemon closed the connection"),
            Ok(_) => {
                let message = serde_json::from_slice(&self.partial);
                self.partial.clear();
                Ok(Some(message.context("the daemon sent no JSON")?))
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What to wait for messages on. Several may come at once: they are read until there is none.
    pub(crate) fn socket(&self) -> &TcpStream {
        &self.writer
    }

    pub(crate) fn set_patience(&self, patience: Duration) -> anyhow::Result<()> {
        Ok(self.writer.set_read_timeout(Some(patience))?)
    }

    /// A robot that was only just connected has to boot first.
    fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let start = std::time::Instant::now();
        while start.elapsed() < Duration::from_secs(15) {
            if self.robots()?.robots.first().is_some_and(|robot| robot.link.state == "ready") {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        bail!("the robot did not boot within 15 s")
    }
}

/// What the daemon sent, as what it should be.
fn read<T: DeserializeOwned>(value: Value) -> anyhow::Result<T> {
    serde_json::from_value(value).context("the daemon sent what this version does not understand")
}
