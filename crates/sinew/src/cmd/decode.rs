//! `sinew decode`: what is this?

use std::{
    fs::File,
    io::{self, BufWriter, IsTerminal, Read, Write},
    ops::ControlFlow,
};

use anyhow::Context;
use clap::ValueEnum;
use sinew_wire::{
    explain::{Element, Options, Proto, explain},
    gd32::Profile,
    slam::{CloudFrame, Reading},
};

use super::Usage;
use crate::{
    DONE, FAILED, USAGE, hex,
    output::{BOLD, DIM, GREEN, PLAIN, RED, YELLOW},
    say::{self, columns, width, wrapped},
};

/// Most input that is taken, so that an endless one ends.
const MAX_INPUT: u64 = 256 << 20;
/// Bytes of a field that are shown.
const SHOWN_BYTES: usize = 16;

/// Say what a run of bytes is, field by field.
///
/// Recognises GD32 serial frames and a vacuum's lidar (also a stream of them with rubbish between),
/// G1 teaching datagrams in both layouts, DTLS records, G1 SLAM clouds, GO2 voxel maps, and what Unitree robots
/// and their clients say over WebRTC.
///
/// Exit code: 0 all valid, 1 something recognised is invalid or rubbish stands between, 2 nothing
/// recognised.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sinew decode fa fb 0b 66 c8 00 00 00 00 00 00 00 66 c8
  sinew decode @capture.bin --proto gd32
  sinew decode '{\"type\":\"subscribe\",\"topic\":\"rt/arm/action/state\"}'
  xxd -p cloud.bin | sinew decode --points --json")]
