//! Benches: the codecs, the reduction of recordings, maps, captures and recorders, with numpy to compare against
//! where it can be had, a map to WebSockets, the daemon, then the dashboard where there is a browser.

use std::{env, path::PathBuf, process::Command};

use crate::{
    tools::{Failure, cargo, succeed, target_dir, works},
    web,
};

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let filter = match arguments {
        [] => None,
        [filter] => Some(filter),
        _ => return Err(Failure::Usage("bench takes one filter".into())),
    };
    if filter.is_some_and(|filter| filter == "dashboard") {
        return dashboard();
    }
    if filter.is_some_and(|filter| filter == "fleet") {
        return fleet();
    }
    let python = python_with_numpy();
    if python.is_none() {
        println!("numpy will not be compared: neither found nor installed");
    }
    for (package, name) in [
        ("sinew-wire", "wire"),
        ("sinew-robot", "reduce"),
        ("sinew-robot", "maps"),
        ("sinew-server", "map"),
        ("sinew-capture", "inspect"),
        ("sinew-record", "record"),
    ] {
        let mut bench = cargo(["bench", "-p", package, "--bench", name, "--"]);
        if let Some(python) = &python {
            bench.env("SINEW_BENCH_PYTHON", python);
        }
        succeed(bench.args(filter))?;
        println!();
    }
    let mut bench = cargo(["bench", "-p", "sinew", "--bench", "daemon", "--"]);
    succeed(bench.args(filter))?;
    if filter.is_none() {
        println!();
        fleet()?;
        println!();
        dashboard()?;
    }
    Ok(())
}

/// Of a build that has it, which the others do not use.
fn fleet() -> Result<(), Failure> {
    let mut bench = cargo(["bench", "-p", "sinew", "--features", "fleet", "--bench", "daemon"]);
    succeed(bench.args(["--", "fleet"]))
}

fn dashboard() -> Result<(), Failure> {
    if let Some(why) = web::bench()? {
        println!("{why}");
    }
    Ok(())
}

/// The system's Python when it has numpy, else one of our own beside the build.
fn python_with_numpy() -> Option<PathBuf> {
    let has_numpy = |python: &PathBuf| works(Command::new(python).args(["-c", "import numpy"]));
    let system = PathBuf::from("python3");
    if has_numpy(&system) {
        return Some(system);
    }
    let environment = target_dir().join("bench-venv");
    let scripts = if env::consts::FAMILY == "windows" { "Scripts" } else { "bin" };
    let python = environment.join(scripts).join("python");
    if has_numpy(&python) {
        return Some(python);
    }
    println!("installing numpy into {}", environment.display());
    let made = works(Command::new(system).args(["-m", "venv"]).arg(&environment));
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "numpy"];
    let installed = made && works(Command::new(&python).args(pip));
    (installed && has_numpy(&python)).then_some(python)
}
