//! Plays one side of a capture to a live peer.
//!
//! A thread of its own reads the file; the pump's sends what the session lets pass, and ends it with a stop
//! when the file is not read on, the computer slept, or the program is told to end.

mod compare;
mod source;

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use sinew_robot::{
    Origin, Presence,
    playback::{Event, Fate, MOST_WAITING, Player, Request, Rules},
    vacuum,
};
use tokio::sync::oneshot;

use crate::{
    Address, Listener,
    link::{Link, SerialLink, UdpClient},
    lock,
    pump::{Handle, Policy},
};

pub use compare::{Comparison, Difference};
pub use source::Side;
use source::{Item, Source};

/// Pieces that the reader is ahead.
const AHEAD: usize = MOST_WAITING / 2;
/// How long a last answer is waited for, and all of them together.
const LAST_ANSWER: Duration = Duration::from_millis(300);
const ALL_ANSWERS: Duration = Duration::from_secs(3);
/// How long it may take until the player says why it ended.
const REASON: Duration = Duration::from_secs(2);
/// Kinds of reasons that are counted; further ones are counted as one.
const MOST_REASONS: usize = 32;

/// What is to be played.
#[derive(Debug, Clone)]
pub struct Options {
    /// The capture; `-` is standard input.
    pub file: PathBuf,
    /// The side that is played.
    pub side: Side,
    /// How much faster than it was captured; none is as fast as the link takes it.
    pub speed: Option<f64>,
    /// Whether what moves a robot passes.
    pub confirmed: bool,
    /// Whether the peer's answers are compared: then the last of them are waited for.
    pub compare: bool,
    /// Limits, dead-man and scales of a vacuum.
    pub settings: vacuum::Settings,
}

/// What became of it.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Frames or datagrams that were sent, and their bytes.
    pub sent: (u64, u64),
    /// What was left out, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// What was refused, in words.
    pub refused: BTreeMap<String, u64>,
    /// How often the wheels were told to stand, by reason.
    pub stills: BTreeMap<String, u64>,
    /// Bytes that the peer answered.
    pub answered: u64,
    /// The peer's answers beside those of the capture.
    pub comparison: Comparison,
    /// Why it ended before the file did.
    pub failure: Option<String>,
    /// Whether the file ended in the middle of a record.
    pub cut_off: bool,
    /// Lines of a log that are none of its rows.
    pub strange_lines: u64,
}

/// How far it is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Frames or datagrams that were sent.
    pub sent: u64,
    /// Bytes that were read of the file, and its length where that is known.
    pub read: (u64, Option<u64>),
}

enum Told {
    Connected,
    Ended(Option<String>),
    Read(Result<Played, String>),
}

/// What became of the file.
#[derive(Debug, Clone, Copy, Default)]
struct Played {
    /// It ended in the middle of a record.
    cut_off: bool,
    /// Lines of a log that are none of its rows.
    strange_lines: u64,
    /// Playing ended before the file did.
    stopped: bool,
}

/// What listener and reader have in common.
struct Shared {
    report: Mutex<Report>,
    told: Mutex<Sender<Told>>,
    answered: Mutex<Instant>,
}

impl Listener<Event> for Shared {
    fn event(&self, event: Event) {
        match event {
            Event::Connected => self.tell(Told::Connected),
            Event::Ended(failure) => self.tell(Told::Ended(failure)),
            Event::Still(why) => count(&mut lock(&self.report).stills, why),
            Event::Answer(bytes) => {
                *lock(&self.answered) = Instant::now();
                let mut report = lock(&self.report);
                report.answered += bytes.len() as u64;
                report.comparison.got(&bytes);
            }
        }
    }
}

impl Shared {
    fn tell(&self, told: Told) {
        let _ = lock(&self.told).send(told);
    }
}

