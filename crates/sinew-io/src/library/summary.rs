use sinew_robot::trajectory::{Document, Error, JointMap};

/// What a listing tells of a motion.
#[derive(Debug, Clone, Copy)]
pub(super) struct Summary {
    pub(super) created: u64,
    pub(super) duration_ms: u32,
    pub(super) frames: usize,
    pub(super) keyframes: usize,
}

impl Summary {
    /// Reads a document's text as it is read to be played, or tells why that cannot be.
    pub(super) fn read(text: &str, joints: &JointMap) -> Result<Self, String> {
        let document = playable(text, joints).map_err(|error| error.to_string())?;
        Ok(Summary {
            created: document.created,
            duration_ms: document.duration_ms(),
            frames: document.recording.len(),
            keyframes: document.keyframes.len(),
        })
    }
}

/// The motion that a text holds. One that moves nothing is none.
pub(super) fn playable(text: &str, joints: &JointMap) -> Result<Document, Error> {
    let (document, _dropped) = Document::from_json(text, joints)?;
    if document.is_empty() {
        return Err(Error::new("motion", "frames or keyframes", "none"));
    }
    Ok(document)
}
