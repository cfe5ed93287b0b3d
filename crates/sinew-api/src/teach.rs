//! `Teach` in messages. Its ops, their members and their parser are sinew-robot's.

use serde_json::{Value, json};
use sinew_robot::{
    Refusal, teach,
    teach::{LibraryRequest, Playback, Request, RobotRequest, Target},
    trajectory::{G1_ARMS, Interpolation},
};

use crate::{
    Command,
    command::given,
    member::{Given, Member, Type, optional, required},
};

/// The types of all ops' members; which op takes which, its row says.
pub(crate) const MEMBERS: &[Member] = &[
    required("op", Type::Text, "what to do"),
    optional("name", Type::Text, "an action's name"),
    optional("id", Type::Whole(1), "an action's number"),
    optional("new_name", Type::Text, "its new name"),
    optional("frames", Type::Whole(0), "how many of its frames; 0 is all"),
    optional("duration_ms", Type::Whole(0), "how long it takes; 0 is as recorded"),
    optional(
        "interpolation",
        Type::Word(&["linear", "cubic", "smooth"]),
        "how values between keyframes are found",
    ),
    optional("loop", Type::Flag, "whether it repeats"),
    optional("speed", Type::Rate, "how much faster than recorded"),
    optional("library", Type::Flag, "the library and nothing else"),
    optional("from", Type::Whole(0), "the first frame to give"),
    optional("document", Type::Document, "a motion"),
    optional("append", Type::Flag, "whether it goes on with a motion of which not all has come"),
    optional("more", Type::Flag, "whether more of it will come"),
];

pub(crate) fn make(given: &Given<'_>) -> Result<Command, Refusal> {
    Ok(Command::Teach(teach::parse(given.0)?))
}

/// The message. What no message can say (a plan, keyframes) is left out.
pub(crate) fn to_value(request: &Request) -> Value {
    let message = json!({ "type": "Teach", "op": request.op() });
    match request {
        Request::Robot(request) => of_robot(message, request),
        Request::Library(request) => of_library(message, request),
        Request::Perform { name, how } => {
            given(played(message, &Target::Name(name.clone()), how), &[LIBRARY])
        }
    }
}

const LIBRARY: (&str, Option<Value>) = ("library", Some(Value::Bool(true)));

fn of_robot(message: Value, request: &RobotRequest) -> Value {
    match request {
        RobotRequest::List
        | RobotRequest::Enter
        | RobotRequest::Exit
        | RobotRequest::RecordStop
        | RobotRequest::Stop
        | RobotRequest::Perform { .. } => message,
        RobotRequest::RecordStart { name } => given(message, &[maybe("name", name)]),
        RobotRequest::Save { name, looped } => {
            given(message, &[maybe("name", name), flag("loop", *looped)])
        }
        RobotRequest::Play { action, how, keyframes: _ } => played(message, action, how),
        RobotRequest::Rename { name, new_name } => {
            given(message, &[text("name", name), text("new_name", new_name)])
        }
        RobotRequest::Delete { action } => given(message, &[target(action)]),
    }
}

fn of_library(message: Value, request: &LibraryRequest) -> Value {
    match request {
        LibraryRequest::List => message,
        LibraryRequest::Show { name, from } => {
            given(message, &[text("name", name), number("from", *from)])
        }
        LibraryRequest::Import { document, dropped: _, append, more } => {
            // What is written is read.
            let document = serde_json::from_str(&document.to_json(&G1_ARMS)).unwrap_or_default();
            let members =
                [("document", Some(document)), flag("append", *append), flag("more", *more)];
            given(message, &members)
        }
        LibraryRequest::Keep { name } => given(message, &[maybe("name", name), LIBRARY]),
        LibraryRequest::Rename { name, new_name } => {
            given(message, &[text("name", name), text("new_name", new_name), LIBRARY])
        }
        LibraryRequest::Delete { name } => given(message, &[text("name", name), LIBRARY]),
    }
}

fn played(message: Value, action: &Target, how: &Playback) -> Value {
    let is_usual = how.interpolation == Interpolation::default();
    let members = [
        target(action),
        number("frames", how.frames),
        number("duration_ms", how.duration_ms),
        ("interpolation", (!is_usual).then(|| how.interpolation.name().into())),
        flag("loop", how.looped),
        ("speed", how.speed.map(Value::from)),
    ];
    given(message, &members)
}

type Named = (&'static str, Option<Value>);

fn flag(name: &'static str, flag: bool) -> Named {
    (name, flag.then_some(Value::from(true)))
}

fn number(name: &'static str, number: u32) -> Named {
    (name, Some(number).filter(|&number| number > 0).map(Value::from))
}

fn text(name: &'static str, text: &str) -> Named {
    (name, Some(Value::from(text)))
}

fn maybe(name: &'static str, text: &Option<String>) -> Named {
    (name, text.as_deref().map(Value::from))
}

fn target(target: &Target) -> (&'static str, Option<Value>) {
    match target {
        Target::Id(id) => ("id", Some((*id).into())),
        Target::Name(name) => ("name", Some(name.as_str().into())),
    }
}
