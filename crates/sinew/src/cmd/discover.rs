//! `sinew discover`: which robots are there?

use std::{io::Write, time::Duration};

use sinew_io::discovery::Query;

use crate::{
    DONE, FAILED,
    output::{BOLD, PLAIN, printable, printable_json},
};

/// Ask the network for Unitree robots. Nothing is sent unless this is run.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Ask on this interface only, by name or address.
    #[arg(long, value_name = "IFACE")]
    interface: Option<String>,
    /// Ask also by serial number: newer firmware answers nothing else.
    #[arg(long)]
    sn: Option<String>,
    /// Also ask 192.168.12.1, a robot's own access point.
    #[arg(long)]
    ap: bool,
    /// How long to listen.
    #[arg(long, value_parser = super::duration, default_value = "2s")]
    wait: Duration,
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let query = Query {
        interface: args.interface.clone(),
        sn: args.sn.clone(),
        access_point: args.ap,
        wait: args.wait,
        ..Query::default()
    };
    let robots = query.run(|_| {})?;
    let mut out = anstream::stdout().lock();
    if json {
        writeln!(out, "{}", printable_json(&serde_json::to_string(&robots)?))?;
    } else if robots.is_empty() {
        drop(out);
        eprintln!(
            "no robot answered: is it on this network? Newer firmware wants --sn; in its own \
             access point use --ap"
        );
    } else {
        writeln!(
            out,
            "{}{:<20} {:<16} {:<10} AFTER{PLAIN}",
            BOLD.render(),
            "SERIAL NUMBER",
            "ADDRESS",
            "INTERFACE"
        )?;
        for robot in &robots {
            writeln!(
                out,
                "{:<20} {:<16} {:<10} {} ms",
                printable(&robot.sn),
                robot.ip,
                robot.interface,
                robot.after_ms
            )?;
        }
    }
    Ok(if robots.is_empty() { FAILED } else { DONE })
}
