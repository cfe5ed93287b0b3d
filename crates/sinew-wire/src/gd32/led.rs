use core::fmt;

/// A state of the button LED (0x8D).
///
/// The controller looks the byte up in a table of 19; anything above shows
/// orange, stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedMode(pub u8);

/// What colour the LED shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "colours")]
pub enum Colour {
    Off,
    Blue,
    Orange,
    Red,
    OrangeRed,
    RedToBlue,
    Purple,
}

/// How the LED shows its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "document 003's own words")]
pub enum Animation {
    None,
    Stable,
    SlowWobble,
    MediumBlink,
    FastBlinkThenOff,
    FastBlinkThenOn,
    AlternatingBlink,
    Sequence,
}

use Animation::*;
use Colour::*;

impl LedMode {
    /// Modes of their own; the byte is the index.
    pub const TABLE: [(Colour, Animation, &'static str); 19] = [
        (Off, None, "off"),
        (Blue, Stable, "idle, standby"),
        (Blue, Stable, "same as 1"),
        (Orange, Stable, "warning"),
        (Orange, SlowWobble, "charging"),
        (Orange, FastBlinkThenOff, "transition"),
        (Orange, MediumBlink, "charging, active"),
        (Red, Stable, "error"),
        (Red, MediumBlink, "error, attention"),
        (Red, Stable, "same as 7"),
        (OrangeRed, AlternatingBlink, "critical warning"),
        (Blue, MediumBlink, "working"),
        (Blue, SlowWobble, "standby, breathing"),
        (Blue, Stable, "same as 1"),
        (Blue, FastBlinkThenOn, "boot"),
        (RedToBlue, Sequence, "state transition"),
        (Red, MediumBlink, "same as 8"),
        (Purple, Stable, "factory"),
        (Orange, Stable, "same as 3"),
    ];

    fn row(self) -> (Colour, Animation, &'static str) {
        let row = Self::TABLE.get(usize::from(self.0)).copied();
        row.unwrap_or((Orange, Stable, "not a mode: shows as 3"))
    }

    /// The colour shown.
    pub fn colour(self) -> Colour {
        self.row().0
    }

    /// The animation shown.
    pub fn animation(self) -> Animation {
        self.row().1
    }

    /// What the mode is probably for.
    pub fn purpose(self) -> &'static str {
        self.row().2
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Off => "off",
            Blue => "blue",
            Orange => "orange",
            Red => "red",
            OrangeRed => "orange/red",
            RedToBlue => "red to blue",
            Purple => "purple",
        })
    }
}

impl fmt::Display for Animation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            None => "none",
            Stable => "stable",
            SlowWobble => "slow wobble",
            MediumBlink => "medium blink",
            FastBlinkThenOff => "fast blink, then off",
            FastBlinkThenOn => "fast blink, then on",
            AlternatingBlink => "alternating blink",
            Sequence => "sequence",
        })
    }
}
