use std::{borrow::Cow, fmt, ops::RangeInclusive, path::PathBuf, str::FromStr};

use sinew_wire::teach::{Layout, PORT};

/// Where a robot is: `serial:/dev/ttyS3?baud=115200`, `udp:192.168.86.3:49504?layout=compact`,
/// `webrtc:192.168.86.3?key_file=g1.key`, `sim:` or `sim:?seed=7&rate=10` for one that is simulated,
/// `replay:hall.messages?speed=2` or `replay:tap.csv?loop=1` for a recording in its place, or
/// `zenoh:kitchen/vacuum` for one that another daemon of the fleet serves.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Address {
    /// A serial port.
    Serial {
        /// Its device file.
        path: PathBuf,
        /// Bits per second.
        baud: u32,
    },
    /// A teaching service.
    Udp {
        /// Its name or address, which is looked up when the link is opened.
        host: String,
        /// Its port; without one in the text, the service's own.
        port: u16,
        /// The layout to speak.
        layout: Layout,
    },
    /// A robot's data channel.
    WebRtc {
        /// Its name or address, which is looked up when the link is opened.
        host: String,
        /// Where its signalling listens; without one, the ports that robots use are tried.
        port: Option<u16>,
        /// A file with its own key.
        key_file: Option<PathBuf>,
        /// Only this interface, by name or address.
        interface: Option<String>,
    },
    /// A simulated robot in this process.
    Sim {
        /// What its world is made from.
        seed: u64,
        /// Status packets a second, 1 to 500, for kinds that let it be chosen; without one, as many
        /// as a real robot sends.
        rate: Option<u32>,
    },
    /// What was recorded of a robot.
    Replay {
        /// The file.
        path: PathBuf,
        /// How much faster than it was recorded: 0.01 to 1000.
        speed: f64,
        /// Whether it begins again at its end.
        repeat: bool,
    },
    /// A robot that another daemon of the fleet serves.
    Zenoh {
        /// What that daemon is called.
        host: String,
        /// What the robot is called there.
        robot: String,
    },
}

/// What is wrong with an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressError(String);

const DEFAULT_BAUD: u32 = 115_200;
/// How much faster than it was made a recording may play.
const SPEEDS: RangeInclusive<f64> = 0.01..=1000.0;
/// How many status packets a second a simulated robot may send.
const RATES: RangeInclusive<u32> = 1..=500;

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = |message: String| Err(AddressError(message));
        let Some((scheme, rest)) = text.split_once(':') else {
            return wrong(format!("{text:?}: wanted serial:PATH or sim:"));
        };
        let (path, query) = match scheme {
            // A file's name may have a question mark. What stands behind the last is an option if it
            // looks like one.
            "replay" => rest.rsplit_once('?').filter(|(_, query)| query.contains('=')),
            _ => rest.split_once('?'),
        }
        .unwrap_or((rest, ""));
        let mut options = Vec::new();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(pair) => options.push(pair),
                None => return wrong(format!("{option:?}: wanted NAME=VALUE")),
            }
        }
        let number = |name: &str, default: u64| match options.iter().find(|(key, _)| *key == name) {
            None => Ok(default),
            Some((_, value)) => value
                .parse()
                .map_err(|_| AddressError(format!("{name}: wanted a number, got {value:?}"))),
        };
        let only = |known: &[&str]| match options.iter().find(|(key, _)| !known.contains(key)) {
            Some((key, _)) => {
                let known = if known.is_empty() { "no options".into() } else { known.join(" or ") };
                Err(AddressError(format!("{scheme}: wanted {known}, got {key:?}")))
            }
            None => Ok(()),
        };
        match scheme {
            "serial" if path.is_empty() => {
                wrong("serial: wanted a device, as in serial:/dev/ttyS3".into())
            }
            "serial" => {
                only(&["baud"])?;
                let baud = number("baud", DEFAULT_BAUD.into())?;
                let baud = u32::try_from(baud).ok().filter(|baud| *baud > 0);
                let Some(baud) = baud else { return wrong("baud: out of range".into()) };
                Ok(Address::Serial { path: path.into(), baud })
            }
            "sim" if path.is_empty() => {
                only(&["seed", "rate"])?;
                let given = options.iter().find(|(key, _)| *key == "rate");
                let rate = match given.map(|(_, value)| (value, value.parse())) {
                    None => None,
                    Some((_, Ok(rate))) if RATES.contains(&rate) => Some(rate),
                    Some((value, _)) => {
                        let (least, most) = (RATES.start(), RATES.end());
                        return wrong(format!("rate: wanted {least} to {most}, got {value:?}"));
                    }
                };
                Ok(Address::Sim { seed: number("seed", 1)?, rate })
            }
            "sim" => wrong(format!("sim: takes no path, got {path:?}")),
            "udp" => {
                only(&["layout"])?;
                let layout = match options.first() {
                    None | Some((_, "documented")) => Layout::Documented,
                    Some((_, "compact")) => Layout::Compact,
                    Some((_, other)) => {
                        return wrong(format!(
                            "layout: wanted documented or compact, got {other:?}"
                        ));
                    }
                };
                let (host, port) = host_and_port(scheme, path)?;
                Ok(Address::Udp { host, port: port.unwrap_or(PORT), layout })
            }
            "webrtc" => {
                only(&["key_file", "interface"])?;
                let option = |name: &str| match options.iter().find(|(key, _)| *key == name) {
                    Some((_, "")) => Err(AddressError(format!("{name}: wanted a value"))),
                    found => Ok(found.map(|(_, value)| *value)),
                };
                let (host, port) = host_and_port(scheme, path)?;
                let key_file = option("key_file")?.map(PathBuf::from);
                let interface = option("interface")?.map(String::from);
                Ok(Address::WebRtc { host, port, key_file, interface })
            }
            "replay" if path.is_empty() => {
                wrong("replay: wanted a file, as in replay:hall.messages".into())
            }
            "replay" => {
                only(&["speed", "loop"])?;
                let option = |name: &str| options.iter().find(|(key, _)| *key == name);
                let given = option("speed").map_or("1", |(_, value)| *value);
                let speed = given.parse().ok().filter(|speed| SPEEDS.contains(speed));
                let Some(speed) = speed else {
                    let (least, most) = (SPEEDS.start(), SPEEDS.end());
                    return wrong(format!("speed: wanted {least} to {most}, got {given:?}"));
                };
                let repeat = match option("loop").map(|(_, value)| *value) {
                    None | Some("0") => false,
                    Some("1") => true,
                    Some(other) => return wrong(format!("loop: wanted 0 or 1, got {other:?}")),
                };
                Ok(Address::Replay { path: path.into(), speed, repeat })
            }
            "zenoh" => {
                only(&[])?;
                let is_name = |name: &str| {
                    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
                    !name.is_empty() && name.chars().all(fits)
                };
                match path.split_once('/').filter(|(host, robot)| is_name(host) && is_name(robot)) {
                    Some((host, robot)) => {
                        Ok(Address::Zenoh { host: host.into(), robot: robot.into() })
                    }
                    None => wrong(format!("zenoh: wanted HOST/ROBOT, got {path:?}")),
                }
            }
            _ => {
                wrong(format!("{scheme:?}: wanted serial:, udp:, webrtc:, sim:, replay: or zenoh:"))
            }
        }
    }
}

