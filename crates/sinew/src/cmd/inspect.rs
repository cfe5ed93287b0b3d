//! `sinew inspect`: what is in a capture?

mod diff;
mod extract;
mod list;
#[cfg(feature = "mcap")]
mod recording;
mod text;

use std::{
    cell::Cell,
    fs::File,
    io::{self, Read, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    rc::Rc,
    time::{Duration, Instant},
};

use anyhow::Context;
use sinew_capture::{Analysis, Capture, Filter, Page, Report, Sight, Timeline};

use super::Usage;
use crate::{
    DONE, FAILED,
    output::{printable, printable_json},
    progress::Progress,
    say,
};

/// Progress is shown from this on, and this often.
const PATIENCE: Duration = Duration::from_secs(1);
const EVERY: Duration = Duration::from_millis(100);
/// Records between two looks at the clock.
const STRIDE: u64 = 4096;

/// Say what is in captured traffic: flows and what they are, commands and their statistics.
///
/// Takes pcap and pcapng, the log of a serial tap (CSV) and dumps of a serial line, also packed with
/// gzip or zstd, and cut off anywhere. Flows are told by their bytes; a port is a hint. Where "commands"
/// are records of an encrypted connection, it says so, and how that is known.
///
/// Exit code: 0 read, also when the file is cut off, 1 nothing readable.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sinew inspect capture.pcap
  tcpdump -i wlan0 -w - | sinew inspect - --list
  sinew inspect *.pcapng.gz --json
  sinew inspect tap.csv --filter protocol=gd32 --filter command=0x66 --list
  sinew inspect capture.pcap --html report.html
  sinew inspect --diff before.pcap after.pcap
  sinew inspect --dissector > sinew.lua")]
pub(crate) struct Args {
    /// Captures; `-` is standard input.
    #[arg(required_unless_present = "dissector")]
    file: Vec<PathBuf>,
    /// Print a dissector for Wireshark: teaching datagrams, GD32 and Delta-2D frames.
    #[arg(long, exclusive = true)]
    dissector: bool,
    /// Compare two captures: what is new, gone, changed in rate, size or content, byte by byte.
    #[arg(long, conflicts_with_all = ["list", "extract"])]
    diff: bool,
    /// One line for each payload in place of the report.
    #[arg(long)]
    list: bool,
    /// Look at a part only: flow=IP or IP:PORT (or two, with a comma), time=FROM..TO (seconds),
    /// protocol=NAME or command=NUMBER. Of several of one kind one must hold, and of each kind one.
    #[arg(long, value_name = "CONDITION")]
    filter: Vec<String>,
    /// Write the payloads of each flow into this directory, with a file beside them that says where
    /// they come from.
    #[arg(long, value_name = "DIR")]
    extract: Option<PathBuf>,
    /// Write the report as a page with charts, which needs nothing from elsewhere.
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    if args.dissector {
        io::stdout().lock().write_all(sinew_capture::dissector().as_bytes())?;
        return Ok(DONE);
    }
    if let Some(page) = &args.html {
        may_overwrite(page, &args.file)?;
    }
    let mut filter = Filter::default();
    for condition in &args.filter {
        filter.add(condition).map_err(|error| Usage(format!("--filter {error}")))?;
    }
    if args.diff {
        let [a, b] = args.file.as_slice() else {
            let count = args.file.len();
            return Err(Usage(format!("--diff wants two captures, got {count}")).into());
        };
        if [a, b].iter().all(|file| file.as_os_str() == "-") {
            return Err(Usage("--diff: only one of the two can be standard input".into()).into());
        }
        return diff::run(args, [a, b], &filter, json);
    }
    let mut page = Page::new();
    let [one] = args.file.as_slice() else {
        let mut code = DONE;
        for (index, file) in args.file.iter().enumerate() {
            if let Err(error) = inspect(args, file, &filter, json, index > 0, &mut page) {
                if crate::output::is_broken_pipe(&error) {
                    return Err(error);
                }
                code = FAILED;
                told(file, &error, json)?;
            }
        }
        write_page(args, page)?;
        return Ok(code);
    };
    inspect(args, one, &filter, json, false, &mut page)?;
    write_page(args, page)?;
    Ok(DONE)
}

/// A page takes the place of an older one, and of no capture.
fn may_overwrite(page: &Path, files: &[PathBuf]) -> anyhow::Result<()> {
    let Ok(real) = page.canonicalize() else { return Ok(()) };
    let about = std::fs::metadata(&real)?;
    let is_same = |file: &PathBuf| {
        std::fs::metadata(file)
            .is_ok_and(|other| (other.dev(), other.ino()) == (about.dev(), about.ino()))
    };
    if files.iter().any(is_same) {
        let page = page.display();
        return Err(
            Usage(format!("--html {page}: this is one of the captures: name another")).into()
        );
    }
    if !about.is_file() {
        return Ok(());
    }
    let mut front = Vec::new();
    // One that cannot be read is not known to be anything; writing tells.
    if let Ok(file) = File::open(&real) {
        file.take(4096).read_to_end(&mut front)?;
    }
    if sinew_capture::read::looks_like_capture(&front) {
        let page = page.display();
        let why =
            "it begins as a capture does, and would be overwritten: name another, or remove it";
        return Err(Usage(format!("--html {page}: {why}")).into());
    }
    Ok(())
}

fn write_page(args: &Args, page: Page) -> anyhow::Result<()> {
    let Some(path) = &args.html else { return Ok(()) };
    std::fs::write(path, page.finish())
        .with_context(|| format!("cannot write {}", path.display()))?;
    say::say(&format!("report: {}", path.display()));
    Ok(())
}

/// Of several files one that cannot be read does not keep the others from being told.
fn told(file: &Path, error: &anyhow::Error, json: bool) -> io::Result<()> {
    say::fail(&format!("{error:#}"));
    if json {
        let error = serde_json::json!({ "code": "failed", "message": format!("{error:#}") });
        let said = serde_json::json!({ "file": file, "ok": false, "error": error });
        writeln!(io::stdout().lock(), "{}", printable_json(&said))?;
    }
    Ok(())
}

fn inspect(
    args: &Args,
    file: &Path,
    filter: &Filter,
    json: bool,
    is_further: bool,
    page: &mut Page,
) -> anyhow::Result<()> {
    #[cfg(feature = "mcap")]
    if recording::is_one(file) {
        return recording::show(file, json);
    }
    let Opened { name, capture, progress } = Opened::new(file)?;
    let mut list = args.list.then(|| list::List::new(json));
    let mut extract = args
        .extract
        .as_deref()
        .map(|directory| extract::Extract::new(directory, &name, &capture.format().to_string()));
    let extract = extract.as_mut().map(Result::as_mut).transpose();
    let mut extract = extract.map_err(|error| anyhow::anyhow!("{error:#}"))?;
    let mut failed = None;
    let mut timeline = args.html.as_ref().map(|_| Timeline::new());
    let has_looker = list.is_some() || extract.is_some() || timeline.is_some();
    let look = |sight: &Sight<'_>| {
        let mut show = || -> anyhow::Result<()> {
            if let Some(timeline) = &mut timeline {
                timeline.take(sight);
            }
            list.as_mut().map_or(Ok(()), |list| list.line(sight))?;
            extract.as_mut().map_or(Ok(()), |extract| extract.take(sight))
        };
        if failed.is_none() {
            failed = show().err();
        }
    };
    // Without one it is a third faster.
    let report = match has_looker {
        true => analyse(capture, filter, progress, look),
        false => analyse(capture, filter, progress, |_| {}),
    };
    if let Some(error) = failed {
        return Err(error);
    }
    if let Some(timeline) = &timeline {
        page.add(&name, &report, timeline);
    }
    if let Some(list) = list {
        list.finish()?;
    } else if json {
        let mut out = io::BufWriter::new(io::stdout().lock());
        for part in report.json_parts(&name) {
            out.write_all(printable_json(&part).as_bytes())?;
        }
        writeln!(out)?;
        out.flush()?;
    } else {
        text::print(&printable(&name), &report, is_further)?;
    }
    if let Some(extract) = extract {
        let said = extract.finish()?;
        say::say(&said);
    }
    Ok(())
}

