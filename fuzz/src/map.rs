//! Files of points and messages, in every format.

use sinew_robot::map::file::{self, Points, messages, pcd, ply};
use sinew_wire::unitree::Form;

use crate::vectors;

/// A small file of each format and encoding.
pub fn seeds() -> Vec<Vec<u8>> {
    let places = [[0.5, -1.0, 2.25], [1e-9, 4e7, -3.0], [0.0, 0.0, 0.0]];
    let points = Points::from_xyz(&places).expect("three fields");
    let mut seeds = vec![
        pcd::write(&points, pcd::Encoding::Ascii),
        pcd::write(&points, pcd::Encoding::Binary),
        pcd::write(&points, pcd::Encoding::Compressed),
        ply::write(&points).expect("floats"),
        b"ply\nformat ascii 1.0\nelement face 1\nproperty list uchar int i\nelement vertex 1\n\
          property uchar red\nproperty uchar green\nproperty uchar blue\nproperty double x\n\
          end_header\n2 0 1\n1 2 3 0.5\n"
            .to_vec(),
    ];
    let mut recording = messages::begin().to_vec();
    for (message, index) in vectors::hex_members("slam.json", &["message"]).iter().zip(1..) {
        let at = std::time::Duration::from_millis(100 * index);
        let recorded = messages::Recorded { at, form: Form::Binary, bytes: message };
        messages::append(recorded, &mut recording);
        seeds.push(message.clone());
    }
    seeds.push(recording);
    seeds
}

/// What is read holds no more than its file could, and is written and read as itself.
pub fn exercise(data: &[u8]) {
    let content = match file::read(data) {
        Ok(content) => content,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let points = &content.points;
    // LZF makes 264 bytes of 3, text 8 of 2.
    assert!(points.bytes().len() <= data.len() * 100, "{} bytes", points.bytes().len());
    let _ = points.bounds();
    for encoding in [pcd::Encoding::Binary, pcd::Encoding::Compressed] {
        let (again, _) = pcd::read(&pcd::write(points, encoding)).expect("what was written");
        assert_eq!(again.bytes(), points.bytes());
        assert_eq!(again.fields(), points.fields());
    }
    let (again, _) =
        pcd::read(&pcd::write(points, pcd::Encoding::Ascii)).expect("what was written");
    assert_eq!(again.len(), points.len());
    if let Ok(file) = ply::write(points)
        && let Ok((again, _)) = ply::read(&file)
    {
        assert_eq!(again.len(), points.len());
        let packed = ply::pcd_colours(again).expect("fields that are smaller");
        assert_eq!(packed.len(), points.len());
    }
}
