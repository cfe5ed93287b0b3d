//! Point Cloud Data: a header of text, then points in one of three encodings.
//!
//! ```text
//! # .PCD v0.7 - Point Cloud Data file format
//! VERSION 0.7
//! FIELDS x y z rgb          names; _ fills a gap
//! SIZE 4 4 4 4              bytes of a number
//! TYPE F F F F              I, U or F
//! COUNT 1 1 1 1             numbers of a field
//! WIDTH 22783
//! HEIGHT 1
//! VIEWPOINT 0 0 0 1 0 0 0
//! POINTS 22783
//! DATA ascii                or binary: rows; or binary_compressed: u32 packed length, u32
//!                           length, then by LZF all of the first field, all of the second, …
//! ```

mod header;

use super::{Error, MAX_BYTES, Points, lzf, text};
use header::Header;

/// How points stand in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    /// A line of text each.
    Ascii,
    /// A row of bytes each.
    #[default]
    Binary,
    /// All numbers of a field after another, packed by LZF.
    Compressed,
}

impl Encoding {
    /// The header's word.
    pub const fn word(self) -> &'static str {
        match self {
            Encoding::Ascii => "ascii",
            Encoding::Binary => "binary",
            Encoding::Compressed => "binary_compressed",
        }
    }
}

/// Whether the content could be such a file.
pub fn looks_like(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|byte| *byte == b'\n').take(16);
    let first = lines.find(|line| !line.starts_with(b"#") && !line.trim_ascii().is_empty());
    let word = first.and_then(|line| line.split(u8::is_ascii_whitespace).next());
    bytes.starts_with(b"# .PCD") || word.is_some_and(|word| matches!(word, b"VERSION" | b"FIELDS"))
}

/// Reads a file.
pub fn read(bytes: &[u8]) -> Result<(Points, Encoding), Error> {
    let mut lines = text::Lines::new(bytes);
    let header = Header::read(&mut lines)?;
    let mut points = Points::new(header.fields)?;
    (points.width, points.viewpoint) = (header.width, header.viewpoint);
    let wanted = points.row_len().checked_mul(header.points);
    match header.encoding {
        Encoding::Ascii => {
            text::read_points(&mut lines, header.points, &mut points)?;
            if let Some(line) = lines.filled() {
                return Err(Error::new("POINTS", format!("{}", header.points), "more")
                    .at(line.map_or(lines.number, |_| lines.number)));
            }
        }
        Encoding::Binary => {
            let body = lines.rest();
            let rows = wanted.and_then(|wanted| body.get(..wanted)).ok_or_else(|| {
                Error::new(
                    "POINTS",
                    format!("at most {}", body.len() / points.row_len()),
                    header.points,
                )
            })?;
            if body.len() - rows.len() >= points.row_len() {
                return Err(Error::new(
                    "POINTS",
                    format!("{}", body.len() / points.row_len()),
                    header.points,
                ));
            }
            points.push(rows)?;
        }
        Encoding::Compressed => read_compressed(lines.rest(), wanted, &mut points)?,
    }
    Ok((points, header.encoding))
}

fn read_compressed(body: &[u8], wanted: Option<usize>, points: &mut Points) -> Result<(), Error> {
    let number = |at: usize, field| -> Result<usize, Error> {
        let bytes = body.get(at..).and_then(<[u8]>::first_chunk);
        let bytes = bytes.ok_or_else(|| Error::new(field, "four bytes", "the file's end"))?;
        Ok(u32::from_le_bytes(*bytes) as usize)
    };
    let (packed, len) = (number(0, "packed length")?, number(4, "length")?);
    let wanted = wanted.filter(|wanted| *wanted <= MAX_BYTES).ok_or_else(|| {
        Error::new("POINTS", format!("points of at most {MAX_BYTES} bytes"), "more")
    })?;
    if len != wanted {
        return Err(Error::new("length", format!("{wanted}, by POINTS"), len));
    }
    let data = body[8..].get(..packed).ok_or_else(|| {
        Error::new("packed length", format!("at most {}", body.len() - 8), packed)
    })?;
    let columns = lzf::decompress(data, len)?;
    // An empty cloud has no rows to go through.
    let count = len / points.row_len();
    let mut rest = columns.as_slice();
    let mut rows = vec![0; len];
    let (row_len, mut offset) = (points.row_len(), 0);
    for size in points.fields().iter().map(super::Field::len) {
        let (column, others) = rest.split_at(size * count);
        for (row, value) in rows.chunks_exact_mut(row_len).zip(column.chunks_exact(size)) {
            row[offset..offset + size].copy_from_slice(value);
        }
        rest = others;
        offset += size;
    }
    points.push(&rows)
}

/// Writes a file. Colours are whole numbers in ASCII: as floats some are no number at all.
pub fn write(points: &Points, encoding: Encoding) -> Vec<u8> {
    let mut out = header::write(points, encoding);
    match encoding {
        Encoding::Ascii => points.rows().for_each(|row| write_line(points, row, &mut out)),
        Encoding::Binary => out.extend_from_slice(points.bytes()),
        Encoding::Compressed => {
            let columns = columns(points);
            let packed = lzf::compress(&columns);
            out.extend((packed.len() as u32).to_le_bytes());
            out.extend((columns.len() as u32).to_le_bytes());
            out.extend(packed);
        }
    }
    out
}

fn write_line(points: &Points, row: &[u8], out: &mut Vec<u8>) {
    let mut rest = row;
    for field in points.fields() {
        let kind = header::ascii_kind(field);
        for _ in 0..field.count {
            let (number, others) = rest.split_at(kind.size().min(rest.len()));
            if rest.len() < row.len() {
                out.push(b' ');
            }
            kind.write(number, out);
            rest = others;
        }
    }
    out.push(b'\n');
}

fn columns(points: &Points) -> Vec<u8> {
    let mut columns = Vec::with_capacity(points.bytes().len());
    let mut offset = 0;
    for size in points.fields().iter().map(super::Field::len) {
        for row in points.rows() {
            columns.extend_from_slice(&row[offset..offset + size]);
        }
        offset += size;
    }
    columns
}
