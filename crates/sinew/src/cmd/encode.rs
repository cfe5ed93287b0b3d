//! `sinew encode`: the bytes of a command.

mod gd32;
mod teach;

use std::io::Write;

use clap::Subcommand;

use crate::{DONE, hex};

/// Print the bytes of a command as hex.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    proto: Proto,
}

#[derive(Subcommand)]
enum Proto {
    Gd32(gd32::Args),
    Teach(teach::Args),
}

pub(crate) fn run(args: Args, json: bool) -> anyhow::Result<u8> {
    let (proto, bytes) = match args.proto {
        Proto::Gd32(args) => ("gd32", gd32::encode(args)?),
        Proto::Teach(args) => ("teach", teach::encode(args)?),
    };
    let hex = hex::format(&bytes);
    let mut out = std::io::stdout().lock();
    if json {
        let object = serde_json::json!({ "proto": proto, "length": bytes.len(), "hex": hex });
        writeln!(out, "{object}")?;
    } else {
        writeln!(out, "{hex}")?;
    }
    Ok(DONE)
}

/// Bytes as an argument.
#[derive(Debug, Clone)]
struct Bytes(Vec<u8>);

fn bytes(text: &str) -> Result<Bytes, String> {
    hex::parse(text).map(Bytes).map_err(|usage| usage.to_string())
}
