//! Text messages, calls and answers.

use proptest::{collection::btree_map, prelude::*};
use serde_json::{Value, json};
use sinew_wire::unitree::{
    Challenge, Inner, Key, Kind, Message, NetworkStatus, Request, Response, request_topic,
    response_topic, service_of, state::Faults,
};

use super::{message, named, of, texts};
use crate::support::{refused, text};

#[test]
fn every_message_has_its_type_and_topic_and_loses_nothing() {
    for vector in of("message") {
        let message = message(&vector);
        assert_eq!(message.kind.word(), text(&vector, "kind"));
        assert_eq!(message.topic(), text(&vector, "topic"));
        let sent: Value = serde_json::from_str(&message.emit()).unwrap();
        let came: Value = serde_json::from_str(text(&vector, "text")).unwrap();
        assert_eq!(sent, came, "{}", text(&vector, "name"));
    }
}

#[test]
fn an_unknown_type_is_kept_with_all_that_is_in_it() {
    let message = message(&named("unknown type"));
    assert_eq!(message.kind, Kind::Other("new_thing".into()));
    assert_eq!(message.rest["seq"], 4);
    assert_eq!(Message::parse(message.emit().as_bytes()), Ok(message));
}

#[test]
fn texts_are_as_long_as_the_records_of_a_captured_session() {
    let subscribe = Message::new(Kind::Subscribe, "rt/arm/action/state");
    assert_eq!(subscribe.emit().len(), 50);
    let unsubscribe = Message::new(Kind::Unsubscribe, "rt/arm/action/state");
    assert_eq!(unsubscribe.emit().len(), 52);
    let mut heartbeat = Message::heartbeat("2026-01-31 16:50:12", 1_769_896_212);
    heartbeat.topic = None;
    assert_eq!(heartbeat.emit().len(), 86);
    assert_eq!(Response::parse(&message(&named("arm answer"))).unwrap().emit().len(), 128);
}

#[test]
fn every_call_is_read_and_written_to_the_byte() {
    for vector in of("request") {
        let request = Request::parse(&message(&vector)).unwrap();
        assert_eq!(request.service, text(&vector, "service"));
        assert_eq!(
            (json!(request.api_id), json!(request.id)),
            (vector["api_id"].clone(), vector["id"].clone())
        );
        assert_eq!(request.parameter, text(&vector, "parameter"));
        assert_eq!(request.priority, None);
        assert_eq!(request.emit(), text(&vector, "text"));
    }
}

#[test]
fn every_answer_is_read_and_written_to_the_byte() {
    for vector in of("response") {
        let response = Response::parse(&message(&vector)).unwrap();
        assert_eq!(response.service, text(&vector, "service"));
        assert_eq!(
            json!([response.api_id, response.id, response.code]),
            json!([vector["api_id"], vector["id"], vector["code"]])
        );
        assert_eq!(response.is_good(), vector["code"] == 0);
        assert_eq!(response.emit(), text(&vector, "text"));
    }
}

#[test]
fn an_answer_finds_its_call_by_number() {
    let call = message(&named("arm list"));
    assert_eq!(call.key(), Key::Id(4));
    assert_eq!(message(&named("arm list answer")).key(), Key::Id(16));
    assert_eq!(message(&named("network question")).key(), Key::Uuid("u-1".into()));
    assert_eq!(message(&named("network answer")).key(), Key::Uuid("u-1".into()));
    assert_eq!(message(&named("file request")).key(), message(&named("file slice")).key());
    let nothing = Key::KindAndTopic("rtc_inner_req".into(), String::new());
    assert_eq!(message(&named("traffic saving answer")).key(), nothing);
    assert_eq!(message(&named("traffic saving off")).key(), nothing);
}

