//! A map of a million cells to WebSockets: how long one that joins waits, and what clients cost the
//! server, beside a plain copy of the same bytes in the same run.
//!
//! The clients run in a process of their own, so that the server's share of the processor can be
//! told. `cargo bench -p sinew-server --bench map -- [FILTER]`.

use std::{
    env, fs,
    hint::black_box,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, ChildStdin, ChildStdout, Command as Process, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use sinew_api::frame::{self, Frame, Header, LONGEST, MAP_POINTS};
use sinew_robot::{
    capability::{Audience, Blocks, Frames, Robot},
    map::{Cursor, VoxelMap, VoxelSettings},
    mapping::{Cloud, Pose},
};
use sinew_server::{Config, Server};
use tokio_tungstenite::{connect_async, tungstenite::Message};

const CLIENTS: [u64; 3] = [1, 10, 50];
/// Changes of a map, ten a second.
const CHANGES: u32 = 50;
const PERIOD: Duration = Duration::from_millis(100);

fn main() {
    let args: Vec<_> = env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["sink", address] => sink(address.parse().expect("an address")),
        ["clients", address, count, cells] => {
            let number = |text: &str| text.parse().expect("a number");
            clients(address, number(count), number(cells));
        }
        ref rest => {
            let filter = rest.first().copied().unwrap_or_default();
            if "map, a million cells to WebSockets".contains(filter) {
                measure();
            }
        }
    }
}

fn measure() {
    let map = Arc::new(Million::new());
    let cells = map.seen.lock().expect("none panicked").0.len();
    let (address, audience) = serve(&map);
    let (mut bytes, mut making) = (0, f64::INFINITY);
    for _ in 0..5 {
        let begin = Instant::now();
        bytes = snapshot(&map);
        making = begin.elapsed().as_secs_f64().min(making);
    }
    let all = megabytes(bytes);
    println!(
        "map, {cells} cells: {all:.1} MB of frames, made in {:.2} ms a MB",
        making * 1e3 / all
    );
    for count in CLIENTS {
        let all = megabytes(bytes * count);
        let (begin, before) = (Instant::now(), Used::now());
        let mut clients = Clients::start(address, count, cells);
        clients.line();
        let (time, used) = (begin.elapsed().as_secs_f64(), before.by_server());
        // The same bytes, once to a socket in as long pieces and once in memory.
        let (plain, copy) = (written(LONGEST) / LONGEST as f64 * 1e6, copied());
        println!(
            "  {count:>2} that join: {time:.2} s, {:.0} MB/s; server {:.2} ms of processor a MB, a \
             plain write {:.2} ms: ratio {:.1}, memcpy {:.2} ms: ratio {:.1}",
            all / time,
            used * 1e3 / all,
            plain * 1e3,
            used / all / plain,
            copy * 1e3,
            used / all / copy,
        );
        follow(&map, &*audience, clients, count);
    }
}

