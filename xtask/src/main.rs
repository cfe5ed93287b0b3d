//! Development tasks, run as `cargo xtask COMMAND`.

mod advisories;
mod bench;
mod demo;
mod dependencies;
mod fuzz;
mod licence;
mod openssl;
mod programs;
mod python;
mod test;
mod tools;
mod tour;
mod web;

use std::{env, process::ExitCode};

use tools::Failure;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test [STEP...]                      the gate, or only these steps of it
  bench [FILTER]                      how fast codecs, daemon and dashboard are; `fleet` and `dashboard` are these alone
  fuzz [TARGET] [SECONDS] [--mutate]  look for inputs that break the codecs; 60 s each by default
  demo [--fleet] [ARGUMENTS]          simulated robots, the daemon and its dashboard, until Ctrl-C; a fleet of them
  web                                 the dashboard, which the program then has in it
  python                              the Python client's types, from the schema
  pictures                            the README's pictures of the dashboard, anew
  tour                                a guided tour of `sinew decode` and `sinew encode`";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => {
            eprintln!("{message}\n\n{USAGE}");
            ExitCode::from(2)
        }
        Err(Failure::Task(message)) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Failure> {
    let Some((command, rest)) = arguments.split_first() else {
        println!("{USAGE}");
        return Ok(());
    };
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{USAGE}");
        return Ok(());
    }
    if matches!(command.as_str(), "test" | "bench" | "demo" | "tour" | "pictures") {
        openssl::is_there()?;
    }
    match command.as_str() {
        "test" => test::run(rest),
        "bench" => bench::run(rest),
        "fuzz" => fuzz::run(rest),
        "demo" => demo::run(rest),
        "tour" => tour::run(rest),
        "web" => web::run(rest),
        "python" => python::run(rest),
        "pictures" => web::pictures(rest),
        "help" => {
            println!("{USAGE}");
            Ok(())
        }
        other => Err(Failure::Usage(format!("there is no command {other}"))),
    }
}
