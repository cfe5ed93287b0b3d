//! `sinew sim`: robots that are not there.

use std::{io::Write, path::PathBuf};

use clap::Subcommand;
use serde_json::json;
use sinew_io::sim::Simulator;
use sinew_sim::vacuum::Options;

use crate::{DONE, interrupt};

/// Run a simulated robot until Ctrl-C.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    robot: Robot,
}

#[derive(Subcommand)]
enum Robot {
    /// A CRL-200S vacuum on a pseudo-terminal.
    Vacuum {
        /// Also give the serial port this name.
        #[arg(long, value_name = "PATH")]
        symlink: Option<PathBuf>,
        /// Status packets a second.
        #[arg(long, value_name = "HZ", default_value_t = 110, value_parser = clap::value_parser!(u32).range(1..=500))]
        rate: u32,
        /// What its world and its noise are made from.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let interrupted = interrupt::flag()?;
    let Robot::Vacuum { symlink, rate, seed } = &args.robot;
    let options = Options { seed: *seed, rate_hz: *rate, ..Options::default() };
    let simulator = Simulator::spawn(options, symlink.as_deref())?;
    let link = format!("serial:{}", simulator.path().display());
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", json!({ "type": "ready", "link": link }))?;
    } else {
        writeln!(
            out,
            "simulated vacuum at {link}\nsinew serve --vacuum {link}   # in another terminal"
        )?;
    }
    out.flush()?;
    drop(out);
    interrupted.wait_for_it();
    Ok(DONE)
}
