use proptest::{option, prelude::*};
use serde_json::{Map, Value, json};
use sinew_api::{Command, Dialect, FRAMES, Halt, Request, Topic, may_be_urgent};
use sinew_robot::{
    mapping::{self, Pose},
    teach::{self, LibraryRequest, Playback, RobotRequest, Target},
    trajectory::{Document, Interpolation, Recording},
};

/// Any JSON that is not deep.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            members(inner).prop_map(Value::from),
        ]
    })
}

fn members(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    let entry = (word(), value);
    prop::collection::vec(entry, 0..6).prop_map(|entries| entries.into_iter().collect())
}

/// Words that mean something somewhere.
fn word() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "type",
        "robot",
        "req",
        "confirm",
        "id",
        "action",
        "config",
        "op",
        "name",
        "topics",
        "max_hz",
        "command",
        "payload",
        "token",
        "loop",
        "library",
        "document",
        "frames",
        "from",
        "new_name",
        "ComponentControl",
        "Teach",
        "Raw",
        "Subscribe",
        "Auth",
        "Stop",
        "Mapping",
        "Robots",
        "drive",
        "Reset",
        "Disable",
        "Configure",
        "play",
        "save",
        "import",
        "stop",
        "state",
        "cloud",
        "topic",
        "Ack",
        "seq",
        "go_to",
        "relocate",
        "download",
        "map",
        "pose",
    ])
    .prop_map(str::to_owned)
}

fn name() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9ü ._-]{1,12}"
        .prop_filter("a name is not only white space", |name| name.trim() == name)
}

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![(1..=u32::MAX).prop_map(Target::Id), name().prop_map(Target::Name)]
}

fn document() -> impl Strategy<Value = Document> {
    let frames = prop::collection::vec(prop::array::uniform12(-1.0f32..1.0), 0..5);
    (name(), any::<u32>(), frames).prop_map(|(name, created, frames)| {
        let mut recording = Recording::new();
        for (time, frame) in (0..).step_by(20).zip(frames) {
            recording.push(time, frame).unwrap();
        }
        Document { name, created: created.into(), recording, keyframes: Vec::new() }
    })
}

fn teaching() -> impl Strategy<Value = teach::Request> {
    prop_oneof![
        of_robot().prop_map(teach::Request::Robot),
        of_library().prop_map(teach::Request::Library),
        (name(), playback()).prop_map(|(name, how)| teach::Request::Perform { name, how }),
    ]
}

fn playback() -> impl Strategy<Value = Playback> {
    let interpolation = prop::sample::select(vec![
        Interpolation::Linear,
        Interpolation::Cubic,
        Interpolation::Smooth,
    ]);
    (any::<u32>(), any::<u32>(), interpolation, any::<bool>(), option::of(0.01f32..100.0)).prop_map(
        |(frames, duration_ms, interpolation, looped, speed)| Playback {
            frames,
            duration_ms,
            interpolation,
            looped,
            speed,
        },
    )
}

fn of_robot() -> impl Strategy<Value = RobotRequest> {
    prop_oneof![
        prop::sample::select(vec![
            RobotRequest::List,
            RobotRequest::Enter,
            RobotRequest::Exit,
            RobotRequest::RecordStop,
            RobotRequest::Stop,
        ]),
        option::of(name()).prop_map(|name| RobotRequest::RecordStart { name }),
        (option::of(name()), any::<bool>())
            .prop_map(|(name, looped)| RobotRequest::Save { name, looped }),
        (target(), playback()).prop_map(|(action, how)| RobotRequest::Play {
            action,
            how,
            keyframes: None
        }),
        (name(), name()).prop_map(|(name, new_name)| RobotRequest::Rename { name, new_name }),
        target().prop_map(|action| RobotRequest::Delete { action }),
    ]
}

fn of_library() -> impl Strategy<Value = LibraryRequest> {
    prop_oneof![
        Just(LibraryRequest::List),
        (name(), any::<u32>()).prop_map(|(name, from)| LibraryRequest::Show { name, from }),
        (document(), any::<bool>(), any::<bool>()).prop_map(|(document, append, more)| {
            let dropped = Vec::new();
            LibraryRequest::Import { document: Box::new(document), dropped, append, more }
        }),
        option::of(name()).prop_map(|name| LibraryRequest::Keep { name }),
        (name(), name()).prop_map(|(name, new_name)| LibraryRequest::Rename { name, new_name }),
        name().prop_map(|name| LibraryRequest::Delete { name }),
    ]
}

