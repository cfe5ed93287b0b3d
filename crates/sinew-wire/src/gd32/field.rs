/// A part of a payload: what it is called, what its bytes mean, and how it is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field {
    /// Its name: the member of `sinew decode`'s JSON, and the flag of `sinew encode`.
    pub name: &'static str,
    /// What its bytes mean.
    pub meaning: Meaning,
    /// What to know when giving it.
    pub about: &'static str,
    /// What it is unless given.
    pub default: Option<&'static str>,
}

/// What the bytes of a field mean. Numbers are little endian.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Meaning {
    /// A byte that stands for itself.
    Byte,
    /// A byte of which some values have names; any can be given.
    Named(&'static [Choice]),
    /// A byte of which some values have names; only those can be given.
    Choice(&'static [Choice]),
    /// A [`LedMode`](super::LedMode).
    Led,
    /// Percent in a byte.
    Percent,
    /// Percent in an `i32`.
    WidePercent,
    /// Percent in a `u16`, in units of the [`Profile`](super::Profile).
    Power,
    /// A speed in an `i32`, in units of the profile; its name for people is given here.
    Speed(&'static str),
    /// The speed of a wheel in an `i16`, mm/s.
    WheelSpeed,
    /// This many bytes that no document explains.
    Bytes(usize),
    /// Always these bytes when sent, and what they do.
    Always(&'static [u8], &'static str),
    /// A [`Version`](super::Version), to the payload's end.
    Version,
    /// A [`Status`](super::Status).
    Status,
}

/// A value with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The byte.
    pub value: u8,
    /// Its name.
    pub name: &'static str,
    /// The name as it is given on a command line.
    pub word: &'static str,
}

impl Field {
    /// How many bytes it has; a version has as many as there are.
    pub const fn length(&self) -> Option<usize> {
        Some(match self.meaning {
            Meaning::Byte
            | Meaning::Named(_)
            | Meaning::Choice(_)
            | Meaning::Led
            | Meaning::Percent => 1,
            Meaning::Power | Meaning::WheelSpeed => 2,
            Meaning::WidePercent | Meaning::Speed(_) => 4,
            Meaning::Bytes(count) => count,
            Meaning::Always(bytes, _) => bytes.len(),
            Meaning::Status => super::STATUS_LEN,
            Meaning::Version => return None,
        })
    }

    pub(super) const fn new(name: &'static str, meaning: Meaning, about: &'static str) -> Self {
        Field { name, meaning, about, default: None }
    }

    pub(super) const fn or(self, default: &'static str) -> Self {
        Field { default: Some(default), ..self }
    }
}

/// The least number of bytes that a payload of these fields has.
pub(super) const fn least(mut fields: &[Field]) -> usize {
    let mut sum = 0;
    while let [first, rest @ ..] = fields {
        if let Some(length) = first.length() {
            sum += length;
        }
        fields = rest;
    }
    sum
}
