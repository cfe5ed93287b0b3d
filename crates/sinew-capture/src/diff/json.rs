//! The comparison for programs.

use serde_json::{Map, Value, json};

use super::{ByteChange, Change, Diff, FlowDiff, FlowSide, MessageDiff, MessageSide, Values};
use crate::{Kind, report::rounded};

impl Change {
    /// Its name for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Change::New => "new",
            Change::Gone => "gone",
            Change::Changed => "changed",
            Change::Same => "same",
        }
    }
}

impl Diff {
    /// The comparison as text, in parts, since all of it at once may be large.
    pub fn json_parts(&self) -> impl Iterator<Item = String> {
        let [a, b] = &self.heads;
        let head = json!({
            "a": a.1.head(&a.0),
            "b": b.1.head(&b.0),
            "same": self.is_same(),
            "notes": self.notes,
        });
        let head = head.to_string();
        let head = head.strip_suffix('}').unwrap_or(&head).to_owned();
        let messages = self.flows.iter().enumerate().flat_map(|(index, flow)| {
            flow.messages.iter().map(move |message| message.to_json(index))
        });
        std::iter::once(head)
            .chain(crate::report::list("flows", self.flows.iter().map(FlowDiff::to_json)))
            .chain(crate::report::list("messages", messages))
            .chain(std::iter::once("}".into()))
    }
}

impl FlowDiff {
    fn to_json(&self) -> Value {
        json!({
            "change": self.change.name(),
            "protocol": self.protocol.name(),
            "transport": self.transport.to_string(),
            "ends": self.ends,
            "changes": self.changes,
            "a": self.sides[0].as_ref().map(FlowSide::to_json),
            "b": self.sides[1].as_ref().map(FlowSide::to_json),
        })
    }
}

impl FlowSide {
    fn to_json(&self) -> Value {
        json!({
            "flows": self.flows,
            "packets": self.packets,
            "bytes": self.bytes,
            "duration_s": rounded(self.duration(), 1e6),
            "rate_hz": self.rate_hz().map(|rate| rounded(rate, 1e6)),
            "verdict": self.verdict.map(Kind::name),
        })
    }
}

impl MessageDiff {
    fn to_json(&self, flow: usize) -> Value {
        json!({
            "flow": flow,
            "change": self.change.name(),
            "from": if self.is_back { 1 } else { 0 },
            "id": self.id,
            "name": self.name,
            "changes": self.changes,
            "a": self.sides[0].as_ref().map(MessageSide::to_json),
            "b": self.sides[1].as_ref().map(MessageSide::to_json),
            "bytes": self.bytes.iter().map(ByteChange::to_json).collect::<Vec<_>>(),
            "varying": self.varying,
        })
    }
}

impl MessageSide {
    fn to_json(&self) -> Value {
        let (average, min, max) = self.size;
        json!({
            "count": self.count,
            "rate_hz": self.rate_hz.map(|rate| rounded(rate, 1e6)),
            "average_size": rounded(average, 1e3),
            "min_size": min,
            "max_size": max,
        })
    }
}

impl ByteChange {
    fn to_json(&self) -> Value {
        let [a, b] = &self.sides;
        json!({ "at": self.at, "field": self.field, "a": a.to_json(), "b": b.to_json() })
    }
}

impl Values {
    fn to_json(&self) -> Value {
        let members = [
            ("count", json!(self.count)),
            ("distinct", json!(self.distinct)),
            ("min", json!(self.range.0)),
            ("max", json!(self.range.1)),
            ("entropy_bits", json!(self.entropy.map(|bits| rounded(bits, 1e3)))),
            ("values", if self.values.is_empty() { Value::Null } else { json!(self.values) }),
        ];
        members.into_iter().map(|(name, value)| (name.into(), value)).collect::<Map<_, _>>().into()
    }
}
