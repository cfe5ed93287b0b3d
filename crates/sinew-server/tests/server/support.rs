use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use sinew_io::kind::{self, Entry, KINDS, Services};
use sinew_robot::{
    Code, Order, OrderKind, Origin, Overtaking, Refusal,
    capability::{
        Audience, Boxed, Components, Detail, Drive, Driver, Figure, Frames, Mapping, Nature,
        Reading, Report, Robot, Sensors, Task, sensor_group,
    },
    component, drive, mapping,
    vacuum::{Command, components},
};
use sinew_server::{Addresses, Config, Server};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    time::timeout,
};

use crate::surroundings::Surroundings;

/// Nothing that works takes this long.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// A robot that does nothing but remember.
#[derive(Clone)]
pub(crate) struct Double(Arc<Inner>);

struct Inner {
    kind: &'static str,
    calls: Mutex<Vec<Call>>,
    audience: Mutex<Option<Arc<dyn Audience>>>,
    overtaking: Mutex<Overtaking>,
    hangs: AtomicBool,
    refusal: Mutex<Option<Refusal>>,
    changes: AtomicU64,
    maps: Mutex<PathBuf>,
    surroundings: Arc<Surroundings>,
    exporting: Exporting,
}

/// What becomes of exports.
#[derive(Default)]
struct Exporting {
    running: AtomicU64,
    most: AtomicU64,
    /// How long the file is, beside the format's name.
    padding: AtomicU64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Call {
    Execute(Command, String),
    Map(mapping::Request, String),
    Stop(String),
    Disable(String),
    Release(String),
    Taken(String),
}

impl Double {
    pub(crate) fn new() -> Self {
        Self::of_kind("double")
    }

    /// A robot without capabilities.
    pub(crate) fn rock() -> Self {
        Self::of_kind("rock")
    }

    /// A robot that makes maps, and nothing else.
    pub(crate) fn mapper() -> Self {
        Self::of_kind("mapper")
    }

    fn of_kind(kind: &'static str) -> Self {
        Double(Arc::new(Inner {
            kind,
            calls: Mutex::default(),
            audience: Mutex::default(),
            overtaking: Mutex::default(),
            hangs: AtomicBool::new(false),
            refusal: Mutex::default(),
            changes: AtomicU64::new(0),
            maps: Mutex::default(),
            surroundings: Arc::default(),
            exporting: Exporting::default(),
        }))
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.0.calls.lock().expect("nobody panicked").clone()
    }

    pub(crate) async fn called(&self, call: Call) {
        until(&format!("{call:?}"), || self.calls().contains(&call)).await;
    }

    /// From now on commands do not end.
    pub(crate) fn hang(&self, hangs: bool) {
        self.0.hangs.store(hangs, Ordering::SeqCst);
    }

    /// Commands do not end until what this gives is dropped.
    pub(crate) fn hang_until_told(&self) -> Hanging {
        self.hang(true);
        Hanging(self.clone())
    }

    /// From now on commands are refused.
    pub(crate) fn refuse(&self, code: Code) {
        *self.0.refusal.lock().expect("nobody panicked") = Some(Refusal::new(code, "as told"));
    }

    pub(crate) fn publish_status(&self, timestamp_us: u64) {
        self.audience(|audience| audience.sensors(&status(timestamp_us)));
    }

    pub(crate) fn publish_event(&self, event: Value) {
        self.audience(|audience| audience.event(event));
    }

    pub(crate) fn publish_frame(&self, frame: Vec<u8>) {
        self.audience(|audience| audience.frame("cloud", frame));
    }

    /// What it has a map of.
    pub(crate) fn surroundings(&self) -> &Surroundings {
        &self.0.surroundings
    }

    /// Something changed in its map.
    pub(crate) fn map_changed(&self) {
        self.audience(|audience| audience.blocks_changed("map"));
    }

    /// How many exports run, and how many ran at once at most.
    pub(crate) fn exports(&self) -> (u64, u64) {
        let Exporting { running, most, .. } = &self.0.exporting;
        (running.load(Ordering::SeqCst), most.load(Ordering::SeqCst))
    }

