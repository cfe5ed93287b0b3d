//! Fields of protobuf messages, as they stand in the bytes.
//!
//! ```text
//! varint: number << 3 | wire type   content by the wire type:
//! 0 varint   1 eight bytes   2 varint length, bytes   5 four bytes, all little endian
//! ```

/// What is wrong with a message, in words.
pub(super) type Wrong = &'static str;

/// The largest number of a field.
const LAST: u64 = (1 << 29) - 1;
/// A varint's last byte is its tenth at the latest, and has one bit.
const LONGEST: usize = 10;

/// The content of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content<'a> {
    Varint(u64),
    Eight([u8; 8]),
    Bytes(&'a [u8]),
    Four([u8; 4]),
}

/// The fields of a message. After one that is wrong there are no more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Content<'a>), Wrong>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Result<(u64, Content<'a>), Wrong> {
        let tag = self.varint()?;
        let number = tag >> 3;
        if !(1..=LAST).contains(&number) {
            return Err("a field has a number that no field has");
        }
        let content = match tag & 7 {
            0 => Content::Varint(self.varint()?),
            1 => Content::Eight(self.chunk()?),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| CUT)?;
                let (bytes, rest) = self.0.split_at_checked(length).ok_or(CUT)?;
                self.0 = rest;
                Content::Bytes(bytes)
            }
            5 => Content::Four(self.chunk()?),
            _ => return Err("a field has a wire type that is not in use"),
        };
        Ok((number, content))
    }

    fn varint(&mut self) -> Result<u64, Wrong> {
        let mut number = 0;
        for index in 0..LONGEST {
            let (&byte, rest) = self.0.split_first().ok_or(CUT)?;
            self.0 = rest;
            if index == LONGEST - 1 && byte > 1 {
                break;
            }
            number |= u64::from(byte & 0x7F) << (7 * index);
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("a number has more than 64 bits")
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], Wrong> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(CUT)?;
        self.0 = rest;
        Ok(*bytes)
    }

    /// The content of fields of these numbers. Others are skipped; one that stands there twice is
    /// wrong, since readers disagree on which of them counts.
    pub(super) fn pick<const N: usize>(
        self,
        numbers: [u64; N],
    ) -> Result<[Option<Content<'a>>; N], Wrong> {
        let mut picked = [None; N];
        for field in self {
            let (number, content) = field?;
            let place = picked.iter_mut().zip(numbers).find(|(_, wanted)| *wanted == number);
            if let Some((place, _)) = place
                && place.replace(content).is_some()
            {
                return Err("a field stands there twice");
            }
        }
        Ok(picked)
    }
}

const CUT: Wrong = "it is cut off";

impl<'a> Content<'a> {
    pub(super) fn bytes(self) -> Result<&'a [u8], Wrong> {
        match self {
            Content::Bytes(bytes) => Ok(bytes),
            _ => Err("a number stands where a message or a text belongs"),
        }
    }

    pub(super) fn text(self) -> Result<&'a str, Wrong> {
        std::str::from_utf8(self.bytes()?).map_err(|_| "a text is not UTF-8")
    }

    pub(super) fn varint(self) -> Result<u64, Wrong> {
        match self {
            Content::Varint(number) => Ok(number),
            _ => Err("something else stands where a whole number belongs"),
        }
    }
}

pub(super) fn put_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A field that is a varint.
pub(super) fn put_number(field: u64, number: u64, out: &mut Vec<u8>) {
    put_varint(field << 3, out);
    put_varint(number, out);
}

/// A field that is bytes, a text or a message.
pub(super) fn put_bytes(field: u64, bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(field << 3 | 2, out);
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// A field of four bytes.
pub(super) fn put_float(field: u64, number: f32, out: &mut Vec<u8>) {
    put_varint(field << 3 | 5, out);
    out.extend_from_slice(&number.to_le_bytes());
}

/// A field of eight bytes.
pub(super) fn put_double(field: u64, number: f64, out: &mut Vec<u8>) {
    put_varint(field << 3 | 1, out);
    out.extend_from_slice(&number.to_le_bytes());
}
