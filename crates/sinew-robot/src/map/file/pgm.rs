//! A map as ROS's map_server reads it: a picture in grey (PGM), and a description in YAML.
//!
//! Black is occupied, 254 free, 205 unknown. map_server takes (255 - grey) / 255 for the chance
//! that something is there, so that 205 lies just above the threshold of what is free.

use std::io::Write;

use super::{Ground, Raster};

/// The picture, whose comment says what the description does about places. Its first row is the one
/// with the largest y.
pub fn write(raster: &Raster) -> Vec<u8> {
    let mut out = Vec::with_capacity(raster.squares.len() + 64);
    let ([x, y], resolution) = (raster.origin, raster.resolution);
    // Writing to a vector does not fail.
    let _ = write!(out, "P5\n# resolution {resolution} origin {x:.6} {y:.6} 0\n");
    let _ = write!(out, "{} {}\n255\n", raster.width, raster.height);
    for row in (0..raster.height).rev() {
        out.extend((0..raster.width).map(|column| match raster.at(column, row) {
            Ground::Occupied => 0,
            Ground::Free => 254,
            Ground::Unknown => 205,
        }));
    }
    out
}

/// The description that goes with it; `image` is the picture's file, seen from the description's.
pub fn yaml(raster: &Raster, image: &str) -> String {
    let [x, y] = raster.origin;
    // In double quotes YAML takes what JSON does.
    let image = serde_json::Value::from(image);
    format!(
        "image: {image}\nmode: trinary\nresolution: {}\norigin: [{x:.6}, {y:.6}, 0.000000]\n\
         negate: 0\noccupied_thresh: 0.65\nfree_thresh: 0.196\n",
        raster.resolution
    )
}
