use core::fmt;

/// Result of a codec.
pub type Result<T> = core::result::Result<T, Error>;

/// What stood in the way: the field, what it had to be, what it was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Error {
    /// The field at fault, in the words of the protocol's documentation.
    pub field: &'static str,
    /// What the field had to be.
    pub wanted: Wanted,
    /// What the field was.
    pub got: Got,
}

/// What a field had to be.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Wanted {
    /// Exactly this number.
    Exactly(u64),
    /// This number or more.
    AtLeast(u64),
    /// This number or less.
    AtMost(u64),
    /// A number in this closed range.
    Between(i64, i64),
    /// Values in this closed range.
    Within(f64, f64),
    /// A whole multiple of this number.
    MultipleOf(u64),
    /// These bytes, most significant first, of which the number holds the last `digits / 2`.
    Hex {
        /// The bytes as a number.
        value: u64,
        /// How many hex digits to write.
        digits: usize,
    },
    /// Something that takes words.
    What(&'static str),
}

/// What a field was.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Got {
    /// This number.
    Number(i64),
    /// This number with a fraction.
    Float(f64),
    /// Values from the first to the second.
    Span(f64, f64),
    /// These bytes, most significant first.
    Hex {
        /// The bytes as a number.
        value: u64,
        /// How many hex digits to write.
        digits: usize,
    },
    /// Something that takes words.
    What(&'static str),
}

impl Error {
    pub(crate) const fn new(field: &'static str, wanted: Wanted, got: Got) -> Self {
        Error { field, wanted, got }
    }

    /// A length or count that does not fit.
    pub(crate) const fn count(field: &'static str, wanted: Wanted, got: usize) -> Self {
        Error { field, wanted, got: Got::Number(got as i64) }
    }

    /// Bytes that had to be others.
    pub(crate) const fn hex(field: &'static str, digits: usize, wanted: u64, got: u64) -> Self {
        Error {
            field,
            wanted: Wanted::Hex { value: wanted, digits },
            got: Got::Hex { value: got, digits },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: wanted {}, got {}", self.field, self.wanted, self.got)
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Wanted::Exactly(n) => write!(f, "{n}"),
            Wanted::AtLeast(n) => write!(f, "at least {n}"),
            Wanted::AtMost(n) => write!(f, "at most {n}"),
            Wanted::Between(low, high) => write!(f, "{low} to {high}"),
            Wanted::Within(low, high) => write!(f, "{low:.3} to {high:.3}"),
            Wanted::MultipleOf(n) => write!(f, "a multiple of {n}"),
            Wanted::Hex { value, digits } => write!(f, "0x{value:0digits$x}"),
            Wanted::What(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for Got {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Got::Number(n) => write!(f, "{n}"),
            Got::Float(x) => write!(f, "{x}"),
            Got::Span(low, high) => write!(f, "{low:.3} to {high:.3}"),
            Got::Hex { value, digits } => write!(f, "0x{value:0digits$x}"),
            Got::What(text) => f.write_str(text),
        }
    }
}

impl core::error::Error for Error {}
