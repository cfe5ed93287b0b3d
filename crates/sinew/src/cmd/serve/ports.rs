//! Serial ports that cannot be opened, and what to do about it.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustix::fs::{Access, access};
use sinew_io::Address;
use sinew_server::Server;

use crate::{
    config::Config,
    phrases::listed,
    say::{note, warn},
    system::System,
};

/// How long a port may take to be opened before nothing is said about it here.
const PATIENCE: Duration = Duration::from_millis(500);

/// Says which serial ports could not be opened, why, and what to do. They are tried again.
pub(super) fn explain(config: &Config, server: &Server) {
    for (robot, path) in config.robot.iter().filter_map(|robot| match &robot.link {
        Address::Serial { path, .. } => Some((&robot.name, path)),
        _ => None,
    }) {
        if let Some(reason) = failure(server, robot) {
            warn(&format!("{robot}: cannot open {}: {reason}", path.display()));
            let advice = advice(path, &System::here());
            note(&format!("{advice}; it is tried again and again"));
        }
    }
}

/// Why a robot's port is not open, once it was tried.
fn failure(server: &Server, robot: &str) -> Option<String> {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        let (_, link) = server.links().find(|(name, _)| **name == *robot)?;
        match (link.state.as_str(), link.reason) {
            ("disconnected", Some(reason)) => return Some(reason),
            ("disconnected", None) => thread::sleep(Duration::from_millis(5)),
            _ => return None,
        }
    }
    None
}

/// What to do about a port that cannot be opened.
fn advice(path: &Path, system: &System) -> String {
    let Ok(device) = fs::metadata(path) else {
        let present = system.serial_ports();
        let names: Vec<_> = present.iter().map(|path| path.display().to_string()).collect();
        return match &names[..] {
            [] => "there are no serial ports here: is it plugged in?".into(),
            names => format!("serial ports here: {}", listed(names)),
        };
    };
    // Not by opening it: that would raise its lines, or wait for the other end.
    let allowed = access(path, Access::READ_OK | Access::WRITE_OK).is_ok();
    if allowed {
        return "another program may have it open, or it is no serial port".into();
    }
    let group = system.group_name(device.gid());
    format!("it belongs to group {group}: `sudo usermod -aG {group} $USER`, then log in again")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::system::tests::system;

    #[test]
    fn a_port_that_is_not_there_is_told_from_those_that_are() {
        let (dir, present) = system(&[("dev/ttyUSB0", ""), ("dev/tty1", "")]);
        let missing = advice(&dir.path().join("dev/nope"), &present);
        assert!(missing.starts_with("serial ports here: ") && missing.ends_with("/dev/ttyUSB0"));
        let (dir, none) = system(&[("dev/null", "")]);
        assert!(advice(&dir.path().join("dev/nope"), &none).contains("no serial ports"));
    }
}