/// Clients that have the map get what changes in it.
fn follow(map: &Million, audience: &dyn Audience, clients: Clients, count: u64) {
    let (begin, before) = (Instant::now(), Used::now());
    for number in 0..CHANGES {
        thread::sleep((begin + PERIOD * number).saturating_duration_since(Instant::now()));
        map.change();
        audience.blocks_changed("map");
    }
    thread::sleep(PERIOD);
    let used = before.by_server();
    let got = clients.end();
    let number = |name: &str| got[name].as_u64().unwrap_or_default();
    let (frames, bytes) = (number("frames").max(1), number("bytes"));
    let each = bytes / frames;
    let (used, plain) = (used / frames as f64, written(each as usize));
    println!(
        "  {count:>2} that follow: {frames} frames of {CHANGES} changes, {each} bytes each; server {:.0} \
         us of processor a frame, a plain write {:.1} us: ratio {:.1}",
        used * 1e6,
        plain * 1e6,
        used / plain,
    );
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// A map of a million cells and something that moves.
struct Million {
    start: Instant,
    seen: Mutex<(VoxelMap, u32)>,
}

impl Million {
    fn new() -> Self {
        let settings = VoxelSettings { max_bytes: 1 << 30, ..VoxelSettings::default() };
        let (mut map, start) = (VoxelMap::new(settings), Instant::now());
        for slab in 0..16 {
            let points = (0..65_536_u32)
                .map(|index| [(index % 256) as u16 * 5, (index / 256) as u16 * 5, 0])
                .collect();
            map.insert(start, &cloud(1, [5.0, 0.0, f64::from(slab) * 0.8], 0.01, points, None))
                .expect("is taken");
        }
        Million { start, seen: Mutex::new((map, 0)) }
    }

    /// What a robot sees a tenth of a second later: walls of a corridor that it walks along.
    fn change(&self) {
        let (map, step) = &mut *self.seen.lock().expect("none panicked");
        *step += 1;
        let at = f64::from(*step) * 0.05;
        let points = (0..900_u16).map(|index| {
            let side = if index % 2 == 0 { 1200 } else { 0 };
            [index % 60 * 100, side, index / 60 * 160]
        });
        let pose = Pose { x: -at, z: 1.2, ..Pose::default() };
        let origin = [-at - 3.0, -0.6, 0.0];
        let cloud = cloud(u64::from(*step), origin, 0.001, points.collect(), Some(pose));
        map.insert(self.start + PERIOD * *step, &cloud).expect("is taken");
    }
}

fn cloud(
    sequence: u64,
    origin: [f64; 3],
    unit: f64,
    points: Vec<[u16; 3]>,
    pose: Option<Pose>,
) -> Cloud {
    Cloud { sequence, origin, unit, points, pose, frame: Arc::from("map") }
}

impl Blocks for Million {
    fn next(&self, place: &mut Cursor) -> Option<Vec<u8>> {
        let (map, step) = &*self.seen.lock().expect("none panicked");
        if map.is_current(place) {
            return None;
        }
        let mut points = Vec::new();
        map.changes(self.start + PERIOD * *step, place, MAP_POINTS, &mut points);
        let (epoch, origin, unit) = (map.epoch(), map.origin(), map.unit());
        let header = Header { epoch, origin, unit, name: "map", ..Header::default() };
        Some(frame::map(&header, &points))
    }
}

/// What the frames of the whole map take.
fn snapshot(map: &Million) -> u64 {
    let mut place = Cursor::default();
    std::iter::from_fn(|| map.next(&mut place)).map(|frame| frame.len() as u64).sum()
}

fn serve(map: &Arc<Million>) -> (SocketAddr, Arc<dyn Audience>) {
    let any = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let config = Config { tcp: None, lines: None, http: any, ..Config::default() };
    let mut server = Server::bind(config).expect("binds");
    let address = server.addresses().http.expect("listens");
    let mut audience = None;
    let added: std::io::Result<()> = server.add("g1", |told, _| {
        audience = Some(told);
        let mut robot = Robot::new("source");
        robot.frames.push(("map", Frames::Blocks(map.clone())));
        Ok(robot)
    });
    added.expect("is new");
    thread::spawn(|| {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.expect("starts").block_on(server.run(std::future::pending()))
    });
    (address, audience.expect("is there"))
}

/// Seconds that copying a megabyte takes, in pieces of a frame; the best of some.
fn copied() -> f64 {
    const PIECES: usize = 100;
    let from = vec![1; LONGEST];
    let mut to = vec![0; LONGEST];
    let copy = |_| {
        let begin = Instant::now();
        for _ in 0..PIECES {
            to.copy_from_slice(black_box(&from));
            black_box(&mut to);
        }
        begin.elapsed().as_secs_f64()
    };
    (0..5).map(copy).fold(f64::INFINITY, f64::min) / megabytes((PIECES * LONGEST) as u64)
}

/// Seconds of processor time that writing a piece of so many bytes to a socket takes, on average of
/// very many: the kernel's count of a thread that runs is some milliseconds old.
fn written(piece: usize) -> f64 {
    let count = (500_000_000 / piece.max(1)).min(100_000);
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("binds");
    let address = listener.local_addr().expect("is bound").to_string();
    let (mut child, _, mut said) = start(&["sink", &address]);
    let (mut socket, _) = listener.accept().expect("comes");
    let piece = vec![1; piece];
    let before = Used::now();
    for _ in 0..count {
        socket.write_all(&piece).expect("is connected");
    }
    let used = before.by_main();
    drop(socket);
    said.read_line(&mut String::new()).expect("is told");
    child.wait().expect("ends");
    used / count as f64
}

/// Reads a socket to its end.
fn sink(address: SocketAddr) {
    let mut socket = TcpStream::connect(address).expect("connects");
    let mut space = vec![0; LONGEST];
    while socket.read(&mut space).expect("is connected") > 0 {}
    println!("read");
}

/// Clients in a process of their own.
struct Clients {
    child: Child,
    told: ChildStdin,
    said: BufReader<ChildStdout>,
}

impl Clients {
    fn start(address: SocketAddr, count: u64, cells: u64) -> Self {
        let args = [address.to_string(), count.to_string(), cells.to_string()];
        let (child, told, said) = start(&["clients", &args[0], &args[1], &args[2]]);
        Clients { child, told, said }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("is told");
        line
    }

    /// Ends them; what they got after the whole map.
    fn end(self) -> Value {
        let Clients { mut child, told, mut said } = self;
        // The end of its input tells the child to count.
        drop(told);
        let mut line = String::new();
        said.read_line(&mut line).expect("is told");
        child.wait().expect("ends");
        serde_json::from_str(&line).expect("is JSON")
    }
}

fn start(args: &[&str]) -> (Child, ChildStdin, BufReader<ChildStdout>) {
    let mut child = Process::new(env::current_exe().expect("is known"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let (told, said) = (child.stdin.take(), child.stdout.take());
    (child, told.expect("is piped"), BufReader::new(said.expect("is piped")))
}

/// Takes the whole map many times, says so, then counts what else comes.
fn clients(address: &str, count: u64, cells: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("starts").block_on(async {
        let (end, ended) = tokio::sync::watch::channel(false);
        let (done, mut joined) = tokio::sync::mpsc::unbounded_channel();
        let mut tasks = Vec::new();
        for _ in 0..count {
            let address = format!("ws://{address}/ws");
            let (mut ended, done) = (ended.clone(), done.clone());
            tasks.push(tokio::spawn(async move {
                let (mut socket, _) = connect_async(address).await.expect("connects");
                let subscribe = json!({ "type": "Subscribe", "topics": ["map"] });
                socket.send(Message::text(subscribe.to_string())).await.expect("is connected");
                let (mut points, mut frames, mut bytes) = (0, 0, 0);
                loop {
                    let message = tokio::select! {
                        message = socket.next() => message.expect("is connected"),
                        _ = ended.changed() => return (frames, bytes),
                    };
                    let Message::Binary(message) = message.expect("is valid") else { continue };
                    let frame = Frame::read(&message).expect("is a frame");
                    let seq = frame.header.sequence;
                    let ack = json!({ "type": "Ack", "topic": "map", "seq": seq });
                    socket.send(Message::text(ack.to_string())).await.expect("is connected");
                    if points >= cells {
                        frames += 1;
                        bytes += message.len() as u64;
                        continue;
                    }
                    points += frame.points().len() as u64;
                    if points >= cells {
                        done.send(()).expect("is read");
                    }
                }
            }));
        }
        for _ in 0..count {
            joined.recv().await.expect("comes");
        }
        println!("joined");
        let wait = || std::io::stdin().read_to_end(&mut Vec::new());
        tokio::task::spawn_blocking(wait).await.expect("runs").expect("is read");
        end.send_replace(true);
        let (mut frames, mut bytes) = (0, 0);
        for task in tasks {
            let got: (u64, u64) = task.await.expect("runs");
            (frames, bytes) = (frames + got.0, bytes + got.1);
        }
        println!("{}", json!({ "frames": frames, "bytes": bytes }));
    });
}

/// Processor time of this process's threads so far, seconds.
struct Used {
    /// The thread of `main`, which changes the map.
    main: f64,
    /// All others, which are the server's.
    server: f64,
}

impl Used {
    fn now() -> Self {
        let main = std::process::id().to_string();
        let mut used = Used { main: 0.0, server: 0.0 };
        for task in fs::read_dir("/proc/self/task").expect("is Linux").flatten() {
            // A thread may end meanwhile.
            let stat = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            let nanos = stat.split(' ').next().and_then(|time| time.parse::<u64>().ok());
            let whose = if *task.file_name() == *main { &mut used.main } else { &mut used.server };
            *whose += nanos.unwrap_or_default() as f64 / 1e9;
        }
        used
    }

    fn by_main(&self) -> f64 {
        Used::now().main - self.main
    }

    fn by_server(&self) -> f64 {
        Used::now().server - self.server
    }
}
