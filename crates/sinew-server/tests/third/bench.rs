//! A server with a beacon, and a beacon that is played by hand.

use std::{
    fs::File,
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr},
    time::Instant,
};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use sinew_io::{
    Pty,
    kind::{Entry, KINDS, Kind, Services},
};
use sinew_server::Server;
use tokio::{
    net::{TcpSocket, TcpStream, UdpSocket},
    time::{Duration, timeout},
};
use tokio_tungstenite::{WebSocketStream, client_async, tungstenite::Message};

use crate::{
    finder::Scan,
    kind::Beacon,
    lamp::Lines,
    support::{Client, DEADLINE, Double, Running, local, run},
};

/// The kinds of a build that has the beacon, too.
pub(crate) fn kinds() -> Vec<&'static dyn Kind> {
    let beacon: &'static dyn Kind = &Beacon;
    KINDS.iter().copied().chain([beacon]).collect()
}

/// Reads a `[[robot]]`.
pub(crate) fn read(table: Value) -> Result<Entry, String> {
    let Value::Object(table) = table else { panic!("{table} is no table") };
    Entry::read(&kinds(), &table).map_err(|error| error.to_string())
}

/// A server with the robot of this table.
pub(crate) fn start(table: Value) -> Running {
    let entry = read(table).expect("is a robot");
    let mut server = Server::bind(local()).expect("binds");
    server
        .add(&entry.name, |audience, epoch| {
            entry.start(Services {
                around: Vec::new(),
                audience,
                epoch,
                #[cfg(feature = "g1")]
                library: std::sync::Arc::new(sinew_io::library::Library::new(std::env::temp_dir())),
                #[cfg(feature = "g1")]
                maps: sinew_io::maps::Maps::new(std::env::temp_dir()),
            })
        })
        .expect("starts");
    run(server, Double::rock())
}

/// A simulated beacon.
pub(crate) fn start_simulated() -> Running {
    start(json!({ "kind": "beacon", "link": "sim:" }))
}

/// What `Robots` says of the beacon.
pub(crate) async fn robot(client: &mut Client) -> Value {
    client.ok(json!({ "type": "Robots" })).await["robots"][0].clone()
}

/// Waits for the beacon to be such.
pub(crate) async fn until_it(client: &mut Client, is: impl Fn(&Value) -> bool) -> Value {
    let begin = Instant::now();
    loop {
        let robot = robot(client).await;
        if is(&robot) {
            return robot;
        }
        assert!(begin.elapsed() < DEADLINE, "waited too long: {robot}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Both drivers are ready.
pub(crate) async fn until_ready(client: &mut Client) -> Value {
    let is_ready = |link: &Value| link["state"] == "ready";
    until_it(client, |robot| is_ready(&robot["link"]) && is_ready(&robot["links"]["range"])).await
}

pub(crate) fn level(percent: u8) -> Value {
    let action = json!({ "type": "Configure", "config": { "level": { "U8": percent } } });
    json!({ "type": "ComponentControl", "id": "lamp", "action": action })
}

/// The beacon's own end of both links.
pub(crate) struct Bench {
    lamp: File,
    lines: Lines,
    heard: Vec<String>,
    finder: UdpSocket,
    host: Option<SocketAddr>,
    pty: Pty,
}

impl Bench {
    /// Both ends, and a server whose beacon is at the other.
    pub(crate) async fn start() -> (Self, Running) {
        let pty = Pty::open(None).expect("opens");
        let lamp = File::from(pty.master().expect("has one"));
        let finder = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("binds");
        let range = format!("udp:{}", finder.local_addr().expect("is bound"));
        let link = format!("serial:{}", pty.path().display());
        let server = start(json!({ "kind": "beacon", "link": link, "range": range }));
        let (lines, heard) = (Lines::default(), Vec::new());
        let mut bench = Bench { lamp, lines, heard, finder, host: None, pty };
        assert_eq!(bench.lamp_hears().await, "hello", "at {}", bench.pty.path().display());
        bench.lamp_says("state 0 200");
        bench.finder_hears("scan").await;
        (bench, server)
    }

    /// The next line that the lamp gets.
    pub(crate) async fn lamp_hears(&mut self) -> String {
        let begin = Instant::now();
        while self.heard.is_empty() {
            let mut buffer = [0; 256];
            match self.lamp.read(&mut buffer) {
                Ok(count) => self.heard = self.lines.push(&buffer[..count]),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
            assert!(begin.elapsed() < DEADLINE, "the lamp heard nothing");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        self.heard.remove(0)
    }

    pub(crate) fn lamp_says(&mut self, line: &str) {
        self.lamp.write_all(format!("{line}\n").as_bytes()).expect("is open");
    }

    /// Waits for the finder to be told this.
    pub(crate) async fn finder_hears(&mut self, wanted: &str) {
        let mut buffer = [0; 256];
        loop {
            let heard = timeout(DEADLINE, self.finder.recv_from(&mut buffer)).await;
            let (count, host) = heard.expect("comes").expect("is open");
            self.host = Some(host);
            if &buffer[..count] == wanted.as_bytes() {
                return;
            }
            // Scans are asked for again and again.
            assert_eq!(&buffer[..count], b"scan");
        }
    }

    pub(crate) async fn finder_sees(&mut self, scan: &Scan) {
        let host = self.host.expect("was heard");
        self.finder.send_to(&scan.to_vec(), host).await.expect("is open");
    }
}

/// A page.
pub(crate) struct Page(WebSocketStream<TcpStream>);

impl Page {
    pub(crate) async fn open(server: &Running) -> Self {
        Self::over(server, TcpSocket::new_v4().expect("is made")).await
    }

    /// One that takes little at a time.
    pub(crate) async fn narrow(server: &Running) -> Self {
        let socket = TcpSocket::new_v4().expect("is made");
        socket.set_recv_buffer_size(4096).expect("is set");
        Self::over(server, socket).await
    }

    async fn over(server: &Running, socket: TcpSocket) -> Self {
        let stream = socket.connect(server.http()).await.expect("connects");
        let address = format!("ws://{}/ws", server.http());
        Page(client_async(address, stream).await.expect("is upgraded").0)
    }

    pub(crate) async fn next(&mut self) -> Message {
        let next = timeout(DEADLINE, self.0.next()).await;
        next.expect("comes").expect("is connected").expect("is valid")
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.0.send(Message::text(message.to_string())).await.expect("is connected");
    }

    /// Subscribes, and waits for that to be so.
    pub(crate) async fn subscribe(&mut self, topics: Value) {
        self.send(json!({ "type": "Subscribe", "topics": topics, "req": 1 })).await;
        loop {
            let Message::Text(text) = self.next().await else { continue };
            let reply: Value = serde_json::from_str(&text).expect("is JSON");
            if reply["type"] == "Reply" {
                assert_eq!(reply["ok"], true, "{reply}");
                return;
            }
        }
    }
}
