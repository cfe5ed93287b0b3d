//! Files and what is in them.

use std::{
    fs::File,
    io::BufReader,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use sinew_api::frame::{self, Header};
use sinew_record::{
    Kind, Topical,
    read::{Ending, Reader},
};

/// Looks again and again until there is something.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < Duration::from_secs(30), "waited too long for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// All messages of a file, how it ended, and how many chunks were damaged.
pub(crate) fn read_file(path: &Path) -> (Vec<Topical>, Ending, u64) {
    read(BufReader::new(File::open(path).unwrap()))
}

pub(crate) fn read(source: impl std::io::Read) -> (Vec<Topical>, Ending, u64) {
    let mut reader = Reader::new(source).unwrap();
    let mut all = Vec::new();
    while let Some(message) = reader.message().unwrap() {
        all.push(Topical {
            topic: message.channel.topic.clone(),
            kind: message.channel.kind().unwrap(),
            log_ns: message.log_ns,
            publish_ns: message.publish_ns,
            data: message.data.to_vec(),
        });
    }
    (all, reader.ending().unwrap(), reader.damaged())
}

/// A frame of topic `messages` with bytes that cannot be packed.
pub(crate) fn noise(number: u64, length: usize) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = number.to_le_bytes().to_vec();
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    let header = Header { sequence: number, time_us: number, name: "binary", ..Header::default() };
    frame::message(&header, &bytes)
}

/// The numbers of such frames that a file has.
pub(crate) fn numbers(messages: &[Topical]) -> Vec<u64> {
    let noise = messages.iter().filter(|message| message.kind == Kind::Binary);
    noise.map(|message| u64::from_le_bytes(*message.data.first_chunk().unwrap())).collect()
}
