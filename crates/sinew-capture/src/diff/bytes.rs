//! What differs at which byte of a message, and what our codec calls it.

use std::{fmt, ops::ControlFlow};

use sinew_wire::explain::{Options, Proto, explain};

use crate::{
    identify::Protocol,
    profile::{Message, Position},
};

/// Values that are told one by one.
const FEW: u32 = 16;
/// How often each of them must have come, as a rule, to be more than chance.
const OFTEN: u64 = 4;
/// Messages from which on entropies are compared, and how much they may differ.
const MANY: u64 = 64;
const SAME_ENTROPY: f64 = 1.0;

/// A position whose values are not the same in both captures.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ByteChange {
    /// From the message's first byte, which is 0.
    pub at: usize,
    /// The field that it belongs to, as `sinew decode` calls it.
    pub field: Option<&'static str>,
    /// What came in each capture.
    pub sides: [Values; 2],
}

/// What came at a position.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Values {
    /// In how many messages.
    pub count: u64,
    /// How many different ones.
    pub distinct: u32,
    /// The least and the most.
    pub range: (u8, u8),
    /// All of them, where they are few.
    pub values: Vec<u8>,
    /// Bits that the value tells; none where there was no room to count.
    pub entropy: Option<f64>,
}

/// The positions that differ, and how many vary in both captures.
pub(super) fn compare(
    a: &Message,
    b: &Message,
    protocol: Protocol,
    from_robot: Option<bool>,
) -> (Vec<ByteChange>, usize) {
    let mut changes = Vec::new();
    let mut varying = 0;
    for (at, (one, other)) in a.positions.iter().zip(&b.positions).enumerate() {
        if differ(one, other) {
            changes.push(ByteChange { at, field: None, sides: [values(one), values(other)] });
        } else if one.distinct() > 1 && other.distinct() > 1 {
            varying += 1;
        }
    }
    if !changes.is_empty() {
        let fields = fields(&b.example, protocol, from_robot);
        for change in &mut changes {
            let holds =
                |field: &&(usize, usize, &str)| (field.0..field.0 + field.1).contains(&change.at);
            // The last, since a part of a field comes behind the whole.
            change.field = fields.iter().rfind(holds).map(|field| field.2);
        }
    }
    (changes, varying)
}

/// How values of a position are spread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spread {
    One,
    Few,
    Many,
}

fn spread(position: &Position) -> Spread {
    match position.distinct() {
        0 | 1 => Spread::One,
        few if few <= FEW && position.count >= OFTEN * u64::from(few) => Spread::Few,
        _ => Spread::Many,
    }
}

fn differ(a: &Position, b: &Position) -> bool {
    let is_same = || (0..=u8::MAX).all(|byte| a.has(byte) == b.has(byte));
    match (spread(a), spread(b)) {
        (Spread::One, Spread::One) | (Spread::Few, Spread::Few) => !is_same(),
        (Spread::One, spread) => became(a, b, spread),
        (spread, Spread::One) => became(b, a, spread),
        (Spread::Few, Spread::Many) => a.count >= MANY,
        (Spread::Many, Spread::Few) => b.count >= MANY,
        (Spread::Many, Spread::Many) => {
            let [low, high] = [values(a).range, values(b).range];
            let is_apart = low.1 < high.0 || high.1 < low.0;
            let bits = a.entropy().zip(b.entropy());
            let is_other = bits.is_some_and(|(a, b)| (a - b).abs() >= SAME_ENTROPY);
            is_apart || (a.count.min(b.count) >= MANY && is_other)
        }
    }
}

/// Whether one value here and several there is more than a few messages by chance.
fn became(one: &Position, several: &Position, spread: Spread) -> bool {
    let is_among = one.values().next().is_some_and(|value| several.has(value));
    one.count >= OFTEN || (spread == Spread::Few && !is_among)
}

fn values(position: &Position) -> Values {
    let mut all = position.values();
    let first = all.next().unwrap_or(0);
    let distinct = position.distinct();
    Values {
        count: position.count,
        distinct,
        range: (first, all.last().unwrap_or(first)),
        values: if distinct <= FEW { position.values().collect() } else { Vec::new() },
        entropy: position.entropy(),
    }
}

/// Where our codec sees fields in a message: place, length, name.
fn fields(
    example: &[u8],
    protocol: Protocol,
    from_robot: Option<bool>,
) -> Vec<(usize, usize, &'static str)> {
    let proto = match protocol {
        Protocol::Gd32 => Proto::Gd32,
        Protocol::Delta2d => Proto::Delta2d,
        Protocol::Teach => Proto::Teach,
        _ => return Vec::new(),
    };
    let options = Options { proto: Some(proto), from_robot, ..Options::default() };
    let mut fields = Vec::new();
    let _ = explain(example, &options, &mut |element| {
        if element.valid {
            fields.extend(element.rows.iter().map(|row| (row.offset, row.length, row.name)));
        }
        ControlFlow::Break(())
    });
    fields
}

/// One value, the few that there are, or their range.
impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.values.is_empty() {
            let (least, most) = self.range;
            write!(f, "{least:02X} to {most:02X} ({} values", self.distinct)?;
            self.entropy.map_or(Ok(()), |bits| write!(f, ", {bits:.1} bits"))?;
            return f.write_str(")");
        }
        for (index, value) in self.values.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{value:02X}")?;
        }
        Ok(())
    }
}
