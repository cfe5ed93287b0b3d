use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
    fs, io, mem,
    os::unix::fs::MetadataExt,
    path::Path,
    time::SystemTime,
};

use serde::Serialize;
use sinew_robot::trajectory::JointMap;

use super::{MAX_FILE, MAX_MOTIONS, MOTION, name::name_of, summary::Summary};
use crate::file::{self, MAX_ENTRIES};

/// What a library holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Listing {
    /// The motions, by name.
    pub motions: Vec<Entry>,
    /// What else is there that looks like a motion, by file.
    pub problems: Vec<Problem>,
}

/// A motion in a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// What it is called.
    pub name: String,
    /// Unix time at which it was made, in seconds.
    pub created: u64,
    /// How long it takes.
    pub duration_ms: u32,
    /// Frames of its recording.
    pub frames: usize,
    /// Keyframes made of it.
    pub keyframes: usize,
}

/// A file that is not a motion's, though its name ends like one's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Its name.
    pub file: String,
    /// What is wrong with it.
    pub message: String,
}

/// What was read of the files that were there at the last listing.
#[derive(Debug, Default)]
pub(super) struct Cache {
    known: HashMap<OsString, Known>,
}

#[derive(Debug)]
struct Known {
    stamp: Stamp,
    summary: Result<Summary, String>,
}

/// What of a file changes when it is written to or replaced.
#[derive(Debug, PartialEq)]
struct Stamp {
    modified: SystemTime,
    length: u64,
    inode: u64,
}

impl Cache {
    /// Lists a directory; only files that are new or have changed are read.
    pub(super) fn list(&mut self, dir: &Path, joints: &JointMap) -> io::Result<Listing> {
        let mut known = mem::take(&mut self.known);
        let mut listing = Listing::default();
        let files = Files::with_extension(dir, MOTION)?;
        for file in files.names.iter().take(MAX_MOTIONS) {
            match self.entry(dir, file, known.remove(file), joints) {
                Ok(entry) => listing.motions.extend(entry),
                Err(message) => {
                    listing.problems.push(Problem { file: file.to_string_lossy().into(), message });
                }
            }
        }
        listing.problems.extend(files.problem(dir));
        listing.motions.sort_by(|a, b| a.name.cmp(&b.name));
        listing.problems.sort_by(|a, b| a.file.cmp(&b.file));
        Ok(listing)
    }

    /// The entry of a file, or what is wrong with it; none when it has gone meanwhile.
    fn entry(
        &mut self,
        dir: &Path,
        file: &OsStr,
        known: Option<Known>,
        joints: &JointMap,
    ) -> Result<Option<Entry>, String> {
        let name = name_of(file)?;
        let now = match look(&dir.join(file), known, joints) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            now => now.map_err(|error| error.to_string())?,
        };
        let summary = now.summary.clone();
        self.known.insert(file.into(), now);
        let Summary { created, duration_ms, frames, keyframes } = summary?;
        Ok(Some(Entry { name, created, duration_ms, frames, keyframes }))
    }
}

fn look(path: &Path, known: Option<Known>, joints: &JointMap) -> io::Result<Known> {
    let metadata = fs::metadata(path)?;
    let (length, inode) = (metadata.len(), metadata.ino());
    let stamp = Stamp { modified: metadata.modified()?, length, inode };
    if let Some(known) = known.filter(|known| known.stamp == stamp) {
        return Ok(known);
    }
    let summary = Summary::read(&file::read(path, MAX_FILE)?, joints);
    Ok(Known { stamp, summary })
}

/// Files in a directory.
pub(super) struct Files {
    /// In order.
    pub(super) names: Vec<OsString>,
    /// Whether the directory holds no more than could be looked at.
    pub(super) complete: bool,
}

impl Files {
    /// Those with this extension; none when there is no directory.
    pub(super) fn with_extension(dir: &Path, extension: &str) -> io::Result<Self> {
        let mut files = Files { names: Vec::new(), complete: true };
        let mut entries = match fs::read_dir(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
            entries => entries?,
        };
        for entry in entries.by_ref().take(MAX_ENTRIES) {
            let name = entry?.file_name();
            if Path::new(&name).extension() == Some(OsStr::new(extension)) {
                files.names.push(name);
            }
        }
        files.complete = entries.next().is_none();
        // One that is renamed meanwhile may be met twice.
        files.names.sort();
        files.names.dedup();
        Ok(files)
    }

    /// What a listing of them leaves out.
    fn problem(&self, dir: &Path) -> Option<Problem> {
        let message = if !self.complete {
            format!("more than {MAX_ENTRIES} files: the rest was not looked at")
        } else if self.names.len() > MAX_MOTIONS {
            let count = self.names.len();
            format!("{count} motions: those after the first {MAX_MOTIONS} are left out")
        } else {
            return None;
        };
        Some(Problem { file: dir.display().to_string(), message })
    }
}
