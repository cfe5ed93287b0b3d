//! Texts that are compared with files, whole. `SINEW_BLESS=1` writes the files instead.

use std::{env, fs, path::PathBuf};

/// Where the files are.
pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name)
}

/// Compares a text with the file of this name.
#[track_caller]
pub(crate) fn check(name: &str, text: &str) {
    let path = path(&format!("{name}.txt"));
    if env::var_os("SINEW_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        return;
    }
    let wanted = fs::read_to_string(&path).unwrap_or_default();
    if wanted == text {
        return;
    }
    let first = wanted.lines().zip(text.lines()).position(|(wanted, got)| wanted != got);
    let line = first.unwrap_or_else(|| wanted.lines().count().min(text.lines().count()));
    panic!(
        "{} says otherwise from line {} on (SINEW_BLESS=1 accepts this):\nwanted: {:?}\ngot:    \
         {:?}\nall of it:\n{text}",
        path.display(),
        line + 1,
        wanted.lines().nth(line),
        text.lines().nth(line),
    );
}
