//! What the tasks share: where things are, and how programs are run.

use std::{
    env,
    ffi::OsStr,
    fmt::Write,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Why a task ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was called wrongly.
    Usage(String),
    /// It could not be done, or found something.
    Task(String),
}

/// A package outside the workspace, with a Cargo.lock of its own.
pub(crate) const NO_STD_PROOF: &str = "crates/sinew-wire/no-std-proof/Cargo.toml";

/// The workspace.
pub(crate) fn root() -> &'static Path {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest)
}

/// Where cargo builds.
pub(crate) fn target_dir() -> PathBuf {
    let chosen = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root().join(chosen)
}

/// What `--target` would say for this machine.
pub(crate) fn host_triple() -> Option<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").current_dir(root()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().find_map(|line| line.strip_prefix("host: ")).map(String::from)
}

/// The cargo that runs this task, at the root of the workspace.
pub(crate) fn cargo<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Runs a command to its end; an error says what could not be started or failed.
pub(crate) fn succeed(command: &mut Command) -> Result<(), Failure> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::Task(format!("{} failed: {status}", shown(command)))),
        Err(error) => Err(Failure::Task(format!("{} did not start: {error}", shown(command)))),
    }
}

/// Whether a command runs and succeeds; what it prints is not shown.
pub(crate) fn works(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Installs packages where that takes no password and no other system's package manager; whether it did.
pub(crate) fn apt_install(packages: &[&str]) -> Result<bool, Failure> {
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    let id = Command::new("id").arg("-u").output();
    let is_root = id.is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    if !is_root || !works(&mut apt(&["--version"])) {
        return Ok(false);
    }
    let install = ["install", "--yes", "--no-install-recommends"];
    for mut command in [apt(&["update"]), apt(&[&install[..], packages].concat())] {
        println!("$ {}", shown(&command));
        succeed(&mut command)?;
    }
    Ok(true)
}

/// How a command ended; none when it did not start, or took longer than this and was ended.
pub(crate) fn within(limit: Duration, command: &mut Command) -> Option<ExitStatus> {
    let begin = Instant::now();
    let mut child = command.stdin(Stdio::null()).spawn().ok()?;
    loop {
        match child.try_wait() {
            Ok(None) if begin.elapsed() < limit => thread::sleep(Duration::from_millis(20)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
            ended => return ended.ok().flatten(),
        }
    }
}

/// A command as one would type it at the root of the workspace.
pub(crate) fn shown(command: &Command) -> String {
    let mut line = String::new();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            let _ = write!(line, "{}={} ", name.display(), quoted(value));
        }
    }
    let program = Path::new(command.get_program());
    line.push_str(&program.file_stem().unwrap_or(program.as_os_str()).to_string_lossy());
    for argument in command.get_args() {
        let _ = write!(line, " {}", quoted(argument));
    }
    line
}

fn quoted(argument: &OsStr) -> String {
    let text = Path::new(argument).strip_prefix(root()).map_or(argument, Path::as_os_str);
    let text = text.to_string_lossy();
    if text.contains(' ') { format!("\"{text}\"") } else { text.into_owned() }
}

#[cfg(test)]
mod tests {
    use std::{
        process::Command,
        time::{Duration, Instant},
    };

    use super::{cargo, within};

    #[test]
    fn what_takes_too_long_is_ended() {
        let begin = Instant::now();
        let limit = Duration::from_millis(50);
        assert!(within(limit, Command::new("sleep").arg("600")).is_none());
        assert!(begin.elapsed() < Duration::from_secs(60));
        let long = Duration::from_secs(600);
        assert!(within(long, &mut cargo(["--version"])).is_some_and(|status| status.success()));
        assert!(within(long, &mut cargo(["no-such-command"])).is_some_and(|it| !it.success()));
        assert!(within(long, &mut Command::new("there-is-no-such-program")).is_none());
    }
}
