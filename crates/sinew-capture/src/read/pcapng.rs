//! The newer format: blocks, of which those with packets are read and others are stepped over.
//!
//! ```text
//! block      type u32 | length u32 | body | length u32      length counts all of it, in fours
//! section    0A0D0D0A: order of bytes 1A2B3C4D, version, length of the section, options
//! interface  1: link type u16, reserved u16, snaplen u32, options (9 unit of time, 14 offset of it)
//! packet     6: interface u32, time 2 x u32, captured u32, on the wire u32, bytes, options (2 direction)
//! packet     2: interface u16, drops u16, then the same (obsolete)
//! packet     3: on the wire u32, bytes
//! ```

use super::{End, LONGEST, Packet, SERIAL_LINK, pcap::Order, window::Window};

/// The type of a section's header, the same in both orders.
pub(super) const SECTION: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];
/// Bytes of a section's header without options.
pub(super) const SHORTEST: usize = 28;
/// What is read of a block's body that is no packet.
const READ: usize = 64 << 10;
/// More interfaces than this are not told apart.
const MAX_INTERFACES: usize = 1 << 16;
/// A link type that no link has, for packets of interfaces that were not described.
const NO_LINK: u16 = u16::MAX;

#[derive(Debug)]
pub(super) struct Reader {
    order: Order,
    interfaces: Vec<Interface>,
    /// For packets without a time of their own.
    time: i64,
    begun: bool,
    /// Which way the last packet went, where it says so.
    outbound: Option<bool>,
}

#[derive(Debug, Clone, Copy)]
struct Interface {
    link: u16,
    snaplen: u32,
    unit: Unit,
    /// Seconds.
    offset: i64,
}

/// What a packet's time counts.
#[derive(Debug, Clone, Copy)]
enum Unit {
    /// 10 to the minus this.
    Decimal(u8),
    /// 2 to the minus this.
    Binary(u8),
}

impl Reader {
    pub(super) const fn new() -> Self {
        Reader {
            order: Order::Little,
            interfaces: Vec::new(),
            time: 0,
            begun: false,
            outbound: None,
        }
    }

    /// Whether the last packet of a serial line was sent by the machine that captured it.
    pub(super) const fn is_outbound(&self) -> Option<bool> {
        self.outbound
    }

