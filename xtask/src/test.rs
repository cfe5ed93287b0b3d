//! The gate: what must pass here passes in CI, and the other way round.

use std::{process::Command, time::Instant};

use crate::{
    fuzz,
    tools::{Failure, cargo, shown, target_dir, works},
};

/// Enough to run every target's seeds and some hundred thousand mutations.
const FUZZ_SECONDS: &str = "3";
/// A gate must not fail today and pass tomorrow: fresh seeds are for `cargo xtask fuzz`.
const FUZZ_SEED: &str = "1";

/// Commands that belong together; they run in order, and the first to fail ends the gate.
struct Step {
    name: &'static str,
    commands: Vec<Command>,
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    if let Some(argument) = arguments.first() {
        return Err(Failure::Usage(format!("test takes no {argument}")));
    }
    components_are_there()?;
    let start = Instant::now();
    let steps = steps()?;
    let count = steps.len();
    for (step, number) in steps.into_iter().zip(1..) {
        println!("[{number}/{count}] {}", step.name);
        let step_start = Instant::now();
        for mut command in step.commands {
            run_command(step.name, &mut command)?;
        }
        println!("[{number}/{count}] {}: {:.1} s", step.name, step_start.elapsed().as_secs_f64());
    }
    println!("all {count} steps passed in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn components_are_there() -> Result<(), Failure> {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !works(&mut cargo([subcommand, "--version"])) {
            return Err(Failure::Task(format!(
                "{component} is not installed; install it: rustup component add {component}"
            )));
        }
    }
    Ok(())
}

fn run_command(step: &str, command: &mut Command) -> Result<(), Failure> {
    let line = shown(command);
    println!("$ {line}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            Err(Failure::Task(format!("\nfailed: {step} ({status})\nrepeat only this: {line}")))
        }
        Err(error) => {
            Err(Failure::Task(format!("\nfailed: {step}: {line} did not start: {error}")))
        }
    }
}

fn steps() -> Result<Vec<Step>, Failure> {
    let deny = ["--", "-D", "warnings"];
    let clippy = |arguments: &[&str]| {
        let mut command = cargo(["clippy"]);
        command.args(arguments).args(deny);
        command
    };
    // Its tests and benches use all features; without them only the library is of interest.
    let bare = ["-p", "sinew-wire", "--lib", "--no-default-features"];
    let mut docs = cargo(["doc", "--workspace", "--no-deps"]);
    docs.env("RUSTDOCFLAGS", "-D warnings");
    Ok(vec![
        Step { name: "format", commands: vec![cargo(["fmt", "--all", "--check"])] },
        Step {
            name: "lints",
            commands: vec![
                clippy(&["--workspace", "--all-targets"]),
                clippy(&bare),
                clippy(&[&bare[..], &["--features", "alloc"]].concat()),
                clippy(&["-p", "sinew", "--no-default-features", "--features", "vacuum"]),
            ],
        },
        Step { name: "tests", commands: tests() },
        Step { name: "docs", commands: vec![docs] },
        Step { name: "no_std", commands: vec![no_std_proof(&[]), no_std_proof(&["alloc"])] },
        Step { name: "fuzz", commands: short_fuzz()? },
        Step { name: "release", commands: vec![cargo(["build", "--release", "-p", "sinew"])] },
    ])
}

/// nextest runs no documentation tests, so they follow it.
fn tests() -> Vec<Command> {
    if works(&mut cargo(["nextest", "--version"])) {
        vec![cargo(["nextest", "run", "--workspace"]), cargo(["test", "--doc", "--workspace"])]
    } else {
        vec![cargo(["test", "--workspace"])]
    }
}

/// Builds and runs a program without the standard library; it exits with 0 when all is well.
fn no_std_proof(features: &[&str]) -> Command {
    let manifest = "crates/sinew-wire/no-std-proof/Cargo.toml";
    let mut command = cargo(["run", "--quiet", "--manifest-path", manifest]);
    for feature in features {
        command.args(["--features", feature]);
    }
    command.env("CARGO_TARGET_DIR", target_dir().join("no-std-proof"));
    command
}

fn short_fuzz() -> Result<Vec<Command>, Failure> {
    let driver = |target: &String| {
        let mut command = fuzz::mutation_driver();
        command.args([target, FUZZ_SECONDS, "--seed", FUZZ_SEED]);
        command
    };
    Ok(fuzz::targets()?.iter().map(driver).collect())
}
