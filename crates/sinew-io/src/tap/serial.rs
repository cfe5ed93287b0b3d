//! A serial line with us in between.

use std::{
    io,
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    sync::{Arc, mpsc::Sender},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::inotify,
    io::Errno,
    termios::{QueueSelector, tcflush},
};
use sinew_capture::write::SERIAL_LINK;

use super::{Counters, Forward, Logs, Notice, Running, Show};
use crate::{Pty, link::Port};

/// How long to wait before opening the device again, at first and at most.
const REOPEN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// How long a program may read nothing before what comes for it is lost, as on a real line.
const DEAF: Duration = Duration::from_secs(1);
/// What is read at once: as much as a terminal gives.
const AT_ONCE: usize = 4096;
/// Reads of one side before the other is looked at again.
const TURN: usize = 16;

/// A tap of a serial line, which runs until it is dropped.
pub struct SerialTap {
    path: PathBuf,
    running: Running,
}

impl SerialTap {
    /// Puts a tap between a device and a pseudo-terminal; with `symlink`, under a name that stays the
    /// same. The device need not be there yet.
    pub fn start(
        device: &Path,
        baud: u32,
        symlink: Option<&Path>,
        logs: Logs,
        show: Show,
        notices: Sender<Notice>,
    ) -> io::Result<Self> {
        let pty = Pty::open(symlink)?;
        let path = pty.path().to_owned();
        let opens = Opens::new(&path).ok();
        let host = Port::new(pty.master()?)?;
        let mut device = Device {
            path: device.into(),
            baud,
            port: None,
            open_at: Instant::now(),
            back_off: REOPEN.0,
            told: None,
        };
        // Before it is said that we are ready; one that is not there is tried again.
        device.port = Port::open_serial(&device.path, baud).ok();
        if device.port.is_some() {
            let _ = notices.send(Notice::DeviceOpen);
        }
        let interface = device.path.display().to_string();
        let running =
            Running::start(logs, SERIAL_LINK, interface, show, notices, move |forward| {
                Between { forward, device, host, pty, opens, unread: 0, unsent: 0 }.run();
            })?;
        Ok(SerialTap { path, running })
    }

    /// The pseudo-terminal to open in the device's place.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What has passed.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.running.counters
    }
}

struct Device {
    path: PathBuf,
    baud: u32,
    port: Option<Port>,
    open_at: Instant,
    back_off: Duration,
    /// Why it is not open, if that was said.
    told: Option<String>,
}

struct Between {
    forward: Forward,
    device: Device,
    host: Port,
    pty: Pty,
    /// Whether a program has the pseudo-terminal open; none where the system does not tell.
    opens: Option<Opens>,
    /// Bytes that a program did not read in time, and those that came without a device.
    unread: u64,
    unsent: u64,
}

impl Between {
    fn run(mut self) {
        let mut buffer = [0; AT_ONCE];
        while !self.forward.is_ending() {
            self.notice_programs();
            self.open_when_due(Instant::now());
            let more = self.turn(&mut buffer);
            if let Err(error) = self.wait(more) {
                return self.forward.tell(Notice::Ended(error.to_string()));
            }
        }
    }

    /// Forwards what is there; whether there may be more.
    fn turn(&mut self, buffer: &mut [u8]) -> bool {
        let now = Instant::now();
        // What the pseudo-terminal says of its other end does not concern us, who hold it open.
        let _ = self.host.take_events(now).and_then(|()| self.host.flush(now));
        if let Some(port) = &mut self.device.port
            && let Err(error) = port.take_events(now).and_then(|()| port.flush(now))
        {
            self.lose_device(now, &error);
        }
        let to_device = self.feed_device(buffer);
        let to_host = self.feed_host(buffer);
        to_device || to_host
    }

    fn feed_device(&mut self, buffer: &mut [u8]) -> bool {
        for _ in 0..TURN {
            // A device that takes no more keeps the program waiting, as a line does.
            if self.device.port.as_ref().is_some_and(|port| port.stuck_since().is_some()) {
                return false;
            }
            let Ok(count @ 1..) = self.host.read(buffer) else { return false };
            // Two programs that open it at once are told as one.
            if let Some(opens) = &mut self.opens {
                opens.count = opens.count.max(1);
            }
            let now = Instant::now();
            let bytes = buffer.get(..count).unwrap_or_default();
            let Some(port) = &mut self.device.port else {
                self.unsent += count as u64;
                continue;
            };
            let sent = port.write(now, bytes);
            self.forward.notes.note(now, true, None, bytes);
            if let Err(error) = sent {
                self.lose_device(now, &error);
            }
        }
        true
    }

