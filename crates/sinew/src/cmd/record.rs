//! `sinew record`: what robots tell, in MCAP files.

use std::{
    collections::BTreeMap,
    io::Write,
    net::SocketAddr,
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use serde_json::json;
use sinew_api::{Command, Pong};
use sinew_record::{
    Converter, Rotation,
    feed::{Feed, Wanted},
    recorder::{Options, Recorder, Status},
};

use super::Usage;
use crate::{
    DONE,
    client::{self, Daemon},
    interrupt,
    name::own_name,
    output::printable_json,
    progress::{self, Progress},
    say::{say, warn},
};

/// How often it is shown how far it is.
const SHOWN: Duration = Duration::from_millis(100);

/// Write what robots tell to an MCAP file, which Foxglove and others read, until Ctrl-C.
///
/// Clouds, scans, maps, poses, joints and logs have Foxglove's schemas; the rest is JSON. `sinew inspect FILE`
/// tells what is in one; the link `replay:FILE` plays a G1's messages, or the raw bytes of a vacuum's line, to a daemon.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sinew record kitchen.mcap
  sinew record hall.mcap --robot g1 --topics cloud,messages
  sinew record long.mcap --rotate 100MB,10m")]
pub(crate) struct Args {
    /// What to write.
    file: PathBuf,
    /// What to write of it: state, events, sensors, sensors/GROUP, cloud, map, messages (a G1's own, as
    /// they came), raw (the bytes of a vacuum's line, or datagrams). All but the last two if not given.
    #[arg(long, value_name = "TOPIC", value_delimiter = ',', value_parser = topic)]
    topics: Vec<String>,
    /// Begin a new file after so many bytes, or so long, or both, as in 100MB, 10m or 1GB,1h.
    #[arg(long, value_name = "LIMIT", value_parser = rotation)]
    rotate: Option<Rotation>,
    /// End after so many seconds.
    #[arg(long, value_name = "N", value_parser = seconds)]
    seconds: Option<Duration>,
    /// Write over files that are there.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    daemon: Daemon,
}

fn topic(text: &str) -> Result<String, String> {
    match Wanted::is_topic(text) {
        true => Ok(text.into()),
        false => Err(format!(
            "wanted state, events, sensors, sensors/GROUP, cloud, map, messages or raw, got {text:?}"
        )),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("wanted seconds, got {text:?}");
    let number = text.parse().ok().filter(|number| *number > 0.0);
    Duration::try_from_secs_f64(number.ok_or_else(wrong)?).map_err(|_| wrong())
}

fn rotation(text: &str) -> Result<Rotation, String> {
    let wrong =
        || format!("wanted a size such as 100MB, a time such as 10m, or both, got {text:?}");
    let mut rotation = Rotation::default();
    for part in text.split(',') {
        let split = part.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
        let (number, unit) = part.split_at(split);
        let number: f64 = number.trim().parse().map_err(|_| wrong())?;
        let (bytes, seconds) = match unit {
            "B" => (Some(1.0), None),
            "kB" | "KB" => (Some(1e3), None),
            "MB" | "M" => (Some(1e6), None),
            "GB" | "G" => (Some(1e9), None),
            "s" => (None, Some(1.0)),
            "m" | "min" => (None, Some(60.0)),
            "h" => (None, Some(3600.0)),
            _ => return Err(wrong()),
        };
        if !number.is_finite() || number <= 0.0 {
            return Err(wrong());
        }
        if let Some(bytes) = bytes {
            rotation.bytes = Some((number * bytes) as u64);
        }
        if let Some(seconds) = seconds {
            let age = Duration::try_from_secs_f64(number * seconds).map_err(|_| wrong())?;
            rotation.age = Some(age);
        }
    }
    Ok(rotation)
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    if args.file.exists() && !args.force {
        bail!("{} is there already; --force writes over it", args.file.display());
    }
    let interrupted = interrupt::flag()?;
    let mut client = args.daemon.connect_with(None, true)?;
    let pong: Pong = client::read(client.request(Command::Ping)?)?;
    let port =
        pong.http.context("the daemon serves no HTTP, by which clouds and maps are given out")?;
    let address = SocketAddr::new(client.socket().peer_addr()?.ip(), port);
    let robots = args.daemon.robot().into_iter().flat_map(|names| names.split(','));
    let wanted = Wanted {
        robots: robots.map(Into::into).collect(),
        topics: args.topics.clone(),
        token: args.daemon.token().map(Into::into),
        name: Some(own_name()),
    };
    let mut feed = Feed::connect(address, &wanted)?;
    tell_missing(args, &feed)?;
    let about = BTreeMap::from([("daemon".into(), pong.build)]);
    let rotation = args.rotate.unwrap_or_default();
    let options = Options { path: args.file.clone(), rotation, force: args.force, about };
    let recorder = Recorder::start(options, Converter::new(feed.robots().to_vec()))
        .with_context(|| format!("cannot write {}", args.file.display()))?;
    let begin = Instant::now();
    let mut progress = Progress::new();
    let mut shown: Option<Instant> = None;
    let mut outcome = Ok(());
    while !interrupted.is_set() && args.seconds.is_none_or(|most| begin.elapsed() < most) {
        match feed.hear() {
            Ok(Some(told)) => recorder.take(feed.now_ns(), told),
            Ok(None) => {}
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
        if shown.is_none_or(|shown| shown.elapsed() >= SHOWN) {
            shown = Some(Instant::now());
            show(&mut progress, &recorder.status(), begin.elapsed(), args.seconds);
        }
    }
    let status = recorder.finish();
    progress.end();
    if json {
        writeln!(std::io::stdout().lock(), "{}", printable_json(&told(&status, begin.elapsed())))?;
    }
    tell(&status, begin.elapsed());
    if let Some(trouble) = status.trouble {
        bail!("{trouble}; what was written before is in the file, without an index");
    }
    outcome?;
    Ok(DONE)
}

/// Says what is not there of what was asked for by name; it is an error if that was all.
fn tell_missing(args: &Args, feed: &Feed) -> anyhow::Result<()> {
    for (robot, topic) in feed.missing().iter().filter(|(_, topic)| args.topics.contains(topic)) {
        if args.daemon.robot().is_some() && args.topics.len() == 1 {
            return Err(Usage(format!("{robot} has no topic {topic}")).into());
        }
        warn(&format!("{robot} has no topic {topic}: nothing of it is recorded"));
    }
    Ok(())
}

fn show(progress: &mut Progress, status: &Status, elapsed: Duration, whole: Option<Duration>) {
    let (clock, part) = progress::clock(elapsed, whole);
    let megabytes = status.bytes as f64 / 1e6;
    let mut text = format!("{} messages, {megabytes:.1} MB, {clock}", status.messages);
    if status.lost() > 0 {
        text += &format!(", {} lost", status.lost());
    }
    if let Some(trouble) = &status.trouble {
        text = format!("{trouble}; {text}");
    }
    progress.show(&text, part);
}

fn told(status: &Status, elapsed: Duration) -> serde_json::Value {
    json!({
        "files": status.files,
        "messages": status.messages,
        "bytes": status.bytes,
        "seconds": elapsed.as_secs_f64(),
        "lost": {
            "before": status.lost_before,
            "here": status.lost_here,
            "on_disk": status.lost_on_disk,
        },
        "trouble": status.trouble,
    })
}

/// Says what came of it.
fn tell(status: &Status, elapsed: Duration) {
    let (seconds, megabytes) = (elapsed.as_secs_f64(), status.bytes as f64 / 1e6);
    let place = match &status.files[..] {
        [one] => one.display().to_string(),
        [first, .., last] => {
            format!("{} files, {} to {}", status.files.len(), first.display(), last.display())
        }
        [] => "no file".into(),
    };
    let messages = status.messages;
    say(&format!("recorded {messages} messages in {seconds:.1} s: {megabytes:.1} MB in {place}"));
    for (count, why) in [
        (status.lost_before, "were lost on the way: this computer reads too slowly"),
        (status.lost_here, "were lost here: they came faster than they could be written"),
        (status.lost_on_disk, "were lost: the disk took no more"),
    ] {
        if count > 0 {
            warn(&format!("{count} messages {why}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotation_is_a_size_a_time_or_both() {
        let of = |bytes, seconds: Option<u64>| {
            Ok(Rotation { bytes, age: seconds.map(Duration::from_secs) })
        };
        assert_eq!(rotation("100MB"), of(Some(100_000_000), None));
        assert_eq!(rotation("1.5kB"), of(Some(1500), None));
        assert_eq!(rotation("10m"), of(None, Some(600)));
        assert_eq!(rotation("1GB,1h"), of(Some(1_000_000_000), Some(3600)));
        for wrong in ["", "10", "MB", "-1MB", "0s", "NaNs", "1MB,", "1e400s", "3 parsecs"] {
            assert!(rotation(wrong).is_err(), "{wrong}");
        }
    }
}
