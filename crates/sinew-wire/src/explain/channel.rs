//! What travels over a Unitree robot's data channel, and the envelopes before it.

mod content;

use alloc::{format, string::String};
use core::ops::ControlFlow;

use serde_json::Value;

use super::{Element, Options, Proto, Rows, envelope};
use crate::{
    Error, Got, Result, Wanted,
    slam::TYPE_WORD,
    text::is_unshowable,
    unitree::{
        Binary, Chunk, Kind, MAX_JSON, Message, Variant,
        signal::{Answer, ConIng, Notify, Offer},
    },
};

// Texts have no row with their bytes: the first few of them can be a secret's.

/// How the base64 of `{"data1…` begins.
const NOTIFY: &[u8] = b"eyJkYXRhMS";
/// Characters of a value that are shown to people.
const SHOWN: usize = 200;

/// A text: a message, or an envelope.
enum Text {
    Message(Message),
    Offer(Offer),
    Answer(Answer),
    ConIng(ConIng),
}

/// Whether it is clear that `bytes` are a Unitree robot's.
pub(super) fn looks_like(bytes: &[u8]) -> bool {
    match front_value(bytes) {
        Some((value, _)) => is_text(&value),
        None if Binary::looks_short(bytes) => {
            let json = Binary::new_checked(bytes).map(|binary| binary.json).unwrap_or_default();
            front_value(json).is_some_and(|(value, _)| is_text(&value))
        }
        None => bytes.starts_with(NOTIFY) && Notify::parse(bytes).is_ok(),
    }
}

fn is_text(value: &Value) -> bool {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let is_message = text("type").is_some_and(|kind| {
        let known = !matches!(Kind::from(kind), Kind::Other(_));
        known || text("topic").is_some() || text("sdp").is_some()
    });
    is_message || text("data1").is_some() && text("data2").is_some()
}

/// The JSON object at the front, and how long it is with the space around it. A longer one than a
/// message can be is none.
fn front_value(bytes: &[u8]) -> Option<(Value, usize)> {
    let front = bytes.get(..MAX_JSON).unwrap_or(bytes);
    if front.trim_ascii_start().first() != Some(&b'{') {
        return None;
    }
    let mut values = serde_json::Deserializer::from_slice(front).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let end = values.byte_offset();
    let space = bytes.iter().skip(end).take_while(|byte| byte.is_ascii_whitespace()).count();
    Some((value, end + space))
}

pub(super) fn explain(
    bytes: &[u8],
    options: &Options,
    sink: &mut dyn FnMut(Element) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if bytes.starts_with(&TYPE_WORD) {
        return envelope::explain(bytes, &Options { proto: None, ..*options }, sink);
    }
    let mut offset = 0;
    while let Some(rest) = bytes.get(offset..).filter(|rest| !rest.is_empty()) {
        let element = match front_value(rest) {
            Some((value, length)) => text(value, offset, length),
            None if offset == 0 => other(rest, options),
            None => failed(rest, offset, not_json(rest)),
        };
        offset += element.length;
        sink(element)?;
    }
    ControlFlow::Continue(())
}

/// One text.
fn text(value: Value, offset: usize, length: usize) -> Element {
    let mut rows = Rows::new(offset, offset + length);
    rows.frame(0, "text", format!("{length} bytes"));
    match read(value) {
        Ok(Text::Message(message)) => {
            let mut element = Element::new(Proto::Unitree, offset, length, String::new());
            content::describe(&message, &mut element, &mut rows);
            finished(element, rows)
        }
        Ok(envelope) => signal(&envelope, offset, length, rows),
        Err(error) => {
            let title = String::from("Unitree message");
            let element = Element::new(Proto::Unitree, offset, length, title).invalid(error);
            finished(element, rows)
        }
    }
}

fn read(value: Value) -> Result<Text> {
    let json = || format!("{value}").into_bytes();
    let kind = value.get("type").and_then(Value::as_str);
    match kind {
        Some("offer") if value.get("sdp").is_some() => Offer::parse(&json()).map(Text::Offer),
        Some("answer") if value.get("sdp").is_some() => Answer::parse(&json()).map(Text::Answer),
        None if value.get("data1").is_some()
            && value.get("data2").is_some_and(Value::is_string) =>
        {
            ConIng::parse(&json()).map(Text::ConIng)
        }
        _ => Message::from_value(value).map(Text::Message),
    }
}

