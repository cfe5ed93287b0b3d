//! Files of the robot's.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use sinew_wire::unitree::{Download, FileRequest, FileSlice, Limits};

use super::{Session, outbox::Sort, words::map_file};
use crate::{Code, Refusal, RequestId, later, mapping::Answer};

/// How long the next slice may take.
const PROGRESS: Duration = Duration::from_secs(10);
/// Slices have some thirty to sixty thousand characters.
const MAX_SLICES: u32 = 1 << 20;

/// The file that is being fetched.
#[derive(Debug, Default)]
pub(super) struct Downloads(Option<Fetching>);

#[derive(Debug)]
struct Fetching {
    id: RequestId,
    uuid: String,
    name: String,
    download: Download,
    due: Instant,
}

impl Downloads {
    pub(super) fn due(&self) -> Option<Instant> {
        self.0.as_ref().map(|fetching| fetching.due)
    }

    /// Whether a message is about the file that is being fetched.
    pub(super) fn is_about(&self, uuid: &str) -> bool {
        self.0.as_ref().is_some_and(|fetching| fetching.uuid == uuid)
    }
}

impl Session {
    pub(super) fn begin_download(&mut self, now: Instant, id: RequestId, name: &str) {
        if self.downloads.0.is_some() {
            let refusal = Refusal::new(Code::Busy, "another map is being fetched");
            return self.refuse(id, refusal);
        }
        let path = match map_file(name) {
            Ok(path) => path,
            Err(refusal) => return self.refuse(id, refusal),
        };
        let uuid = format!("req_{}", self.calls.uuid());
        // Base64 has four characters for three bytes.
        let bytes = self.settings.largest_file / 3 * 4;
        let download = Download::new(Limits { bytes, chunks: MAX_SLICES });
        let request = FileRequest { uuid: uuid.clone(), business: FileRequest::MAP.into(), path };
        let (name, due) = (name.into(), later(now, PROGRESS));
        self.downloads.0 = Some(Fetching { id, uuid, name, download, due });
        self.send(Sort::Plain, request.emit());
    }

    pub(super) fn take_slice(&mut self, now: Instant, slice: &FileSlice) {
        let Some(fetching) = self.downloads.0.as_mut().filter(|it| it.uuid == slice.uuid) else {
            self.state.counters.unasked += 1;
            return;
        };
        fetching.due = later(now, PROGRESS);
        match fetching.download.push(slice) {
            Ok(None) => {}
            Ok(Some(file)) => {
                if let Some(Fetching { id, name, .. }) = self.downloads.0.take() {
                    self.done(id, Ok(Answer::Download { name, file: Arc::from(file) }));
                }
            }
            Err(error) => {
                let message = format!("the file that the robot sends cannot be used: {error}");
                self.downloads_failed(&Refusal::new(Code::Refused, message));
            }
        }
    }

    pub(super) fn advance_downloads(&mut self, now: Instant) {
        if self.downloads.due().is_some_and(|due| now >= due) {
            let seconds = PROGRESS.as_secs();
            let message = format!(
                "no part of the map came for {seconds} s; the robot may not have it, or not hand \
                 files out"
            );
            self.downloads_failed(&Refusal::new(Code::Unconfirmed, message));
        }
    }

    pub(super) fn downloads_failed(&mut self, refusal: &Refusal) {
        if let Some(fetching) = self.downloads.0.take() {
            self.refuse(fetching.id, refusal.clone());
        }
    }
}