pub(crate) struct Args {
    /// Hex (spaces, commas and 0x are fine), JSON, or @FILE; standard input when there is none, or `-`.
    ///
    /// A file or standard input that consists of hex digits and separators only is hex, anything
    /// else is bytes.
    input: Vec<String>,
    /// Take the input for hex, whatever it looks like.
    #[arg(long, conflicts_with = "raw")]
    hex: bool,
    /// Take the input for bytes, whatever it looks like.
    #[arg(long)]
    raw: bool,
    /// Take the input for this protocol instead of recognising it.
    #[arg(long)]
    proto: Option<ProtoArg>,
    /// Who sent it; decides what short teaching datagrams and some serial commands mean.
    #[arg(long)]
    from: Option<From>,
    /// Scales and encoder order of the vacuum: document 003's, or those of its project's later
    /// state.
    #[arg(long, default_value = "document")]
    profile: ProfileArg,
    /// How SLAM points are read.
    #[arg(long, default_value = "auto")]
    reading: ReadingArg,
    /// Which coordinates of a SLAM cloud are given out.
    #[arg(long, default_value = "map")]
    frame: FrameArg,
    /// Give out the points of clouds and maps.
    #[arg(long)]
    points: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum ProtoArg {
    Gd32,
    Delta2d,
    Teach,
    Dtls,
    Slam,
    Voxel,
    Unitree,
}

#[derive(Clone, Copy, ValueEnum)]
enum From {
    Host,
    Robot,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum ProfileArg {
    Document,
    Later,
}

#[derive(Clone, Copy, ValueEnum)]
enum ReadingArg {
    Auto,
    Documented,
    Packed,
}

#[derive(Clone, Copy, ValueEnum)]
enum FrameArg {
    Map,
    Raw,
}

impl ProfileArg {
    pub(super) fn profile(self) -> Profile {
        match self {
            ProfileArg::Document => Profile::DOCUMENT,
            ProfileArg::Later => Profile::LATER,
        }
    }
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let bytes = input(args)?;
    let options = args.options();
    let mut seen = Seen::default();
    let mut result = Ok(());
    let layout = Layout::new(columns(io::stdout()));
    let mut print = |element: &Element, out: &mut dyn Write| {
        let result = match json {
            true => print_json(element, &seen, out),
            false => print_text(element, &bytes, layout, out),
        };
        seen.count(element);
        result
    };
    let mut out: Box<dyn Write> = if json {
        Box::new(BufWriter::new(io::stdout().lock()))
    } else {
        Box::new(BufWriter::new(anstream::stdout().lock()))
    };
    let _ = explain(&bytes, &options, &mut |element| {
        result = print(&element, &mut out);
        if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    result?;
    if json {
        writeln!(out, "{}]", if seen.any { "" } else { "[" })?;
    } else if !seen.recognised {
        out.flush()?;
        say::note(&format!(
            "nothing recognised in {} bytes; --proto gd32|teach|slam|voxel|unitree says why not",
            bytes.len()
        ));
    }
    out.flush()?;
    Ok(seen.exit_code())
}

impl Args {
    fn options(&self) -> Options {
        Options {
            proto: self.proto.map(|proto| match proto {
                ProtoArg::Gd32 => Proto::Gd32,
                ProtoArg::Delta2d => Proto::Delta2d,
                ProtoArg::Teach => Proto::Teach,
                ProtoArg::Dtls => Proto::Dtls,
                ProtoArg::Slam => Proto::Slam,
                ProtoArg::Voxel => Proto::Voxel,
                ProtoArg::Unitree => Proto::Unitree,
            }),
            from_robot: self.from.map(|from| matches!(from, From::Robot)),
            profile: self.profile.profile(),
            reading: match self.reading {
                ReadingArg::Auto => None,
                ReadingArg::Documented => Some(Reading::Documented),
                ReadingArg::Packed => Some(Reading::Packed),
            },
            frame: match self.frame {
                FrameArg::Map => CloudFrame::Map,
                FrameArg::Raw => CloudFrame::Raw,
            },
            points: self.points,
        }
    }
}

/// What the elements so far amount to.
#[derive(Default)]
struct Seen {
    any: bool,
    recognised: bool,
    invalid: bool,
}

impl Seen {
    fn count(&mut self, element: &Element) {
        self.any = true;
        self.recognised |= element.proto != Proto::Unknown;
        self.invalid |= !element.valid;
    }

    fn exit_code(&self) -> u8 {
        match (self.recognised, self.invalid) {
            (false, _) => USAGE,
            (true, true) => FAILED,
            (true, false) => DONE,
        }
    }
}

fn input(args: &Args) -> anyhow::Result<Vec<u8>> {
    let content = match args.input.as_slice() {
        [] if io::stdin().is_terminal() => {
            return Err(Usage("give hex, @FILE, or bytes on standard input".into()).into());
        }
        [] => read(io::stdin(), "standard input")?,
        [one] if one == "-" => read(io::stdin(), "standard input")?,
        [one] if one.starts_with('@') => {
            let path = &one[1..];
            let file = File::open(path).with_context(|| format!("cannot open {path}"))?;
            read(file, path)?
        }
        // JSON is no hex.
        words if args.raw || !args.hex && words[0].starts_with('{') => {
            return Ok(words.join(" ").into_bytes());
        }
        words => return Ok(hex::parse(&words.join(" "))?),
    };
    if !args.raw && (args.hex || hex::looks_like_hex(&content)) {
        let text = str::from_utf8(&content)
            .map_err(|_| Usage("the input is not hex: it is not even text".into()))?;
        return Ok(hex::parse(text)?);
    }
    Ok(content)
}

fn read(source: impl Read, name: &str) -> anyhow::Result<Vec<u8>> {
    let mut content = Vec::new();
    source
        .take(MAX_INPUT + 1)
        .read_to_end(&mut content)
        .with_context(|| format!("cannot read {name}"))?;
    if content.len() as u64 > MAX_INPUT {
        anyhow::bail!("{name} is over {} MiB: decode takes less", MAX_INPUT >> 20);
    }
    Ok(content)
}

/// One object of the array, on a line of its own.
fn print_json(element: &Element, seen: &Seen, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{}", if seen.any { ",\n" } else { "[" })?;
    let json = serde_json::to_string(&element.to_json())?;
    let Some(points) = &element.coordinates else { return write!(out, "{json}") };
    // Written by hand because a cloud has millions of points, and a JSON value for each would
    // take a hundred times their size.
    write!(out, "{},\"coordinates\":[", json.strip_suffix('}').unwrap_or(&json))?;
    for (index, [x, y, z]) in points.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(out, "{comma}[{},{},{}]", Metres(*x), Metres(*y), Metres(*z))?;
    }
    write!(out, "]}}")
}

/// A coordinate to the seven digits that 32 bits hold; one that is no number is null.
struct Metres(f32);

impl std::fmt::Display for Metres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match format!("{:.6e}", self.0).parse::<f64>() {
            Ok(rounded) if rounded.is_finite() => write!(f, "{rounded}"),
            _ => f.write_str("null"),
        }
    }
}

fn print_text(
    element: &Element,
    bytes: &[u8],
    layout: Layout,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (colour, verdict) = match (element.proto, element.valid) {
        (Proto::Unknown, _) => (YELLOW, ""),
        (_, true) => (GREEN, ": valid"),
        (_, false) => (RED, ": invalid"),
    };
    let columns = layout.columns;
    // With room for the verdict, which belongs to its last word.
    let beside = columns.map(|columns| columns.saturating_sub(verdict.len()));
    let title = wrapped(&element.title, beside, 0, 0);
    let used = title.lines().last().map_or(0, width);
    let place = format!(" at {}, {} bytes", element.offset, element.length);
    let place = wrapped(&place, columns, used + width(verdict), 2);
    writeln!(
        out,
        "{}{title}{PLAIN}{}{verdict}{PLAIN}{}{place}{PLAIN}",
        BOLD.render(),
        colour.render(),
        DIM.render(),
    )?;
    for row in &element.rows {
        let row_bytes = bytes.get(row.offset..row.offset + row.length).unwrap_or_default();
        let place = if row.length == 0 { String::new() } else { row.offset.to_string() };
        layout.print_row(&place, row_bytes, row.name, &row.text, out)?;
    }
    let problems = element.problems.iter().map(|problem| (RED, "problem:", problem.to_string()));
    let notes = element.notes.iter().map(|note| (YELLOW, "note:", note.clone()));
    for (style, mark, text) in problems.chain(notes) {
        let text = wrapped(&text, columns, 3 + mark.len(), 4);
        writeln!(out, "  {}{mark}{PLAIN} {text}", style.render())?;
    }
    for [x, y, z] in element.coordinates.iter().flatten() {
        writeln!(out, "{} {} {}", Metres(*x), Metres(*y), Metres(*z))?;
    }
    writeln!(out)
}

/// How rows are shown in the width there is.
#[derive(Debug, Clone, Copy)]
struct Layout {
    columns: Option<usize>,
    /// Bytes of a field that are shown beside its name; none when they stand below it.
    beside: Option<usize>,
}

impl Layout {
    /// Columns before the bytes.
    const PLACE: usize = 2 + 6 + 2;
    /// Columns of a name.
    const NAME: usize = 18;
    /// A field's text has at least these beside its name.
    const TEXT: usize = 28;

