//! Every status packet to a thousand subscribers.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    os::fd::OwnedFd,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{Timespec, epoll},
    io::Errno,
};
use serde_json::json;

use crate::{
    Bench, Round, Row,
    client::{Client, metric},
    line::Line,
    process::{Meter, Process},
    raise_file_limit, wait_for,
};

const SUBSCRIBERS: usize = 1_000;
const RATE: u32 = 500;
const TIME: Duration = Duration::from_secs(10);
/// When nothing has come for this long, nothing is on its way.
const QUIET: Duration = Duration::from_millis(150);
/// How often the sockets are looked at. Less often is cheaper, and the processors are the daemon's.
const SWEEP: Duration = Duration::from_millis(5);

pub(crate) fn bench(bench: &Bench) -> anyhow::Result<()> {
    bench.case("status at 500 Hz to 1,000 subscribers", || {
        raise_file_limit()?;
        let line = Line::start(RATE)?;
        let daemon = Process::serve(Path::new(env!("CARGO_BIN_EXE_sinew")), &line.link(), &[])?;
        let address = daemon.address("lines")?;
        Client::connect(address)?.wait_until_ready()?;
        let mut subscribers = Subscribers::connect(address, SUBSCRIBERS)?;
        let http = daemon.address("http")?;
        wait_for("the subscriptions", || {
            subscribers.read_until(Instant::now() + SWEEP)?;
            Ok(metric(http, "sinew_subscribers")? == SUBSCRIBERS as u64)
        })?;

        // From one silence to the next each subscriber must get exactly what was sent between.
        line.pause(true);
        subscribers.read_until_quiet()?;
        let (sent, lost) = (line.statuses(), metric(http, "sinew_messages_lost_total")?);
        subscribers.lines.fill(0);
        subscribers.bytes = 0;
        let meter = Meter::start([&daemon])?;
        line.pause(false);
        subscribers.read_until(Instant::now() + TIME)?;
        line.pause(true);
        let usage = meter.read()?;
        subscribers.read_until_quiet()?;

        let sent = line.statuses() - sent;
        let lost = metric(http, "sinew_messages_lost_total")? - lost;
        let expected = sent * SUBSCRIBERS as u64;
        let total = subscribers.lines.iter().sum::<u64>();
        let least = subscribers.lines.iter().min().copied().unwrap_or_default();
        let all = lost == 0 && total == expected && least == sent && sent > 0;
        let each = subscribers.bytes / total.max(1);
        Ok(Round {
            rows: vec![
                Row::new("delivered", format!("{total} of {expected}")).with_target("all", all),
                Row::new("to the least served subscriber", format!("{least} of {sent}")),
                Row::new("lost, by the daemon's own count", lost.to_string()),
                Row::new("processor time of the daemon", format!("{:.2} cores", usage.daemon)),
                Row::new(
                    "memory of the daemon",
                    format!("{:.1} MB", daemon.resident()? as f64 / 1e6),
                ),
            ],
            note: format!(
                "{each} bytes a message, {:.0} packets a second, {}",
                sent as f64 / TIME.as_secs_f64(),
                usage.note()
            ),
            rank: expected.abs_diff(total) as f64,
        })
    })
}

/// Clients that count what they get, all on one thread.
pub(crate) struct Subscribers {
    epoll: OwnedFd,
    sockets: Vec<TcpStream>,
    /// Lines that each got.
    lines: Vec<u64>,
    bytes: u64,
    buffer: Vec<u8>,
}

impl Subscribers {
    pub(crate) fn connect(address: SocketAddr, count: usize) -> anyhow::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let subscribe = json!({ "type": "Subscribe", "topics": ["sensors/gd32_status"] });
        let mut sockets = Vec::new();
        for number in 0..count {
            let mut socket = TcpStream::connect(address)?;
            socket.write_all(format!("{subscribe}\n").as_bytes())?;
            socket.set_nonblocking(true)?;
            let data = epoll::EventData::new_u64(number as u64);
            epoll::add(&epoll, &socket, data, epoll::EventFlags::IN)?;
            sockets.push(socket);
        }
        let (lines, buffer) = (vec![0; count], vec![0; 256 << 10]);
        Ok(Subscribers { epoll, sockets, lines, bytes: 0, buffer })
    }

    /// Reads what comes until then.
    pub(crate) fn read_until(&mut self, end: Instant) -> anyhow::Result<()> {
        while Instant::now() < end {
            self.sweep()?;
            thread::sleep(SWEEP);
        }
        Ok(())
    }

    fn read_until_quiet(&mut self) -> anyhow::Result<()> {
        let mut end = Instant::now() + QUIET;
        while Instant::now() < end {
            if self.sweep()? {
                end = Instant::now() + QUIET;
            }
            thread::sleep(SWEEP);
        }
        Ok(())
    }

    /// Reads what is there; whether there was anything.
    fn sweep(&mut self) -> anyhow::Result<bool> {
        let mut events = Vec::with_capacity(self.sockets.len());
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&now)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            let data = event.data;
            let index = data.u64() as usize;
            let Some(mut socket) = self.sockets.get(index) else { continue };
            let count = socket.read(&mut self.buffer)?;
            anyhow::ensure!(count > 0, "the daemon closed a subscriber's connection");
            let got = self.buffer.get(..count).unwrap_or_default();
            self.bytes += count as u64;
            if let Some(lines) = self.lines.get_mut(index) {
                *lines += got.iter().filter(|byte| **byte == b'\n').count() as u64;
            }
        }
        Ok(!events.is_empty())
    }
}
