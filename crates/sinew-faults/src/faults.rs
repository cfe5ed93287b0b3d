use std::{fmt, str::FromStr, time::Duration};

use crate::DatagramFaults;

/// What goes wrong on a link, and how often.
///
/// Written `drop=0.01,corrupt=0.001,duplicate=0.01,delay=5ms,jitter=2ms,seed=7`;
/// what is left out is zero.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Faults {
    /// Probability that a byte is dropped.
    pub drop: f64,
    /// Probability that a byte is changed.
    pub corrupt: f64,
    /// Probability that a byte comes twice.
    pub duplicate: f64,
    /// How long every byte takes.
    pub delay: Duration,
    /// How much longer some take; the order stays.
    pub jitter: Duration,
    /// Where chance comes from.
    pub seed: u64,
}

/// Why a text is no list of faults.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultError {
    /// A name that no fault has.
    UnknownKey {
        /// The name as written.
        key: String,
        /// The fault whose name is most like it.
        nearest: &'static str,
        /// All that there are.
        known: &'static [&'static str],
    },
    /// A value that the fault cannot have, or none.
    Value {
        /// The fault.
        key: &'static str,
        /// What it may be.
        wanted: &'static str,
        /// The value as written.
        got: String,
    },
    /// A fault that is given twice.
    Repeated {
        /// The fault.
        key: &'static str,
    },
}

const LONGEST: Duration = Duration::from_secs(3600);

impl FromStr for Faults {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        const KNOWN: &[&str] = &["drop", "corrupt", "duplicate", "delay", "jitter", "seed"];
        read(text, KNOWN).map(|faults| faults.link)
    }
}

impl FromStr for DatagramFaults {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        const KNOWN: &[&str] =
            &["drop", "corrupt", "duplicate", "reorder", "delay", "jitter", "seed"];
        read(text, KNOWN)
    }
}

/// Reads a list of faults of which a link knows these.
fn read(text: &str, known: &'static [&'static str]) -> Result<DatagramFaults, FaultError> {
    let mut faults = DatagramFaults::default();
    let mut seen = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let (name, value) = (name.trim(), value.trim());
        let Some(&key) = known.iter().find(|key| **key == name) else {
            let nearest = nearest(name, known);
            return Err(FaultError::UnknownKey { key: name.into(), nearest, known });
        };
        if seen.contains(&key) {
            return Err(FaultError::Repeated { key });
        }
        seen.push(key);
        let bad = |wanted| FaultError::Value { key, wanted, got: value.into() };
        let probability = || probability(value).ok_or(bad("a probability from 0 to 1"));
        let time = || time(value).ok_or(bad("a time up to an hour with its unit, such as 5ms"));
        let link = &mut faults.link;
        match key {
            "drop" => link.drop = probability()?,
            "corrupt" => link.corrupt = probability()?,
            "duplicate" => link.duplicate = probability()?,
            "reorder" => faults.reorder = probability()?,
            "delay" => link.delay = time()?,
            "jitter" => link.jitter = time()?,
            _ => link.seed = value.parse().map_err(|_| bad("a whole number from 0"))?,
        }
    }
    Ok(faults)
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Faults { drop, corrupt, duplicate, delay, jitter, seed } = self;
        write!(f, "drop={drop},corrupt={corrupt},duplicate={duplicate},")?;
        write!(f, "delay={}ns,jitter={}ns,seed={seed}", delay.as_nanos(), jitter.as_nanos())
    }
}

impl fmt::Display for FaultError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultError::UnknownKey { key, nearest, known } => {
                write!(f, "unknown fault `{key}`: did you mean `{nearest}`? Known: ")?;
                f.write_str(&known.join(", "))
            }
            FaultError::Value { key, wanted, got } => {
                write!(f, "{key}: wanted {wanted}, got `{got}`")
            }
            FaultError::Repeated { key } => write!(f, "{key} is given twice: leave one out"),
        }
    }
}

impl std::error::Error for FaultError {}

fn probability(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value| (0.0..=1.0).contains(value))
}

fn time(text: &str) -> Option<Duration> {
    let unit = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at_checked(unit)?;
    let seconds = match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    };
    let time = Duration::try_from_secs_f64(number.trim().parse::<f64>().ok()? * seconds).ok()?;
    (time <= LONGEST).then_some(time)
}

fn nearest(name: &str, known: &[&'static str]) -> &'static str {
    known.iter().copied().min_by_key(|key| strsim::levenshtein(name, key)).unwrap_or_default()
}
