//! A bounded window on a stream.

use std::io::{self, Read};

/// The window's size: a longest packet with its headers fits.
const SIZE: usize = 512 << 10;
/// What is read at once: it stays in a core's cache until it was looked at.
const CHUNK: usize = 128 << 10;

/// The bytes of a stream that are looked at, in a buffer that never grows.
pub(super) struct Window {
    source: Box<dyn Read>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Where in the stream `start` is.
    offset: u64,
    over: bool,
    /// Why the stream ended before its end.
    trouble: Option<io::Error>,
}

impl Window {
    pub(super) fn new(source: Box<dyn Read>) -> Self {
        let buffer = vec![0; SIZE];
        Window { source, buffer, start: 0, end: 0, offset: 0, over: false, trouble: None }
    }

    /// Makes this many bytes available, at most the window's size; says whether they are.
    #[inline]
    pub(super) fn fill(&mut self, wanted: usize) -> bool {
        self.end - self.start >= wanted || self.read(wanted)
    }

    #[cold]
    fn read(&mut self, wanted: usize) -> bool {
        if wanted > SIZE {
            return false;
        }
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        while self.end < wanted && !self.over {
            let until = (self.end + CHUNK).min(SIZE);
            let Some(room) = self.buffer.get_mut(self.end..until) else { break };
            match self.source.read(room) {
                Ok(0) => self.over = true,
                Ok(count) => self.end = (self.end + count).min(SIZE),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.over = true;
                    self.trouble = Some(error);
                }
            }
        }
        self.end >= wanted
    }

    /// What is available.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Goes on behind this many bytes that are available.
    #[inline]
    pub(super) fn advance(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.offset += count as u64;
    }

    /// Goes on behind this many bytes, whether they fit or not; says whether there were that many.
    pub(super) fn skip(&mut self, mut count: u64) -> bool {
        while count > 0 {
            if !self.fill(1) {
                return false;
            }
            let here = usize::try_from(count).unwrap_or(SIZE).min(self.end - self.start);
            self.advance(here);
            count -= here as u64;
        }
        true
    }

    /// Where in the stream the next byte is.
    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// Why the stream ended before its end, if it did.
    pub(super) const fn trouble(&self) -> Option<&io::Error> {
        self.trouble.as_ref()
    }
}
