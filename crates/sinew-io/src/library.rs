//! Motions in a directory, each in a readable JSON file.
//!
//! A motion is called what its file is called, whatever the file says, so that one may be copied or
//! renamed by hand. Files are there whole or not at all, and several threads and processes may use
//! a directory at once.

mod error;
mod import;
mod keep;
mod listing;
mod name;
mod summary;

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use sinew_robot::{
    teach::new_name,
    trajectory::{Document, JointMap},
};
use sinew_wire::teach::Name;

pub use self::{
    error::Error,
    import::{Imported, MAX_UNFINISHED},
    listing::{Entry, Listing, Problem},
};
use self::{
    listing::{Cache, Files},
    summary::playable,
};
use crate::{file, lock};

/// Most motions in a library.
pub const MAX_MOTIONS: usize = 500;
/// Largest file, as large as a document may be.
const MAX_FILE: u64 = 16 << 20;
/// The extension of a motion.
const MOTION: &str = "json";

/// How long another process may take to change something.
const PATIENCE: Duration = Duration::from_secs(5);

/// Motions in a directory.
#[derive(Debug)]
pub struct Library {
    dir: PathBuf,
    joints: JointMap,
    /// Held while something is changed, so that the limits hold; whether leftovers were removed.
    writing: Mutex<bool>,
    cache: Mutex<Cache>,
}

/// The right to change something.
struct Alone<'a> {
    cleaned: MutexGuard<'a, bool>,
    /// Locked while it is open.
    _dir: Option<File>,
}

impl Library {
    /// A library in this directory, which is made when the first motion comes.
    pub fn new(dir: PathBuf) -> Self {
        Library {
            dir,
            joints: JointMap::default(),
            writing: Mutex::default(),
            cache: Mutex::default(),
        }
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where a motion of this name is, or would be; none if there can be none.
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        let path = self.path(name, MOTION).ok()?;
        Some(std::path::absolute(&path).unwrap_or(path))
    }

    /// What it holds.
    pub fn list(&self) -> Result<Listing, Error> {
        lock(&self.cache).list(&self.dir, &self.joints).map_err(Error::disk("list", &self.dir))
    }

    /// Reads a motion.
    pub fn load(&self, name: &str) -> Result<Document, Error> {
        let path = self.path(name, MOTION)?;
        let text = text_of(&path)?.ok_or_else(|| Error::NotFound(name.into()))?;
        let document = playable(&text, &self.joints);
        let document = document.map_err(|error| Error::no_motion(&path, error))?;
        Ok(Document { name: name.into(), ..document })
    }

    /// Keeps a motion under a name that none has yet.
    pub fn add(&self, document: &Document) -> Result<(), Error> {
        let path = self.new_path(&document.name, MOTION)?;
        let text = self.motion_text(document)?;
        let _writing = self.writing()?;
        self.check_free(&document.name, &path)?;
        create(&document.name, &path, &text)
    }

    /// Keeps a motion, instead of the one that has its name; tells whether there was one.
    pub fn replace(&self, document: &Document) -> Result<bool, Error> {
        let path = self.new_path(&document.name, MOTION)?;
        let text = self.motion_text(document)?;
        let _writing = self.writing()?;
        let there = is_there(&path)?;
        if !there {
            self.check_room()?;
        }
        file::replace(&path, text.as_bytes()).map_err(Error::disk("write", &path))?;
        Ok(there)
    }

    /// Gives a motion a name that none has yet.
    pub fn rename(&self, name: &str, new_name: &str) -> Result<(), Error> {
        let (path, new_path) = (self.path(name, MOTION)?, self.new_path(new_name, MOTION)?);
        let _alone = self.alone()?;
        file::rename(&path, &new_path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::NotFound(name.into()),
            io::ErrorKind::AlreadyExists => Error::Taken(new_name.into()),
            _ => Error::disk("rename", &path)(error),
        })
    }

    /// Removes a motion.
    pub fn delete(&self, name: &str) -> Result<(), Error> {
        let path = self.path(name, MOTION)?;
        let _alone = self.alone()?;
        file::remove(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::NotFound(name.into()),
            _ => Error::disk("remove", &path)(error),
        })
    }

    /// Where a motion gets its name.
    fn new_path(&self, name: &str, extension: &str) -> Result<PathBuf, Error> {
        new_name(name).map_err(|refusal| Error::Invalid(refusal.message))?;
        self.path(name, extension)
    }

    fn path(&self, name: &str, extension: &str) -> Result<PathBuf, Error> {
        Name::new(name).map_err(|error| Error::Invalid(error.to_string()))?;
        Ok(self.dir.join(format!("{}.{extension}", name::escape(name))))
    }

    /// One writer at a time, in a directory that is there.
    fn writing(&self) -> Result<Alone<'_>, Error> {
        fs::create_dir_all(&self.dir).map_err(Error::disk("make", &self.dir))?;
        let mut alone = self.alone()?;
        if !*alone.cleaned {
            file::remove_leftovers(&self.dir);
            *alone.cleaned = true;
        }
        Ok(alone)
    }

    /// One that changes something at a time, of all threads and processes.
    fn alone(&self) -> Result<Alone<'_>, Error> {
        let cleaned = lock(&self.writing);
        match file::lock_directory(&self.dir, PATIENCE) {
            // Where there is no directory, or nothing can be locked, nothing is shared either.
            Err(_) => Ok(Alone { cleaned, _dir: None }),
            Ok(None) => Err(Error::Busy(self.dir.clone())),
            Ok(dir) => Ok(Alone { cleaned, _dir: dir }),
        }
    }

    fn check_free(&self, name: &str, path: &Path) -> Result<(), Error> {
        if is_there(path)? { Err(Error::Taken(name.into())) } else { self.check_room() }
    }

    fn check_room(&self) -> Result<(), Error> {
        let files = Files::with_extension(&self.dir, MOTION);
        let files = files.map_err(Error::disk("list", &self.dir))?;
        if files.names.len() >= MAX_MOTIONS {
            Err(Error::Full(self.dir.clone()))
        } else if !files.complete {
            Err(Error::Crowded(self.dir.clone()))
        } else {
            Ok(())
        }
    }

    /// The text of a motion, which has to be one.
    fn motion_text(&self, document: &Document) -> Result<String, Error> {
        if document.is_empty() {
            let message = format!("{:?}: wanted frames or keyframes, got none", document.name);
            return Err(Error::Invalid(message));
        }
        self.text(document)
    }

    fn text(&self, document: &Document) -> Result<String, Error> {
        let text = document.to_json(&self.joints);
        if text.len() as u64 > MAX_FILE {
            return Err(Error::TooLarge(text.len()));
        }
        Ok(text)
    }
}

/// What a file holds; none where there is no file.
fn text_of(path: &Path) -> Result<Option<String>, Error> {
    match file::read(path, MAX_FILE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // What the system has no number for is about what the file holds.
        Err(error) if error.raw_os_error().is_none() => Err(Error::no_motion(path, error)),
        text => text.map(Some).map_err(Error::disk("read", path)),
    }
}

/// Whether there is a file; not to be able to tell is not the same as none.
fn is_there(path: &Path) -> Result<bool, Error> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        found => found.map(|_| true).map_err(Error::disk("look at", path)),
    }
}

fn create(name: &str, path: &Path, text: &str) -> Result<(), Error> {
    file::create(path, text.as_bytes()).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Error::Taken(name.into()),
        _ => Error::disk("write", path)(error),
    })
}
