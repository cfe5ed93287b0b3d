//! Voxel maps: three ways of counting cells must agree, and bits must come out where they went in.

use sinew_wire::{
    slam::{Message, TYPE_WORD},
    voxel::{MAX_LAYERS, SIDE, VoxelMap},
};

use crate::{close, take_byte, vectors};

const LAYER_BYTES: usize = SIDE * SIDE / 8;

/// Every message of the vectors, and their bodies behind an envelope's choices.
pub fn seeds() -> Vec<Vec<u8>> {
    let messages = vectors::hex_members("voxel.json", &["message"]);
    let bodies = messages.iter().flat_map(|message| {
        let (message, _) = Message::split(message).expect("a vector is a message");
        [3, 11].map(|choice| [&[choice], message.body].concat())
    });
    let bodies: Vec<_> = bodies.collect();
    [messages, bodies].concat()
}

/// The input as a message, as a compressed body, and as the bits of a map.
pub fn exercise(data: &[u8]) {
    if let Ok((message, _)) = Message::split(data) {
        map(&message);
    }
    let mut body = data;
    let choice = take_byte(&mut body);
    let layers = usize::from(choice % 4);
    let compressed = enveloped(choice, layers, body);
    map(&Message::new_checked(&compressed).expect("a well-formed envelope"));

    let mut bits = body.to_vec();
    bits.resize(layers * LAYER_BYTES, 0);
    let stored = enveloped(choice, layers, &lz4_literals(&bits));
    let message = Message::new_checked(&stored).expect("a well-formed envelope");
    let map = map(&message).expect("a map whose bits are stored as they are");
    let cells: Vec<_> = map.cells().collect();
    assert_eq!(cells, plain_cells(&bits), "bits moved");
}

fn map(message: &Message<'_>) -> Option<VoxelMap> {
    let map = match VoxelMap::new(message) {
        Ok(map) => map,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return None;
        }
    };
    let cells: Vec<_> = map.cells().collect();
    let points = map.points();
    assert_eq!(cells.len(), map.len());
    assert_eq!(points.len(), map.len());
    assert_eq!(map.is_empty(), cells.is_empty());
    assert!(map.layers() <= MAX_LAYERS);
    assert!(cells.is_sorted_by_key(|[x, y, z]| [*z, *y, *x]), "cells out of order");
    let bounds = map.bounds();
    assert_eq!(bounds.is_some(), !points.is_empty());
    for (cell, point) in cells.iter().zip(&points) {
        let inside = cell.iter().zip([SIDE, SIDE, map.layers()]);
        assert!(inside.into_iter().all(|(cell, cells)| usize::from(*cell) < cells), "{cell:?}");
        for axis in 0..3 {
            let exact = f64::from(cell[axis]) * map.resolution + map.origin[axis];
            assert!(
                close(point[axis], exact),
                "{cell:?} became {point:?}, axis {axis} should be {exact}"
            );
            let bounds = bounds.as_ref().expect("a map with points has a box");
            assert!(
                (bounds.min[axis]..=bounds.max[axis]).contains(&exact),
                "{exact} outside {bounds:?} on axis {axis}"
            );
        }
    }
    Some(map)
}

fn plain_cells(bits: &[u8]) -> Vec<[u16; 3]> {
    let mut cells = Vec::new();
    for (at, byte) in bits.iter().enumerate().filter(|(_, byte)| **byte != 0) {
        let (x, y, z) = (at % 16 * 8, at / 16 % SIDE, at / LAYER_BYTES);
        for bit in (0..8).filter(|bit| byte & 0x80 >> bit != 0) {
            cells.push([x + bit, y, z].map(|cell| cell as u16));
        }
    }
    cells
}

/// An LZ4 block that holds its bytes uncompressed.
fn lz4_literals(bytes: &[u8]) -> Vec<u8> {
    let Some(mut more) = bytes.len().checked_sub(15) else {
        return [&[(bytes.len() as u8) << 4], bytes].concat();
    };
    let mut block = vec![0xF0];
    while more >= 255 {
        block.push(255);
        more -= 255;
    }
    block.push(more as u8);
    block.extend(bytes);
    block
}

fn enveloped(choice: u8, layers: usize, body: &[u8]) -> Vec<u8> {
    let src_size = layers * LAYER_BYTES;
    let width = if choice & 8 != 0 {
        format!(r#","width":[{SIDE},{SIDE},{layers}]"#)
    } else {
        String::new()
    };
    let json = format!(
        r#"{{"topic":"rt/utlidar/voxel_map_compressed","data":{{"resolution":0.05,"src_size":{src_size},"origin":[-3.2,-3.2,-0.5]{width}}}}}"#
    );
    let mut message = Vec::new();
    if choice & 16 != 0 {
        message.extend(TYPE_WORD);
    }
    message.extend((json.len() as u32).to_le_bytes());
    message.extend((body.len() as u32).to_le_bytes());
    message.extend(json.as_bytes());
    message.extend(body);
    message
}
