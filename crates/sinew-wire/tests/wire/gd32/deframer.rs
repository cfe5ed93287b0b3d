//! Frames found in a stream, whatever surrounds and splits them.

use proptest::{collection::vec, prelude::*};
use sinew_wire::gd32::{Counters, Deframer, FrameBuf, MAX_FRAME, Piece, What};

use crate::support::{bit_flips, bytes, salted_noise, slow_checksum, truncations, vectors};

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Frame(Vec<u8>),
    Dropped(Vec<u8>),
}

/// What came out of a stream, adjacent rubbish merged: where it is cut depends on the split.
#[derive(Debug, Default, PartialEq)]
struct Output {
    parts: Vec<Part>,
    len: usize,
}

impl Output {
    fn take(&mut self, piece: Piece<'_>) {
        assert_eq!(piece.offset, self.len as u64, "pieces adjoin");
        match piece.what {
            What::Frame(frame) => self.frame(frame.bytes()),
            What::Dropped { bytes, .. } => self.dropped(bytes),
        }
    }

    fn frame(&mut self, bytes: &[u8]) {
        self.len += bytes.len();
        self.parts.push(Part::Frame(bytes.to_vec()));
    }

    fn dropped(&mut self, bytes: &[u8]) {
        assert!(!bytes.is_empty());
        self.len += bytes.len();
        match self.parts.last_mut() {
            Some(Part::Dropped(before)) => before.extend(bytes),
            _ => self.parts.push(Part::Dropped(bytes.to_vec())),
        }
    }

    fn frames(&self) -> Vec<&[u8]> {
        let frames = self.parts.iter().filter_map(|part| match part {
            Part::Frame(bytes) => Some(&bytes[..]),
            Part::Dropped(_) => None,
        });
        frames.collect()
    }

    /// The part that the byte at `at` belongs to, and where it begins.
    fn part_at(&self, at: usize) -> (usize, &Part) {
        let mut begin = 0;
        for part in &self.parts {
            let (Part::Frame(bytes) | Part::Dropped(bytes)) = part;
            if at < begin + bytes.len() {
                return (begin, part);
            }
            begin += bytes.len();
        }
        panic!("{at} is behind the stream");
    }
}

/// Runs a whole stream through, checking after every push that no byte is lost or hoarded.
fn deframe<'c>(chunks: impl IntoIterator<Item = &'c [u8]>) -> (Output, Counters) {
    let (mut deframer, mut output, mut pushed) = (Deframer::new(), Output::default(), 0);
    for chunk in chunks {
        deframer.push(chunk, |piece| output.take(piece));
        pushed += chunk.len();
        assert!(deframer.pending() < MAX_FRAME);
        assert_eq!(output.len + deframer.pending(), pushed);
    }
    deframer.finish(|piece| output.take(piece));
    assert_eq!((output.len, deframer.pending()), (pushed, 0));
    (output, deframer.counters())
}

/// The same by the book: at each position a whole good frame is taken, or one byte dropped.
fn reference(stream: &[u8]) -> (Output, Counters) {
    let (mut output, mut counters) = (Output::default(), Counters::default());
    while let rest @ [_, ..] = &stream[output.len..] {
        match judge(rest) {
            Verdict::Good(len) => {
                counters.frames += 1;
                output.frame(&rest[..len]);
                continue;
            }
            Verdict::BadCheck => counters.bad_checks += 1,
            Verdict::BadLength => counters.bad_lengths += 1,
            Verdict::NoFrame => {}
        }
        counters.dropped += 1;
        output.dropped(&rest[..1]);
    }
    (output, counters)
}

enum Verdict {
    Good(usize),
    BadCheck,
    BadLength,
    NoFrame,
}

fn judge(bytes: &[u8]) -> Verdict {
    let &[0xFA, 0xFB, len, ref behind @ ..] = bytes else {
        return Verdict::NoFrame;
    };
    match (len, behind) {
        (0 | 2, _) => Verdict::BadLength,
        (1, []) => Verdict::NoFrame,
        (1, [0x08, ..]) => Verdict::Good(4),
        (1, _) => Verdict::BadLength,
        _ => match behind.get(..len.into()) {
            None => Verdict::NoFrame,
            Some(counted) => {
                let (covered, check) = counted.split_at(counted.len() - 2);
                if slow_checksum(covered).to_be_bytes() == check {
                    Verdict::Good(3 + counted.len())
                } else {
                    Verdict::BadCheck
                }
            }
        },
    }
}

