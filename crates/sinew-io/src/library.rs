//! Motions in a directory, each in a readable JSON file.
//!
//! A motion is called what its file is called, whatever the file says, so that one may be copied or
//! renamed by hand. Files are there whole or not at all, and several threads and processes may use
//! a directory at once.

mod import;
mod listing;
mod name;
mod summary;

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard},
};

use sinew_robot::{
    Code, Refusal,
    trajectory::{Document, JointMap},
};
use sinew_wire::teach::Name;

use self::listing::{Cache, Files};
pub use self::{
    import::{Imported, MAX_UNFINISHED},
    listing::{Entry, Listing, Problem},
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

/// Motions in a directory.
#[derive(Debug)]
pub struct Library {
    dir: PathBuf,
    joints: JointMap,
    /// Held while something is added, so that the limits hold; whether leftovers were removed.
    writing: Mutex<bool>,
    cache: Mutex<Cache>,
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
        lock(&self.cache).list(&self.dir).map_err(|error| failed(&self.dir, error))
    }

    /// Reads a motion.
    pub fn load(&self, name: &str) -> Result<Document, Refusal> {
        let document = self.read(&self.path(name, MOTION)?)?.ok_or_else(|| missing(name))?;
        Ok(Document { name: name.into(), ..document })
    }

    /// Keeps a motion under a name that none has yet.
    pub fn add(&self, document: &Document) -> Result<(), Refusal> {
        let path = self.path(&document.name, MOTION)?;
        let text = self.motion_text(document)?;
        let _writing = self.writing()?;
        self.check_free(&document.name, &path)?;
        create(&document.name, &path, &text)
    }

    /// Keeps a motion, instead of the one that has its name; tells whether there was one.
    pub fn replace(&self, document: &Document) -> Result<bool, Refusal> {
        let path = self.path(&document.name, MOTION)?;
        let text = self.motion_text(document)?;
        let _writing = self.writing()?;
        let there = path.exists();
        if !there {
            self.check_room()?;
        }
        file::replace(&path, text.as_bytes()).map_err(|error| failed(&path, error))?;
        Ok(there)
    }

    /// Gives a motion a name that none has yet.
    pub fn rename(&self, name: &str, new_name: &str) -> Result<(), Refusal> {
        let (path, new_path) = (self.path(name, MOTION)?, self.path(new_name, MOTION)?);
        file::rename(&path, &new_path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => missing(name),
            io::ErrorKind::AlreadyExists => taken(new_name),
            _ => failed(&path, error),
        })
    }

    /// Removes a motion.
    pub fn delete(&self, name: &str) -> Result<(), Refusal> {
        let path = self.path(name, MOTION)?;
        file::remove(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => missing(name),
            _ => failed(&path, error),
        })
    }

    fn path(&self, name: &str, extension: &str) -> Result<PathBuf, Refusal> {
        Name::new(name).map_err(|error| invalid(error.to_string()))?;
        Ok(self.dir.join(format!("{}.{extension}", name::escape(name))))
    }

    /// One writer at a time, in a directory that is there.
    fn writing(&self) -> Result<MutexGuard<'_, bool>, Refusal> {
        let mut cleaned = lock(&self.writing);
        fs::create_dir_all(&self.dir).map_err(|error| failed(&self.dir, error))?;
        if !*cleaned {
            file::remove_leftovers(&self.dir);
            *cleaned = true;
        }
        Ok(cleaned)
    }

    fn check_free(&self, name: &str, path: &Path) -> Result<(), Refusal> {
        if path.exists() { Err(taken(name)) } else { self.check_room() }
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
        if document.recording.is_empty() && document.keyframes.is_empty() {
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

    fn read(&self, path: &Path) -> Result<Option<Document>, Refusal> {
        let text = match file::read(path, MAX_FILE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|error| failed(path, error))?,
        };
        let read = Document::from_json(&text, &self.joints);
        let (document, _dropped) = read.map_err(|error| failed(path, error))?;
        Ok(Some(document))
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
