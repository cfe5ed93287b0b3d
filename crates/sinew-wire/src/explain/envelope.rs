//! Messages with JSON and a body: SLAM clouds and voxel maps.

use alloc::{format, string::String, vec::Vec};
use core::ops::ControlFlow;

use serde_json::{Value, json};

use super::{Element, Options, Proto, Rows};
use crate::{
    Error,
    slam::{BoundingBox, Cloud, Fields, Format, Message, channel_ranges},
    voxel::{self, VoxelMap},
};

/// The format of the message at the front of `bytes`; a SLAM cloud when its JSON does not say.
pub(super) fn format(bytes: &[u8]) -> Proto {
    let fields = Message::split(bytes).and_then(|(message, _)| Fields::parse(message.json));
    match fields.map(|fields| fields.format()) {
        Ok(Format::Voxel) => Proto::Voxel,
        _ => Proto::Slam,
    }
}

pub(super) fn explain(
    bytes: &[u8],
    options: &Options,
    sink: &mut dyn FnMut(Element) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut offset = 0;
    while let Some(rest) = bytes.get(offset..).filter(|rest| !rest.is_empty()) {
        // In a dump of several the front one ends where the next one begins; otherwise what
        // follows it is its own mistake.
        let message = match Message::split(rest) {
            Ok((message, behind)) if Message::looks_like(behind) => Ok(message),
            _ => Message::new_checked(rest),
        };
        let element = element(rest, message, offset, options);
        offset += element.length;
        sink(element)?;
    }
    ControlFlow::Continue(())
}

fn element(
    bytes: &[u8],
    message: crate::Result<Message<'_>>,
    offset: usize,
    options: &Options,
) -> Element {
    let proto = options.proto.unwrap_or_else(|| format(bytes));
    let message = match message {
        Ok(message) => message,
        Err(error) => {
            let mut rows = Rows::new(offset, offset + bytes.len());
            rows.frame(bytes.len(), "message", "not decoded");
            return failed(proto, offset, rows, error);
        }
    };
    let mut rows = Rows::new(offset, offset + message.header_len() + message.len());
    if message.type_word {
        rows.frame(4, "type word", "WebRTC data channel");
    }
    rows.frame(4, "json_len", format!("{}", message.json.len()));
    rows.frame(4, "binary_len", format!("{}", message.body.len()));
    rows.frame(message.json.len(), "json", shortened(message.json));
    body(proto, &message, offset, rows, options)
}

/// The element of a message whose header and JSON have their rows.
pub(super) fn body(
    proto: Proto,
    message: &Message<'_>,
    offset: usize,
    mut rows: Rows,
    options: &Options,
) -> Element {
    let decoded = match proto {
        Proto::Voxel => voxel_map(message, &mut rows, options),
        _ => slam_cloud(message, &mut rows, options),
    };
    match decoded {
        Ok(mut element) => {
            element.offset = offset;
            element.length = rows.end - offset;
            element.rows = rows.rows;
            element
        }
        Err(error) => {
            rows.frame(message.body.len(), "body", "not decoded");
            failed(proto, offset, rows, error)
        }
    }
}

/// The beginning of a JSON text, which may be long, as a line.
pub(super) fn shortened(json: &[u8]) -> String {
    let shown = json.get(..80).unwrap_or(json);
    let more = if shown.len() < json.len() { "…" } else { "" };
    format!("{}{more}", String::from_utf8_lossy(shown).replace(['\n', '\r'], " "))
}

fn title(proto: Proto) -> String {
    match proto {
        Proto::Voxel => "GO2 voxel map".into(),
        _ => "G1 SLAM cloud".into(),
    }
}

fn failed(proto: Proto, offset: usize, rows: Rows, error: Error) -> Element {
    let mut element = Element::new(proto, offset, rows.end - offset, title(proto)).invalid(error);
    element.rows = rows.rows;
    for name in ["reading", "reason", "points", "bounds"] {
        element.fact(name, Value::Null);
    }
    element
}

