//! Motions of the library as pictures and files.

use std::{
    ffi::OsStr,
    fs::{File, OpenOptions},
    io::{ErrorKind, Read, Write},
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use serde_json::{Value, json};
use sinew_robot::trajectory::{
    Document, G1_ARMS, Imported, Interpolation, from_csv, from_seq, to_csv,
};

use super::plot::{svg, terminal};
use crate::{
    DONE,
    client::Client,
    output::{printable, printable_json},
    say::{columns, say, wrapped},
};

/// A file that is longer is no motion.
const MAX_FILE: u64 = 16 << 20;
/// Frames in one message, which must stay under 1 MiB.
const PART: usize = 1000;
/// How wide a plot is where no terminal says it.
const COLUMNS: usize = 80;

/// What may be written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Json,
    Csv,
    Svg,
}

/// What may be read.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Source {
    Json,
    Csv,
    Seq,
    #[cfg(feature = "mcap")]
    Mcap,
}

/// Plots a motion on the terminal.
pub(super) fn show(client: &mut Client, name: &str, json: bool) -> anyhow::Result<u8> {
    let document = fetch(client, name)?;
    let mut out = anstream::stdout().lock();
    if json {
        write!(out, "{}", in_a_line(&document)?)?;
        return Ok(DONE);
    }
    let columns = columns(std::io::stdout()).unwrap_or(COLUMNS);
    let title = format!(
        "{}: {:.1} s, {} frames, {} keyframes",
        printable(&document.name),
        f64::from(document.duration_ms()) / 1000.0,
        document.recording.len(),
        document.keyframes.len()
    );
    writeln!(out, "{}", wrapped(&title, Some(columns), 0, 0))?;
    write!(out, "{}", terminal(&document.frames(Interpolation::Linear), &G1_ARMS, columns))?;
    Ok(DONE)
}

/// Writes a motion to a file.
pub(super) fn export(
    client: &mut Client,
    name: &str,
    path: &Path,
    format: Option<Format>,
    force: bool,
    json: bool,
) -> anyhow::Result<u8> {
    let by_ending = |format: &Format| ending(path, format);
    let format = format
        .or_else(|| Format::value_variants().iter().copied().find(by_ending))
        .unwrap_or(Format::Json);
    let document = fetch(client, name)?;
    if format == Format::Csv && document.recording.is_empty() {
        bail!("{name:?} has keyframes only, which a table cannot hold; export it as JSON");
    }
    let text = match format {
        Format::Json if json => in_a_line(&document)?,
        Format::Json => printable_json(&document.to_json(&G1_ARMS)),
        Format::Csv => to_csv(&document.recording, &G1_ARMS),
        Format::Svg => svg(&document.frames(Interpolation::Linear), &document.keyframes, &G1_ARMS),
    };
    write(path, &text, force)?;
    if path != Path::new("-") {
        let (frames, seconds) = (document.recording.len(), document.duration_ms() as f64 / 1000.0);
        say(&format!("wrote {name} to {}: {frames} frames, {seconds:.1} s", path.display()));
    }
    Ok(DONE)
}

fn in_a_line(document: &Document) -> anyhow::Result<String> {
    let value: Value = serde_json::from_str(&document.to_json(&G1_ARMS))?;
    Ok(format!("{}\n", printable_json(&value)))
}

/// A motion, as many messages as it takes.
fn fetch(client: &mut Client, name: &str) -> anyhow::Result<Document> {
    let (mut whole, mut next) = fetch_part(client, name, 0)?;
    while let Some(from) = next {
        let (part, then) = fetch_part(client, name, from)?;
        ensure!(part.created == whole.created, "the motion changed meanwhile");
        for frame in part.recording.frames() {
            let pushed = whole.recording.push(frame.time_ms, frame.positions);
            pushed.context("the motion changed meanwhile")?;
        }
        next = then.filter(|_| !part.recording.is_empty());
    }
    Ok(whole)
}

/// A motion with some of its frames, and where the rest begins.
fn fetch_part(
    client: &mut Client,
    name: &str,
    from: u64,
) -> anyhow::Result<(Document, Option<u64>)> {
    let command = json!({ "type": "Teach", "op": "show", "name": name, "from": from });
    let data = client.request(command)?;
    let next = data["next"].as_u64();
    let (part, _) = Document::from_value(data, &G1_ARMS).context("the daemon sent no motion")?;
    Ok((part, next))
}

