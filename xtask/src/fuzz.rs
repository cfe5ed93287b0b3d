//! Fuzzing: guided by coverage where that builds, by plain mutation elsewhere.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::tools::{Failure, cargo, host_triple, root, succeed, target_dir};

const DEFAULT_SECONDS: u64 = 60;

/// What `cargo fuzz build --sanitizer none --release` passes. All of it works on stable.
const COVERAGE_FLAGS: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    --cfg fuzzing -Cdebug-assertions -Ccodegen-units=1";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let Request { targets, seconds, mutate } = parse(arguments)?;
    let harness = if mutate { None } else { build_coverage_harness(&targets) };
    match &harness {
        Some(_) => println!("guided by coverage (libFuzzer), {seconds} s a target"),
        None => println!("plain mutation, not guided by coverage, {seconds} s a target"),
    }
    for target in &targets {
        let corpus = root().join("fuzz/corpus").join(target);
        succeed(mutation_driver().arg(target).arg("--write-seeds").arg(&corpus))?;
        match &harness {
            Some(harness) => run_coverage(&harness.join(target), target, seconds, &corpus)?,
            None => {
                let mut driver = mutation_driver();
                driver.args([target, &seconds.to_string(), "--corpus"]).arg(&corpus);
                succeed(&mut driver)?;
            }
        }
    }
    Ok(())
}

/// The names of the harness's files are the names of the targets.
pub(crate) fn targets() -> Result<Vec<String>, Failure> {
    let directory = root().join("fuzz/fuzz_targets");
    let entries = fs::read_dir(&directory)
        .map_err(|error| Failure::Task(format!("{}: {error}", directory.display())))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.into()))
        .collect();
    names.sort();
    Ok(names)
}

/// The driver as built for development: overflow checks and debug assertions are on.
pub(crate) fn mutation_driver() -> Command {
    cargo(["run", "--quiet", "-p", "sinew-fuzz", "--"])
}

struct Request {
    targets: Vec<String>,
    seconds: u64,
    mutate: bool,
}

fn parse(arguments: &[String]) -> Result<Request, Failure> {
    let mut request = Request { targets: targets()?, seconds: DEFAULT_SECONDS, mutate: false };
    for argument in arguments {
        if argument == "--mutate" {
            request.mutate = true;
        } else if let Ok(seconds) = argument.parse() {
            request.seconds = seconds;
        } else if request.targets.contains(argument) {
            request.targets = vec![argument.clone()];
        } else {
            let known = request.targets.join(", ");
            return Err(Failure::Usage(format!(
                "no target is called {argument}; there are {known}"
            )));
        }
    }
    Ok(request)
}

/// The directory of the built programs; none, with a word on it, when they do not build here.
fn build_coverage_harness(targets: &[String]) -> Option<PathBuf> {
    let host = host_triple()?;
    let directory = target_dir().join("fuzz");
    // A named target keeps the flags from build scripts, which would not link with them.
    let arguments = ["build", "--release", "-p", "sinew-fuzz", "--features", "coverage"];
    let mut build = cargo(arguments);
    build.args(["--target", &host]).arg("--target-dir").arg(&directory);
    build.args(targets.iter().flat_map(|target| ["--bin", target]));
    build.env("RUSTFLAGS", COVERAGE_FLAGS).env_remove("CARGO_ENCODED_RUSTFLAGS");
    match succeed(&mut build) {
        Ok(()) => Some(directory.join(host).join("release")),
        Err(_) => {
            println!("the coverage-guided harness does not build here (it needs a C++ compiler)");
            None
        }
    }
}

