//! Files that come back as they were, and files as other programs write them.

use std::time::Duration;

use proptest::prelude::*;
use sinew_robot::map::file::{
    Field, Format, Kind, Points,
    messages::{self, Recorded, Recording},
    pcd, ply, read,
};
use sinew_wire::unitree::Form;

use crate::support::{message, mixed};

const ENCODINGS: [pcd::Encoding; 3] =
    [pcd::Encoding::Ascii, pcd::Encoding::Binary, pcd::Encoding::Compressed];

#[test]
fn pcd_reads_back_exactly_in_all_encodings() {
    for count in [0, 1, 2, 500] {
        let points = mixed(count, 3);
        for encoding in ENCODINGS {
            let file = pcd::write(&points, encoding);
            let (again, got) = pcd::read(&file).unwrap();
            assert_eq!(got, encoding);
            assert_eq!(again.bytes(), points.bytes(), "{encoding:?} with {count} points");
            assert_eq!(again.len(), count);
            let names = |points: &Points| -> Vec<_> {
                points.fields().iter().map(|field| (field.name.clone(), field.count)).collect()
            };
            assert_eq!(names(&again), names(&points));
            if encoding != pcd::Encoding::Ascii {
                assert_eq!(again, points);
            }
        }
    }
}

#[test]
fn compressed_pcd_is_smaller_where_numbers_repeat() {
    let points: Vec<_> = (0..2000).map(|index| [(index / 100) as f32, 1.5, -0.25]).collect();
    let points = Points::from_xyz(&points).unwrap();
    let [binary, compressed] = [pcd::Encoding::Binary, pcd::Encoding::Compressed]
        .map(|encoding| pcd::write(&points, encoding).len());
    assert!(compressed * 8 < binary, "{compressed} of {binary} bytes");
}

#[test]
fn rgb_declared_as_a_float_and_written_as_whole_numbers() {
    let file = "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS x y z rgb\n\
                SIZE 4 4 4 4\nTYPE F F F F\nCOUNT 1 1 1 1\nWIDTH 3\nHEIGHT 1\n\
                VIEWPOINT 0 0 0 1 0 0 0\nPOINTS 3\nDATA ascii\n\
                -0.155508 -0.001380 0.526030 1146861\n-0.1 0.2 0.3 4294902015\n\
                1 2 3 2.3418052e-38\n";
    let (points, encoding) = pcd::read(file.as_bytes()).unwrap();
    assert_eq!(encoding, pcd::Encoding::Ascii);
    let colour = |index: usize| {
        let row = points.rows().nth(index).unwrap();
        u32::from_le_bytes(row[12..16].try_into().unwrap())
    };
    assert_eq!(colour(0), 1_146_861);
    assert_eq!(colour(1), 0xffff_00ff, "with an opaque fourth byte it is no number as a float");
    assert_eq!(colour(2), 2.341_805_2e-38_f32.to_bits(), "as the Point Cloud Library writes it");
    for encoding in ENCODINGS {
        let (again, _) = pcd::read(&pcd::write(&points, encoding)).unwrap();
        assert_eq!(again.bytes(), points.bytes(), "{encoding:?}");
    }
}

#[test]
fn pcd_of_other_programs() {
    let file =
        b"# .PCD v.5\r\nVERSION .5\r\nFIELDS _ x y z f\r\nSIZE 1 8 8 8 4\r\nTYPE U F F F F\r\n\
                 COUNT 3 1 1 1 33\r\nWIDTH 2\r\nHEIGHT 2\r\nPOINTS 4\r\nDATA binary\r\n";
    let rows: Vec<u8> = (0..4 * (3 + 24 + 132)).map(|index| index as u8 & 0x3f).collect();
    let (points, _) = pcd::read(&[&file[..], &rows].concat()).unwrap();
    assert_eq!(points.bytes(), rows);
    assert_eq!((points.len(), points.width), (4, Some(2)));
    let again = pcd::write(&points, pcd::Encoding::Compressed);
    assert_eq!(pcd::read(&again).unwrap().0, points);

    let organised = "FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH 1\nHEIGHT 2\nDATA ascii\n\
                     nan nan nan\n-inf 1e3 +2\n";
    let (points, _) = pcd::read(organised.as_bytes()).unwrap();
    assert_eq!(points.len(), 2, "by WIDTH and HEIGHT, without POINTS, VERSION and COUNT");
    assert_eq!(points.bounds(), None, "no point has a place");
}

