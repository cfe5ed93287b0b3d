use core::fmt;

use super::Sequence;
use crate::{
    Error, Result, Wanted,
    bytes::{Reader, Writer},
};

/// UDP port of the teaching service.
pub const PORT: u16 = 49504;
/// What every datagram begins with.
pub const MAGIC: [u8; 6] = [0x17, 0xFE, 0xFD, 0x00, 0x01, 0x00];

const CHECK_LEN: usize = 4;

/// One of the two incompatible layouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// The byte tables, the Python builder and every example of document 002: a 15-byte header.
    #[default]
    Documented,
    /// Most examples of document 001 and all stated packet sizes: a 13-byte header.
    Compact,
}

impl Layout {
    /// What stands between the sequence number and the command.
    const fn reserved(self) -> &'static [u8] {
        match self {
            Layout::Documented => &[0x00, 0x00, 0x00, 0x01],
            Layout::Compact => &[0x00, 0x01],
        }
    }

    /// Bytes before the payload.
    pub const fn header_len(self) -> usize {
        MAGIC.len() + 2 + self.reserved().len() + 1 + 2
    }

    /// Bytes of a datagram that are not payload.
    pub const fn overhead(self) -> usize {
        self.header_len() + CHECK_LEN
    }

    /// What a payload of `documented` bytes in the documented layout has in this one.
    pub const fn payload_len(self, documented: usize) -> usize {
        match self {
            Layout::Documented => documented,
            Layout::Compact => documented.saturating_sub(4),
        }
    }

    /// What the length field counts besides the payload.
    const fn counted_check(self) -> usize {
        match self {
            Layout::Documented => 0,
            Layout::Compact => CHECK_LEN,
        }
    }

    /// The length that a datagram's length field declares for all of it.
    pub fn declared_len(self, bytes: &[u8]) -> Option<usize> {
        let field = bytes.get(self.header_len() - 2..self.header_len())?.first_chunk()?;
        let payload = usize::from(u16::from_be_bytes(*field)).checked_sub(self.counted_check())?;
        Some(self.overhead() + payload)
    }

    /// The layout that bytes 8 to 12 speak for.
    fn by_reserved(bytes: &[u8]) -> Self {
        match bytes.get(8..12) {
            Some([0x00, 0x00, 0x00, 0x01]) => Layout::Documented,
            _ => Layout::Compact,
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Layout::Documented => "documented",
            Layout::Compact => "compact",
        })
    }
}

/// A datagram whose header, length and check are right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// The layout it came in; answer in the same.
    pub layout: Layout,
    /// Its number.
    pub sequence: Sequence,
    /// The command byte.
    pub command: u8,
    /// What stands between header and check.
    pub payload: &'a [u8],
    /// Two or four bytes before the command; the documents know one value for each layout.
    pub reserved: &'a [u8],
}

impl<'a> Datagram<'a> {
    /// Checks a whole datagram. Its length decides the layout, bytes 8 to 12 when both would do.
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self> {
        let layout = Self::layout_of(bytes)?;
        let wanted = crc32fast::hash(bytes.get(..bytes.len() - CHECK_LEN).unwrap_or_default());
        let got = bytes.last_chunk().copied().map_or(0, u32::from_be_bytes);
        if wanted != got {
            return Err(Error::hex("check", 8, wanted.into(), got.into()));
        }
        Self::split(bytes, layout)
    }

    /// The layout whose length field counts these bytes; the check may be anything.
    pub fn layout_of(bytes: &[u8]) -> Result<Layout> {
        Self::check_magic(bytes)?;
        let fits = |layout: Layout| layout.declared_len(bytes) == Some(bytes.len());
        match (fits(Layout::Documented), fits(Layout::Compact)) {
            (true, true) => Ok(Layout::by_reserved(bytes)),
            (true, false) => Ok(Layout::Documented),
            (false, true) => Ok(Layout::Compact),
            (false, false) => {
                let layout = Layout::by_reserved(bytes);
                let wanted = match layout.declared_len(bytes) {
                    Some(len) => Wanted::Exactly(len as u64),
                    None => Wanted::AtLeast(layout.overhead() as u64),
                };
                Err(Error::count("datagram length", wanted, bytes.len()))
            }
        }
    }

    fn check_magic(bytes: &[u8]) -> Result<()> {
        match bytes.first_chunk() {
            Some(&MAGIC) => Ok(()),
            Some(other) => {
                let number = |bytes: &[u8]| bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b));
                Err(Error::hex("header", 12, number(&MAGIC), number(other)))
            }
            None => {
                let wanted = Wanted::AtLeast(Layout::Compact.overhead() as u64);
                Err(Error::count("datagram length", wanted, bytes.len()))
            }
        }
    }

    /// Takes a datagram apart whose length is right for `layout`.
    fn split(bytes: &'a [u8], layout: Layout) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        reader.take("header", MAGIC.len())?;
        let sequence = Sequence(reader.u16_be("sequence")?);
        let reserved = reader.take("reserved", layout.reserved().len())?;
        let [command] = reader.array("command")?;
        reader.u16_be("length")?;
        let payload_len = reader.rest().len().saturating_sub(CHECK_LEN);
        let payload = reader.take("payload", payload_len)?;
        Ok(Datagram { layout, sequence, command, payload, reserved })
    }

    /// Whether the reserved bytes are the documented ones.
    pub fn reserved_as_documented(&self) -> bool {
        self.reserved == self.layout.reserved()
    }

    /// Writes a datagram into `out` and returns how many bytes it took.
    pub fn emit(
        layout: Layout,
        sequence: Sequence,
        command: u8,
        payload: &[u8],
        out: &mut [u8],
    ) -> Result<usize> {
        Self::emit_with(layout, sequence, command, out, |out| out.put("payload", payload))
    }

    pub(super) fn emit_with(
        layout: Layout,
        sequence: Sequence,
        command: u8,
        out: &mut [u8],
        payload: impl FnOnce(&mut Writer<'_>) -> Result<()>,
    ) -> Result<usize> {
        let header_len = layout.header_len();
        let Some((header, body)) = out.split_at_mut_checked(header_len) else {
            let wanted = Wanted::AtLeast(layout.overhead() as u64);
            return Err(Error::count("output buffer", wanted, out.len()));
        };
        let mut writer = Writer::new(body);
        payload(&mut writer)?;
        let payload_len = writer.written().len();
        let Ok(length) = u16::try_from(payload_len + layout.counted_check()) else {
            let wanted = Wanted::AtMost(u16::MAX as u64 - layout.counted_check() as u64);
            return Err(Error::count("payload length", wanted, payload_len));
        };
        let mut writer = Writer::new(header);
        writer.put("header", &MAGIC)?;
        writer.put("sequence", &sequence.0.to_be_bytes())?;
        writer.put("reserved", layout.reserved())?;
        writer.put("command", &[command])?;
        writer.put("length", &length.to_be_bytes())?;
        let covered = header_len + payload_len;
        let check = crc32fast::hash(out.get(..covered).unwrap_or_default());
        let mut writer = Writer::new(out.get_mut(covered..).unwrap_or_default());
        writer.put("check", &check.to_be_bytes())?;
        Ok(covered + CHECK_LEN)
    }
}