fn run_coverage(program: &Path, target: &str, seconds: u64, corpus: &Path) -> Result<(), Failure> {
    let could_not = |error| Failure::Task(format!("{target}: {error}"));
    let artifacts = root().join("fuzz/artifacts").join(target);
    fs::create_dir_all(&artifacts).map_err(could_not)?;
    let mut child = Command::new(program)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args(["-timeout=5", "-print_final_stats=1"])
        .arg(corpus)
        .stderr(Stdio::piped())
        .spawn()
        .map_err(could_not)?;
    let mut kept = None;
    let mut report = Report::default();
    for line in child.stderr.take().into_iter().flat_map(|pipe| BufReader::new(pipe).lines()) {
        let line = line.map_err(could_not)?;
        if let Some((_, file)) = line.split_once("Test unit written to ") {
            kept = Some(file.to_string());
        }
        if report.hear(&line) {
            eprintln!("{line}");
        }
    }
    let status = child.wait().map_err(could_not)?;
    if status.success() {
        println!("{target}: {report}, no finding");
        return Ok(());
    }
    let replay = kept.map_or(String::new(), |file| {
        format!("\nreplay it: cargo run -p sinew-fuzz -- {target} --replay {file}")
    });
    Err(Failure::Task(format!("{target}: an input breaks it (message above){replay}")))
}

/// What libFuzzer says, without the hundreds of lines that only say that it is at work.
#[derive(Debug, Default)]
struct Report {
    executions: String,
    per_second: String,
    coverage: String,
    in_dictionary: bool,
}

impl Report {
    /// Takes a line in; true when a person should see it.
    fn hear(&mut self, line: &str) -> bool {
        let after = |label: &str| line.split_once(label).map(|(_, rest)| rest.trim());
        if let Some(count) = after("stat::number_of_executed_units:") {
            self.executions = count.into();
        } else if let Some(count) = after("stat::average_exec_per_sec:") {
            self.per_second = count.into();
        } else if let Some(rest) = after(" cov: ") {
            self.coverage = rest.split(' ').next().unwrap_or_default().into();
        }
        if line.starts_with("###### ") {
            self.in_dictionary = line.contains("Recommended");
            return false;
        }
        let at_work = line.starts_with('#') && !line.contains("pulse");
        let chatter = ["INFO: ", "WARNING: Failed to find", "stat::", "Done ", "\tNEW_FUNC"];
        !at_work && !self.in_dictionary && !chatter.iter().any(|word| line.starts_with(word))
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Report { executions, per_second, coverage, .. } = self;
        write!(f, "{executions} executions, {per_second}/s, {coverage} edges reached")
    }
}

#[cfg(test)]
mod tests {
    use super::{DEFAULT_SECONDS, Failure, Report, parse};

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(String::from).collect()
    }

    #[test]
    fn target_seconds_and_driver_come_in_any_order() {
        for line in ["slam 5 --mutate", "--mutate 5 slam"] {
            let request = parse(&words(line)).expect("a good request");
            assert_eq!(request.targets, ["slam"]);
            assert_eq!((request.seconds, request.mutate), (5, true));
        }
        let all = parse(&[]).expect("no arguments are good");
        assert!(all.targets.len() > 1);
        assert_eq!((all.seconds, all.mutate), (DEFAULT_SECONDS, false));
        assert!(matches!(parse(&words("no-such-target")), Err(Failure::Usage(_))));
    }

    #[test]
    fn only_news_is_passed_on_and_the_numbers_are_kept() {
        let mut report = Report::default();
        let lines = [
            ("INFO: Seed: 1", false),
            ("#2\tNEW    cov: 12 ft: 13 corp: 1/1b", false),
            ("#65536\tpulse  cov: 407 ft: 1150 corp: 274/51Kb", true),
            ("thread 'main' panicked at src/slam.rs:1:1:", true),
            ("###### Recommended dictionary. ######", false),
            ("\"\\001\\011\" # Uses: 854", false),
            ("###### End of recommended dictionary. ######", false),
            ("SUMMARY: libFuzzer: deadly signal", true),
            ("stat::number_of_executed_units: 70000", false),
            ("stat::average_exec_per_sec:     3500", false),
        ];
        for (line, shown) in lines {
            assert_eq!(report.hear(line), shown, "{line}");
        }
        assert_eq!(report.to_string(), "70000 executions, 3500/s, 407 edges reached");
    }
}
