//! A GO2's voxel map of what its lidar sees, for clients that read those.

use sinew_wire::{
    unitree::{Binary, Variant},
    voxel::SIDE,
};

use super::{super::building::LIDAR_HEIGHT, walk::Place};

const LAYERS: usize = 38;
const RESOLUTION: f64 = 0.05;
const ROW_BYTES: usize = SIDE / 8;
const LAYER_BYTES: usize = ROW_BYTES * SIDE;

/// Points around a place as a message of a topic.
pub(super) fn message(
    topic: &str,
    variant: Variant,
    body: Place,
    points: &[[f64; 3]],
) -> Option<Vec<u8>> {
    let half = SIDE as f64 / 2.0;
    let origin = [(body.x, half), (body.y, half), (LIDAR_HEIGHT, 24.0)]
        .map(|(place, cells)| ((place / RESOLUTION).floor() - cells) * RESOLUTION);
    let mut bits = vec![0_u8; LAYERS * LAYER_BYTES];
    for point in points {
        let cell: [f64; 3] =
            std::array::from_fn(|axis| ((point[axis] - origin[axis]) / RESOLUTION).floor());
        let inside = cell.iter().zip([SIDE, SIDE, LAYERS]);
        if inside.into_iter().all(|(cell, most)| (0.0..most as f64).contains(cell)) {
            let [x, y, z] = cell.map(|cell| cell as usize);
            let byte = z * LAYER_BYTES + y * ROW_BYTES + x / 8;
            if let Some(byte) = bits.get_mut(byte) {
                *byte |= 0x80 >> (x % 8);
            }
        }
    }
    let [x, y, z] = origin;
    let json = format!(
        r#"{{"type":"msg","topic":"{topic}","data":{{"stamp":0.0,"frame_id":"odom","resolution":{RESOLUTION},"src_size":{},"origin":[{x:.6},{y:.6},{z:.6}],"width":[{SIDE},{SIDE},{LAYERS}]}}}}"#,
        bits.len()
    );
    let packed = lz4_flex::block::compress(&bits);
    Binary { variant, json: json.as_bytes(), body: &packed }.emit().ok()
}
