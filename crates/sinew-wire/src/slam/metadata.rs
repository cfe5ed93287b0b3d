use alloc::string::String;

use serde_json::{Value, error::Category};

use super::BoundingBox;
use crate::{Error, Got, Result, Wanted};

/// The formats that share the envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A G1's SLAM cloud.
    Slam,
    /// A GO2's voxel map.
    Voxel,
}

/// A message's JSON: what is known of it, and all of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Metadata {
    /// The topic it was published on.
    pub topic: Option<String>,
    /// The coordinate frame it names.
    pub frame_id: Option<String>,
    /// Whether it claims that no point is invalid.
    pub is_dense: Option<bool>,
    /// The box its points lie in.
    pub bounds: Option<BoundingBox>,
    /// What is wrong with the box, when some of it is there.
    pub problem: Option<Error>,
    /// The whole JSON.
    pub json: Value,
}

/// The JSON of a message, before it is known which format it describes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fields(Value);

impl Metadata {
    /// Parses the JSON of a SLAM cloud; a voxel map's is refused by name.
    pub fn parse(json: &[u8]) -> Result<Self> {
        let fields = Fields::parse(json)?;
        fields.expect(Format::Slam)?;
        let data = fields.data();
        let text = |value: &Value| value.as_str().map(String::from);
        let (bounds, problem) = match bounding_box(data) {
            Ok(bounds) => (bounds, None),
            Err(error) => (None, Some(error)),
        };
        Ok(Metadata {
            topic: text(&fields.0["topic"]),
            frame_id: text(&data["header"]["frame_id"]),
            is_dense: data["is_dense"].as_bool(),
            bounds,
            problem,
            json: fields.0,
        })
    }
}

impl Fields {
    pub(crate) fn parse(json: &[u8]) -> Result<Self> {
        let what = |got| Error::new("JSON", Wanted::What("a JSON object"), Got::What(got));
        match serde_json::from_slice(json) {
            Ok(value @ Value::Object(_)) => Ok(Fields(value)),
            Ok(_) => Err(what("another JSON value")),
            Err(error) if error.classify() == Category::Eof => Err(what("JSON that ends early")),
            Err(_) => Err(what("text that is not JSON")),
        }
    }

    pub(crate) fn data(&self) -> &Value {
        &self.0["data"]
    }

    pub(crate) fn into_json(self) -> Value {
        self.0
    }

    /// The format that the topic, or else the data's members, speak for.
    pub(crate) fn format(&self) -> Format {
        let topic = self.0["topic"].as_str().unwrap_or_default();
        let data = self.data();
        let has_box = data.get("xmin").is_some();
        let has_grid = data.get("src_size").is_some() || data.get("resolution").is_some();
        if topic.contains("voxel") || has_grid && !has_box && !topic.contains("slam") {
            Format::Voxel
        } else {
            Format::Slam
        }
    }

    pub(crate) fn expect(&self, wanted: Format) -> Result<()> {
        match (wanted, self.format()) {
            (Format::Slam, Format::Voxel) => Err(Error::new(
                "format",
                Wanted::What("a SLAM cloud"),
                Got::What("a GO2 voxel map: decode it as voxel"),
            )),
            (Format::Voxel, Format::Slam) => Err(Error::new(
                "format",
                Wanted::What("a voxel map"),
                Got::What("a G1 SLAM cloud: decode it as slam"),
            )),
            _ => Ok(()),
        }
    }
}

/// The box, when all of it is there; an error when only a part is.
fn bounding_box(data: &Value) -> Result<Option<BoundingBox>> {
    const FIELDS: [[&str; 2]; 3] = [["xmin", "xmax"], ["ymin", "ymax"], ["zmin", "zmax"]];
    if FIELDS.as_flattened().iter().all(|field| data.get(field).is_none()) {
        return Ok(None);
    }
    let number = |field: &'static str| match &data[field] {
        Value::Number(number) => Ok(number.as_f64().unwrap_or_default()),
        Value::Null => Err(Error::new(field, Wanted::What("a number"), Got::What("nothing"))),
        _ => Err(Error::new(field, Wanted::What("a number"), Got::What("another JSON value"))),
    };
    let mut bounds = BoundingBox { min: [0.0; 3], max: [0.0; 3] };
    for (axis, [min, max]) in FIELDS.into_iter().enumerate() {
        (bounds.min[axis], bounds.max[axis]) = (number(min)?, number(max)?);
        if bounds.min[axis] > bounds.max[axis] {
            let wanted = Wanted::What("a number not below its minimum");
            return Err(Error::new(max, wanted, Got::Float(bounds.max[axis])));
        }
    }
    Ok(Some(bounds))
}
