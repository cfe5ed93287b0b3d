use proptest::{option, prelude::*};
use sinew_api::frame::{self, Error, FIXED, Frame, Header, Kind};
use sinew_robot::mapping::{Cloud, Pose};

fn header(name: &str) -> Header<'_> {
    Header {
        sequence: 0x0102_0304_0506_0708,
        time_us: 1_700_000_000_000_000,
        epoch: 3,
        robot: 1,
        name,
        pose: Some(Pose { x: 1.0, y: 2.0, z: 3.0, yaw: 0.5 }),
        origin: [-1.0, -2.0, -3.0],
        unit: 0.0625,
        is_flat: false,
    }
}

fn points(frame: &Frame<'_>) -> Vec<Vec<u16>> {
    frame.points().map(Iterator::collect).collect()
}

/// Written out by hand from the table of docs/api.md.
#[test]
fn the_bytes_are_those_of_the_page() {
    let frame = frame::cloud(&header("map"), &[[1, 2, 0x0304], [5, 6, 7]]);
    let words: Vec<_> = frame.chunks(8).map(|word| word.to_vec()).collect();
    assert_eq!(words[0], [1, 1, 104, 0, 2, 0, 0, 0]);
    assert_eq!(words[1], [8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(words[2], [0x00, 0x40, 0x1E, 0x18, 0x24, 0x0A, 0x06, 0x00]);
    assert_eq!(words[3], [3, 0, 0, 0, 1, 0, 1, 3]);
    assert_eq!(words[4], [0, 0, 0, 0, 0, 0, 0xF0, 0xBF]);
    assert_eq!(words[5], [0, 0, 0, 0, 0, 0, 0x00, 0xC0]);
    assert_eq!(words[6], [0, 0, 0, 0, 0, 0, 0x08, 0xC0]);
    assert_eq!(words[7], [0, 0, 0, 0, 0, 0, 0xB0, 0x3F]);
    assert_eq!(words[8], [0, 0, 0, 0, 0, 0, 0xF0, 0x3F]);
    assert_eq!(words[11], [0, 0, 0, 0, 0, 0, 0xE0, 0x3F]);
    assert_eq!(words[12], *b"map\0\0\0\0\0");
    assert_eq!(frame[104..], [1, 0, 2, 0, 4, 3, 5, 0, 6, 0, 7, 0]);
    assert_eq!(frame::sequence(&frame), Some(0x0102_0304_0506_0708));
}

#[test]
fn a_cloud_is_sent_as_it_came() {
    let cloud = Cloud {
        sequence: 9,
        origin: [1.0, 2.0, 3.0],
        unit: 0.01,
        points: vec![[1, 2, 3], [4, 5, 65535]],
        pose: None,
        frame: "odom".into(),
    };
    let bytes = frame::of_cloud(&cloud, cloud.sequence, 77, 2);
    let frame = Frame::read(&bytes).unwrap();
    let origin = [1.0, 2.0, 3.0];
    let header = Header {
        sequence: 9,
        time_us: 77,
        epoch: 2,
        name: "odom",
        origin,
        unit: 0.01,
        ..Header::default()
    };
    assert_eq!((&frame.header, points(&frame)), (&header, vec![vec![1, 2, 3], vec![4, 5, 65535]]));
}

#[test]
fn a_map_has_four_numbers_a_point() {
    let bytes = frame::map(&header(""), &[[1, 2, 3, 4]]);
    let frame = Frame::read(&bytes).unwrap();
    assert_eq!((frame.kind, bytes.len()), (Kind::Map, FIXED + 8));
    assert_eq!(points(&frame), [[1, 2, 3, 4]]);
}

#[test]
fn a_message_is_as_it_came() {
    let bytes = frame::message(&Header { unit: 0.0, ..header("binary") }, b"\x02\0{}");
    let frame = Frame::read(&bytes).unwrap();
    assert_eq!((frame.kind, frame.header.name), (Kind::Message, "binary"));
    assert_eq!(frame.bytes(), b"\x02\0{}");
}

#[test]
fn the_longest_map_has_room_for_a_whole_block_more() {
    let name = "m".repeat(255);
    let points = vec![[0; 4]; frame::MAP_POINTS - 1 + 512];
    assert!(frame::map(&header(&name), &points).len() <= frame::LONGEST);
}

#[test]
fn every_truncation_and_every_surplus_is_noticed() {
    let whole = frame::cloud(&header("odom"), &[[1, 2, 3]; 3]);
    for length in 0..whole.len() {
        let error = Frame::read(&whole[..length]).unwrap_err();
        assert!(matches!(error, Error::Truncated { .. } | Error::Points { .. }), "{error}");
    }
    let more = [&whole[..], &[0]].concat();
    assert_eq!(Frame::read(&more), Err(Error::Points { wanted: 18, got: 19 }));
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let with = |place: usize, bytes: &[u8]| {
        let mut frame = frame::cloud(&header("map"), &[[1, 2, 3]]);
        frame[place..place + bytes.len()].copy_from_slice(bytes);
        Frame::read(&frame).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(with(0, &[2]), "version: wanted 1, got 2");
    assert_eq!(with(1, &[0]), "kind: wanted 1 to 4, got 0");
    let length = "header length: wanted 96 and the name, in steps of 8, got";
    assert_eq!(with(2, &[96, 0]), format!("{length} 96"));
    assert_eq!(with(2, &[105, 0]), format!("{length} 105"));
    assert_eq!(with(2, &[0xF8, 0xFF]), "wanted 65528 bytes, got 110");
    // A count allocates nothing.
    assert_eq!(with(4, &[0xFF; 4]), "points: wanted 25769803770 bytes, got 6");
    assert_eq!(with(96, &[0xFF]), "name: wanted UTF-8");
    let number = "origin, unit and pose: wanted numbers, and a unit over 0";
    for place in [32, 40, 48, 56, 64, 72, 80, 88] {
        assert_eq!(with(place, &f64::NAN.to_le_bytes()), number);
        assert_eq!(with(place, &f64::INFINITY.to_le_bytes()), number);
    }
    assert_eq!(with(56, &0f64.to_le_bytes()), number);
}

#[test]
fn a_later_header_may_be_longer() {
    let mut bytes = frame::cloud(&header("map"), &[[1, 2, 3]]);
    bytes.splice(104..104, [9; 16]);
    bytes[2] += 16;
    let frame = Frame::read(&bytes).unwrap();
    assert_eq!((frame.header.name, points(&frame)), ("map", vec![vec![1, 2, 3]]));
}

#[test]
fn names_are_cut_between_characters_and_have_nothing_that_moves_a_cursor() {
    let long = "ü".repeat(200);
    let bytes = frame::cloud(&header(&long), &[]);
    assert_eq!(Frame::read(&bytes).unwrap().header.name, "ü".repeat(127));
    let bytes = frame::cloud(&header("a\n\u{202e}b"), &[]);
    assert_eq!(Frame::read(&bytes).unwrap().header.name, "ab");
}

#[test]
fn the_server_says_which_robot_it_was() {
    let mut bytes = frame::cloud(&header("map"), &[]);
    frame::set_robot(&mut bytes, 513);
    let read = Frame::read(&bytes).unwrap();
    assert_eq!(read.header, Header { robot: 513, ..header("map") });
    // Nothing is written where there is no header.
    let mut short = [7; 29];
    frame::set_robot(&mut short, 1);
    assert_eq!((short, frame::sequence(&short[..15])), ([7; 29], None));
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        sequence in any::<u64>(),
        time_us in any::<u64>(),
        epoch in any::<u32>(),
        robot in any::<u16>(),
        name in "[a-z/ü]{0,20}",
        pose in option::of(prop::array::uniform4(-1e9f64..1e9)),
        origin in prop::array::uniform3(-1e9f64..1e9),
        unit in 1e-9f64..1e9,
        is_flat in any::<bool>(),
        points in prop::collection::vec(any::<[u16; 3]>(), 0..50),
    ) {
        let pose = pose.map(|[x, y, z, yaw]| Pose { x, y, z, yaw });
        let header = Header { sequence, time_us, epoch, robot, name: &name, pose, origin, unit, is_flat };
        let bytes = frame::cloud(&header, &points);
        prop_assert_eq!((bytes.len() - 6 * points.len()) % 8, 0);
        let frame = Frame::read(&bytes).unwrap();
        prop_assert_eq!(frame.kind, Kind::Cloud);
        prop_assert_eq!(&frame.header, &header);
        let read: Vec<Vec<_>> = self::points(&frame);
        prop_assert_eq!(read, points.iter().map(|point| point.to_vec()).collect::<Vec<_>>());
    }

    #[test]
    fn no_bytes_make_it_panic(
        mut bytes in prop::collection::vec(any::<u8>(), 0..300),
        begin in any::<bool>(),
    ) {
        // Such that some get past the first checks.
        if begin && bytes.len() > 4 {
            bytes[..4].copy_from_slice(&[1, 1, 104, 0]);
        }
        let _ = Frame::read(&bytes);
    }
}
