//! Motions in a directory, each in a readable JSON file.
//!
//! A motion is called what its file is called, whatever the file says, so that one may be copied or
//! renamed by hand. Files are there whole or not at all, and several threads and processes may use
//! a directory at once.

mod import;
mod keep;
mod listing;
mod name;
mod summary;

use std::{
    fmt,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use sinew_robot::{
    Code, Refusal,
    teach::new_name,
    trajectory::{Document, JointMap},
};
use sinew_wire::teach::Name;

pub use self::{
    import::{Imported, MAX_UNFINISHED},
    listing::{Entry, Listing, Problem},
};
use self::{
    listing::{Cache, Files},
    summary::playable,
};
use crate::{
    file::{self, MAX_ENTRIES},
    lock,
};

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

    /// What it holds.
    pub fn list(&self) -> Result<Listing, Refusal> {
        lock(&self.cache).list(&self.dir, &self.joints).map_err(|error| failed(&self.dir, error))
    }

    /// Reads a motion.
    pub fn load(&self, name: &str) -> Result<Document, Refusal> {
        let path = self.path(name, MOTION)?;
        let text = text_of(&path)?.ok_or_else(|| missing(name))?;
        let document = playable(&text, &self.joints).map_err(|error| failed(&path, error))?;
        Ok(Document { name: name.into(), ..document })
    }

    /// Keeps a motion under a name that none has yet.
    pub fn add(&self, document: &Document) -> Result<(), Refusal> {
        let path = self.new_path(&document.name, MOTION)?;
        let text = self.motion_text(document)?;
        let _writing = self.writing()?;
        self.check_free(&document.name, &path)?;
        create(&document.name, &path, &text)
    }

    /// Keeps a motion, instead of the one that has its name; tells whether there was one.
    pub fn replace(&self, document: &Document) -> Result<bool, Refusal> {
        let path = self.new_path(&document.name, MOTION)?;
        let text = self.motion_text(document)?;
        let _writing = self.writing()?;
        let there = is_there(&path)?;
        if !there {
            self.check_room()?;
        }
        file::replace(&path, text.as_bytes()).map_err(|error| failed(&path, error))?;
        Ok(there)
    }

    /// Gives a motion a name that none has yet.
    pub fn rename(&self, name: &str, new_name: &str) -> Result<(), Refusal> {
        let (path, new_path) = (self.path(name, MOTION)?, self.new_path(new_name, MOTION)?);
        let _alone = self.alone()?;
        file::rename(&path, &new_path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => missing(name),
            io::ErrorKind::AlreadyExists => taken(new_name),
            _ => failed(&path, error),
        })
    }

    /// Removes a motion.
    pub fn delete(&self, name: &str) -> Result<(), Refusal> {
        let path = self.path(name, MOTION)?;
        let _alone = self.alone()?;
        file::remove(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => missing(name),
            _ => failed(&path, error),
        })
    }

    /// Where a motion gets its name.
    fn new_path(&self, name: &str, extension: &str) -> Result<PathBuf, Refusal> {
        new_name(name)?;
        self.path(name, extension)
    }

    fn path(&self, name: &str, extension: &str) -> Result<PathBuf, Refusal> {
        Name::new(name).map_err(|error| invalid(error.to_string()))?;
        Ok(self.dir.join(format!("{}.{extension}", name::escape(name))))
    }

    /// One writer at a time, in a directory that is there.
    fn writing(&self) -> Result<Alone<'_>, Refusal> {
        fs::create_dir_all(&self.dir).map_err(|error| failed(&self.dir, error))?;
        let mut alone = self.alone()?;
        if !*alone.cleaned {
            file::remove_leftovers(&self.dir);
            *alone.cleaned = true;
        }
        Ok(alone)
    }

    /// One that changes something at a time, of all threads and processes.
    fn alone(&self) -> Result<Alone<'_>, Refusal> {
        let cleaned = lock(&self.writing);
        let busy = || {
            let dir = self.dir.display();
            let message = format!("{dir}: another process has been changing it for {PATIENCE:?}");
            Refusal::new(Code::Busy, message)
        };
        match file::lock_directory(&self.dir, PATIENCE) {
            // Where there is no directory, or nothing can be locked, nothing is shared either.
            Err(_) => Ok(Alone { cleaned, _dir: None }),
            Ok(None) => Err(busy()),
            Ok(dir) => Ok(Alone { cleaned, _dir: dir }),
        }
    }

    fn check_free(&self, name: &str, path: &Path) -> Result<(), Refusal> {
        if is_there(path)? { Err(taken(name)) } else { self.check_room() }
    }

    fn check_room(&self) -> Result<(), Refusal> {
        let files = Files::with_extension(&self.dir, MOTION);
        let files = files.map_err(|error| failed(&self.dir, error))?;
        let dir = self.dir.display();
        let message = if files.names.len() >= MAX_MOTIONS {
            format!("{dir} holds {MAX_MOTIONS} motions, which is the most: delete one first")
        } else if !files.complete {
            format!("{dir} holds more than {MAX_ENTRIES} files: move away what is no motion")
        } else {
            return Ok(());
        };
        Err(Refusal::new(Code::Refused, message))
    }

    /// The text of a motion, which has to be one.
    fn motion_text(&self, document: &Document) -> Result<String, Refusal> {
        if document.is_empty() {
            let message = format!("{:?}: wanted frames or keyframes, got none", document.name);
            return Err(invalid(message));
        }
        self.text(document)
    }

    fn text(&self, document: &Document) -> Result<String, Refusal> {
        let text = document.to_json(&self.joints);
        if text.len() as u64 <= MAX_FILE {
            return Ok(text);
        }
        let message = format!("the motion takes {} bytes, and {MAX_FILE} is the most", text.len());
        Err(Refusal::new(Code::Refused, message))
    }
}

/// What a file holds; none where there is no file.
fn text_of(path: &Path) -> Result<Option<String>, Refusal> {
    match file::read(path, MAX_FILE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        text => text.map(Some).map_err(|error| failed(path, error)),
    }
}

/// Whether there is a file; not to be able to tell is not the same as none.
fn is_there(path: &Path) -> Result<bool, Refusal> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        found => found.map(|_| true).map_err(|error| failed(path, error)),
    }
}

fn create(name: &str, path: &Path, text: &str) -> Result<(), Refusal> {
    file::create(path, text.as_bytes()).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => taken(name),
        _ => failed(path, error),
    })
}

fn missing(name: &str) -> Refusal {
    Refusal::new(Code::NotFound, format!("no motion is called {name:?}"))
}

fn taken(name: &str) -> Refusal {
    let message = format!("a motion is called {name:?} already: rename it, or take another name");
    Refusal::new(Code::Refused, message)
}

fn failed(path: &Path, error: impl fmt::Display) -> Refusal {
    Refusal::new(Code::Refused, format!("{}: {error}", path.display()))
}

fn invalid(message: String) -> Refusal {
    Refusal::new(Code::InvalidArgument, message)
}
