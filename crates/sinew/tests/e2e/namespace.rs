//! Network namespaces: addresses that are not loopback, and cables that can be pulled.

use std::{
    env,
    process::{Child, Command, Stdio},
};

/// Set where a test runs in a namespace of its own.
const INSIDE: &str = "SINEW_E2E_NAMESPACE";
/// The daemon's address in the namespace.
pub(crate) const HERE: &str = "10.77.0.1";
/// The address at the other end of the cable.
pub(crate) const THERE: &str = "10.77.0.2";

/// Runs a test in a network namespace of its own, by its name; says so where that is not allowed.
pub(crate) fn inside(test: &str, body: impl FnOnce()) {
    if env::var_os(INSIDE).is_some() {
        ip(&["link", "set", "lo", "up"]);
        return body();
    }
    // Without the right to make one, a namespace of users gives it.
    let ways: [&[&str]; 2] = [&["--net"], &["--net", "--map-root-user"]];
    let allowed = |way: &&&[&str]| {
        let mut unshare = Command::new("unshare");
        unshare.args(**way).args(["ip", "link", "add", "probe", "type", "veth"]);
        unshare.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    let Some(way) = ways.iter().find(allowed) else {
        eprintln!("skipped: {test} needs a network namespace, which is not allowed here");
        return;
    };
    let status = Command::new("unshare")
        .args(*way)
        .arg(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        .status()
        .unwrap();
    assert!(status.success(), "{test} in its namespace: {status}");
}

/// Gives this namespace its address, and so many more from which clients may come.
pub(crate) fn add_addresses(more: u8) {
    ip(&["address", "add", &format!("{HERE}/16"), "dev", "lo"]);
    for number in 1..=more {
        ip(&["address", "add", &format!("10.77.1.{number}/16"), "dev", "lo"]);
    }
}

fn ip(arguments: &[&str]) {
    let status = Command::new("ip").args(arguments).status().unwrap();
    assert!(status.success(), "ip {arguments:?}");
}

/// A cable from this namespace to another.
pub(crate) struct Cable {
    /// Keeps the other namespace.
    other: Child,
}

impl Cable {
    pub(crate) fn plug() -> Self {
        // It reads what never comes, and ends with this process.
        let mut other = Command::new("unshare");
        let other = other.args(["--net", "cat"]).stdin(Stdio::piped()).spawn().unwrap();
        let cable = Cable { other };
        let id = cable.other.id().to_string();
        let own = std::fs::read_link("/proc/self/ns/net").unwrap();
        crate::support::until("the other namespace", || {
            let theirs = std::fs::read_link(format!("/proc/{id}/ns/net")).ok()?;
            (theirs != own).then_some(())
        });
        ip(&["link", "add", "here", "type", "veth", "peer", "name", "there", "netns", &id]);
        ip(&["address", "add", &format!("{HERE}/24"), "dev", "here"]);
        ip(&["link", "set", "here", "up"]);
        cable.ip_there(&["address", "add", &format!("{THERE}/24"), "dev", "there"]);
        cable.ip_there(&["link", "set", "there", "up"]);
        cable
    }

    /// Nothing comes through any more, and neither end is told.
    pub(crate) fn pull(&self) {
        self.ip_there(&["link", "set", "there", "down"]);
    }

    /// It comes through again.
    #[cfg(feature = "webrtc")]
    pub(crate) fn mend(&self) {
        self.ip_there(&["link", "set", "there", "up"]);
    }

    fn ip_there(&self, arguments: &[&str]) {
        let status = self.there("ip").args(arguments).status().unwrap();
        assert!(status.success(), "ip {arguments:?} in the other namespace");
    }

    /// A program at the other end.
    pub(crate) fn there(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target", &self.other.id().to_string()]).arg(program);
        command
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        let _ = self.other.kill();
        let _ = self.other.wait();
    }
}
