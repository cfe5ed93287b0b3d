//! What is counted of one protocol within one flow.

use sinew_wire::{dtls::Content, teach::Layout};

use crate::{
    identify::{Protocol, Records, Rtcp, Rtp, Teach},
    message::{Messages, Said},
    tally::{Commands, Sample, Sequences, Sizes},
};

/// First bytes that are kept.
const FRONT: usize = 16;

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) flow: u32,
    pub(crate) protocol: Protocol,
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) sizes: Sizes,
    pub(crate) front: Front,
    pub(crate) detail: Detail,
    pub(crate) commands: Option<Box<Commands>>,
    /// Commands for which there was no room.
    pub(crate) uncounted: u64,
}

/// The first bytes of the first payload.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Front {
    bytes: [u8; FRONT],
    length: u8,
}

/// What is counted beside packets and bytes; none where the room for it is used up.
#[derive(Debug)]
pub(crate) enum Detail {
    None,
    Plain(Box<Sample>),
    Stun { asked: u64, answered: u64, other: u64 },
    Dtls(Box<Dtls>),
    Teach(Box<Taught>),
    Media(Box<Media>),
    Discovery { questions: u64, answers: u64 },
    Messages(Box<Spoken>),
}

/// Messages of a stream, by sender.
#[derive(Debug, Default)]
pub(crate) struct Spoken {
    pub(crate) sides: [Messages; 2],
    pub(crate) said: Said,
}

/// DTLS records.
#[derive(Debug)]
pub(crate) struct Dtls {
    pub(crate) handshake: u64,
    pub(crate) application: u64,
    /// Alerts and changes of ciphers.
    pub(crate) other: u64,
    pub(crate) version: u16,
    pub(crate) suite: Option<u16>,
    /// Numbers of application data, by sender.
    pub(crate) sequences: [Sequences; 2],
    pub(crate) alike: Alike,
    pub(crate) sample: Sample,
}

/// Records that would pass for teaching datagrams.
#[derive(Debug)]
pub(crate) struct Alike {
    pub(crate) records: u64,
    /// Datagrams that they came in.
    pub(crate) datagrams: u64,
    /// Those that have the compact layout's 00 01 in bytes 8 and 9, and of these those whose number would
    /// be over 2^24: what damaged teaching datagrams would be.
    shaped: u64,
    shaped_high: u64,
    /// How often each "command" occurred.
    pub(crate) low: [u32; 256],
}

/// Teaching datagrams.
#[derive(Debug)]
pub(crate) struct Taught {
    pub(crate) valid: u64,
    pub(crate) damaged: u64,
    /// Captured in part, so that the CRC is not there.
    pub(crate) unchecked: u64,
    pub(crate) documented: u64,
    pub(crate) compact: u64,
    pub(crate) sequences: [Sequences; 2],
    pub(crate) sample: Sample,
}

/// RTP or RTCP.
#[derive(Debug, Default)]
pub(crate) struct Media {
    /// Sources by sender, with the number of their last packet.
    sources: [[Option<(u32, u16)>; 4]; 2],
    /// Packets that follow one of the same source.
    pub(crate) followed: u64,
    pub(crate) kinds: Vec<u8>,
}

impl Entry {
    pub(crate) fn new(flow: u32, protocol: Protocol, time: i64) -> Self {
        Entry {
            flow,
            protocol,
            packets: 0,
            bytes: 0,
            first: time,
            last: time,
            sizes: Sizes::default(),
            front: Front::default(),
            detail: Detail::None,
            commands: None,
            uncounted: 0,
        }
    }

    /// Counts packets that carried one payload.
    #[inline]
    pub(crate) fn count(&mut self, time: i64, frames: (u32, u64), payload: &[u8], length: usize) {
        self.packets += u64::from(frames.0);
        self.bytes += frames.1;
        (self.first, self.last) = (self.first.min(time), self.last.max(time));
        self.sizes.count(length);
        if self.front.length == 0 {
            self.front = Front::new(payload);
        }
    }

    /// Counts a command, where there is room for its row.
    #[inline]
    pub(crate) fn command(
        &mut self,
        id: u8,
        size: usize,
        time: i64,
        is_back: bool,
        left: &mut usize,
    ) {
        if self.commands.is_none() && *left > 0 {
            self.commands = Some(Box::new(Commands::new()));
        }
        let is_counted = self
            .commands
            .as_mut()
            .is_some_and(|commands| commands.count(id, size, time, is_back, left));
        self.uncounted += u64::from(!is_counted);
    }

    /// Adds what was counted as another entry.
    pub(crate) fn add(&mut self, other: &Entry) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.uncounted += other.uncounted;
        if other.first < self.first {
            (self.first, self.front) = (other.first, other.front);
        }
        self.last = self.last.max(other.last);
        self.sizes.add(&other.sizes);
        match (&mut self.commands, &other.commands) {
            (Some(commands), Some(more)) => commands.add(more),
            (none @ None, Some(more)) => *none = Some(more.clone()),
            (_, None) => {}
        }
    }
}

