use proptest::prelude::*;
use serde_json::{Value, json};
use sinew_robot::{
    Code, Refusal,
    teach::{LibraryRequest, OPS, Playback, Request, RobotRequest, Target, parse},
    trajectory::{Document, Interpolation, Keyframe},
};

fn parsed(value: Value) -> Result<Request, Refusal> {
    parse(value.as_object().unwrap())
}

#[test]
fn every_verb_is_parsed() {
    let how = Playback {
        frames: 20,
        duration_ms: 5000,
        interpolation: Interpolation::Cubic,
        looped: true,
        speed: Some(1.5),
    };
    let by_name = crate::bench::play(Target::Name("wave".into()));
    let robot = [
        (json!({"op": "list"}), RobotRequest::List),
        (json!({"op": "enter"}), RobotRequest::Enter),
        (json!({"op": "exit"}), RobotRequest::Exit),
        (json!({"op": "record_start"}), RobotRequest::RecordStart { name: None }),
        (
            json!({"op": "record_start", "name": "a"}),
            RobotRequest::RecordStart { name: Some("a".into()) },
        ),
        (json!({"op": "record_stop"}), RobotRequest::RecordStop),
        (json!({"op": "save", "name": "a"}), crate::bench::save("a")),
        (
            json!({"op": "save", "name": "a", "loop": true}),
            RobotRequest::Save { name: Some("a".into()), looped: true },
        ),
        (
            json!({"op": "play", "id": 3, "frames": 20, "duration_ms": 5000,
                   "interpolation": "cubic", "loop": true, "speed": 1.5}),
            RobotRequest::Play { action: Target::Id(3), how, keyframes: None },
        ),
        (json!({"op": "play", "name": "wave", "id": null}), by_name),
        (json!({"op": "stop"}), RobotRequest::Stop),
        (
            json!({"op": "rename", "name": "a", "new_name": "b", "library": false}),
            RobotRequest::Rename { name: "a".into(), new_name: "b".into() },
        ),
        (json!({"op": "delete", "id": 1}), RobotRequest::Delete { action: Target::Id(1) }),
    ];
    let library = [
        (
            json!({"op": "save", "name": "a", "library": true}),
            LibraryRequest::Keep { name: Some("a".into()) },
        ),
        (
            json!({"op": "rename", "name": "a", "new_name": "b", "library": true}),
            LibraryRequest::Rename { name: "a".into(), new_name: "b".into() },
        ),
        (
            json!({"type": "Teach", "robot": "g1", "req": 5, "confirm": true, "op": "delete",
                   "name": "a", "library": true}),
            LibraryRequest::Delete { name: "a".into() },
        ),
        (json!({"op": "library"}), LibraryRequest::List),
        (json!({"op": "show", "name": "a"}), LibraryRequest::Show { name: "a".into(), from: 0 }),
        (
            json!({"op": "import", "more": true, "document": {
                "version": 1, "name": "a", "created": 7, "joints": ["left_elbow", "tail"],
                "keyframes": [{"joint": "left_elbow", "time_ms": 5, "value": 0.5}]}}),
            LibraryRequest::Import {
                document: Box::new(Document {
                    name: "a".into(),
                    created: 7,
                    keyframes: vec![Keyframe { joint: 3, time_ms: 5, value: 0.5 }],
                    ..Document::default()
                }),
                dropped: vec!["tail".into()],
                append: false,
                more: true,
            },
        ),
    ];
    let perform = (
        json!({"op": "play", "name": "wave", "frames": 20, "duration_ms": 5000,
               "interpolation": "cubic", "loop": true, "speed": 1.5, "library": true}),
        Request::Perform { name: "wave".into(), how },
    );
    let robot = robot.map(|(value, request)| (value, Request::Robot(request)));
    let library = library.map(|(value, request)| (value, Request::Library(request)));
    for (value, request) in robot.into_iter().chain(library).chain([perform]) {
        assert!(OPS.iter().any(|row| row.op == request.op()));
        assert_eq!(parsed(value), Ok(request));
    }
}

#[test]
fn what_is_wrong_says_what_was_wanted_and_what_came() {
    let cases = [
        (
            json!({}),
            "op: wanted one of list, enter, exit, record_start, record_stop, save, play, stop, rename, delete, library, show, import, got nothing",
        ),
        (json!({"op": "dance"}), "got \"dance\""),
        (json!({"op": 5}), "got 5"),
        (json!({"op": "list", "name": "a"}), "list: wanted no members, got \"name\""),
        (json!({"op": "play"}), "play: wanted id or name, got neither"),
        (json!({"op": "play", "id": 1, "name": "a"}), "play: wanted id or name, got both"),
        (json!({"op": "play", "id": 0}), "play: id: wanted a whole number from 1"),
        (json!({"op": "play", "id": 1.5}), "got 1.5"),
        (json!({"op": "play", "id": -1}), "got -1"),
        (
            json!({"op": "play", "id": 1, "style": 2}),
            "play: wanted id or name, optionally frames, duration_ms, interpolation, loop, speed, library, got \"style\"",
        ),
        (
            json!({"op": "play", "id": 1, "interpolation": "quintic"}),
            "wanted linear, cubic or smooth, got \"quintic\"",
        ),
        (
            json!({"op": "play", "id": 1, "library": true}),
            "play: the library knows motions by name, not by id",
        ),
        (
            json!({"op": "delete", "id": 1, "library": true}),
            "delete: the library knows motions by name, not by id",
        ),
        (
            json!({"op": "save", "loop": true, "library": true}),
            "loop: a motion of the library repeats when play is told so",
        ),
        (json!({"op": "play", "id": 1, "speed": 0}), "speed: wanted a number over 0, got 0"),
        (json!({"op": "import"}), "import: wanted document, optionally append, more, got no"),
        (json!({"op": "import", "document": {}}), "import: document: wanted an action as JSON"),
        (
            json!({"op": "import", "document": {
                "version": 2, "name": "a", "created": 0, "joints": []}}),
            "version: wanted 1, got 2",
        ),
        (json!({"op": "play", "id": 1, "loop": 1}), "loop: wanted true or false, got 1"),
        (
            json!({"op": "play", "id": 1, "frames": 4_294_967_296_u64}),
            "frames: wanted a whole number from 0 to 4294967295",
        ),
        (
            json!({"op": "save", "name": ""}),
            "save: name: wanted a text that is not empty, got \"\"",
        ),
        (
            json!({"op": "rename", "name": "a"}),
            "rename: wanted name, new_name, optionally library, got no \"new_name\"",
        ),
    ];
    for (value, wanted) in cases {
        let refusal = parsed(value).unwrap_err();
        assert_eq!(refusal.code, Code::InvalidArgument);
        assert!(refusal.message.contains(wanted), "{refusal}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_members_make_the_parser_panic(
        op in "[a-z_]{0,12}|list|save|play|rename|delete|record_start",
        members in prop::collection::hash_map(
            "name|new_name|id|frames|duration_ms|interpolation|loop|[a-z]{1,5}",
            prop_oneof![
                Just(Value::Null), any::<bool>().prop_map(Value::from),
                any::<i64>().prop_map(Value::from), any::<f64>().prop_map(Value::from),
                "\\PC{0,100}".prop_map(Value::from), Just(json!([1])), Just(json!({"a": 1})),
            ], 0..6),
    ) {
        let mut value = json!({ "op": op });
        value.as_object_mut().unwrap().extend(members);
        let _any = parsed(value);
    }
}
