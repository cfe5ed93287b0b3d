//! Lists the files of `web/dist` for the binary. Without them the list is empty, and the daemon's
//! page says how to get the dashboard.

use std::{
    collections::BTreeSet,
    env,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name| env::var_os(name).map(PathBuf::from).ok_or(io::ErrorKind::NotFound);
    let mut table = String::from("&[\n");
    if env::var_os("CARGO_FEATURE_DASHBOARD").is_some() {
        let dist = variable("CARGO_MANIFEST_DIR")?.join("../../web/dist");
        println!("cargo::rerun-if-changed={}", dist.display());
        let mut files = BTreeSet::new();
        collect(&dist, &mut files);
        for file in files {
            // Each is there once, compressed; what it was made of stays where it is.
            let name = file.strip_prefix(&dist).ok().and_then(Path::to_str);
            let Some(name) = name.and_then(|name| name.strip_suffix(".gz")) else { continue };
            let tag = fnv(&fs::read(&file)?);
            let file = fs::canonicalize(&file)?;
            let _ = writeln!(
                table,
                "Asset {{ path: \"/{name}\", tag: \"\\\"{tag:016x}\\\"\", gzip: include_bytes!({file:?}) }},"
            );
        }
    }
    table.push_str("]\n");
    fs::write(variable("OUT_DIR")?.join("assets.rs"), table)
}

fn collect(directory: &Path, files: &mut BTreeSet<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.insert(path);
        }
    }
}

/// Enough to tell two builds apart.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    })
}
