//! Files that are there whole or not at all, wherever their writer is killed.

use std::{
    ffi::OsStr,
    fs::{self, File, Metadata, Permissions, TryLockError},
    io::{self, Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
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
    Whole::write(path, bytes)?.replace(path)?;
    sync_directory(path)
}

/// Does the same where no file is yet, and fails where there is one.
pub(crate) fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    Whole::write(path, bytes)?.create(path).map_err(|(error, _)| error)?;
    sync_directory(path)
}

/// Gives a file another name within its directory, and fails where there is one of that name.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    step(Step::Rename)?;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).map_err(io::Error::from) {
        // Not every file system can do it in one go.
        Err(error) if is_unsupported(&error) => {
            fs::hard_link(from, to)?;
            fs::remove_file(from)?;
        }
        result => result?,
    }
    sync_directory(to)
}

/// Gives a file the name of another one of its directory, which goes.
pub(crate) fn rename_over(from: &Path, to: &Path) -> io::Result<()> {
    step(Step::Rename)?;
    fs::rename(from, to)
}

/// Two files of a directory change names at once; false where the file system cannot do it.
pub(crate) fn exchange(one: &Path, other: &Path) -> io::Result<bool> {
    let exchange = || Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?);
    match step(Step::Exchange).and_then(|()| exchange()) {
        Err(error) if is_unsupported(&error) => Ok(false),
        result => result.map(|()| true),
    }
}

/// Gives a file a second name, or where there can be none makes a copy of at most `limit` bytes;
/// fails where there is one of that name.
pub(crate) fn duplicate(from: &Path, to: &Path, limit: u64) -> io::Result<()> {
    step(Step::Link)?;
    match fs::hard_link(from, to) {
        Err(error) if has_no_links(&error) => create(to, read(from, limit)?.as_bytes()),
        result => result,
    }
}

/// Removes a file for good.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    step(Step::Remove)?;
    fs::remove_file(path)?;
    sync_directory(path)
}

/// A file that is wholly on the disk, and has yet to get its name. Until then it is hidden, and
/// goes with this value.
pub(crate) struct Whole(NamedTempFile);

impl Whole {
    /// Writes it into the directory of a path.
    pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<Self> {
        step(Step::Write)?;
        let mut file = Builder::new()
            .prefix(PREFIX)
            .suffix(SUFFIX)
            // Less what the process's mask takes, as of any other file.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(directory(path))?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        Ok(Whole(file))
    }

    /// Puts it where there may be one.
    pub(crate) fn replace(self, path: &Path) -> io::Result<()> {
        step(Step::Rename)?;
        self.0.persist(path)?;
        Ok(())
    }

    /// Puts it where there is none; gives it back where there is.
    pub(crate) fn create(self, path: &Path) -> Result<(), (io::Error, Self)> {
        if let Err(error) = step(Step::Rename) {
            return Err((error, self));
        }
        let placed = self.0.persist_noclobber(path);
        placed.map(drop).map_err(|error| (error.error, Whole(error.file)))
    }
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

/// Locks a directory, until it is closed or its process ends; none when another process has had it
/// for so long.
pub(crate) fn lock_directory(dir: &Path, patience: Duration) -> io::Result<Option<File>> {
    let (dir, begin) = (File::open(dir)?, Instant::now());
    loop {
        match dir.try_lock() {
            Ok(()) => return Ok(Some(dir)),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if begin.elapsed() >= patience => return Ok(None),
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// Puts the names in a file's directory on the disk, too.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    step(Step::Sync)?;
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

/// Whether a file system or a kernel does not know this way of renaming.
fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

/// Whether a file cannot have a second name: FAT says it is not permitted.
fn has_no_links(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, TooManyLinks, Unsupported};
    matches!(error.kind(), PermissionDenied | TooManyLinks | Unsupported)
}

/// What a disk is asked to do. Tests make each of them fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Write,
    Rename,
    Exchange,
    Link,
    Remove,
    Sync,
}

#[cfg(not(test))]
fn step(_: Step) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
use faults::step;

/// A disk that fails when a test wants it to, for the thread that asks.
#[cfg(test)]
pub(crate) mod faults {
    use std::{cell::RefCell, io};

    use super::Step;

    type Fault = Box<dyn FnMut(Step) -> io::Result<()>>;

    thread_local! {
        static FAULT: RefCell<Option<Fault>> = const { RefCell::new(None) };
    }

    pub(super) fn step(step: Step) -> io::Result<()> {
        FAULT.with_borrow_mut(|fault| fault.as_mut().map_or(Ok(()), |fault| fault(step)))
    }

    /// Does something while each step is asked for its fate.
    pub(crate) fn with<T>(
        fault: impl FnMut(Step) -> io::Result<()> + 'static,
        work: impl FnOnce() -> T,
    ) -> T {
        FAULT.set(Some(Box::new(fault)));
        let done = work();
        FAULT.set(None);
        done
    }
}
