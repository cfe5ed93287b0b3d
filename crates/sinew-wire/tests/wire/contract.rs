//! Whatever comes in, nothing panics.

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::json;
use sinew_wire::{
    Error, delta2d, dtls, gd32,
    slam::{self, BoundingBox, CloudFrame, Reading},
    teach,
    voxel::VoxelMap,
};

use crate::support::{bytes, envelope, salted_noise, vectors};

/// Every entry point that takes bytes.
fn feed_all(input: &[u8]) {
    feed_gd32(input);
    feed_delta2d(input);
    feed_teach(input);
    feed_dtls(input);
    feed_slam(input);
}

/// Anything the crate says must be sayable.
fn say<T: std::fmt::Debug>(result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(value) => {
            assert!(!format!("{value:?}").is_empty());
            Some(value)
        }
        Err(error) => {
            assert!(error.to_string().contains(": wanted "));
            None
        }
    }
}

fn feed_gd32(input: &[u8]) {
    gd32::checksum(input);
    say(gd32::Status::parse(input)).map(|status| (status.battery_percent(), status.gyro_ros()));
    let version = gd32::Version(input);
    version.text();
    version.code();
    if let Some(frame) = say(gd32::Frame::new_checked(input)) {
        feed_frame(&frame);
    }
    let mut deframer = gd32::Deframer::new();
    let mut sink = |piece: gd32::Piece<'_>| match piece.what {
        gd32::What::Frame(frame) => feed_frame(&frame),
        gd32::What::Dropped { reason, .. } => {
            reason.map(|error| error.to_string());
        }
    };
    deframer.push(input, &mut sink);
    deframer.give_up(&mut sink);
    deframer.finish(&mut sink);
}

fn feed_frame(frame: &gd32::Frame<'_>) {
    frame.check();
    let senders = [None, Some(gd32::Sender::Host), Some(gd32::Sender::Controller)];
    for sender in senders {
        if let Some(message) = say(gd32::Message::parse(frame, sender)) {
            message.body.name();
            message.body.command().to_string();
            say(message.frame());
        }
    }
}

fn feed_delta2d(input: &[u8]) {
    delta2d::checksum(input);
    delta2d::Frame::looks_like(input);
    say(delta2d::Frame::new_checked(input));
    let (mut deframer, mut turns) = (delta2d::Deframer::new(), delta2d::Turns::default());
    let mut sink = |piece: delta2d::Piece<'_>| match piece.what {
        delta2d::What::Frame(frame) => {
            let Some(message) = say(delta2d::Message::parse(&frame)) else { return };
            say(message.frame());
            if let delta2d::Body::Measurement(measurement) = message.body {
                turns.push(&measurement, false);
            }
        }
        delta2d::What::Dropped { reason, .. } => {
            reason.map(|error| error.to_string());
        }
    };
    deframer.push(input, &mut sink);
    deframer.give_up(&mut sink);
    deframer.finish(&mut sink);
}

fn feed_teach(input: &[u8]) {
    for layout in [teach::Layout::Documented, teach::Layout::Compact] {
        layout.declared_len(input);
        let mut out = vec![0; input.len()];
        let sequence = teach::Sequence(0);
        say(teach::Datagram::emit(layout, sequence, 0x41, input, &mut out));
    }
    say(teach::Datagram::layout_of(input));
    if let Some(datagram) = say(teach::Datagram::new_checked(input)) {
        feed_datagram(&datagram);
    }
    if let Some(field) = input.first_chunk() {
        say(teach::Name::from_field(*field).as_str());
    }
    if let Ok(name) = std::str::from_utf8(input) {
        say(teach::Name::new(name));
    }
}

fn feed_datagram(datagram: &teach::Datagram<'_>) {
    let senders = [None, Some(teach::Sender::Host), Some(teach::Sender::Robot)];
    for sender in senders {
        if let Some(message) = say(teach::Message::parse(datagram, sender)) {
            message.problems(|problem| assert!(!problem.to_string().is_empty()));
            for layout in [teach::Layout::Documented, teach::Layout::Compact] {
                say(message.to_vec(layout, datagram.sequence));
            }
        }
    }
}

fn feed_dtls(input: &[u8]) {
    let mut rest = input;
    while let Some((record, behind)) = say(dtls::Record::split(rest)) {
        assert!(record.len() >= dtls::HEADER_LEN);
        rest = behind;
    }
}

