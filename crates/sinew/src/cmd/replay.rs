//! `sinew replay`: does a robot, or a program, answer as it did when this was captured?

use std::{
    io::{self, Write},
    path::PathBuf,
    time::Instant,
};

use anyhow::Context;
use serde_json::{Value, json};
use sinew_io::{
    Address, is_pseudo_terminal,
    playback::{Options, Report, Side, play},
};
use sinew_robot::vacuum::Settings;
use sinew_wire::gd32::Profile;

use super::Usage;
use crate::{
    DONE, FAILED, interrupt,
    output::{printable, printable_json},
    progress::Progress,
    say,
};

/// Play one side of a capture to a live peer.
///
/// Takes what `sinew tap` writes (CSV, pcapng), captures of teaching datagrams (pcap, pcapng) and dumps of
/// a serial line, also packed. Frames go out with the capture's timing. What would move a robot is left out
/// unless --confirm is given; then limits, the dead-man and the rules for bumpers apply, and the end of the
/// file, an error, Ctrl-C and SIGTERM stop it: zero velocity, then motor mode 0.
///
/// Exit code: 0 played, 1 something failed, was refused, or differs (--compare).
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sinew sim vacuum --symlink /tmp/vacuum                    # a peer to play to
  sinew replay tap.csv --to serial:/tmp/vacuum
  sinew replay tap.pcapng --to serial:/tmp/vacuum --speed 2 --confirm
  sinew replay teach.pcapng --to udp:127.0.0.1:49504 --compare
  sinew replay tap.csv --side controller --to serial:/dev/pts/7 --speed max")]
