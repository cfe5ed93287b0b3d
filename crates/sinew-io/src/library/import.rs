use std::{borrow::Cow, ffi::OsStr, path::Path};

use serde::Serialize;
use sinew_robot::trajectory::{self, Document, MAX_KEYFRAMES};

use super::{Error, Library, MOTION, create, listing::Files, text_of};
use crate::file;

/// Most imports that may be unfinished at once.
pub const MAX_UNFINISHED: usize = 8;

/// The extension of a motion that is not complete yet.
const PART: &str = "part";

/// How far an import has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// Frames so far.
    pub frames: usize,
    /// Keyframes so far.
    pub keyframes: usize,
}

impl Library {
    /// Takes a motion in one part or several, since a message is bounded. A part begins an import,
    /// instead of an unfinished one of its name, or with `append` continues it. The motion is
    /// there, all at once, when a part comes after which there is no `more`. Imports that do not go
    /// on for an hour are forgotten, and so is the oldest when there are too many.
    pub fn import(&self, part: &Document, append: bool, more: bool) -> Result<Imported, Error> {
        let path = self.new_path(&part.name, MOTION)?;
        let unfinished = self.path(&part.name, PART)?;
        let _writing = self.writing()?;
        self.check_free(&part.name, &path)?;
        let motion = if append {
            Cow::Owned(self.continued(&unfinished, part)?)
        } else {
            file::remove_abandoned(self.dir(), is_part);
            if more {
                self.make_room(&unfinished)?;
            }
            Cow::Borrowed(part)
        };
        if more {
            let text = self.text(&motion)?;
            let written = file::replace(&unfinished, text.as_bytes());
            written.map_err(Error::disk("write", &unfinished))?;
        } else {
            create(&part.name, &path, &self.motion_text(&motion)?)?;
            // Whatever fails here, the motion is there; the part is forgotten in an hour.
            let _ = file::remove(&unfinished);
        }
        Ok(Imported { frames: motion.recording.len(), keyframes: motion.keyframes.len() })
    }

    fn continued(&self, unfinished: &Path, part: &Document) -> Result<Document, Error> {
        let begun = text_of(unfinished)?;
        let text = begun.ok_or_else(|| Error::NotBegun(part.name.clone()))?;
        let read = Document::from_json(&text, &self.joints);
        let (mut motion, _dropped) = read.map_err(|error| Error::no_motion(unfinished, error))?;
        motion.name.clone_from(&part.name);
        for frame in part.recording.frames() {
            motion.recording.push(frame.time_ms, frame.positions)?;
        }
        motion.keyframes.extend_from_slice(&part.keyframes);
        if motion.keyframes.len() > MAX_KEYFRAMES {
            let count = motion.keyframes.len();
            let wanted = format!("at most {MAX_KEYFRAMES}");
            return Err(trajectory::Error::new("keyframes", wanted, count).into());
        }
        Ok(motion)
    }

    /// Makes room for another unfinished import, at the cost of the oldest.
    fn make_room(&self, unfinished: &Path) -> Result<(), Error> {
        let files = Files::with_extension(self.dir(), PART);
        let files = files.map_err(Error::disk("list", self.dir()))?;
        let others = files.names.iter().filter(|name| unfinished.file_name() != Some(name));
        let mut others: Vec<_> = others.map(|name| self.dir().join(name)).collect();
        others.sort_by_cached_key(|path| path.metadata().and_then(|data| data.modified()).ok());
        let surplus = (others.len() + 1).saturating_sub(MAX_UNFINISHED);
        for path in others.iter().take(surplus) {
            file::remove(path).map_err(Error::disk("remove", path))?;
        }
        Ok(())
    }
}

fn is_part(name: &OsStr) -> bool {
    Path::new(name).extension() == Some(OsStr::new(PART))
}