/// Plays a capture to a link, until its end or until `is_interrupted`. Fails where nothing was played.
pub fn play(
    options: &Options,
    link: &Address,
    is_interrupted: impl Fn() -> bool,
    mut show: impl FnMut(Progress),
) -> io::Result<Report> {
    let (link, rules): (Box<dyn Link<Peer = ()>>, _) = match link {
        Address::Serial { path, baud } => {
            let settings = vacuum::Settings { baud: *baud, ..options.settings.clone() };
            (Box::new(SerialLink::new(path.clone(), *baud)), Rules::Vacuum(settings))
        }
        Address::Udp { host, port, .. } => {
            (Box::new(UdpClient::new(host.clone(), *port)), Rules::Teach)
        }
        other => {
            let message = format!("wanted serial: or udp:, got {other}");
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
    };
    let is_serial = matches!(rules, Rules::Vacuum(_));
    let from_robot = options.side == Side::Controller;
    let player = Player::new(rules, options.confirmed, from_robot, Instant::now());
    let (tell, told) = channel();
    let shared = Arc::new(Shared {
        report: Mutex::default(),
        told: Mutex::new(tell),
        answered: Mutex::new(Instant::now()),
    });
    // Where a stop may be needed its thread has to hold its time.
    let priority = options.confirmed.then_some(crate::vacuum::PRIORITY);
    let policy = Policy {
        name: "player",
        priority,
        relayed: priority.is_some(),
        farewell: Duration::from_millis(200),
    };
    let handle = Handle::spawn(player, link, policy, shared.clone(), None)?;
    let read = Arc::new(AtomicU64::new(0));
    let mut running =
        Running { handle, shared, told, read, length: None, reader: false, ended: false };
    let outcome = running.run(options, is_serial, &is_interrupted, &mut show);
    // Whatever happened: this is where a robot is stopped.
    running.handle.shut_down();
    outcome?;
    Ok(lock(&running.shared.report).clone())
}

struct Running {
    handle: Handle<Player>,
    shared: Arc<Shared>,
    told: Receiver<Told>,
    read: Arc<AtomicU64>,
    length: Option<u64>,
    /// The reader runs.
    reader: bool,
    /// The player has said that it ended, as it should.
    ended: bool,
}

impl Running {
    fn run(
        &mut self,
        options: &Options,
        is_serial: bool,
        is_interrupted: &dyn Fn() -> bool,
        show: &mut dyn FnMut(Progress),
    ) -> io::Result<()> {
        loop {
            if is_interrupted() {
                lock(&self.shared.report).failure = Some("it was interrupted".into());
                return Ok(());
            }
            let sent = lock(&self.shared.report).sent.0;
            show(Progress { sent, read: (self.read.load(Ordering::Relaxed), self.length) });
            match self.told.recv_timeout(Duration::from_millis(20)) {
                Ok(Told::Connected) if !self.reader => {
                    self.reader = true;
                    self.start_reader(options, is_serial)?;
                }
                Ok(Told::Connected) => {}
                Ok(Told::Ended(None)) => self.ended = true,
                Err(RecvTimeoutError::Timeout) => {}
                // The link could not be opened at all.
                Ok(Told::Ended(Some(reason))) if !self.reader => {
                    return Err(io::Error::other(reason));
                }
                Ok(Told::Ended(failure)) => {
                    lock(&self.shared.report).failure = failure;
                    return Ok(());
                }
                Ok(Told::Read(Err(reason))) => {
                    if lock(&self.shared.report).sent.0 == 0 {
                        return Err(io::Error::other(reason));
                    }
                    lock(&self.shared.report).failure = Some(reason);
                    return Ok(());
                }
                Ok(Told::Read(Ok(played))) => {
                    let failure = self.await_reason(played.stopped);
                    let is_whole = failure.is_none();
                    let mut report = lock(&self.shared.report);
                    report.cut_off = played.cut_off;
                    report.strange_lines = played.strange_lines;
                    report.failure = failure;
                    drop(report);
                    if is_whole {
                        self.await_answers(options.compare, is_interrupted);
                    }
                    return Ok(());
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    fn start_reader(&mut self, options: &Options, is_serial: bool) -> io::Result<()> {
        let (options, handle) = (options.clone(), self.handle.clone());
        let (shared, read) = (Arc::clone(&self.shared), Arc::clone(&self.read));
        self.length =
            std::fs::metadata(&options.file).ok().filter(|it| it.is_file()).map(|it| it.len());
        let work = move || {
            let outcome = Reader { handle, shared: &shared, waiting: VecDeque::new() }
                .run(&options, is_serial, read);
            shared.tell(Told::Read(outcome));
        };
        thread::Builder::new().name("reader".into()).spawn(work).map(drop)
    }

    /// Why the player ended, if not because the file did: it answers the reader before it says so.
    fn await_reason(&mut self, stopped: bool) -> Option<String> {
        let until = Instant::now() + REASON;
        while !self.ended {
            let left = until.saturating_duration_since(Instant::now());
            match self.told.recv_timeout(left) {
                Ok(Told::Ended(None)) => self.ended = true,
                Ok(Told::Ended(failure)) => return failure,
                Ok(Told::Connected | Told::Read(_)) => {}
                Err(_) => break,
            }
        }
        stopped.then(|| "playing had ended".into())
    }

    /// The last piece may be answered.
    fn await_answers(&self, compare: bool, is_interrupted: &dyn Fn() -> bool) {
        let begin = Instant::now();
        // Without comparing, some that are told are enough: a robot tells for as long as it runs.
        let longest = if compare { ALL_ANSWERS } else { LAST_ANSWER };
        while !is_interrupted() {
            let report = lock(&self.shared.report);
            let is_done = report.comparison.is_settled();
            drop(report);
            let since = lock(&self.shared.answered).max(begin);
            if is_done || since.elapsed() > LAST_ANSWER || begin.elapsed() > longest {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Reads the file, and hands in what is to be played.
struct Reader<'s> {
    handle: Handle<Player>,
    shared: &'s Shared,
    /// Pieces whose fate is not known, and their lengths.
    waiting: VecDeque<(oneshot::Receiver<Result<Fate, sinew_robot::Refusal>>, usize)>,
}

impl Reader<'_> {
    /// What became of the file, or why it cannot be read.
    fn run(
        mut self,
        options: &Options,
        is_serial: bool,
        read: Arc<AtomicU64>,
    ) -> Result<Played, String> {
        let mut source = Source::open(&options.file, options.side, is_serial, read)?;
        let mut found = false;
        let mut time = Clock { speed: options.speed, last: None, at: Duration::ZERO };
        while let Some(items) = source.next_items() {
            for item in items {
                match item {
                    Item::Other(bytes) => lock(&self.shared.report).comparison.expected(&bytes),
                    Item::LeftOut(why) => {
                        count(&mut lock(&self.shared.report).left_out, why.into())
                    }
                    Item::Piece(nanos, bytes) => {
                        found = true;
                        let at = time.at(nanos);
                        if !self.send(at, bytes)? {
                            return Ok(Played { stopped: true, ..Played::default() });
                        }
                    }
                }
            }
        }
        lock(&self.shared.report).comparison.all_expected();
        if !found {
            return Err(source.nothing_found());
        }
        let mut stopped = false;
        while !self.waiting.is_empty() {
            stopped |= !self.settle()?;
        }
        let last = self.handle.ask(Request::End, origin()).map_err(|error| error.message)?;
        let _ = last.blocking_recv();
        Ok(Played { stopped, ..source.played() })
    }

    /// Whether playing goes on.
    fn send(&mut self, at: Duration, bytes: Vec<u8>) -> Result<bool, String> {
        let length = bytes.len();
        let asked = self.handle.ask(Request::Send { at, bytes }, origin());
        self.waiting.push_back((asked.map_err(|error| error.message)?, length));
        if self.waiting.len() < AHEAD { Ok(true) } else { self.settle() }
    }

    /// Waits for the fate of the first piece that waits; whether playing goes on.
    fn settle(&mut self) -> Result<bool, String> {
        let Some((fate, length)) = self.waiting.pop_front() else { return Ok(true) };
        let fate = match fate.blocking_recv() {
            Ok(Ok(fate)) => fate,
            Ok(Err(refusal)) => return Err(refusal.message),
            Err(_) => Fate::Ended,
        };
        let mut report = lock(&self.shared.report);
        match fate {
            Fate::Sent => {
                report.sent.0 += 1;
                report.sent.1 += length as u64;
            }
            Fate::LeftOut(why) => count(&mut report.left_out, why.into()),
            Fate::Refused(why) => count(&mut report.refused, why),
            Fate::Ended => {
                count(&mut report.left_out, "playing had ended".into());
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// No client asks: the file does.
fn origin() -> Origin {
    Origin {
        by: "the capture".into(),
        client: 0,
        robot: "the peer".into(),
        epoch: 0,
        received: Instant::now(),
        presence: Presence::default(),
    }
}

/// The capture's time as that of playing.
struct Clock {
    speed: Option<f64>,
    last: Option<i64>,
    at: Duration,
}

impl Clock {
    /// A silence in a capture does not last longer.
    const LONGEST_SILENCE: Duration = Duration::from_secs(60);

    fn at(&mut self, nanos: i64) -> Duration {
        // Times that go back are damage: such a piece comes at once.
        let since = nanos.saturating_sub(self.last.unwrap_or(nanos)).max(0);
        self.last = Some(nanos);
        if let Some(speed) = self.speed {
            let silence = Duration::from_nanos(since as u64).min(Self::LONGEST_SILENCE);
            let scaled = Duration::try_from_secs_f64(silence.as_secs_f64() / speed);
            self.at = self.at.saturating_add(scaled.unwrap_or(Self::LONGEST_SILENCE));
        }
        self.at
    }
}

fn count(reasons: &mut BTreeMap<String, u64>, why: String) {
    let is_new = !reasons.contains_key(&why);
    let why = if is_new && reasons.len() >= MOST_REASONS { "other reasons".into() } else { why };
    *reasons.entry(why).or_default() += 1;
}
