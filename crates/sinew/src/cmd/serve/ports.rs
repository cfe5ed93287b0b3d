//! Serial ports that cannot be opened, and what to do about it.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
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
};

/// How long a port may take to be opened before nothing is said about it here.
const PATIENCE: Duration = Duration::from_millis(500);
/// Serial ports by the beginnings of their names.
const STEMS: [&str; 4] = ["ttyS", "ttyUSB", "ttyACM", "ttyAMA"];

/// Says which serial ports could not be opened, why, and what to do. They are tried again.
pub(super) fn explain(config: &Config, server: &Server) {
    for (robot, path) in config.robot.iter().filter_map(|robot| match &robot.link {
        Address::Serial { path, .. } => Some((&robot.name, path)),
        _ => None,
    }) {
        if let Some(reason) = failure(server, robot) {
            warn(&format!("{robot}: cannot open {}: {reason}", path.display()));
            let advice = advice(path, &present(Path::new("/")));
            note(&format!("{advice}; it is tried again and again"));
        }
    }
}

/// Why a robot's port is not open, once it was tried.
fn failure(server: &Server, robot: &str) -> Option<String> {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        let (_, link) = server.links().find(|(name, _)| *name == robot)?;
        match (link.state.as_str(), link.reason) {
            ("disconnected", Some(reason)) => return Some(reason),
            ("disconnected", None) => thread::sleep(Duration::from_millis(5)),
            _ => return None,
        }
    }
    None
}

/// What to do about a port that cannot be opened.
fn advice(path: &Path, present: &[PathBuf]) -> String {
    let Ok(device) = fs::metadata(path) else {
        let names: Vec<_> = present.iter().map(|path| path.display().to_string()).collect();
        return match &names[..] {
            [] => "there are no serial ports here: is it plugged in?".into(),
            names => format!("serial ports here: {}", listed(names)),
        };
    };
    // Not by opening it: that would raise its lines, or wait for the other end.
    let allowed = access(path, Access::READ_OK | Access::WRITE_OK).is_ok();
    match group(device.gid()) {
        Some(group) if !allowed => format!(
            "it belongs to group {group}: `sudo usermod -aG {group} $USER`, then log in again"
        ),
        _ => "another program may have it open, or it is no serial port".into(),
    }
}

/// The serial ports of this machine. Of the usual `ttyS` only those count that have hardware.
fn present(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root.join("dev")).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let kind = || fs::read_to_string(root.join(format!("sys/class/tty/{name}/type")));
        let is_real = stem != "ttyS" || kind().is_ok_and(|kind| kind.trim() != "0");
        STEMS.contains(&stem) && stem != name && is_real
    });
    names.sort();
    names.iter().map(|name| root.join("dev").join(name)).collect()
}

/// The name of a group.
fn group(id: u32) -> Option<String> {
    let groups = fs::read_to_string("/etc/group").ok()?;
    let id = id.to_string();
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == id).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn ports_with_hardware_are_listed() {
        let root = tempfile::tempdir().unwrap();
        let file = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for name in ["ttyUSB0", "ttyS0", "ttyS1", "ttyS", "tty1", "null"] {
            file(&format!("dev/{name}"), "");
        }
        file("sys/class/tty/ttyS0/type", "0\n");
        file("sys/class/tty/ttyS1/type", "4\n");
        let found = present(root.path());
        let names: Vec<_> = found.iter().map(|path| path.file_name().unwrap()).collect();
        assert_eq!(names, ["ttyS1", "ttyUSB0"]);
        let missing = advice(&root.path().join("dev/nope"), &found);
        assert!(missing.starts_with("serial ports here: ") && missing.ends_with("/dev/ttyUSB0"));
        assert!(advice(&root.path().join("dev/nope"), &[]).contains("no serial ports"));
    }
}
