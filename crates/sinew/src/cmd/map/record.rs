//! A robot's messages, as they come, in a file that `replay:` and `sinew map info` read.

use std::{
    fs::File,
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use serde_json::json;
use sinew_api::{
    Topic,
    frame::{Frame, Kind},
};
use sinew_robot::map::file::messages::{self, Recorded};
use sinew_wire::unitree::{Binary, Form};

use super::socket::{Heard, Socket};
use crate::{
    DONE,
    client::Daemon,
    interrupt::Wake,
    output::printable_json,
    progress::{self, Progress},
    say::{say, warn},
    terminal::wait,
};

const TOPIC: &str = "messages";
/// A recorder that is killed has written all but the last of these.
const FLUSH: Duration = Duration::from_millis(500);
/// It is written before it takes more memory than this.
const PENDING: usize = 1 << 20;
/// How often it is shown how far it is.
const SHOWN: Duration = Duration::from_millis(100);
/// How long the daemon may be silent.
const PATIENCE: Duration = Duration::from_secs(10);

/// Write all that a robot sends to a file, message by message, until Ctrl-C.
///
/// `sinew map info FILE` tells what is in it; the link `replay:FILE` plays it to a daemon.
#[derive(clap::Args)]
pub(super) struct Args {
    /// What to write.
    file: PathBuf,
    /// End after so many seconds.
    #[arg(long, value_name = "N", value_parser = seconds)]
    seconds: Option<Duration>,
    /// Write over a file that is there.
    #[arg(long)]
    force: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("wanted seconds, got {text:?}");
    let number = text.parse().ok().filter(|number| *number > 0.0);
    Duration::try_from_secs_f64(number.ok_or_else(wrong)?).map_err(|_| wrong())
}

pub(super) fn run(args: &Args, daemon: &Daemon, json: bool) -> anyhow::Result<u8> {
    if !args.force {
        super::write::check_free(&args.file)?;
    }
    let mut wake = Wake::new()?;
    let mut socket = Socket::open(daemon, &[Topic::Frames(TOPIC)])?;
    let mut recorder = Recorder::new(&args.file, args.force)?;
    let begin = Instant::now();
    let end = args.seconds.map(|seconds| begin + seconds);
    let mut shown = None;
    let outcome = loop {
        match step(&mut recorder, &mut socket, &mut wake, end) {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
        if shown.is_none_or(|shown: Instant| shown.elapsed() >= SHOWN) {
            shown = Some(Instant::now());
            let (clock, part) = progress::clock(begin.elapsed(), args.seconds);
            recorder.show(&clock, part);
        }
    };
    // Whatever ended it, what has come is kept.
    let outcome = outcome.and(recorder.flush().with_context(|| cannot_write(&args.file)));
    recorder.progress.end();
    if recorder.messages == 0 && outcome.is_err() {
        // Refused before anything came: a file without messages would be in the way.
        if args.file.is_file() {
            let _ = std::fs::remove_file(&args.file);
        }
    } else {
        recorder.tell(begin.elapsed(), outcome.is_err());
    }
    if json && outcome.is_ok() {
        let said = json!({
            "file": args.file,
            "messages": recorder.messages,
            "clouds": recorder.clouds,
            "bytes": recorder.written,
            "seconds": begin.elapsed().as_secs_f64(),
            "lost": recorder.lost,
        });
        writeln!(std::io::stdout().lock(), "{}", printable_json(&said))?;
    }
    outcome.map(|()| DONE)
}

/// Takes what came, or waits for it; gives whether to go on.
fn step(
    recorder: &mut Recorder,
    socket: &mut Socket,
    wake: &mut Wake,
    end: Option<Instant>,
) -> anyhow::Result<bool> {
    let now = Instant::now();
    if wake.is_end() || end.is_some_and(|end| now >= end) {
        return Ok(false);
    }
    let ask_at = socket.ask(now)?;
    if let Some(silence) = socket.silence().filter(|silence| *silence > PATIENCE) {
        bail!("the daemon has not answered for {} s", silence.as_secs());
    }
    let flush_at = recorder.flushed + FLUSH;
    if now >= flush_at {
        recorder.flush().with_context(|| cannot_write(&recorder.path))?;
    }
    let until = [Some(ask_at), Some(now + FLUSH), end].into_iter().flatten().min();
    wait(&*socket, &*wake, None, until)?;
    while let Some(heard) = socket.next()? {
        let Heard::Frame(bytes) = heard else { continue };
        // What is no frame of messages is not for us.
        let Ok(frame) = Frame::read(&bytes) else { continue };
        if frame.kind == Kind::Message {
            socket.acknowledge(TOPIC, frame.header.sequence)?;
            recorder.take(&frame).with_context(|| cannot_write(&recorder.path))?;
        }
        if recorder.flushed.elapsed() > FLUSH {
            break;
        }
    }
    Ok(true)
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

struct Recorder {
    path: PathBuf,
    file: File,
    pending: Vec<u8>,
    /// What the file holds: whole messages.
    written: u64,
    flushed: Instant,
    /// The time of the first message, microseconds, and the number of the last.
    first_us: Option<u64>,
    last: Option<(u32, u64)>,
    messages: u64,
    clouds: u64,
    lost: u64,
    progress: Progress,
}

impl Recorder {
    fn new(path: &Path, force: bool) -> anyhow::Result<Self> {
        let mut options = File::options();
        options.write(true);
        let file = match force {
            true => options.create(true).truncate(true).open(path),
            false => options.create_new(true).open(path),
        };
        let mut recorder = Recorder {
            path: path.into(),
            file: file.with_context(|| cannot_write(path))?,
            pending: messages::begin().into(),
            written: 0,
            flushed: Instant::now(),
            first_us: None,
            last: None,
            messages: 0,
            clouds: 0,
            lost: 0,
            progress: Progress::new(),
        };
        recorder.flush().with_context(|| cannot_write(path))?;
        Ok(recorder)
    }

    fn take(&mut self, frame: &Frame<'_>) -> std::io::Result<()> {
        let header = &frame.header;
        if let Some((epoch, last)) = self.last
            && epoch == header.epoch
        {
            // A number that does not rise is counted anew.
            self.lost += header.sequence.saturating_sub(last).saturating_sub(1);
        }
        self.last = Some((header.epoch, header.sequence));
        let first = *self.first_us.get_or_insert(header.time_us);
        let form = if header.name == "text" { Form::Text } else { Form::Binary };
        let at = Duration::from_micros(header.time_us.saturating_sub(first));
        let message = Recorded { at, form, bytes: frame.bytes() };
        messages::append(message, &mut self.pending);
        self.messages += 1;
        self.clouds += u64::from(is_cloud(&message));
        match self.pending.len() > PENDING {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Writes what waits. Where that fails the file keeps the messages that it has whole.
    fn flush(&mut self) -> std::io::Result<()> {
        self.flushed = Instant::now();
        let written = self.file.write_all(&self.pending);
        match &written {
            Ok(()) => self.written += self.pending.len() as u64,
            // What is left of a message is no harm: a recording may end within one.
            Err(_) => drop(self.file.set_len(self.written)),
        }
        self.pending.clear();
        written
    }

    fn show(&mut self, clock: &str, part: Option<f64>) {
        let megabytes = (self.written + self.pending.len() as u64) as f64 / 1e6;
        let (messages, clouds) = (self.messages, self.clouds);
        let text = format!("{messages} messages, {clouds} clouds, {megabytes:.1} MB, {clock}");
        self.progress.show(&text, part);
    }

    /// Says what came of it.
    fn tell(&self, time: Duration, failed: bool) {
        let (shown, seconds) = (self.path.display(), time.as_secs_f64());
        let megabytes = self.written as f64 / 1e6;
        if self.messages == 0 && !failed {
            warn("no message came; `sinew map start` has a robot send clouds");
        } else if failed {
            say(&format!("what came before, {megabytes:.1} MB, is in {shown}"));
        } else {
            let (messages, clouds) = (self.messages, self.clouds);
            say(&format!(
                "recorded {messages} messages, {clouds} of them clouds, in {seconds:.1} s: \
                 {megabytes:.1} MB in {shown}"
            ));
        }
        if self.lost > 0 {
            warn(&format!("{} messages were lost on the way", self.lost));
        }
    }
}

/// Whether `sinew map info` will count it as one.
fn is_cloud(message: &Recorded<'_>) -> bool {
    let topic = || Binary::new_checked(message.bytes).ok()?.message().ok()?.topic;
    message.form == Form::Binary && topic().is_some_and(|topic| topic.contains("slam"))
}
