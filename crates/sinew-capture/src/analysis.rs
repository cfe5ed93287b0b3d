//! Counts what comes, payload by payload.

mod streams;

use std::collections::BTreeMap;

use crate::{
    entry::{Detail, Dtls, Media, Taught},
    filter::Filter,
    flows::{Flows, Left},
    fragment::Fragments,
    identify::{self, Class, Protocol, Seen},
    line::{Line, Piece},
    net::{self, Endpoint, LINE, Parsed, Segment, Transport},
    read::{Capture, Chunk, Packet, Record},
    report::Report,
    settle,
    sight::{Place, Sight, What},
    tally::Sample,
};

/// Payloads of a flow that are searched when they begin with nothing known.
const SEARCHES: u8 = 4;
/// Kinds of packets other than IP that are told apart.
const MAX_KINDS: usize = 32;

/// What is known of a capture so far.
#[derive(Debug)]
pub struct Analysis {
    filter: Filter,
    pub(crate) fragments: Fragments,
    pub(crate) flows: Flows,
    /// Packets that came, whatever the filter says.
    number: u64,
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    /// Time of the first packet, and of the first and last that the filter lets pass.
    pub(crate) start: Option<i64>,
    pub(crate) span: Option<(i64, i64)>,
    pub(crate) others: Others,
}

/// Packets that belong to no flow.
#[derive(Debug, Default)]
pub(crate) struct Others {
    pub(crate) not_ip: BTreeMap<u16, u64>,
    pub(crate) links: BTreeMap<u16, u64>,
    pub(crate) short: u64,
}

impl Analysis {
    /// An analysis of what the filter lets pass.
    pub fn new(filter: Filter) -> Self {
        Analysis {
            filter,
            fragments: Fragments::default(),
            flows: Flows::new(),
            number: 0,
            packets: 0,
            bytes: 0,
            start: None,
            span: None,
            others: Others::default(),
        }
    }

