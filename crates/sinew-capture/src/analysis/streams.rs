//! Streams: what they are, and the frames and messages in them, which do not care where segments end.

use super::{Analysis, SEARCHES};
use crate::{
    entry::Detail,
    identify::{self, Protocol, Seen},
    net::{Endpoint, Segment, Transport},
    sight::Sight,
    stream::{Half, Part},
};

/// Who sends to whom, by what.
type Ends = (Endpoint, Endpoint, Transport);

impl Analysis {
    /// What a stream is: one thing, as soon as one of its segments says so, or several together.
    pub(super) fn stream<'p>(
        &mut self,
        index: u32,
        is_back: bool,
        segment: &Segment<'p>,
        time: i64,
    ) -> Seen<'p> {
        let left = &mut self.flows.left;
        let Some(flow) = self.flows.flows.get_mut(index as usize) else { return Seen::Unknown };
        let guess = || identify::hint(true, [flow.a.port, flow.b.port]);
        let before = flow.found.or_else(guess).unwrap_or(Protocol::Unknown);
        let payload = segment.payload;
        if flow.found.is_none() && flow.searches < SEARCHES * 4 {
            let has_payload = !payload.is_empty();
            if flow.halves.is_none() && has_payload && left.streams > 0 {
                left.streams -= 1;
                flow.halves = Some(Box::default());
            }
            let half = flow.halves.as_mut().and_then(|both| both.get_mut(usize::from(is_back)));
            let mut joined = None;
            if let (Some(half), Some(order)) = (half, segment.order) {
                let Half { sorter, front } = half;
                let bytes = (payload, segment.length);
                sorter.push(time, order, bytes, &mut left.held, |_, part| front.keep(part));
                joined = Some(half.front.bytes()).filter(|front| front.len() > payload.len());
            }
            if has_payload {
                flow.searches += 1;
                let search = |bytes| identify::searched(bytes, true);
                flow.found = search(payload).or_else(|| joined.and_then(search));
            }
            let is_over = flow.found.is_none() && flow.searches >= SEARCHES * 4;
            if is_over || flow.found.is_some_and(|found| !is_shaped(found)) {
                if let Some(halves) = &mut flow.halves {
                    halves.iter_mut().for_each(|half| half.sorter.forget(&mut left.held));
                    left.streams += 1;
                }
                flow.halves = None;
            }
            if let Some(found) = flow.found {
                let entries = &mut self.flows.entries;
                let mut of_flow = entries.iter_mut().filter(|entry| entry.flow == index);
                if let Some(entry) = of_flow.find(|entry| entry.protocol == before) {
                    entry.protocol = found;
                    entry.detail = Detail::None;
                }
                return Seen::Other(found);
            }
        }
        if before == Protocol::Unknown { Seen::Unknown } else { Seen::Other(before) }
    }

    /// Frames of a serial line in a datagram or a stream, and messages of a stream.
    pub(super) fn carried(
        &mut self,
        time: i64,
        flow: u32,
        is_back: bool,
        segment: &Segment<'_>,
        protocol: Protocol,
        mut look: impl FnMut(&Sight<'_>),
    ) {
        let ends = (segment.from, segment.to, segment.transport);
        let (bytes, length) = (segment.payload, segment.length);
        let halves = self.flows.flows.get_mut(flow as usize).and_then(|flow| flow.halves.take());
        let (Some(mut halves), Some(order)) = (halves, segment.order) else {
            return self.consume(time, (flow, is_back), protocol, Part::Bytes(bytes), ends, look);
        };
        if halves.iter().any(|half| half.front.is_taken()) {
            if let Some(half) = halves.get_mut(usize::from(is_back)) {
                let mut room = self.flows.left.held;
                half.sorter.push(time, order, (bytes, length), &mut room, |time, part| {
                    self.consume(time, (flow, is_back), protocol, part, ends, &mut look);
                });
                self.flows.left.held = room;
            }
        } else {
            // It has just become known what this is: what came so far is in both fronts.
            for (half, side) in halves.iter_mut().zip([false, true]) {
                let ends = if side == is_back { ends } else { (ends.1, ends.0, ends.2) };
                match half.front.take() {
                    Some(all) => {
                        let all = Part::Bytes(&all);
                        self.consume(time, (flow, side), protocol, all, ends, &mut look);
                    }
                    None => {
                        self.consume(time, (flow, side), protocol, Part::Gap(0), ends, &mut look);
                        if side == is_back {
                            let last = Part::Bytes(bytes);
                            self.consume(time, (flow, side), protocol, last, ends, &mut look);
                        }
                    }
                }
            }
        }
        if let Some(flow) = self.flows.flows.get_mut(flow as usize) {
            flow.halves = Some(halves);
        }
    }

    /// Takes what a flow goes on with.
    fn consume(
        &mut self,
        time: i64,
        (flow, is_back): (u32, bool),
        protocol: Protocol,
        part: Part<'_>,
        ends: Ends,
        look: impl FnMut(&Sight<'_>),
    ) {
        if !identify::has_messages(protocol) {
            let bytes = match part {
                Part::Bytes(bytes) => Some(bytes),
                // What is incomplete before it does not go on behind it.
                Part::Gap(_) => None,
            };
            return self.line(time, flow, is_back, bytes, ends, look);
        }
        let Some((entry, left)) = self.flows.entry(flow, protocol, time) else { return };
        if matches!(entry.detail, Detail::None)
            && let Some(fewer) = left.details.checked_sub(1)
        {
            left.details = fewer;
            entry.detail = Detail::Messages(Box::default());
        }
        if let Detail::Messages(spoken) = &mut entry.detail
            && let Some(messages) = spoken.sides.get_mut(usize::from(is_back))
        {
            messages.take(protocol, part, &mut spoken.said);
        }
    }

    /// Gives out what streams hold, and counts what became of their segments.
    pub(super) fn end_streams(&mut self, mut look: impl FnMut(&Sight<'_>)) {
        let time = self.span.map_or(0, |span| span.1);
        for index in 0..self.flows.flows.len() {
            let Some(flow) = self.flows.flows.get_mut(index) else { continue };
            let (Some(mut halves), Some(protocol)) = (flow.halves.take(), flow.found) else {
                continue;
            };
            let (a, b, transport) = (flow.a, flow.b, flow.transport);
            for (half, is_back) in halves.iter_mut().zip([false, true]) {
                let ends = if is_back { (b, a, transport) } else { (a, b, transport) };
                let place = (index as u32, is_back);
                let mut room = self.flows.left.held;
                half.sorter.finish(&mut room, |_, part| {
                    self.consume(time, place, protocol, part, ends, &mut look);
                });
                self.flows.left.held = room;
                if let Some(flow) = self.flows.flows.get_mut(index) {
                    flow.facts.get_or_insert_default().add(&half.sorter.facts);
                }
            }
        }
    }
}

/// Whether a stream of this consists of frames or messages that do not care where segments end.
const fn is_shaped(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::Gd32 | Protocol::Delta2d) || identify::has_messages(protocol)
}
