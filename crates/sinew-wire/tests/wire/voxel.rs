//! GO2 voxel maps.

use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};
use sinew_wire::{
    Result,
    slam::Message,
    voxel::{MAX_LAYERS, SIDE, VoxelMap},
};

use crate::support::{assert_points, bytes, envelope, points, refused, truncations, vectors};

const LAYER: usize = SIDE * SIDE / 8;

/// Metadata of a map of this many layers.
fn metadata(layers: usize) -> Value {
    json!({
        "type": "msg",
        "topic": "rt/utlidar/voxel_map_compressed",
        "data": {
            "frame_id": "odom",
            "resolution": 0.05,
            "src_size": layers * LAYER,
            "origin": [-3.2, 1.0, -0.5],
            "width": [128, 128, layers],
        },
    })
}

/// An LZ4 block that holds `data` as it is: one run of literals.
fn lz4(data: &[u8]) -> Vec<u8> {
    if data.len() < 15 {
        return [&[(data.len() as u8) << 4][..], data].concat();
    }
    let more = data.len() - 15;
    let mut block = vec![0xF0];
    block.extend(std::iter::repeat_n(0xFF, more / 255));
    block.push((more % 255) as u8);
    block.extend(data);
    block
}

fn map(json: &Value, body: &[u8]) -> Result<VoxelMap> {
    let wire = envelope(true, json.to_string().as_bytes(), body);
    VoxelMap::new(&Message::new_checked(&wire)?)
}

/// A map's metadata with one member of `data` changed, and a body for one layer.
fn changed(field: &str, value: Value) -> Result<VoxelMap> {
    let mut json = metadata(1);
    json["data"][field] = value;
    map(&json, &lz4(&[0; LAYER]))
}

#[test]
fn every_vector_gives_its_cells_and_points() {
    for vector in vectors("voxel.json") {
        let wire = bytes(&vector, "message");
        let map = VoxelMap::new(&Message::new_checked(&wire).unwrap()).unwrap();
        let cells: Vec<[u16; 3]> = map.cells().collect();
        assert_eq!(json!(cells), vector["cells"]);
        assert_points(&map.points(), &points(&vector, "points"), 1e-5);
        assert_eq!((map.len(), map.is_empty()), (cells.len(), false));
    }
}

#[test]
fn the_most_significant_bit_is_the_first_cell() {
    let mut bits = vec![0; 2 * LAYER];
    (bits[0], bits[1], bits[16], bits[LAYER]) = (0x80, 0x01, 0x40, 0x80);
    let mut json = metadata(2);
    json["data"]["resolution"] = json!(1.0);
    json["data"]["origin"] = json!([0, 0, 0]);
    let map = map(&json, &lz4(&bits)).unwrap();
    let cells: Vec<_> = map.cells().collect();
    assert_eq!(cells, [[0, 0, 0], [15, 0, 0], [1, 1, 0], [0, 0, 1]]);
    assert_eq!(map.points(), cells_as_points(&cells));
    let bounds = map.bounds().unwrap();
    assert_eq!((bounds.min, bounds.max), ([0.0; 3], [15.0, 1.0, 1.0]));
    assert_eq!(map.layers(), 2);
    assert_eq!(map.json, json);
}

fn cells_as_points(cells: &[[u16; 3]]) -> Vec<[f32; 3]> {
    cells.iter().map(|cell| cell.map(f32::from)).collect()
}

#[test]
fn an_empty_map_has_no_points_and_no_bounds() {
    let map = map(&metadata(1), &lz4(&[0; LAYER])).unwrap();
    assert_eq!((map.len(), map.is_empty()), (0, true));
    assert!(map.points().is_empty());
    assert_eq!(map.bounds(), None);
}

#[test]
fn a_damaged_block_is_refused_as_the_body() {
    let json = metadata(1);
    let block = lz4(&[0x55; LAYER]);
    for cut in truncations(&block) {
        assert_eq!(refused(map(&json, cut)), "body", "{}", cut.len());
    }
    let wrong: [&[u8]; 3] = [&[0xFF; 64], &[0x0F, 0x01, 0x00], &[0x10]];
    for body in wrong {
        assert_eq!(refused(map(&json, body)), "body");
    }
}

#[test]
fn a_source_size_that_cannot_be_is_refused_by_its_field() {
    let wrong = [
        json!(2047),
        json!(2049),
        json!(1),
        json!((MAX_LAYERS + 1) * LAYER),
        json!(u32::MAX),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(-2048),
        json!(2048.5),
        json!(1e300),
        json!("2048"),
        Value::Null,
    ];
    for value in wrong {
        let error = changed("src_size", value.clone()).unwrap_err();
        assert_eq!(error.field, "src_size", "{value}");
        assert!(!error.to_string().contains("got -1"), "{value}: {error}");
    }
    let mut json = metadata(1);
    json["data"].as_object_mut().unwrap().remove("src_size");
    assert_eq!(refused(map(&json, &lz4(&[0; LAYER]))), "src_size");
}