    fn new(columns: Option<usize>) -> Self {
        let room = columns.map(|columns| {
            let others = Layout::PLACE + 2 + Layout::NAME + 1 + Layout::TEXT;
            (columns.saturating_sub(others) + 1) / 3
        });
        let beside = match room {
            None => Some(SHOWN_BYTES),
            Some(0..4) => None,
            Some(room) => Some(room.min(SHOWN_BYTES)),
        };
        Layout { columns, beside }
    }

    fn print_row(
        self,
        place: &str,
        bytes: &[u8],
        name: &str,
        text: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let dim = DIM.render();
        if let Some(most) = self.beside {
            let hex_columns = most * 3 - 1;
            let head = format!("{:<hex_columns$}  {name:<18} ", shown(bytes, most));
            let taken = Layout::PLACE + width(&head);
            let text = wrapped(text, self.columns, taken, taken);
            let head = if text.is_empty() { head.trim_end() } else { &head };
            return writeln!(out, "  {dim}{place:>6}{PLAIN}  {head}{text}");
        }
        let (columns, indent) = (self.columns, Layout::PLACE);
        let text = if text.is_empty() { name.into() } else { format!("{name}: {text}") };
        let text = wrapped(&text, columns, indent, indent);
        writeln!(out, "  {dim}{place:>6}{PLAIN}  {text}")?;
        let room = columns.map_or(SHOWN_BYTES, |columns| columns.saturating_sub(indent) / 3);
        if bytes.is_empty() {
            return Ok(());
        }
        writeln!(out, "{:indent$}{dim}{}{PLAIN}", "", shown(bytes, room.clamp(2, SHOWN_BYTES)))
    }
}

/// The first bytes, with an ellipsis when there are more.
fn shown(bytes: &[u8], most: usize) -> String {
    let more = bytes.len() > most;
    let count = if more { most - 1 } else { bytes.len() };
    let words: Vec<_> = bytes.iter().take(count).map(|byte| format!("{byte:02x}")).collect();
    words.join(" ") + if more { " …" } else { "" }
}