/// `HOST`, `HOST:PORT`, `[ADDRESS]` or `[ADDRESS]:PORT`.
fn host_and_port(scheme: &str, text: &str) -> Result<(String, Option<u16>), AddressError> {
    let cut = || {
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, Some(port.strip_prefix(':')?)),
            None => match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            },
        };
        let port = port.map(str::parse).transpose().ok()?;
        let is_host = |letter: char| letter.is_ascii_alphanumeric() || "-_.:%".contains(letter);
        (!host.is_empty() && host.chars().all(is_host)).then(|| (host.into(), port))
    };
    cut().ok_or_else(|| AddressError(format!("{scheme}: wanted HOST or HOST:PORT, got {text:?}")))
}

impl Address {
    /// What stands before its colon.
    pub const fn scheme(&self) -> &'static str {
        match self {
            Address::Serial { .. } => "serial",
            Address::Udp { .. } => "udp",
            Address::WebRtc { .. } => "webrtc",
            Address::Sim { .. } => "sim",
            Address::Replay { .. } => "replay",
            Address::Zenoh { .. } => "zenoh",
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Serial { path, baud: DEFAULT_BAUD } => write!(f, "serial:{}", path.display()),
            Address::Serial { path, baud } => write!(f, "serial:{}?baud={baud}", path.display()),
            Address::Udp { host, port, layout } => {
                write!(f, "udp:{}:{port}", bracketed(host))?;
                match layout {
                    Layout::Documented => Ok(()),
                    layout => write!(f, "?layout={layout}"),
                }
            }
            Address::WebRtc { host, port, key_file, interface } => {
                write!(f, "webrtc:{}", bracketed(host))?;
                if let Some(port) = port {
                    write!(f, ":{port}")?;
                }
                let key_file = key_file.as_ref().map(|path| format!("key_file={}", path.display()));
                let interface = interface.as_ref().map(|name| format!("interface={name}"));
                let options = key_file.into_iter().chain(interface);
                for (option, sign) in options.zip(["?", "&"]) {
                    write!(f, "{sign}{option}")?;
                }
                Ok(())
            }
            Address::Zenoh { host, robot } => write!(f, "zenoh:{host}/{robot}"),
            Address::Sim { seed, rate: None } => write!(f, "sim:?seed={seed}"),
            Address::Sim { seed, rate: Some(rate) } => write!(f, "sim:?seed={seed}&rate={rate}"),
            Address::Replay { path, speed, repeat } => {
                let path = path.display().to_string();
                write!(f, "replay:{path}")?;
                match (*speed == 1.0 && !path.contains('?'), repeat) {
                    (true, false) => Ok(()),
                    (true, true) => write!(f, "?loop=1"),
                    (false, false) => write!(f, "?speed={speed}"),
                    (false, true) => write!(f, "?speed={speed}&loop=1"),
                }
            }
        }
    }
}

/// A host as it stands before a port.
fn bracketed(host: &str) -> Cow<'_, str> {
    match host.contains(':') {
        true => format!("[{host}]").into(),
        false => host.into(),
    }
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for AddressError {}