fn slam_cloud(message: &Message<'_>, rows: &mut Rows, options: &Options) -> crate::Result<Element> {
    let cloud = Cloud::new(message, options.reading)?;
    let mut element = Element::new(Proto::Slam, 0, 0, title(Proto::Slam));
    let bounds = cloud.bounds(options.frame);
    facts(&mut element, &format!("{}", cloud.choice.reading), &cloud.choice.reason, cloud.len());
    element.fact("bounds", bounds.map(|bounds| box_json(&bounds)));
    element.fact("box", cloud.metadata.bounds.map(|bounds| box_json(&bounds)));
    element.fact("topic", cloud.metadata.topic.clone());
    element.fact("channels", channels_json(message.body));
    cloud.problems(|error| element.problem(error));
    rows.frame(
        message.body.len(),
        "points",
        format!("{}, {} bytes each", cloud.len(), cloud.choice.reading.point_len()),
    );
    summary(rows, &element, bounds);
    if let Some(channels) = channel_ranges::<6>(message.body)
        && message.body.len().is_multiple_of(12)
    {
        for (name, channel) in CHANNELS.into_iter().zip(channels) {
            let ((low, high), (ulow, uhigh)) = (channel.signed, channel.unsigned);
            rows.frame(0, name, format!("i16 {low}..{high}, u16 {ulow}..{uhigh}"));
        }
    }
    if options.points {
        element.coordinates = Some(cloud.points(options.frame)?);
    }
    Ok(element)
}

const CHANNELS: [&str; 6] =
    ["channel 0", "channel 1", "channel 2", "channel 3", "channel 4", "channel 5"];

fn voxel_map(message: &Message<'_>, rows: &mut Rows, options: &Options) -> crate::Result<Element> {
    let map = VoxelMap::new(message)?;
    let mut element = Element::new(Proto::Voxel, 0, 0, title(Proto::Voxel));
    let reason =
        format!("LZ4 block of {} x {} x {} occupancy bits", voxel::SIDE, voxel::SIDE, map.layers());
    facts(&mut element, "voxel", &reason, map.len());
    let bounds = map.bounds();
    element.fact("bounds", bounds.map(|bounds| box_json(&bounds)));
    element.fact("resolution", map.resolution);
    element.fact("origin", map.origin.to_vec());
    element.fact("topic", map.json["topic"].clone());
    rows.frame(message.body.len(), "voxels", format!("{} occupied", map.len()));
    summary(rows, &element, bounds);
    if options.points {
        element.coordinates = Some(map.points());
    }
    Ok(element)
}

fn facts(element: &mut Element, reading: &str, reason: &impl core::fmt::Display, points: usize) {
    element.fact("reading", reading);
    element.fact("reason", format!("{reason}"));
    element.fact("points", points);
}

/// Reading, reason and range, below the bytes they follow from.
fn summary(rows: &mut Rows, element: &Element, bounds: Option<BoundingBox>) {
    for name in ["reading", "reason"] {
        let text = element.facts.get(name).and_then(Value::as_str).unwrap_or_default();
        rows.frame(0, if name == "reading" { "reading" } else { "because" }, text);
    }
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        if let Some(bounds) = bounds {
            let text = format!("{:.3} to {:.3} m", bounds.min[axis], bounds.max[axis]);
            rows.frame(0, name, text);
        }
    }
}

fn box_json(bounds: &BoundingBox) -> Value {
    json!({ "min": micrometres(bounds.min), "max": micrometres(bounds.max) })
}

/// Rounded to where the digits stop meaning anything.
fn micrometres(metres: [f64; 3]) -> Vec<f64> {
    metres.iter().map(|metres| round(metres * 1e6) / 1e6).collect()
}

/// Rounding without `std`; numbers too large for it have no fraction to lose.
fn round(value: f64) -> f64 {
    if value.abs() < 9e15 { (value + 0.5_f64.copysign(value)) as i64 as f64 } else { value }
}

fn channels_json(body: &[u8]) -> Value {
    let ranges = |channels: &[crate::slam::ChannelRange]| -> Value {
        channels
            .iter()
            .map(|channel| {
                json!({
                    "signed": [channel.signed.0, channel.signed.1],
                    "unsigned": [channel.unsigned.0, channel.unsigned.1],
                })
            })
            .collect()
    };
    if body.len().is_multiple_of(12) {
        channel_ranges::<6>(body).map_or(Value::Null, |channels| ranges(&channels))
    } else {
        channel_ranges::<3>(body).map_or(Value::Null, |channels| ranges(&channels))
    }
}
