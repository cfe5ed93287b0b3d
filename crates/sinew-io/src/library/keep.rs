use std::{
    io,
    path::{Path, PathBuf},
};

use sinew_robot::trajectory::Document;
use sinew_wire::teach::NAME_FIELD;

use super::{Error, Library, MAX_FILE, MOTION, is_there};
use crate::file::{self, Whole};

/// Behind the name of a motion that another took the place of.
const OLDER: &str = "~";
/// How many motions may have been left beside one of a name.
const MOST_ASIDE: u32 = 99;

impl Library {
    /// Keeps a motion. One that has its name already becomes `NAME~`, which is returned, and the
    /// one that was called so goes.
    ///
    /// The new motion is whole on the disk before anything else changes, and the oldest goes last.
    /// Wherever an error or a kill ends it, each motion is listed under some name:
    ///
    /// | after | `NAME` | `NAME~2` | `NAME~` |
    /// | --- | --- | --- | --- |
    /// | | old | | oldest |
    /// | the new one is put aside | old | new | oldest |
    /// | it changes places with the old one | new | old | oldest |
    /// | the old one gets its name | new | | old |
    pub fn keep(&self, document: &Document) -> Result<Option<String>, Error> {
        let name = &document.name;
        let path = self.new_path(name, MOTION)?;
        let text = self.motion_text(document)?;
        let _writing = self.writing()?;
        self.check_room_beside(name, &path)?;
        let at = |error| Error::disk("write", &path)(error);
        let new = match Whole::write(&path, text.as_bytes()).map_err(at)?.create(&path) {
            Err((error, new)) if error.kind() == io::ErrorKind::AlreadyExists => new,
            placed => {
                placed.map_err(|(error, _)| at(error))?;
                file::sync_directory(&path).map_err(at)?;
                return Ok(None);
            }
        };
        let older = format!("{name}{OLDER}");
        let older_path = self.path(&older, MOTION).map_err(|_| Error::Taken(name.clone()))?;
        let aside = self.put_aside(name, new)?;
        let swapped = self.swap(name, &aside, &path);
        if swapped.is_err() {
            // It is not kept, so it should not be listed; where it is, no harm is done.
            let _ = file::remove(&aside.path);
        }
        let old = swapped?;
        file::sync_directory(&path).map_err(at)?;
        let Some(old) = old else { return Ok(None) };
        if file::rename_over(&old.path, &older_path).is_err() {
            return Ok(Some(old.name));
        }
        // Should the system fail before this is on the disk, it is there as it was put aside.
        let _ = file::sync_directory(&path);
        Ok(Some(older))
    }

    /// Whether there is room for what will be there in the end.
    fn check_room_beside(&self, name: &str, path: &Path) -> Result<(), Error> {
        let older = self.path(&format!("{name}{OLDER}"), MOTION);
        match older {
            Ok(older) if is_there(path)? && is_there(&older)? => Ok(()),
            Err(_) if is_there(path)? => Err(Error::Taken(name.into())),
            _ => self.check_room(),
        }
    }

    /// Puts a file under a name that is free, and listed.
    fn put_aside(&self, name: &str, mut new: Whole) -> Result<Aside, Error> {
        for number in 2..=MOST_ASIDE {
            let aside = self.aside(name, number)?;
            new = match new.create(&aside.path) {
                Ok(()) => return Ok(aside),
                Err((error, new)) if error.kind() == io::ErrorKind::AlreadyExists => new,
                Err((error, _)) => return Err(Error::disk("write", &aside.path)(error)),
            };
        }
        Err(Error::TooManyAlike(name.into()))
    }

    fn aside(&self, name: &str, number: u32) -> Result<Aside, Error> {
        let name = marked(name, &format!("{OLDER}{number}"));
        let path = self.path(&name, MOTION)?;
        Ok(Aside { name, path })
    }

    /// Puts a motion in the place of another, and tells where that one is then; none when another
    /// process has removed it.
    fn swap(&self, name: &str, new: &Aside, path: &Path) -> Result<Option<Aside>, Error> {
        let at = |error| Error::disk("replace", path)(error);
        match file::exchange(&new.path, path) {
            Ok(true) => Ok(Some(new.clone())),
            Ok(false) => {
                let old = self.second_name(name, path)?;
                file::rename_over(&new.path, path).map_err(at)?;
                Ok(Some(old))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                file::rename(&new.path, path).map(|()| None).map_err(at)
            }
            Err(error) => Err(at(error)),
        }
    }

    fn second_name(&self, name: &str, path: &Path) -> Result<Aside, Error> {
        for number in 2..=MOST_ASIDE {
            let aside = self.aside(name, number)?;
            match file::duplicate(path, &aside.path, MAX_FILE) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                done => {
                    return done
                        .map(|()| aside)
                        .map_err(Error::disk("give a second name to", path));
                }
            }
        }
        Err(Error::TooManyAlike(name.into()))
    }
}

