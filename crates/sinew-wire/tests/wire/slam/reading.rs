//! Which reading of the points is chosen, and why.

use sinew_wire::slam::{BoundingBox, Choice, CloudFrame, Reading, Reason, choose};

use super::{boxed, cloud, numbers, unboxed};
use crate::support::assert_points;

/// 12-byte records of signed numbers.
fn records(records: &[[i16; 6]]) -> Vec<u8> {
    let values: Vec<u16> = records.as_flattened().iter().map(|v| *v as u16).collect();
    numbers(&values)
}

fn metres(millimetres: [i32; 3]) -> [f64; 3] {
    millimetres.map(|mm| f64::from(mm) / 1000.0)
}

/// A box given in millimetres.
fn mm_box(min: [i32; 3], max: [i32; 3]) -> BoundingBox {
    BoundingBox { min: metres(min), max: metres(max) }
}

#[track_caller]
fn assert_choice(body: &[u8], bounds: Option<BoundingBox>, reading: Reading, reason: Reason) {
    let wanted = Choice { reading, reason };
    assert_eq!(choose(body, bounds.as_ref()), Ok(wanted));
}

#[test]
fn rule_1_a_length_that_is_no_multiple_of_12_is_packed() {
    let anywhere = mm_box([-40_000; 3], [40_000; 3]);
    for points in [1, 3, 99] {
        let body = vec![0; points * 6];
        for bounds in [None, Some(anywhere)] {
            assert_choice(&body, bounds, Reading::Packed, Reason::NotMultipleOf12);
        }
    }
}

#[test]
fn rule_2_documented_points_inside_the_box_are_documented() {
    let body = records(&[[-500, 20, 300, 9, 9, 9], [400, -80, 10, -7, 0, 7]]);
    let bounds = mm_box([-500, -80, 10], [400, 20, 300]);
    assert_choice(&body, Some(bounds), Reading::Documented, Reason::DocumentedFitsBox);
}

#[test]
fn rule_3_two_halves_that_are_both_offsets_into_the_box_are_packed() {
    let body = records(&[[0, 10, 900, 700, 1000, 0], [1000, 990, 20, 300, 40, 800]]);
    let bounds = mm_box([-5000, -5000, -5000], [-4000, -4000, -4000]);
    assert_choice(&body, Some(bounds), Reading::Packed, Reason::BothHalvesFitBox);
}

#[test]
fn rule_4_everything_else_is_documented() {
    let outside = records(&[[5000, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]]);
    let bounds = mm_box([0; 3], [1000; 3]);
    assert_choice(&outside, None, Reading::Documented, Reason::Default);
    assert_choice(&outside, Some(bounds), Reading::Documented, Reason::Default);
}

#[test]
fn rule_2_comes_before_rule_3() {
    let body = records(&[[0, 0, 0, 900, 900, 900], [900, 900, 900, 0, 0, 0]]);
    let at_zero = mm_box([0; 3], [1000; 3]);
    assert_choice(&body, Some(at_zero), Reading::Documented, Reason::DocumentedFitsBox);
    let elsewhere = mm_box([-3000; 3], [-2000; 3]);
    assert_choice(&body, Some(elsewhere), Reading::Packed, Reason::BothHalvesFitBox);
}

#[test]
fn rule_1_comes_before_rule_2() {
    let body = records(&[[0, 0, 0, 9, 9, 9]]);
    let bounds = mm_box([-100; 3], [100; 3]);
    assert_choice(&body, Some(bounds), Reading::Documented, Reason::DocumentedFitsBox);
    assert_choice(&body[..6], Some(bounds), Reading::Packed, Reason::NotMultipleOf12);
}

#[test]
fn rule_2_tolerates_5_millimetres_on_every_side_of_every_axis() {
    for axis in 0..3 {
        for edge in -3000i16..3000 {
            let (mut min, mut max) = ([-10_000; 3], [10_000; 3]);
            max[axis] = edge.into();
            let above = mm_box(min, max);
            min[axis] = edge.into();
            max[axis] = 10_000;
            let below = mm_box(min, max);
            for (bounds, side) in [(above, 1), (below, -1)] {
                let reason = |off: i16| {
                    let mut record = [0; 6];
                    record[axis] = edge + side * off;
                    // The second half rules packed out.
                    record[3..].fill(-1);
                    choose(&records(&[record]), Some(&bounds)).unwrap().reason
                };
                assert_eq!(reason(5), Reason::DocumentedFitsBox, "axis {axis}, {edge} mm");
                assert_eq!(reason(6), Reason::Default, "axis {axis}, {edge} mm");
            }
        }
    }
}

