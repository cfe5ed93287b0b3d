use super::Error;
use crate::mapping::Bounds;

/// Most bytes of points that are held: what a small file may unfold to ends here.
pub const MAX_BYTES: usize = 256 << 20;
/// Most fields of a point.
const MAX_FIELDS: usize = 256;
/// Most bytes of a point.
const MAX_ROW: usize = 16 << 10;
/// Most characters of a field's name.
const MAX_NAME: usize = 64;

/// Points with named fields, as a file has them.
///
/// A row is a point: the numbers of its fields one after another, little endian, without gaps.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    fields: Vec<Field>,
    row_len: usize,
    rows: Vec<u8>,
    /// Points of a row of an organised cloud; all of them in others.
    pub width: Option<usize>,
    /// From where they were seen: place and quaternion, w first.
    pub viewpoint: [f64; 7],
}

/// A field of a point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name; `_` fills a gap.
    pub name: String,
    /// The type of its numbers.
    pub kind: Kind,
    /// How many numbers it has.
    pub count: usize,
}

/// The type of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Kind {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl Kind {
    /// Bytes of a number.
    pub const fn size(self) -> usize {
        match self {
            Kind::I8 | Kind::U8 => 1,
            Kind::I16 | Kind::U16 => 2,
            Kind::I32 | Kind::U32 | Kind::F32 => 4,
            Kind::I64 | Kind::U64 | Kind::F64 => 8,
        }
    }

    /// The number that stands at the front of `bytes`, as near as 64 bits of a float get to it; none
    /// when there are too few.
    pub fn value(self, bytes: &[u8]) -> Option<f64> {
        Some(match self {
            Kind::I8 => i8::from_le_bytes(*bytes.first_chunk()?).into(),
            Kind::U8 => u8::from_le_bytes(*bytes.first_chunk()?).into(),
            Kind::I16 => i16::from_le_bytes(*bytes.first_chunk()?).into(),
            Kind::U16 => u16::from_le_bytes(*bytes.first_chunk()?).into(),
            Kind::I32 => i32::from_le_bytes(*bytes.first_chunk()?).into(),
            Kind::U32 => u32::from_le_bytes(*bytes.first_chunk()?).into(),
            Kind::I64 => i64::from_le_bytes(*bytes.first_chunk()?) as f64,
            Kind::U64 => u64::from_le_bytes(*bytes.first_chunk()?) as f64,
            Kind::F32 => f32::from_le_bytes(*bytes.first_chunk()?).into(),
            Kind::F64 => f64::from_le_bytes(*bytes.first_chunk()?),
        })
    }
}

impl Field {
    /// A field of one number.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Field { name: name.into(), kind, count: 1 }
    }

    /// Bytes of the field in a row.
    pub const fn len(&self) -> usize {
        self.kind.size() * self.count
    }

    /// Whether it has no numbers.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether it holds a colour in the bits of one number.
    pub(super) fn is_packed_colour(&self) -> bool {
        matches!(self.name.as_str(), "rgb" | "rgba")
            && matches!(self.kind, Kind::F32 | Kind::U32 | Kind::I32)
            && self.count == 1
    }

    /// Whether it fills a gap.
    pub(super) fn is_padding(&self) -> bool {
        self.name == "_"
    }
}

impl Points {
    /// No points, with these fields.
    pub fn new(fields: Vec<Field>) -> Result<Self, Error> {
        if fields.is_empty() || fields.len() > MAX_FIELDS {
            return Err(Error::new("fields", format!("1 to {MAX_FIELDS}"), fields.len()));
        }
        let mut row_len = 0_usize;
        for field in &fields {
            if field.name.len() > MAX_NAME {
                return Err(Error::new(
                    "field",
                    format!("a name of {MAX_NAME} bytes"),
                    &field.name,
                ));
            }
            let len = field.kind.size().checked_mul(field.count);
            row_len = len.and_then(|len| row_len.checked_add(len)).unwrap_or(usize::MAX);
            if field.count == 0 || row_len > MAX_ROW {
                let wanted = format!("numbers in each field, {MAX_ROW} bytes in all");
                return Err(Error::new(
                    "fields",
                    wanted,
                    format!("{} x {}", field.name, field.count),
                ));
            }
        }
        let viewpoint = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
        Ok(Points { fields, row_len, rows: Vec::new(), width: None, viewpoint })
    }

    /// Points with x, y and z only.
    pub fn from_xyz(points: &[[f32; 3]]) -> Result<Self, Error> {
        let fields = ["x", "y", "z"].map(|name| Field::new(name, Kind::F32));
        let mut all = Points::new(fields.into())?;
        for point in points {
            let [x, y, z] = point.map(f32::to_le_bytes);
            all.push([x, y, z].as_flattened())?;
        }
        Ok(all)
    }

    /// Adds bytes of rows; a point may come in pieces.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.rows.len() + bytes.len() > MAX_BYTES {
            return Err(Error::new("points", format!("at most {MAX_BYTES} bytes of them"), "more"));
        }
        self.rows.extend_from_slice(bytes);
        Ok(())
    }

    /// Their fields.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len() / self.row_len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of a point.
    pub fn row_len(&self) -> usize {
        self.row_len
    }

    /// The points, each as its bytes.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.rows.chunks_exact(self.row_len)
    }

    /// All points as bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.rows[..self.len() * self.row_len]
    }

    /// A field and where it begins in a row.
    pub fn field(&self, name: &str) -> Option<(&Field, usize)> {
        let mut offset = 0;
        self.fields.iter().find_map(|field| {
            let begins = offset;
            offset += field.len();
            (field.name == name).then_some((field, begins))
        })
    }

    /// x, y and z of each point; none when the points have no such fields.
    pub fn xyz(&self) -> Option<impl Iterator<Item = [f64; 3]>> {
        let axis = |name| self.field(name).map(|(field, offset)| (field.kind, offset));
        let axes = [axis("x")?, axis("y")?, axis("z")?];
        Some(self.rows().map(move |row| {
            axes.map(|(kind, offset)| {
                row.get(offset..).and_then(|bytes| kind.value(bytes)).unwrap_or(f64::NAN)
            })
        }))
    }

    /// The box around all points that have a place; none when none has.
    pub fn bounds(&self) -> Option<Bounds> {
        let mut bounds = Bounds { min: [f64::INFINITY; 3], max: [f64::NEG_INFINITY; 3] };
        let finite = |point: &[f64; 3]| point.iter().all(|axis| axis.is_finite());
        for point in self.xyz()?.filter(finite) {
            let reach = bounds.min.iter_mut().zip(&mut bounds.max);
            for (axis, (min, max)) in point.into_iter().zip(reach) {
                (*min, *max) = (min.min(axis), max.max(axis));
            }
        }
        (bounds.min[0] <= bounds.max[0]).then_some(bounds)
    }
}
