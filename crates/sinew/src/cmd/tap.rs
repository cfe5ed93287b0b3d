//! `sinew tap`: what passes between a program and a robot?

mod screen;

use std::{
    net::{SocketAddr, ToSocketAddrs},
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    time::Duration,
};

use anyhow::Context;
use serde_json::json;
use sinew_io::{
    Address,
    tap::{Counters, Logs, Notice, Rotate, SerialTap, UdpTap},
};

use super::{Usage, duration};
use crate::{
    DONE,
    interrupt::{self, Interrupted},
    say::{say, warn},
};
use screen::Screen;

/// Sit between a program and a robot: forward everything, show it, write it down.
///
/// Opens the robot's port and offers a pseudo-terminal in its place; the program opens that one. With
/// --udp it takes datagrams at one address and passes them on to another. Nothing is changed, lost or held
/// up, whatever screen and disk do. Either side may go away and come back. Runs until Ctrl-C.
///
/// Logs are written ten times a second. `sinew inspect` reads both; Wireshark reads pcapng with the
/// dissector of `sinew inspect --dissector`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sinew tap serial:/dev/ttyS3 --symlink /tmp/vacuum --csv tap.csv --pcapng tap.pcapng
  sinew serve --vacuum serial:/tmp/vacuum          # in another terminal
  sinew tap /dev/ttyUSB0 -q --csv tap.csv --rotate 10MB --keep 20
  sinew tap --udp 127.0.0.1:50000 127.0.0.1:49504 --pcapng teach.pcapng")]
pub(crate) struct Args {
    /// The robot's port: serial:/dev/ttyS3?baud=115200, or a device file.
    #[arg(required_unless_present = "udp", conflicts_with = "udp")]
    port: Option<String>,
    /// Datagrams: where to listen, and where to pass them on to.
    #[arg(long, num_args = 2, value_names = ["LISTEN", "TARGET"])]
    udp: Option<Vec<String>>,
    /// Also give the pseudo-terminal this name.
    #[arg(long, value_name = "PATH", conflicts_with = "udp")]
    symlink: Option<PathBuf>,
    /// Write rows `timestamp_us,TX|RX,AA BB …` to this file, as the bytes came.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write packets to this file, of a serial line frame by frame.
    #[arg(long, value_name = "FILE")]
    pcapng: Option<PathBuf>,
    /// Begin a new file at this size (500kB, 10MB, 1GB) or age (30s, 10m, 24h). Older ones are called
    /// FILE.1, FILE.2 and so on.
    #[arg(long, value_name = "SIZE|TIME", value_parser = rotate)]
    rotate: Option<Rotate>,
    /// How many files of each log to keep.
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1000))]
    keep: u16,
}

enum Tap {
    Serial(SerialTap),
    Udp(UdpTap),
}

impl Tap {
    fn counters(&self) -> &Arc<Counters> {
        match self {
            Tap::Serial(tap) => tap.counters(),
            Tap::Udp(tap) => tap.counters(),
        }
    }
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let interrupted = interrupt::flag()?;
    let logs = Logs {
        csv: args.csv.clone(),
        pcapng: args.pcapng.clone(),
        rotate: args.rotate,
        keep: args.keep.into(),
    };
    let (tell, notices) = channel();
    let screen = Screen::start(json)?;
    let show = screen.show();
    let (tap, ready, words) = match (&args.port, args.udp.as_deref()) {
        (_, Some([listen, target])) => {
            let (listen, target) = (socket(listen)?, socket(target)?);
            let tap = UdpTap::start(listen, target, logs, show, tell)?;
            let (link, target) = (format!("udp:{}", tap.address()), format!("udp:{target}"));
            let ready = json!({ "type": "ready", "link": link, "target": target });
            (Tap::Udp(tap), ready, format!("tap of {target} at {link}"))
        }
        (Some(port), _) => {
            let (path, baud) = device(port)?;
            let link = args.symlink.as_deref();
            let tap = SerialTap::start(&path, baud, link, logs, show, tell)?;
            let link = format!("serial:{}", tap.path().display());
            let device = Address::Serial { path, baud }.to_string();
            let ready = json!({ "type": "ready", "link": link, "device": device });
            (Tap::Serial(tap), ready, format!("tap of {device} at {link}"))
        }
        _ => return Err(Usage("wanted a port, or --udp LISTEN TARGET".into()).into()),
    };
    screen.ready(ready, words);
    let ended = watch(&interrupted, &notices, &screen, json);
    let counters = Arc::clone(tap.counters());
    // Forwarding ends, then what is left is written down.
    drop(tap);
    // What was said of the logs meanwhile.
    notices.try_iter().for_each(|notice| told(&notice, &screen, json));
    screen.finish(json!({
        "type": "ended",
        "from_host": counters.from_host(),
        "from_device": counters.from_device(),
        "not_logged": counters.not_logged(),
    }));
    say(&format!(
        "{} bytes of the host and {} of the robot passed",
        counters.from_host(),
        counters.from_device()
    ));
    ended.map(|()| DONE)
}