    /// Takes a record in; what is in it is shown to `look`, payload by payload.
    #[inline]
    pub fn take(&mut self, record: &Record<'_>, look: impl FnMut(&Sight<'_>)) {
        match record {
            Record::Packet(packet) => self.packet(packet, look),
            Record::Chunk(chunk) => self.chunk(chunk, look),
        }
    }

    /// What it amounts to, after the last record of a file.
    pub fn finish(mut self, capture: &Capture, mut look: impl FnMut(&Sight<'_>)) -> Report {
        self.end_streams(&mut look);
        self.end_lines(look);
        settle::report(self, capture)
    }

    fn packet(&mut self, packet: &Packet<'_>, look: impl FnMut(&Sight<'_>)) {
        if !self.begin(packet.time) {
            return;
        }
        let mut fragments = std::mem::take(&mut self.fragments);
        match net::parse(packet, &mut fragments) {
            Parsed::Segment(segment) => self.segment(packet.time, &segment, look),
            Parsed::Held => {}
            Parsed::NotIp(kind) => self.other(packet, |others| (&mut others.not_ip, kind)),
            Parsed::UnknownLink => {
                self.other(packet, |others| (&mut others.links, packet.link));
            }
            Parsed::Short => {
                self.pass(packet.time, (1, packet.length.into()));
                self.others.short += 1;
            }
        }
        self.fragments = fragments;
    }

    /// Counts a record; says whether its time is wanted.
    #[inline]
    fn begin(&mut self, time: i64) -> bool {
        self.number += 1;
        let start = *self.start.get_or_insert(time);
        self.filter.takes_time(|| time.saturating_sub(start) as f64 / 1e9)
    }

    /// Counts what the filter lets pass.
    #[inline]
    fn pass(&mut self, time: i64, frames: (u32, u64)) {
        self.packets += u64::from(frames.0);
        self.bytes += frames.1;
        let (first, last) = self.span.get_or_insert((time, time));
        (*first, *last) = (time.min(*first), time.max(*last));
    }

    /// What a payload of the newest record has in common with others of it.
    #[inline]
    fn place(&self, time: i64, ends: (Endpoint, Endpoint, Transport)) -> Place {
        let (from, to, transport) = ends;
        let since = time.saturating_sub(self.start.unwrap_or(time));
        Place { number: self.number, since, from, to, transport }
    }

    fn other(
        &mut self,
        packet: &Packet<'_>,
        kinds: impl FnOnce(&mut Others) -> (&mut BTreeMap<u16, u64>, u16),
    ) {
        if self.filter != Filter::default() {
            return;
        }
        self.pass(packet.time, (1, packet.length.into()));
        let (kinds, kind) = kinds(&mut self.others);
        let is_new = !kinds.contains_key(&kind);
        let kind = if is_new && kinds.len() >= MAX_KINDS { u16::MAX } else { kind };
        *kinds.entry(kind).or_default() += 1;
    }

    fn segment(&mut self, time: i64, segment: &Segment<'_>, mut look: impl FnMut(&Sight<'_>)) {
        if !self.filter.takes_flow(segment) {
            return;
        }
        let Segment { from, to, transport, payload, length, frames, .. } = *segment;
        let Some((flow, is_back)) = self.flows.find(from, to, transport) else {
            return self.pass(time, frames);
        };
        let seen = match transport {
            Transport::Udp => self.datagram(flow, payload, length),
            Transport::Tcp => self.stream(flow, is_back, segment, time),
            Transport::Ip(number) => Seen::Other(Protocol::Ip(number)),
            Transport::Serial => Seen::Unknown,
        };
        let protocol = seen.protocol();
        let command = match &seen {
            Seen::Teach(taught) => Some(taught.command),
            Seen::Dtls(records) => records.command(),
            _ => None,
        };
        if matches!(protocol, Protocol::Gd32 | Protocol::Delta2d) {
            // Their commands are counted frame by frame.
            if self.filter.takes(protocol.name(), None) {
                self.pass(time, frames);
                if let Some((entry, _)) = self.flows.entry(flow, protocol, time) {
                    entry.count(time, frames, payload, length);
                }
                self.carried(time, flow, is_back, segment, protocol, look);
            }
            return;
        }
        if !self.filter.takes(protocol.name(), command) {
            return;
        }
        self.pass(time, frames);
        let Some((entry, left)) = self.flows.entry(flow, protocol, time) else { return };
        entry.count(time, frames, payload, length);
        if transport == Transport::Tcp && identify::has_messages(protocol) {
            self.carried(time, flow, is_back, segment, protocol, &mut look);
            let place = self.place(time, (from, to, transport));
            return look(&place.sight(protocol, (payload, length), None, What::Payload(&seen)));
        }
        detail(&mut entry.detail, &seen, payload, is_back, entry.packets, left);
        // One that is damaged may be any command.
        let is_damaged = matches!(&seen, Seen::Teach(taught) if taught.fits == Some(false));
        if let Some(id) = command.filter(|_| !is_damaged) {
            entry.command(id, length, time, is_back, &mut left.rows);
        }
        let place = self.place(time, (from, to, transport));
        look(&place.sight(protocol, (payload, length), command, What::Payload(&seen)));
    }

    /// What a datagram is; where its bytes say nothing, what was found before, or what its port is for.
    #[inline]
    fn datagram<'p>(&mut self, flow: u32, payload: &'p [u8], length: usize) -> Seen<'p> {
        let seen = identify::datagram(payload, length);
        if seen != Seen::Unknown || payload.is_empty() {
            return seen;
        }
        let Some(flow) = self.flows.flows.get_mut(flow as usize) else { return seen };
        if payload.starts_with(&sinew_wire::teach::MAGIC) {
            flow.misfits += 1;
        }
        if flow.found.is_none() && flow.searches < SEARCHES {
            flow.searches += 1;
            flow.found = identify::searched(payload, false);
        }
        let found = flow.found.or_else(|| identify::hint(false, [flow.a.port, flow.b.port]));
        found.map_or(seen, Seen::Other)
    }

    fn chunk(&mut self, chunk: &Chunk<'_>, look: impl FnMut(&Sight<'_>)) {
        if !self.begin(chunk.time) || !self.filter.takes_lines() {
            return;
        }
        self.pass(chunk.time, (1, chunk.bytes.len() as u64));
        let [host, device] = LINE;
        // The host is the first end, whichever side sends first.
        let Some((flow, _)) = self.flows.find(host, device, Transport::Serial) else { return };
        let is_back = chunk.from_host == Some(false);
        let (from, to) = if is_back { (device, host) } else { (host, device) };
        let ends = (from, to, Transport::Serial);
        self.line(chunk.time, flow, is_back, Some(chunk.bytes), ends, look);
    }

    /// Takes bytes of a line in, or its end, and counts what became complete.
    fn line(
        &mut self,
        time: i64,
        flow: u32,
        is_back: bool,
        bytes: Option<&[u8]>,
        ends: (Endpoint, Endpoint, Transport),
        mut look: impl FnMut(&Sight<'_>),
    ) {
        let at = self.place(time, ends);
        let transport = at.transport;
        let Some(place) = self.flows.flows.get_mut(flow as usize) else { return };
        let both = || Box::new([Line::new(), Line::new()]);
        let mut lines = place.lines.take().unwrap_or_else(both);
        let (flows, filter) = (&mut self.flows, &self.filter);
        let mut sink = |piece: Piece<'_>| {
            let (protocol, command) = match piece {
                Piece::Gd32(frame) => (Protocol::Gd32, Some(frame.command())),
                Piece::Delta2d(frame) => (Protocol::Delta2d, Some(frame.command())),
                Piece::Rubbish(_) => (Protocol::Unknown, None),
            };
            let payload = piece.bytes();
            if !filter.takes(protocol.name(), command) {
                return;
            }
            let Some((entry, left)) = flows.entry(flow, protocol, time) else { return };
            let length = payload.len();
            if transport == Transport::Serial {
                entry.count(time, (1, length as u64), payload, length);
            }
            match command {
                Some(id) => entry.command(id, length, time, is_back, &mut left.rows),
                None => plain(&mut entry.detail, payload, entry.packets, left),
            }
            look(&at.sight(protocol, (payload, length), command, What::Piece(piece)));
        };
        if let Some(line) = lines.get_mut(usize::from(is_back)) {
            match bytes {
                Some(bytes) => line.push(time, bytes, &mut sink),
                None => line.finish(&mut sink),
            }
        }
        if let Some(place) = self.flows.flows.get_mut(flow as usize) {
            place.lines = Some(lines);
        }
    }

    /// Gives up what is incomplete at the end of lines.
    fn end_lines(&mut self, mut look: impl FnMut(&Sight<'_>)) {
        let time = self.span.map_or(0, |span| span.1);
        for flow in 0..self.flows.flows.len() {
            let Some(place) = self.flows.flows.get(flow) else { continue };
            if place.lines.is_none() {
                continue;
            }
            let (a, b, transport) = (place.a, place.b, place.transport);
            for is_back in [false, true] {
                let ends = if is_back { (b, a, transport) } else { (a, b, transport) };
                self.line(time, flow as u32, is_back, None, ends, &mut look);
            }
        }
    }
}

