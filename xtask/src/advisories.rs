//! Known faults of the crates that are depended on, where a tool and its database can be had.

use std::{fs, process::Command, time::Duration};

use crate::tools::{Failure, cargo, shown, target_dir, within, works};

/// The database has some megabytes; a network that is not there must not hold up the gate.
const LIMIT: Duration = Duration::from_secs(120);

/// Gives what could not be checked.
pub(crate) fn check() -> Result<Option<String>, Failure> {
    let Some((mut fetch, mut check)) = commands()? else {
        return Ok(Some(
            "advisories were not checked: neither cargo-deny nor cargo-audit is installed; \
             `cargo install --locked cargo-deny` installs one"
                .into(),
        ));
    };
    println!("$ {}", shown(&fetch));
    if !within(LIMIT, &mut fetch).is_some_and(|status| status.success()) {
        return Ok(Some(format!(
            "advisories were not checked: the database could not be fetched; repeat this with a \
             network: {}",
            shown(&fetch)
        )));
    }
    println!("$ {}", shown(&check));
    match within(LIMIT, &mut check) {
        Some(status) if status.success() => Ok(None),
        Some(_) => Err(Failure::Task(
            "a dependency has a known fault (above); update it or do without it".into(),
        )),
        None => Ok(Some(format!(
            "advisories were not checked: this took over {} s: {}",
            LIMIT.as_secs(),
            shown(&check)
        ))),
    }
}

/// One that fetches the database, and one that checks without fetching: both tools end with 1 for
/// a finding and for a database that cannot be had.
fn commands() -> Result<Option<(Command, Command)>, Failure> {
    let is_there = |tool| works(&mut cargo([tool, "--version"]));
    if is_there("deny") {
        let check = cargo(["deny", "check", "--disable-fetch", "advisories"]);
        return Ok(Some((cargo(["deny", "fetch", "db"]), check)));
    }
    if is_there("audit") {
        // It fetches only to check something: a package without dependencies.
        let lock = target_dir().join("no-dependencies.lock");
        let text = "version = 4\n\n[[package]]\nname = \"none\"\nversion = \"0.1.0\"\n";
        fs::write(&lock, text)
            .map_err(|error| Failure::Task(format!("{}: {error}", lock.display())))?;
        let mut fetch = cargo(["audit", "--file"]);
        fetch.arg(lock);
        return Ok(Some((fetch, cargo(["audit", "--no-fetch"]))));
    }
    Ok(None)
}
