//! The time of day, which the session reckons from what it was told at its beginning.

use std::time::Instant;

/// Unix time at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    begun: Instant,
    unix: u64,
}

impl Clock {
    pub(super) fn new(begun: Instant, unix: u64) -> Self {
        Clock { begun, unix }
    }

    /// Seconds since 1970.
    pub(super) fn unix(&self, now: Instant) -> u64 {
        self.unix.saturating_add(now.saturating_duration_since(self.begun).as_secs())
    }

    /// Milliseconds since the session began.
    pub(super) fn millis(&self, now: Instant) -> u32 {
        let since = now.saturating_duration_since(self.begun).as_millis();
        u32::try_from(since % (1 << 32)).unwrap_or(0)
    }

    /// Date and time in UTC: `2026-02-01 05:50:36` with a space and colons.
    pub(super) fn text(&self, now: Instant, between: char, colon: char) -> String {
        let unix = self.unix(now);
        let (year, month, day) = date(unix / 86_400);
        let (hour, minute, second) = (unix / 3600 % 24, unix / 60 % 60, unix % 60);
        format!(
            "{year:04}-{month:02}-{day:02}{between}{hour:02}{colon}{minute:02}{colon}{second:02}"
        )
    }
}

/// Year, month and day of a day since 1970, by counting in eras of 400 years from a March.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}