/// Reads a motion from a file, with the joints it has that no slot takes.
pub(super) fn read(
    path: &Path,
    name: Option<&str>,
    format: Option<Source>,
) -> anyhow::Result<(Document, Vec<String>)> {
    let shown = path.display();
    let by_ending = |format: &Source| ending(path, format);
    let known = || Source::value_variants().iter().copied().find(by_ending);
    let Some(format) = format.or_else(known) else {
        bail!("{shown}: say what it is with --format json, csv or seq");
    };
    let file = File::open(path).with_context(|| format!("cannot read {shown}"))?;
    #[cfg(feature = "mcap")]
    if format == Source::Mcap {
        let document = super::recording::read(file).with_context(|| format!("in {shown}"))?;
        return Ok((called(document, name, path), Vec::new()));
    }
    let mut text = String::new();
    let read = file.take(MAX_FILE + 1).read_to_string(&mut text);
    read.with_context(|| format!("cannot read {shown}"))?;
    if text.len() as u64 > MAX_FILE {
        bail!("{shown}: wanted at most {MAX_FILE} bytes");
    }
    let (document, dropped) = match format {
        // Read above.
        #[cfg(feature = "mcap")]
        Source::Mcap => return Ok(Default::default()),
        Source::Json => Document::from_json(&text, &G1_ARMS),
        Source::Csv => from_csv(&text, &G1_ARMS).map(titled),
        Source::Seq => from_seq(&text, &G1_ARMS).map(titled),
    }
    .with_context(|| format!("in {shown}"))?;
    Ok((called(document, name, path), dropped))
}

/// Gives a motion the name that was asked for; one that has none gets the file's.
fn called(mut document: Document, name: Option<&str>, path: &Path) -> Document {
    if let Some(name) = name {
        document.name = name.into();
    } else if document.name.is_empty() {
        document.name = path.file_stem().and_then(OsStr::to_str).unwrap_or_default().into();
    }
    document
}

fn titled(imported: Imported) -> (Document, Vec<String>) {
    let Imported { recording, dropped } = imported;
    let created = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    (Document { recording, created, ..Document::default() }, dropped)
}

/// Sends a motion to the library, as many messages as it takes.
pub(super) fn import(
    client: &mut Client,
    (document, dropped): (Document, Vec<String>),
    json: bool,
) -> anyhow::Result<u8> {
    let frames = document.recording.len();
    let mut from = 0;
    loop {
        let recording = document.recording.part(from, from + PART - 1);
        let keyframes = if from == 0 { document.keyframes.clone() } else { Vec::new() };
        let part = Document { recording, keyframes, ..document.clone() }.to_json(&G1_ARMS);
        let part: Value = serde_json::from_str(&part)?;
        let more = from + PART < frames;
        client.request(json!({
            "type": "Teach", "op": "import", "document": part, "append": from > 0, "more": more,
        }))?;
        from += PART;
        if !more {
            break;
        }
    }
    let (name, seconds) = (&document.name, f64::from(document.duration_ms()) / 1000.0);
    if json {
        let said = json!({ "name": name, "frames": frames, "duration_ms": document.duration_ms(),
                           "dropped": dropped });
        writeln!(std::io::stdout().lock(), "{}", printable_json(&said))?;
        return Ok(DONE);
    }
    say(&format!("imported {name} into the library: {frames} frames, {seconds:.1} s"));
    if !dropped.is_empty() {
        let dropped = dropped.join(", ");
        say(&format!("left out, since the twelve slots have no place for them: {dropped}"));
    }
    Ok(DONE)
}

/// Whether a file's ending names a format.
fn ending(path: &Path, format: &impl ValueEnum) -> bool {
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    format.to_possible_value().is_some_and(|value| value.matches(ending, true))
}

/// Writes a whole file, or to standard output.
fn write(path: &Path, text: &str, force: bool) -> anyhow::Result<()> {
    if path == Path::new("-") {
        let mut out = std::io::stdout().lock();
        return Ok(out.write_all(text.as_bytes())?);
    }
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(force).create_new(!force);
    let mut file = match options.open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{} is there already; --force writes over it", path.display());
        }
        file => file.with_context(|| format!("cannot write {}", path.display()))?,
    };
    Ok(file.write_all(text.as_bytes())?)
}
