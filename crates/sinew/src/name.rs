//! What this command line is called where it controls a robot: `ann@laptop`.

use std::{env, fs};

use rustix::{process::getuid, system::uname};
use sinew_robot::text::is_unshowable;

/// The daemon takes names of at most 64 characters: these two and what joins them.
const MAX_USER: usize = 31;
const MAX_HOST: usize = 32;

/// The user and the host, without what a terminal should not be shown.
pub(crate) fn own_name() -> String {
    let given = |name: &str| env::var(name).ok().filter(|user| !user.is_empty());
    let user = given("USER").or_else(|| given("LOGNAME")).or_else(user_in_passwd);
    let node = uname();
    let host = node.nodename().to_string_lossy();
    let host = host.split('.').next().unwrap_or_default();
    name(user.as_deref().unwrap_or_default(), host)
}

fn name(user: &str, host: &str) -> String {
    let clean = |text: &str, most: usize, other: &str| {
        let clean: String = text.chars().filter(|c| !is_unshowable(*c)).take(most).collect();
        if clean.trim().is_empty() { other.into() } else { clean }
    };
    format!("{}@{}", clean(user, MAX_USER, "sinew"), clean(host, MAX_HOST, "localhost"))
}

/// The name of the user that this process runs as.
fn user_in_passwd() -> Option<String> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    user_of(&users, getuid().as_raw())
}

fn user_of(users: &str, id: u32) -> Option<String> {
    let id = id.to_string();
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == id).then(|| name.to_owned())
    })
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

    #[test]
    fn a_user_is_found_by_number() {
        let users = "root:x:0:0:root:/root:/bin/sh\nbroken\nann:x:1000:1000::/home/ann:/bin/sh\n";
        assert_eq!(user_of(users, 1000).as_deref(), Some("ann"));
        assert_eq!(user_of(users, 0).as_deref(), Some("root"));
        assert_eq!(user_of(users, 7), None);
    }
}