pub(crate) struct Args {
    /// The capture; `-` is standard input.
    file: PathBuf,
    /// The peer: serial:PATH or udp:HOST:PORT.
    #[arg(long, value_name = "LINK")]
    to: Address,
    /// Whose frames to play.
    #[arg(long, value_enum, default_value = "host")]
    side: Played,
    /// How much faster than it was captured: a factor from 0.01 to 1000, or max.
    #[arg(long, value_name = "FACTOR|max", default_value = "1", value_parser = speed)]
    speed: Speed,
    /// Also play what moves a robot, and play to a serial port that is no pseudo-terminal.
    #[arg(long)]
    confirm: bool,
    /// Compare the peer's answers with the capture's, and tell the first byte that differs.
    #[arg(long)]
    compare: bool,
    /// Fastest that passes, m/s.
    #[arg(long, value_name = "M/S", default_value_t = Settings::default().max_linear, value_parser = limit)]
    max_linear: f32,
    /// Fastest turn that passes, rad/s.
    #[arg(long, value_name = "RAD/S", default_value_t = Settings::default().max_angular, value_parser = limit)]
    max_angular: f32,
    /// What velocities on the line mean: as document 003 has them, or its project's later state.
    #[arg(long, value_enum, default_value = "document")]
    profile: Scales,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Played {
    /// The computer's.
    Host,
    /// The robot's.
    Controller,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Scales {
    /// 1000 units are 1 m/s.
    Document,
    /// 523 units are 1 m/s.
    Later,
}

#[derive(Clone, Copy)]
struct Speed(Option<f64>);

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    may_play_to(&args.to, args.confirm)?;
    let interrupted = interrupt::flag()?;
    let options = Options {
        file: args.file.clone(),
        side: match args.side {
            Played::Host => Side::Host,
            Played::Controller => Side::Controller,
        },
        speed: args.speed.0,
        confirmed: args.confirm,
        compare: args.compare,
        settings: Settings {
            max_linear: args.max_linear,
            max_angular: args.max_angular,
            profile: match args.profile {
                Scales::Document => Profile::DOCUMENT,
                Scales::Later => Profile::LATER,
            },
            ..Settings::default()
        },
    };
    let begin = Instant::now();
    let mut progress = Progress::new();
    let name = printable(&args.file.display().to_string());
    let report = play(
        &options,
        &args.to,
        || interrupted.is_set(),
        |so_far| {
            let (read, length) = so_far.read;
            let part = length.map(|length| read as f64 / length.max(1) as f64);
            let what =
                format!("{name}  {} sent, {:.1} s", so_far.sent, begin.elapsed().as_secs_f64());
            progress.show(&what, part);
        },
    );
    progress.end();
    let report = report.with_context(|| format!("{} to {}", args.file.display(), args.to))?;
    let differs = args.compare && !is_same(&report);
    match json {
        true => {
            let mut out = io::stdout().lock();
            writeln!(out, "{}", printable_json(&object(args, &report)))?;
        }
        false => text(args, &report)?,
    }
    let failed = report.failure.is_some() || !report.refused.is_empty() || differs;
    Ok(if failed { FAILED } else { DONE })
}

/// Behind a serial port that is no pseudo-terminal there may be a robot.
fn may_play_to(link: &Address, confirmed: bool) -> anyhow::Result<()> {
    match link {
        Address::Udp { .. } => Ok(()),
        Address::Serial { path, .. } => {
            std::fs::metadata(path).with_context(|| format!("cannot open {}", path.display()))?;
            if confirmed || is_pseudo_terminal(path) {
                return Ok(());
            }
            anyhow::bail!(
                "{} is a serial port and no pseudo-terminal: a robot may be behind it. See that it may \
                 move, or is held up, and add --confirm; or try it on `sinew sim vacuum` first",
                path.display()
            )
        }
        other => Err(Usage(format!("--to: wanted serial:PATH or udp:HOST, got {other}")).into()),
    }
}

fn is_same(report: &Report) -> bool {
    let comparison = &report.comparison;
    comparison.difference().is_none() && comparison.missing() == 0 && !comparison.gave_up()
}

fn object(args: &Args, report: &Report) -> Value {
    let comparison = &report.comparison;
    let difference = comparison.difference().map(
        |found| json!({ "offset": found.offset, "expected": found.expected, "got": found.got }),
    );
    let compare = args.compare.then(|| {
        json!({
            "same_bytes": comparison.same(),
            "first_difference": difference,
            "missing_bytes": comparison.missing(),
            "surplus_bytes": comparison.surplus(),
            "gave_up": comparison.gave_up(),
        })
    });
    json!({
        "ok": report.failure.is_none() && report.refused.is_empty(),
        "file": args.file,
        "to": args.to.to_string(),
        "sent": report.sent.0,
        "sent_bytes": report.sent.1,
        "left_out": report.left_out,
        "refused": report.refused,
        "stood_still": report.stills,
        "answered_bytes": report.answered,
        "compare": compare,
        "truncated": report.cut_off,
        "strange_lines": report.strange_lines,
        "failure": report.failure,
    })
}

fn text(args: &Args, report: &Report) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "sent      {} frames, {} bytes", report.sent.0, report.sent.1)?;
    for (what, reasons) in
        [("left out", &report.left_out), ("refused", &report.refused), ("stopped", &report.stills)]
    {
        for (why, count) in reasons {
            let why = printable(why);
            let hint = match matches!(why.as_ref(), "moves the robot" | "not known to be harmless")
            {
                true => " (--confirm plays it)",
                false => "",
            };
            writeln!(out, "{what:<9} {count} times: {why}{hint}")?;
        }
    }
    writeln!(out, "answered  {} bytes", report.answered)?;
    if args.compare {
        let comparison = &report.comparison;
        let same = comparison.same();
        match comparison.difference() {
            Some(found) => writeln!(
                out,
                "differs   at byte {} of the answers: captured {:02X}, got {:02X}",
                found.offset, found.expected, found.got
            )?,
            None if comparison.gave_up() => {
                writeln!(out, "differs   after {same} bytes: one side is too far ahead")?;
            }
            None if comparison.missing() > 0 => writeln!(
                out,
                "differs   {same} bytes are the same, {} more were captured",
                comparison.missing()
            )?,
            None => writeln!(out, "the same  {same} bytes")?,
        }
    }
    if report.cut_off {
        say::say("the capture is cut off: it was played as far as it goes");
    }
    match report.strange_lines {
        0 => {}
        1 => say::warn("1 line is none of a tap's log, and was left out"),
        lines => say::warn(&format!("{lines} lines are none of a tap's log, and were left out")),
    }
    if let Some(failure) = &report.failure {
        say::fail(&format!("it ended before the file did: {failure}"));
    }
    Ok(())
}

fn speed(text: &str) -> Result<Speed, String> {
    if text == "max" {
        return Ok(Speed(None));
    }
    let factor = text.parse().ok().filter(|factor| (0.01..=1000.0).contains(factor));
    factor
        .map(|factor| Speed(Some(factor)))
        .ok_or_else(|| format!("wanted a factor from 0.01 to 1000, or max, got {text:?}"))
}

fn limit(text: &str) -> Result<f32, String> {
    let limit = text.parse().ok().filter(|limit: &f32| *limit >= 0.0 && *limit <= 4.0);
    limit.ok_or_else(|| format!("wanted 0 to 4, got {text:?}"))
}
