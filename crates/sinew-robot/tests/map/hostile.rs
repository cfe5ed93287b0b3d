//! Files and clouds that lie: an error each, and no memory for what they claim.

use std::time::Duration;

use sinew_robot::{
    map::{
        VoxelMap, VoxelSettings,
        file::{messages, pcd, ply, read},
    },
    mapping::Pose,
};

use crate::support::{cloud, message, mixed, start, wall};

fn header(width: &str, height: &str, points: &str, data: &str) -> Vec<u8> {
    format!(
        "VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH {width}\n\
         HEIGHT {height}\nPOINTS {points}\nDATA {data}\n"
    )
    .into_bytes()
}

#[test]
fn a_header_with_a_billion_points() {
    let billion = "1000000000";
    for data in ["ascii", "binary", "binary_compressed"] {
        let mut file = header(billion, "1", billion, data);
        file.extend([0; 24]);
        assert!(pcd::read(&file).is_err(), "{data}");
    }
    for format in ["ascii", "binary_little_endian", "binary_big_endian"] {
        let file = format!(
            "ply\nformat {format} 1.0\nelement vertex {billion}\nproperty float x\nend_header\n1\n"
        );
        assert!(ply::read(file.as_bytes()).is_err(), "{format}");
        let file = format!(
            "ply\nformat {format} 1.0\nelement face {billion}\nproperty list uint double i\n\
             element vertex 1\nproperty float x\nend_header\n\u{7f}\u{7f}\u{7f}\u{7f}"
        );
        assert!(ply::read(file.as_bytes()).is_err(), "{format}");
    }
    let most = usize::MAX.to_string();
    assert!(pcd::read(&header(&most, &most, &most, "binary")).is_err());
    assert!(pcd::read(&header("2", "1", "3", "ascii")).is_err());
    assert!(pcd::read(&header("-1", "1", "-1", "ascii")).is_err());
}

