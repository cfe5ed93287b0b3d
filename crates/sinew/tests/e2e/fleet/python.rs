//! The Python package `eclipse-zenoh`, and a client of the fleet that uses it.

use std::{path::Path, path::PathBuf, process::Command};

/// An environment that has the package.
pub(crate) struct Python(PathBuf);

impl Python {
    /// None where the gate has not made it, which is said.
    pub(crate) fn find() -> Option<Self> {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("python").join("fleet");
        if place.join("ready").exists() {
            return Some(Python(place.join("bin/python")));
        }
        eprintln!("skipped: no eclipse-zenoh for Python (cargo xtask test programs installs it)");
        None
    }

    /// `client.py`, which is told by itself, with this endpoint and these words.
    pub(crate) fn client(&self, endpoint: &str, words: &[&str]) -> Command {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/fleet/client.py");
        self.script(script, endpoint, words)
    }

    /// `rubbish.py`, for a robot.
    pub(crate) fn rubbish(&self, endpoint: &str, host: &str, robot: &str) -> Command {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/fleet/rubbish.py");
        self.script(script, endpoint, &[host, robot])
    }

    fn script(&self, script: &str, endpoint: &str, words: &[&str]) -> Command {
        let mut command = Command::new(&self.0);
        command.arg(script).arg(endpoint).args(words).env_remove("PYTHONPATH");
        command
    }
}
