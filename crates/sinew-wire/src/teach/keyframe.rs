use crate::{
    Error, Result, Wanted,
    bytes::{Reader, Writer},
};

/// Keyframe slots in a save and in a play.
pub const KEYFRAME_SLOTS: usize = 20;

/// A joint's value at a time: `joint u16 | time u16 | value f32`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Keyframe {
    /// Joint number.
    pub joint: u16,
    /// Milliseconds from the start.
    pub time_ms: u16,
    /// Position in radians.
    pub value: f32,
}

/// The twenty slots. One of all zero bytes is unused; a keyframe that would be all zero travels
/// with a negative zero.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Keyframes([Option<Keyframe>; KEYFRAME_SLOTS]);

impl Keyframes {
    /// Fills the slots from the front.
    pub fn new(keyframes: &[Keyframe]) -> Result<Self> {
        if keyframes.len() > KEYFRAME_SLOTS {
            let wanted = Wanted::AtMost(KEYFRAME_SLOTS as u64);
            return Err(Error::count("keyframes", wanted, keyframes.len()));
        }
        let mut slots = [None; KEYFRAME_SLOTS];
        for (slot, keyframe) in slots.iter_mut().zip(keyframes) {
            *slot = Some(*keyframe);
        }
        Ok(Keyframes(slots))
    }

    /// The used slots in order.
    pub fn iter(&self) -> impl Iterator<Item = Keyframe> + '_ {
        self.0.iter().flatten().copied()
    }

    /// The slots as they stand.
    pub const fn slots(&self) -> &[Option<Keyframe>; KEYFRAME_SLOTS] {
        &self.0
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let mut slots = [None; KEYFRAME_SLOTS];
        for slot in &mut slots {
            *slot = Keyframe::decode(reader.array("keyframes")?);
        }
        Ok(Keyframes(slots))
    }

    pub(super) fn write(&self, out: &mut Writer<'_>) -> Result<()> {
        self.0
            .iter()
            .try_for_each(|slot| out.put("keyframes", &slot.map_or([0; 8], Keyframe::encode)))
    }
}

impl Keyframe {
    fn decode(slot: [u8; 8]) -> Option<Self> {
        if slot == [0; 8] {
            return None;
        }
        let [a, b, c, d, value @ ..] = slot;
        let keyframe = Keyframe {
            joint: u16::from_be_bytes([a, b]),
            time_ms: u16::from_be_bytes([c, d]),
            value: f32::from_be_bytes(value),
        };
        // Only this one slot's negative zero is a disguise; any other was meant.
        Some(if keyframe == Keyframe::default() { Keyframe::default() } else { keyframe })
    }

    fn encode(self) -> [u8; 8] {
        let value = if self == Keyframe::default() { -0.0 } else { self.value };
        let ([a, b], [c, d]) = (self.joint.to_be_bytes(), self.time_ms.to_be_bytes());
        let [e, f, g, h] = value.to_be_bytes();
        [a, b, c, d, e, f, g, h]
    }
}
