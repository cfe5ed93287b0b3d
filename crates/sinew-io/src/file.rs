//! Files that are there whole or not at all, wherever their writer is killed.

use std::{
    ffi::OsStr,
    fs::{self, File, Metadata, Permissions},
    io::{self, Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
    time::Duration,
};

use rustix::{
    fs::{CWD, OFlags, RenameFlags, renameat_with},
    io::Errno,
};
use tempfile::{Builder, NamedTempFile};

/// Most entries of a directory that are looked at.
pub(crate) const MAX_ENTRIES: usize = 10_000;
/// A file that its writer has not touched for so long was left behind.
const ABANDONED: Duration = Duration::from_secs(60 * 60);
/// What temporary files are called.
const PREFIX: &str = ".sinew-";
const SUFFIX: &str = ".tmp";

/// Writes beside the file and renames over it, so that there is always a whole one.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    beside(path, bytes)?.persist(path)?;
    sync_directory(path)
}

/// Does the same where no file is yet, and fails where there is one.
pub(crate) fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    beside(path, bytes)?.persist_noclobber(path)?;
    sync_directory(path)
}

/// Gives a file another name within its directory, and fails where there is one of that name.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system can do it in one go.
        Err(Errno::INVAL | Errno::NOSYS) => {
            fs::hard_link(from, to)?;
            fs::remove_file(from)?;
        }
        result => result?,
    }
    sync_directory(to)
}

/// Removes a file for good.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    sync_directory(path)
}

/// The text of a file of at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<String> {
    // To open a pipe would wait for its writer.
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file"));
    }
    let mut bytes = Vec::new();
    if metadata.len() <= limit {
        file.take(limit + 1).read_to_end(&mut bytes)?;
    }
    if metadata.len().max(bytes.len() as u64) > limit {
        let message = format!("over {limit} bytes, too large to be read");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not UTF-8"))
}

/// Removes the temporary files of writers that were killed.
pub(crate) fn remove_leftovers(dir: &Path) {
    remove_abandoned(dir, |name| {
        let name = name.as_encoded_bytes();
        name.starts_with(PREFIX.as_bytes()) && name.ends_with(SUFFIX.as_bytes())
    });
}

/// Removes the files of a kind that are long left. One that cannot be removed does no harm.
pub(crate) fn remove_abandoned(dir: &Path, is_kind: impl Fn(&OsStr) -> bool) {
    let entries = fs::read_dir(dir).into_iter().flatten().take(MAX_ENTRIES).flatten();
    for entry in entries.filter(|entry| is_kind(&entry.file_name())) {
        if entry.metadata().is_ok_and(|metadata| metadata.is_file() && is_abandoned(&metadata)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_abandoned(metadata: &Metadata) -> bool {
    let modified = metadata.modified().ok();
    modified.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > ABANDONED)
}

/// A temporary file with all that is to be written, on the disk.
fn beside(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = Builder::new()
        .prefix(PREFIX)
        .suffix(SUFFIX)
        // Less what the process's mask takes, as of any other file.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(directory(path))?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Puts the names in a file's directory on the disk, too.
fn sync_directory(path: &Path) -> io::Result<()> {
    match File::open(directory(path))?.sync_all() {
        // Some network file systems cannot, and need not.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        result => result,
    }
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
