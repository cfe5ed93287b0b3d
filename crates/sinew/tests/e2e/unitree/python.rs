//! A Python with what people use for these robots, in an environment of its own.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The package, as it is published.
const PACKAGE: &str = "unitree_webrtc_connect==2.2.0";
const REQUIREMENTS: &str = include_str!("requirements.txt");

/// The environment.
pub(crate) struct Python {
    dir: PathBuf,
}

impl Python {
    /// Made once for all tests; none where that cannot be, which is said.
    pub(crate) fn set_up() -> Option<Self> {
        let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let dir = tmp.join("unitree-python");
        fs::create_dir_all(&dir).unwrap();
        // Tests are processes that run side by side: one makes it, the others wait.
        let lock = File::create(dir.join("lock")).unwrap();
        lock.lock().unwrap();
        let (python, ready) = (Python { dir }, "ready");
        let wanted = format!("{PACKAGE}\n{REQUIREMENTS}");
        if fs::read_to_string(python.dir.join(ready)).is_ok_and(|there| there == wanted) {
            return Some(python);
        }
        if let Err(why) = python.install() {
            eprintln!("\n*** SKIPPED: {PACKAGE} cannot be installed, so it is not tried: {why}\n");
            // A machine that can reach it must not skip: the error is not that of the network.
            assert!(is_offline(&why), "{why}");
            return None;
        }
        fs::write(python.dir.join(ready), wanted).unwrap();
        Some(python)
    }

    fn install(&self) -> Result<(), String> {
        let venv = self.dir.join("venv");
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
        let pip = || {
            let mut pip = Command::new(venv.join("bin/python"));
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
            pip
        };
        let requirements = self.dir.join("requirements.txt");
        fs::write(&requirements, REQUIREMENTS).map_err(|error| error.to_string())?;
        run(pip().arg("-r").arg(&requirements))?;
        run(pip().args(["--no-deps", PACKAGE]))?;
        // It imports a module for sound, which needs a system library; nothing here plays any.
        let stand_ins = self.dir.join("stand-ins");
        fs::create_dir_all(&stand_ins).map_err(|error| error.to_string())?;
        fs::write(stand_ins.join("sounddevice.py"), "").map_err(|error| error.to_string())
    }

    /// Runs one of the scripts beside this file.
    pub(crate) fn script(&self, name: &str) -> Command {
        let mut command = Command::new(self.dir.join("venv/bin/python"));
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/unitree/");
        command.arg(format!("{dir}{name}")).env("PYTHONPATH", self.dir.join("stand-ins"));
        for proxy in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
            command.env_remove(proxy);
        }
        command
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let ended = command.stdin(Stdio::null()).output();
    let ended = ended.map_err(|error| format!("{command:?}: {error}"))?;
    let stderr = String::from_utf8_lossy(&ended.stderr);
    ended.status.success().then_some(()).ok_or_else(|| stderr.trim().to_owned())
}

/// Whether pip failed because it reached nothing.
fn is_offline(why: &str) -> bool {
    let words = ["Connection", "Temporary failure", "timed out", "Network is unreachable"];
    words.iter().any(|word| why.contains(word))
        || why.contains("No such file") && env::var_os("PATH").is_some()
}
