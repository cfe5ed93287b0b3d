use serde_json::{Value, json};
use sinew_api::{COMMANDS, Command, DaemonMessage, schema};
use sinew_robot::{
    Code, Refusal,
    teach::{LibraryRequest, Playback, Request, RobotRequest, Target},
};

/// What is wrong with a value by a schema, of whose keywords those are known that stand in ours.
fn wrong(root: &Value, schema: &Value, value: &Value) -> Option<String> {
    if let Some(always) = schema.as_bool() {
        return (!always).then(|| format!("{value} is not allowed"));
    }
    let fits = |schema: &&Value| wrong(root, schema, value).is_none();
    for (keyword, wanted) in schema.as_object().unwrap() {
        let fine = match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "format" | "default" => true,
            "$ref" => {
                let pointer = wanted.as_str().unwrap().strip_prefix('#').unwrap();
                let target = root.pointer(pointer).unwrap_or_else(|| panic!("no {wanted}"));
                if let Some(wrong) = wrong(root, target, value) {
                    return Some(wrong);
                }
                true
            }
            "const" => value == wanted,
            "enum" => wanted.as_array().unwrap().contains(value),
            "type" => match wanted {
                Value::Array(all) => all.iter().any(|one| is_type(value, one)),
                one => is_type(value, one),
            },
            "anyOf" => wanted.as_array().unwrap().iter().any(|one| fits(&one)),
            "oneOf" => wanted.as_array().unwrap().iter().filter(fits).count() == 1,
            "required" => {
                let names = wanted.as_array().unwrap().iter();
                names.filter_map(Value::as_str).all(|name| value.get(name).is_some())
            }
            "properties" => {
                let all = wanted.as_object().unwrap().iter();
                let mut given = all.filter_map(|(name, one)| Some((one, value.get(name)?)));
                if let Some(wrong) = given.find_map(|(one, value)| wrong(root, one, value)) {
                    return Some(wrong);
                }
                true
            }
            "additionalProperties" | "unevaluatedProperties" => {
                let known = |name: &String| schema["properties"].get(name).is_some();
                let mut others = value.as_object().unwrap().iter().filter(|(name, _)| !known(name));
                others.all(|(_, value)| wrong(root, wanted, value).is_none())
            }
            "items" => value
                .as_array()
                .is_none_or(|items| items.iter().all(|item| wrong(root, wanted, item).is_none())),
            "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= wanted.as_f64().unwrap()),
            "exclusiveMinimum" => {
                value.as_f64().is_none_or(|number| number > wanted.as_f64().unwrap())
            }
            "minLength" | "maxLength" => {
                let length = value.as_str().map(|text| text.chars().count() as u64);
                let limit = wanted.as_u64().unwrap();
                length.is_none_or(|length| match keyword.as_str() {
                    "minLength" => length >= limit,
                    _ => length <= limit,
                })
            }
            other => panic!("a keyword that this test does not know: {other}"),
        };
        if !fine {
            return Some(format!("{keyword} {wanted}: {value}"));
        }
    }
    None
}

fn is_type(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("no such type: {other}"),
    }
}

fn check(name: &str, value: &Value) -> Option<String> {
    let root = schema::document();
    let named = json!({ "$ref": format!("#/$defs/{name}") });
    // As one of all messages, and as what it is.
    wrong(&root, &root, value).or_else(|| wrong(&root, &named, value))
}

#[test]
fn what_clients_send_is_by_the_schema() {
    for row in COMMANDS {
        let example: Value = serde_json::from_str(row.example).unwrap();
        assert_eq!(check(&format!("{}Command", row.name), &example), None, "{example}");
    }
    let how = Playback { frames: 5, looped: true, speed: Some(0.5), ..Playback::default() };
    let play = RobotRequest::Play { action: Target::Id(3), how, keyframes: None };
    let rename = LibraryRequest::Rename { name: "a".into(), new_name: "b".into() };
    for request in [
        Request::Robot(RobotRequest::List),
        Request::Robot(RobotRequest::Stop),
        Request::Robot(RobotRequest::Save { name: None, looped: true }),
        Request::Robot(play),
        Request::Library(rename),
    ] {
        let value = Command::Teach(request).to_value();
        assert_eq!(check("TeachCommand", &value), None, "{value}");
    }
}

#[test]
fn what_the_daemon_says_is_by_the_schema() {
    let robots = json!({
        "robots": [{
            "name": "g1", "kind": "g1", "fresh": false, "capabilities": ["teach", "sensors"],
            "link": { "state": "lost", "reason": "it went" }, "sensors": ["joints"],
            "links": { "webrtc": { "state": "ready", "step": 1 } },
            "holder": null, "stopped_by": "ann", "last_seen_ms": null, "state": { "x": [1] },
        }],
        "warnings": [],
    });
    assert_eq!(wrong(&schema::document(), &schema::document()["$defs"]["Robots"], &robots), None);
    let refusal = Refusal::new(Code::LinkLost, "no");
    let messages = [
        DaemonMessage::reply(Some(&json!(1)), &Ok(robots)),
        DaemonMessage::reply(None, &Err(refusal.clone())),
        DaemonMessage::error(refusal),
    ];
    let event =
        json!({ "type": "Event", "topic": "events", "robot": "g1", "data": { "event": "link" } });
    let texts = messages.iter().map(|message| serde_json::from_str(&message.to_text()).unwrap());
    for message in texts.chain([event, json!({ "type": "Lost", "count": 3 })]) {
        assert_eq!(check("DaemonMessage", &message), None, "{message}");
    }
    let ready = json!({ "type": "ready", "tcp": null, "lines": "a", "http": null, "sangam": null, "robots": [] });
    assert_eq!(check("DaemonMessage", &ready), None);
}

#[test]
fn what_is_wrong_is_not_by_the_schema() {
    let wrong = [
        json!({ "type": "Robots", "speed": 1 }),
        json!({ "type": "Nonsense" }),
        json!({ "type": "Raw", "command": 1 }),
        json!({ "type": "Raw", "command": 256, "confirm": true }),
        json!({ "type": "Subscribe", "topics": "state" }),
        json!({ "type": "Subscribe", "topics": [], "max_hz": 0 }),
        json!({ "type": "ComponentControl", "id": "led", "action": { "type": "enable" } }),
        json!({ "type": "Teach", "op": "list", "name": "a" }),
        json!({ "type": "Teach", "op": "play", "name": "a", "id": 1 }),
        json!({ "type": "Teach", "op": "play" }),
        json!({ "type": "Teach" }),
        json!({ "type": "Lost" }),
        json!({ "type": "Error", "error": { "code": "nonsense", "message": "" } }),
    ];
    for message in wrong {
        assert!(check("Command", &message).is_some(), "{message}");
    }
}
