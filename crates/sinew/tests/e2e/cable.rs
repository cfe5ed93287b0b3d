//! Cables that can be pulled.

use std::process::{Child, Command, Stdio};

use crate::namespace::{HERE, ip};

/// The address at the other end of the cable.
pub(crate) const THERE: &str = "10.77.0.2";

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
