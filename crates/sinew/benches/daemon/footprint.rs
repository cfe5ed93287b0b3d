//! What the daemon costs when nobody asks anything of it.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::Context;

use crate::{
    Bench, Round, Row,
    client::Client,
    process::{Meter, Process},
};

const TIME: Duration = Duration::from_secs(10);
const MB: f64 = 1e6;

pub(crate) fn bench(bench: &Bench) -> anyhow::Result<()> {
    bench.case("idle, default build", || round(Path::new(env!("CARGO_BIN_EXE_sinew")), false))?;
    bench.case("idle, vacuum-only build", || round(&vacuum_only()?, true))
}

fn round(binary: &Path, has_target: bool) -> anyhow::Result<Round> {
    let simulator = Process::sinew(&["sim", "vacuum"])?;
    let daemon = Process::serve(binary, simulator.link()?, &[])?;
    Client::connect(daemon.address("lines")?)?.wait_until_ready()?;
    let usage = Meter::start([&daemon, &simulator])?.run(TIME)?;
    let resident = daemon.resident()? as f64 / MB;
    let size = binary.metadata()?.len() as f64 / MB;
    let idle = usage.daemon * 100.0;
    let mut rows = vec![
        Row::new("resident", format!("{resident:.2} MB")),
        Row::new("processor time", format!("{idle:.2} % of a core")),
        Row::new("binary", format!("{size:.2} MB")),
    ];
    if has_target {
        let targets = [("< 10 MB", resident < 10.0), ("< 1 %", idle < 1.0), ("< 3 MB", size < 3.0)];
        for (row, target) in rows.iter_mut().zip(targets) {
            row.target = Some(target);
        }
    }
    Ok(Round { rows, note: usage.note(), rank: idle })
}

/// Builds the binary for a robot's own board.
fn vacuum_only() -> anyhow::Result<PathBuf> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--profile", "small", "--package", "sinew"])
        .args(["--no-default-features", "--features", "daemon"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()?;
    anyhow::ensure!(built.success(), "the vacuum-only build failed");
    // Beside the directory of the build under test.
    let release = Path::new(env!("CARGO_BIN_EXE_sinew")).parent();
    let target = release.and_then(Path::parent).context("no target directory")?;
    Ok(target.join("small").join("sinew"))
}
