use std::time::{Duration, Instant};

use sinew_sim::g1::{
    Options, UnitreeOptions, What,
    building::{BUILDING, CEILING, LIDAR_HEIGHT, MAX_NOISE},
};
use sinew_wire::{
    slam::{Cloud, CloudFrame, Message, Reading},
    unitree::{Binary, Form, Variant},
    voxel::VoxelMap,
};

use super::support::{Line, options};
use crate::support::ms;

const POINTS: &str = "rt/unitree/slam_mapping/points";
const EVERYTHING: &str = r#"{"type":"rtc_inner_req","topic":"","data":{"req_type":"disable_traffic_saving","instruction":"on"}}"#;

pub(super) fn mapping(unitree: UnitreeOptions) -> Line {
    let mut line = Line::open(Options { unitree, ..options() });
    line.send(EVERYTHING);
    line.subscribe(POINTS);
    line.request("slam_operate", 1801, r#"{"data":{"slam_type":"indoor"}}"#);
    line
}

pub(super) fn clouds(line: &Line) -> Vec<(Instant, Vec<u8>)> {
    let binary = line.heard.iter().filter(|heard| heard.form == Form::Binary);
    binary.map(|heard| (heard.at, heard.bytes.clone())).collect()
}

/// A point of the first map's frame in the building: mapping begins at (2.5, 2), looking east.
pub(super) fn outside([x, y, z]: [f32; 3]) -> [f64; 3] {
    [f64::from(x) + 2.5, f64::from(y) + 2.0, f64::from(z) + LIDAR_HEIGHT]
}

/// How far a point of the building is from any surface.
pub(super) fn off(point: [f64; 3]) -> f64 {
    let level = point[2].abs().min((CEILING - point[2]).abs());
    BUILDING.iter().map(|block| block.distance(point)).fold(level, f64::min)
}

#[test]
fn clouds_come_ten_times_a_second_while_mapping() {
    let mut line = mapping(options().unitree);
    line.run(ms(5050));
    let before = clouds(&line);
    assert_eq!(before.len(), 50);
    assert!(before.windows(2).all(|pair| pair[1].0 - pair[0].0 == ms(100)));
    line.request("slam_operate", 1901, r#"{"data":{}}"#);
    line.run(ms(1000));
    assert_eq!(clouds(&line).len(), 50);
}

#[test]
fn clouds_lie_on_the_building_s_surfaces_in_both_layouts() {
    for layout in [Reading::Packed, Reading::Documented] {
        let mut line = mapping(UnitreeOptions { layout, ..options().unitree });
        line.run(Duration::from_secs(50));
        let clouds = clouds(&line);
        assert!(clouds.len() > 490);
        let (mut worst, mut walls, mut sum) = (0.0_f64, [0; 3], 0.0);
        let mut count = 0;
        for (_, bytes) in clouds.iter().step_by(7) {
            assert!(bytes.starts_with(&[2, 0, 0, 0]));
            let cloud = Cloud::new(&Message::new_checked(bytes).unwrap(), None).unwrap();
            assert_eq!(cloud.choice.reading, layout, "{}", cloud.choice.reason);
            assert_eq!(cloud.metadata.frame_id.as_deref(), Some("map"));
            assert_eq!(cloud.len(), 906);
            cloud.problems(|problem| panic!("{problem}"));
            for point in cloud.points(CloudFrame::Map).unwrap() {
                let point = outside(point);
                worst = worst.max(off(point));
                sum += off(point);
                count += 1;
                // Only one surface is there: the outer walls in the west, south and east.
                walls[0] += usize::from(point[0].abs() < 0.05 && point[1] < 0.4);
                walls[1] += usize::from(point[1].abs() < 0.05 && point[0] < 5.0);
                walls[2] += usize::from((point[0] - 12.0).abs() < 0.05);
            }
        }
        assert!(worst < MAX_NOISE + 0.002, "{worst}");
        assert!((0.001..0.02).contains(&(sum / f64::from(count))), "it is noisy");
        assert!(walls.iter().all(|seen| *seen > 20), "{walls:?}");
    }
}

#[test]
fn a_packed_message_is_laid_out_as_the_captured_one() {
    let mut line = mapping(options().unitree);
    line.run(ms(200));
    let bytes = clouds(&line)[0].1.clone();
    let binary = Binary::new_checked(&bytes).unwrap();
    assert_eq!((binary.variant, binary.body.len()), (Variant::Cloud, 906 * 6));
    let json = String::from_utf8(binary.json.to_vec()).unwrap();
    let front = r#"{"type":"msg","topic":"rt/unitree/slam_mapping/points","data":{"header":{"frame_id":"map"},"is_dense":true,"xmin":"#;
    assert!(json.starts_with(front), "{json}");
    let members = ["\"xmin\":", "\"xmax\":", "\"ymin\":", "\"ymax\":", "\"zmin\":", "\"zmax\":"];
    let places: Vec<_> = members.iter().map(|member| json.find(member).unwrap()).collect();
    assert!(places.is_sorted());
    // The least of each number is 0: the box is tight.
    for axis in 0..3 {
        let numbers = binary.body.as_chunks::<6>().0.iter();
        let least =
            numbers.map(|record| u16::from_le_bytes([record[2 * axis], record[2 * axis + 1]]));
        assert_eq!(least.min(), Some(0));
    }
}

#[test]
fn clouds_differ_and_are_random_by_seed() {
    let two = |seed| {
        let mut line = Line::open(Options { seed, ..options() });
        line.send(EVERYTHING);
        line.subscribe(POINTS);
        line.request("slam_operate", 1801, r#"{"data":{"slam_type":"indoor"}}"#);
        line.run(ms(250));
        let clouds = clouds(&line);
        [clouds[0].1.clone(), clouds[1].1.clone()]
    };
    assert_eq!(two(3), two(3));
    assert_ne!(two(3), two(4));
    let [first, second] = two(3);
    assert_ne!(first, second);
}

#[test]
fn larger_clouds_can_be_had_and_are_bounded() {
    for (points_per_cloud, wanted) in [(0, 1), (20_000, 20_000), (usize::MAX, 20_000)] {
        let mut line = mapping(UnitreeOptions { points_per_cloud, ..options().unitree });
        line.run(ms(150));
        let bytes = clouds(&line)[0].1.clone();
        let cloud = Cloud::new(&Message::new_checked(&bytes).unwrap(), None).unwrap();
        assert_eq!(cloud.len(), wanted);
    }
}

#[test]
fn clouds_need_the_saving_of_traffic_switched_off() {
    let mut line = Line::open(options());
    line.subscribe(POINTS);
    line.request("slam_operate", 1801, r#"{"data":{"slam_type":"indoor"}}"#);
    line.run(ms(1000));
    assert!(clouds(&line).is_empty());
    line.send(EVERYTHING);
    line.run(ms(1000));
    assert_eq!(clouds(&line).len(), 10);
    line.send(&EVERYTHING.replace(r#""on""#, r#""off""#));
    line.run(ms(1000));
    assert_eq!(clouds(&line).len(), 10);
    let unitree = UnitreeOptions { saves_traffic: false, ..options().unitree };
    let mut line = Line::open(Options { unitree, ..options() });
    line.subscribe(POINTS);
    line.request("slam_operate", 1801, r#"{"data":{"slam_type":"indoor"}}"#);
    line.run(ms(1050));
    assert_eq!(clouds(&line).len(), 10);
}

#[test]
fn without_room_only_the_newest_cloud_waits() {
    let mut line = mapping(options().unitree);
    line.run(ms(1050));
    line.room = false;
    line.run(ms(10_000));
    let before = clouds(&line).len();
    line.room = true;
    line.listen();
    assert_eq!(clouds(&line).len(), before + 1);
}

#[test]
fn a_located_robot_sends_its_map_once_and_clouds() {
    let mut line = mapping(options().unitree);
    line.run(Duration::from_secs(60));
    line.request("slam_operate", 1802, r#"{"data":{"address":"/home/unitree/test1.pcd"}}"#);
    line.run(ms(500));
    line.subscribe("rt/unitree/slam_relocation/points");
    line.subscribe("rt/unitree/slam_relocation/global_map");
    line.subscribe("rt/unitree/slam_relocation/odom");
    line.heard.clear();
    line.request("slam_operate", 1804, r#"{"data":{"x":0,"y":0,"z":0,"q_x":0,"q_y":0,"q_z":0,"q_w":1,"address":"/home/unitree/test1.pcd"}}"#);
    line.run(ms(3050));
    let (mut maps, mut points) = (0, 0);
    for (_, bytes) in clouds(&line) {
        let cloud = Cloud::new(&Message::new_checked(&bytes).unwrap(), None).unwrap();
        let all = cloud.points(CloudFrame::Map).unwrap();
        match cloud.metadata.topic.as_deref() {
            Some("rt/unitree/slam_relocation/global_map") => {
                maps += 1;
                assert!((5000..=20_000).contains(&cloud.len()), "{}", cloud.len());
            }
            Some("rt/unitree/slam_relocation/points") => points += 1,
            other => panic!("{other:?}"),
        }
        assert!(all.iter().all(|point| off(outside(*point)) < MAX_NOISE + 0.002));
        assert!(bytes.len() < 262_144, "it fits a message");
    }
    assert_eq!((maps, points), (1, 30));
    let odometry = line.on(0, "rt/unitree/slam_relocation/odom").len();
    assert!((30..=31).contains(&odometry), "{odometry}");
}

#[test]
fn a_go2_s_voxels_come_with_both_headers_after_the_switch() {
    const VOXELS: &str = "rt/utlidar/voxel_map_compressed";
    let unitree = UnitreeOptions { go2_voxels: true, ..options().unitree };
    let mut line = Line::open(Options { unitree, ..options() });
    line.send(EVERYTHING);
    line.subscribe(VOXELS);
    line.run(ms(1000));
    assert!(clouds(&line).is_empty());
    line.send(r#"{"type":"msg","topic":"rt/utlidar/switch","data":"on"}"#);
    line.run(ms(1050));
    let clouds_on = clouds(&line);
    assert_eq!(clouds_on.len(), 10);
    let mut variants = [0; 2];
    for (_, bytes) in &clouds_on {
        let binary = Binary::new_checked(bytes).unwrap();
        variants[usize::from(binary.variant == Variant::Cloud)] += 1;
        assert_eq!(binary.message().unwrap().topic(), VOXELS);
        assert!(binary.body.len() < 61_440, "the library's decoder takes no more");
        let map = VoxelMap::new(&binary.cloud()).unwrap();
        assert_eq!(map.layers(), 38);
        assert!(map.len() > 500, "{}", map.len());
        let cell = map.resolution * 3.0_f64.sqrt();
        for point in map.points() {
            let centre = point.map(|metres| f64::from(metres) + map.resolution / 2.0);
            assert!(off(centre) < MAX_NOISE + cell / 2.0 + 1e-4, "{centre:?}");
        }
    }
    assert_eq!(variants, [5, 5]);
    line.send(r#"{"type":"msg","topic":"rt/utlidar/switch","data":"OFF"}"#);
    line.run(ms(1000));
    assert_eq!(clouds(&line).len(), 10);
    line.input(1, What::Closed, b"");
}

#[test]
fn a_map_begins_where_and_how_the_robot_stands() {
    let patrol = |patrol| UnitreeOptions { patrol, ..options().unitree };
    let mut line = mapping(patrol(false));
    line.run(ms(300));
    for (api_id, data) in [
        (1802, r#""address":"/home/unitree/test1.pcd""#),
        (
            1804,
            r#""x":0,"y":0,"z":0,"q_x":0,"q_y":0,"q_z":0,"q_w":1,"address":"/home/unitree/test1.pcd""#,
        ),
        // A metre to the north, looking west.
        (1102, r#""targetPose":{"x":0,"y":1,"z":0,"q_x":0,"q_y":0,"q_z":1,"q_w":0},"mode":1"#),
    ] {
        line.request("slam_operate", api_id, &format!(r#"{{"data":{{{data}}}}}"#));
        line.run(ms(1000));
    }
    line.run(ms(15_000));
    let place = line.robot.place();
    assert!((place.y - 3.0).abs() < 0.03 && place.yaw.abs() > 3.1, "{place:?}");
    line.request("slam_operate", 1901, r#"{"data":{}}"#);
    line.heard.clear();
    line.request("slam_operate", 1801, r#"{"data":{"slam_type":"indoor"}}"#);
    line.run(ms(1000));
    let (sin, cos) = place.yaw.sin_cos();
    let mut farthest = 0.0_f64;
    for (_, bytes) in clouds(&line) {
        let cloud = Cloud::new(&Message::new_checked(&bytes).unwrap(), None).unwrap();
        for point in cloud.points(CloudFrame::Map).unwrap() {
            let [x, y, z] = point.map(f64::from);
            let outside =
                [place.x + cos * x - sin * y, place.y + sin * x + cos * y, z + LIDAR_HEIGHT];
            assert!(off(outside) < MAX_NOISE + 0.002, "{outside:?}");
            farthest = farthest.max(x);
        }
    }
    assert!((farthest - place.x).abs() < 0.1, "ahead of it is the west wall: {farthest}");
}
