//! What this command line is called where it controls a robot: `ann@laptop`.

use std::env;

use rustix::{process::getuid, system::uname};
use sinew_robot::text::is_unshowable;

use crate::system::System;

/// The daemon takes names of at most 64 characters: these two and what joins them.
const MAX_USER: usize = 31;
const MAX_HOST: usize = 32;

/// The user and the host, without what a terminal should not be shown.
pub(crate) fn own_name() -> String {
    let given = |name: &str| env::var(name).ok().filter(|user| !user.is_empty());
    let user = given("USER").or_else(|| given("LOGNAME")).unwrap_or_else(|| {
        // Where the system does not know it, a number names it too.
        System::here().user_name(getuid().as_raw())
    });
    name(&user, &machine())
}

/// What this machine is called, without its domain.
pub(crate) fn machine() -> String {
    let node = uname();
    let host = node.nodename().to_string_lossy();
    host.split('.').next().unwrap_or_default().to_owned()
}

fn name(user: &str, host: &str) -> String {
    let clean = |text: &str, most: usize, other: &str| {
        let clean: String = text.chars().filter(|c| !is_unshowable(*c)).take(most).collect();
        if clean.trim().is_empty() { other.into() } else { clean }
    };
    format!("{}@{}", clean(user, MAX_USER, "sinew"), clean(host, MAX_HOST, "localhost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_clean_and_bounded() {
        assert_eq!(name("ann", "laptop"), "ann@laptop");
        assert_eq!(name("", " "), "sinew@localhost");
        assert_eq!(name("a\u{1b}[2Jn\u{202e}n\n", "x"), "a[2Jnn@x");
        let long = name(&"手".repeat(100), &"h".repeat(300));
        assert_eq!(long.chars().count(), 64);
    }
}
