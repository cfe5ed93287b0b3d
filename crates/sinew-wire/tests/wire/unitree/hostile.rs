//! Whatever comes in, nothing panics, and nothing grows beyond its bound.

use std::{error::Error, fmt::Debug};

use proptest::{collection::vec, prelude::*, sample::select};
use sinew_wire::unitree::{
    Binary, Challenge, Chunk, FileRequest, FileSlice, Inner, MAX_JSON, Message, Request, Response,
    arm::{ActionList, ArmRequest, ArmState},
    mapping::{Odometry, SlamInfo, SlamReply, SlamRequest},
    signal::{Answer, ConIng, Notify, Offer},
    state::{Faults, LowState, MotionMode, Service},
};

use super::texts;
use crate::support::{bit_flips, refused, truncations};

/// Anything the crate says must be sayable.
fn say<T: Debug, E: Error>(result: Result<T, E>) -> Option<T> {
    match result {
        Ok(value) => {
            assert!(!format!("{value:?}").is_empty());
            Some(value)
        }
        Err(error) => {
            assert!(error.to_string().contains(": wanted "), "{error}");
            None
        }
    }
}

fn feed(input: &[u8]) {
    say(Notify::parse(input));
    say(ConIng::parse(input));
    say(Offer::parse(input));
    say(Answer::parse(input));
    if let Some(binary) = say(Binary::new_checked(input)) {
        say(binary.message()).iter().for_each(feed_message);
    }
    say(Message::parse(input)).iter().for_each(feed_message);
}

fn feed_message(message: &Message) {
    // A fraction of many digits may come back with another last one.
    let again = Message::parse(message.emit().as_bytes()).unwrap();
    assert_eq!((again.key(), again.kind), (message.key(), message.kind.clone()));
    let _ = (message.key(), Challenge::parse(message));
    say(Inner::parse(message));
    say(FileRequest::parse(message));
    say(FileSlice::parse(message));
    say(Chunk::of(message));
    say(Faults::parse(message));
    say(ArmState::parse(message));
    say(SlamInfo::parse(message));
    say(Odometry::parse(message));
    say(LowState::parse(message));
    say(Service::parse(message));
    if let Some(request) = say(Request::parse(message)) {
        for api_id in (7106..=7114).chain([request.api_id]) {
            say(ArmRequest::parse(api_id, &request.parameter));
        }
        for api_id in [1801, 1802, 1804, 1102, 1201, 1202, 1901, request.api_id] {
            say(SlamRequest::parse(api_id, &request.parameter));
        }
    }
    if let Some(response) = say(Response::parse(message)) {
        say(response.json());
        say(ActionList::parse(&response.data));
        say(SlamReply::parse(&response.data));
        say(MotionMode::parse(&response.data));
    }
}

#[test]
fn every_truncation_of_every_text_is_refused() {
    for text in texts() {
        for cut in truncations(text.as_bytes()) {
            feed(cut);
            assert!(Message::parse(cut).is_err());
        }
    }
}

#[test]
fn every_flipped_bit_of_a_text_is_survived() {
    for text in texts().iter().filter(|text| text.len() < 400) {
        bit_flips(text.as_bytes()).for_each(|flipped| feed(&flipped));
    }
}

#[test]
fn depth_is_bounded_also_inside_strings() {
    let deep = |open: &str, close: &str| {
        let (open, close) = (open.repeat(100_000), close.repeat(100_000));
        format!(r#"{{"type":"msg","topic":"rt/arm/action/state","data":{open}1{close}}}"#)
    };
    assert_eq!(refused(Message::parse(deep("[", "]").as_bytes())), "message");
    assert_eq!(refused(Message::parse(deep(r#"{"a":"#, "}").as_bytes())), "message");
    let inside = format!(
        r#"{{"type":"msg","topic":"rt/arm/action/state","data":"{}"}}"#,
        "[".repeat(100_000)
    );
    let message = Message::parse(inside.as_bytes()).unwrap();
    assert_eq!(refused(ArmState::parse(&message)), "data");
    assert!(!format!("{message:?}").is_empty());
    let mut nested = serde_json::Value::from("x");
    for _ in 0..12 {
        nested = vec![nested.to_string()].into();
    }
    let message = serde_json::json!({ "type": "msg", "data": nested });
    let message = Message::parse(message.to_string().as_bytes()).unwrap();
    assert!(format!("{message:?}").contains("(hidden)"), "strings in strings end somewhere");
}

#[test]
fn length_is_bounded() {
    let long = format!(r#"{{"type":"msg","data":"{}"}}"#, "a".repeat(MAX_JSON));
    let error = Message::parse(long.as_bytes()).unwrap_err();
    assert_eq!(error.field, "message");
    assert!(error.to_string().contains("at most"));
    let mut binary = vec![2, 0, 0, 0];
    binary.extend((long.len() as u32).to_le_bytes());
    binary.extend([0; 4]);
    binary.extend(long.as_bytes());
    assert_eq!(refused(Binary::new_checked(&binary).unwrap().message()), "message");
    assert_eq!(refused(Notify::parse(long.as_bytes())), "con_notify");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rubbish_is_survived(input in vec(any::<u8>(), 0..200)) {
        feed(&input);
    }

    #[test]
    fn spliced_messages_are_survived(
        first in select(texts()), second in select(texts()), cut: prop::sample::Index, at: prop::sample::Index,
    ) {
        let head = &first.as_bytes()[..cut.index(first.len())];
        let tail = &second.as_bytes()[at.index(second.len())..];
        feed(&[head, tail].concat());
    }

    #[test]
    fn values_of_another_kind_are_survived(
        text in select(texts()),
        from in select(vec!["0", "1", "true", "\"\"", "[", "{", ":", ","]),
        to in select(vec!["null", "-1", "1e308", "9223372036854775807", "[]", "{}", "\"x\"", ""]),
    ) {
        feed(text.replacen(from, to, 1).as_bytes());
    }
}
