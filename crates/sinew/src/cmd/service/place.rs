//! Puts the files where they belong.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use serde::Serialize;

use super::File;

/// A file, and what became of it.
#[derive(Debug, Serialize)]
pub(super) struct Placed {
    pub(super) path: PathBuf,
    pub(super) state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Written,
    Overwritten,
    Unchanged,
}

impl State {
    pub(super) fn word(self) -> &'static str {
        match self {
            State::Written => "written    ",
            State::Overwritten => "overwritten",
            State::Unchanged => "unchanged  ",
        }
    }
}

/// Writes the files below a root. One that says something else is overwritten only by force, and
/// without it none is written.
pub(super) fn write(root: &Path, files: &[File], force: bool) -> anyhow::Result<Vec<Placed>> {
    let mut placed = Vec::new();
    for file in files {
        let path = root.join(file.path.trim_start_matches('/'));
        let state = match fs::read(&path) {
            Ok(present) if present == file.text.as_bytes() => State::Unchanged,
            Ok(_) if force => State::Overwritten,
            Ok(_) => bail!(
                "{} is there and says something else; nothing was written: compare it with what \
                 --print says, then give --force",
                path.display()
            ),
            Err(error) if error.kind() == io::ErrorKind::NotFound => State::Written,
            Err(error) => return Err(error).context(format!("cannot read {}", path.display())),
        };
        placed.push(Placed { path, state });
    }
    for (Placed { path, state }, file) in placed.iter().zip(files) {
        if *state != State::Unchanged {
            replace(path, &file.text)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(placed)
}

/// Writes beside the file and renames, so that there is always a whole one.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    fs::write(&beside, text)?;
    fs::set_permissions(&beside, Permissions::from_mode(0o644))?;
    fs::rename(&beside, path)
}
