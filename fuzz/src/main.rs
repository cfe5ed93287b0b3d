//! The mutation driver on the command line; `cargo xtask fuzz` is the comfortable way to it.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use sinew_fuzz::{
    TARGETS, Target,
    driver::{self, Breakage, Limit, Outcome, Plan},
};

const PATIENCE: Duration = Duration::from_secs(5);
const REPORT_EVERY: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help") {
        println!("{}", usage());
        return ExitCode::SUCCESS;
    }
    match parse(&arguments).and_then(run) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("{message}\n\n{}", usage());
            ExitCode::from(2)
        }
    }
}

fn usage() -> String {
    let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
    format!(
        "usage: sinew-fuzz TARGET SECONDS [--seed N] [--corpus DIR]\n       \
         sinew-fuzz TARGET --replay FILE\n       \
         sinew-fuzz TARGET --write-seeds DIR\n\n\
         targets: {}",
        names.join(", ")
    )
}

enum Job {
    Fuzz { seconds: u64, seed: u64, corpus: Option<PathBuf> },
    Replay(PathBuf),
    WriteSeeds(PathBuf),
}

fn parse(arguments: &[String]) -> Result<(Target, Job), String> {
    let mut arguments = arguments.iter();
    let name = arguments.next().ok_or("which target?")?;
    let target = Target::by_name(name).ok_or_else(|| format!("no target is called {name}"))?;
    let (mut seconds, mut seed, mut corpus) = (None, None, None);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} what?"));
        match argument.as_str() {
            "--replay" => return Ok((target, Job::Replay(value()?.into()))),
            "--write-seeds" => return Ok((target, Job::WriteSeeds(value()?.into()))),
            "--seed" => seed = Some(number(value()?)?),
            "--corpus" => corpus = Some(value()?.into()),
            other => seconds = Some(number(other)?),
        }
    }
    let job = Job::Fuzz {
        seconds: seconds.ok_or("for how many seconds?")?,
        seed: seed.unwrap_or_else(|| fastrand::u64(..)),
        corpus,
    };
    Ok((target, job))
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text} is not a whole number"))
}

fn run((target, job): (Target, Job)) -> Result<ExitCode, String> {
    match job {
        Job::Fuzz { seconds, seed, corpus } => {
            let artifacts = Path::new(env!("CARGO_MANIFEST_DIR")).join("artifacts");
            let plan = Plan {
                target,
                seed,
                limit: Limit::Time(Duration::from_secs(seconds)),
                patience: PATIENCE,
                artifacts: artifacts.join(target.name),
                corpus: corpus.as_deref().map_or(Ok(Vec::new()), read_corpus)?,
            };
            Ok(fuzz(&plan))
        }
        Job::Replay(file) => {
            let input = read(&file)?;
            if driver::panics(target, &input) {
                return Ok(ExitCode::FAILURE);
            }
            println!("{}: {} bytes, no finding", target.name, input.len());
            Ok(ExitCode::SUCCESS)
        }
        Job::WriteSeeds(directory) => {
            write_seeds(target, &directory)
                .map_err(|error| format!("{}: {error}", directory.display()))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn fuzz(plan: &Plan) -> ExitCode {
    let name = plan.target.name;
    println!("{name}: seed {}", plan.seed);
    let mut next_report = REPORT_EVERY;
    let outcome = driver::run(plan, |executions, elapsed| {
        if elapsed >= next_report {
            next_report += REPORT_EVERY;
            println!("{name}: {}", speed(executions, elapsed));
        }
    });
    report(plan, &outcome)
}

fn report(plan: &Plan, outcome: &Outcome) -> ExitCode {
    let name = plan.target.name;
    let speed = speed(outcome.executions, outcome.elapsed);
    let Some(finding) = &outcome.finding else {
        println!("{name}: {speed}, no finding");
        return ExitCode::SUCCESS;
    };
    println!("{name}: {speed}");
    let what = match finding.what {
        Breakage::Panic => "panics (message above)".into(),
        Breakage::Hang => format!("takes more than {} s", plan.patience.as_secs()),
    };
    println!("{name}: an input of {} bytes {what}", finding.input.len());
    match &finding.file {
        Ok(file) => {
            println!("replay it: cargo run -p sinew-fuzz -- {name} --replay {}", file.display())
        }
        Err(error) => println!(
            "it could not be kept in {} ({error}): {:02x?}",
            plan.artifacts.display(),
            finding.input
        ),
    }
    ExitCode::FAILURE
}

fn speed(executions: u64, elapsed: Duration) -> String {
    let per_second = executions as f64 / elapsed.as_secs_f64();
    format!("{executions} executions in {:.1} s, {per_second:.0}/s", elapsed.as_secs_f64())
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| format!("{}: {error}", file.display()))
}

/// In the order of their names, so that a seed means the same inputs again.
fn read_corpus(directory: &Path) -> Result<Vec<Vec<u8>>, String> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => return Err(format!("{}: {error}", directory.display())),
    };
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    files.iter().map(|file| read(file)).collect()
}

fn write_seeds(target: Target, directory: &Path) -> std::io::Result<()> {
    fs::create_dir_all(directory)?;
    for (number, seed) in (target.seeds)().iter().enumerate() {
        fs::write(directory.join(format!("seed-{number:03}")), seed)?;
    }
    Ok(())
}
