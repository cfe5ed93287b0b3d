//! MCAP recordings, whole, cut off and damaged.

use std::{
    collections::BTreeMap,
    io::{self, Read},
};

use sinew_record::{
    Kind, Segment, Topical,
    read::{Error, Reader},
    stored,
};

/// Messages of a file are no more than its bytes allow.
const LEAST_MESSAGE: usize = 31;

/// A recording with a message of each kind in two chunks, one that was not finished, and records outside of chunks.
pub fn seeds() -> Vec<Vec<u8>> {
    let dir = std::env::temp_dir().join(format!("sinew-fuzz-mcap-{}", std::process::id()));
    let mut made = Vec::new();
    for finish in [true, false] {
        let path = dir.with_extension(format!("{finish}.mcap"));
        made.extend(seed(&path, finish));
        let _ = std::fs::remove_file(&path);
    }
    made.push(without_chunks());
    made
}

fn without_chunks() -> Vec<u8> {
    // The beginning, a channel and a message of it, without chunks.
    let mut file = vec![0x89, b'M', b'C', b'A', b'P', b'0', b'\r', b'\n'];
    let channel = vec![1, 0, 0, 0, 2, 0, 0, 0, b'/', b'a', 0, 0, 0, 0, 0, 0, 0, 0];
    for (code, body) in [(4, channel), (5, [&[1, 0][..], &[0; 20], b"body"].concat())] {
        file.push(code);
        file.extend((body.len() as u64).to_le_bytes());
        file.extend(body);
    }
    file
}

fn seed(path: &std::path::Path, finish: bool) -> Option<Vec<u8>> {
    let mut segment = Segment::new(path, true).ok()?;
    for (number, kind) in (0..).zip(Kind::ALL) {
        let data = vec![number as u8; 40];
        let topic = format!("/g1/{number}");
        let message = Topical { topic, kind, log_ns: number, publish_ns: number, data };
        segment.take(&message).ok()?;
        if number % 6 == 5 {
            segment.flush().ok()?;
        }
    }
    if finish {
        segment.finish(BTreeMap::new()).ok()?;
    }
    std::fs::read(path).ok()
}

/// It ends, however it comes in pieces the same, and nothing is larger than what is there.
pub fn exercise(data: &[u8]) {
    let whole = read(data);
    assert_eq!(whole, read(Steps(data, 7)), "how the file came shows");
    if let Ok(messages) = whole {
        assert!(messages.len() <= unpacked(data) / LEAST_MESSAGE + 1, "more messages than bytes");
    }
    let _ = stored::summary(data).map(|summary| summary.topics.len());
    for wanted in [stored::LinkTopic::Messages, stored::LinkTopic::Raw] {
        if let Ok(mut messages) = stored::LinkMessages::new(data, wanted) {
            while let Ok(Some(_)) = messages.message() {}
            assert!(!messages.none_here().is_empty());
        }
    }
}

/// What a file of so many bytes can hold: zstd packs a few thousand times at most.
fn unpacked(data: &[u8]) -> usize {
    data.len().saturating_mul(1 << 15)
}

fn read(source: impl Read) -> Result<Vec<(u64, usize)>, String> {
    let failed = |error: Error| error.to_string();
    let mut reader = Reader::new(source).map_err(failed)?;
    let mut all = Vec::new();
    while let Some(message) = reader.message().map_err(failed)? {
        let (points, joints) = (stored::points(&message), stored::joints(&message));
        assert!(points.is_none() || joints.is_none());
        all.push((message.log_ns, message.data.len()));
    }
    assert!(reader.ending().is_some(), "it did not end");
    Ok(all)
}

/// A file that comes a few bytes at a time.
struct Steps<'a>(&'a [u8], usize);

impl Read for Steps<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.1.min(buffer.len());
        (&mut self.0).read(&mut buffer[..count])
    }
}