    /// From now on its map's file has so many bytes beside its format's name.
    pub(crate) fn pad_exports(&self, bytes: u64) {
        self.0.exporting.padding.store(bytes, Ordering::SeqCst);
    }

    /// Has maps that were downloaded in this directory.
    pub(crate) fn keep_maps(&self, dir: PathBuf) {
        *self.0.maps.lock().expect("nobody panicked") = dir;
    }

    /// Changes its state, and says that something happened.
    pub(crate) fn change(&self) -> u64 {
        let changes = self.0.changes.fetch_add(1, Ordering::SeqCst) + 1;
        self.publish_event(json!({ "event": "changed" }));
        changes
    }

    /// Undoes a change.
    pub(crate) fn change_back(&self) {
        self.0.changes.fetch_sub(1, Ordering::SeqCst);
        self.publish_event(json!({ "event": "changed" }));
    }

    fn audience(&self, tell: impl FnOnce(&dyn Audience)) {
        let audience = self.0.audience.lock().expect("nobody panicked").clone();
        if let Some(audience) = audience {
            tell(&*audience);
            audience.changed();
        }
    }

    /// Is built for this audience.
    fn build(&self, audience: Arc<dyn Audience>) -> Robot {
        *self.0.audience.lock().expect("nobody panicked") = Some(audience);
        let mut robot = Robot::new(self.0.kind);
        let double = Arc::new(self.clone());
        robot.drivers.push(("double", double.clone()));
        match self.0.kind {
            "rock" => {}
            "mapper" => {
                robot.mapping = Some(double);
                robot.frames.push(("cloud", Frames::Newest));
                robot.frames.push(("map", Frames::Blocks(self.0.surroundings.clone())));
            }
            _ => {
                robot.drive = Some(double.clone());
                robot.components = Some(double.clone());
                robot.sensors.push(double);
            }
        }
        robot
    }

    fn task(&self, command: Command) -> Task {
        let nature = Nature {
            needs_client: command.is_driving(),
            lasts: command.moves_by_itself(),
            needs_connection: command.is_motion(),
        };
        let double = self.clone();
        Task::new(nature, |origin| async move { double.execute(command, origin).await })
    }

    async fn execute(self, command: Command, origin: Origin) -> Result<Value, Refusal> {
        let call = Call::Execute(command.clone(), (*origin.by).into());
        self.carry_out(call, origin, command.is_driving()).await
    }

    async fn carry_out(self, call: Call, origin: Origin, moves: bool) -> Result<Value, Refusal> {
        let is_overtaken = |by| by == OrderKind::Stop || moves;
        self.0.overtaking.lock().expect("nobody panicked").check(&origin, is_overtaken)?;
        self.call(call);
        if let Some(refusal) = self.0.refusal.lock().expect("nobody panicked").clone() {
            return Err(refusal);
        }
        while self.0.hangs.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(Value::Null)
    }

    fn call(&self, call: Call) {
        self.0.calls.lock().expect("nobody panicked").push(call);
    }
}

impl Driver for Double {
    fn order(&self, order: &Order) {
        self.0.overtaking.lock().expect("nobody panicked").note(order.clone());
        let by = (*order.by).into();
        self.call(match order.kind {
            OrderKind::Stop => Call::Stop(by),
            OrderKind::Disable => Call::Disable(by),
            OrderKind::Taken => Call::Taken(by),
            OrderKind::Released => Call::Release(by),
        });
    }

    fn report(&self) -> Report {
        let changes = self.0.changes.load(Ordering::SeqCst);
        let Value::Object(state) = json!({ "changes": changes }) else { unreachable!() };
        Report {
            link: json!({ "state": "ready" }),
            fresh: true,
            stopped_by: Some("nobody".into()),
            since_seen: Some(Duration::from_millis(7)),
            state,
            figures: vec![Figure::counter("frames_total", "Frames.", 12)],
        }
    }

    fn shut_down(&self) {}
}

impl Drive for Double {
    fn drive(&self, command: drive::Command) -> Result<Task, Refusal> {
        Ok(self.task(command.into()))
    }

