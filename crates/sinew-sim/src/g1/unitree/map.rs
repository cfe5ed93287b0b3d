//! What was mapped, and clouds as they travel.

use std::collections::BTreeMap;

use sinew_wire::{
    slam::Reading,
    unitree::{Binary, Variant},
};

use super::{super::building::LIDAR_HEIGHT, walk::Place};

/// Edge of the cells of which a map keeps one point each.
const CELL: f64 = 0.05;
/// Most points of a map.
const MAX_POINTS: usize = 60_000;
/// Most points of a loaded map's one message.
const MAX_SENT: usize = 20_000;

/// A map's frame: where the lidar was when mapping began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame(pub(super) Place);

/// A map that grows, or was stored.
#[derive(Debug, Clone)]
pub(super) struct Map {
    pub(super) frame: Frame,
    cells: BTreeMap<[i16; 3], [f32; 3]>,
}

impl Frame {
    /// A point of the building in this frame.
    pub(super) fn point(self, [x, y, z]: [f64; 3]) -> [f64; 3] {
        let (sin, cos) = self.0.yaw.sin_cos();
        let (x, y) = (x - self.0.x, y - self.0.y);
        [cos * x + sin * y, cos * y - sin * x, z - LIDAR_HEIGHT]
    }

    /// A place of the building in this frame.
    pub(super) fn place(self, place: Place) -> Place {
        let [x, y, _] = self.point([place.x, place.y, 0.0]);
        Place { x, y, yaw: super::walk::wrapped(place.yaw - self.0.yaw) }
    }

    /// A place of this frame in the building.
    pub(super) fn outside(self, place: Place) -> Place {
        let (sin, cos) = self.0.yaw.sin_cos();
        Place {
            x: self.0.x + cos * place.x - sin * place.y,
            y: self.0.y + sin * place.x + cos * place.y,
            yaw: super::walk::wrapped(place.yaw + self.0.yaw),
        }
    }
}

impl Map {
    pub(super) fn new(frame: Frame) -> Self {
        Map { frame, cells: BTreeMap::new() }
    }

    /// Takes in points of this map's frame.
    pub(super) fn add(&mut self, points: &[[f64; 3]]) {
        for point in points {
            let cell = point.map(|metres| (metres / CELL).floor() as i16);
            if self.cells.len() < MAX_POINTS {
                self.cells.entry(cell).or_insert(point.map(|metres| metres as f32));
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// The points, or as many of them, spread evenly, as one message holds.
    pub(super) fn thinned(&self) -> Vec<[f64; 3]> {
        let step = self.len().div_ceil(MAX_SENT).max(1);
        self.cells.values().step_by(step).map(|point| point.map(f64::from)).collect()
    }

    /// The file that is stored: PCD, binary.
    pub(super) fn pcd(&self) -> Vec<u8> {
        let count = self.len();
        let mut file = format!(
            "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH {count}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {count}\nDATA binary\n"
        )
        .into_bytes();
        for metres in self.cells.values().flatten() {
            file.extend_from_slice(&metres.to_le_bytes());
        }
        file
    }
}

/// A cloud as a message of a topic; none without points.
pub(super) fn cloud(topic: &str, reading: Reading, points: &[[f64; 3]]) -> Option<Vec<u8>> {
    let first = *points.first()?;
    let (min, max) = points.iter().fold((first, first), |(min, max), point| {
        let fold = |one: [f64; 3], pick: fn(f64, f64) -> f64| {
            std::array::from_fn(|axis| pick(one[axis], point[axis]))
        };
        (fold(min, f64::min), fold(max, f64::max))
    });
    let mut body = Vec::with_capacity(points.len() * reading.point_len());
    for point in points {
        match reading {
            Reading::Packed => {
                for axis in 0..3 {
                    let millimetres = ((point[axis] - min[axis]) * 1000.0).round();
                    body.extend_from_slice(&(millimetres as u16).to_le_bytes());
                }
            }
            Reading::Documented => {
                for metres in point {
                    body.extend_from_slice(&((metres * 1000.0).round() as i16).to_le_bytes());
                }
                // Numbers without a known meaning.
                body.extend_from_slice(&[0; 6]);
            }
        }
    }
    let json = format!(
        r#"{{"type":"msg","topic":"{topic}","data":{{"header":{{"frame_id":"map"}},"is_dense":true,"xmin":{:.6},"xmax":{:.6},"ymin":{:.6},"ymax":{:.6},"zmin":{:.6},"zmax":{:.6}}}}}"#,
        min[0], max[0], min[1], max[1], min[2], max[2]
    );
    Binary { variant: Variant::Cloud, json: json.as_bytes(), body: &body }.emit().ok()
}
