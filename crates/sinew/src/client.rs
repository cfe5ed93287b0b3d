//! Talks to a running daemon over its JSON-lines port.

use std::{
    collections::VecDeque,
    io::{self, BufRead, BufReader, ErrorKind, Read, Write},
    net::{IpAddr, Ipv6Addr, Shutdown, TcpStream, ToSocketAddrs},
    time::{Duration, Instant},
};

use anyhow::{Context, anyhow, bail};
use serde::de::DeserializeOwned;
use serde_json::Value;
use sinew_api::{Command, DaemonMessage, Event, Reply, RobotReport, Robots};
use sinew_robot::capability::Capability;

#[cfg(feature = "fleet")]
use crate::cmd::Usage;
use crate::{config::LinkArg, daemon::Running, name::own_name, phrases::Refused};

/// How long a daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long it may take to notice that we go.
const FAREWELL: Duration = Duration::from_millis(300);
/// Events that are kept while a reply is waited for.
const KEPT: usize = 256;
const CLOSED: &str = "the daemon closed the connection";
/// Where a daemon listens if it was not told otherwise.
const PORT: u16 = 5556;

/// Under which these stand in the help.
const HEADING: &str = "Daemon and robot";

/// How to reach the daemon.
#[derive(clap::Args, Clone)]
pub(crate) struct Daemon {
    /// The daemon's JSON-lines address, HOST or HOST:PORT; 127.0.0.1:5556 if not given.
    #[arg(long, global = true, value_name = "ADDR", value_parser = server, help_heading = HEADING)]
    server: Option<(String, u16)>,
    /// Token for a daemon that asks for one.
    #[arg(long, global = true, value_name = "TOKEN", env = "SINEW_TOKEN", hide_env_values = true)]
    #[arg(help_heading = HEADING)]
    token: Option<String>,
    /// Which robot, where there are several.
    #[arg(long, global = true, value_name = "NAME", help_heading = HEADING)]
    robot: Option<String>,
    /// Run a daemon for this robot in this process instead (`serial:PATH`, `sim:`, `g1=sim:`).
    #[arg(long, global = true, value_name = "[KIND=]ADDRESS", help_heading = HEADING)]
    link: Option<LinkArg>,
}

/// A connection to the daemon.
pub(crate) struct Client {
    reader: BufReader<TcpStream>,
    /// A line whose end has not come yet.
    partial: Vec<u8>,
    writer: TcpStream,
    robot: Option<String>,
    /// What the daemon calls it.
    name: String,
    requests: u64,
    /// What happened while a reply was waited for.
    events: VecDeque<Event>,
    /// The daemon itself, when it runs in this process.
    _daemon: Option<Running>,
}

impl Daemon {
    /// One that runs at this address.
    pub(crate) fn at(server: &str, token: Option<&str>) -> anyhow::Result<Self> {
        let server = self::server(server).map_err(anyhow::Error::msg)?;
        Ok(Daemon { server: Some(server), token: token.map(Into::into), robot: None, link: None })
    }

    /// The robot that was asked for.
    pub(crate) fn robot(&self) -> Option<&str> {
        self.robot.as_deref()
    }

    /// Where the daemon listens.
    fn server(&self) -> (String, u16) {
        self.server.clone().unwrap_or_else(|| ("127.0.0.1".into(), PORT))
    }

    /// The token that was given.
    #[cfg(any(feature = "g1", feature = "mcap"))]
    pub(crate) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    pub(crate) fn connect(&self) -> anyhow::Result<Client> {
        self.connect_for(None)
    }

    /// Connects to do something that takes this capability: a robot in this process is of a kind
    /// that has it.
    pub(crate) fn connect_for(&self, needed: Option<Capability>) -> anyhow::Result<Client> {
        // Maps are given out by HTTP.
        self.connect_with(needed, needed == Some(Capability::Mapping))
    }

    /// Connects; a daemon in this process has HTTP where that is wanted.
    pub(crate) fn connect_with(
        &self,
        needed: Option<Capability>,
        http: bool,
    ) -> anyhow::Result<Client> {
        self.open(needed, http, false)
    }

    /// Connects to stop what is meant; robots of a fleet are stopped before they are known.
    pub(crate) fn connect_to_stop(&self) -> anyhow::Result<Client> {
        self.open(None, false, true)
    }

