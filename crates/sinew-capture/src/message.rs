//! Messages of a stream that have their length before them: SangamIO's, and envelopes of clouds.

use crate::{
    identify::{self, Protocol},
    stream::Part,
};

/// What is looked at of a message.
const FRONT: usize = 260;
/// The longest that is believed: SangamIO's messages have a megabyte at most, clouds some.
const LONGEST: u64 = 64 << 20;
/// Topics that are told apart, and what is kept of one's name.
const TOPICS: usize = 24;
const NAME: usize = 48;

/// One direction of such a stream.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    head: Vec<u8>,
    /// Bytes of the message that are still to come.
    rest: u64,
    /// Whether it is not known where the next message begins.
    is_lost: bool,
}

/// What was said on a stream.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) messages: u64,
    /// Their bytes, lengths included.
    pub(crate) bytes: u64,
    pub(crate) topics: Vec<(String, u64)>,
    /// Messages of further topics.
    pub(crate) others: u64,
    /// Places at which no message began where one should have.
    pub(crate) lost: u64,
}

impl Messages {
    pub(crate) fn take(&mut self, protocol: Protocol, part: Part<'_>, said: &mut Said) {
        match part {
            Part::Bytes(bytes) => self.push(protocol, bytes, said),
            // Within a message what is missing does not hide where the next begins.
            Part::Gap(missing @ 1..) if missing <= self.rest => self.rest -= missing,
            Part::Gap(_) => {
                (self.rest, self.is_lost) = (0, true);
                self.head.clear();
            }
        }
    }

    fn push(&mut self, protocol: Protocol, mut bytes: &[u8], said: &mut Said) {
        if self.is_lost {
            let Some(at) = again(protocol, bytes) else { return };
            bytes = bytes.get(at..).unwrap_or_default();
            self.is_lost = false;
        }
        while !bytes.is_empty() {
            if self.rest > 0 {
                let here = usize::try_from(self.rest).unwrap_or(usize::MAX).min(bytes.len());
                self.rest -= here as u64;
                bytes = bytes.get(here..).unwrap_or_default();
                continue;
            }
            let header = identify::header(protocol);
            let wanted = match length(protocol, &self.head) {
                None => header,
                Some(length) => usize::try_from(length).unwrap_or(FRONT).min(FRONT),
            };
            let here = wanted.saturating_sub(self.head.len()).min(bytes.len());
            self.head.extend(bytes.iter().take(here));
            bytes = bytes.get(here..).unwrap_or_default();
            let Some(length) = length(protocol, &self.head) else { continue };
            if (self.head.len() as u64) < length.min(FRONT as u64) {
                continue;
            }
            let head = std::mem::take(&mut self.head);
            if length > LONGEST || !identify::begins(protocol, &head) {
                said.lost += 1;
                self.is_lost = true;
                return;
            }
            said.message(topic(head.get(header..).unwrap_or_default()), length);
            self.rest = length - head.len() as u64;
        }
    }
}

impl Said {
    fn message(&mut self, topic: Option<String>, length: u64) {
        self.messages += 1;
        self.bytes += length;
        let Some(topic) = topic else {
            self.others += 1;
            return;
        };
        if let Some((_, count)) = self.topics.iter_mut().find(|(name, _)| *name == topic) {
            *count += 1;
        } else if self.topics.len() < TOPICS {
            self.topics.push((topic, 1));
        } else {
            self.others += 1;
        }
    }
}

/// Where a message begins after something was missing: of SangamIO's the topic tells, others begin with
/// a segment as a rule.
fn again(protocol: Protocol, bytes: &[u8]) -> Option<usize> {
    let places = if protocol == Protocol::Sangamio { bytes.len() } else { 1 };
    (0..places).find(|at| bytes.get(*at..).is_some_and(|bytes| identify::begins(protocol, bytes)))
}

/// How long a message is, its header included, once that is there.
fn length(protocol: Protocol, head: &[u8]) -> Option<u64> {
    let word = |at: usize| head.get(at..).and_then(<[u8]>::first_chunk::<4>).copied();
    Some(match protocol {
        Protocol::Sangamio => 4 + u64::from(u32::from_be_bytes(word(0)?)),
        _ => 8 + u64::from(u32::from_le_bytes(word(0)?)) + u64::from(u32::from_le_bytes(word(4)?)),
    })
}

/// The topic of a message, or its type where it has none.
fn topic(message: &[u8]) -> Option<String> {
    let name = |bytes: &[u8]| -> String {
        let shown = String::from_utf8_lossy(bytes);
        let plain = |c: &char| !sinew_wire::text::is_unshowable(*c);
        shown.chars().filter(plain).take(NAME).collect()
    };
    if let [0x0A, length, topic @ ..] = message {
        return topic.get(..usize::from(*length)).map(name);
    }
    let value = |key: &[u8]| {
        let at = message.windows(key.len()).position(|window| window == key)?;
        let rest = message.get(at + key.len()..)?;
        let rest = rest.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
        let text = rest.strip_prefix(b"\"")?;
        let end = text.iter().position(|byte| *byte == b'"')?;
        text.get(..end).map(name)
    };
    value(b"\"topic\"").or_else(|| value(b"\"type\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(json: &str) -> Vec<u8> {
        [&(json.len() as u32).to_be_bytes()[..], json.as_bytes()].concat()
    }

    #[test]
    fn messages_are_counted_however_they_are_cut() {
        let long = format!(r#"{{"topic":"sensors/x","payload":"{}"}}"#, "y".repeat(5000));
        let all = [framed(r#"{"type":"Stop"}"#), framed(&long), framed(r#"{"topic":"command"}"#)];
        let all = all.concat();
        for cut in 0..all.len() {
            let (front, rest) = all.split_at(cut);
            let (mut messages, mut said) = (Messages::default(), Said::default());
            messages.take(Protocol::Sangamio, Part::Bytes(front), &mut said);
            messages.take(Protocol::Sangamio, Part::Bytes(rest), &mut said);
            assert_eq!((said.messages, said.bytes, said.lost), (3, all.len() as u64, 0), "{cut}");
            let names: Vec<_> = said.topics.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["Stop", "sensors/x", "command"]);
        }
    }

    #[test]
    fn after_a_gap_messages_are_found_again() {
        let one = framed(r#"{"topic":"command","payload":{"a":"bcdefghijklmnop"}}"#);
        let (mut messages, mut said) = (Messages::default(), Said::default());
        for part in [
            Part::Bytes(&one),
            Part::Gap(7),
            Part::Bytes(b"rest of another"),
            Part::Bytes(&one),
            Part::Bytes(&[0xFF; 300]),
            Part::Bytes(&one),
        ] {
            messages.take(Protocol::Sangamio, part, &mut said);
        }
        assert_eq!((said.messages, said.lost), (3, 1));
        let inside = [&b"rest of one"[..], &one].concat();
        messages.take(Protocol::Sangamio, Part::Gap(9), &mut said);
        messages.take(Protocol::Sangamio, Part::Bytes(&inside), &mut said);
        assert_eq!(said.messages, 4);
    }
}