    fn limits(&self) -> drive::Limits {
        drive::Limits { linear: 0.3, angular: 1.0, deadman: Duration::from_millis(300) }
    }
}

impl Components for Double {
    fn control(&self, request: component::Request<'_>) -> Result<Task, Refusal> {
        Ok(self.task(match request {
            component::Request::Control { id, action, confirmed } => {
                components::parse(id, action, confirmed)?
            }
            component::Request::Sync => Command::ProtocolSync,
            component::Request::Boot => Command::Boot,
            component::Request::Raw { command, payload } => Command::Raw { command, payload },
        }))
    }
}

impl Mapping for Double {
    fn map(&self, request: mapping::Request) -> Result<Task, Refusal> {
        let double = self.clone();
        Ok(Task::new(request.nature(), |origin| async move {
            let moves = request.moves();
            let answer = match request {
                mapping::Request::Save { format } => json!(mapping::Answer::Save { format }),
                _ => Value::Null,
            };
            let call = Call::Map(request, (*origin.by).into());
            double.carry_out(call, origin, moves).await.map(|_| answer)
        }))
    }

    fn downloaded(&self, name: &str) -> Option<PathBuf> {
        Some(self.0.maps.lock().expect("nobody panicked").join(name))
    }

    fn export(&self, format: mapping::Format) -> Boxed<'static, Result<Vec<u8>, Refusal>> {
        let double = self.clone();
        Box::pin(async move {
            let Exporting { running, most, padding } = &double.0.exporting;
            let now = running.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(now, Ordering::SeqCst);
            // Without a word to the runtime, as a writer of files does.
            while double.0.hangs.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            running.fetch_sub(1, Ordering::SeqCst);
            if let Some(refusal) = double.0.refusal.lock().expect("nobody panicked").clone() {
                return Err(refusal);
            }
            let padding = vec![b'.'; padding.load(Ordering::SeqCst) as usize];
            Ok([format.name().as_bytes(), &padding].concat())
        })
    }
}

impl Sensors for Double {
    fn groups(&self) -> &'static [&'static str] {
        &["gd32_status", "gd32_version"]
    }

    fn retained(&self, group: &str) -> Option<Reading> {
        let json = |_| sensor_group("gd32_version", 1, &json!({ "version_code": { "I32": 7 } }));
        (group == "gd32_version").then(|| Reading::new("gd32_version", json))
    }
}

/// As long as the real one.
fn status(number: u64) -> Reading {
    let json = move |detail| {
        let mut values = json!({
            "battery_level": { "U8": 75 }, "battery_voltage": { "F32": 15.0 },
            "bumper_left": { "Bool": false }, "bumper_right": { "Bool": false },
            "cliff_left_front": { "Bool": false }, "cliff_left_side": { "Bool": false },
            "cliff_right_front": { "Bool": false }, "cliff_right_side": { "Bool": false },
            "dock_button": { "U16": 0 }, "dustbox_attached": { "Bool": true },
            "is_charging": { "Bool": false }, "is_dock_connected": { "Bool": false },
            "start_button": { "U16": 0 }, "wheel_left": { "U16": number as u16 },
            "wheel_right": { "U16": 4464 },
        });
        if detail == Detail::WithRaw {
            values["raw_packet"] = json!({ "Bytes": vec![0u8; 96] });
        }
        sensor_group("gd32_status", number, &values)
    };
    Reading::new("gd32_status", json)
}

pub(crate) struct Hanging(Double);

impl Drop for Hanging {
    fn drop(&mut self) {
        self.0.hang(false);
    }
}

/// A server on ports of its own, which ends with the test.
pub(crate) struct Running {
    pub(crate) robot: Double,
    pub(crate) at: Addresses,
    end: Option<tokio::sync::oneshot::Sender<()>>,
    task: tokio::task::JoinHandle<()>,
}

pub(crate) fn local() -> Config {
    let any = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    Config { tcp: any, lines: any, http: any, ..Config::default() }
}

pub(crate) fn start() -> Running {
    let robot = Double::new();
    start_with(local(), &[("vacuum", robot)])
}