impl Front {
    fn new(payload: &[u8]) -> Self {
        let mut front = Front::default();
        for (kept, byte) in front.bytes.iter_mut().zip(payload) {
            *kept = *byte;
            front.length += 1;
        }
        front
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }
}

impl Dtls {
    pub(crate) const fn new() -> Self {
        Dtls {
            handshake: 0,
            application: 0,
            other: 0,
            version: 0,
            suite: None,
            sequences: [NO_SEQUENCES; 2],
            alike: Alike { records: 0, datagrams: 0, shaped: 0, shaped_high: 0, low: [0; 256] },
            sample: Sample::new(),
        }
    }

    #[inline]
    pub(crate) fn take(&mut self, records: &Records<'_>, is_back: bool) {
        let before = self.alike.records;
        for (_, record) in records.iter() {
            self.version = record.version();
            match record.content() {
                Some(Content::Handshake) => {
                    self.handshake += 1;
                    self.suite = self.suite.or_else(|| record.cipher_suite());
                }
                Some(Content::ApplicationData) => {
                    self.application += 1;
                    let sequence = record.sequence();
                    if let Some(sequences) = self.sequences.get_mut(usize::from(is_back)) {
                        sequences.take(sequence);
                    }
                    // Some ciphers begin with a number that counts.
                    self.sample.take(record.fragment().get(8..).unwrap_or_default());
                    if record.looks_taught() {
                        self.alike.take(sequence);
                    }
                }
                _ => self.other += 1,
            }
        }
        self.alike.datagrams += u64::from(self.alike.records > before);
    }

    /// Whether what is here is rather damaged teaching datagrams of the compact layout. By their lengths
    /// all of them could be such; a teaching datagram's number is then the record number's upper part, so
    /// that each is millions from the one before, where records follow each other. Numbers that
    /// follow each other, or a single one, prove nothing: then the content decides, which in a record is
    /// encrypted. `is_taught` says whether the flow has teaching datagrams that are right.
    pub(crate) fn is_damaged_teaching(&self, is_taught: bool) -> bool {
        let Alike { records, shaped, shaped_high, .. } = self.alike;
        let others = self.handshake + self.other + self.application - records;
        if others > 0 || records != shaped {
            return false;
        }
        let is_mostly_high = shaped_high * 2 > records;
        let has_jumps = self.sequences.iter().any(|side| side.missing >= 1 << 23);
        if is_mostly_high && has_jumps {
            return true;
        }
        (is_taught || is_mostly_high) && !self.sample.is_random()
    }
}

impl Alike {
    #[inline]
    fn take(&mut self, sequence: u64) {
        self.records += 1;
        if sequence >> 8 & 0xFFFF == 1 {
            self.shaped += 1;
            self.shaped_high += u64::from(sequence >> 24 != 0);
        }
        if let Some(count) = self.low.get_mut((sequence & 0xFF) as usize) {
            *count = count.saturating_add(1);
        }
    }
}

const NO_SEQUENCES: Sequences = Sequences::new();

impl Taught {
    pub(crate) const fn new() -> Self {
        Taught {
            valid: 0,
            damaged: 0,
            unchecked: 0,
            documented: 0,
            compact: 0,
            sequences: [NO_SEQUENCES; 2],
            sample: Sample::new(),
        }
    }

    #[inline]
    pub(crate) fn take(&mut self, taught: &Teach<'_>, is_back: bool) {
        match taught.fits {
            Some(true) => self.valid += 1,
            Some(false) => self.damaged += 1,
            None => self.unchecked += 1,
        }
        match taught.layout {
            Layout::Documented => self.documented += 1,
            Layout::Compact => self.compact += 1,
        }
        // A damaged number would look like a gap of thousands.
        if taught.fits != Some(false)
            && let Some(sequences) = self.sequences.get_mut(usize::from(is_back))
        {
            sequences.take_u16(taught.sequence);
        }
        self.sample.take(taught.payload);
    }

    pub(crate) const fn total(&self) -> u64 {
        self.valid + self.damaged + self.unchecked
    }
}

impl Media {
    pub(crate) fn rtp(&mut self, packet: &Rtp, is_back: bool) {
        self.follow(packet.source, Some(packet.sequence), is_back);
        self.kind(packet.kind);
    }

    pub(crate) fn rtcp(&mut self, packet: &Rtcp, is_back: bool) {
        self.follow(packet.source, None, is_back);
        self.kind(packet.kind);
    }

    fn follow(&mut self, source: u32, number: Option<u16>, is_back: bool) {
        let Some(sources) = self.sources.get_mut(usize::from(is_back)) else { return };
        let number = number.unwrap_or_default();
        let known = sources.iter_mut().flatten().find(|known| known.0 == source);
        if let Some(known) = known {
            let step = number.wrapping_sub(known.1).cast_signed();
            self.followed += u64::from(step.unsigned_abs() < 1000);
            known.1 = number;
        } else {
            sources.rotate_right(1);
            sources[0] = Some((source, number));
        }
    }

    fn kind(&mut self, kind: u8) {
        if self.kinds.len() < 8 && !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
    }
}
