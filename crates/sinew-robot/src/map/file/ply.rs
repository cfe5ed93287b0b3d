//! Stanford's polygon format, of which the vertices count.
//!
//! ```text
//! ply
//! format binary_little_endian 1.0     or ascii, binary_big_endian
//! comment …
//! element vertex 1000
//! property float x
//! property uchar red
//! element face 10                     elements beside the vertices are passed over
//! property list uchar int vertex_indices
//! end_header
//! ```
//!
//! A colour in one number (PCD's `rgb`) is written as `red`, `green`, `blue` (and `alpha` where the
//! fourth byte is used), since all programs read those; [`pcd_colours`] turns them back.

mod colour;
mod header;

pub use colour::pcd_colours;

use super::{Error, Kind, Points, text};
use header::{Element, Header, Property};

/// How numbers stand in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Encoding {
    Ascii,
    LittleEndian,
    BigEndian,
}

impl Encoding {
    /// The header's word.
    pub const fn word(self) -> &'static str {
        match self {
            Encoding::Ascii => "ascii",
            Encoding::LittleEndian => "binary_little_endian",
            Encoding::BigEndian => "binary_big_endian",
        }
    }
}

/// Whether the content could be such a file.
pub fn looks_like(bytes: &[u8]) -> bool {
    bytes.starts_with(b"ply\n") || bytes.starts_with(b"ply\r\n")
}

/// Reads a file.
pub fn read(bytes: &[u8]) -> Result<(Points, Encoding), Error> {
    let mut lines = text::Lines::new(bytes);
    let Header { encoding, elements } = Header::read(&mut lines)?;
    let index = elements.iter().position(|element| element.name == "vertex");
    let index = index.ok_or_else(|| Error::new("element", "vertex", "others only"))?;
    let (before, vertex) = (&elements[..index], &elements[index]);
    let fields = vertex.properties.iter().map(|property| match property {
        Property::Number(field) => Ok(field.clone()),
        Property::List { name, .. } => {
            Err(Error::new("property", "single numbers in a vertex", format!("the list {name}")))
        }
    });
    let mut points = Points::new(fields.collect::<Result<_, _>>()?)?;
    if encoding == Encoding::Ascii {
        for element in before {
            skip_lines(&mut lines, element)?;
        }
        text::read_points(&mut lines, vertex.count, &mut points)?;
        return Ok((points, encoding));
    }
    let mut body = lines.rest();
    for element in before {
        body = skip_bytes(body, element, encoding)?;
    }
    let len = points.row_len().checked_mul(vertex.count);
    let rows = len.and_then(|len| body.get(..len)).ok_or_else(|| {
        let most = body.len() / points.row_len();
        Error::new("element vertex", format!("at most {most}, as there is room"), vertex.count)
    })?;
    if encoding == Encoding::LittleEndian {
        points.push(rows)?;
        return Ok((points, encoding));
    }
    let sizes: Vec<_> = points.fields().iter().map(|field| field.kind.size()).collect();
    let mut turned = Vec::with_capacity(points.row_len());
    for row in rows.chunks_exact(points.row_len()) {
        turned.clear();
        let mut rest = row;
        for size in &sizes {
            let (number, others) = rest.split_at(*size);
            turned.extend(number.iter().rev());
            rest = others;
        }
        points.push(&turned)?;
    }
    Ok((points, encoding))
}

fn skip_lines(lines: &mut text::Lines<'_>, element: &Element) -> Result<(), Error> {
    for index in 0..element.count {
        if lines.filled().transpose()?.is_none() {
            return Err(Error::new("element", format!("{} lines", element.count), index));
        }
    }
    Ok(())
}

/// What follows an element that is not read. Each of its lists takes bytes, so that a count that
/// lies comes to the file's end.
fn skip_bytes<'a>(
    mut body: &'a [u8],
    element: &Element,
    encoding: Encoding,
) -> Result<&'a [u8], Error> {
    let short = || Error::new("element", format!("{} of them", element.count), "the file's end");
    let fixed = element.properties.iter().try_fold(0_usize, |sum, property| match property {
        Property::Number(field) => Some(sum + field.len()),
        Property::List { .. } => None,
    });
    if let Some(size) = fixed {
        let len = size.checked_mul(element.count).ok_or_else(short)?;
        return body.get(len..).ok_or_else(short);
    }
    for _ in 0..element.count {
        for property in &element.properties {
            let len = match property {
                Property::Number(field) => field.len(),
                Property::List { length, item, .. } => {
                    let bytes = body.get(..length.size()).ok_or_else(short)?;
                    let count = match encoding {
                        Encoding::BigEndian => {
                            let turned: Vec<u8> = bytes.iter().rev().copied().collect();
                            length.value(&turned)
                        }
                        _ => length.value(bytes),
                    };
                    // What is negative or no number becomes zero.
                    let count = count.unwrap_or_default() as usize;
                    let items = count.checked_mul(item.size()).ok_or_else(short)?;
                    length.size().checked_add(items).ok_or_else(short)?
                }
            };
            body = body.get(len..).ok_or_else(short)?;
        }
    }
    Ok(body)
}

/// Writes a binary file, little endian. Numbers of 64 bits, which the format lacks, become doubles;
/// one that a double cannot hold is an error. What fills gaps is left out.
pub fn write(points: &Points) -> Result<Vec<u8>, Error> {
    let columns = colour::columns(points)?;
    let mut out = header::write(points.len(), &columns);
    for row in points.rows() {
        for column in &columns {
            let number = &row[column.offset..column.offset + column.stored.size()];
            match (column.stored, column.kind) {
                (Kind::I64 | Kind::U64, _) => {
                    let value = exact(column.stored, number).ok_or_else(|| {
                        let wanted = "whole numbers that a double holds: PLY has no others";
                        Error::new("field", wanted, &column.name)
                    })?;
                    out.extend(value.to_le_bytes());
                }
                _ => out.extend_from_slice(number),
            }
        }
    }
    Ok(out)
}

/// A whole number of 64 bits as a double, when it is the same number.
fn exact(kind: Kind, bytes: &[u8]) -> Option<f64> {
    let value = kind.value(bytes)?;
    let bytes = *bytes.first_chunk()?;
    let same = match kind {
        Kind::I64 => value as i128 == i128::from(i64::from_le_bytes(bytes)),
        _ => value as i128 == i128::from(u64::from_le_bytes(bytes)),
    };
    same.then_some(value)
}
