use serde_json::{Value, json};
use sinew_api::{Command, Request};
use sinew_robot::{
    Code, Refusal, Remedy,
    mapping::{self, OPS, Pose},
};

fn asked(mut message: Value) -> Result<mapping::Request, Refusal> {
    message["type"] = "Mapping".into();
    match Request::from_value(message).asked?.command {
        Command::Mapping(request) => Ok(request),
        other => panic!("{other:?}"),
    }
}

/// Why it is refused, and that it is the message's fault.
fn wrong(message: Value) -> String {
    let refusal = asked(message).unwrap_err();
    assert_eq!(refusal.code, Code::InvalidArgument);
    refusal.message
}

#[test]
fn what_is_not_given_is_zero_and_null_is_not_given() {
    let at = Pose { x: 1.5, y: -2.0, z: 0.0, yaw: 0.0 };
    assert_eq!(
        asked(json!({ "op": "relocate", "map": "flat", "pose": { "x": 1.5, "y": -2 } })),
        Ok(mapping::Request::Relocate { map: "flat".into(), pose: at })
    );
    let to = json!({ "op": "go_to", "confirm": true, "pose": { "x": 1.5, "y": -2, "yaw": 1 } });
    assert_eq!(asked(to), Ok(mapping::Request::GoTo { pose: Pose { yaw: 1.0, ..at } }));
    let stop = json!({ "op": "stop", "name": null });
    assert_eq!(asked(stop), Ok(mapping::Request::Stop { name: None }));
}

#[test]
fn an_op_that_is_not_there_is_told_which_are() {
    let known = "start, stop, clear, save, info, relocate, go_to, pause, resume, close, download";
    for (op, got) in [(json!("erase"), "\"erase\""), (json!("Save"), "\"Save\""), (json!(5), "5")] {
        assert_eq!(wrong(json!({ "op": op })), format!("op: wanted one of {known}, got {got}"));
    }
    assert_eq!(wrong(json!({})), format!("op: wanted one of {known}, got nothing"));
    assert_eq!(OPS.iter().map(|row| row.op).collect::<Vec<_>>().join(", "), known);
}

#[test]
fn members_are_those_of_the_op() {
    assert_eq!(
        wrong(json!({ "op": "start", "name": "a" })),
        "start: wanted no members, got \"name\""
    );
    assert_eq!(
        wrong(json!({ "op": "relocate", "map": "a" })),
        "relocate: wanted map, pose, got no \"pose\""
    );
    assert_eq!(wrong(json!({ "op": "download" })), "download: wanted name, got no \"name\"");
    assert_eq!(
        wrong(json!({ "op": "stop", "map": "a" })),
        "stop: wanted optionally name, got \"map\""
    );
}

#[test]
fn a_pose_is_numbers() {
    let wanted = "relocate: pose: wanted {x, y, and z and yaw if not 0}, all numbers";
    let huge: Value = serde_json::from_str("1e308").unwrap();
    assert!(asked(json!({ "op": "relocate", "map": "a", "pose": { "x": huge, "y": 0 } })).is_ok());
    for pose in [
        json!({ "x": 1 }),
        json!({ "x": 1, "y": "2" }),
        json!({ "x": 1, "y": null }),
        json!({ "x": 1, "y": 2, "roll": 3 }),
        json!([1, 2]),
        json!("here"),
    ] {
        let message = wrong(json!({ "op": "relocate", "map": "a", "pose": pose }));
        assert!(message.starts_with(wanted), "{message}");
    }
    // What no number of ours can hold is no JSON here.
    let text = br#"{"type":"Mapping","op":"go_to","confirm":true,"pose":{"x":1e999,"y":0}}"#;
    assert_eq!(Request::parse(text).asked.unwrap_err().code, Code::InvalidJson);
}

#[test]
fn no_name_leads_out_of_its_directory() {
    let long = "a".repeat(mapping::MAX_NAME);
    for name in ["flat", "2026-11-17 10.00", "Küche", "a..b", &long] {
        let download = asked(json!({ "op": "download", "name": name }));
        assert_eq!(download, Ok(mapping::Request::Download { name: name.into() }));
    }
    let longer = format!("{long}a");
    for name in [
        "",
        "..",
        ".hidden",
        "a/b",
        "/etc",
        "a\\b",
        "a\nb",
        "a\0",
        " a",
        "a ",
        "\u{202e}a",
        &longer,
    ] {
        for message in [
            json!({ "op": "download", "name": name }),
            json!({ "op": "stop", "name": name }),
            json!({ "op": "relocate", "map": name, "pose": { "x": 0, "y": 0 } }),
        ] {
            let message = wrong(message);
            assert!(message.contains("wanted a name of 1 to 64 bytes"), "{message}");
        }
    }
    assert!(wrong(json!({ "op": "stop", "name": 5 })).ends_with("got 5"));
}

#[test]
fn walking_has_to_be_confirmed_and_says_what_else_is_wrong_first() {
    for confirm in [json!(false), json!(null)] {
        let to = json!({ "op": "go_to", "pose": { "x": 1, "y": 2 }, "confirm": confirm });
        let refusal = asked(to).unwrap_err();
        assert_eq!((refusal.code, refusal.remedy), (Code::NotConfirmed, Some(Remedy::Confirm)));
    }
    assert!(wrong(json!({ "op": "go_to", "pose": 1 })).contains("all numbers"));
    // Only what begins to walk does.
    assert_eq!(asked(json!({ "op": "resume" })), Ok(mapping::Request::Resume));
}

#[test]
fn what_walks_ends_with_its_client() {
    for row in OPS {
        let message = json!({
            "relocate": { "op": "relocate", "map": "a", "pose": { "x": 0, "y": 0 } },
            "go_to": { "op": "go_to", "pose": { "x": 0, "y": 0 }, "confirm": true },
            "save": { "op": "save", "format": "ply" },
            "download": { "op": "download", "name": "a" },
        });
        let message = message.get(row.op).cloned().unwrap_or_else(|| json!({ "op": row.op }));
        let request = asked(message).unwrap();
        assert_eq!(request.op(), row.op);
        let nature = request.nature();
        let walks = matches!(row.op, "go_to" | "resume");
        let asked = (nature.needs_client, nature.lasts, nature.needs_connection);
        assert_eq!(asked, (walks, walks, walks), "{}", row.op);
    }
}
