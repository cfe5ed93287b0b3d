//! The gate: what must pass here passes in CI, and the other way round.
//!
//! Two of its promises are kept by lints: no API newer than the workspace's `rust-version`
//! (`incompatible_msrv`), and no clock where the time comes from the caller (`clippy.toml`).

use std::{
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    advisories, dependencies, fuzz, programs, python,
    tools::{Failure, NO_STD_PROOF, cargo, shown, target_dir, works},
    web,
};

/// Enough to run every target's seeds and some hundred thousand mutations.
const FUZZ_SECONDS: &str = "3";
/// A gate must not fail today and pass tomorrow: fresh seeds are for `cargo xtask fuzz`.
const FUZZ_SEED: &str = "1";

/// Builds that are not the default one. All are linted; those with tests of their own run them.
const FEATURE_SETS: &[FeatureSet] = &[
    // Its tests use all features; without them only the library is of interest.
    FeatureSet { name: "bare wire", packages: &["sinew-wire"], features: "", tests: None },
    // The vector instructions of the baseline: `std` chooses better ones at run time.
    FeatureSet { name: "wire", packages: &["sinew-wire"], features: "alloc", tests: Some(ALL) },
    FeatureSet { name: "tools", packages: &["sinew"], features: "tools", tests: Some(ALL) },
    // A robot's own board runs this. Its tests need simulated robots, which the next one has.
    FeatureSet {
        name: "lean",
        packages: &["sinew", "sinew-io", "sinew-server"],
        features: "sinew/daemon",
        tests: None,
    },
    FeatureSet {
        name: "vacuum",
        packages: &["sinew", "sinew-io", "sinew-server"],
        features: "sinew/daemon,sinew/sim",
        tests: Some(SMALLER),
    },
];

struct FeatureSet {
    name: &'static str,
    packages: &'static [&'static str],
    features: &'static str,
    /// Which of its tests are run, in nextest's words.
    tests: Option<&'static str>,
}

const ALL: &str = "all()";
/// What a smaller build could break. How clients and attackers are dealt with, and what people see,
/// does not hang on what a build has, nor do the networks of tests; the default one is tested with all
/// of it.
const SMALLER: &str = "not (binary(e2e) & test(/^(attack|browser|doctor|drishti|examples|messages|\
                       net|screens|strangers|tokens|unread|vanish|widths)::/))";

/// What the default build leaves out. All tests are run with it; the default build itself is what the browser and the
/// Python client are tried with.
const WHOLE: [&str; 3] = ["--workspace", "--features", "sinew/fleet,sinew/foxglove"];

impl FeatureSet {
    /// What chooses it for any of cargo's commands.
    fn arguments(&self) -> Vec<&'static str> {
        let mut arguments: Vec<_> = self.packages.iter().flat_map(|name| ["-p", name]).collect();
        arguments.push("--no-default-features");
        if !self.features.is_empty() {
            arguments.extend(["--features", self.features]);
        }
        arguments
    }
}

/// A part of the gate; the first to fail ends it.
struct Step {
    name: String,
    work: Work,
}

enum Work {
    /// They run in order.
    Commands(Vec<Command>),
    /// Gives what it could not check here.
    Check(fn() -> Result<Option<String>, Failure>),
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let steps = chosen(steps()?, arguments)?;
    components_are_there()?;
    let count = steps.len();
    let mut times = Vec::new();
    let mut left_out = Vec::new();
    for (Step { name, work }, number) in steps.into_iter().zip(1..) {
        println!("[{number}/{count}] {name}");
        let start = Instant::now();
        match work {
            Work::Commands(commands) => {
                commands.into_iter().try_for_each(|command| run_command(&name, command))?;
            }
            Work::Check(check) => {
                let text = check().map_err(|failure| failed_check(&name, failure))?;
                text.iter().for_each(|text| println!("LEFT OUT: {text}"));
                left_out.extend(text);
            }
        }
        let time = start.elapsed();
        println!("[{number}/{count}] {name}: {:.1} s", time.as_secs_f64());
        times.push((name, time));
    }
    print!("\n{}", table(&times));
    left_out.iter().for_each(|text| println!("LEFT OUT: {text}"));
    println!("all {count} steps passed");
    Ok(())
}

/// The steps with these names; all of them where there are none.
fn chosen(mut steps: Vec<Step>, names: &[String]) -> Result<Vec<Step>, Failure> {
    let known: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    if let Some(wrong) = names.iter().find(|name| !known.contains(&name.as_str())) {
        let known = known.join(", ");
        return Err(Failure::Usage(format!("no step is called {wrong}; there are {known}")));
    }
    steps.retain(|step| names.is_empty() || names.contains(&step.name));
    Ok(steps)
}