    fn open(
        &self,
        needed: Option<Capability>,
        http: bool,
        #[cfg_attr(not(feature = "fleet"), expect(unused, reason = "there is no fleet"))]
        stop: bool,
    ) -> anyhow::Result<Client> {
        let robot = self.link.as_ref().map(|link| link.entry(needed)).transpose()?;
        #[cfg(feature = "fleet")]
        if let Some(robot) = &robot
            && !matches!(robot.link, sinew_io::Address::Zenoh { .. })
            && crate::fleet::asked().is_some()
        {
            let text =
                format!("--link {} is no robot of the fleet: give --link or --fleet", robot.link);
            return Err(Usage(text).into());
        }
        #[cfg_attr(not(feature = "fleet"), expect(unused_mut, reason = "there is no fleet"))]
        let mut daemon = robot.map(|robot| Running::start(robot, http)).transpose()?;
        #[cfg(feature = "fleet")]
        if daemon.is_none()
            && let Some(mut settings) = crate::fleet::asked()
        {
            if let Some((host, port)) = &self.server {
                let text = format!("--fleet needs no daemon: leave out --server {host}:{port}");
                return Err(Usage(text).into());
            }
            settings.secret = self.token.clone();
            settings.stop = stop.then(|| self.robot.clone().unwrap_or_else(|| "*".into()));
            daemon = Some(Running::hub(settings, http)?);
        }
        let stream = match &daemon {
            Some(daemon) => TcpStream::connect(daemon.lines())?,
            None => connect(&self.server())?,
        };
        stream.set_nodelay(true)?;
        let mut client = Client {
            reader: BufReader::new(stream.try_clone()?),
            partial: Vec::new(),
            writer: stream,
            robot: self.robot.clone(),
            name: own_name(),
            requests: 0,
            events: VecDeque::new(),
            _daemon: daemon,
        };
        // A fleet's token is shown to the daemons of the fleet, not to the one of this process.
        let token = self.token.clone().filter(|_| client._daemon.is_none());
        let name = Some(client.name.clone());
        // Without a token there is no answer that a stop should wait for.
        match token.is_some() {
            true => drop(client.request(Command::Auth { token, name })?),
            false => drop(client.send(Command::Auth { token, name })?),
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

/// `HOST`, `HOST:PORT`, or an address of IPv6 in brackets or bare.
fn server(text: &str) -> Result<(String, u16), String> {
    let wrong = || format!("wanted HOST or HOST:PORT, got {text:?}");
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, Some(port).filter(|port| !port.is_empty())),
        None if text.parse::<Ipv6Addr>().is_ok() => (text, None),
        None => match text.find(':') {
            Some(colon) => (&text[..colon], Some(&text[colon..])),
            None => (text, None),
        },
    };
    let port = match port {
        None => PORT,
        Some(port) => {
            port.strip_prefix(':').and_then(|port| port.parse().ok()).ok_or_else(wrong)?
        }
    };
    if host.is_empty() { Err(wrong()) } else { Ok((host.into(), port)) }
}

fn connect((host, port): &(String, u16)) -> anyhow::Result<TcpStream> {
    let found = (host.as_str(), *port).to_socket_addrs();
    let addresses: Vec<_> =
        found.with_context(|| format!("--server: {host}: no address"))?.collect();
    let mut failure = "no address".into();
    for address in &addresses {
        match TcpStream::connect_timeout(address, Duration::from_secs(3)) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error.to_string(),
        }
    }
    let place = match host.parse() {
        Ok(IpAddr::V6(_)) => format!("[{host}]:{port}"),
        _ => format!("{host}:{port}"),
    };
    let advice = match addresses.iter().all(|address| address.ip().is_loopback()) {
        true if cfg!(feature = "sim") => {
            "start one with `sinew demo` (simulated robots) or `sinew serve --vacuum \
             serial:/dev/ttyS3`, or do without by --link sim:"
        }
        true => "start one with `sinew serve --vacuum serial:/dev/ttyS3`, or do without by --link",
        false => {
            "it has to run there, and to listen further than loopback: `sinew serve --lines \
             0.0.0.0:5556 --token-file FILE`"
        }
    };
    bail!("no daemon at {place} ({failure}): {advice}")
}

impl Client {
    /// Sends a command and waits for its reply's data. Events that come between are kept.
    pub(crate) fn request(&mut self, command: impl Into<Value>) -> anyhow::Result<Value> {
        self.request_within(command, PATIENCE)
    }

    /// The same for what may take longer.
    pub(crate) fn request_within(
        &mut self,
        command: impl Into<Value>,
        patience: Duration,
    ) -> anyhow::Result<Value> {
        let req = self.send(command)?;
        self.writer.set_read_timeout(Some(patience))?;
        loop {
            let Some(message) = self.next()? else {
                bail!("the daemon did not answer within {} s", patience.as_secs());
            };
            match read(message)? {
                DaemonMessage::Reply(reply) if reply.req.as_ref() == Some(&req.into()) => {
                    return outcome(reply);
                }
                DaemonMessage::Event(event) => self.keep(event),
                _ => {}
            }
        }
    }

