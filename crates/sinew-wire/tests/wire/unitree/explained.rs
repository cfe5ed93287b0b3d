//! What `explain` says of it all.

use std::ops::ControlFlow;

use serde_json::Value;
use sinew_wire::explain::{Element, Options, Proto, explain, recognise};

use super::{named, texts};
use crate::support::{bytes, text, truncations, vectors};

fn explained(input: &[u8], proto: Option<Proto>) -> Vec<Element> {
    let mut elements = Vec::new();
    let options = Options { proto, points: true, ..Options::default() };
    let _ = explain(input, &options, &mut |element| {
        elements.push(element);
        ControlFlow::Continue(())
    });
    elements
}

fn only(input: &[u8]) -> Element {
    let mut elements = explained(input, None);
    assert_eq!(elements.len(), 1);
    elements.remove(0)
}

fn fields(element: &Element) -> Value {
    element.to_json().remove("fields").unwrap_or_default()
}

fn row<'e>(element: &'e Element, name: &str) -> &'e str {
    &element.rows.iter().find(|row| row.name == name).expect(name).text
}

#[test]
fn every_text_is_recognised_and_valid() {
    for vector in vectors("unitree.json") {
        let Some(input) = vector["text"].as_str() else { continue };
        assert_eq!(recognise(input.as_bytes()), Proto::Unitree, "{}", text(&vector, "name"));
        let element = only(input.as_bytes());
        assert!(element.valid && element.problems.is_empty(), "{element:?}");
        assert_eq!(element.length, input.len());
    }
}

#[test]
fn other_json_is_not_taken_for_it() {
    let others = [
        r#"{"type":"Feature","geometry":{}}"#,
        r#"{"name":"unitree_dapengche","sn":"x"}"#,
        r#"{"topic":"rt/x"}"#,
        "[1]",
        "{}",
        "eyJh",
    ];
    for other in others {
        assert_eq!(recognise(other.as_bytes()), Proto::Unknown, "{other}");
    }
    let known = r#"{"data":{"header":{}},"topic":"rt/x","type":"msg"}"#;
    assert_eq!(recognise(known.as_bytes()), Proto::Unitree, "in whatever order");
}

#[test]
fn calls_and_answers_are_named() {
    let call = only(text(&named("arm record start"), "text").as_bytes());
    assert_eq!(call.title, "Unitree call of arm: record");
    assert_eq!(row(&call, "request"), r#"record "2026-02-01_05:50:36""#);
    assert_eq!(fields(&call)["parameter"]["action_name"], "2026-02-01_05:50:36");
    let refusal = only(text(&named("arm refusal"), "text").as_bytes());
    assert_eq!(refusal.title, "Unitree answer of arm: play a taught action");
    assert!(row(&refusal, "code").starts_with("7404: the robot's state"));
    let list = only(text(&named("arm list answer"), "text").as_bytes());
    assert!(row(&list, "taught").contains("Spin_discs 6.9 s"));
    let state = only(text(&named("arm state recording"), "text").as_bytes());
    assert_eq!(row(&state, "id"), "-1: recording");
    let faults = only(text(&named("faults"), "text").as_bytes());
    assert!(row(&faults, "faults").starts_with("rear left fan jammed; "));
    let low = only(text(&named("low state"), "text").as_bytes());
    assert_eq!(fields(&low)["positions"]["left_knee"], 0.03);
}

#[test]
fn a_call_that_cannot_be_read_has_a_problem_and_its_content() {
    let input = text(&named("arm play"), "text").replace("action_name", "name");
    let element = only(input.as_bytes());
    assert_eq!(element.problems[0].field, "action_name");
    assert!(!row(&element, "parameter").is_empty());
}

#[test]
fn binary_messages_go_to_their_decoders() {
    let map = only(&bytes(&named("voxel map, short header"), "message"));
    assert_eq!((map.proto, map.valid), (Proto::Voxel, true));
    assert_eq!(map.coordinates.map(|points| points.len()), Some(5));
    let wire = bytes(&named("SLAM cloud"), "message");
    for proto in [None, Some(Proto::Unitree)] {
        let cloud = explained(&wire, proto).remove(0);
        assert_eq!((cloud.proto, cloud.coordinates.unwrap().len()), (Proto::Slam, 3));
    }
    let photo = only(&bytes(&named("piece of a photo"), "message"));
    assert_eq!((photo.proto, row(&photo, "chunk")), (Proto::Unitree, "2 of 3"));
}

#[test]
fn several_texts_come_one_by_one() {
    let all = texts();
    let messages: Vec<_> = all.iter().filter(|text| text.starts_with('{')).collect();
    let input = messages.iter().map(|text| format!("{text}\n")).collect::<String>();
    let elements = explained(input.as_bytes(), None);
    assert_eq!(elements.len(), messages.len());
    assert!(elements.iter().all(|element| element.valid));
    let cut = &input.as_bytes()[..input.len() - 3];
    let elements = explained(cut, None);
    assert!(
        elements
            .split_last()
            .is_some_and(|(last, rest)| !last.valid && rest.len() == messages.len() - 1)
    );
}

#[test]
fn no_byte_is_left_out_of_what_is_cut_off() {
    for vector in vectors("unitree.json") {
        let input = match vector["text"].as_str() {
            Some(text) => text.as_bytes().to_vec(),
            None if vector["message"].is_string() => bytes(&vector, "message"),
            None => continue,
        };
        for cut in truncations(&input).step_by(7) {
            let elements = explained(cut, Some(Proto::Unitree));
            assert_eq!(elements.iter().map(|element| element.length).sum::<usize>(), cut.len());
        }
    }
}

#[test]
fn no_secret_is_explained() {
    let secrets = [
        r#"{"data":"s3cret","type":"validation"}"#,
        r#"{"type":"offer","sdp":"s3cret","token":"s3cret","id":""}"#,
        r#"{"type":"answer","sdp":"s3cret"}"#,
        r#"{"data1":"s3cretAA","data2":"s3cretAA"}"#,
        r#"{"type":"msg","topic":"rt/x","data":"{\"sn\":\"s3cret\"}"}"#,
        r#"{"type":"msg","topic":"rt/arm/action/state","data":{"key":"s3cret"}}"#,
        r#"{"type":"req","topic":"rt/api/a/request","data":{"header":{"identity":{"id":1,"api_id":2}},"parameter":"{\"token\":\"s3cret\"}"}}"#,
        r#"{"type":"offer","sdp":"s3cret"#,
    ];
    for input in secrets {
        for element in explained(input.as_bytes(), Some(Proto::Unitree)) {
            let said = format!("{element:?} {:?}", element.to_json());
            assert!(!said.contains("s3cret"), "{said}");
            assert!(element.rows.iter().all(|row| row.length == 0), "a row would show its bytes");
        }
    }
}

#[test]
fn what_a_terminal_would_act_on_is_not_shown() {
    let input =
        "{\"type\":\"x\\u001b[2J\",\"topic\":\"rt/\u{202E}x\",\"data\":\"\\u0007\u{202E}\"}";
    let element = only(input.as_bytes());
    let texts = element.rows.iter().map(|row| row.text.as_str()).chain([element.title.as_str()]);
    assert!(texts.into_iter().all(|text| !text.contains(sinew_wire::text::is_unshowable)));
}
