use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    time::{Duration, Instant},
};

use sinew_wire::unitree::{FileSlice, Form, Message};

use super::stream::Stream;

/// Messages that wait for a client. A channel loses nothing, so one whose client takes no more is
/// closed.
const MAX_REPLIES: usize = 1024;
/// Bytes of them.
const MAX_BYTES: usize = 4 << 20;

/// Characters of a slice of a file: as many as the library sends.
const SLICE: usize = 61_440;
/// Slices that may wait when another file is asked for.
const MAX_SLICES: usize = 32;

/// A client of the data channel.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) challenge: Challenge,
    pub(super) is_valid: bool,
    /// Wrong answers in a row.
    pub(super) wrong: u32,
    /// When it is closed unless it was validated, or asked again after it was.
    pub(super) ask_at: Option<Instant>,
    pub(super) probe_at: Option<Instant>,
    /// What it subscribed to, and when that is due next; none when that comes by itself.
    pub(super) streams: BTreeMap<Stream, Option<Instant>>,
    /// Whether the robot may send as much as there is.
    pub(super) takes_all: bool,
    /// Whether it got the map that was loaded last.
    pub(super) has_map: bool,
    files: VecDeque<FileSlice>,
    replies: VecDeque<Vec<u8>>,
    bytes: usize,
    newest: BTreeMap<Stream, (Form, Vec<u8>)>,
    is_closing: bool,
}

/// What a client is asked; not shown.
#[derive(Clone)]
pub(super) struct Challenge(pub(super) String);

impl fmt::Debug for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Challenge(hidden)")
    }
}

impl Client {
    pub(super) fn new(now: Instant, patience: Duration) -> Self {
        Client {
            challenge: Challenge(String::new()),
            is_valid: false,
            wrong: 0,
            ask_at: Some(crate::later(now, patience)),
            probe_at: None,
            streams: BTreeMap::new(),
            takes_all: false,
            has_map: false,
            files: VecDeque::new(),
            replies: VecDeque::new(),
            bytes: 0,
            newest: BTreeMap::new(),
            is_closing: false,
        }
    }

    /// Closes the channel once what waits has gone.
    pub(super) fn close(&mut self) {
        self.is_closing = true;
        self.is_valid = false;
        (self.ask_at, self.probe_at) = (None, None);
        self.streams.clear();
        self.newest.clear();
        self.files.clear();
    }

    /// Closes the channel with nothing more.
    pub(super) fn cut(&mut self) {
        self.close();
        self.replies.clear();
        self.bytes = 0;
    }

    pub(super) const fn is_closing(&self) -> bool {
        self.is_closing
    }

    /// Whether all that is left is to close it.
    pub(super) fn is_over(&self) -> bool {
        self.is_closing && self.replies.is_empty()
    }

    pub(super) fn say(&mut self, message: &Message) {
        self.reply(&message.emit());
    }

    /// A text that must arrive.
    pub(super) fn reply(&mut self, text: &str) {
        if self.is_closing {
            return;
        }
        if self.replies.len() >= MAX_REPLIES || self.bytes + text.len() > MAX_BYTES {
            return self.cut();
        }
        self.bytes += text.len();
        self.replies.push_back(text.as_bytes().to_vec());
    }

    /// Something of which only the newest counts.
    pub(super) fn publish(&mut self, stream: Stream, form: Form, bytes: Vec<u8>) {
        if !self.is_closing {
            self.newest.insert(stream, (form, bytes));
        }
    }

    /// A file, unless too much of others waits.
    pub(super) fn send_file(&mut self, uuid: &str, file: &[u8]) {
        if self.files.len() < MAX_SLICES && !self.is_closing {
            self.files.extend(FileSlice::cut(uuid, file, SLICE));
        }
    }

    pub(super) fn take_slice(&mut self) -> Option<(Form, Vec<u8>)> {
        let slice = self.files.pop_front()?;
        Some((Form::Text, slice.emit().into_bytes()))
    }

    pub(super) fn unsubscribe(&mut self, stream: Stream) {
        self.streams.remove(&stream);
        self.newest.remove(&stream);
    }

    pub(super) fn take_reply(&mut self) -> Option<(Form, Vec<u8>)> {
        let text = self.replies.pop_front()?;
        self.bytes -= text.len();
        Some((Form::Text, text))
    }

    pub(super) fn take_newest(&mut self) -> Option<(Form, Vec<u8>)> {
        self.newest.pop_first().map(|(_, message)| message)
    }

    /// When it is to be asked, probed or sent something.
    pub(super) fn due(&self) -> Option<Instant> {
        let streams = self.streams.values().flatten().copied();
        streams.chain(self.ask_at).chain(self.probe_at).min()
    }
}
