//! The command line: arguments, text and JSON output, exit codes.

#[cfg(feature = "daemon")]
mod client;
mod cmd;
#[cfg(feature = "daemon")]
mod config;
#[cfg(feature = "daemon")]
mod daemon;
#[cfg(feature = "fleet")]
mod fleet;
#[cfg(feature = "tools")]
mod hex;
#[cfg(feature = "daemon")]
mod interrupt;
#[cfg(feature = "daemon")]
mod log;
#[cfg(feature = "daemon")]
mod name;
mod output;
#[cfg(feature = "daemon")]
mod phrases;
#[cfg(any(feature = "capture", feature = "daemon"))]
mod progress;
#[cfg(feature = "daemon")]
mod report;
mod say;
#[cfg(feature = "daemon")]
mod system;
#[cfg(feature = "daemon")]
mod terminal;
#[cfg(feature = "daemon")]
mod text;
#[cfg(feature = "daemon")]
mod words;

use std::{io::Write, process::ExitCode};

use clap::Parser;

/// Done.
const DONE: u8 = 0;
/// Asked and failed: refused, invalid, not found.
const FAILED: u8 = 1;
/// Wrong usage; of `decode`, also that nothing was recognised.
const USAGE: u8 = 2;

/// Under which flags of every command stand in the help.
const OUTPUT: &str = "Output";

/// Links a computer to robots whose protocols had to be reverse-engineered.
#[derive(Parser)]
#[command(name = "sinew", version, propagate_version = true)]
struct Args {
    #[command(subcommand)]
    command: cmd::Command,
    /// Print JSON.
    #[arg(long, global = true, help_heading = OUTPUT)]
    json: bool,
    /// Say nothing on success, and show no progress.
    #[arg(short, long, global = true, help_heading = OUTPUT)]
    quiet: bool,
    #[cfg(feature = "fleet")]
    #[command(flatten)]
    fleet: fleet::Flags,
    #[cfg(feature = "daemon")]
    #[command(flatten)]
    log: log::Logging,
}

fn main() -> ExitCode {
    let args = Args::parse();
    // Where it cannot be begun there is no thread to be had, and the command says so itself.
    #[cfg(feature = "daemon")]
    let _log = args.log.begin(args.command.log_level());
    #[cfg(feature = "fleet")]
    args.fleet.keep();
    // For programs there is the JSON, and nothing else.
    if args.quiet || args.json {
        say::be_quiet();
    }
    match args.command.run(args.json) {
        Ok(code) => ExitCode::from(code),
        Err(error) if output::is_broken_pipe(&error) => ExitCode::from(DONE),
        Err(error) => {
            say::fail(&format!("{error:#}"));
            if error.downcast_ref::<cmd::Usage>().is_some() {
                return ExitCode::from(USAGE);
            }
            if args.json {
                let code = cmd::code(&error).unwrap_or("failed");
                let error = serde_json::json!({ "code": code, "message": format!("{error:#}") });
                let said = serde_json::json!({ "ok": false, "error": error });
                // If the output is closed, the failure stays the same.
                let _ = writeln!(std::io::stdout(), "{}", output::printable_json(&said));
            }
            ExitCode::from(FAILED)
        }
    }
}