fn feed_slam(input: &[u8]) {
    slam::Message::looks_like(input);
    say(slam::Metadata::parse(input));
    let bounds = BoundingBox { min: [f64::MIN; 3], max: [f64::MAX; 3] };
    for bounds in [None, Some(&bounds)] {
        say(slam::choose(input, bounds));
    }
    slam::channel_ranges::<3>(input);
    slam::channel_ranges::<6>(input);
    for reading in [Reading::Documented, Reading::Packed] {
        let mut out = [[0.0; 3]; 20];
        say(slam::decode(reading, input, [f32::MAX; 3], &mut out));
    }
    say(slam::Message::split(input));
    let Some(message) = say(slam::Message::new_checked(input)) else {
        return;
    };
    for wanted in [None, Some(Reading::Documented), Some(Reading::Packed)] {
        let Some(cloud) = say(slam::Cloud::new(&message, wanted)) else {
            continue;
        };
        cloud.problems(|problem| assert!(!problem.to_string().is_empty()));
        for frame in [CloudFrame::Map, CloudFrame::Raw] {
            say(cloud.points(frame));
            cloud.bounds(frame);
        }
    }
    if let Ok(map) = VoxelMap::new(&message) {
        assert_eq!(map.points().len(), map.len());
        assert_eq!(map.cells().count(), map.len());
        map.bounds();
    }
}

/// Every message of the vectors.
fn all_vectors() -> Vec<Vec<u8>> {
    let files = [
        ("gd32.json", &["frame"][..]),
        ("delta2d.json", &["frame"]),
        ("teach.json", &["documented", "compact"]),
        ("teach_documents.json", &["hex"]),
        ("slam.json", &["message"]),
        ("voxel.json", &["message"]),
    ];
    let mut all = Vec::new();
    for (file, keys) in files {
        for vector in vectors(file) {
            all.extend(keys.iter().map(|key| bytes(&vector, key)));
        }
    }
    all
}

/// JSON values that a careless reader would stumble over.
fn odd_value() -> impl Strategy<Value = serde_json::Value> {
    prop_oneof![
        Just(json!(null)),
        Just(json!([128, 128, 1])),
        Just(json!([1e308, -1e308, 0])),
        Just(json!("text")),
        Just(json!({})),
        Just(json!(2048)),
        any::<f64>().prop_map(|value| json!(value)),
        any::<i64>().prop_map(|value| json!(value)),
        any::<u64>().prop_map(|value| json!(value)),
        (-1000i32..1000).prop_map(|value| json!(f64::from(value) / 100.0)),
    ]
}

fn odd_metadata() -> impl Strategy<Value = String> {
    const KEYS: &[&str] = &[
        "xmin",
        "xmax",
        "ymin",
        "ymax",
        "zmin",
        "zmax",
        "src_size",
        "resolution",
        "origin",
        "width",
        "header",
    ];
    const TOPICS: &[&str] =
        &["", "rt/unitree/slam_mapping/points", "rt/utlidar/voxel_map_compressed"];
    let data = vec((select(KEYS), odd_value()), 0..12);
    (select(TOPICS), data).prop_map(|(topic, members)| {
        let data: serde_json::Map<_, _> = members.into_iter().map(|(k, v)| (k.into(), v)).collect();
        json!({ "topic": topic, "data": data }).to_string()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn random_bytes_never_panic(input in vec(any::<u8>(), 0..600)) {
        feed_all(&input);
    }

    #[test]
    fn salted_bytes_never_panic(input in salted_noise(600)) {
        feed_all(&input);
    }

    #[test]
    fn damaged_vectors_never_panic(
        vector in select(all_vectors()),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        keep in any::<prop::sample::Index>(),
    ) {
        let mut input = vector;
        for (at, byte) in damage {
            let at = at.index(input.len());
            input[at] = byte;
        }
        feed_all(&input);
        input.truncate(keep.index(input.len()));
        feed_all(&input);
    }

    #[test]
    fn random_payloads_behind_a_right_check_never_panic(
        command in prop_oneof![any::<u8>(), select(vec![0x0B, 0x0D, 0x15, 0x1A, 0x2B, 0x41, 0xAD, 0xAE])],
        payload in vec(any::<u8>(), 0..260),
    ) {
        if let Ok(frame) = gd32::FrameBuf::new(command, &payload) {
            feed_all(frame.as_bytes());
        }
        feed_all(delta2d::FrameBuf::new(command, &payload).unwrap().as_bytes());
        for layout in [teach::Layout::Documented, teach::Layout::Compact] {
            let mut out = [0; 300];
            let sequence = teach::Sequence(u16::MAX);
            let len = teach::Datagram::emit(layout, sequence, command, &payload, &mut out);
            feed_all(&out[..len.unwrap()]);
        }
    }

    #[test]
    fn odd_metadata_never_panics(
        type_word in any::<bool>(),
        json in odd_metadata(),
        body in vec(any::<u8>(), 0..100),
    ) {
        feed_all(&envelope(type_word, json.as_bytes(), &body));
        feed_all(&envelope(type_word, json.as_bytes(), &body[..body.len() / 12 * 12]));
    }
}
