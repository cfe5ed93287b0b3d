//! Files that are there whole or not at all.

use std::{
    fs::Permissions,
    io::{self, Read, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use tempfile::Builder;

use crate::progress::Progress;

/// How often it is shown how far it is.
const SHOWN: Duration = Duration::from_millis(50);

/// Refuses to write over a file.
pub(super) fn check_free(file: &Path) -> anyhow::Result<()> {
    let is_there = file != Path::new("-") && file.exists();
    ensure!(!is_there, "{} is there already; --force writes over it", file.display());
    Ok(())
}

/// Writes the map. A file is there whole or not at all.
pub(super) fn whole(
    map: &mut dyn Read,
    bytes: Option<u64>,
    file: Option<&Path>,
    force: bool,
) -> anyhow::Result<u64> {
    let Some(file) = file.filter(|file| *file != Path::new("-")) else {
        return copy(map, &mut io::stdout().lock(), bytes);
    };
    let shown = || format!("cannot write {}", file.display());
    let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // As any other file that the user makes; the system takes away what the user does not want.
    let usual = Permissions::from_mode(0o666);
    let beside = Builder::new().permissions(usual).tempfile_in(dir);
    let mut beside = beside.with_context(shown)?;
    let written = copy(map, beside.as_file_mut(), bytes)?;
    beside.as_file().sync_all().with_context(shown)?;
    match force {
        true => drop(beside.persist(file).with_context(shown)?),
        false => drop(beside.persist_noclobber(file).with_context(shown)?),
    }
    Ok(written)
}

/// Copies all of it, and shows how far it is.
fn copy(map: &mut dyn Read, to: &mut dyn Write, bytes: Option<u64>) -> anyhow::Result<u64> {
    let mut progress = Progress::new();
    let mut chunk = vec![0; 64 << 10];
    let (mut written, mut shown) = (0, None::<Instant>);
    loop {
        let count = map.read(&mut chunk)?;
        if count == 0 {
            let whole = bytes.unwrap_or(written);
            ensure!(written == whole, "{written} bytes of the map came, of {whole}");
            to.flush()?;
            return Ok(written);
        }
        to.write_all(&chunk[..count])?;
        written += count as u64;
        if shown.is_some_and(|shown| shown.elapsed() < SHOWN) {
            continue;
        }
        shown = Some(Instant::now());
        let part = bytes.map(|bytes| written as f64 / bytes.max(1) as f64);
        progress.show(&format!("{} kB of the map", written / 1000), part);
    }
}
