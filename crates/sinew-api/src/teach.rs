//! `Teach` in messages. Its ops, their members and their parser are sinew-robot's.

use serde_json::{Value, json};
use sinew_robot::{
    Refusal, teach,
    teach::{Target, Verb},
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

/// The message. What no message can say (`Perform`, keyframes) is left out.
pub(crate) fn to_value(verb: &Verb) -> Value {
    let message = json!({ "type": "Teach", "op": verb.op() });
    let flag = |name, flag: bool| (name, flag.then_some(Value::from(true)));
    let number = |name, number: u32| (name, Some(number).filter(|&n| n > 0).map(Value::from));
    let text = |name, text: &str| (name, Some(Value::from(text)));
    let maybe = |name, text: &Option<String>| (name, text.as_deref().map(Value::from));
    match verb {
        Verb::List
        | Verb::Enter
        | Verb::Exit
        | Verb::RecordStop
        | Verb::Stop
        | Verb::Library
        | Verb::Perform { .. } => message,
        Verb::RecordStart { name } => given(message, &[maybe("name", name)]),
        Verb::Save { name, looped, library } => {
            given(message, &[maybe("name", name), flag("loop", *looped), flag("library", *library)])
        }
        Verb::Play {
            action,
            frames,
            duration_ms,
            interpolation,
            looped,
            speed,
            library,
            keyframes: _,
        } => {
            let is_usual = *interpolation == Interpolation::default();
            let members = [
                target(action),
                number("frames", *frames),
                number("duration_ms", *duration_ms),
                ("interpolation", (!is_usual).then(|| interpolation.name().into())),
                flag("loop", *looped),
                ("speed", speed.map(Value::from)),
                flag("library", *library),
            ];
            given(message, &members)
        }
        Verb::Rename { name, new_name, library } => given(
            message,
            &[text("name", name), text("new_name", new_name), flag("library", *library)],
        ),
        Verb::Delete { action, library } => {
            given(message, &[target(action), flag("library", *library)])
        }
        Verb::Show { name, from } => given(message, &[text("name", name), number("from", *from)]),
        Verb::Import { document, dropped: _, append, more } => {
            // What is written is read.
            let document = serde_json::from_str(&document.to_json(&G1_ARMS)).unwrap_or_default();
            let members =
                [("document", Some(document)), flag("append", *append), flag("more", *more)];
            given(message, &members)
        }
    }
}

fn target(target: &Target) -> (&'static str, Option<Value>) {
    match target {
        Target::Id(id) => ("id", Some((*id).into())),
        Target::Name(name) => ("name", Some(name.as_str().into())),
    }
}
