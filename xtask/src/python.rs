//! The Python client: types made from the schema, a wheel, and its tests against the program.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::tools::{Failure, cargo, root, shown, succeed, target_dir, works};

/// What to do without it.
const PYTHON: &str = "it needs Python 3.9 or newer with venv and pip (apt-get install \
                      python3-venv), and once a package index";
/// What does, and has what environments are made with.
const FITS: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))";
/// The tests that arrays are part of; the others are the same without numpy and with it.
const WITH_ARRAYS: &str = "frames or cloud or map";

/// `cargo xtask python`: writes the client's types anew.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    if let Some(argument) = arguments.first() {
        return Err(Failure::Usage(format!("python takes no {argument}")));
    }
    if !has_python() {
        return Err(Failure::Task(format!("the Python client's types were not made: {PYTHON}")));
    }
    succeed(Command::new("python3").arg("scripts/make_types.py").current_dir(client()))?;
    println!("clients/python/src/sinew/api.py is that of docs/api.schema.json");
    Ok(())
}

/// The gate's part: types, wheel, and the tests of what is in the wheel.
pub(crate) fn check() -> Result<Option<String>, Failure> {
    let left_out = |why: &str| Ok(Some(format!("the Python client was not checked: {why}")));
    if !has_python() {
        return left_out(PYTHON);
    }
    // What it is built and looked at with; a clean environment; the same with numpy.
    let (tools, plain, arrays) = (&TOOLS, &PLAIN, &ARRAYS);
    for environment in [tools, plain, arrays] {
        if let Err(failure) = environment.set_up() {
            return if is_offline(&failure) {
                left_out(&failure)
            } else {
                Err(Failure::Task(failure))
            };
        }
    }
    succeed(tools.python().args(["scripts/make_types.py", "--check"]))?;
    let cache = base().join("mypy");
    succeed(tools.python().args(["-m", "mypy", "--cache-dir"]).arg(cache))?;
    let wheel = wheel(tools)?;
    succeed(&mut cargo(["build", "-p", "sinew"]))?;
    let sinew = target_dir().join("debug/sinew");
    for (environment, filter) in [(plain, None), (arrays, Some(["-k", WITH_ARRAYS]))] {
        succeed(environment.pip().args(["--no-deps", "--force-reinstall"]).arg(&wheel))?;
        let mut tests = environment.python();
        tests.args(["-m", "pytest"]).args(filter.into_iter().flatten());
        succeed(tests.env("SINEW", &sinew))?;
    }
    Ok(None)
}

/// Builds the wheel, and gives where it is.
fn wheel(tools: &Environment) -> Result<PathBuf, Failure> {
    let dist = base().join("dist");
    let failure = |error| Failure::Task(format!("{}: {error}", dist.display()));
    // One that another version left there would be found.
    if dist.exists() {
        fs::remove_dir_all(&dist).map_err(failure)?;
    }
    let mut build = tools.python();
    build.args(["-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]);
    build.args(["--no-deps", "--no-build-isolation", "--wheel-dir"]).arg(&dist).arg(".");
    succeed(&mut build)?;
    let files = fs::read_dir(&dist).map_err(failure)?.flatten().map(|entry| entry.path());
    let wheel = files.into_iter().find(|file| file.extension().is_some_and(|end| end == "whl"));
    wheel.ok_or_else(|| Failure::Task(format!("{}: no wheel was built", dist.display())))
}

/// Sees to it that tests of the fleet find a client that is not ours; says what is not tried without.
pub(crate) fn fleet() -> Result<Option<String>, Failure> {
    let left_out =
        |why: &str| Ok(Some(format!("the fleet was not tried with Zenoh's own Python: {why}")));
    if !has_python() {
        return left_out(PYTHON);
    }
    match FLEET.set_up() {
        Ok(()) => Ok(None),
        Err(failure) if is_offline(&failure) => left_out(&failure),
        Err(failure) => Err(Failure::Task(failure)),
    }
}

/// A Python with the packages of a list, made once.
struct Environment {
    name: &'static str,
    /// The list, after those that it refers to.
    lists: &'static [&'static str],
}

const TOOLS: Environment = Environment {
    name: "tools",
    lists: &["clients/python/requirements/plain.txt", "clients/python/requirements/tools.txt"],
};
const PLAIN: Environment =
    Environment { name: "plain", lists: &["clients/python/requirements/plain.txt"] };
const ARRAYS: Environment = Environment {
    name: "numpy",
    lists: &["clients/python/requirements/plain.txt", "clients/python/requirements/numpy.txt"],
};
/// Tests know its place.
const FLEET: Environment =
    Environment { name: "fleet", lists: &["crates/sinew/tests/e2e/fleet/requirements.txt"] };

impl Environment {
    /// What went wrong, in pip's words.
    fn set_up(&self) -> Result<(), String> {
        let read = |list| {
            fs::read_to_string(root().join(list)).map_err(|error| format!("{list}: {error}"))
        };
        let wanted = self.lists.iter().copied().map(read).collect::<Result<String, _>>()?;
        let list = root().join(self.lists.last().copied().unwrap_or_default());
        let ready = self.directory().join("ready");
        let is_ready = fs::read_to_string(&ready).is_ok_and(|there| there == wanted);
        if is_ready && works(self.python().args(["-c", ""])) {
            return Ok(());
        }
        println!("installing {} into {}", list.display(), self.directory().display());
        finish(Command::new("python3").args(["-m", "venv", "--clear"]).arg(self.directory()))?;
        finish(self.pip().arg("-r").arg(&list))?;
        fs::write(&ready, wanted).map_err(|error| format!("{}: {error}", ready.display()))
    }

    fn directory(&self) -> PathBuf {
        base().join(self.name)
    }

    /// Its Python, in the client's directory. What is imported is what is installed, and nothing is
    /// left beside the sources.
    fn python(&self) -> Command {
        let mut command = Command::new(self.directory().join("bin/python"));
        command.current_dir(client()).env_remove("PYTHONPATH").env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    fn pip(&self) -> Command {
        let mut command = self.python();
        command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        command
    }
}

/// Runs a command to its end; what it says stands in the error only.
fn finish(command: &mut Command) -> Result<(), String> {
    let ended = command.stdin(Stdio::null()).output();
    let ended = ended.map_err(|error| format!("{} did not start: {error}", shown(command)))?;
    let said = String::from_utf8_lossy(&ended.stderr);
    let failure = || format!("{} failed: {}", shown(command), said.trim());
    ended.status.success().then_some(()).ok_or_else(failure)
}

/// Whether pip failed because it reached nothing.
fn is_offline(why: &str) -> bool {
    // An index that is reached has versions of everything that is asked for here.
    let words = ["Connection", "Temporary failure", "timed out", "from versions: none"];
    words.iter().any(|word| why.contains(word))
}

fn has_python() -> bool {
    works(Command::new("python3").args(["-c", FITS]))
}

fn client() -> PathBuf {
    root().join("clients/python")
}

fn base() -> PathBuf {
    target_dir().join("python")
}

#[cfg(test)]
mod tests {
    use super::is_offline;

    #[test]
    fn a_wrong_version_is_no_missing_network() {
        assert!(is_offline("NewConnectionError: Failed to establish a new connection"));
        assert!(is_offline("ERROR: Could not find a version of mypy==1 (from versions: none)"));
        assert!(!is_offline("ERROR: No matching distribution found for mypy==99"));
    }
}
