use std::io::Write;

use super::{
    super::{Error, Field, Kind, Points, text::Lines},
    Encoding,
};

/// Lines that a header may have: there are ten, and comments.
const MAX_LINES: usize = 1000;

/// A header that makes sense.
pub(super) struct Header {
    pub(super) fields: Vec<Field>,
    pub(super) width: Option<usize>,
    pub(super) viewpoint: [f64; 7],
    pub(super) points: usize,
    pub(super) encoding: Encoding,
}

/// The lines as they stand.
#[derive(Default)]
struct Entries<'a> {
    fields: Vec<&'a str>,
    sizes: Vec<&'a str>,
    types: Vec<&'a str>,
    counts: Option<Vec<&'a str>>,
    width: Option<usize>,
    height: Option<usize>,
    viewpoint: Option<[f64; 7]>,
    points: Option<usize>,
}

impl Header {
    pub(super) fn read(lines: &mut Lines<'_>) -> Result<Self, Error> {
        let mut entries = Entries::default();
        for _ in 0..MAX_LINES {
            let line = lines.header()?;
            if let Some(encoding) = entries.take(line).map_err(|error| error.at(lines.number))? {
                return entries.checked(encoding).map_err(|error| error.at(lines.number));
            }
        }
        Err(Error::new("header", format!("DATA within {MAX_LINES} lines"), "none"))
    }
}

impl<'a> Entries<'a> {
    /// Takes a line; DATA, the last one, gives the encoding.
    fn take(&mut self, line: &'a str) -> Result<Option<Encoding>, Error> {
        let mut words = line.split_ascii_whitespace();
        let Some(keyword) = words.next().filter(|word| !word.starts_with('#')) else {
            return Ok(None);
        };
        match keyword {
            "VERSION" => {}
            // `COLUMNS` in files of early versions.
            "FIELDS" | "COLUMNS" => self.fields = words.collect(),
            "SIZE" => self.sizes = words.collect(),
            "TYPE" => self.types = words.collect(),
            "COUNT" => self.counts = Some(words.collect()),
            "WIDTH" => self.width = Some(whole("WIDTH", words.next())?),
            "HEIGHT" => self.height = Some(whole("HEIGHT", words.next())?),
            "POINTS" => self.points = Some(whole("POINTS", words.next())?),
            "VIEWPOINT" => {
                let numbers: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
                let numbers = numbers.and_then(|numbers| numbers.try_into().ok());
                let wrong = || Error::new("VIEWPOINT", "seven numbers", line);
                self.viewpoint = Some(numbers.ok_or_else(wrong)?);
            }
            "DATA" => {
                return match words.next().unwrap_or_default().to_ascii_lowercase().as_str() {
                    "ascii" => Ok(Some(Encoding::Ascii)),
                    "binary" => Ok(Some(Encoding::Binary)),
                    "binary_compressed" => Ok(Some(Encoding::Compressed)),
                    word => Err(Error::new("DATA", "ascii, binary or binary_compressed", word)),
                };
            }
            word => return Err(Error::new("header", "a line of a PCD header", word)),
        }
        Ok(None)
    }

    fn checked(self, encoding: Encoding) -> Result<Header, Error> {
        let columns = self.fields.len();
        let counts = self.counts.unwrap_or_else(|| vec!["1"; columns]);
        for (field, len) in
            [("SIZE", self.sizes.len()), ("TYPE", self.types.len()), ("COUNT", counts.len())]
        {
            if len != columns {
                return Err(Error::new(field, format!("{columns} entries, as FIELDS has"), len));
            }
        }
        let described = self.sizes.iter().zip(&self.types).zip(&counts);
        let fields = self.fields.iter().zip(described).map(|(name, ((size, kind), count))| {
            let kind = kind_of(kind, size)?;
            Ok(Field { name: (*name).into(), kind, count: whole("COUNT", Some(count))? })
        });
        let fields: Vec<_> = fields.collect::<Result<_, Error>>()?;
        let points = match (self.points, self.width, self.height) {
            (points, Some(width), height) => {
                let product = width.checked_mul(height.unwrap_or(1));
                let product = product
                    .ok_or_else(|| Error::new("WIDTH x HEIGHT", "a number of points", "more"))?;
                match points {
                    Some(points) if points != product => {
                        let wanted = format!("{product}, which is WIDTH x HEIGHT");
                        return Err(Error::new("POINTS", wanted, points));
                    }
                    _ => product,
                }
            }
            (Some(points), None, _) => points,
            (None, None, _) => return Err(Error::new("POINTS", "a number", "no such line")),
        };
        let organised = self.height.is_some_and(|height| height > 1);
        Ok(Header {
            fields,
            width: self.width.filter(|_| organised),
            viewpoint: self.viewpoint.unwrap_or([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]),
            points,
            encoding,
        })
    }
}

/// A header and all its lines.
pub(super) fn write(points: &Points, encoding: Encoding) -> Vec<u8> {
    let ascii = encoding == Encoding::Ascii;
    let kind = |field: &Field| if ascii { ascii_kind(field) } else { field.kind };
    let line = |word: fn(&Field, Kind) -> String| -> String {
        points.fields().iter().map(|field| format!(" {}", word(field, kind(field)))).collect()
    };
    let count = points.len();
    let width = points.width.filter(|width| *width > 0 && count.is_multiple_of(*width));
    let width = width.unwrap_or(count);
    let height = count.checked_div(width).unwrap_or(1);
    let view: String = points.viewpoint.iter().map(|number| format!(" {number}")).collect();
    let mut out = Vec::new();
    // Writing to a vector does not fail.
    let _ = write!(
        out,
        "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS{}\nSIZE{}\nTYPE{}\n\
         COUNT{}\nWIDTH {width}\nHEIGHT {height}\nVIEWPOINT{view}\nPOINTS {count}\nDATA {}\n",
        line(|field, _| field.name.clone()),
        line(|_, kind| kind.size().to_string()),
        line(|_, kind| letter(kind).into()),
        line(|field, _| field.count.to_string()),
        encoding.word(),
    );
    out
}

/// The type of a field in a file of text.
pub(super) fn ascii_kind(field: &Field) -> Kind {
    if field.is_packed_colour() { Kind::U32 } else { field.kind }
}

fn letter(kind: Kind) -> &'static str {
    match kind {
        Kind::I8 | Kind::I16 | Kind::I32 | Kind::I64 => "I",
        Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 => "U",
        Kind::F32 | Kind::F64 => "F",
    }
}

fn kind_of(letter: &str, size: &str) -> Result<Kind, Error> {
    Ok(match (letter, size) {
        ("I", "1") => Kind::I8,
        ("U", "1") => Kind::U8,
        ("I", "2") => Kind::I16,
        ("U", "2") => Kind::U16,
        ("I", "4") => Kind::I32,
        ("U", "4") => Kind::U32,
        ("I", "8") => Kind::I64,
        ("U", "8") => Kind::U64,
        ("F", "4") => Kind::F32,
        ("F", "8") => Kind::F64,
        _ => {
            let wanted = "I or U of 1, 2, 4 or 8 bytes, or F of 4 or 8";
            return Err(Error::new("TYPE", wanted, format!("{letter} of {size}")));
        }
    })
}

fn whole(field: &'static str, word: Option<&str>) -> Result<usize, Error> {
    let word = word.unwrap_or("nothing");
    word.parse().map_err(|_| Error::new(field, "a whole number", word))
}
