//! `sinew config`: the configuration in force.

use std::io::Write;

use crate::DONE;

/// Print the configuration in force: the file's, with the flags over it.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    settings: super::serve::Settings,
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let config = args.settings.effective()?.to_tables();
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string(&config)?)?;
    } else {
        write!(out, "{}", toml::to_string(&config)?)?;
    }
    Ok(DONE)
}