/// The time of each step and of all.
fn table(times: &[(String, Duration)]) -> String {
    let all = ("all".into(), times.iter().map(|(_, time)| *time).sum());
    let row =
        |(name, time): &(String, Duration)| format!("{name:<14}{:>8.1} s\n", time.as_secs_f64());
    times.iter().chain([&all]).map(row).collect()
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

fn failed_check(step: &str, failure: Failure) -> Failure {
    match failure {
        Failure::Task(text) => Failure::Task(format!(
            "{text}\n\nfailed: {step}\nrepeat only this: cargo xtask test {step}"
        )),
        usage => usage,
    }
}

fn run_command(step: &str, mut command: Command) -> Result<(), Failure> {
    let line = shown(&command);
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

/// Cheap ones first.
fn steps() -> Result<Vec<Step>, Failure> {
    let mut docs = cargo(["doc", "--workspace", "--no-deps"]);
    docs.env("RUSTDOCFLAGS", "-D warnings");
    let step = |name: &str, commands| Step { name: name.into(), work: Work::Commands(commands) };
    let check = |name: &str, check| Step { name: name.into(), work: Work::Check(check) };
    let mut steps = vec![
        step("format", vec![cargo(["fmt", "--all", "--check"])]),
        check("dependencies", dependencies::check),
        check("advisories", advisories::check),
        // What follows is built with the page in it.
        check("web-build", web::check),
        step("lints", lints()),
        step("docs", vec![docs]),
        step("no_std", vec![no_std_proof(&[]), no_std_proof(&["alloc"])]),
        step("fuzz", short_fuzz()?),
    ];
    steps.push(check("programs", programs::are_there));
    let sets = FEATURE_SETS.iter().filter_map(|set| Some((set, set.tests?)));
    steps.extend(sets.map(|(set, which)| {
        step(&format!("tests-{}", set.name), vec![tests(&set.arguments(), which)])
    }));
    // nextest runs no documentation tests.
    steps.push(step(
        "tests",
        vec![tests(&WHOLE, ALL), cargo(["test", "--doc"].into_iter().chain(WHOLE))],
    ));
    steps.push(check("web", web::browser));
    // With the program that the page was tried with.
    steps.push(check("python", python::check));
    Ok(steps)
}

fn lints() -> Vec<Command> {
    let clippy = |arguments: &[&str]| {
        let mut command = cargo(["clippy"]);
        command.args(arguments).args(["--", "-D", "warnings"]);
        command
    };
    let all_targets = |set: &[&'static str]| clippy(&[set, &["--all-targets"]].concat());
    let mut commands = vec![all_targets(&["--workspace"]), all_targets(&WHOLE)];
    commands.extend(FEATURE_SETS.iter().map(|set| {
        let mut arguments = set.arguments();
        arguments.extend(set.tests.map(|_| "--all-targets"));
        clippy(&arguments)
    }));
    commands
}

/// Without nextest all tests are run: it takes longer.
fn tests(arguments: &[&str], which: &str) -> Command {
    let mut command = if works(&mut cargo(["nextest", "--version"])) {
        cargo(["nextest", "run", "--no-fail-fast", "-E", which])
    } else {
        // Units too, but no documentation tests: they come once.
        cargo(["test", "--tests", "--no-fail-fast"])
    };
    command.args(arguments);
    command
}

/// Builds and runs a program without the standard library; it exits with 0 when all is well.
fn no_std_proof(features: &[&str]) -> Command {
    let mut command = cargo(["run", "--quiet", "--manifest-path", NO_STD_PROOF]);
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Failure, chosen, steps, table};

    #[test]
    fn steps_are_chosen_by_name_and_keep_their_order() {
        let names = |wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|name| name.to_string()).collect();
            let steps = chosen(steps()?, &wanted)?;
            Ok::<Vec<String>, Failure>(steps.into_iter().map(|step| step.name).collect())
        };
        assert_eq!(
            names(&["tests-tools", "format"]).expect("are steps"),
            ["format", "tests-tools"]
        );
        assert!(names(&[]).expect("no names are good").len() > 9);
        assert!(matches!(names(&["format", "no-such-step"]), Err(Failure::Usage(_))));
    }

    #[test]
    fn the_table_has_each_time_and_their_sum() {
        let times = [("format", 400), ("tests-tools", 61_300)];
        let times = times.map(|(name, ms)| (name.to_string(), Duration::from_millis(ms)));
        let text = "format             0.4 s\ntests-tools       61.3 s\nall               61.7 s\n";
        assert_eq!(table(&times), text);
    }
}
