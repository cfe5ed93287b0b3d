//! One module per command.

mod decode;
mod encode;

use std::fmt;

use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Command {
    Decode(decode::Args),
    Encode(encode::Args),
}

impl Command {
    /// Runs the command and returns the process's exit code.
    pub(crate) fn run(self, json: bool) -> anyhow::Result<u8> {
        match self {
            Command::Decode(args) => decode::run(&args, json),
            Command::Encode(args) => encode::run(args, json),
        }
    }
}

/// The command was called wrongly.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}
