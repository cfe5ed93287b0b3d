//! Protocols whose messages begin with words.

use super::Protocol;

/// The longest message of SangamIO's interface.
const LONGEST: u32 = 1 << 20;

/// What a stream is by the front of one of its segments.
pub(super) fn stream(bytes: &[u8]) -> Option<Protocol> {
    const METHODS: [&[u8]; 9] = [
        b"GET ",
        b"POST ",
        b"PUT ",
        b"HEAD ",
        b"DELETE ",
        b"OPTIONS ",
        b"PATCH ",
        b"CONNECT ",
        b"HTTP/1.",
    ];
    if is_sangamio(bytes, None) {
        return Some(Protocol::Sangamio);
    }
    if METHODS.iter().any(|method| bytes.starts_with(method)) {
        return Some(Protocol::Http);
    }
    match *bytes {
        [20..=23, 3, 0..=4, high, low, ..] => {
            // No record is longer than 2^14 and what its cipher adds.
            let length = u16::from_be_bytes([high, low]);
            (1..=16_384 + 2048).contains(&length).then_some(Protocol::Tls)
        }
        _ => bytes.starts_with(b"SSH-").then_some(Protocol::Ssh),
    }
}

/// Whether a message of SangamIO's interface stands here, its length before it: JSON as in document 003,
/// or protobuf as in its project's later state, in either case with a topic of that interface. Of a
/// datagram the length is known.
pub(super) fn is_sangamio(bytes: &[u8], length: Option<usize>) -> bool {
    let Some((declared, message)) = bytes.split_first_chunk() else { return false };
    let declared = u32::from_be_bytes(*declared);
    let fits = length.is_none_or(|length| length == 4 + declared as usize);
    if !fits || !(2..=LONGEST).contains(&declared) {
        return false;
    }
    match message {
        [b'{', ..] => {
            let front = message.get(..256).unwrap_or(message);
            [&b"\"topic\""[..], b"\"type\""].iter().any(|word| contains(front, word))
        }
        [0x0A, length, topic @ ..] => {
            let topic = topic.get(..usize::from(*length)).unwrap_or_default();
            topic == b"command" || topic.starts_with(b"sensors/")
        }
        _ => false,
    }
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}
