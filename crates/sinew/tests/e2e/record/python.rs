//! The Python package `mcap` in an environment of its own, to read what was recorded.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

const PACKAGES: &str = "mcap==1.3.0 mcap-protobuf-support==0.5.3 jsonschema==4.25.1";

pub(crate) struct Python(PathBuf);

impl Python {
    /// Made once for all tests; none where that cannot be, which is said.
    pub(crate) fn set_up() -> Option<Self> {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("record-python");
        fs::create_dir_all(&dir).unwrap();
        // Tests are processes that run side by side: one makes it, the others wait.
        let lock = File::create(dir.join("lock")).unwrap();
        lock.lock().unwrap();
        let ready = dir.join("ready");
        if fs::read_to_string(&ready).is_ok_and(|there| there == PACKAGES) {
            return Some(Python(dir));
        }
        let venv = dir.join("venv");
        let made = run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv));
        let install = || {
            let mut pip = Command::new(venv.join("bin/python"));
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
            run(pip.args(PACKAGES.split(' '))).map(drop)
        };
        if let Err(why) = made.and_then(|_| install()) {
            eprintln!("\n*** SKIPPED: {PACKAGES} cannot be installed, so it is not tried: {why}\n");
            // A machine that can reach them must not skip: the error is not that of the network.
            let words = ["Connection", "Temporary failure", "timed out", "Network is unreachable"];
            let is_offline = words.iter().any(|word| why.contains(word));
            assert!(is_offline || why.contains("No such file"), "{why}");
            return None;
        }
        fs::write(ready, PACKAGES).unwrap();
        Some(Python(dir))
    }

    /// Reads a file with all checks, and tells what is in it.
    pub(crate) fn check(&self, file: &Path) -> Value {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/record/check.py");
        let mut python = Command::new(self.0.join("venv/bin/python"));
        let said = run(python.arg(script).arg(file)).unwrap_or_else(|why| panic!("{why}"));
        serde_json::from_str(&said).unwrap()
    }
}

fn run(command: &mut Command) -> Result<String, String> {
    let ended = command.stdin(Stdio::null()).output();
    let ended = ended.map_err(|error| format!("{command:?}: {error}"))?;
    let stderr = String::from_utf8_lossy(&ended.stderr);
    match ended.status.success() {
        true => Ok(String::from_utf8_lossy(&ended.stdout).into_owned()),
        false => Err(stderr.trim().to_owned()),
    }
}
