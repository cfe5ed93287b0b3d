//! Network namespaces, with addresses and ports that are of this process alone.

use std::{
    env,
    process::{Command, Stdio},
};

/// Set in a namespace of its own.
const INSIDE: &str = "SINEW_E2E_NAMESPACE";
/// The address of daemons in the namespace.
pub(crate) const HERE: &str = "10.77.0.1";

/// Runs a test, or a case of a bench, in a network namespace of its own, by its name; says so where
/// that is not allowed.
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

pub(crate) fn ip(arguments: &[&str]) {
    let status = Command::new("ip").args(arguments).status().unwrap();
    assert!(status.success(), "ip {arguments:?}");
}
