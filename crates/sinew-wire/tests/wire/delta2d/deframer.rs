//! Frames found in a stream, and how the check is proven.

use proptest::{collection::vec, prelude::*};
use sinew_wire::delta2d::{
    Check, Counters, Deframer, Delta2d, Frame, FrameBuf, MAX_FRAME, PROOF, Piece, What,
};

use crate::support::{bit_flips, bytes, truncations, vectors};

/// What came out: frames and whether their check fits, the other bytes, and what was counted.
#[derive(Debug, Default, PartialEq)]
struct Output {
    frames: Vec<(Vec<u8>, bool)>,
    /// Every byte, framed or not.
    bytes: Vec<u8>,
    counters: Counters,
}

impl Output {
    fn take(&mut self, piece: Piece<'_>) {
        assert_eq!(piece.offset, self.bytes.len() as u64, "pieces adjoin");
        match piece.what {
            What::Frame(frame) => {
                self.bytes.extend(frame.bytes());
                self.frames.push((frame.bytes().to_vec(), frame.fits()));
            }
            What::Dropped { bytes, .. } => {
                assert!(!bytes.is_empty());
                self.bytes.extend(bytes);
            }
        }
    }
}

fn deframe<'c>(framing: Delta2d, chunks: impl IntoIterator<Item = &'c [u8]>) -> Output {
    let (mut deframer, mut output) = (Deframer::with(framing), Output::default());
    for chunk in chunks {
        deframer.push(chunk, |piece| output.take(piece));
        assert!(deframer.pending() < MAX_FRAME);
    }
    deframer.finish(|piece| output.take(piece));
    output.counters = deframer.counters();
    output
}

/// By the book, with a right check: at each place a whole good frame is taken, or one byte dropped.
fn reference(stream: &[u8]) -> Vec<(Vec<u8>, bool)> {
    let (mut frames, mut rest) = (Vec::new(), stream);
    while !rest.is_empty() {
        let word = |at: usize| {
            let bytes: Option<&[u8]> = rest.get(at..at + 2);
            bytes.map_or(usize::MAX, |pair| usize::from(pair[0]) << 8 | usize::from(pair[1]))
        };
        let length = word(1);
        let whole = rest[0] == 0xAA && length >= 8 && length - 8 == word(6) && word(6) <= 1085;
        let sum = |bytes: &[u8]| bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>();
        if whole && rest.len() >= length + 2 && sum(&rest[..length]) % 65536 == word(length) {
            frames.push((rest[..length + 2].to_vec(), true));
            rest = &rest[length + 2..];
        } else {
            rest = &rest[1..];
        }
    }
    frames
}

/// A measurement whose bytes tell which one it is.
fn numbered(number: u8) -> Vec<u8> {
    let payload = [100, 0, 0, 0, number, number, 1, number, 7, 2, number];
    FrameBuf::new(0xAD, &payload).unwrap().as_bytes().to_vec()
}

fn with_wrong_check(mut frame: Vec<u8>) -> Vec<u8> {
    *frame.last_mut().unwrap() ^= 0x55;
    frame
}

#[test]
fn vectors_come_out_whole_from_every_split() {
    let frames: Vec<_> = vectors("delta2d.json").iter().map(|v| bytes(v, "frame")).collect();
    // Without the longest: there are some thousand splits.
    let stream = frames.iter().filter(|frame| frame.len() < 200).cloned().collect::<Vec<_>>();
    let stream = stream.concat();
    let whole = deframe(Delta2d::STRICT, [&stream[..]]);
    assert_eq!(whole.frames, reference(&stream));
    assert_eq!(whole.frames.len(), frames.len() - 1);
    for at in 0..=stream.len() {
        let (head, tail) = stream.split_at(at);
        assert_eq!(deframe(Delta2d::STRICT, [head, tail]), whole, "split at {at}");
    }
    assert_eq!(deframe(Delta2d::STRICT, stream.chunks(1)), whole);
    let all = frames.concat();
    assert_eq!(deframe(Delta2d::STRICT, all.chunks(7)).frames.len(), frames.len());
}

#[test]
fn a_damaged_frame_costs_one_frame() {
    let next = numbered(99);
    for vector in vectors("delta2d.json") {
        let frame = bytes(&vector, "frame");
        if frame.len() > 200 {
            continue;
        }
        let cut = truncations(&frame).map(<[u8]>::to_vec);
        for damaged in cut.chain(bit_flips(&frame)) {
            let stream = [&damaged[..], &next].concat();
            let output = deframe(Delta2d::STRICT, [&stream[..]]);
            assert_eq!(output.frames, reference(&stream));
            assert_eq!(output.bytes, stream);
            assert!(output.frames.iter().any(|(bytes, _)| *bytes == next), "the next one comes");
            assert!(!output.frames.iter().any(|(bytes, _)| *bytes == frame));
        }
    }
}

