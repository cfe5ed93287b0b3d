//! Serial frames: the deframer against a model of it, and the codec of every frame.

use sinew_wire::gd32::{Counters, Deframer, Frame, FrameBuf, MAX_FRAME, Message, Sender, What};

use crate::{take_byte, take_bytes, vectors};

/// Every frame of the vectors, all of them as one stream, and the stream with rubbish between.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = vectors::hex_members("gd32.json", &["frame"]);
    let stream = seeds.concat();
    let noisy = seeds.join(&[0x00, 0xFA, 0xFA, 0xFB, 0xFF][..]);
    let boot = vectors::hex_members("gd32_boot.json", &["frame"]).concat();
    seeds.extend([stream, noisy, boot]);
    seeds
}

/// The input as a stream, and as a script that writes a stream whose checks are right.
pub fn exercise(data: &[u8]) {
    stream(data);
    stream(&scripted(data));
}

/// A part of the stream; adjacent rubbish is one part, since a split may cut it anywhere.
#[derive(Debug, Clone, PartialEq)]
enum Part {
    Frame(Vec<u8>),
    Rubbish(Vec<u8>),
}

fn stream(data: &[u8]) {
    let (whole, counters) = deframe(data, [data.len()]);
    assert_eq!(whole, model(data), "the deframer and its model disagree");
    let cuts = || {
        let seed = data
            .iter()
            .fold(data.len() as u64, |hash, &byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
        let mut rng = fastrand::Rng::with_seed(seed);
        std::iter::repeat_with(move || match rng.u8(..4) {
            0 => rng.usize(..=300),
            _ => rng.usize(..=4),
        })
    };
    let (split, split_counters) = deframe(data, cuts());
    assert_eq!(whole, split, "the split of the stream shows");
    assert_eq!(counters, split_counters, "the split of the stream shows in the counters");
    for part in &whole {
        if let Part::Frame(bytes) = part {
            frame(bytes);
        }
    }
}

/// Deframes in pushes of the given sizes and checks that no byte is lost, doubled or reordered.
fn deframe(data: &[u8], sizes: impl IntoIterator<Item = usize>) -> (Vec<Part>, Counters) {
    let mut deframer = Deframer::new();
    let mut parts = Vec::new();
    let mut next = 0;
    let mut sink = |piece: sinew_wire::gd32::Piece<'_>| {
        assert_eq!(piece.offset, next as u64, "offsets have a gap");
        let bytes = match piece.what {
            What::Frame(frame) => frame.bytes(),
            What::Dropped { bytes, .. } => bytes,
        };
        assert!(!bytes.is_empty(), "a piece of no bytes");
        assert_eq!(Some(bytes), data.get(next..next + bytes.len()), "bytes were changed");
        next += bytes.len();
        match (piece.what, parts.last_mut()) {
            (What::Frame(_), _) => parts.push(Part::Frame(bytes.to_vec())),
            (What::Dropped { .. }, Some(Part::Rubbish(rubbish))) => {
                rubbish.extend_from_slice(bytes)
            }
            (What::Dropped { .. }, _) => parts.push(Part::Rubbish(bytes.to_vec())),
        }
    };
    let mut rest = data;
    for size in sizes {
        deframer.push(take_bytes(&mut rest, size), &mut sink);
        assert!(deframer.pending() < MAX_FRAME, "a whole frame is held back");
        if rest.is_empty() {
            break;
        }
    }
    deframer.finish(&mut sink);
    assert_eq!(next, data.len(), "bytes were lost");
    assert_eq!(deframer.pending(), 0);
    let counters = deframer.counters();
    let frames = parts.iter().filter(|part| matches!(part, Part::Frame(_)));
    assert_eq!(counters.frames, frames.count() as u64);
    let rubbish = parts.iter().map(|part| match part {
        Part::Rubbish(bytes) => bytes.len() as u64,
        Part::Frame(_) => 0,
    });
    assert_eq!(counters.dropped, rubbish.sum::<u64>());
    (parts, counters)
}

/// The deframer's contract at its plainest: at every byte there is a frame, or the byte is rubbish.
fn model(mut data: &[u8]) -> Vec<Part> {
    let mut parts = Vec::new();
    while let Some(&first) = data.first() {
        match frame_len(data) {
            Some(len) => parts.push(Part::Frame(take_bytes(&mut data, len).to_vec())),
            None => {
                data = &data[1..];
                match parts.last_mut() {
                    Some(Part::Rubbish(rubbish)) => rubbish.push(first),
                    _ => parts.push(Part::Rubbish(vec![first])),
                }
            }
        }
    }
    parts
}

fn frame_len(data: &[u8]) -> Option<usize> {
    let [0xFA, 0xFB, len, command, ..] = *data else {
        return None;
    };
    if (len, command) == (1, 0x08) {
        return Some(4);
    }
    let [covered @ .., high, low] = data.get(3..3 + usize::from(len))? else {
        return None;
    };
    if covered.is_empty() {
        return None;
    }
    let mut check = 0u16;
    for word in covered.chunks(2) {
        match *word {
            [high, low] => check = check.wrapping_add(u16::from_be_bytes([high, low])),
            [odd] => check ^= u16::from(odd),
            _ => {}
        }
    }
    (check == u16::from_be_bytes([*high, *low])).then_some(3 + usize::from(len))
}

/// A frame is written as it was read, untyped and typed.
fn frame(bytes: &[u8]) {
    let frame = Frame::new_checked(bytes).expect("the deframer's frame is one");
    let written = FrameBuf::new(frame.command(), frame.payload()).expect("its payload fits");
    if frame.check().is_some() {
        assert_eq!(written.as_bytes(), bytes);
    } else {
        assert_eq!(bytes, [0xFA, 0xFB, 0x01, 0x08], "a frame without a check");
    }
    for sender in [None, Some(Sender::Host), Some(Sender::Controller)] {
        match Message::parse(&frame, sender) {
            Ok(message) => {
                let typed = message.frame().expect("what was read can be written");
                assert_eq!(typed.as_bytes(), written.as_bytes(), "{message:?}");
                let again = Frame::new_checked(typed.as_bytes()).expect("what was written is read");
                assert_eq!(Message::parse(&again, sender), Ok(message));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// Frames with right checks, rubbish, and frames that are cut or damaged, as the input says.
fn scripted(mut script: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    while !script.is_empty() {
        let step = take_byte(&mut script);
        let len = usize::from(take_byte(&mut script));
        let bytes = take_bytes(&mut script, len);
        let (command, payload) = bytes.split_first().unwrap_or((&step, &[]));
        let frame = FrameBuf::new(*command, &payload[..payload.len().min(252)])
            .expect("the payload was cut to fit");
        let frame = frame.as_bytes();
        match step % 8 {
            0 => stream.extend_from_slice(bytes),
            1 => stream.extend_from_slice(&frame[..frame.len() / 2]),
            2 => stream.extend(frame.iter().map(|byte| byte ^ 1)),
            _ => stream.extend_from_slice(frame),
        }
    }
    stream
}