/// Every vector frame with rubbish of every kind between them.
fn littered_stream() -> Vec<u8> {
    let rubbish: [&[u8]; 9] = [
        &[0xFA],
        &[0xFA, 0xFA, 0xFB],
        &[0xFA, 0xFB, 0x00],
        &[0xFA, 0xFB, 0x01, 0x06],
        &[0xFA, 0xFB, 0x02, 0x08],
        &[0xFA, 0xFB, 0x05, 0x01, 0x02, 0x03],
        &[0x00, 0x11, 0xFB, 0xFA],
        &[],
        &[0xFA, 0xFB, 0x10],
    ];
    let frames = vectors("gd32.json");
    let frames = frames.iter().map(|vector| bytes(vector, "frame"));
    let mut stream: Vec<u8> = rubbish
        .iter()
        .cycle()
        .zip(frames)
        .flat_map(|(rubbish, frame)| [rubbish, &frame[..]].concat())
        .collect();
    stream.extend([0xFA, 0xFB, 0xFF, 0xFA]);
    stream
}

#[test]
fn a_clean_stream_gives_its_frames_and_nothing_else() {
    let frames: Vec<_> = vectors("gd32.json").iter().map(|vector| bytes(vector, "frame")).collect();
    let (output, counters) = deframe([&frames.concat()[..]]);
    assert_eq!(output.frames(), frames);
    let wanted = Counters { frames: frames.len() as u64, ..Counters::default() };
    assert_eq!(counters, wanted);
}

#[test]
fn a_stream_cut_anywhere_gives_the_same_pieces() {
    let stream = littered_stream();
    let whole = deframe([&stream[..]]);
    assert_eq!(whole, reference(&stream));
    let frames = vectors("gd32.json").len();
    assert_eq!(whole.0.frames().len(), frames);
    for cut in 0..=stream.len() {
        let (front, back) = stream.split_at(cut);
        assert_eq!(deframe([front, back]), whole, "cut at {cut}");
    }
    assert_eq!(deframe(stream.chunks(1)), whole);
}

#[test]
fn the_counters_tell_bad_checks_from_bad_lengths() {
    let stream = [
        &[0xFA, 0xFB, 0x00, 0xFA, 0xFB, 0x02, 0x08][..],
        &[0xFA, 0xFB, 0x01, 0x06, 0xFA, 0xFB, 0x03, 0x06, 0x00, 0x07],
        &[0xFA, 0xFB, 0x03, 0x06, 0x00, 0x06, 0x55],
        &[0xFA, 0xFB, 0xC8, 0x15, 0x00],
    ];
    let wanted = Counters { frames: 1, bad_checks: 1, bad_lengths: 3, dropped: 7 + 10 + 1 + 5 };
    assert_eq!(deframe(stream).1, wanted);
}

#[test]
fn a_false_sync_never_hides_a_good_frame() {
    let frames: Vec<_> = vectors("gd32.json").iter().map(|vector| bytes(vector, "frame")).collect();
    for len in 0..=u8::MAX {
        let false_start = [0xFA, 0xFB, len];
        for frame in &frames {
            let (output, _) = deframe([&false_start, &frame[..]]);
            assert_eq!(output.frames(), [&frame[..]], "LEN {len}");
            let (output, _) = deframe([&false_start, &frame[..], &frame[..]]);
            assert_eq!(output.frames(), [&frame[..], &frame[..]], "LEN {len}");
        }
    }
}

#[test]
fn giving_up_on_a_quiet_line_frees_the_frame_behind_a_false_start() {
    let frame = FrameBuf::new(0x06, &[]).unwrap();
    let (mut deframer, mut output) = (Deframer::new(), Output::default());
    deframer.push(&[0xFA, 0xFB, 0xFF], |piece| output.take(piece));
    deframer.push(frame.as_bytes(), |piece| output.take(piece));
    assert_eq!(output, Output::default());
    assert_eq!(deframer.pending(), 9);

    deframer.give_up(|piece| output.take(piece));
    assert_eq!(output.frames(), [frame.as_bytes()]);
    assert_eq!(deframer.pending(), 0);
    let wanted = Counters { frames: 1, dropped: 3, ..Counters::default() };
    assert_eq!(deframer.counters(), wanted);
}

#[test]
fn giving_up_drops_no_more_than_the_false_start() {
    let frame = FrameBuf::new(0x66, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    let (begin, end) = frame.as_bytes().split_at(9);
    let (mut deframer, mut output) = (Deframer::new(), Output::default());
    deframer.push(&[0xFA, 0xFB, 0xFF], |piece| output.take(piece));
    deframer.push(begin, |piece| output.take(piece));
    deframer.give_up(|piece| output.take(piece));
    assert_eq!(deframer.pending(), begin.len());
    deframer.push(end, |piece| output.take(piece));
    assert_eq!(output.frames(), [frame.as_bytes()]);
}

#[test]
fn giving_up_with_nothing_pending_does_nothing() {
    let mut deframer = Deframer::default();
    deframer.give_up(|piece| panic!("{piece:?}"));
    deframer.finish(|piece| panic!("{piece:?}"));
    deframer.push(&[], |piece| panic!("{piece:?}"));
    assert_eq!(deframer.counters(), Counters::default());
}

#[test]
fn rubbish_says_why_it_is_rubbish() {
    let cases: [(&[u8], Option<&str>); 5] = [
        (&[0x00, 0x01], Some("sync")),
        (&[0xFA, 0xFB, 0x00], Some("LEN")),
        (&[0xFA, 0xFB, 0x01, 0x06], Some("LEN")),
        (&[0xFA, 0xFB, 0x03, 0x06, 0x06, 0x00], Some("check")),
        (&[0xFA, 0xFB, 0x03, 0x06], None),
    ];
    for (stream, field) in cases {
        let mut reasons = Vec::new();
        let mut sink = |piece: Piece<'_>| match piece.what {
            What::Dropped { reason, .. } => reasons.push(reason.map(|error| error.field)),
            What::Frame(frame) => panic!("{frame:?}"),
        };
        let mut deframer = Deframer::new();
        deframer.push(stream, &mut sink);
        deframer.finish(&mut sink);
        assert_eq!(reasons, [field], "{stream:02x?}");
    }
}

