//! SLAM messages: envelope, metadata, points.

mod reading;

use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};
use sinew_wire::{
    Vectors,
    slam::{
        BoundingBox, ChannelRange, Cloud, CloudFrame, Message, Metadata, Reading, Reason,
        channel_ranges, decode, decode_with,
    },
};

use crate::support::{assert_points, bytes, envelope, points, refused, text, truncations, vectors};

const TOPIC: &str = "rt/unitree/slam_mapping/points";

/// Metadata with a box in metres.
fn boxed(min: [f64; 3], max: [f64; 3]) -> Value {
    json!({
        "type": "msg",
        "topic": TOPIC,
        "data": {
            "header": { "frame_id": "map" },
            "is_dense": true,
            "xmin": min[0], "xmax": max[0],
            "ymin": min[1], "ymax": max[1],
            "zmin": min[2], "zmax": max[2],
        },
    })
}

fn unboxed() -> Value {
    json!({ "type": "msg", "topic": TOPIC, "data": { "header": { "frame_id": "map" } } })
}

fn numbers(values: &[u16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Decodes a message and hands out the cloud with the fields of its problems.
fn cloud<R>(
    json: &Value,
    body: &[u8],
    wanted: Option<Reading>,
    look: impl FnOnce(Cloud<'_>, Vec<&'static str>) -> R,
) -> R {
    let wire = envelope(false, json.to_string().as_bytes(), body);
    let message = Message::new_checked(&wire).unwrap();
    let cloud = Cloud::new(&message, wanted).unwrap();
    let mut problems = Vec::new();
    cloud.problems(|problem| problems.push(problem.field));
    look(cloud, problems)
}

#[test]
fn every_vector_gives_its_reading_and_its_points_in_both_frames() {
    for vector in vectors("slam.json") {
        let name = text(&vector, "name");
        let wire = bytes(&vector, "message");
        let message = Message::new_checked(&wire).unwrap();
        assert!(Message::looks_like(&wire), "{name}");
        assert_eq!(message.type_word, name.contains("type word"), "{name}");
        assert_eq!(message.header_len(), if message.type_word { 12 } else { 8 });

        let auto = Cloud::new(&message, None).unwrap();
        assert_eq!(auto.choice.reading.to_string(), text(&vector, "reading"), "{name}");
        let forced = Cloud::new(&message, Some(auto.choice.reading)).unwrap();
        assert_eq!(forced.choice.reason, Reason::Forced);
        for cloud in [auto, forced] {
            let (map, raw) = (points(&vector, "points"), points(&vector, "raw"));
            assert_eq!((cloud.len(), cloud.is_empty()), (map.len(), false), "{name}");
            assert_points(&cloud.points(CloudFrame::Map).unwrap(), &map, 1e-5);
            assert_points(&cloud.points(CloudFrame::Raw).unwrap(), &raw, 1e-5);
            for (frame, points) in [(CloudFrame::Map, map), (CloudFrame::Raw, raw)] {
                let bounds = cloud.bounds(frame).unwrap();
                for axis in 0..3 {
                    let values = points.iter().map(|point| point[axis]);
                    let (low, high) =
                        values.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
                    assert!((bounds.min[axis] - low).abs() < 1e-9, "{name}");
                    assert!((bounds.max[axis] - high).abs() < 1e-9, "{name}");
                }
            }
            cloud.problems(|problem| panic!("{name}: {problem}"));
        }
    }
}

#[test]
fn the_type_word_changes_nothing_else() {
    let json = unboxed().to_string();
    for body in [&[][..], &[1, 2, 3, 4, 5, 6]] {
        let bare = envelope(false, json.as_bytes(), body);
        let typed = envelope(true, json.as_bytes(), body);
        let (bare, typed) =
            (Message::new_checked(&bare).unwrap(), Message::new_checked(&typed).unwrap());
        assert_eq!((bare.json, bare.body), (typed.json, typed.body));
        assert_eq!((bare.type_word, typed.type_word), (false, true));
    }
}

#[test]
fn the_smallest_json_is_not_mistaken_for_a_type_word() {
    // The length of `{}` is the type word, and a body may hold a brace where JSON would begin.
    let bodies: [&[u8]; 5] = [b"", b"abcdef", b"ab{def", b"ab{def{}{}{}", b"\0\0{}\0\0"];
    for body in bodies {
        for type_word in [false, true] {
            let wire = envelope(type_word, b"{}", body);
            let message = Message::new_checked(&wire).unwrap();
            assert_eq!(message.type_word, type_word, "{body:?}");
            assert_eq!((message.json, message.body), (&b"{}"[..], body));
            assert!(Message::looks_like(&wire));
        }
    }
}

#[test]
fn a_body_as_long_as_two_braces_read_is_no_smallest_json() {
    // Here `{}` stands where the smallest JSON would, but as the length of the body.
    let body = vec![0; usize::from(u16::from_le_bytes(*b"{}"))];
    let json = unboxed().to_string();
    let wire = envelope(true, json.as_bytes(), &body);
    assert_eq!(&wire[8..10], b"{}");
    let message = Message::new_checked(&wire).unwrap();
    assert!(message.type_word);
    assert_eq!((message.json, message.body), (json.as_bytes(), &body[..]));
}

#[test]
fn a_binary_length_of_zero_means_the_rest() {
    let json = unboxed().to_string();
    let mut wire = envelope(false, json.as_bytes(), &[7; 18]);
    wire[4..8].fill(0);
    assert_eq!(Message::new_checked(&wire).unwrap().body, [7; 18]);
    let (message, rest) = Message::split(&wire).unwrap();
    assert_eq!((message.body, rest), (&[7; 18][..], &[][..]));
}

#[test]
fn messages_in_a_row_are_split_one_by_one() {
    let json = unboxed().to_string();
    let chain =
        [envelope(false, json.as_bytes(), &[1; 6]), envelope(true, json.as_bytes(), &[2; 12])]
            .concat();
    let (first, rest) = Message::split(&chain).unwrap();
    let (second, rest) = Message::split(rest).unwrap();
    assert_eq!((first.body, second.body), (&[1; 6][..], &[2; 12][..]));
    assert!(rest.is_empty());
}

#[test]
fn a_wrong_length_is_refused_by_its_field() {
    let json = unboxed().to_string();
    for type_word in [false, true] {
        let word = if type_word { 4 } else { 0 };
        let wire = envelope(type_word, json.as_bytes(), &[7; 12]);
        for cut in truncations(&wire) {
            // A type word cut off before its lengths is a length itself.
            let field = match cut.len() {
                len if len < 4 + word && !(type_word && len >= 4) => "json_len",
                len if type_word && len < 8 => "json_len",
                len if len < 8 + word => "binary_len",
                len if len < 8 + word + json.len() => "json_len",
                _ => "binary_len",
            };
            assert_eq!(refused(Message::new_checked(cut)), field, "{}", cut.len());
        }
        let longer = [&wire[..], &[0]].concat();
        assert_eq!(refused(Message::new_checked(&longer)), "binary_len");
        let mut huge = wire.clone();
        huge[word..word + 4].fill(0xFF);
        assert_eq!(refused(Message::new_checked(&huge)), "json_len");
        let mut huge = wire.clone();
        huge[word + 4..word + 8].fill(0xFF);
        assert_eq!(refused(Message::new_checked(&huge)), "binary_len");
    }
}

#[test]
fn bad_json_is_refused_as_json() {
    let deep = "[".repeat(100_000);
    let texts = ["", "{", "[]", "7", "{\"a\":}", "nonsense", "{} {}", &deep];
    for json in texts {
        let wire = envelope(true, json.as_bytes(), &[]);
        let message = Message::new_checked(&wire).unwrap();
        assert_eq!(refused(Cloud::new(&message, None)), "JSON", "{json:.20}");
        assert_eq!(refused(Metadata::parse(json.as_bytes())), "JSON");
    }
    assert_eq!(refused(Metadata::parse(b"{\"a\":\"\xFF\"}")), "JSON");
}

#[test]
fn a_body_that_is_no_whole_number_of_points_is_refused() {
    for len in 0..40 {
        let wire = envelope(false, unboxed().to_string().as_bytes(), &vec![0; len]);
        let message = Message::new_checked(&wire).unwrap();
        let cases = [(None, 6), (Some(Reading::Packed), 6), (Some(Reading::Documented), 12)];
        for (wanted, multiple) in cases {
            let cloud = Cloud::new(&message, wanted);
            match len % multiple {
                0 => assert!(cloud.is_ok()),
                _ => assert_eq!(refused(cloud), "body length"),
            }
        }
    }
}

#[test]
fn metadata_gives_what_it_knows_and_keeps_the_rest() {
    let mut json = boxed([-1.0, -2.0, -3.0], [1.0, 2.0, 3.5]);
    json["extra"] = json!({ "kept": [1, 2, 3] });
    let metadata = Metadata::parse(json.to_string().as_bytes()).unwrap();
    assert_eq!(metadata.topic.as_deref(), Some(TOPIC));
    assert_eq!(metadata.frame_id.as_deref(), Some("map"));
    assert_eq!(metadata.is_dense, Some(true));
    let wanted = BoundingBox { min: [-1.0, -2.0, -3.0], max: [1.0, 2.0, 3.5] };
    assert_eq!((metadata.bounds, metadata.problem), (Some(wanted), None));
    assert_eq!(metadata.json, json);
    let empty = Metadata::parse(b"{}").unwrap();
    assert_eq!((empty.topic, empty.frame_id, empty.is_dense), (None, None, None));
    assert_eq!((empty.bounds, empty.problem), (None, None));
}

#[test]
fn half_a_box_is_a_problem_that_names_what_is_missing() {
    for field in ["xmin", "xmax", "ymin", "ymax", "zmin", "zmax"] {
        for wrong in [Value::Null, json!("1"), json!([1])] {
            let mut json = boxed([0.0; 3], [1.0; 3]);
            json["data"][field] = wrong;
            cloud(&json, &[0; 12], None, |cloud, problems| {
                assert_eq!(cloud.metadata.bounds, None);
                assert_eq!(problems, [field]);
                assert_eq!(cloud.choice.reason, Reason::Default);
            });
        }
    }
    let upside_down = boxed([0.0, 2.0, 0.0], [1.0; 3]);
    cloud(&upside_down, &[0; 12], None, |_, problems| {
        assert_eq!(problems, ["ymax"]);
    });
}

#[test]
fn a_voxel_map_is_refused_by_name_and_a_cloud_by_the_voxel_decoder() {
    let voxel = bytes(&vectors("voxel.json")[0], "message");
    let error = Cloud::new(&Message::new_checked(&voxel).unwrap(), None).unwrap_err();
    assert_eq!(error.field, "format");
    assert!(error.to_string().contains("voxel"), "{error}");
    for vector in vectors("slam.json") {
        let wire = bytes(&vector, "message");
        let message = Message::new_checked(&wire).unwrap();
        let error = sinew_wire::voxel::VoxelMap::new(&message).unwrap_err();
        assert_eq!(error.field, "format");
        assert!(error.to_string().contains("slam"), "{error}");
    }
}

#[test]
fn without_a_topic_the_members_tell_the_formats_apart() {
    let voxel = json!({ "data": { "src_size": 2048, "resolution": 0.05, "origin": [0, 0, 0] } });
    assert_eq!(refused(Metadata::parse(voxel.to_string().as_bytes())), "format");
    let mut slam = boxed([0.0; 3], [1.0; 3]);
    slam.as_object_mut().unwrap().remove("topic");
    assert!(Metadata::parse(slam.to_string().as_bytes()).is_ok());
    let wire = envelope(false, slam.to_string().as_bytes(), &[]);
    let message = Message::new_checked(&wire).unwrap();
    assert_eq!(refused(sinew_wire::voxel::VoxelMap::new(&message)), "format");
}

#[test]
fn a_buffer_too_small_for_the_points_is_refused() {
    for (reading, per_body) in [(Reading::Packed, 4), (Reading::Documented, 2)] {
        cloud(&boxed([0.0; 3], [1.0; 3]), &[0; 24], Some(reading), |cloud, _| {
            for room in 0..per_body {
                let mut out = vec![[0.0; 3]; room];
                let result = cloud.decode_into(CloudFrame::Map, &mut out);
                assert_eq!(refused(result), "output buffer in points");
            }
            let mut out = vec![[9.0; 3]; per_body + 1];
            assert_eq!(cloud.decode_into(CloudFrame::Map, &mut out), Ok(per_body));
            assert_eq!(out[per_body], [9.0; 3]);
        });
    }
}

#[test]
fn an_empty_cloud_is_a_cloud() {
    for (json, reason) in
        [(unboxed(), Reason::Default), (boxed([0.0; 3], [1.0; 3]), Reason::DocumentedFitsBox)]
    {
        cloud(&json, &[], None, |cloud, problems| {
            assert_eq!((cloud.len(), cloud.is_empty()), (0, true));
            assert_eq!(cloud.choice.reason, reason);
            assert_eq!(cloud.bounds(CloudFrame::Map), None);
            assert_eq!(cloud.points(CloudFrame::Map), Ok(vec![]));
            assert!(problems.is_empty());
        });
    }
}

/// Ranges of every N-th number, one number at a time.
fn slow_ranges<const N: usize>(body: &[u8]) -> Option<[ChannelRange; N]> {
    let numbers: Vec<u16> =
        body.as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect();
    if numbers.len() < N {
        return None;
    }
    Some(core::array::from_fn(|channel| {
        let unsigned = numbers.iter().copied().skip(channel).step_by(N);
        let signed = unsigned.clone().map(|number| number as i16);
        ChannelRange {
            signed: (signed.clone().min().unwrap(), signed.max().unwrap()),
            unsigned: (unsigned.clone().min().unwrap(), unsigned.max().unwrap()),
        }
    }))
}

/// A point at a time, in double precision.
fn slow_decode(reading: Reading, body: &[u8], origin: [f64; 3]) -> Vec<[f64; 3]> {
    let metres = |record: &[u8], axis: usize| {
        let bytes = [record[2 * axis], record[2 * axis + 1]];
        match reading {
            Reading::Documented => f64::from(i16::from_le_bytes(bytes)) / 1000.0,
            Reading::Packed => f64::from(u16::from_le_bytes(bytes)) / 1000.0 + origin[axis],
        }
    };
    body.chunks(reading.point_len())
        .map(|record| core::array::from_fn(|axis| metres(record, axis)))
        .collect()
}

/// A point at a time, in the precision and the order of operations that every level must have.
fn exact_decode(reading: Reading, body: &[u8], origin: [f32; 3]) -> Vec<[u32; 3]> {
    let bits = |record: &[u8], axis: usize| {
        let bytes = [record[2 * axis], record[2 * axis + 1]];
        let metres = match reading {
            Reading::Documented => f32::from(i16::from_le_bytes(bytes)) * 0.001,
            Reading::Packed => f32::from(u16::from_le_bytes(bytes)) * 0.001 + origin[axis],
        };
        metres.to_bits()
    };
    body.chunks(reading.point_len())
        .map(|record| core::array::from_fn(|axis| bits(record, axis)))
        .collect()
}

#[test]
fn plain_loops_are_always_available_and_the_best_vectors_come_last() {
    let names: Vec<String> = Vectors::available().map(|vectors| vectors.to_string()).collect();
    assert_eq!(names.first().map(String::as_str), Some("plain"));
    assert_eq!(names.last(), Some(&Vectors::best().to_string()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn points_are_the_same_to_the_last_bit_with_all_vectors_at_every_count(
        body in vec(any::<u8>(), 130 * 12),
        origin in proptest::array::uniform3(-1e4f32..1e4),
        // Neither the body nor the points need be aligned.
        skip in 0usize..12,
    ) {
        for reading in [Reading::Documented, Reading::Packed] {
            for count in 0..=128 {
                let body = &body[skip..skip + count * reading.point_len()];
                let wanted = exact_decode(reading, body, origin);
                for vectors in Vectors::available() {
                    let mut out = vec![[f32::NAN; 3]; 1 + count + 1];
                    let written = decode_with(vectors, reading, body, origin, &mut out[1..]);
                    prop_assert_eq!(written, Ok(count));
                    let bits = |point: &[f32; 3]| point.map(f32::to_bits);
                    prop_assert_eq!(bits(&out[0]), bits(&[f32::NAN; 3]), "{}", vectors);
                    prop_assert_eq!(bits(&out[1 + count]), bits(&[f32::NAN; 3]), "{}", vectors);
                    let points: Vec<_> = out[1..=count].iter().map(bits).collect();
                    prop_assert_eq!(&points, &wanted, "{} {} {}", vectors, reading, count);
                }
            }
        }
    }

    #[test]
    fn ranges_are_the_slow_ones_at_every_length(body in vec(any::<u8>(), 320)) {
        for len in 0..=body.len() {
            let body = &body[..len];
            prop_assert_eq!(channel_ranges::<3>(body), slow_ranges::<3>(body), "{}", len);
            prop_assert_eq!(channel_ranges::<6>(body), slow_ranges::<6>(body), "{}", len);
        }
    }

    #[test]
    fn points_are_the_slow_ones_at_every_count(
        // The SLAM service maps 45 m; beyond it a sum of f32 is coarser than the tolerance.
        values in vec(0u16..=45_000, 200 * 6),
        origin in proptest::array::uniform3(-45.0f64..45.0),
    ) {
        let body = numbers(&values);
        for reading in [Reading::Documented, Reading::Packed] {
            for count in 0..=200 {
                let body = &body[..count * reading.point_len()];
                let mut out = vec![[f32::NAN; 3]; count];
                let written = decode(reading, body, origin.map(|m| m as f32), &mut out);
                prop_assert_eq!(written, Ok(count));
                assert_points(&out, &slow_decode(reading, body, origin), 1e-5);
            }
        }
    }

    #[test]
    fn every_sixteen_bit_value_is_decoded(from in any::<u16>()) {
        let values: Vec<u16> = (0..6 * 1024).map(|i: u16| from.wrapping_add(i.wrapping_mul(11))).collect();
        let body = numbers(&values);
        for reading in [Reading::Documented, Reading::Packed] {
            let wanted = slow_decode(reading, &body, [0.0; 3]);
            let mut out = vec![[0.0; 3]; wanted.len()];
            decode(reading, &body, [0.0; 3], &mut out).unwrap();
            assert_points(&out, &wanted, 1e-5);
        }
    }
}
