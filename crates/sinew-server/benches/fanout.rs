//! Status at 500 Hz to 1,000 subscribers: how much arrives, and what it costs the server.
//!
//! The subscribers run in a process of their own, so that the server's share of the processor can
//! be told. `cargo bench -p sinew-server -- [SUBSCRIBERS] [HZ] [SECONDS]`.

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    process::{Command as Process, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use sinew_robot::capability::{Audience, Reading, Robot, Sensors, sensor_group};
use sinew_server::{Config, Server};
use tokio::io::AsyncReadExt;

const GROUP: &str = "gd32_status";

fn main() {
    let mut args: Vec<_> = env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if args.first().is_some_and(|arg| arg == "subscribers") {
        let numbers = &args[1..];
        return subscribers(numbers[0].parse().expect("an address"), number(&numbers[1..], 0, 1));
    }
    args.retain(|arg| arg.parse::<u64>().is_ok());
    let (clients, hz, seconds) =
        (number(&args, 0, 1000), number(&args, 1, 500), number(&args, 2, 5));
    measure(clients, hz, seconds);
}

fn number(args: &[String], index: usize, default: u64) -> u64 {
    args.get(index).and_then(|arg| arg.parse().ok()).unwrap_or(default)
}

fn measure(clients: u64, hz: u64, seconds: u64) {
    let any = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let config = Config { tcp: None, http: None, lines: any, ..Config::default() };
    let mut server = Server::bind(config).expect("binds");
    let address = server.addresses().lines.expect("listens");
    let mut audience = None;
    let added: std::io::Result<()> = server.add("vacuum", |told, _| {
        audience = Some(told);
        let mut robot = Robot::new("source");
        robot.sensors.push(Arc::new(Source));
        Ok(robot)
    });
    added.expect("is new");
    let audience: Arc<dyn Audience> = audience.expect("is there");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("starts");
    runtime.spawn(server.run(std::future::pending()));

    let mut child = Process::new(env::current_exe().expect("is known"))
        .args(["subscribers", &address.to_string(), &clients.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut answers = BufReader::new(child.stdout.take().expect("is piped"));
    let mut line = String::new();
    answers.read_line(&mut line).expect("is subscribed");

    let count = hz * seconds;
    let (begin, before) = (Instant::now(), processor_seconds());
    for number in 0..count {
        let due = begin + Duration::from_secs_f64(number as f64 / hz as f64);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        audience.sensors(&reading(number));
    }
    let (time, used) = (begin.elapsed(), processor_seconds() - before);
    std::thread::sleep(Duration::from_millis(500));
    // The end of its input tells the child to count.
    drop(child.stdin.take());
    line.clear();
    answers.read_line(&mut line).expect("is told");
    let got: Value = serde_json::from_str(&line).expect("is JSON");
    child.wait().expect("ends");
    println!(
        "fanout: {clients} subscribers, {count} messages at {:.0} Hz: {:.3} % delivered, fewest \
         {}, {} clients lost some, server {:.2} cores, {} KiB resident",
        count as f64 / time.as_secs_f64(),
        100.0 * got["total"].as_u64().unwrap_or_default() as f64 / (clients * count) as f64,
        got["fewest"],
        got["losers"],
        used / time.as_secs_f64(),
        resident_kib(),
    );
}

/// Seconds of processor time this process has used; the kernel counts in hundredths.
fn processor_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("is Linux");
    let fields: Vec<_> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |index: usize| fields[index].parse::<f64>().expect("is a number");
    (ticks(11) + ticks(12)) / 100.0
}

fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("is Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).unwrap_or_default()
}

/// Subscribes many times, counts what comes, tells it at the end of its input.
fn subscribers(address: SocketAddr, clients: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("starts").block_on(async {
        let (end, ended) = tokio::sync::watch::channel(false);
        let mut tasks = Vec::new();
        for _ in 0..clients {
            let mut socket = TcpStream::connect(address).expect("connects");
            let topic = format!("sensors/{GROUP}");
            let message = json!({ "type": "Subscribe", "topics": [topic], "req": 1 });
            writeln!(socket, "{message}").expect("is connected");
            BufReader::new(&socket).read_line(&mut String::new()).expect("is answered");
            socket.set_nonblocking(true).expect("is set");
            let mut socket = tokio::net::TcpStream::from_std(socket).expect("is a socket");
            let mut ended = ended.clone();
            tasks.push(tokio::spawn(async move {
                let (mut lines, mut lost) = (0u64, false);
                let mut buffer = vec![0; 16 << 10];
                loop {
                    let count = tokio::select! {
                        count = socket.read(&mut buffer) => count.expect("is connected"),
                        _ = ended.changed() => return (lines, lost),
                    };
                    let bytes = &buffer[..count];
                    lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
                    lost |= bytes.windows(6).any(|window| window == b"\"Lost\"");
                }
            }));
        }
        println!("subscribed");
        let wait = || std::io::stdin().read_to_end(&mut Vec::new());
        tokio::task::spawn_blocking(wait).await.expect("runs").expect("is read");
        end.send_replace(true);
        let (mut total, mut fewest, mut losers) = (0, u64::MAX, 0);
        for task in tasks {
            let (lines, lost) = task.await.expect("runs");
            total += lines;
            fewest = fewest.min(lines);
            losers += u64::from(lost);
        }
        println!("{}", json!({ "total": total, "fewest": fewest, "losers": losers }));
    });
}

/// A robot that has nothing but status.
struct Source;

impl Sensors for Source {
    fn groups(&self) -> &'static [&'static str] {
        &[GROUP]
    }

    fn retained(&self, _: &str) -> Option<Reading> {
        None
    }
}

/// As long as a real one.
fn reading(number: u64) -> Reading {
    let json = move |_| {
        let no = json!({ "Bool": false });
        let values = json!({
            "battery_level": { "U8": 75 }, "battery_voltage": { "F32": 15.0 },
            "bumper_left": no, "bumper_right": no, "cliff_left_front": no,
            "cliff_left_side": no, "cliff_right_front": no, "cliff_right_side": no,
            "dock_button": { "U16": 0 }, "dustbox_attached": no, "is_charging": no,
            "is_dock_connected": no, "start_button": { "U16": 0 },
            "wheel_left": { "U16": number as u16 }, "wheel_right": { "U16": 4464 },
        });
        sensor_group(GROUP, number, &values)
    };
    Reading::new(GROUP, json)
}
