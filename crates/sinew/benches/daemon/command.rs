//! From a command on a TCP socket to its bytes at the end of the serial line.

use std::{
    path::Path,
    sync::mpsc::Receiver,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use sinew_sim::vacuum::Received;
use sinew_wire::gd32::Command;

use crate::{
    Bench, Distribution, Round, Row,
    client::Client,
    line::Line,
    micros,
    priority::raise_priority,
    process::{Meter, Process},
};

const COMMANDS: u32 = 2_000;
/// Below that of the thread that notes arrivals.
const PRIORITY: u8 = 50;
const PATIENCE: Duration = Duration::from_secs(2);
const TARGET: Duration = Duration::from_millis(1);

pub(crate) fn bench(bench: &Bench) -> anyhow::Result<()> {
    bench.case("command, TCP to serial bytes", || {
        let line = Line::start(110)?;
        let daemon = Process::serve(Path::new(env!("CARGO_BIN_EXE_sinew")), &line.link(), &[])?;
        let mut client = Client::connect(daemon.address("lines")?)?;
        client.wait_until_ready()?;
        let meter = Meter::start([&daemon])?;
        let sender = thread::spawn(move || {
            raise_priority(PRIORITY);
            times(&mut client, &line.frames)
        });
        let times = sender.join().unwrap_or_else(|_| anyhow::bail!("the sender panicked"))?;
        let times = Distribution::new(times)?;
        let p99 = times.at(0.99);
        let figure =
            format!("{} / {} / {}", micros(times.at(0.5)), micros(p99), micros(times.max()));
        Ok(Round {
            rows: vec![Row::new("p50 / p99 / max", figure).with_target("p99 < 1 ms", p99 < TARGET)],
            note: format!("{} commands, {}", times.len(), meter.read()?.note()),
            rank: p99.as_secs_f64(),
        })
    })
}

fn times(client: &mut Client, frames: &Receiver<Received>) -> anyhow::Result<Vec<Duration>> {
    let mut times = Vec::new();
    for number in 0..COMMANDS {
        // Each differs from the one before, and meets the heartbeat and the status at another time.
        let state = (number % 19) as u8;
        thread::sleep(Duration::from_micros(1_000 + u64::from(number * 379 % 1_000)));
        let action = json!({ "type": "Configure", "config": { "state": { "U8": state } } });
        let command = json!({ "type": "ComponentControl", "id": "led", "action": action });
        let line = format!("{command}\n");
        let begin = Instant::now();
        client.send(line.as_bytes())?;
        let arrived = loop {
            let frame = frames.recv_timeout(PATIENCE)?;
            if frame.command() == Command::Led && frame.payload() == [state] && frame.at >= begin {
                break frame.at;
            }
        };
        times.push(arrived - begin);
    }
    Ok(times)
}
