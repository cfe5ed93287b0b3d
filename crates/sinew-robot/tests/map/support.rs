use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use sinew_robot::{
    map::file::{Field, Kind, Points},
    mapping::{Cloud, Pose},
};

/// A time to count from.
pub(crate) fn start() -> Instant {
    Instant::now()
}

pub(crate) fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// A cloud as a robot at `at` sends it: steps of a millimetre from its least corner.
pub(crate) fn cloud(points: &[[f64; 3]], at: Option<[f64; 3]>) -> Cloud {
    let low = |axis: usize| points.iter().map(|point| point[axis]).fold(f64::INFINITY, f64::min);
    let origin = if points.is_empty() { [0.0; 3] } else { std::array::from_fn(low) };
    let step = |point: &[f64; 3], axis: usize| ((point[axis] - origin[axis]) * 1000.0).round();
    Cloud {
        sequence: 1,
        origin,
        unit: 0.001,
        points: points
            .iter()
            .map(|point| std::array::from_fn(|axis| step(point, axis) as u16))
            .collect(),
        pose: at.map(|[x, y, z]| Pose { x, y, z, yaw: 0.0 }),
        frame: Arc::from("map"),
    }
}

/// Points of a wall at `x`, from 0 to 2 m along y and up, `every` metres.
pub(crate) fn wall(x: f64, every: f64) -> Vec<[f64; 3]> {
    let steps = (2.0 / every) as usize;
    let grid = (0..steps).flat_map(|y| (0..steps).map(move |z| (y, z)));
    grid.map(|(y, z)| [x, y as f64 * every, z as f64 * every]).collect()
}

/// A cloud with fields of all types and several counts.
pub(crate) fn mixed(count: usize, seed: u64) -> Points {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut fields: Vec<_> = ["x", "y", "z"].map(|name| Field::new(name, Kind::F32)).into();
    fields.extend([
        Field::new("rgb", Kind::F32),
        Field::new("stamp", Kind::F64),
        Field::new("label", Kind::U8),
        Field::new("offset", Kind::I8),
        Field::new("ring", Kind::U16),
        Field::new("tilt", Kind::I16),
        Field::new("id", Kind::U32),
        Field::new("delta", Kind::I32),
        Field { name: "normal".into(), kind: Kind::F32, count: 3 },
        Field::new("long", Kind::I64),
        Field::new("ulong", Kind::U64),
    ]);
    let mut points = Points::new(fields).unwrap();
    for _ in 0..count {
        let mut row = Vec::new();
        for _ in 0..3 {
            row.extend((random.f32() * 20.0 - 10.0).to_le_bytes());
        }
        row.extend(random.u32(0..1 << 24).to_le_bytes());
        row.extend((random.f64() * 1e9).to_le_bytes());
        row.extend([random.u8(..), random.u8(..)]);
        row.extend(random.u16(..).to_le_bytes());
        row.extend(random.i16(..).to_le_bytes());
        row.extend(random.u32(..).to_le_bytes());
        row.extend(random.i32(..).to_le_bytes());
        for _ in 0..3 {
            row.extend((random.f32() * 1e-6).to_le_bytes());
        }
        row.extend(random.i64(-(1 << 53)..1 << 53).to_le_bytes());
        row.extend(random.u64(0..1 << 53).to_le_bytes());
        points.push(&row).unwrap();
    }
    points
}

/// A SLAM message with these points in the packed reading, or the documented one.
pub(crate) fn message(points: &[[i16; 3]], packed: bool) -> Vec<u8> {
    let range = |axis: usize| {
        let values = points.iter().map(|point| f64::from(point[axis]) / 1000.0);
        let low = values.clone().fold(f64::INFINITY, f64::min);
        (low, values.fold(f64::NEG_INFINITY, f64::max))
    };
    let [x, y, z] = [range(0), range(1), range(2)];
    let json = serde_json::json!({
        "type": "msg",
        "topic": "rt/unitree/slam_mapping/points",
        "data": {
            "header": { "frame_id": "map" }, "is_dense": true,
            "xmin": x.0, "xmax": x.1, "ymin": y.0, "ymax": y.1, "zmin": z.0, "zmax": z.1,
        },
    })
    .to_string();
    let low = [x.0, y.0, z.0].map(|metres| (metres * 1000.0).round() as i16);
    let mut body = Vec::new();
    for point in points {
        for axis in 0..3 {
            match packed {
                true => body.extend(((point[axis] - low[axis]) as u16).to_le_bytes()),
                false => body.extend(point[axis].to_le_bytes()),
            }
        }
        if !packed {
            body.extend([0; 6]);
        }
    }
    let mut message = vec![2, 0, 0, 0];
    message.extend((json.len() as u32).to_le_bytes());
    message.extend((body.len() as u32).to_le_bytes());
    message.extend(json.into_bytes());
    message.extend(body);
    message
}
