//! `sinew completions`: what a shell has to know to complete arguments.

use std::io::Write;

use clap::{CommandFactory, ValueEnum};
use serde_json::json;

use crate::DONE;

/// Print a script with which a shell completes the arguments of sinew.
///
/// `sinew completions bash > ~/.local/share/bash-completion/completions/sinew`
///
/// `sinew completions zsh > ~/.zfunc/_sinew`, with ~/.zfunc in fpath
///
/// `sinew completions fish > ~/.config/fish/completions/sinew.fish`
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which shell.
    shell: Shell,
}

#[derive(Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let shell = match args.shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::Args::command(), "sinew", &mut script);
    let mut out = std::io::stdout().lock();
    if json {
        let script = String::from_utf8_lossy(&script);
        writeln!(out, "{}", json!({ "shell": shell.to_string(), "script": script }))?;
    } else {
        out.write_all(&script)?;
    }
    Ok(DONE)
}