/// Tells what happens, until it is to end.
fn watch(
    interrupted: &Interrupted,
    notices: &Receiver<Notice>,
    screen: &Screen,
    json: bool,
) -> anyhow::Result<()> {
    while !interrupted.is_set() {
        match notices.recv_timeout(Duration::from_millis(50)) {
            Ok(Notice::Ended(reason)) => anyhow::bail!("forwarding ended: {reason}"),
            Ok(notice) => told(&notice, screen, json),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => anyhow::bail!("forwarding ended"),
        }
    }
    Ok(())
}

fn told(notice: &Notice, screen: &Screen, json: bool) {
    let (event, text, is_warning) = words(notice);
    if json {
        screen.event(event, &text);
    } else if is_warning {
        warn(&text);
    } else {
        say(&text);
    }
}

/// What a notice is called, its words, and whether it is told to those, too, who asked for quiet.
fn words(notice: &Notice) -> (&'static str, String, bool) {
    match notice {
        Notice::DeviceOpen => ("device_open", "the device is open".into(), false),
        Notice::DeviceGone(why) => {
            let text = format!("the device is not open: {why}; it is tried again until it is");
            ("device_gone", text, true)
        }
        Notice::ProgramOpen => {
            ("program_open", "a program has opened the pseudo-terminal".into(), false)
        }
        Notice::ProgramGone => {
            ("program_gone", "no program has the pseudo-terminal open".into(), false)
        }
        Notice::NotRead(_) => {
            let text = "the program does not read: what the robot says is written down, and not \
                        given to it until it does";
            ("not_read", text.into(), true)
        }
        Notice::NotSent(bytes) => {
            ("not_sent", format!("{bytes} bytes came while the device was away"), true)
        }
        Notice::Client(client, count) => {
            ("client", format!("{client} is a new client, the {count}. of them"), false)
        }
        Notice::ClientLeft(client) => {
            ("client_left", format!("{client} was silent for longest, and made room"), false)
        }
        Notice::TargetGone(why) => {
            ("target_gone", format!("the target takes no datagrams: {why}"), true)
        }
        Notice::LogFailed(path, why) => {
            let path = path.display();
            let text = format!(
                "cannot write {path}: {why}; forwarding goes on, and writing is tried again every second"
            );
            ("log_failed", text, true)
        }
        Notice::LogMended(path, lost) => {
            let path = path.display();
            ("log_mended", format!("{path} is written again; {lost} rows are missing in it"), true)
        }
        Notice::NotLogged(count) => (
            "not_logged",
            format!("{count} reads were not written down: the disk is too slow"),
            true,
        ),
        Notice::Ended(why) => ("ended", format!("forwarding ended: {why}"), true),
        _ => ("other", "something happened".into(), false),
    }
}

/// A device by its address or by its name.
fn device(port: &str) -> anyhow::Result<(PathBuf, u32)> {
    let address = if port.contains(':') { port.to_owned() } else { format!("serial:{port}") };
    match address.parse() {
        Ok(Address::Serial { path, baud }) => Ok((path, baud)),
        Ok(other) => {
            Err(Usage(format!("wanted serial:PATH, got {other}; datagrams are tapped by --udp"))
                .into())
        }
        Err(error) => Err(Usage(error.to_string()).into()),
    }
}

fn socket(text: &str) -> anyhow::Result<SocketAddr> {
    let text = text.strip_prefix("udp:").unwrap_or(text);
    let found = text.to_socket_addrs();
    let found = found
        .with_context(|| format!("{text}: wanted an address with a port, as 127.0.0.1:49504"))?;
    let mut found = found;
    found.next().with_context(|| format!("{text} has no address"))
}

fn rotate(text: &str) -> Result<Rotate, String> {
    let wrong = || format!("wanted a size such as 10MB or a time such as 1h, got {text:?}");
    let split = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(split);
    let factor = match unit.to_ascii_lowercase().as_str() {
        "b" => 1.0,
        "k" | "kb" => 1e3,
        "mb" => 1e6,
        "g" | "gb" => 1e9,
        "h" => {
            let hours: f64 = number.parse().map_err(|_| wrong())?;
            let time = Duration::try_from_secs_f64(hours * 3600.0).map_err(|_| wrong())?;
            return at_least(time).ok_or_else(wrong);
        }
        _ => return duration(text).ok().and_then(at_least).ok_or_else(wrong),
    };
    let bytes = number.parse::<f64>().map_err(|_| wrong())? * factor;
    // Smaller ones would be all heading.
    (1000.0..1e18).contains(&bytes).then_some(Rotate::Size(bytes as u64)).ok_or_else(wrong)
}

fn at_least(time: Duration) -> Option<Rotate> {
    (time >= Duration::from_secs(1)).then_some(Rotate::Time(time))
}
