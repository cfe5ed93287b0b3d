//! Maps that robots made and that were fetched from them: a file each.

use std::{
    fs, io,
    path::{self, PathBuf},
};

use sinew_robot::mapping::map_name;

use crate::file;

/// What a robot's maps are.
const ENDING: &str = ".pcd";

/// The maps of one robot, in a directory of their own.
#[derive(Debug, Clone)]
pub struct Maps {
    dir: PathBuf,
}

impl Maps {
    /// Maps in this directory, which is made when the first one comes.
    pub fn new(dir: PathBuf) -> Self {
        Maps { dir }
    }

    /// Where a map of this name is, or would be; none if there can be none.
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        let ending = if name.ends_with(ENDING) { "" } else { ENDING };
        let path = map_name(name).then(|| self.dir.join(format!("{name}{ending}")))?;
        Some(path::absolute(&path).unwrap_or(path))
    }

    /// Keeps a map, instead of the one that has its name; tells where.
    pub fn keep(&self, name: &str, map: &[u8]) -> io::Result<PathBuf> {
        let path = self.file(name).ok_or(io::ErrorKind::InvalidFilename)?;
        fs::create_dir_all(&self.dir)?;
        file::replace(&path, map)?;
        Ok(path)
    }
}