#[test]
fn ply_keeps_points_and_fields() {
    let points = mixed(300, 5);
    let file = ply::write(&points).unwrap();
    let (again, encoding) = ply::read(&file).unwrap();
    assert_eq!(encoding, ply::Encoding::LittleEndian);
    assert_eq!(again.len(), 300);
    let places: Vec<_> = points.xyz().unwrap().collect();
    assert_eq!(again.xyz().unwrap().collect::<Vec<_>>(), places);
    let names: Vec<_> = again.fields().iter().map(|field| field.name.as_str()).collect();
    let wanted = "x y z red green blue stamp label offset ring tilt id delta normal_0 normal_1 \
                  normal_2 long ulong";
    assert_eq!(names, wanted.split(' ').collect::<Vec<_>>());
    let coloured = ply::pcd_colours(again).unwrap();
    let colours = |points: &Points| -> Vec<Vec<u8>> {
        points.rows().map(|row| row[12..16].to_vec()).collect()
    };
    assert_eq!(colours(&coloured), colours(&points));
    assert_eq!(coloured.fields()[3], Field::new("rgb", Kind::F32));
    assert_eq!(ply::read(&ply::write(&coloured).unwrap()).unwrap().0.len(), 300);
}

#[test]
fn numbers_that_ply_cannot_hold_are_not_bent() {
    let mut points = Points::new(vec![Field::new("stamp", Kind::U64)]).unwrap();
    points.push(&u64::MAX.to_le_bytes()).unwrap();
    let error = ply::write(&points).unwrap_err().to_string();
    assert!(error.contains("stamp"), "{error}");
}

#[test]
fn ply_of_other_programs() {
    let ascii = "ply\nformat ascii 1.0\ncomment made elsewhere\nelement camera 1\n\
                 property list uchar int ids\nelement vertex 2\nproperty double x\n\
                 property double y\nproperty double z\nproperty uint8 red\nelement face 1\n\
                 property list uchar int vertex_indices\nend_header\n3 1 2 3\n0 1 2 255\n\
                 3.5 -4 5e-1 7\n3 0 1 2\n";
    let (points, encoding) = ply::read(ascii.as_bytes()).unwrap();
    assert_eq!(encoding, ply::Encoding::Ascii);
    let places: Vec<_> = points.xyz().unwrap().collect();
    assert_eq!(places, [[0.0, 1.0, 2.0], [3.5, -4.0, 0.5]]);

    let mut big = b"ply\nformat binary_big_endian 1.0\nelement face 1\n\
                    property list uchar int vertex_indices\nelement vertex 1\nproperty float x\n\
                    property float y\nproperty short z\nend_header\n"
        .to_vec();
    big.extend([2, 0, 0, 0, 1, 0, 0, 0, 2]);
    big.extend(1.5_f32.to_be_bytes());
    big.extend((-2.25_f32).to_be_bytes());
    big.extend((-7_i16).to_be_bytes());
    let (points, _) = ply::read(&big).unwrap();
    assert_eq!(points.xyz().unwrap().next(), Some([1.5, -2.25, -7.0]));
}

#[test]
fn one_message_several_and_a_recording() {
    let room = [[0, 0, 0], [1000, -2000, 300], [-4500, 1234, 1]];
    let one = message(&room, true);
    let content = read(&one).unwrap();
    assert_eq!(content.format, Format::Messages);
    let (summary, points) = (content.messages.unwrap(), content.points);
    assert_eq!((summary.frames, points.len(), summary.timed), (1, 3, false));
    let places: Vec<_> = points.xyz().unwrap().collect();
    for (place, wanted) in places.iter().zip(room) {
        for axis in 0..3 {
            assert!((place[axis] - f64::from(wanted[axis]) / 1000.0).abs() < 1e-4);
        }
    }
    let twice = [one.clone(), message(&room, false)].concat();
    let (points, summary) = messages::read(&twice, None).unwrap();
    assert_eq!((summary.frames, points.len(), summary.is_mixed), (2, 6, true));
    let [first, second] =
        [0, 3].map(|from| points.xyz().unwrap().skip(from).take(3).collect::<Vec<_>>());
    for (packed, documented) in first.iter().flatten().zip(second.iter().flatten()) {
        assert!((packed - documented).abs() < 1e-4, "the same room in both readings");
    }

    let mut file = messages::begin().to_vec();
    let at = Duration::from_millis;
    let text = br#"{"type":"msg","topic":"rt/slam_info","data":"{}"}"#;
    messages::append(Recorded { at: at(5), form: Form::Text, bytes: text }, &mut file);
    messages::append(Recorded { at: at(100), form: Form::Binary, bytes: &one }, &mut file);
    let whole = file.len();
    messages::append(Recorded { at: at(200), form: Form::Binary, bytes: &one }, &mut file);
    let (points, summary) = messages::read(&file, None).unwrap();
    assert_eq!((summary.frames, summary.others, points.len()), (2, 1, 6));
    assert_eq!((summary.timed, summary.is_cut), (true, false));
    assert_eq!(summary.duration, Some(at(195)));
    let times: Vec<_> = Recording::new(&file).unwrap().map(|message| message.unwrap().at).collect();
    assert_eq!(times, [at(5), at(100), at(200)]);
    for end in whole + 1..file.len() {
        let (points, summary) = messages::read(&file[..end], None).unwrap();
        assert_eq!((summary.frames, points.len(), summary.is_cut), (1, 3, true), "cut at {end}");
    }
}