    fn feed_host(&mut self, buffer: &mut [u8]) -> bool {
        for _ in 0..TURN {
            let now = Instant::now();
            let stuck = self.host.stuck_since().map(|since| now.saturating_duration_since(since));
            if stuck.is_some_and(|stuck| stuck < DEAF) {
                return false;
            }
            let Some(port) = &mut self.device.port else { return false };
            let count = match port.read(buffer) {
                Ok(0) => return false,
                Ok(count) => count,
                Err(error) => {
                    self.lose_device(now, &error);
                    return false;
                }
            };
            let now = Instant::now();
            let bytes = buffer.get(..count).unwrap_or_default();
            if self.opens.as_ref().is_none_or(|opens| opens.count > 0) {
                match stuck {
                    None => drop(self.host.write(now, bytes)),
                    Some(_) => {
                        if self.unread == 0 {
                            self.forward.tell(Notice::NotRead(count as u64));
                        }
                        self.unread += count as u64;
                    }
                }
            }
            self.forward.notes.note(now, false, None, bytes);
            if self.host.stuck_since().is_none() {
                self.unread = 0;
            }
        }
        true
    }

    fn open_when_due(&mut self, now: Instant) {
        let device = &mut self.device;
        if device.port.is_some() || now < device.open_at {
            return;
        }
        match Port::open_serial(&device.path, device.baud) {
            Ok(port) => {
                device.port = Some(port);
                device.back_off = REOPEN.0;
                device.told = None;
                self.forward.tell(Notice::DeviceOpen);
                if self.unsent > 0 {
                    self.forward.tell(Notice::NotSent(std::mem::take(&mut self.unsent)));
                }
            }
            Err(error) => self.lose_device(now, &error),
        }
    }

    fn lose_device(&mut self, now: Instant, error: &io::Error) {
        let device = &mut self.device;
        device.port = None;
        device.open_at = now + device.back_off;
        device.back_off = (device.back_off * 2).min(REOPEN.1);
        let reason = error.to_string();
        if device.told.as_ref() != Some(&reason) {
            device.told = Some(reason.clone());
            self.forward.tell(Notice::DeviceGone(reason));
        }
    }

    /// Programs come and go; what none reads is not kept for the next.
    fn notice_programs(&mut self) {
        let Some(opens) = &mut self.opens else { return };
        let before = opens.count;
        opens.look();
        match (before > 0, opens.count > 0) {
            (false, true) => self.forward.tell(Notice::ProgramOpen),
            (true, false) => {
                self.host.forget();
                let _ = tcflush(self.pty.slave(), QueueSelector::IFlush);
                self.forward.tell(Notice::ProgramGone);
            }
            _ => {}
        }
    }

    fn wait(&mut self, more: bool) -> io::Result<()> {
        let now = Instant::now();
        let open = self.device.port.is_none().then_some(self.device.open_at);
        let deaf = self.host.stuck_since().map(|since| since + DEAF).filter(|at| *at > now);
        let until = open.into_iter().chain(deaf).min();
        let left = match more {
            true => Some(Duration::ZERO),
            false => until.map(|until| until.saturating_duration_since(now)),
        };
        let left = left.map(|left| Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: left.subsec_nanos().into(),
        });
        let fds: [Option<BorrowedFd<'_>>; 4] = [
            Some(self.forward.waker.as_fd()),
            Some(self.host.events()),
            self.device.port.as_ref().map(Port::events),
            self.opens.as_ref().map(|opens| opens.fd.as_fd()),
        ];
        let mut fds: Vec<_> = fds
            .into_iter()
            .flatten()
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        match poll(&mut fds, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if fds.first().is_some_and(|waker| !waker.revents().is_empty()) {
            self.forward.waker.reset();
        }
        Ok(())
    }
}

/// How many times programs have a file open.
struct Opens {
    fd: OwnedFd,
    count: u64,
}

impl Opens {
    fn new(path: &Path) -> io::Result<Self> {
        let fd = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        let events = inotify::WatchFlags::OPEN | inotify::WatchFlags::CLOSE;
        inotify::add_watch(&fd, path, events)?;
        Ok(Opens { fd, count: 0 })
    }

    fn look(&mut self) {
        let mut space = [MaybeUninit::uninit(); 1024];
        let mut reader = inotify::Reader::new(&self.fd, &mut space);
        while let Ok(event) = reader.next() {
            let event = event.events();
            if event.contains(inotify::ReadFlags::OPEN) {
                self.count += 1;
            }
            let close = inotify::ReadFlags::CLOSE_WRITE | inotify::ReadFlags::CLOSE_NOWRITE;
            if event.intersects(close) {
                self.count = self.count.saturating_sub(1);
            }
        }
    }
}