pub(crate) fn start_with(config: Config, robots: &[(&str, Double)]) -> Running {
    let mut server = Server::bind(config).expect("binds");
    for (name, robot) in robots {
        add(&mut server, name, robot).expect("is a new name");
    }
    run(server, robots[0].1.clone())
}

pub(crate) fn add(server: &mut Server, name: &str, robot: &Double) -> std::io::Result<()> {
    server.add(name, |audience, _| Ok(robot.build(audience)))
}

/// Adds a robot of a kind, by the name it has by default.
pub(crate) fn add_kind(server: &mut Server, kind: &str, link: &str) {
    let kind = kind::by_name(KINDS, kind).expect("is a kind");
    let entry = Entry::new(kind, link.parse().expect("is an address")).expect("takes it");
    server
        .add(&entry.name, |audience, epoch| {
            entry.start(Services {
                around: Vec::new(),
                audience,
                epoch,
                #[cfg(feature = "g1")]
                library: Arc::new(sinew_io::library::Library::new(std::env::temp_dir())),
                #[cfg(feature = "g1")]
                maps: sinew_io::maps::Maps::new(std::env::temp_dir()),
            })
        })
        .expect("starts");
}

pub(crate) fn run(server: Server, robot: Double) -> Running {
    let at = server.addresses();
    let (end, ended) = tokio::sync::oneshot::channel();
    let task = tokio::spawn(async move {
        let shutdown = async { drop(ended.await) };
        server.run(shutdown).await.expect("runs");
    });
    Running { robot, at, end: Some(end), task }
}

impl Running {
    pub(crate) async fn lines(&self) -> Client {
        Client::connect(self.at.lines.expect("listens")).await
    }

    pub(crate) async fn legacy(&self) -> Legacy {
        Legacy(TcpStream::connect(self.at.tcp.expect("listens")).await.expect("connects"))
    }

    pub(crate) fn http(&self) -> SocketAddr {
        self.at.http.expect("listens")
    }

    pub(crate) async fn end(mut self) {
        drop(self.end.take());
        timeout(DEADLINE, self.task).await.expect("ends").expect("does not panic");
    }

    /// A figure of `/metrics`.
    pub(crate) async fn figure(&self, name: &str) -> f64 {
        let (_, body) = get(self.http(), "/metrics", &[]).await;
        let line = body.lines().find(|line| line.starts_with(&format!("{name} ")));
        let line = line.unwrap_or_else(|| panic!("no {name} in {body}"));
        line[name.len() + 1..].parse().expect("is a number")
    }
}

/// Waits for something to become true.
pub(crate) async fn until(what: &str, mut is: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(begin.elapsed() < DEADLINE, "waited too long for {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// A client that speaks JSON lines.
pub(crate) struct Client {
    reader: BufReader<OwnedReadHalf>,
    pub(crate) writer: OwnedWriteHalf,
    pub(crate) name: String,
    asked: u64,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).await.expect("connects"))
    }

    pub(crate) fn over(socket: TcpStream) -> Self {
        let name = format!("lines {}", socket.local_addr().expect("is bound"));
        let (reader, writer) = socket.into_split();
        Client { reader: BufReader::new(reader), writer, name, asked: 0 }
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.send_bytes(format!("{message}\n").as_bytes()).await;
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).await.expect("is connected");
    }

    /// The next message; none at the end.
    pub(crate) async fn try_next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = timeout(DEADLINE, self.reader.read_line(&mut line)).await;
        match read.expect("a message comes") {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(serde_json::from_str(&line).expect("is JSON")),
        }
    }

    pub(crate) async fn next(&mut self) -> Value {
        self.try_next().await.expect("is connected")
    }

    /// Sends a command and gives its answer; telemetry in between is skipped.
    pub(crate) async fn ask(&mut self, mut message: Value) -> Value {
        self.asked += 1;
        message["req"] = self.asked.into();
        self.send(message).await;
        let begin = Instant::now();
        loop {
            assert!(begin.elapsed() < DEADLINE, "no reply to {}", self.asked);
            let answer = self.next().await;
            if answer["type"] == "Reply" {
                assert_eq!(answer["req"], self.asked);
                return answer;
            }
        }
    }

    pub(crate) async fn ok(&mut self, message: Value) -> Value {
        let answer = self.ask(message).await;
        assert_eq!(answer["ok"], true, "{answer}");
        answer["data"].clone()
    }

    /// Sends a command that must fail; gives the message.
    pub(crate) async fn fails(&mut self, message: Value, code: &str) -> String {
        let answer = self.ask(message).await;
        assert_eq!(answer["ok"], false, "{answer}");
        assert_eq!(answer["error"]["code"], code, "{answer}");
        answer["error"]["message"].as_str().expect("has a message").to_owned()
    }

    /// The next message of a topic.
    pub(crate) async fn event(&mut self, topic: &str) -> Value {
        let begin = Instant::now();
        loop {
            assert!(begin.elapsed() < DEADLINE, "nothing of {topic}");
            let message = self.next().await;
            if message["topic"] == topic {
                assert_eq!(message["type"], "Event");
                return message;
            }
        }
    }
}