#[test]
fn formats_are_known_by_their_content() {
    let points = mixed(2, 1);
    let pcd = pcd::write(&points, pcd::Encoding::Binary);
    let without_comment = pcd.splitn(2, |byte| *byte == b'\n').nth(1).unwrap();
    assert_eq!(Format::of(&pcd), Some(Format::Pcd));
    assert_eq!(Format::of(without_comment), Some(Format::Pcd));
    assert_eq!(Format::of(&ply::write(&points).unwrap()), Some(Format::Ply));
    assert_eq!(Format::of(&message(&[[1, 2, 3]], true)), Some(Format::Messages));
    assert_eq!(Format::of(&messages::begin()), Some(Format::Messages));
    for other in [&b""[..], b"plymouth", b"P5\n1 1\n255\n\0", b"#!/bin/sh\n", &[0; 64]] {
        assert_eq!(Format::of(other), None);
        assert!(read(other).is_err());
    }
}

fn any_kind() -> impl Strategy<Value = Kind> {
    use Kind::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    prop::sample::select(vec![I8, U8, I16, U16, I32, U32, I64, U64, F32, F64])
}

fn any_points() -> impl Strategy<Value = Points> {
    let fields = prop::collection::vec((any_kind(), 1..4_usize), 1..6);
    (fields, 0..40_usize, any::<u64>()).prop_map(|(kinds, count, seed)| {
        let fields = kinds.into_iter().zip(0..).map(|((kind, count), index)| Field {
            name: format!("f{index}"),
            kind,
            count,
        });
        let mut points = Points::new(fields.collect()).unwrap();
        let mut random = fastrand::Rng::with_seed(seed);
        let bytes: Vec<u8> = (0..count * points.row_len()).map(|_| random.u8(..)).collect();
        points.push(&bytes).unwrap();
        points
    })
}

proptest! {
    #[test]
    fn any_points_survive_binary_files(points in any_points()) {
        for encoding in [pcd::Encoding::Binary, pcd::Encoding::Compressed] {
            let (again, _) = pcd::read(&pcd::write(&points, encoding)).unwrap();
            prop_assert_eq!(again.bytes(), points.bytes());
            prop_assert_eq!(again.fields(), points.fields());
        }
    }

    #[test]
    fn any_points_survive_text_but_for_what_is_no_number(points in any_points()) {
        let (again, _) = pcd::read(&pcd::write(&points, pcd::Encoding::Ascii)).unwrap();
        let numbers = |points: &Points| -> Vec<f64> {
            let kinds: Vec<_> = points
                .fields()
                .iter()
                .flat_map(|field| vec![field.kind; field.count])
                .collect();
            let mut numbers = Vec::new();
            for row in points.rows() {
                let mut rest = row;
                for kind in &kinds {
                    numbers.push(kind.value(rest).unwrap());
                    rest = &rest[kind.size()..];
                }
            }
            numbers
        };
        for (got, wanted) in numbers(&again).into_iter().zip(numbers(&points)) {
            prop_assert!(got.to_bits() == wanted.to_bits() || got.is_nan() && wanted.is_nan());
        }
        prop_assert_eq!(again.len(), points.len());
    }
}
