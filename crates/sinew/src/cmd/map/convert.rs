//! From one format of points to another.

use std::{io::Write, path::PathBuf};

use clap::ValueEnum;
use serde_json::json;
use sinew_robot::map::file::{Format, pcd, ply};

use super::{super::Usage, file, write};
use crate::{DONE, output::printable_json, progress::Progress, say::say};

/// Every point is kept, in its order, with all its fields.
#[derive(clap::Args)]
pub(super) struct Args {
    /// A PCD or PLY file, or SLAM messages, whatever it is called.
    input: PathBuf,
    /// What to write; its name says the format: .pcd or .ply.
    output: PathBuf,
    /// How points stand in a PCD file.
    #[arg(long, value_name = "ENCODING")]
    encoding: Option<Encoding>,
    /// Write over a file that is there.
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Encoding {
    Ascii,
    Binary,
    #[value(alias = "binary_compressed")]
    Compressed,
}

pub(super) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let name = args.output.extension().map(|name| name.to_ascii_lowercase());
    let format = match name.as_deref().and_then(|name| name.to_str()) {
        Some("pcd") => Format::Pcd,
        Some("ply") => Format::Ply,
        _ => {
            let shown = args.output.display();
            return Err(Usage(format!("{shown}: wanted a name with .pcd or .ply")).into());
        }
    };
    if format == Format::Ply && args.encoding.is_some() {
        return Err(Usage("--encoding is for .pcd: .ply is binary".into()).into());
    }
    if !args.force {
        write::check_free(&args.output)?;
    }
    let points = file::read(&args.input)?.points;
    let mut progress = Progress::new();
    let count = points.len();
    let write = || match format {
        Format::Ply => ply::write(&points),
        _ => {
            let encoding = match args.encoding {
                Some(Encoding::Ascii) => pcd::Encoding::Ascii,
                None | Some(Encoding::Binary) => pcd::Encoding::Binary,
                Some(Encoding::Compressed) => pcd::Encoding::Compressed,
            };
            Ok(pcd::write(&ply::pcd_colours(points)?, encoding))
        }
    };
    let bytes = progress.during(&format!("writing {count} points"), write)?;
    drop(progress);
    write::whole(&mut &*bytes, Some(bytes.len() as u64), Some(&args.output), args.force)?;
    say(&format!("wrote {count} points to {}", args.output.display()));
    if json {
        let said = json!({
            "ok": true,
            "format": format.name(),
            "points": count,
            "bytes": bytes.len(),
            "written": args.output,
        });
        writeln!(std::io::stdout().lock(), "{}", printable_json(&said))?;
    }
    Ok(DONE)
}