/// Counts what is particular to a protocol, where there is room.
#[inline]
fn detail(
    detail: &mut Detail,
    seen: &Seen<'_>,
    payload: &[u8],
    is_back: bool,
    packets: u64,
    left: &mut Left,
) {
    if matches!(detail, Detail::None)
        && let Some(fewer) = left.details.checked_sub(1)
    {
        *detail = match seen {
            Seen::Stun(_) => Detail::Stun { asked: 0, answered: 0, other: 0 },
            Seen::Dtls(_) => Detail::Dtls(Box::new(Dtls::new())),
            Seen::Teach(_) => Detail::Teach(Box::new(Taught::new())),
            Seen::Rtp(_) | Seen::Rtcp(_) => Detail::Media(Box::default()),
            Seen::Discovery { .. } => Detail::Discovery { questions: 0, answers: 0 },
            Seen::Other(_) | Seen::Unknown => Detail::None,
        };
        if !matches!(detail, Detail::None) {
            left.details = fewer;
        }
    }
    match (detail, seen) {
        (Detail::Stun { asked, answered, other }, Seen::Stun(stun)) => match stun.class {
            Class::Request => *asked += 1,
            Class::Success => *answered += 1,
            Class::Error | Class::Indication => *other += 1,
        },
        (Detail::Dtls(dtls), Seen::Dtls(records)) => dtls.take(records, is_back),
        (Detail::Teach(taught), Seen::Teach(datagram)) => taught.take(datagram, is_back),
        (Detail::Media(media), Seen::Rtp(packet)) => Media::rtp(media, packet, is_back),
        (Detail::Media(media), Seen::Rtcp(packet)) => Media::rtcp(media, packet, is_back),
        (Detail::Discovery { questions, answers }, Seen::Discovery { is_question }) => {
            *(if *is_question { questions } else { answers }) += 1;
        }
        (detail, Seen::Unknown | Seen::Other(_)) => plain(detail, payload, packets, left),
        _ => {}
    }
}

/// Counts bytes; of a flow of one packet none, since a scan of ports makes thousands of them.
#[inline]
fn plain(detail: &mut Detail, payload: &[u8], packets: u64, left: &mut Left) {
    if matches!(detail, Detail::None)
        && (packets > 1 || payload.len() > 64)
        && let Some(fewer) = left.samples.checked_sub(1)
    {
        left.samples = fewer;
        *detail = Detail::Plain(Box::new(Sample::new()));
    }
    if let Detail::Plain(sample) = detail {
        sample.take(payload);
    }
}
