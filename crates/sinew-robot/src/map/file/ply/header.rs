use std::io::Write;

use super::{
    super::{Error, Field, Kind, text::Lines},
    Encoding,
    colour::Column,
};

/// Lines that a header may have.
const MAX_LINES: usize = 1000;

pub(super) struct Header {
    pub(super) encoding: Encoding,
    pub(super) elements: Vec<Element>,
}

pub(super) struct Element {
    pub(super) name: String,
    pub(super) count: usize,
    pub(super) properties: Vec<Property>,
}

pub(super) enum Property {
    Number(Field),
    List { name: String, length: Kind, item: Kind },
}

impl Header {
    pub(super) fn read(lines: &mut Lines<'_>) -> Result<Self, Error> {
        let mut encoding = None;
        let mut elements: Vec<Element> = Vec::new();
        for _ in 0..MAX_LINES {
            let line = lines.header()?;
            let at = |error: Error| error.at(lines.number);
            let mut words = line.split_ascii_whitespace();
            match words.next() {
                None | Some("ply" | "comment" | "obj_info") => {}
                Some("format") => encoding = Some(encoding_of(words.next()).map_err(at)?),
                Some("element") => {
                    let name = words.next().unwrap_or_default().into();
                    let count = words.next().unwrap_or_default();
                    let count = count.parse().map_err(|_| {
                        at(Error::new("element", "a name and a whole number", line))
                    })?;
                    elements.push(Element { name, count, properties: Vec::new() });
                }
                Some("property") => {
                    let element = elements.last_mut();
                    let element =
                        element.ok_or_else(|| at(Error::new("property", "an element", "none")))?;
                    let words: Vec<_> = words.collect();
                    element.properties.push(Property::parse(&words).map_err(at)?);
                }
                Some("end_header") => {
                    let encoding =
                        encoding.ok_or_else(|| at(Error::new("format", "a line of it", "none")))?;
                    return Ok(Header { encoding, elements });
                }
                Some(word) => {
                    return Err(at(Error::new("header", "a line of a PLY header", word)));
                }
            }
        }
        Err(Error::new("header", format!("end_header within {MAX_LINES} lines"), "none"))
    }
}

impl Property {
    fn parse(words: &[&str]) -> Result<Self, Error> {
        match words {
            ["list", length, item, name] => Ok(Property::List {
                name: (*name).into(),
                length: kind_of(length)?,
                item: kind_of(item)?,
            }),
            [kind, name] => Ok(Property::Number(Field::new(*name, kind_of(kind)?))),
            _ => Err(Error::new("property", "a type and a name", words.join(" "))),
        }
    }
}

pub(super) fn write(count: usize, columns: &[Column]) -> Vec<u8> {
    let mut out = Vec::new();
    // Writing to a vector does not fail.
    let _ = write!(out, "ply\nformat binary_little_endian 1.0\nelement vertex {count}\n");
    for column in columns {
        let _ = writeln!(out, "property {} {}", word(column.kind), column.name);
    }
    out.extend(b"end_header\n");
    out
}

fn encoding_of(word: Option<&str>) -> Result<Encoding, Error> {
    match word.unwrap_or_default() {
        "ascii" => Ok(Encoding::Ascii),
        "binary_little_endian" => Ok(Encoding::LittleEndian),
        "binary_big_endian" => Ok(Encoding::BigEndian),
        word => Err(Error::new("format", "ascii or binary of a byte order", word)),
    }
}

fn kind_of(word: &str) -> Result<Kind, Error> {
    Ok(match word {
        "char" | "int8" => Kind::I8,
        "uchar" | "uint8" => Kind::U8,
        "short" | "int16" => Kind::I16,
        "ushort" | "uint16" => Kind::U16,
        "int" | "int32" => Kind::I32,
        "uint" | "uint32" => Kind::U32,
        "float" | "float32" => Kind::F32,
        "double" | "float64" => Kind::F64,
        _ => return Err(Error::new("property", "a type of PLY", word)),
    })
}

const fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::I8 => "char",
        Kind::U8 => "uchar",
        Kind::I16 => "short",
        Kind::U16 => "ushort",
        Kind::I32 => "int",
        Kind::U32 => "uint",
        Kind::F32 => "float",
        Kind::I64 | Kind::U64 | Kind::F64 => "double",
    }
}
