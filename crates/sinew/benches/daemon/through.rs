//! Numbered frames through pseudo-terminals, and when they come. Tests use it too.

use std::{
    fs::{File, OpenOptions},
    io::{Read, Write},
    os::{fd::AsFd, unix::fs::OpenOptionsExt},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anyhow::Context;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::OFlags,
};
use sinew_io::Pty;
use sinew_wire::gd32::{Deframer, FrameBuf, STATUS_LEN, What};

use crate::priority::raise_priority;

/// Above that of the tap's thread: these tell the time.
const PRIORITY: u8 = 60;
/// How long after the last frame another is waited for.
const PATIENCE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };
/// What a controller sends, and what it is sent.
const STATUS: (u8, usize) = (0x15, STATUS_LEN);
const COMMAND: (u8, usize) = (0x66, 8);

/// What became of the frames of one direction.
pub(crate) struct Passed {
    pub(crate) sent: usize,
    pub(crate) delays: Vec<Duration>,
    /// Frames that came behind one that was sent later.
    pub(crate) late: usize,
    /// Bytes that belong to no frame.
    pub(crate) rubbish: u64,
}

/// A device that this process holds: what the tap is to open, and its other end.
pub(crate) fn device(name: &Path) -> anyhow::Result<(Pty, File)> {
    let pty = Pty::open(Some(name))?;
    let master = File::from(pty.master()?);
    Ok((pty, master))
}

/// Opens a pseudo-terminal as a program does.
pub(crate) fn open(path: &Path) -> anyhow::Result<File> {
    let flags = (OFlags::NOCTTY | OFlags::NONBLOCK).bits() as i32;
    let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path);
    opened.with_context(|| format!("cannot open {}", path.display()))
}

/// Sends frames both ways at once, so many a second for so long. The device's come first.
pub(crate) fn both_ways(
    device: &File,
    host: &File,
    rate: u32,
    time: Duration,
) -> anyhow::Result<[Passed; 2]> {
    let count = (time.as_secs_f64() * f64::from(rate)).round() as usize;
    let period = Duration::from_secs(1) / rate;
    let from_device = start(device, host, STATUS, count, period)?;
    let from_host = start(host, device, COMMAND, count, period)?;
    Ok([from_device()?, from_host()?])
}

type Ending = Box<dyn FnOnce() -> anyhow::Result<Passed>>;

/// One direction: a thread that sends and one that hears.
fn start(
    from: &File,
    to: &File,
    kind: (u8, usize),
    count: usize,
    period: Duration,
) -> anyhow::Result<Ending> {
    let (mut from, to) = (from.try_clone()?, to.try_clone()?);
    let hearing = thread::spawn(move || {
        raise_priority(PRIORITY);
        hear(to, kind.0, count)
    });
    let sending = thread::spawn(move || -> anyhow::Result<Vec<Instant>> {
        raise_priority(PRIORITY);
        let mut times = Vec::with_capacity(count);
        let begin = Instant::now();
        for number in 0..count {
            let mut payload = vec![0; kind.1];
            payload[..8].copy_from_slice(&(number as u64).to_le_bytes());
            let frame = FrameBuf::new(kind.0, &payload)?;
            thread::sleep(
                (begin + period * number as u32).saturating_duration_since(Instant::now()),
            );
            times.push(Instant::now());
            from.write_all(frame.as_bytes())?;
        }
        Ok(times)
    });
    Ok(Box::new(move || {
        let sent = sending.join().map_err(|_| anyhow::anyhow!("the sender ended"))??;
        let (came, rubbish) = hearing.join().map_err(|_| anyhow::anyhow!("the hearer ended"))??;
        let pairs = came.iter().filter_map(|(number, at)| Some((*at, sent.get(*number as usize)?)));
        let delays = pairs.map(|(at, sent)| at.saturating_duration_since(*sent)).collect();
        let late = came.windows(2).filter(|pair| pair[1].0 <= pair[0].0).count();
        Ok(Passed { sent: sent.len(), delays, late, rubbish })
    }))
}

/// Frames with their numbers and times, until all have come or none does.
fn hear(mut port: File, command: u8, count: usize) -> anyhow::Result<(Vec<(u64, Instant)>, u64)> {
    let mut deframer = Deframer::new();
    let mut came = Vec::with_capacity(count);
    let mut buffer = [0; 4096];
    while came.len() < count {
        let mut fds = [PollFd::from_borrowed_fd(port.as_fd(), PollFlags::IN)];
        if poll(&mut fds, Some(&PATIENCE))? == 0 {
            break;
        }
        let length = match port.read(&mut buffer) {
            Ok(length) => length,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error.into()),
        };
        let now = Instant::now();
        deframer.push(&buffer[..length], |piece| {
            if let What::Frame(frame) = piece.what
                && frame.command() == command
                && let Some(number) = frame.payload().first_chunk()
            {
                came.push((u64::from_le_bytes(*number), now));
            }
        });
    }
    Ok((came, deframer.counters().dropped))
}
