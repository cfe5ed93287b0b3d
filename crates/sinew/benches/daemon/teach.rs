//! From a teaching request on a TCP socket to its reply, which the robot has to answer by datagram.
//!
//! In turns with every request a datagram of the size of the daemon's goes to a bare thread and
//! back: what the machine needs for that alone.

use std::{
    net::UdpSocket,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use sinew_wire::teach::{Interpolation, Keyframes, Layout, Message, Play, Sequence};

use crate::{
    Bench, Distribution, Round, Row,
    client::Client,
    micros,
    priority::raise_priority,
    process::{Meter, Process},
    wait_for,
};

const TURNS: u32 = 1_000;
/// A second of them: the arms have moved by then.
const FRAMES: u64 = 50;
/// That of the sender of commands.
const PRIORITY: u8 = 50;
const PATIENCE: Duration = Duration::from_secs(2);
const ANY: &str = "127.0.0.1:0";

pub(crate) fn bench(bench: &Bench) -> anyhow::Result<()> {
    bench.case("teach, request to reply", || {
        let robot = Process::sinew(&["sim", "g1", "--teach", ANY])?;
        let ports = ["--tcp", "off", "--http", "off", "--lines", ANY];
        let daemon = Process::sinew(&[&["serve", "--g1", robot.link()?][..], &ports].concat())?;
        let mut client = Client::connect(daemon.address("lines")?)?;
        client.wait_until_ready()?;
        let action = save(&mut client)?;
        let mut verbs = verbs(action)?;
        let echo = Echo::start()?;
        let meter = Meter::start([&daemon, &robot])?;
        let sender = thread::spawn(move || {
            raise_priority(PRIORITY);
            times(&mut client, &echo, &mut verbs).map(|()| verbs)
        });
        let verbs = sender.join().unwrap_or_else(|_| anyhow::bail!("the sender panicked"))?;
        let usage = meter.read()?;
        let mut rows = Vec::new();
        let mut rank = 0.0;
        for verb in verbs {
            let (ours, bare) = (Distribution::new(verb.times)?, Distribution::new(verb.bare)?);
            rows.push(Row::new(verb.row, figure(&ours)));
            rows.push(Row::new("  a bare datagram of its size, both ways", figure(&bare)));
            let ratio = |share| ours.at(share).as_secs_f64() / bare.at(share).as_secs_f64();
            let ratios = format!("{:.1} x / {:.1} x", ratio(0.5), ratio(0.99));
            rows.push(Row::new("  ratio", ratios));
            rank += ours.at(0.99).as_secs_f64();
        }
        Ok(Round { rows, note: format!("{TURNS} of each, {}", usage.note()), rank })
    })
}

fn figure(times: &Distribution) -> String {
    format!("{} / {}", micros(times.at(0.5)), micros(times.at(0.99)))
}

/// A request that is timed.
struct Verb {
    row: &'static str,
    request: Value,
    /// What the daemon sends the robot for it.
    datagram: Vec<u8>,
    times: Vec<Duration>,
    bare: Vec<Duration>,
}

/// What is asked in turns. Each play is stopped, so that the next one begins anew.
fn verbs(action: u32) -> anyhow::Result<[Verb; 3]> {
    let verb = |row, request, message: Message<'_>| {
        let datagram = message.to_vec(Layout::Documented, Sequence::default())?;
        anyhow::Ok(Verb { row, request, datagram, times: Vec::new(), bare: Vec::new() })
    };
    let play = Play {
        action_id: action,
        frame_count: 0,
        duration_ms: 0,
        interpolation: Interpolation::Linear,
        keyframes: Keyframes::default(),
        rest: &[],
    };
    Ok([
        verb("list, p50 / p99", json!({ "op": "list" }), Message::ListRequest { rest: &[] })?,
        verb("play, p50 / p99", json!({ "op": "play", "id": action }), Message::Play(play))?,
        verb(
            "stop, p50 / p99",
            json!({ "op": "stop" }),
            Message::Exit { mode_flags: 0, rest: &[] },
        )?,
    ])
}

fn times(client: &mut Client, echo: &Echo, verbs: &mut [Verb]) -> anyhow::Result<()> {
    for number in 0..TURNS {
        for verb in verbs.iter_mut() {
            // Each meets the status and the opening cycle at another time.
            let pause = Duration::from_micros(1_000 + u64::from(number * 379 % 1_000));
            thread::sleep(pause);
            verb.bare.push(echo.round_trip(&verb.datagram)?);
            thread::sleep(pause);
            verb.times.push(teach(client, &verb.request)?.0);
        }
    }
    Ok(())
}

/// Carries out a request; how long it took, and what was answered.
fn teach(client: &mut Client, request: &Value) -> anyhow::Result<(Duration, Value)> {
    let mut request = request.clone();
    request["type"] = "Teach".into();
    request["req"] = 1.into();
    let line = format!("{request}\n");
    let begin = Instant::now();
    let line = client.ask(line.as_bytes())?;
    let time = begin.elapsed();
    let mut reply: Value = serde_json::from_str(&line)?;
    anyhow::ensure!(reply["ok"] == true, "{request} was answered by {reply}");
    Ok((time, reply["data"].take()))
}

/// Has the robot taught a short action; its number.
fn save(client: &mut Client) -> anyhow::Result<u32> {
    teach(client, &json!({ "op": "enter" }))?;
    teach(client, &json!({ "op": "record_start", "name": "bench" }))?;
    wait_for("frames", || {
        let frames = client.robot("/state/recorded_frames")?;
        Ok(frames.and_then(|frames| frames.as_u64()).is_some_and(|frames| frames >= FRAMES))
    })?;
    teach(client, &json!({ "op": "record_stop" }))?;
    let (_, saved) = teach(client, &json!({ "op": "save", "name": "bench" }))?;
    anyhow::ensure!(saved["keyframes"] != 0, "the arms did not move: {saved}");
    teach(client, &json!({ "op": "exit" }))?;
    let (_, list) = teach(client, &json!({ "op": "list" }))?;
    let id = list["actions"][0]["id"].as_u64().and_then(|id| id.try_into().ok());
    id.ok_or_else(|| anyhow::anyhow!("the action is not listed: {list}"))
}

/// A thread that sends every datagram back; ends with an empty one.
struct Echo {
    socket: UdpSocket,
    thread: Option<thread::JoinHandle<()>>,
}

impl Echo {
    fn start() -> anyhow::Result<Self> {
        let (socket, other) = (UdpSocket::bind(ANY)?, UdpSocket::bind(ANY)?);
        socket.connect(other.local_addr()?)?;
        other.connect(socket.local_addr()?)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let thread = thread::spawn(move || {
            let mut buffer = [0; 2048];
            while let Ok(count @ 1..) = other.recv(&mut buffer)
                && let Some(datagram) = buffer.get(..count)
                && other.send(datagram).is_ok()
            {}
        });
        Ok(Echo { socket, thread: Some(thread) })
    }

    fn round_trip(&self, datagram: &[u8]) -> anyhow::Result<Duration> {
        let mut buffer = [0; 2048];
        let begin = Instant::now();
        self.socket.send(datagram)?;
        let count = self.socket.recv(&mut buffer)?;
        let time = begin.elapsed();
        anyhow::ensure!(buffer.get(..count) == Some(datagram), "another datagram came back");
        Ok(time)
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        let _ = self.socket.send(&[]);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
