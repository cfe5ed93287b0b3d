//! Bad links, in virtual time.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bytes;
mod datagrams;

use std::time::Duration;

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}
