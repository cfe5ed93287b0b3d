//! What was written is read back, by us and by the library, whole or cut off anywhere.

use std::{collections::BTreeMap, fs};

use proptest::prelude::*;
use sinew_record::{
    Converter, Kind, Rotation, Segment, Topical,
    read::{Ending, Error, Reader},
    recorder::{Options, Recorder, Told},
    stored,
};

use crate::support::{noise, numbers, read, read_file};

fn messages() -> impl Strategy<Value = Vec<Topical>> {
    let kind = prop::sample::select(&Kind::ALL[..]);
    let data = prop::collection::vec(any::<u8>(), 0..300);
    let one = ("/[a-z]{1,3}/[a-z]{1,3}", kind, any::<u64>(), any::<u64>(), data);
    let one = one.prop_map(|(topic, kind, log_ns, publish_ns, data)| Topical {
        topic,
        kind,
        log_ns,
        publish_ns,
        data,
    });
    prop::collection::vec(one, 0..60)
}

/// A file of these, a chunk after each so many; where each chunk ends, and the file.
fn written(messages: &[Topical], every: usize, finish: bool) -> (Vec<u8>, Vec<(u64, usize)>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.mcap");
    let mut segment = Segment::new(&path, false).unwrap();
    let mut ends = Vec::new();
    for (count, message) in (1..).zip(messages) {
        segment.take(message).unwrap();
        if count % every == 0 {
            segment.flush().unwrap();
            ends.push((segment.bytes(), count));
        }
    }
    segment.flush().unwrap();
    ends.push((segment.bytes(), messages.len()));
    if finish {
        segment.finish(BTreeMap::from([("a".into(), "b".into())])).unwrap();
    }
    (fs::read(&path).unwrap(), ends)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_was_recorded_is_read_back_the_same(all in messages(), every in 1_usize..20) {
        let (bytes, _) = written(&all, every, true);
        let (ours, ending, damaged) = read(&bytes[..]);
        prop_assert_eq!(&ours, &all);
        prop_assert_eq!((ending, damaged), (Ending::Whole, 0));
        let theirs = mcap::MessageStream::new(&bytes).unwrap();
        let theirs: Vec<_> = theirs.map(|message| message.unwrap()).collect();
        prop_assert_eq!(theirs.len(), all.len());
        for (their, message) in theirs.iter().zip(&all) {
            prop_assert_eq!(&their.channel.topic, &message.topic);
            prop_assert_eq!(&their.data[..], &message.data[..]);
            prop_assert_eq!((their.log_time, their.publish_time), (message.log_ns, message.publish_ns));
        }
        let summary = mcap::Summary::read(&bytes).unwrap().unwrap();
        prop_assert_eq!(summary.stats.unwrap().message_count, all.len() as u64);
    }

    #[test]
    fn a_file_that_is_cut_off_has_all_whole_chunks(all in messages(), every in 1_usize..20, cut in any::<prop::sample::Index>()) {
        let (bytes, ends) = written(&all, every, false);
        let length = cut.index(bytes.len() + 1).max(8);
        let (ours, ending, damaged) = read(&bytes[..length]);
        let whole = ends.iter().filter(|(end, _)| *end <= length as u64).map(|(_, count)| *count);
        let whole = whole.max().unwrap_or(0);
        prop_assert!(ours.len() >= whole, "{} of {whole}", ours.len());
        prop_assert_eq!(&ours[..], &all[..ours.len()]);
        prop_assert_eq!((ending, damaged), (Ending::Unfinished, 0));
    }

    #[test]
    fn a_byte_that_is_wrong_costs_no_more_than_its_chunk(all in messages(), place in any::<prop::sample::Index>(), bit in 0_u8..8) {
        let (mut bytes, _) = written(&all, 5, true);
        let place = 8 + place.index(bytes.len() - 8);
        bytes[place] ^= 1 << bit;
        let mut reader = Reader::new(&bytes[..]).unwrap();
        // Records outside of chunks have no check of their own: whatever is made of them, it ends.
        let mut count = 0;
        while let Ok(Some(_)) = reader.message() {
            count += 1;
        }
        prop_assert!(count <= all.len() * 2);
        let _ = stored::summary(&bytes[..]);
    }
}

