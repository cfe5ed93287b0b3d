use super::super::{Error, Field, Kind, Points};

/// A property of the file, and where it stands in a row.
pub(super) struct Column {
    pub(super) name: String,
    /// As the file has it.
    pub(super) kind: Kind,
    /// As the row has it.
    pub(super) stored: Kind,
    pub(super) offset: usize,
}

/// The bytes of a colour, from the least significant one on.
const PARTS: [&str; 4] = ["blue", "green", "red", "alpha"];

/// The properties that points become.
pub(super) fn columns(points: &Points) -> Result<Vec<Column>, Error> {
    let mut columns: Vec<Column> = Vec::new();
    let mut offset = 0;
    for field in points.fields() {
        let begins = offset;
        offset += field.len();
        if field.is_packed_colour() {
            let used = field.name == "rgba" || points.rows().any(|row| row[begins + 3] != 0);
            let parts: &[usize] = if used { &[2, 1, 0, 3] } else { &[2, 1, 0] };
            columns.extend(parts.iter().map(|part| Column {
                name: PARTS[*part].into(),
                kind: Kind::U8,
                stored: Kind::U8,
                offset: begins + part,
            }));
        } else if !field.is_padding() {
            let kind = match field.kind {
                Kind::I64 | Kind::U64 => Kind::F64,
                kind => kind,
            };
            columns.extend((0..field.count).map(|index| Column {
                name: match field.count {
                    1 => field.name.clone(),
                    _ => format!("{}_{index}", field.name),
                },
                kind,
                stored: field.kind,
                offset: begins + index * field.kind.size(),
            }));
        }
    }
    for (index, column) in columns.iter().enumerate() {
        if columns[..index].iter().any(|other| other.name == column.name) {
            return Err(Error::new("field", "names that differ: PLY needs them", &column.name));
        }
    }
    Ok(columns)
}

/// The same points with `red`, `green` and `blue` (and `alpha`) as one number, as programs that read
/// PCD expect a colour: `rgb`, declared as a float, or `rgba`. Others are left as they are.
pub fn pcd_colours(points: Points) -> Result<Points, Error> {
    let part = |name: &str| match points.field(name) {
        Some((field, offset)) if field.kind == Kind::U8 && field.count == 1 => Some(offset),
        _ => None,
    };
    let (Some(red), Some(green), Some(blue)) = (part("red"), part("green"), part("blue")) else {
        return Ok(points);
    };
    if points.field("rgb").is_some() || points.field("rgba").is_some() {
        return Ok(points);
    }
    let alpha = part("alpha");
    let is_part = |field: &Field, offset: usize| {
        field.count == 1 && [Some(red), Some(green), Some(blue), alpha].contains(&Some(offset))
    };
    let mut kept: Vec<(Field, usize)> = Vec::new();
    let mut offset = 0;
    for field in points.fields() {
        let begins = offset;
        offset += field.len();
        if begins == red {
            let (name, kind) = match alpha {
                None => ("rgb", Kind::F32),
                Some(_) => ("rgba", Kind::U32),
            };
            kept.push((Field::new(name, kind), begins));
        } else if !is_part(field, begins) {
            kept.push((field.clone(), begins));
        }
    }
    let mut packed = Points::new(kept.iter().map(|(field, _)| field.clone()).collect())?;
    (packed.width, packed.viewpoint) = (points.width, points.viewpoint);
    for row in points.rows() {
        for (field, offset) in &kept {
            if *offset == red {
                let alpha = alpha.map_or(0, |alpha| row[alpha]);
                packed.push(&[row[blue], row[green], row[red], alpha])?;
            } else {
                packed.push(&row[*offset..*offset + field.len()])?;
            }
        }
    }
    Ok(packed)
}
