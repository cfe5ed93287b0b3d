use std::{
    fs, io,
    path::{Path, PathBuf},
};

use sinew_sim::g1::{self, Stored, StoredAction};

use crate::file;

const FILE: &str = "actions.json";

/// A robot's actions in a directory, if it has one.
pub(super) struct Store {
    dir: Option<PathBuf>,
}

impl Store {
    pub(super) fn new(dir: Option<PathBuf>) -> Self {
        Store { dir }
    }

    /// What was stored there.
    pub(super) fn load(&self) -> io::Result<Option<Vec<StoredAction>>> {
        self.dir.as_deref().map(load).transpose()
    }

    /// Keeps actions. Without a directory they are kept as soon as they are known.
    pub(super) fn keep(&mut self, job: g1::Store) -> Stored {
        let g1::Store { id, actions } = job;
        let written = self.dir.as_deref().map_or(Ok(()), |dir| {
            save(dir, &actions)
                .inspect_err(|error| tracing::error!("not kept in {}: {error}", dir.display()))
        });
        Stored { id, ok: written.is_ok() }
    }
}

fn load(dir: &Path) -> io::Result<Vec<StoredAction>> {
    fs::create_dir_all(dir)?;
    let path = dir.join(FILE);
    match fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text).map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", path.display()))
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn save(dir: &Path, actions: &[StoredAction]) -> io::Result<()> {
    file::remove_leftovers(dir);
    file::replace(&dir.join(FILE), &serde_json::to_vec_pretty(actions)?)
}