#[test]
fn ten_frames_in_a_row_make_the_check_strict() {
    let mut deframer = Deframer::new();
    let mut output = Output::default();
    for number in 0..PROOF as u8 {
        assert_eq!(deframer.framing().check(), Check::Unproven { row: number.into() });
        deframer.push(&numbered(number), |piece| output.take(piece));
    }
    assert_eq!(deframer.framing().check(), Check::Proven);
    deframer.push(&with_wrong_check(numbered(20)), |piece| output.take(piece));
    deframer.push(&numbered(21), |piece| output.take(piece));
    deframer.push(&[], |piece| output.take(piece));
    assert_eq!(output.frames.len(), PROOF as usize + 1);
    assert_eq!(deframer.counters().bad_checks, 1);
    assert_eq!(output.frames.last().unwrap().0, numbered(21));
}

#[test]
fn a_line_whose_check_is_something_else_stays_readable() {
    let frames: Vec<_> = (0..50).map(|number| with_wrong_check(numbered(number))).collect();
    let output = deframe(Delta2d::LENIENT, frames.iter().map(Vec::as_slice));
    let wanted: Vec<_> = frames.iter().map(|frame| (frame.clone(), false)).collect();
    assert_eq!(output.frames, wanted);
    assert_eq!(output.counters.bad_checks, 0);
}

#[test]
fn a_wrong_check_begins_the_proof_anew() {
    let mut deframer = Deframer::default();
    let mut push = |bytes: &[u8]| {
        deframer.push(bytes, |_| {});
        deframer.framing().check()
    };
    for number in 0..9 {
        push(&numbered(number));
    }
    assert_eq!(push(&with_wrong_check(numbered(9))), Check::Unproven { row: 0 });
    assert_eq!(push(&numbered(10)), Check::Unproven { row: 1 });
}

#[test]
fn without_a_check_only_what_is_usual_is_taken() {
    let odd = [
        // Another command, a length that is none of its command's, another version, another type.
        FrameBuf::new(0xAB, &[1]).unwrap(),
        FrameBuf::new(0xAE, &[1, 2]).unwrap(),
        FrameBuf::new(0xAD, &[0; 7]).unwrap(),
    ];
    for frame in odd {
        let fits = frame.as_bytes().to_vec();
        assert_eq!(deframe(Delta2d::LENIENT, [&fits[..]]).frames.len(), 1);
        let wrong = with_wrong_check(fits);
        assert_eq!(deframe(Delta2d::LENIENT, [&wrong[..]]).frames, []);
    }
    for at in [3, 4] {
        let mut other = numbered(1);
        other[at] ^= 0x10;
        assert_eq!(deframe(Delta2d::LENIENT, [&other[..]]).frames, []);
    }
}

#[test]
fn an_incomplete_frame_is_given_up_and_what_follows_is_found() {
    let (mut deframer, mut output) = (Deframer::new(), Output::default());
    let frame = numbered(3);
    deframer.push(&[0xAA, 0x00], |piece| output.take(piece));
    deframer.push(&frame[..6], |piece| output.take(piece));
    assert_eq!(deframer.pending(), 6, "two lengths that differ are no frame");
    deframer.push(&frame[6..9], |piece| output.take(piece));
    deframer.give_up(|piece| output.take(piece));
    assert_eq!(deframer.pending(), 0);
    deframer.push(&frame, |piece| output.take(piece));
    assert_eq!(output.frames, [(frame, true)]);
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let noise = prop_oneof![
        5 => Just(0xAA), 4 => Just(0u8), 2 => Just(0x61), 2 => Just(1), 2 => 8u8..12, 1 => any::<u8>()
    ];
    let frame = (prop_oneof![Just(0xAD), Just(0xAE), any::<u8>()], vec(any::<u8>(), 0..30))
        .prop_map(|(command, payload)| FrameBuf::new(command, &payload).unwrap().as_bytes().into());
    vec(prop_oneof![vec(noise, 0..40), frame], 0..20).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_stream_in_any_split_gives_what_the_slow_search_finds(
        stream in stream(),
        size in 1usize..90,
    ) {
        let whole = deframe(Delta2d::STRICT, [&stream[..]]);
        prop_assert_eq!(&whole.frames, &reference(&stream));
        prop_assert_eq!(&whole.bytes, &stream);
        prop_assert_eq!(&deframe(Delta2d::STRICT, stream.chunks(size)), &whole);
        prop_assert_eq!(&deframe(Delta2d::STRICT, stream.chunks(1)), &whole);
    }

    #[test]
    fn the_proof_does_not_depend_on_the_split(stream in stream(), size in 1usize..90) {
        let whole = deframe(Delta2d::LENIENT, [&stream[..]]);
        prop_assert_eq!(&whole.bytes, &stream);
        prop_assert_eq!(&deframe(Delta2d::LENIENT, stream.chunks(size)), &whole);
        for (bytes, fits) in &whole.frames {
            prop_assert_eq!(Frame::new_checked(bytes).is_ok(), *fits);
        }
    }
}