/// Where a motion is that has lost its place, or has none yet.
#[derive(Debug, Clone)]
struct Aside {
    name: String,
    path: PathBuf,
}

/// A name with a mark behind it, cut where it would be too long.
fn marked(name: &str, mark: &str) -> String {
    let most = NAME_FIELD - 1 - mark.len();
    let ends = name.char_indices().map(|(at, c)| at + c.len_utf8());
    let end = ends.take_while(|end| *end <= most).last().unwrap_or(0);
    format!("{}{mark}", &name[..end])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::{cell::Cell, rc::Rc};

    use tempfile::TempDir;

    use super::*;
    use crate::file::{Step, faults};

    fn motion(name: &str, frames: u32) -> Document {
        let mut motion = Document { name: name.into(), ..Document::default() };
        for frame in 0..frames {
            motion.recording.push(frame * 20, [0.5; 12]).unwrap();
        }
        motion
    }

    /// How a disk fails at a step.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Failure {
        /// That step alone.
        Once,
        /// From then on everything, clean-up included: all that a kill leaves is what was done.
        ForGood,
    }

    /// Keeps a motion on a disk that fails at step `at`; tells also whether it came to that.
    fn keep(
        library: &Library,
        motion: &Document,
        at: u32,
        failure: Failure,
        exchanges: bool,
    ) -> (Result<Option<String>, Error>, bool) {
        let (steps, failed) = (Cell::new(0), Rc::new(Cell::new(false)));
        let told = Rc::clone(&failed);
        let fault = move |step| {
            let now = steps.replace(steps.get() + 1);
            if now == at || now > at && failure == Failure::ForGood {
                told.set(true);
                return Err(io::ErrorKind::StorageFull.into());
            }
            match step {
                Step::Exchange if !exchanges => Err(io::ErrorKind::Unsupported.into()),
                _ => Ok(()),
            }
        };
        let kept = faults::with(fault, || library.keep(motion));
        (kept, failed.get())
    }

    /// All motions that are listed, by their frames: that is how this test tells them apart.
    fn listed(library: &Library) -> Vec<usize> {
        let listing = library.list().unwrap();
        assert_eq!(listing.problems, []);
        let mut frames: Vec<_> = listing.motions.iter().map(|motion| motion.frames).collect();
        for motion in &listing.motions {
            assert_eq!(library.load(&motion.name).unwrap().recording.len(), motion.frames);
        }
        frames.sort_unstable();
        frames.dedup();
        frames
    }

    #[test]
    fn wherever_the_disk_fails_each_motion_is_listed() {
        let mut tried = 0;
        for (before, failure, exchanges) in (0..=3)
            .flat_map(|before| [Failure::Once, Failure::ForGood].map(|failure| (before, failure)))
            .flat_map(|(before, failure)| [true, false].map(|can| (before, failure, can)))
        {
            for at in 0.. {
                let dir = TempDir::new().unwrap();
                let library = Library::new(dir.path().into());
                // Those before: an only one, an older one, and one whose place was taken twice.
                for frames in 1..=before {
                    library.keep(&motion("wave", frames)).unwrap();
                }
                let last = motion("wave", 9);
                let (kept, failed) = keep(&library, &last, at, failure, exchanges);
                let case = format!("{before} before, {failure:?} at {at}, {exchanges}: {kept:?}");
                let there = listed(&library);
                let oldest = if kept.is_ok() { before.max(1) } else { before.max(2) - 1 };
                let wanted = (oldest..=before).map(|frames| frames as usize);
                let lost: Vec<_> = wanted.filter(|frames| !there.contains(frames)).collect();
                assert!(lost.is_empty(), "{case}: {there:?}");
                match kept {
                    Ok(older) => {
                        assert_eq!(library.load("wave").unwrap(), last, "{case}");
                        let older = older.map(|older| library.load(&older).unwrap());
                        let older = older.map(|older| older.recording.len() as u32);
                        assert_eq!(older, Some(before).filter(|count| *count > 0), "{case}");
                    }
                    Err(error) => {
                        assert!(matches!(error, Error::Disk { .. }), "{case}");
                        assert!(error.to_string().contains("storage"), "{case}");
                    }
                }
                // What is left behind does not keep the next one out.
                library.keep(&motion("wave", 10)).unwrap();
                assert_eq!(library.load("wave").unwrap().recording.len(), 10, "{case}");
                tried += 1;
                if !failed {
                    break;
                }
            }
        }
        assert!(tried > 50, "{tried} cases");
    }
}