    /// The next packet; `held` is how many bytes are to be stepped over before the one after it.
    pub(super) fn next<'w>(
        &mut self,
        window: &'w mut Window,
        held: &mut u64,
    ) -> Result<Packet<'w>, End> {
        let (place, packet) = loop {
            let length = self.block(window)?;
            let (bytes, order) = (window.bytes(), self.order);
            match order.u32(bytes, 0) {
                // In the words of the format: an Enhanced Packet Block, a Packet Block, a Simple one.
                6 if length >= 32 => {
                    break (length, Body::stamped(order, bytes, order.u32(bytes, 8)));
                }
                2 if length >= 32 => {
                    break (length, Body::stamped(order, bytes, order.u16(bytes, 8).into()));
                }
                3 if length >= 16 => break (length, self.simple(bytes, length)),
                1 => self.interface(window, length),
                _ => {}
            }
            if !window.skip(length.into()) {
                return Err(End::CutOff);
            }
        };
        let Body { interface, ticks, captured, length, at } = packet;
        // What a packet claims beyond its block is not there.
        let room = (place as usize).saturating_sub(at + 4);
        let taken = (captured as usize).min(room).min(LONGEST);
        if !window.fill((place as usize).min(at + LONGEST)) {
            return Err(End::CutOff);
        }
        *held = place.into();
        let interface = self.interfaces.get(interface as usize);
        if let Some((interface, ticks)) = interface.zip(ticks) {
            self.time = interface.time(ticks);
        }
        let link = interface.map_or(NO_LINK, |interface| interface.link);
        // Only there it is asked for.
        self.outbound = None;
        if link == SERIAL_LINK && ticks.is_some() {
            let options = (at + taken.next_multiple_of(4))..(place as usize).saturating_sub(4);
            self.outbound = direction(self.order, window.bytes().get(options).unwrap_or_default());
        }
        let bytes = window.bytes().get(at..at + taken).unwrap_or_default();
        Ok(Packet { time: self.time, link, length: length.max(taken as u32), bytes })
    }

    /// The length of the block that comes next, whose first bytes are in the window.
    fn block(&mut self, window: &mut Window) -> Result<u32, End> {
        if !window.fill(12) {
            return Err(if window.bytes().is_empty() { End::Whole } else { End::CutOff });
        }
        let bytes = window.bytes();
        if bytes.starts_with(&SECTION) {
            self.order = match bytes.get(8..12) {
                Some([0x1A, 0x2B, 0x3C, 0x4D]) => Order::Big,
                Some([0x4D, 0x3C, 0x2B, 0x1A]) => Order::Little,
                _ => return Err(End::Damaged("a section's order of bytes is none")),
            };
            self.interfaces.clear();
            self.begun = true;
        }
        if !self.begun {
            return Err(End::Damaged("a block stands before the first section"));
        }
        let length = self.order.u32(bytes, 4);
        if length < 12 || !length.is_multiple_of(4) {
            return Err(End::Damaged("a block's length is impossible"));
        }
        // As much of it as any packet's header has; what is missing is noticed when it is skipped.
        window.fill((length as usize).min(32));
        Ok(length)
    }

    fn interface(&mut self, window: &mut Window, length: u32) {
        let read = (length as usize).min(READ);
        window.fill(read);
        let bytes = window.bytes();
        let bytes = bytes.get(..read.min(bytes.len())).unwrap_or_default();
        let order = self.order;
        let mut interface = Interface {
            link: order.u16(bytes, 8),
            snaplen: order.u32(bytes, 12),
            unit: Unit::Decimal(6),
            offset: 0,
        };
        let mut options = bytes.get(16..).unwrap_or_default();
        while let [_, _, _, _, rest @ ..] = options {
            let (code, count) = (order.u16(options, 0), usize::from(order.u16(options, 2)));
            let Some(value) = rest.get(..count) else { break };
            match (code, value) {
                (0, _) => break,
                (9, [unit]) if unit & 0x80 == 0 => interface.unit = Unit::Decimal(*unit),
                (9, [unit]) => interface.unit = Unit::Binary(unit & 0x7F),
                (14, [_, _, _, _, _, _, _, _]) => {
                    let (first, second) = (order.u32(value, 0), order.u32(value, 4));
                    let (high, low) = match order {
                        Order::Big => (first, second),
                        Order::Little => (second, first),
                    };
                    interface.offset = (u64::from(high) << 32 | u64::from(low)) as i64;
                }
                _ => {}
            }
            options = rest.get(count.next_multiple_of(4)..).unwrap_or_default();
        }
        if self.interfaces.len() < MAX_INTERFACES {
            self.interfaces.push(interface);
        }
    }

    fn simple(&self, bytes: &[u8], block: u32) -> Body {
        let length = self.order.u32(bytes, 8);
        let snaplen = self.interfaces.first().map_or(0, |interface| interface.snaplen);
        let captured = if snaplen == 0 { length } else { length.min(snaplen) };
        let captured = captured.min(block.saturating_sub(16));
        Body { interface: 0, ticks: None, captured, length, at: 12 }
    }
}

/// The direction among a packet's options.
fn direction(order: Order, mut options: &[u8]) -> Option<bool> {
    while let [_, _, _, _, rest @ ..] = options {
        let (code, count) = (order.u16(options, 0), usize::from(order.u16(options, 2)));
        match (code, rest.get(..count)?) {
            (0, _) => return None,
            (2, value @ [_, _, _, _]) => {
                return match order.u32(value, 0) & 3 {
                    1 => Some(false),
                    2 => Some(true),
                    _ => None,
                };
            }
            _ => {}
        }
        options = rest.get(count.next_multiple_of(4)..)?;
    }
    None
}

/// Where a packet is in its block.
struct Body {
    interface: u32,
    ticks: Option<u64>,
    captured: u32,
    length: u32,
    at: usize,
}

impl Body {
    fn stamped(order: Order, bytes: &[u8], interface: u32) -> Self {
        let ticks = u64::from(order.u32(bytes, 12)) << 32 | u64::from(order.u32(bytes, 16));
        let (captured, length) = (order.u32(bytes, 20), order.u32(bytes, 24));
        Body { interface, ticks: Some(ticks), captured, length, at: 28 }
    }
}

impl Interface {
    /// Nanoseconds since 1970, as near as 64 bits come.
    fn time(&self, ticks: u64) -> i64 {
        let since = match self.unit {
            Unit::Decimal(digits @ 0..=9) => i128::from(ticks) * 10_i128.pow(u32::from(9 - digits)),
            Unit::Decimal(digits) => {
                let unit = 10_i128.checked_pow(u32::from(digits) - 9);
                unit.map_or(0, |unit| i128::from(ticks) / unit)
            }
            Unit::Binary(digits) => (i128::from(ticks) * 1_000_000_000) >> digits.min(120),
        };
        let time = since + i128::from(self.offset) * 1_000_000_000;
        time.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}