    /// The same with a look at what happens meanwhile, ten times a second or more.
    #[cfg(feature = "g1")]
    pub(crate) fn request_watching(
        &mut self,
        command: impl Into<Value>,
        patience: Duration,
        mut look: impl FnMut(&mut Self, Option<&Event>) -> anyhow::Result<()>,
    ) -> anyhow::Result<Value> {
        let req = self.send(command)?;
        self.set_patience(Duration::from_millis(100))?;
        let start = Instant::now();
        while start.elapsed() < patience {
            match self.next()?.map(read).transpose()? {
                Some(DaemonMessage::Reply(reply)) if reply.req.as_ref() == Some(&req.into()) => {
                    return outcome(reply);
                }
                Some(DaemonMessage::Event(event)) => {
                    look(self, Some(&event))?;
                    self.keep(event);
                }
                _ => look(self, None)?,
            }
        }
        bail!("the daemon did not answer within {} s", patience.as_secs())
    }

    /// Keeps an event for later.
    fn keep(&mut self, event: Event) {
        self.events.push_back(event);
        if self.events.len() > KEPT {
            self.events.pop_front();
        }
    }

    /// What there is to tell about the robots.
    pub(crate) fn robots(&mut self) -> anyhow::Result<Robots> {
        read(self.request(Command::Robots)?)
    }

    /// The robot that is meant: the one that was named, or the only one that can do this. All that is
    /// asked from now on is for it. None is for the daemon to complain about.
    pub(crate) fn choose(&mut self, needed: Capability) -> anyhow::Result<Option<RobotReport>> {
        let mut robots = self.robots()?.robots;
        robots.retain(|robot| match &self.robot {
            Some(name) => robot.name == *name,
            None => robot.capabilities.contains(&needed),
        });
        let chosen = if robots.len() == 1 { robots.pop() } else { None };
        if let Some(robot) = &chosen {
            self.robot = Some(robot.name.clone());
        }
        Ok(chosen)
    }

    /// What the daemon calls this client.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Has all that is asked from now on be for this robot.
    pub(crate) fn set_robot(&mut self, name: &str) {
        self.robot = Some(name.into());
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
        writeln!(self.writer, "{command}").map_err(lost)?;
        Ok(self.requests)
    }

    /// The next event, or none when another message or none came within the time-out.
    pub(crate) fn next_event(&mut self) -> anyhow::Result<Option<Event>> {
        if let Some(event) = self.events.pop_front() {
            return Ok(Some(event));
        }
        let message = self.next()?.filter(|message| message["type"] == "Event");
        message.map(read).transpose()
    }

    /// The next message, or none when none came within the time-out.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<Value>> {
        match self.reader.read_until(b'\n', &mut self.partial) {
            Ok(0) => bail!(CLOSED),
            Ok(_) => {
                let message = serde_json::from_slice(&self.partial);
                self.partial.clear();
                Ok(Some(message.context("the daemon sent no JSON")?))
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Ok(None)
            }
            Err(error) => Err(lost(error)),
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
        let start = Instant::now();
        loop {
            let robots = self.robots()?.robots;
            let link = robots.into_iter().next().map(|robot| robot.link).unwrap_or_default();
            // A port that cannot be opened will hardly be there in a moment.
            let patience = if link.state == "disconnected" { 2 } else { 15 };
            match link.state.as_str() {
                // A recording that is over can still be asked.
                "ready" | "ended" => return Ok(()),
                state if start.elapsed() > Duration::from_secs(patience) => {
                    let reason = link.reason.map_or(String::new(), |reason| format!(": {reason}"));
                    bail!("--link: the robot is {state} after {patience} s{reason}");
                }
                _ => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

/// What a reply says.
fn outcome(reply: Reply) -> anyhow::Result<Value> {
    match reply.error {
        Some(refusal) => Err(Refused(refusal).into()),
        None => Ok(reply.data.unwrap_or_default()),
    }
}

/// Why the daemon cannot be reached any more. Its end is not that of a pipe that this process writes
/// to, after which there would be nothing to complain about.
fn lost(error: io::Error) -> anyhow::Error {
    match error.kind() {
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => anyhow!(CLOSED),
        _ => error.into(),
    }
}

/// What the daemon sent, as what it should be.
pub(crate) fn read<T: DeserializeOwned>(value: Value) -> anyhow::Result<T> {
    serde_json::from_value(value).context("the daemon sent what this version does not understand")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_needs_no_port() {
        let at = |text| server(text).map(|(host, port)| format!("{host} {port}"));
        for (text, wanted) in [
            ("127.0.0.1", "127.0.0.1 5556"),
            ("127.0.0.1:7", "127.0.0.1 7"),
            ("robot.local", "robot.local 5556"),
            ("robot.local:7", "robot.local 7"),
            ("::1", "::1 5556"),
            ("[::1]", "::1 5556"),
            ("[fe80::1]:7", "fe80::1 7"),
        ] {
            assert_eq!(at(text).as_deref(), Ok(wanted), "{text}");
        }
        for text in ["", ":7", "[::1]7", "[::1", "host:", "host:http", "host:70000", "a:b:c"] {
            assert!(at(text).is_err(), "{text}");
        }
    }
}