fn mapping() -> impl Strategy<Value = mapping::Request> {
    use mapping::Request;
    let map = || "[a-zA-Z0-9ü_-][a-zA-Z0-9ü ._-]{0,10}[a-zA-Z0-9ü._-]";
    // Eighths are the same in text.
    let number = || any::<i32>().prop_map(|eighths| f64::from(eighths) / 8.0);
    let pose = move || {
        (number(), number(), number(), number()).prop_map(|(x, y, z, yaw)| Pose { x, y, z, yaw })
    };
    prop_oneof![
        prop::sample::select(vec![
            Request::Start,
            Request::Clear,
            Request::Info,
            Request::Pause,
            Request::Resume,
            Request::Close,
        ]),
        prop::sample::select(mapping::Format::ALL.to_vec())
            .prop_map(|format| Request::Save { format }),
        option::of(map()).prop_map(|name| Request::Stop { name }),
        (map(), pose()).prop_map(|(map, pose)| Request::Relocate { map, pose }),
        pose().prop_map(|pose| Request::GoTo { pose }),
        map().prop_map(|name| Request::Download { name }),
    ]
}

fn frames() -> impl Strategy<Value = Topic> {
    prop::sample::select(FRAMES.to_vec()).prop_map(Topic::Frames)
}

fn command() -> impl Strategy<Value = Command> {
    let topic = prop_oneof![
        Just(Topic::State),
        Just(Topic::Events),
        frames(),
        ".{0,8}".prop_map(Topic::Sensors),
    ];
    let topics = prop::collection::vec(topic, 0..8).prop_map(|mut topics| {
        topics.sort_by_key(Topic::to_string);
        topics.dedup();
        topics
    });
    prop_oneof![
        prop::sample::select(vec![
            Command::Sync,
            Command::Dock,
            Command::Boot,
            Command::Robots,
            Command::Ping,
            Command::Halt(Halt::Stop { note: None }),
            Command::Halt(Halt::Reset),
            Command::Halt(Halt::Disable),
        ]),
        (name(), members(json_value())).prop_map(|(id, action)| Command::ComponentControl {
            id: id.into(),
            action: action.into()
        }),
        (any::<u8>(), prop::collection::vec(any::<u8>(), 0..=252))
            .prop_map(|(command, payload)| Command::Raw { command, payload }),
        teaching().prop_map(Command::Teach),
        mapping().prop_map(Command::Mapping),
        (frames(), any::<u64>()).prop_map(|(topic, seq)| Command::Ack { topic, seq }),
        (topics, option::of((1u32..1 << 20).prop_map(|eighths| f64::from(eighths) / 8.0)))
            .prop_map(|(topics, max_hz)| Command::Subscribe { topics, max_hz }),
        option::of(name()).prop_map(|name| Command::TakeControl { name }),
        (".{0,20}", option::of(name()))
            .prop_map(|(token, name)| Command::Auth { token: Some(token), name }),
        name().prop_map(|name| Command::Auth { token: None, name: Some(name) }),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        command in command(),
        robot in option::of(".{0,8}"),
        req in json_value(),
    ) {
        let mut message = command.to_value();
        message["req"] = req.clone();
        message["confirm"] = true.into();
        if let Some(robot) = &robot {
            message["robot"] = robot.as_str().into();
        }
        let text = message.to_string();
        let request = Request::parse(text.as_bytes());
        prop_assert_eq!(request.req, Some(req));
        let read = request.asked.unwrap();
        let is_urgent = read.rules().urgent;
        prop_assert_eq!((&read.command, &read.robot, read.confirmed), (&command, &robot, true));
        prop_assert!(!is_urgent || text.len() > sinew_api::MAX_URGENT || may_be_urgent(text.as_bytes(), Dialect::Own));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        may_be_urgent(&bytes, Dialect::Own);
        Request::parse(&bytes);
        Request::parse_legacy(&bytes);
    }

    #[test]
    fn no_json_makes_it_panic_and_what_is_read_is_written_so(
        mut message in members(json_value()),
        kind in word(),
    ) {
        message.insert("type".into(), kind.into());
        let text = Value::from(message.clone()).to_string();
        Request::parse_legacy(text.as_bytes());
        if let Ok(read) = Request::parse(text.as_bytes()).asked {
            let mut again = read.command.to_value();
            again["confirm"] = json!(read.confirmed);
            let mut command = Request::from_value(again).asked.unwrap().command;
            // What is to be said about a message is not part of it.
            if let (Command::Halt(halt), Command::Halt(Halt::Stop { note })) = (&mut command, &read.command) {
                *halt = Halt::Stop { note: note.clone() };
            }
            prop_assert_eq!(command, read.command);
        }
    }
}
