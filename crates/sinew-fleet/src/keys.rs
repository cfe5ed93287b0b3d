//! What things are called in the fleet: `sinew/HOST/ROBOT/…`.
//!
//! A part that begins with `@` is matched by no wildcard, so that `sinew/*/*` are robots and nothing else.

/// What all keys begin with.
pub const ROOT: &str = "sinew";
/// The tokens of all robots.
pub const ROBOTS: &str = "sinew/*/*";
/// The states of all robots.
pub const STATES: &str = "sinew/*/*/state";
/// The events of all robots.
pub const EVENTS: &str = "sinew/*/*/events";
/// What is asked of all robots.
pub const COMMANDS: &str = "sinew/*/*/command";
/// Longest name of a daemon or a robot.
const LONGEST: usize = 64;

/// A robot's token, and what its topics begin with.
pub fn robot(host: &str, robot: &str) -> String {
    format!("{ROOT}/{host}/{robot}")
}

/// Something of a robot, as `state` or `command`.
pub fn of_robot(host: &str, robot: &str, what: &str) -> String {
    format!("{ROOT}/{host}/{robot}/{what}")
}

/// All that is asked of a daemon's robots.
pub fn asked(host: &str) -> String {
    format!("{ROOT}/{host}/*/**")
}

/// The token of a daemon's life.
pub fn daemon(host: &str, instance: &str) -> String {
    format!("{ROOT}/{host}/@daemon/{instance}")
}

/// The token of a daemon that waits for its name, which another has.
pub fn waiting(host: &str, instance: &str) -> String {
    format!("{ROOT}/{host}/@waiting/{instance}")
}

/// The token of a client.
pub fn client(host: &str, client: &str) -> String {
    format!("{ROOT}/{host}/@clients/{client}")
}

/// The host and the robot of a key, and what follows.
pub fn parse(key: &str) -> Option<(&str, &str, &str)> {
    let rest = key.strip_prefix(ROOT)?.strip_prefix('/')?;
    let (host, rest) = rest.split_once('/')?;
    let (robot, what) = rest.split_once('/').unwrap_or((rest, ""));
    (is_host(host) && is_name(robot)).then_some((host, robot, what))
}

/// The last part of a token's key.
pub fn last(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or_default()
}

/// Whether a daemon may be called so. Without a point: a hub calls robots `HOST.ROBOT`, which must be of one only.
pub fn is_host(name: &str) -> bool {
    is_name(name) && !name.contains('.')
}

/// Whether a robot or a client may be called so: letters, digits, `-`, `_` and `.`.
pub fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=LONGEST).contains(&name.len()) && name.chars().all(fits)
}

/// A daemon's name of this text: what does not fit is left out.
pub fn name_of(text: &str) -> String {
    let fits = |c: &char| c.is_ascii_alphanumeric() || "-_".contains(*c);
    let name: String = text.chars().filter(fits).take(LONGEST).collect();
    if name.is_empty() { "sinew".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_written() {
        assert_eq!(parse(&robot("kitchen", "vacuum")), Some(("kitchen", "vacuum", "")));
        let key = of_robot("kitchen", "vacuum", "sensors/imu");
        assert_eq!(parse(&key), Some(("kitchen", "vacuum", "sensors/imu")));
        for wrong in [
            "",
            "sinew",
            "sinew/a",
            "other/a/b",
            "sinew/a/@daemon/x",
            "sinew/*/b",
            "sinew//b",
            "sinew/a.b/c",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_name_is_made_of_what_fits() {
        assert_eq!(name_of("Ann's laptop/2"), "Annslaptop2");
        assert_eq!(name_of("///"), "sinew");
        assert!(is_name(&name_of(&"x".repeat(500))));
    }
}
