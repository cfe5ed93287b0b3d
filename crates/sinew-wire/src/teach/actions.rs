use super::{NAME_FIELD, Name};
use crate::{Error, Result, Wanted, bytes::Reader};

/// Bytes of an action in a list.
pub(super) const ACTION_LEN: usize = NAME_FIELD + 4;

/// A stored action in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Action {
    pub name: Name,
    /// Time, duration or both: no document says.
    pub metadata: u32,
}

/// The stored actions: borrowed from a datagram, or from a slice to send.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Actions<'a> {
    source: Source<'a>,
    rest: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Source<'a> {
    Wire(&'a [[u8; ACTION_LEN]]),
    Slice(&'a [Action]),
}

impl<'a> Actions<'a> {
    /// A list to send.
    pub fn new(actions: &'a [Action]) -> Result<Self> {
        if actions.len() > usize::from(u16::MAX) {
            let wanted = Wanted::AtMost(u16::MAX.into());
            return Err(Error::count("action count", wanted, actions.len()));
        }
        Ok(Actions { source: Source::Slice(actions), rest: &[] })
    }

    pub(super) fn read(payload: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(payload);
        let count = usize::from(reader.u16_be("action count")?);
        let entries = reader.take("action list", count * ACTION_LEN)?;
        Ok(Actions { source: Source::Wire(entries.as_chunks().0), rest: reader.rest() })
    }

    /// Whether an answer of a request's size is a list all the same. A refusal has that size too,
    /// and where its status begins no count of actions that the payload holds.
    pub(super) fn in_brief(payload: &'a [u8]) -> bool {
        payload.len() < 4 || Self::read(payload).is_ok_and(|list| !list.is_empty())
    }

    /// The actions in order.
    pub fn iter(&self) -> impl Iterator<Item = Action> + 'a {
        let (wire, slice): (&[[u8; ACTION_LEN]], &[Action]) = match self.source {
            Source::Wire(wire) => (wire, &[]),
            Source::Slice(slice) => (&[], slice),
        };
        wire.iter().map(Action::decode).chain(slice.iter().copied())
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        match self.source {
            Source::Wire(wire) => wire.len(),
            Source::Slice(slice) => slice.len(),
        }
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Payload after the last action.
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl Action {
    fn decode(bytes: &[u8; ACTION_LEN]) -> Self {
        let mut reader = Reader::new(bytes);
        let name = reader.array("name").unwrap_or([0; NAME_FIELD]);
        let metadata = reader.u32_be("metadata").unwrap_or_default();
        Action { name: Name::from_field(name), metadata }
    }
}