#[test]
fn claims_of_4_gib_and_bombs() {
    let count = (u32::MAX / 12).to_string();
    let mut file = header(&count, "1", &count, "binary_compressed");
    file.extend(16_u32.to_le_bytes());
    file.extend((u32::MAX / 12 * 12).to_le_bytes());
    file.extend([0; 16]);
    assert!(pcd::read(&file).is_err());

    // Each three bytes unfold to 264.
    let mut bomb = vec![0, 7];
    (0..100_000).for_each(|_| bomb.extend([0xe0, 0xff, 0x00]));
    for (points, allowed) in [("10", false), ("2200000", false), ("100000000", false)] {
        let len = points.parse::<u64>().unwrap() * 12;
        let mut file = header(points, "1", points, "binary_compressed");
        file.extend((bomb.len() as u32).to_le_bytes());
        file.extend((len as u32).to_le_bytes());
        file.extend(&bomb);
        assert_eq!(pcd::read(&file).is_ok(), allowed, "{points}");
    }
    // Copies from before the beginning.
    let mut file = header("1", "1", "1", "binary_compressed");
    file.extend(3_u32.to_le_bytes());
    file.extend(12_u32.to_le_bytes());
    file.extend([0xe0, 3, 9]);
    assert!(pcd::read(&file).is_err());

    let mut claim = message(&[[1, 2, 3]], true);
    claim[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(read(&claim).is_err());
    let mut recording = messages::begin().to_vec();
    recording.extend([0; 8]);
    recording.extend([2, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1]);
    let (points, summary) = messages::read(&recording, None).unwrap();
    assert!(points.is_empty() && summary.is_cut);
}

#[test]
fn headers_that_make_no_sense() {
    let wrong = [
        "FIELDS x\nSIZE 3\nTYPE F\nWIDTH 1\nDATA ascii\n1\n",
        "FIELDS x\nSIZE 4\nTYPE Q\nWIDTH 1\nDATA ascii\n1\n",
        "FIELDS x y\nSIZE 4\nTYPE F\nWIDTH 1\nDATA ascii\n1\n",
        "FIELDS x\nSIZE 4\nTYPE F\nCOUNT 0\nWIDTH 1\nDATA ascii\n1\n",
        "FIELDS x\nSIZE 4\nTYPE F\nCOUNT 4000000000\nWIDTH 1\nDATA ascii\n1\n",
        "FIELDS x\nSIZE 4\nTYPE F\nCOUNT 18446744073709551615\nWIDTH 1\nDATA ascii\n1\n",
        "FIELDS\nSIZE\nTYPE\nWIDTH 1\nDATA ascii\n",
        "FIELDS x\nSIZE 4\nTYPE F\nWIDTH 1\nDATA zip\n1\n",
        "FIELDS x\nSIZE 4\nTYPE F\nWIDTH 1\nDATA ascii\nbanana\n",
        "FIELDS x\nSIZE 4\nTYPE F\nWIDTH 1\nDATA ascii\n1 2\n",
        "FIELDS x\nSIZE 4\nTYPE F\nWIDTH 1\nDATA ascii\n1\n2\n",
        "FIELDS x\nSIZE 1\nTYPE U\nWIDTH 1\nDATA ascii\n256\n",
        "FIELDS x\nSIZE 4\nTYPE F\nWIDTH 1\nVIEWPOINT 1 2\nDATA ascii\n1\n",
        "FIELDS x\nSIZE 4\nTYPE F\nDATA ascii\n1\n",
        "FIELDS x\n",
        "ply\nformat ascii 1.0\nelement vertex 1\nproperty list uchar int x\nend_header\n1 1\n",
        "ply\nformat ascii 1.0\nproperty float x\nend_header\n",
        "ply\nelement vertex 0\nproperty float x\nend_header\n",
        "ply\nformat ascii 1.0\nelement face 0\nproperty float x\nend_header\n",
        "ply\nformat ascii 1.0\nelement vertex x\nend_header\n",
        "ply\n",
    ];
    for file in wrong {
        let error = read(file.as_bytes()).expect_err(file);
        assert!(!error.to_string().is_empty());
    }
    let endless = [&b"FIELDS x"[..], &vec![b' '; 1 << 20]].concat();
    assert!(read(&endless).is_err());
    let name = format!("FIELDS {}\nSIZE 4\nTYPE F\nWIDTH 0\nDATA ascii\n", "x".repeat(1000));
    assert!(read(name.as_bytes()).is_err());
}

#[test]
fn every_truncation_and_every_changed_byte_is_read_or_refused() {
    let points = mixed(3, 9);
    let mut files = vec![
        pcd::write(&points, pcd::Encoding::Ascii),
        pcd::write(&points, pcd::Encoding::Binary),
        pcd::write(&points, pcd::Encoding::Compressed),
        ply::write(&points).unwrap(),
        message(&[[1, 2, 3], [500, -4, 6]], true),
    ];
    for file in &mut files {
        let wanted = read(file).unwrap().points.len();
        for end in 0..file.len() {
            if let Ok(content) = read(&file[..end]) {
                assert!(content.points.len() <= wanted);
            }
        }
        for index in 0..file.len() {
            let before = file[index];
            for bit in [1, 4, 0x80] {
                file[index] = before ^ bit;
                if let Ok(content) = read(file) {
                    assert!(content.points.bytes().len() < 1 << 16, "byte {index}");
                }
            }
            file[index] = before;
        }
    }
}

#[test]
fn a_cloud_that_is_no_cloud_leaves_the_map_untouched() {
    let start = start();
    let mut map = VoxelMap::new(VoxelSettings::default());
    map.insert(start, &cloud(&wall(2.0, 0.05), None)).unwrap();
    let before = (map.len(), map.bounds(), map.bytes());
    let good = cloud(&wall(3.0, 0.05), Some([0.0; 3]));
    let mut wrong = Vec::new();
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for axis in 0..3 {
            let mut cloud = good.clone();
            cloud.origin[axis] = value;
            wrong.push(cloud);
        }
        let mut cloud = good.clone();
        cloud.unit = value;
        wrong.push(cloud);
        let mut cloud = good.clone();
        cloud.pose = Some(Pose { z: value, ..Pose::default() });
        wrong.push(cloud);
    }
    for unit in [0.0, -0.001, 1e9] {
        let mut cloud = good.clone();
        cloud.unit = unit;
        wrong.push(cloud);
    }
    for cloud in wrong {
        let error = map.insert(start + Duration::from_secs(1), &cloud).unwrap_err();
        assert!(error.to_string().contains("left out"));
        assert_eq!((map.len(), map.bounds(), map.bytes()), before);
    }
    let mut far = good;
    far.origin = [1e300, 0.0, 0.0];
    let taken = map.insert(start, &far).unwrap();
    assert_eq!((taken.points, taken.outside), (0, far.points.len()));
    assert_eq!((map.len(), map.bounds(), map.bytes()), before);
}