fn analyse(
    mut capture: Capture,
    filter: &Filter,
    mut progress: Watched,
    mut look: impl FnMut(&Sight<'_>),
) -> Report {
    let mut analysis = Analysis::new(filter.clone());
    let mut count = 0_u64;
    while let Some(record) = capture.next_record() {
        analysis.take(&record, &mut look);
        count += 1;
        if count.is_multiple_of(STRIDE) {
            progress.show(count);
        }
    }
    drop(progress);
    analysis.finish(&capture, look)
}

/// A capture that is about to be read.
struct Opened {
    name: String,
    capture: Capture,
    progress: Watched,
}

impl Opened {
    fn new(file: &Path) -> anyhow::Result<Self> {
        let name = file.display().to_string();
        let read = Rc::new(Cell::new(0));
        let (source, length) = open(file, &read)?;
        let capture = Capture::open(source).with_context(|| name.clone())?;
        let progress = Watched::new(&name, read, length);
        Ok(Opened { name, capture, progress })
    }
}

/// What is in a capture that a client of the daemon sent, as JSON.
#[cfg(feature = "daemon")]
pub(crate) fn served(
    source: sinew_server::Source,
    out: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let mut capture = Capture::open(source).map_err(|error| error.to_string())?;
    let mut analysis = Analysis::new(Filter::default());
    while let Some(record) = capture.next_record() {
        analysis.take(&record, |_| {});
    }
    let report = analysis.finish(&capture, |_| {});
    report.json_parts("-").for_each(|part| out(&part));
    Ok(())
}

/// Opens a file, and counts what is read of it; with its length where it has one.
fn open(file: &Path, read: &Rc<Cell<u64>>) -> anyhow::Result<(Counted, Option<u64>)> {
    if file.as_os_str() == "-" {
        return Ok((Counted(Box::new(io::stdin()), Rc::clone(read)), None));
    }
    let opened = File::open(file).with_context(|| format!("cannot open {}", file.display()))?;
    let about = opened.metadata().ok();
    if about.as_ref().is_some_and(|about| about.is_dir()) {
        anyhow::bail!("{} is a directory: name the files in it", file.display());
    }
    let length = about.filter(|about| about.is_file()).map(|about| about.len());
    Ok((Counted(Box::new(opened), Rc::clone(read)), length))
}

struct Counted(Box<dyn Read>, Rc<Cell<u64>>);

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        self.1.set(self.1.get() + count as u64);
        Ok(count)
    }
}

/// How far it is.
struct Watched {
    progress: Progress,
    name: String,
    read: Rc<Cell<u64>>,
    length: Option<u64>,
    next: Instant,
}

impl Watched {
    fn new(name: &str, read: Rc<Cell<u64>>, length: Option<u64>) -> Self {
        let (progress, next) = (Progress::new(), Instant::now() + PATIENCE);
        Watched { progress, name: name.into(), read, length, next }
    }

    fn show(&mut self, count: u64) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + EVERY;
        let read = self.read.get();
        let part = self.length.map(|length| read as f64 / length.max(1) as f64);
        let what = format!("{}  {count} packets, {:.0} MB", self.name, read as f64 / 1e6);
        self.progress.show(&what, part);
    }
}
