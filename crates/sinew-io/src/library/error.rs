use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use sinew_robot::{Code, Refusal, trajectory};

use super::{MAX_FILE, MAX_MOTIONS, PATIENCE};
use crate::file::MAX_ENTRIES;

/// Why a library did not do what it was asked.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The disk failed.
    Disk {
        /// What it was asked to do, as `write`.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// No motion has this name.
    NotFound(String),
    /// No import of this name has begun in the last hour.
    NotBegun(String),
    /// A motion has this name already.
    Taken(String),
    /// Too many motions are called like this one.
    TooManyAlike(String),
    /// What is asked for cannot be kept: a name, or a motion.
    Invalid(String),
    /// A file holds no motion.
    NoMotion {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The motion takes more bytes than a file may have.
    TooLarge(usize),
    /// There are as many motions in this directory as there may be.
    Full(PathBuf),
    /// There are more files in this directory than are looked at.
    Crowded(PathBuf),
    /// Another process has been changing this directory for too long.
    Busy(PathBuf),
}

impl Error {
    /// The disk failed to do this with a file.
    pub(super) fn disk(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Error::Disk { what, path: path.into(), error }
    }

    pub(super) fn no_motion(path: &Path, why: impl fmt::Display) -> Self {
        Error::NoMotion { path: path.into(), why: why.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Disk { what, path, error } => {
                write!(f, "the disk: cannot {what} {}: {error}", path.display())
            }
            Error::NotFound(name) => write!(f, "no motion is called {name:?}"),
            Error::NotBegun(name) => {
                write!(f, "no import of {name:?} has begun in the last hour")
            }
            Error::Taken(name) => {
                write!(f, "a motion is called {name:?} already: rename it, or take another name")
            }
            Error::TooManyAlike(name) => {
                write!(f, "too many motions are called like {name:?}: delete some of them")
            }
            Error::Invalid(why) => f.write_str(why),
            Error::NoMotion { path, why } => write!(f, "{}: {why}", path.display()),
            Error::TooLarge(bytes) => {
                write!(f, "the motion takes {bytes} bytes, and {MAX_FILE} is the most")
            }
            Error::Full(dir) => {
                let dir = dir.display();
                write!(f, "{dir} holds {MAX_MOTIONS} motions, which is the most: delete one first")
            }
            Error::Crowded(dir) => {
                let dir = dir.display();
                write!(f, "{dir} holds more than {MAX_ENTRIES} files: move away what is no motion")
            }
            Error::Busy(dir) => {
                let dir = dir.display();
                write!(f, "{dir}: another process has been changing it for {PATIENCE:?}")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Disk { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// What cannot be kept says itself what was wanted.
impl From<trajectory::Error> for Error {
    fn from(error: trajectory::Error) -> Self {
        Error::Invalid(error.to_string())
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::NotFound(_) | Error::NotBegun(_) => Code::NotFound,
            Error::Invalid(_) => Code::InvalidArgument,
            Error::Busy(_) => Code::Busy,
            Error::Disk { .. }
            | Error::Taken(_)
            | Error::TooManyAlike(_)
            | Error::NoMotion { .. }
            | Error::TooLarge(_)
            | Error::Full(_)
            | Error::Crowded(_) => Code::Refused,
        };
        Refusal::new(code, error.to_string())
    }
}