#[test]
fn a_priority_is_the_library_s() {
    let request = Request {
        service: "sport".into(),
        id: 2_147_484_000,
        api_id: 1008,
        parameter: String::new(),
        priority: Some(1),
    };
    assert!(request.emit().contains(r#""policy":{"priority":1}"#));
    assert_eq!(Request::parse(&Message::parse(request.emit().as_bytes()).unwrap()), Ok(request));
}

#[test]
fn a_call_that_lacks_something_says_what() {
    let whole = json!({
        "type": "req", "topic": "rt/api/arm/request",
        "data": { "header": { "identity": { "id": 1, "api_id": 7107 } }, "parameter": "" },
    });
    let with = |path: &str, value: Value| {
        let mut changed = whole.clone();
        *changed.pointer_mut(path).unwrap() = value;
        refused(Request::parse(&Message::parse(changed.to_string().as_bytes()).unwrap()))
    };
    assert_eq!(with("/type", json!("res")), "type");
    assert_eq!(with("/topic", json!("rt/arm")), "topic");
    assert_eq!(with("/data", json!([])), "data");
    assert_eq!(with("/data/header", json!(1)), "header");
    assert_eq!(with("/data/header/identity", Value::Null), "identity");
    assert_eq!(with("/data/header/identity/id", json!("1")), "id");
    assert_eq!(with("/data/header/identity/api_id", json!(1.5)), "api_id");
    assert_eq!(with("/data/parameter", json!({})), "parameter");
}

#[test]
fn services_and_topics_name_each_other() {
    assert_eq!(service_of(&request_topic("arm")), Some("arm"));
    assert_eq!(service_of(&response_topic("slam_operate")), Some("slam_operate"));
    assert_eq!(service_of("rt/api/arm"), None);
    assert_eq!(service_of("rt/arm/action/state"), None);
}

#[test]
fn challenges_are_told_from_the_rest() {
    assert_eq!(Challenge::parse(&message(&named("validated"))), Some(Challenge::Validated));
    assert_eq!(Challenge::parse(&message(&named("validation needed"))), Some(Challenge::Again));
    assert_eq!(Challenge::parse(&message(&named("invalid topic"))), None);
    let challenge = Message::with_data(Kind::Validation, "", "abc");
    assert_eq!(Challenge::parse(&challenge), Some(Challenge::Answer("abc".into())));
    assert_eq!(Challenge::parse(&Message::new(Kind::Validation, "")), None);
}

#[test]
fn what_the_bridge_is_asked_and_answers() {
    let inner = |name: &str| Inner::parse(&message(&named(name))).unwrap().unwrap();
    assert_eq!(inner("traffic saving off"), Inner::TrafficSaving { disabled: true });
    assert_eq!(inner("traffic saving answer"), Inner::Execution { good: true });
    assert_eq!(inner("network question"), Inner::NetworkQuestion { uuid: "u-1".into() });
    let wifi = Inner::NetworkAnswer { uuid: "u-1".into(), status: NetworkStatus::Wifi };
    assert_eq!(inner("network answer"), wifi);
    assert!(matches!(inner("file request"), Inner::Other(_)));
    assert_eq!(Inner::parse(&message(&named("video on"))), Ok(None));
    let probe = inner("delay probe");
    let back = probe.message(false);
    assert_eq!(back.data, message(&named("delay probe")).info, "the whole content goes back");
    for (inner, from_robot) in [(wifi, true), (inner("traffic saving off"), false), (probe, true)] {
        assert_eq!(Inner::parse(&inner.message(from_robot)), Ok(Some(inner)));
    }
    let no_object = Message::with_data(Kind::RtcInnerReq, "", "x");
    assert_eq!(refused(Inner::parse(&no_object)), "data");
}

#[test]
fn network_words_round_trip() {
    for word in ["Undefined", "NetworkStatus.DISCONNECTED", "NetworkStatus.ON_4G_CONNECTED", "x"] {
        assert_eq!(NetworkStatus::from(word).word(), word);
    }
}

#[test]
fn faults_have_words() {
    let Some(Faults::All(faults)) = Faults::parse(&message(&named("faults"))).unwrap() else {
        panic!("a snapshot");
    };
    let words: Vec<_> = faults.iter().map(ToString::to_string).collect();
    let unknown = "unknown, source 900, code 5";
    assert_eq!(words, ["rear left fan jammed", "motor: communication lost", unknown]);
    let gone = Faults::parse(&message(&named("fault gone"))).unwrap().unwrap();
    assert!(matches!(gone, Faults::Removed(fault) if fault.text() == Some("rear left fan jammed")));
    for all in [gone, Faults::All(faults)] {
        assert_eq!(Faults::parse(&all.message()), Ok(Some(all)));
    }
    let short = Message::with_data(Kind::AddError, "", json!([1, 2]));
    assert_eq!(refused(Faults::parse(&short)), "fault");
}

#[test]
fn nothing_secret_is_printed() {
    let secrets = [
        r#"{"type":"validation","topic":"","data":"s3cret"}"#,
        r#"{"type":"msg","topic":"rt/x","data":{"sn":"s3cret","list":[{"Token":"s3cret"}]}}"#,
        r#"{"type":"msg","topic":"rt/x","data":"{\"key\":\"s3cret\"}"}"#,
        r#"{"type":"msg","topic":"rt/x","data":"[[\"{\\\"key\\\":\\\"s3cret\\\"}\"]]"}"#,
        r#"{"type":"x","topic":"rt/x","password":"s3cret","info":{"sdp":{"a":"s3cret"}}}"#,
        r#"{"type":"req","topic":"rt/api/a/request","data":{"header":{"identity":{"id":1,"api_id":2}},"parameter":"{\"serialNumber\":\"s3cret\"}"}}"#,
        r#"{"type":"res","topic":"rt/api/a/response","data":{"header":{"identity":{"id":1,"api_id":2},"status":{"code":0}},"data":"{\"gcm_key\":\"s3cret\"}"}}"#,
    ];
    for text in secrets {
        let message = Message::parse(text.as_bytes()).unwrap();
        let shown =
            format!("{message:?} {:?} {:?}", Request::parse(&message), Response::parse(&message));
        assert!(shown.contains("(hidden)") && !shown.contains("s3cret"), "{shown}");
    }
    let said = format!("{:?}", Challenge::Answer("s3cret".into()));
    assert_eq!(said, "Answer(hidden)");
}

#[test]
fn what_is_no_message_says_so() {
    let cases: [(&str, &str); 6] = [
        ("", "message"),
        ("[]", "message"),
        ("{", "message"),
        ("{}", "type"),
        (r#"{"type":1}"#, "type"),
        (r#"{"type":"msg","topic":1}"#, "topic"),
    ];
    for (text, field) in cases {
        assert_eq!(refused(Message::parse(text.as_bytes())), field, "{text}");
    }
}

#[test]
fn every_text_survives_being_read_and_written() {
    for text in texts() {
        if let Ok(message) = Message::parse(text.as_bytes()) {
            assert_eq!(Message::parse(message.emit().as_bytes()), Ok(message), "{text}");
        }
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(".{0,4}", inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_message_round_trips(
        word in ".{0,12}",
        topic in prop::option::of(".{0,12}"),
        data in prop::option::of(any_value()),
        info in prop::option::of(any_value()),
        rest in btree_map("[a-c]{1,3}", any_value(), 0..3),
    ) {
        let kind = Kind::from(word.as_str());
        let message = Message { kind, topic, data, info, rest: rest.into_iter().collect() };
        let shown = format!("{message:?}");
        prop_assert!(!shown.is_empty());
        prop_assert_eq!(Message::parse(message.emit().as_bytes()), Ok(message));
    }

    #[test]
    fn any_call_and_answer_round_trip(
        service in "[a-z_]{1,10}", id: i64, api_id: i64, code: i64, text in ".{0,30}",
        priority: Option<i64>,
    ) {
        let parameter = text.clone();
        let request = Request { service: service.clone(), id, api_id, parameter, priority };
        let read = Message::parse(request.emit().as_bytes()).unwrap();
        prop_assert_eq!(Request::parse(&read), Ok(request));
        let response = Response { service, id, api_id, code, data: text.into() };
        let read = Message::parse(response.emit().as_bytes()).unwrap();
        prop_assert_eq!(read.key(), Key::Id(id));
        prop_assert_eq!(Response::parse(&read), Ok(response));
    }
}
