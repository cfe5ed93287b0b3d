//! The flows of a capture, and the entry that each has for each of its protocols. Bounded.

use std::collections::HashMap;

use crate::{
    entry::Entry,
    identify::Protocol,
    line::Line,
    net::{Endpoint, Transport},
    stream::{self, Facts, Half},
};

/// Flows that are told apart; packets of further ones are counted, not looked at.
pub const MAX_FLOWS: usize = 1 << 15;
/// Flows of which more is kept than counts, and rows of commands.
const MAX_DETAILS: usize = 1 << 11;
const MAX_SAMPLES: usize = 1 << 13;
const MAX_ROWS: usize = 1 << 15;
/// Streams that are put in order at a time.
const MAX_STREAMS: usize = 1 << 11;

/// Two ends, whichever sends, and what is between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    low: Endpoint,
    high: Endpoint,
    transport: Transport,
}

#[derive(Debug)]
pub(crate) struct Flow {
    /// The end that sent first.
    pub(crate) a: Endpoint,
    pub(crate) b: Endpoint,
    pub(crate) transport: Transport,
    pub(crate) entries: Vec<u32>,
    /// What was found out about a stream, or about datagrams that begin with nothing known.
    pub(crate) found: Option<Protocol>,
    /// Payloads that were searched for something known.
    pub(crate) searches: u8,
    /// Datagrams that begin like a teaching datagram, and are neither that nor a DTLS record.
    pub(crate) misfits: u64,
    pub(crate) lines: Option<Box<[Line; 2]>>,
    /// Both directions of a stream that may consist of messages.
    pub(crate) halves: Option<Box<[Half; 2]>>,
    /// What became of its segments, where they were put in order to the end.
    pub(crate) facts: Option<Facts>,
}

#[derive(Debug)]
pub(crate) struct Flows {
    index: HashMap<Key, u32>,
    /// The flow of the last packet, which is often that of the next.
    newest: Option<(Key, u32)>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) left: Left,
    /// Packets of flows beyond the limit.
    pub(crate) over: u64,
}

/// What there is still room for.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) details: usize,
    pub(crate) samples: usize,
    pub(crate) rows: usize,
    /// Streams that are put in order, and bytes that are held for it.
    pub(crate) streams: usize,
    pub(crate) held: usize,
}

impl Flows {
    pub(crate) fn new() -> Self {
        Flows {
            index: HashMap::new(),
            newest: None,
            flows: Vec::new(),
            entries: Vec::new(),
            left: Left {
                details: MAX_DETAILS,
                samples: MAX_SAMPLES,
                rows: MAX_ROWS,
                streams: MAX_STREAMS,
                held: stream::MAX_ALL,
            },
            over: 0,
        }
    }

    /// The flow between two ends, and whether its second end sends.
    #[inline]
    pub(crate) fn find(
        &mut self,
        from: Endpoint,
        to: Endpoint,
        transport: Transport,
    ) -> Option<(u32, bool)> {
        let (low, high) = if from <= to { (from, to) } else { (to, from) };
        let key = Key { low, high, transport };
        let index = match self.newest {
            Some((newest, index)) if newest == key => index,
            _ => self.look_up(key, from, to)?,
        };
        self.newest = Some((key, index));
        let flow = self.flows.get(index as usize)?;
        Some((index, flow.a != from))
    }

    fn look_up(&mut self, key: Key, a: Endpoint, b: Endpoint) -> Option<u32> {
        if let Some(index) = self.index.get(&key) {
            return Some(*index);
        }
        if self.flows.len() >= MAX_FLOWS {
            self.over += 1;
            return None;
        }
        let index = self.flows.len() as u32;
        self.flows.push(Flow {
            a,
            b,
            transport: key.transport,
            entries: Vec::new(),
            found: None,
            searches: 0,
            misfits: 0,
            lines: None,
            halves: None,
            facts: None,
        });
        self.index.insert(key, index);
        Some(index)
    }

    /// The entry of a flow's protocol, with what room there is for more.
    #[inline]
    pub(crate) fn entry(
        &mut self,
        flow: u32,
        protocol: Protocol,
        time: i64,
    ) -> Option<(&mut Entry, &mut Left)> {
        let place = self.flows.get_mut(flow as usize)?;
        let entries = &mut self.entries;
        let is_it = |index: &&u32| {
            entries.get(**index as usize).is_some_and(|entry| entry.protocol == protocol)
        };
        let index = match place.entries.iter().find(is_it) {
            Some(index) => *index,
            None => {
                let index = entries.len() as u32;
                place.entries.push(index);
                entries.push(Entry::new(flow, protocol, time));
                index
            }
        };
        Some((entries.get_mut(index as usize)?, &mut self.left))
    }
}
