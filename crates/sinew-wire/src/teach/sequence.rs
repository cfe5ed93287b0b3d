use core::fmt;

/// A datagram's number: 16 bits that wrap.
///
/// Of two numbers the newer is the one less than half the circle ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Sequence(pub u16);

impl Sequence {
    /// The number after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Sequence(self.0.wrapping_add(1))
    }

    /// Steps from `earlier` to this one; negative when this one is the older.
    pub const fn since(self, earlier: Sequence) -> i16 {
        self.0.wrapping_sub(earlier.0) as i16
    }

    /// Whether this one was sent after `other`.
    pub const fn is_newer_than(self, other: Sequence) -> bool {
        self.since(other) > 0
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
