//! The dashboard: built by Node, embedded by the server's build script, tried in a browser.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
    time::SystemTime,
};

use crate::tools::{Failure, apt_install, cargo, root, succeed, target_dir, works};

/// What to do without it.
const NODE: &str = "the dashboard needs Node 20 or newer with npm (https://nodejs.org); without it \
                    the daemon's page says how to get it";
const CHROMIUM: &str = "/usr/bin/chromium";

/// `cargo xtask web`: builds it, also when it is up to date.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    if let Some(argument) = arguments.first() {
        return Err(Failure::Usage(format!("web takes no {argument}")));
    }
    if !has_node() {
        return Err(Failure::Task(NODE.into()));
    }
    build()?;
    println!("web/dist is built; `cargo build` puts it into the program");
    Ok(())
}

/// Builds it where it can be and has changed; says so where it cannot.
pub(crate) fn build_if_needed() -> Result<(), Failure> {
    if is_current() {
        return Ok(());
    }
    if !has_node() {
        eprintln!("without its dashboard: {NODE}");
        return Ok(());
    }
    build()
}

/// The gate's first part, before anything is built with it: types, rules of accessibility,
/// licences, size, and the modules that need no browser.
pub(crate) fn check() -> Result<Option<String>, Failure> {
    if !has_node() {
        return Ok(Some(format!("the dashboard was neither built nor checked: {NODE}")));
    }
    install()?;
    succeed(&mut npm(["run", "check"]))?;
    build()?;
    succeed(&mut node(&["--import", "./tests/ts.mjs"], "tests/unit")?)?;
    Ok(None)
}

/// The gate's second part: the page in a browser, with simulated robots.
pub(crate) fn browser() -> Result<Option<String>, Failure> {
    if let Some(why) = cannot_show()? {
        return Ok(Some(format!("the dashboard was tried in no browser: {why}")));
    }
    let sinew = build_program("debug")?;
    // One file at a time: robots, daemons and software rendering share the machine's cores.
    let mut tests = node(&["--test-concurrency=1"], "tests/browser")?;
    succeed(tests.env("SINEW", sinew))?;
    Ok(None)
}

/// How fast it is; why that is not known.
pub(crate) fn bench() -> Result<Option<String>, Failure> {
    if let Some(why) = cannot_show()? {
        return Ok(Some(format!("skipped, the dashboard's speed: {why}")));
    }
    let sinew = build_program("release")?;
    succeed(script("bench/dashboard.mjs").env("SINEW", sinew))?;
    Ok(None)
}

/// `cargo xtask pictures`: what the README shows of it.
pub(crate) fn pictures(arguments: &[String]) -> Result<(), Failure> {
    if let Some(argument) = arguments.first() {
        return Err(Failure::Usage(format!("pictures takes no {argument}")));
    }
    if let Some(why) = cannot_show()? {
        return Err(Failure::Task(why));
    }
    let sinew = build_program("release")?;
    succeed(script("scripts/pictures.mjs").env("SINEW", sinew))
}

/// Why it can be looked at in no browser.
fn cannot_show() -> Result<Option<String>, Failure> {
    if !has_node() {
        return Ok(Some(NODE.into()));
    }
    if !has_chromium()? {
        let advice = "install it (apt-get install chromium), or name one in CHROMIUM";
        return Ok(Some(format!("no Chromium; {advice}")));
    }
    Ok(None)
}

/// The program with the dashboard as it is now.
fn build_program(profile: &str) -> Result<PathBuf, Failure> {
    install()?;
    build_if_needed()?;
    let release = (profile == "release").then_some("--release");
    succeed(cargo(["build", "-p", "sinew"]).args(release))?;
    Ok(target_dir().join(profile).join("sinew"))
}

fn build() -> Result<(), Failure> {
    install()?;
    succeed(&mut npm(["run", "--silent", "build"]))
}

/// Installs what it is built with, if that is not what the lock says.
fn install() -> Result<(), Failure> {
    let installed = changed(&web().join("node_modules/.package-lock.json"));
    if installed.is_some() && installed >= changed(&web().join("package-lock.json")) {
        return Ok(());
    }
    succeed(&mut npm(["ci", "--no-audit", "--no-fund"]))
}

/// Whether nothing that it is made of is newer than it.
fn is_current() -> bool {
    let Some(built) = changed(&web().join("dist/index.html.gz")) else { return false };
    let sources = ["src", "scripts", "public", "index.html", "package-lock.json", "vite.config.ts"];
    let sources = sources.map(|name| web().join(name));
    let schema = root().join("docs/api.schema.json");
    sources.iter().chain([&schema]).all(|source| newest(source).is_none_or(|time| time <= built))
}

fn newest(path: &Path) -> Option<SystemTime> {
    // What the build itself writes there is no source.
    if path.ends_with("api.gen.ts") {
        return None;
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.filter_map(|entry| newest(&entry.path())).chain(changed(path)).max()
}

fn changed(path: &Path) -> Option<SystemTime> {
    let about = fs::metadata(path).ok()?;
    // A directory's time changes with the files that are made in it.
    if about.is_dir() { None } else { about.modified().ok() }
}

fn has_node() -> bool {
    // `--test` of 20 takes what the tests need.
    let version = Command::new("node").arg("--version").output();
    let version = version.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    let major = version.as_deref().and_then(|text| text.trim_start_matches('v').split('.').next());
    let new = major.and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major >= 20);
    new && works(&mut npm(["--version"]))
}

/// Whether there is a Chromium; root on Debian gets one.
fn has_chromium() -> Result<bool, Failure> {
    let chosen = env::var_os("CHROMIUM").map_or_else(|| CHROMIUM.into(), PathBuf::from);
    if chosen.exists() {
        return Ok(true);
    }
    apt_install(&["chromium"])?;
    Ok(chosen.exists())
}

/// node's test runner on the files of a directory.
fn node(options: &[&str], directory: &str) -> Result<Command, Failure> {
    let failure = |error: io::Error| Failure::Task(format!("web/{directory}: {error}"));
    let entries = fs::read_dir(web().join(directory)).map_err(failure)?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut files: Vec<String> = names.filter(|name| name.ends_with(".test.mjs")).collect();
    files.sort();
    let mut command = Command::new("node");
    command.args(options).args(["--test", "--test-reporter=spec"]).current_dir(web());
    command.args(files.iter().map(|file| format!("{directory}/{file}")));
    Ok(command)
}

fn script(file: &str) -> Command {
    let mut command = Command::new("node");
    command.arg(file).current_dir(web());
    command
}

fn npm<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = Command::new("npm");
    command.args(arguments).current_dir(web());
    command
}

fn web() -> PathBuf {
    root().join("web")
}

#[cfg(test)]
mod tests {
    use super::newest;
    use crate::tools::root;

    #[test]
    fn the_newest_file_of_a_directory_counts() {
        let sources = newest(&root().join("xtask/src")).expect("has files");
        assert!(sources >= newest(&root().join("xtask/src/web.rs")).expect("is a file"));
        assert!(newest(&root().join("no-such-directory")).is_none());
    }
}