fn signal(envelope: &Text, offset: usize, length: usize, mut rows: Rows) -> Element {
    let title = match envelope {
        Text::Offer(offer) => {
            rows.explained(0, "id", offer.id.as_str(), shown(&offer.id));
            rows.explained(0, "sdp", offer.sdp.len(), format!("{} bytes", offer.sdp.len()));
            let token = if offer.token.is_empty() { "none" } else { "hidden" };
            rows.field(0, "token", token);
            "offer"
        }
        Text::Answer(Answer::Busy) => {
            rows.explained(0, "busy", true, "another client has the robot");
            "answer"
        }
        Text::Answer(Answer::Sdp(sdp)) => {
            rows.explained(0, "sdp", sdp.len(), format!("{} bytes", sdp.len()));
            "answer"
        }
        Text::ConIng(body) => {
            let (offer, key) = (body.offer.len(), body.wrapped_key.len());
            rows.explained(0, "offer", offer, format!("{offer} bytes of AES-256-ECB"));
            rows.explained(0, "session_key", key, format!("{key} bytes of RSA"));
            "con_ing"
        }
        Text::Message(_) => "message",
    };
    let title = format!("Unitree {title}");
    finished(Element::new(Proto::Unitree, offset, length, title), rows)
}

/// What is no text: the answer to `con_notify`, a binary message, or rubbish. It is all there is.
fn other(bytes: &[u8], options: &Options) -> Element {
    let notify = Notify::parse(bytes);
    if let Ok(notify) = notify {
        let mut rows = Rows::new(0, bytes.len());
        rows.frame(0, "base64", format!("{} bytes", bytes.len()));
        rows.explained(0, "data2", notify.lock as u8 + 1, format!("{}", notify.lock));
        rows.explained(0, "data1", notify.len(), format!("{} bytes", notify.len()));
        let title = String::from("Unitree answer to con_notify");
        return finished(Element::new(Proto::Unitree, 0, bytes.len(), title), rows);
    }
    if bytes.trim_ascii_start().first() == Some(&b'{') {
        return failed(bytes, 0, not_json(bytes));
    }
    let message = Binary::new_checked(bytes).and_then(|binary| Ok((binary, binary.message()?)));
    match message {
        Ok((binary, message)) => short(binary, &message, options),
        Err(error) => failed(bytes, 0, error),
    }
}

fn not_json(bytes: &[u8]) -> Error {
    if bytes.len() > MAX_JSON {
        return Error::count("message", Wanted::AtMost(MAX_JSON as u64), bytes.len());
    }
    Error::new("message", Wanted::What("JSON"), Got::What("text that is not JSON"))
}

fn failed(bytes: &[u8], offset: usize, error: Error) -> Element {
    let mut rows = Rows::new(offset, offset + bytes.len());
    rows.frame(0, "message", "not decoded");
    let title = String::from("Unitree message");
    finished(Element::new(Proto::Unitree, offset, bytes.len(), title).invalid(error), rows)
}

/// A binary message with the short header.
fn short(binary: Binary<'_>, message: &Message, options: &Options) -> Element {
    let length = binary.variant.header_len() + binary.json.len() + binary.body.len();
    let mut rows = Rows::new(0, length);
    rows.frame(2, "json_len", format!("{}", binary.json.len()));
    if let Variant::Short { unused } = binary.variant {
        rows.frame(2, "unused", format!("{unused}"));
    }
    rows.frame(0, "json", format!("{} bytes", binary.json.len()));
    rows.skip_to(binary.variant.header_len() + binary.json.len());
    if message.topic().contains("utlidar") {
        return envelope::body(Proto::Voxel, &binary.cloud(), 0, rows, options);
    }
    if message.data.as_ref().is_some_and(|data| data.get("xmin").is_some()) {
        return envelope::body(Proto::Slam, &binary.cloud(), 0, rows, options);
    }
    rows.frame(binary.body.len(), "body", format!("{} bytes", binary.body.len()));
    let mut element = Element::new(Proto::Unitree, 0, length, String::new());
    content::describe(message, &mut element, &mut rows);
    match Chunk::of(message) {
        Ok(Some(Chunk { index, total })) => {
            rows.explained(0, "chunk", index, format!("{index} of {total}"));
        }
        Ok(None) => {}
        Err(error) => element.problem(error),
    }
    finished(element, rows)
}

fn finished(mut element: Element, rows: Rows) -> Element {
    element.has_fields = true;
    element.rows = rows.rows;
    element
}

/// A text for people: shortened, and without characters that a terminal would act on.
fn shown(text: &str) -> String {
    let mut characters = text.chars();
    let safe = |c: char| if is_unshowable(c) { char::REPLACEMENT_CHARACTER } else { c };
    let mut shown: String = characters.by_ref().take(SHOWN).map(safe).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}
