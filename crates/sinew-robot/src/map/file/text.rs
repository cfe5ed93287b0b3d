//! Lines and numbers of files that people could have written.

use super::{Error, Kind, Points};

/// Most bytes of a header: without an end of it a file is no text.
const MAX_HEADER: usize = 64 << 10;

/// The lines of a file, counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lines<'a> {
    rest: &'a [u8],
    /// Of the line that came last, from 1.
    pub(super) number: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Lines { rest: bytes, number: 0 }
    }

    /// What has not been read.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// A line of the header, without what ends it.
    pub(super) fn header(&mut self) -> Result<&'a str, Error> {
        if self.rest.is_empty() {
            return Err(Error::new("header", "its end", "the file's end").at(self.number));
        }
        let long = || Error::new("header", format!("lines of {MAX_HEADER} bytes"), "longer ones");
        match self.rest.iter().take(MAX_HEADER).any(|byte| *byte == b'\n') {
            true => self.next_line().unwrap_or(Ok("")),
            false if self.rest.len() < MAX_HEADER => self.next_line().unwrap_or(Ok("")),
            false => Err(long().at(self.number + 1)),
        }
    }

    /// The next line that is not empty.
    pub(super) fn filled(&mut self) -> Option<Result<&'a str, Error>> {
        loop {
            match self.next_line()? {
                Ok(line) if line.trim().is_empty() => {}
                line => return Some(line),
            }
        }
    }

    fn next_line(&mut self) -> Option<Result<&'a str, Error>> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|byte| *byte == b'\n').unwrap_or(self.rest.len());
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..).unwrap_or_default();
        self.number += 1;
        let line = str::from_utf8(line.strip_suffix(b"\r").unwrap_or(line));
        Some(line.map_err(|_| Error::new("line", "text", "bytes that are none").at(self.number)))
    }
}

/// Reads `count` points that stand as text, one a line.
pub(super) fn read_points(
    lines: &mut Lines<'_>,
    count: usize,
    points: &mut Points,
) -> Result<(), Error> {
    let plan: Vec<(Kind, bool)> = points
        .fields()
        .iter()
        .flat_map(|field| vec![(field.kind, field.is_packed_colour()); field.count])
        .collect();
    let mut row = Vec::with_capacity(points.row_len());
    for index in 0..count {
        let line = lines
            .filled()
            .ok_or_else(|| Error::new("points", format!("{count}"), index).at(lines.number))??;
        row.clear();
        let mut words = line.split_ascii_whitespace();
        for (kind, is_colour) in &plan {
            let word = words.next().ok_or_else(|| {
                Error::new("point", format!("{} numbers", plan.len()), line).at(lines.number)
            })?;
            let wrong = || Error::new("number", kind.wanted(), word).at(lines.number);
            kind.parse(word, *is_colour, &mut row).ok_or_else(wrong)?;
        }
        if words.next().is_some() {
            return Err(
                Error::new("point", format!("{} numbers", plan.len()), line).at(lines.number)
            );
        }
        points.push(&row)?;
    }
    Ok(())
}

impl Kind {
    fn wanted(self) -> String {
        match self {
            Kind::F32 | Kind::F64 => "a number".into(),
            kind => format!("a whole number of {} bytes", kind.size()),
        }
    }

    /// Appends what a word says.
    ///
    /// A colour is declared as a float because its bits once had to fit into one; some programs
    /// write the bits as a whole number nonetheless, which no float of a colour looks like.
    fn parse(self, word: &str, is_colour: bool, row: &mut Vec<u8>) -> Option<()> {
        if is_colour && let Ok(bits) = word.parse::<i64>() {
            let bits = u32::try_from(bits).or_else(|_| i32::try_from(bits).map(|bits| bits as u32));
            row.extend(bits.ok()?.to_le_bytes());
            return Some(());
        }
        match self {
            Kind::I8 => row.extend(i8::try_from(whole(word)?).ok()?.to_le_bytes()),
            Kind::U8 => row.extend(u8::try_from(whole(word)?).ok()?.to_le_bytes()),
            Kind::I16 => row.extend(i16::try_from(whole(word)?).ok()?.to_le_bytes()),
            Kind::U16 => row.extend(u16::try_from(whole(word)?).ok()?.to_le_bytes()),
            Kind::I32 => row.extend(i32::try_from(whole(word)?).ok()?.to_le_bytes()),
            Kind::U32 => row.extend(u32::try_from(whole(word)?).ok()?.to_le_bytes()),
            Kind::I64 => row.extend(i64::try_from(whole(word)?).ok()?.to_le_bytes()),
            Kind::U64 => row.extend(u64::try_from(whole(word)?).ok()?.to_le_bytes()),
            Kind::F32 => row.extend(word.parse::<f32>().ok()?.to_le_bytes()),
            Kind::F64 => row.extend(word.parse::<f64>().ok()?.to_le_bytes()),
        }
        Some(())
    }

    /// Writes a number of a row as text that reads as the same number.
    pub(super) fn write(self, bytes: &[u8], out: &mut Vec<u8>) {
        use std::io::Write;
        // Writing to a vector does not fail; a row has all its bytes.
        let _ = match self {
            Kind::F32 => match bytes.first_chunk().map(|bytes| f32::from_le_bytes(*bytes)) {
                Some(value) if value == 0.0 || (1e-4..1e7).contains(&value.abs()) => {
                    write!(out, "{value}")
                }
                Some(value) if value.is_finite() => write!(out, "{value:e}"),
                Some(value) => out.write_all(special(value.into()).as_bytes()),
                None => Ok(()),
            },
            Kind::F64 => match bytes.first_chunk().map(|bytes| f64::from_le_bytes(*bytes)) {
                Some(value) if value == 0.0 || (1e-4..1e15).contains(&value.abs()) => {
                    write!(out, "{value}")
                }
                Some(value) if value.is_finite() => write!(out, "{value:e}"),
                Some(value) => out.write_all(special(value).as_bytes()),
                None => Ok(()),
            },
            Kind::I64 => match bytes.first_chunk() {
                Some(bytes) => write!(out, "{}", i64::from_le_bytes(*bytes)),
                None => Ok(()),
            },
            Kind::U64 => match bytes.first_chunk() {
                Some(bytes) => write!(out, "{}", u64::from_le_bytes(*bytes)),
                None => Ok(()),
            },
            // Whole numbers of 32 bits and less are whole in a float of 64, too.
            kind => write!(out, "{}", kind.value(bytes).unwrap_or_default()),
        };
    }
}

fn special(value: f64) -> &'static str {
    if value.is_nan() {
        "nan"
    } else if value > 0.0 {
        "inf"
    } else {
        "-inf"
    }
}

/// A whole number, also one written as `1.0` or `1e3`.
fn whole(word: &str) -> Option<i128> {
    word.parse().ok().or_else(|| {
        let value: f64 = word.parse().ok()?;
        (value.fract() == 0.0 && value.abs() < 1e18).then_some(value as i128)
    })
}
