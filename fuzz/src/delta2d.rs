//! Lidar frames: the deframer against a model of it, the codec of every frame, and turns.

use sinew_wire::delta2d::{
    Body, Check, Counters, Deframer, Delta2d, Frame, FrameBuf, MAX_FRAME, MAX_PAYLOAD, MAX_TURN,
    Message, Piece, Turns, What,
};

use crate::{take_byte, take_bytes, vectors};

/// Every frame of the vectors, all of them as one stream, with rubbish between, and whole turns.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = vectors::hex_members("delta2d.json", &["frame"]);
    let stream = seeds.concat();
    let noisy = seeds.join(&[0x00, 0xAA, 0xAA, 0x00, 0x09, 0x01, 0x61][..]);
    seeds.extend([stream, noisy]);
    seeds.extend(vectors::hex_lists("delta2d_turns.json", "frames"));
    seeds
}

/// The input as a stream, and as a script that writes a stream whose checks are right.
pub fn exercise(data: &[u8]) {
    for stream in [data, &scripted(data)] {
        let (strict, _) = deframe(Delta2d::STRICT, stream, [stream.len()]);
        assert_eq!(strict, model(stream), "the deframer and its model disagree");
        for framing in [Delta2d::STRICT, Delta2d::LENIENT] {
            let whole = deframe(framing, stream, [stream.len()]);
            let split = deframe(framing, stream, (0..).map(|index| index % 7 * index % 40 + 1));
            assert_eq!(whole, split, "the split of the stream shows");
        }
    }
}

/// Deframes in pushes of the given sizes; checks that no byte is lost, doubled or reordered.
fn deframe(
    framing: Delta2d,
    data: &[u8],
    sizes: impl IntoIterator<Item = usize>,
) -> (Vec<Vec<u8>>, Counters) {
    let mut deframer = Deframer::with(framing);
    let (mut frames, mut next, mut turns) = (Vec::new(), 0, Turns::default());
    let mut sink = |piece: Piece<'_>| {
        assert_eq!(piece.offset, next as u64, "offsets have a gap");
        let bytes = match piece.what {
            What::Frame(frame) => {
                self::frame(&frame, &mut turns);
                assert!(
                    frame.fits() || framing.check() != Check::Proven,
                    "a wrong check was taken"
                );
                frames.push(frame.bytes().to_vec());
                frame.bytes()
            }
            What::Dropped { bytes, .. } => bytes,
        };
        assert!(!bytes.is_empty(), "a piece of no bytes");
        assert_eq!(Some(bytes), data.get(next..next + bytes.len()), "bytes were changed");
        next += bytes.len();
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
    let counters = deframer.counters();
    assert_eq!(counters.frames, frames.len() as u64);
    let framed: usize = frames.iter().map(Vec::len).sum();
    assert_eq!(counters.dropped, (data.len() - framed) as u64);
    (frames, counters)
}

/// The strict deframer's contract at its plainest: at every byte there is a frame, or none.
fn model(mut data: &[u8]) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while !data.is_empty() {
        let length = frame_len(data);
        let bytes = take_bytes(&mut data, length.unwrap_or(1));
        frames.extend(length.map(|_| bytes.to_vec()));
    }
    frames
}

fn frame_len(data: &[u8]) -> Option<usize> {
    let &[0xAA, a, b, _, _, _, c, d, ..] = data else { return None };
    let length = usize::from(a) << 8 | usize::from(b);
    let count = usize::from(c) << 8 | usize::from(d);
    let [covered @ .., high, low] = data.get(..length + 2)? else { return None };
    let sum: usize = covered.iter().map(|byte| usize::from(*byte)).sum();
    let check = usize::from(*high) << 8 | usize::from(*low);
    (length == 8 + count && count <= 1085 && sum % 65536 == check).then_some(length + 2)
}

/// A frame is written as it was read, and what it measured makes bounded turns.
fn frame(frame: &Frame<'_>, turns: &mut Turns) {
    assert_eq!(Frame::new_checked(frame.bytes()).is_ok(), frame.fits());
    match Message::parse(frame) {
        Ok(message) => {
            let written = message.frame().expect("what was read can be written");
            assert_eq!(written.as_bytes() == frame.bytes(), frame.fits(), "{message:?}");
            if let Body::Measurement(measurement) = message.body
                && let Some(turn) = turns.push(&measurement, !frame.fits())
            {
                assert!(turn.points.len() <= MAX_TURN);
                let real = |degrees: f32| (0.0..360.0).contains(&degrees);
                assert!(turn.points.iter().all(|point| real(point.degrees)));
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Frames with right checks, rubbish, and frames that are cut or damaged, as the input says.
fn scripted(mut script: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    while !script.is_empty() {
        let step = take_byte(&mut script);
        let len = usize::from(take_byte(&mut script));
        let bytes = take_bytes(&mut script, len.min(MAX_PAYLOAD));
        let command = [0xAD, 0xAD, 0xAE, step][usize::from(step >> 6)];
        let frame = FrameBuf::new(command, bytes).expect("the payload fits");
        let frame = frame.as_bytes();
        match step % 8 {
            0 => stream.extend_from_slice(bytes),
            1 => stream.extend_from_slice(&frame[..frame.len() / 2]),
            2 => stream.extend(frame.iter().map(|byte| byte ^ 1)),
            3 => {
                stream.extend_from_slice(&frame[..frame.len() - 1]);
                stream.push(step);
            }
            _ => stream.extend_from_slice(frame),
        }
    }
    stream
}