#[test]
fn a_length_that_is_declared_is_not_believed() {
    // A chunk of 255 MB of which ten bytes are there, and a record of more than is read.
    let mut file = mcap::MAGIC.to_vec();
    file.push(mcap::records::op::CHUNK);
    file.extend(255_000_000_u64.to_le_bytes());
    file.extend([0; 10]);
    let (none, ending, _) = read(&file[..]);
    assert_eq!((none, ending), (Vec::new(), Ending::Unfinished));
    file[9..17].copy_from_slice(&u64::MAX.to_le_bytes());
    let mut reader = Reader::new(&file[..]).unwrap();
    assert!(matches!(reader.message(), Err(Error::TooLong(_))));
    // What is skipped may be as long as it likes.
    file[8] = mcap::records::op::ATTACHMENT;
    assert_eq!(read(&file[..]).1, Ending::Unfinished);
    assert!(matches!(Reader::new(&b"SINEWMSG"[..]), Err(Error::Magic)));
}

#[test]
fn a_chunk_that_unpacks_to_more_than_is_read_is_refused() {
    let packed = zstd::stream::encode_all(std::io::repeat(0).take_all(300 << 20), 3).unwrap();
    let mut body = Vec::new();
    body.extend([0; 16]);
    body.extend((300_u64 << 20).to_le_bytes());
    body.extend(0_u32.to_le_bytes());
    body.extend(4_u32.to_le_bytes());
    body.extend(b"zstd");
    body.extend((packed.len() as u64).to_le_bytes());
    body.extend(packed);
    let mut file = mcap::MAGIC.to_vec();
    file.push(mcap::records::op::CHUNK);
    file.extend((body.len() as u64).to_le_bytes());
    file.extend(body);
    let mut reader = Reader::new(&file[..]).unwrap();
    assert!(matches!(reader.message(), Err(Error::TooLong(_))));
}

trait TakeAll {
    fn take_all(self, bytes: u64) -> std::io::Take<Self>
    where
        Self: Sized;
}

impl<R: std::io::Read> TakeAll for R {
    fn take_all(self, bytes: u64) -> std::io::Take<Self> {
        self.take(bytes)
    }
}

#[test]
fn files_follow_each_other_by_size_and_each_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.mcap");
    // A file of that name is not ours.
    fs::write(dir.path().join("run-0002.mcap"), "mine").unwrap();
    let options = Options {
        path: path.clone(),
        rotation: Rotation { bytes: Some(100_000), age: None },
        force: false,
        about: BTreeMap::new(),
    };
    let recorder = Recorder::start(options, Converter::new(vec!["g1".into()])).unwrap();
    let mut number = 0;
    // As many as make three files; it looks at the size with each flush.
    let files = crate::support::until("three files", || {
        for _ in 0..40 {
            recorder.take(number * 1000, Told::Frame(noise(number, 1000)));
            number += 1;
        }
        Some(recorder.status().files).filter(|files| files.len() >= 3)
    });
    assert_eq!(files[1], dir.path().join("run-0003.mcap"));
    let status = recorder.finish();
    assert_eq!((status.lost(), status.trouble), (0, None));
    let mut all = Vec::new();
    for file in &status.files {
        let (messages, ending, damaged) = read_file(file);
        assert_eq!((ending, damaged), (Ending::Whole, 0), "{file:?}");
        all.extend(numbers(&messages));
    }
    assert_eq!(all, (0..number).collect::<Vec<_>>());
    assert_eq!(status.messages, number);
    assert_eq!(fs::read(dir.path().join("run-0002.mcap")).unwrap(), b"mine");
    let bytes: u64 = status.files.iter().map(|file| fs::metadata(file).unwrap().len()).sum();
    assert_eq!(bytes, status.bytes);
}

#[test]
fn a_file_that_is_there_is_not_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.mcap");
    fs::write(&path, "mine").unwrap();
    let start = |force| {
        let (rotation, about) = Default::default();
        let options = Options { path: path.clone(), rotation, force, about };
        Recorder::start(options, Converter::new(Vec::new()))
    };
    assert!(start(false).is_err());
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    assert_eq!(start(true).unwrap().finish().trouble, None);
    assert_eq!(read_file(&path).1, Ending::Whole);
}