#[test]
fn a_source_size_that_the_block_does_not_fill_is_refused() {
    let mut json = metadata(3);
    json["data"]["width"] = Value::Null;
    assert_eq!(refused(map(&json, &lz4(&[0; 2 * LAYER]))), "src_size");
    assert_eq!(refused(map(&json, &lz4(&[0; 4 * LAYER]))), "body");
    assert!(map(&json, &lz4(&[0; 3 * LAYER])).is_ok());
}

#[test]
fn a_source_size_that_no_block_of_this_length_can_fill_is_refused() {
    // The largest accepted map; LZ4 makes at most 255 bytes of one.
    let json = metadata(MAX_LAYERS);
    for len in [0, 1, 100, MAX_LAYERS * LAYER / 255] {
        assert_eq!(refused(map(&json, &vec![0; len])), "body");
    }
}

#[test]
fn the_largest_map_is_accepted() {
    let map = map(&metadata(MAX_LAYERS), &lz4(&[0xFF; MAX_LAYERS * LAYER])).unwrap();
    assert_eq!(map.layers(), MAX_LAYERS);
    assert_eq!(map.len(), MAX_LAYERS * SIDE * SIDE);
    assert_eq!(map.cells().last(), Some([127, 127, 255]));
}

#[test]
fn a_width_must_agree_and_may_be_missing() {
    let wrong = [
        json!([127, 128, 1]),
        json!([128, 64, 1]),
        json!([128, 128, 2]),
        json!([128, 128]),
        json!([128, 128, "1"]),
        json!(128),
    ];
    for value in wrong {
        assert_eq!(refused(changed("width", value)), "width");
    }
    assert!(changed("width", Value::Null).is_ok());
}

#[test]
fn resolution_and_origin_must_be_there() {
    for wrong in [Value::Null, json!("0.05"), json!(0), json!(-0.05)] {
        assert_eq!(refused(changed("resolution", wrong)), "resolution");
    }
    let wrong = [Value::Null, json!(1), json!([1, 2]), json!([1, 2, "3"]), json!([1, 2, 3, 4])];
    for wrong in wrong {
        assert_eq!(refused(changed("origin", wrong)), "origin");
    }
}

/// The points of a map's cells, one by one.
fn exact_points(map: &VoxelMap) -> Vec<[u32; 3]> {
    let metres = |cell: u16, axis: usize| f64::from(cell) * map.resolution + map.origin[axis];
    let point =
        |cell: [u16; 3]| core::array::from_fn(|axis| (metres(cell[axis], axis) as f32).to_bits());
    map.cells().map(point).collect()
}

#[test]
fn a_map_without_a_free_cell_gives_a_point_for_each() {
    let map = map(&metadata(3), &lz4(&[0xFF; 3 * LAYER])).unwrap();
    let points: Vec<_> = map.points().iter().map(|point| point.map(f32::to_bits)).collect();
    assert_eq!(points.len(), 3 * SIDE * SIDE);
    assert_eq!(points, exact_points(&map));
}

proptest! {
    #[test]
    fn points_are_those_of_the_cells_to_the_last_bit_however_dense(
        noise in vec(any::<[u8; 3]>(), LAYER),
        thinning in 0..4,
        empty in 0usize..LAYER,
    ) {
        let thin = |[a, b, c]: &[u8; 3]| match thinning {
            0 => a | b | c,
            1 => *a,
            2 => a & b,
            _ => a & b & c,
        };
        let mut bits: Vec<u8> = noise.iter().map(thin).collect();
        bits[..empty].fill(0);
        let map = map(&metadata(1), &lz4(&bits)).unwrap();
        let points: Vec<_> = map.points().iter().map(|point| point.map(f32::to_bits)).collect();
        prop_assert_eq!(map.len(), points.len());
        prop_assert_eq!(points, exact_points(&map));
    }

    #[test]
    fn any_bits_give_the_cells_of_the_layout(
        layers in 1usize..4,
        set in vec((any::<prop::sample::Index>(), any::<u8>()), 0..60),
    ) {
        let mut bits = vec![0; layers * LAYER];
        for (at, byte) in set {
            let at = at.index(bits.len());
            bits[at] = byte;
        }
        let map = map(&metadata(layers), &lz4(&bits)).unwrap();
        let mut cells = Vec::new();
        for (i, byte) in bits.iter().enumerate() {
            for bit in (0..8).filter(|bit| byte & 0x80 >> bit != 0) {
                cells.push([8 * (i % 16) + bit, i % 2048 / 16, i / 2048]);
            }
        }
        let origin = [-3.2, 1.0, -0.5];
        let points: Vec<[f64; 3]> = cells
            .iter()
            .map(|cell| core::array::from_fn(|axis| cell[axis] as f64 * 0.05 + origin[axis]))
            .collect();
        prop_assert!(map.cells().map(|cell| cell.map(usize::from)).eq(cells.iter().copied()));
        prop_assert_eq!(map.len(), cells.len());
        assert_points(&map.points(), &points, 1e-5);
        prop_assert_eq!(map.bounds().is_none(), cells.is_empty());
        if let Some(bounds) = map.bounds() {
            for axis in 0..3 {
                let values = points.iter().map(|point| point[axis]);
                let (low, high) = values.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
                prop_assert!((bounds.min[axis] - low).abs() < 1e-9);
                prop_assert!((bounds.max[axis] - high).abs() < 1e-9);
            }
        }
    }
}
