//! Answers in pieces, and files.

use proptest::{collection::vec, prelude::*};
use serde_json::json;
use sinew_wire::unitree::{
    Assembly, Chunk, Download, FileRequest, FileSlice, Kind, Limits, Message,
};

use super::{message, named};
use crate::support::refused;

const LIMITS: Limits = Limits { bytes: 1000, chunks: 10 };

const fn piece(index: u32, total: u32) -> Chunk {
    Chunk { index, total }
}

#[test]
fn pieces_come_out_together_with_the_last() {
    let mut assembly = Assembly::new(LIMITS);
    assert_eq!(assembly.push(piece(1, 3), b"a"), Ok(None));
    assert_eq!(assembly.push(piece(2, 3), b""), Ok(None));
    assert_eq!((assembly.len(), assembly.is_empty()), (1, false));
    assert_eq!(assembly.push(piece(3, 3), b"bc"), Ok(Some(b"abc".to_vec())));
    assert_eq!(assembly.push(piece(1, 1), b"next"), Ok(Some(b"next".to_vec())));
}

#[test]
fn a_piece_out_of_order_ends_it() {
    for (second, field) in [
        (piece(1, 3), "chunk_index"),
        (piece(3, 3), "chunk_index"),
        (piece(2, 4), "total_chunk_num"),
    ] {
        let mut assembly = Assembly::new(LIMITS);
        assembly.push(piece(1, 3), b"a").unwrap();
        assert_eq!(refused(assembly.push(second, b"b")), field);
        assert!(assembly.is_empty(), "what was there is gone");
        assert_eq!(assembly.push(piece(1, 1), b"c"), Ok(Some(b"c".to_vec())));
    }
    assert_eq!(refused(Assembly::new(LIMITS).push(piece(2, 3), b"b")), "chunk_index");
}

#[test]
fn bytes_and_pieces_are_bounded_whatever_is_declared() {
    let mut assembly = Assembly::new(LIMITS);
    assert_eq!(assembly.push(piece(1, 10), &[0; 1000]), Ok(None));
    assert_eq!(refused(assembly.push(piece(2, 10), &[0])), "chunk");
    // At once, and not only when so many have come.
    for total in [11, u32::MAX] {
        let first = Assembly::new(LIMITS).push(piece(1, total), &[]);
        assert_eq!(refused(first), "total_chunk_num");
    }
}

#[test]
fn a_message_says_which_piece_it_is() {
    let with = |info| {
        let message = Message::with_data(Kind::Res, "", json!({ "content_info": info }));
        Chunk::of(&message)
    };
    let chunk = |index, total| json!({ "enable_chunking": true, "chunk_index": index, "total_chunk_num": total });
    assert_eq!(with(chunk(json!(2), json!(3))), Ok(Some(piece(2, 3))));
    assert_eq!(with(json!({ "enable_chunking": false })), Ok(None));
    assert_eq!(Chunk::of(&message(&named("video on"))), Ok(None));
    for wrong in [json!(0), json!(-1), json!("1"), json!(1.5), json!(1e10), json!(null)] {
        assert_eq!(refused(with(chunk(wrong.clone(), json!(3)))), "chunk_index");
        assert_eq!(refused(with(chunk(json!(1), wrong))), "total_chunk_num");
    }
}

#[test]
fn a_file_is_asked_for_and_comes_in_slices() {
    let request = FileRequest::parse(&message(&named("file request"))).unwrap().unwrap();
    assert_eq!(request.path, "/home/unitree/test1.pcd");
    assert_eq!(request.business, FileRequest::MAP);
    let again = Message::parse(request.emit().as_bytes()).unwrap();
    assert_eq!(again, message(&named("file request")));
    let slice = FileSlice::parse(&message(&named("file slice"))).unwrap().unwrap();
    assert_eq!((slice.chunk, slice.text.as_str()), (Some(piece(1, 2)), "IyAuUE"));
    let again = Message::parse(slice.emit().as_bytes()).unwrap();
    assert_eq!(again, message(&named("file slice")));
    for other in ["video on", "delay probe", "network question"] {
        assert_eq!(FileRequest::parse(&message(&named(other))), Ok(None));
        assert_eq!(FileSlice::parse(&message(&named(other))), Ok(None));
    }
}

#[test]
fn a_slice_need_not_be_base64_by_itself_but_the_file_must() {
    let slice = |text: &str, chunk| FileSlice { uuid: "u".into(), chunk, text: text.into() };
    let mut download = Download::new(LIMITS);
    assert_eq!(download.push(&slice("IyAuU", Some(piece(1, 2)))), Ok(None));
    assert_eq!(download.push(&slice("ENE", Some(piece(2, 2)))), Ok(Some(b"# .PCD".to_vec())));
    assert_eq!(download.push(&slice("IyAu", None)), Ok(Some(b"# .".to_vec())));
    assert_eq!(refused(download.push(&slice("I*", None))), "file");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_file_comes_out_as_it_was(file in vec(any::<u8>(), 0..400), len in 0usize..50) {
        let mut download = Download::new(Limits { bytes: 1000, chunks: 1000 });
        let slices = FileSlice::cut("req_1", &file, len);
        let (last, first) = slices.split_last().unwrap();
        for slice in first {
            let read = Message::parse(slice.emit().as_bytes()).unwrap();
            prop_assert_eq!(FileSlice::parse(&read), Ok(Some(slice.clone())));
            prop_assert_eq!(download.push(slice), Ok(None));
        }
        prop_assert_eq!(download.push(last), Ok(Some(file)));
    }
}