#[test]
fn rule_3_tolerates_5_millimetres_in_both_halves() {
    for channel in 0..6 {
        for width in (100..6000).step_by(7) {
            let bounds = mm_box([-20_123; 3], [i32::from(width) - 20_123; 3]);
            let reason = |off: i16| {
                let (low, mut high) = ([0; 6], [width; 6]);
                high[channel] = width + off;
                choose(&records(&[low, high]), Some(&bounds)).unwrap().reason
            };
            assert_eq!(reason(5), Reason::BothHalvesFitBox, "{channel}, {width} mm");
            assert_eq!(reason(6), Reason::Default, "{channel}, {width} mm");
        }
    }
}

#[test]
fn rule_3_wants_a_quarter_of_the_first_halfs_span_on_every_axis() {
    let bounds = mm_box([-9000; 3], [-8000; 3]);
    for axis in 0..3 {
        let reason = |span: i16| {
            let mut high = [1000; 6];
            high[axis + 3] = span;
            let body = records(&[[0; 6], high]);
            choose(&body, Some(&bounds)).unwrap().reason
        };
        assert_eq!(reason(250), Reason::BothHalvesFitBox);
        assert_eq!(reason(249), Reason::Default);
        assert_eq!(reason(0), Reason::Default);
    }
}

#[test]
fn rule_3_reads_offsets_beyond_32_metres_as_unsigned() {
    let body = numbers(&[40_000; 6]);
    let body = [body.clone(), body].concat();
    let bounds = mm_box([-20_000; 3], [25_000; 3]);
    assert_choice(&body, Some(bounds), Reading::Packed, Reason::BothHalvesFitBox);
}

#[test]
fn a_wanted_reading_is_used_whatever_the_data_says() {
    let json = boxed([-1.0; 3], [1.0; 3]);
    let body = records(&[[100, -200, 300, 400, 500, 600]]);
    cloud(&json, &body, Some(Reading::Documented), |cloud, problems| {
        assert_eq!(cloud.choice.reason, Reason::Forced);
        let points = cloud.points(CloudFrame::Map).unwrap();
        assert_points(&points, &[[0.1, -0.2, 0.3]], 1e-5);
        assert!(problems.is_empty());
    });
    cloud(&json, &body, Some(Reading::Packed), |cloud, problems| {
        assert_eq!(cloud.choice.reason, Reason::Forced);
        let points = cloud.points(CloudFrame::Map).unwrap();
        assert_points(&points, &[[-0.9, 64.336, -0.7], [-0.6, -0.5, -0.4]], 1e-5);
        assert_eq!(problems, ["box y"]);
    });
}

#[test]
fn packed_points_without_a_box_are_left_unshifted_and_reported() {
    for wanted in [None, Some(Reading::Packed)] {
        cloud(&unboxed(), &numbers(&[1000, 2000, 3000]), wanted, |cloud, problems| {
            assert_eq!(cloud.choice.reading, Reading::Packed);
            let points = cloud.points(CloudFrame::Map).unwrap();
            assert_points(&points, &[[1.0, 2.0, 3.0]], 1e-5);
            assert_eq!(problems, ["box"]);
        });
    }
}

#[test]
fn a_cloud_that_leaves_its_box_is_reported_with_the_axis() {
    let json = boxed([-1.0; 3], [1.0; 3]);
    for (axis, field) in ["box x", "box y", "box z"].into_iter().enumerate() {
        for off in [-1006, 1006] {
            // The second half rules packed out.
            let mut record = [0, 0, 0, -1, -1, -1];
            record[axis] = off;
            cloud(&json, &records(&[record]), None, |cloud, problems| {
                assert_eq!(cloud.choice.reason, Reason::Default);
                assert_eq!(problems, [field]);
            });
        }
        // Packed points cannot be below the box, only above it.
        let mut point = [0; 3];
        point[axis] = 2006;
        cloud(&json, &numbers(&point), None, |cloud, problems| {
            assert_eq!(cloud.choice.reading, Reading::Packed);
            assert_eq!(problems, [field]);
        });
        point[axis] = 2005;
        cloud(&json, &numbers(&point), None, |_, problems| {
            assert!(problems.is_empty());
        });
    }
}

#[test]
fn the_documents_sample_is_packed_by_its_own_numbers() {
    // Ranges and box as document 004 prints them; 906 points make a multiple of 12 bytes.
    let (min, max) = ([-4.849, -1.879, -0.671], [1.892, 2.148, 0.361]);
    let (low, high) = ([84, 128, 0], [6738, 4024, 1003]);
    let points = [low, high, high, low];
    let values = points.as_flattened().iter().cycle().take(906 * 3);
    let body = numbers(&values.copied().collect::<Vec<u16>>());
    cloud(&boxed(min, max), &body, None, |cloud, problems| {
        assert_eq!(cloud.choice.reason, Reason::BothHalvesFitBox);
        assert_eq!(cloud.len(), 906);
        assert!(problems.is_empty());
    });
    cloud(&boxed(min, max), &body, Some(Reading::Documented), |cloud, problems| {
        assert_eq!(cloud.len(), 453);
        assert_eq!(problems, ["box x"]);
    });
}