/// A client that speaks length-prefixed JSON.
pub(crate) struct Legacy(pub(crate) TcpStream);

impl Legacy {
    pub(crate) async fn send(&mut self, message: Value) {
        let text = message.to_string();
        let length = (text.len() as u32).to_be_bytes();
        self.0.write_all(&[&length, text.as_bytes()].concat()).await.expect("is connected");
    }

    pub(crate) async fn try_next(&mut self) -> Option<Value> {
        let length = timeout(DEADLINE, self.0.read_u32()).await.expect("a message comes").ok()?;
        let mut text = vec![0; length as usize];
        self.0.read_exact(&mut text).await.ok()?;
        Some(serde_json::from_slice(&text).expect("is JSON"))
    }

    pub(crate) async fn next_of(&mut self, topic: &str) -> Value {
        let begin = Instant::now();
        loop {
            assert!(begin.elapsed() < DEADLINE, "nothing of {topic}");
            let message = self.try_next().await.expect("is connected");
            if message["topic"] == topic {
                return message["payload"].clone();
            }
        }
    }
}

/// One HTTP request: status and body.
pub(crate) async fn request(
    address: SocketAddr,
    line: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> (u16, String) {
    let mut socket = TcpStream::connect(address).await.expect("connects");
    let mut head = format!("{line} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "Host") {
        head += &format!("Host: {address}\r\n");
    }
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("Content-Length: {}\r\n\r\n", body.len());
    // A server that answers early may close before all is sent.
    let _ = socket.write_all(&[head.as_bytes(), body].concat()).await;
    let mut answer = Vec::new();
    let _ = timeout(DEADLINE, socket.read_to_end(&mut answer)).await.expect("is answered");
    let answer = String::from_utf8(answer).expect("is text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("has a head");
    let status = head.split(' ').nth(1).expect("has a status").parse().expect("is a number");
    (status, body.to_owned())
}

pub(crate) async fn get(
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
) -> (u16, String) {
    request(address, &format!("GET {path}"), headers, b"").await
}

pub(crate) async fn post(
    address: SocketAddr,
    message: &Value,
    headers: &[(&str, &str)],
) -> (u16, Value) {
    let line = "POST /api/v1/robots/vacuum/commands";
    let (status, body) = request(address, line, headers, message.to_string().as_bytes()).await;
    (status, serde_json::from_str(&body).unwrap_or_else(|_| panic!("not JSON: {body}")))
}

pub(crate) fn control(id: &str, verb: &str) -> Value {
    json!({ "type": "ComponentControl", "id": id, "action": { "type": verb } })
}

pub(crate) fn led(state: u8) -> Value {
    let action = json!({ "type": "Configure", "config": { "state": { "U8": state } } });
    json!({ "type": "ComponentControl", "id": "led", "action": action })
}

pub(crate) fn drive(linear: f64, angular: f64) -> Value {
    let config = json!({ "linear": { "F32": linear }, "angular": { "F32": angular } });
    let action = json!({ "type": "Configure", "config": config });
    json!({ "type": "ComponentControl", "id": "drive", "action": action })
}
