//! The comparison for people.

use sinew_wire::text::grouped;

use super::{FlowDiff, MessageDiff, MessageSide};

impl MessageDiff {
    /// What the messages are, and who sends them.
    pub fn title(&self, flow: &FlowDiff) -> String {
        let [near, far] = &flow.ends;
        let (from, to) = if self.is_back { (far, near) } else { (near, far) };
        match self.id {
            Some(id) => format!("0x{id:02X} {}, {from} > {to}", self.name),
            None => format!("payloads {from} > {to}"),
        }
    }

    /// Whether they are new or gone, and what is different about all of them.
    pub fn summary(&self) -> String {
        let counts = |side: &MessageSide| {
            let rate = side.rate_hz.map_or(String::new(), |rate| format!(", {rate:.2}/s"));
            let (_, least, most) = side.size;
            let size = if least == most { least.to_string() } else { format!("{least}-{most}") };
            format!("{} times{rate}, {size} bytes", grouped(side.count))
        };
        match &self.sides {
            [None, Some(side)] => format!("new: {}", counts(side)),
            [Some(side), None] => format!("gone: {}", counts(side)),
            _ => {
                let mut said = self.changes.clone();
                if !self.bytes.is_empty() {
                    let (count, all) = (self.bytes.len(), self.varying);
                    said.push(match count {
                        1 => "1 byte differs".into(),
                        count => format!("{count} bytes differ"),
                    });
                    if all > 0 {
                        said.push(format!("{all} vary in both"));
                    }
                }
                said.join(", ")
            }
        }
    }
}