#[test]
fn a_damaged_frame_never_comes_out_and_the_next_one_does() {
    let next = FrameBuf::new(0x0D, &[]).unwrap();
    for vector in vectors("gd32.json") {
        let frame = bytes(&vector, "frame");
        let cut = truncations(&frame).map(<[u8]>::to_vec);
        for damaged in cut.chain(bit_flips(&frame)) {
            let chunks = [&damaged[..], next.as_bytes()];
            let (output, counters) = deframe(chunks);
            assert_eq!((output, counters), reference(&chunks.concat()));
            let (output, _) = deframe(chunks);
            assert!(!output.frames().contains(&&frame[..]));
            assert!(output.frames().contains(&next.as_bytes()));
        }
    }
}

fn good_frame() -> impl Strategy<Value = Vec<u8>> {
    let payload = prop_oneof![8 => vec(any::<u8>(), 0..12), 1 => vec(any::<u8>(), 240..=252)];
    (any::<u8>(), payload)
        .prop_map(|(command, payload)| FrameBuf::new(command, &payload).unwrap().as_bytes().into())
}

fn littered() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![salted_noise(60), good_frame()], 0..10).prop_map(|parts| parts.concat())
}

/// Cuts a stream into chunks of these lengths, over and over.
fn chunks<'s>(mut stream: &'s [u8], lengths: &[usize]) -> Vec<&'s [u8]> {
    let mut chunks = Vec::new();
    for length in lengths.iter().cycle() {
        let (chunk, rest) = stream.split_at((*length).min(stream.len()));
        chunks.push(chunk);
        stream = rest;
        if stream.is_empty() {
            break;
        }
    }
    chunks
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn any_stream_in_any_split_gives_what_the_slow_search_finds(
        stream in littered(),
        lengths in vec(1usize..80, 1..6),
    ) {
        let wanted = reference(&stream);
        prop_assert_eq!(&deframe([&stream[..]]), &wanted);
        prop_assert_eq!(&deframe(chunks(&stream, &lengths)), &wanted);
        prop_assert_eq!(&deframe(stream.chunks(1)), &wanted);
    }

    #[test]
    fn noise_before_a_good_frame_never_costs_its_first_byte(
        noise in salted_noise(300),
        frame in good_frame(),
        behind in salted_noise(10),
    ) {
        let (output, _) = deframe([&noise[..], &frame, &behind]);
        // Noise that happens to be a frame may reach into the good one; nothing else may.
        let (begin, part) = output.part_at(noise.len());
        match part {
            Part::Frame(bytes) if begin == noise.len() => prop_assert_eq!(bytes, &frame),
            Part::Frame(_) => prop_assert!(begin < noise.len()),
            Part::Dropped(_) => prop_assert!(false, "the good frame was dropped"),
        }
    }

    #[test]
    fn giving_up_at_any_time_loses_no_byte(
        stream in littered(),
        lengths in vec(1usize..40, 1..6),
        give_up in vec(any::<bool>(), 1..8),
    ) {
        let (mut deframer, mut output, mut pushed) = (Deframer::new(), Output::default(), 0);
        let moments = chunks(&stream, &lengths).into_iter().zip(give_up.iter().cycle());
        for (chunk, give_up) in moments {
            deframer.push(chunk, |piece| output.take(piece));
            pushed += chunk.len();
            let waiting = deframer.pending();
            if *give_up {
                deframer.give_up(|piece| output.take(piece));
                prop_assert!(deframer.pending() < waiting || waiting == 0);
            }
            prop_assert_eq!(output.len + deframer.pending(), pushed);
        }
        deframer.finish(|piece| output.take(piece));
        prop_assert_eq!(output.len, stream.len());
        let counters = deframer.counters();
        prop_assert_eq!(counters.frames, output.frames().len() as u64);
        let framed: usize = output.frames().iter().map(|frame| frame.len()).sum();
        prop_assert_eq!(counters.dropped, (stream.len() - framed) as u64);
    }
}
