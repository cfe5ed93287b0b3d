//! Binary messages with either header.

use proptest::{collection::vec, prelude::*};
use serde_json::json;
use sinew_wire::{
    slam::{Cloud, CloudFrame},
    unitree::{Binary, Chunk, Variant},
    voxel::VoxelMap,
};

use super::{named, of};
use crate::support::{bytes, refused, text, truncations};

#[test]
fn the_first_four_bytes_decide() {
    for vector in of("binary") {
        let wire = bytes(&vector, "message");
        let binary = Binary::new_checked(&wire).unwrap();
        assert_eq!(binary.variant == Variant::Cloud, vector["variant"] == "cloud");
        assert_eq!(binary.message().unwrap().topic(), text(&vector, "topic"));
        assert_eq!(json!(binary.body.len()), vector["body_len"]);
        assert_eq!(binary.emit().unwrap(), wire);
    }
}

#[test]
fn clouds_and_maps_go_to_their_decoders() {
    let wire = bytes(&named("SLAM cloud"), "message");
    let cloud = Binary::new_checked(&wire).unwrap().cloud();
    let points = Cloud::new(&cloud, None).unwrap().points(CloudFrame::Map).unwrap();
    assert_eq!(points.len(), 3);
    assert!((points[1][0] - 1.889).abs() < 1e-3, "the published range: {points:?}");
    let wire = bytes(&named("voxel map, short header"), "message");
    let binary = Binary::new_checked(&wire).unwrap();
    assert_eq!(VoxelMap::new(&binary.cloud()).unwrap().len(), 5);
}

#[test]
fn a_piece_of_a_photo_says_which() {
    let wire = bytes(&named("piece of a photo"), "message");
    let binary = Binary::new_checked(&wire).unwrap();
    assert_eq!(binary.variant, Variant::Short { unused: 0x1234 });
    let chunk = Chunk::of(&binary.message().unwrap());
    assert_eq!(chunk, Ok(Some(Chunk { index: 2, total: 3 })));
}

#[test]
fn every_truncation_is_refused_or_a_shorter_body() {
    for vector in of("binary") {
        let wire = bytes(&vector, "message");
        let json_end = Binary::new_checked(&wire).unwrap();
        let json_end = json_end.variant.header_len() + json_end.json.len();
        for cut in truncations(&wire) {
            match Binary::new_checked(cut) {
                Ok(binary) => {
                    assert_eq!(vector["variant"], "short");
                    assert_eq!(binary.body.len(), cut.len() - json_end);
                }
                Err(error) => {
                    let fields = ["json_len", "unused", "binary_len"];
                    assert!(fields.contains(&error.field), "{error}");
                }
            }
        }
    }
}

#[test]
fn a_length_of_nothing_stands_for_the_rest() {
    let mut wire = bytes(&named("SLAM cloud"), "message");
    wire[8..12].fill(0);
    assert_eq!(Binary::new_checked(&wire).unwrap().body.len(), 18);
    wire[8] = 19;
    assert_eq!(refused(Binary::new_checked(&wire)), "binary_len");
    wire[8] = 17;
    assert_eq!(refused(Binary::new_checked(&wire)), "binary_len");
}

#[test]
fn what_would_be_read_otherwise_is_not_written() {
    let short = |json| Binary { variant: Variant::Short { unused: 0 }, json, body: &[] };
    assert_eq!(refused(short(b"{}").emit()), "json_len");
    assert_eq!(refused(short(&[b' '; 65536]).emit()), "json_len");
    assert!(short(&[b' '; 65535]).emit().is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_content_round_trips(
        json in vec(any::<u8>(), 0..60), body in vec(any::<u8>(), 0..60), unused in 1u16.., cloud: bool,
    ) {
        let variant = if cloud { Variant::Cloud } else { Variant::Short { unused } };
        let binary = Binary { variant, json: &json, body: &body };
        let wire = binary.emit().unwrap();
        prop_assert_eq!(Binary::new_checked(&wire), Ok(binary));
    }
}
