//! `sinew sim`: robots that are not there.

use std::{io::Write, path::PathBuf};

use clap::Subcommand;
use serde_json::json;
use sinew_io::sim::Simulator;
#[cfg(feature = "g1")]
use sinew_io::sim::{Discovery, G1Options, G1Simulator};
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
    /// A Unitree G1 that is taught by datagrams.
    #[cfg(feature = "g1")]
    G1 {
        /// Where its teaching service listens.
        #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:49504")]
        teach: std::net::SocketAddr,
        /// Keep its actions in this directory.
        #[arg(long, value_name = "DIR")]
        store: Option<PathBuf>,
        /// Answer discovery on this interface.
        #[arg(long, value_name = "IFACE")]
        discovery: Option<String>,
        /// What the movements of its operator are made from.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let interrupted = interrupt::flag()?;
    // Held until the end: a simulator runs for as long as it is not dropped.
    let (link, flag, _robot): (String, &str, Box<dyn std::any::Any>) = match &args.robot {
        Robot::Vacuum { symlink, rate, seed } => {
            let options = Options { seed: *seed, rate_hz: *rate, ..Options::default() };
            let simulator = Simulator::spawn(options, symlink.as_deref())?;
            (format!("serial:{}", simulator.path().display()), "--vacuum", Box::new(simulator))
        }
        #[cfg(feature = "g1")]
        Robot::G1 { teach, store, discovery, seed } => {
            let simulator = G1Simulator::spawn(G1Options {
                robot: sinew_sim::g1::Options { seed: *seed, ..Default::default() },
                listen: *teach,
                store: store.clone(),
                discovery: discovery.clone().map(Discovery::new),
            })?;
            (format!("udp:{}", simulator.address()), "--g1", Box::new(simulator))
        }
    };
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", json!({ "type": "ready", "link": link }))?;
    } else {
        writeln!(
            out,
            "simulated robot at {link}\nsinew serve {flag} {link}   # in another terminal"
        )?;
    }
    out.flush()?;
    drop(out);
    interrupted.wait_for_it();
    Ok(DONE)
}
