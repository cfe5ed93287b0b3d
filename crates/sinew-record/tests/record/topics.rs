//! What is made of what a daemon tells.

use foxglove::messages::{Grid, JointStates, LaserScan, Log, PointCloud, PoseInFrame};
use prost::Message as _;
use serde_json::{Value, json};
use sinew_api::{
    Event,
    frame::{self, Header},
};
use sinew_record::{Converter, Kind, Topical};
use sinew_robot::mapping::Pose;

fn converter() -> Converter {
    Converter::new(vec!["vacuum".into(), "g1".into()])
}

fn event(converter: &mut Converter, topic: &str, robot: &str, data: Value) -> Vec<Topical> {
    let mut all = Vec::new();
    let event = Event { topic: topic.into(), robot: robot.into(), data };
    converter.event(7_000_000_000, event, |topical| all.push(topical));
    all
}

fn of<'a>(all: &'a [Topical], topic: &str) -> &'a Topical {
    let found = all.iter().find(|topical| topical.topic == topic);
    found.unwrap_or_else(|| panic!("no {topic} in {all:?}"))
}

#[test]
fn an_event_is_json_as_it_came_and_a_line_of_the_log() {
    let data = json!({ "event": "refused", "by": "ann", "code": "busy" });
    let all = event(&mut converter(), "events", "vacuum", data.clone());
    let told = of(&all, "/vacuum/events");
    assert_eq!(serde_json::from_slice::<Value>(&told.data).unwrap(), data);
    assert_eq!((told.kind, told.log_ns), (Kind::Event, 7_000_000_000));
    let log = Log::decode(&of(&all, "/vacuum/log").data[..]).unwrap();
    assert_eq!(log.message, "refused: by ann, code busy");
    assert_eq!(log.level, 3, "a warning");
}

#[test]
fn a_vacuums_state_says_where_it_is_and_how_frames_lie() {
    let mut converter = converter();
    let state = json!({ "name": "vacuum", "state": {
        "pose": { "x": 1.0, "y": 2.0, "heading": 0.0 }, "map": { "pose": null } } });
    let all = event(&mut converter, "state", "vacuum", state);
    let pose = PoseInFrame::decode(&of(&all, "/vacuum/pose").data[..]).unwrap();
    assert_eq!(pose.frame_id, "vacuum/odom");
    let state = json!({ "name": "vacuum", "state": {
        "pose": { "x": 1.0, "y": 2.0, "heading": 0.0 },
        "map": { "pose": { "x": 1.5, "y": 2.0, "yaw": 0.0 } } } });
    let all = event(&mut converter, "state", "vacuum", state);
    let pose = PoseInFrame::decode(&of(&all, "/vacuum/pose").data[..]).unwrap();
    assert_eq!(
        (pose.frame_id.as_str(), pose.pose.unwrap().position.unwrap().x),
        ("vacuum/map", 1.5)
    );
    let tf = foxglove::messages::FrameTransforms::decode(&of(&all, "/tf").data[..]).unwrap();
    let lies: Vec<_> = tf
        .transforms
        .iter()
        .map(|lies| (&*lies.parent_frame_id, &*lies.child_frame_id, lies.translation.unwrap().x))
        .collect();
    assert_eq!(lies, [("vacuum/map", "vacuum/odom", 0.5), ("vacuum/odom", "vacuum/base", 1.0)]);
}

#[test]
fn readings_keep_their_time_and_lidars_and_joints_are_shown() {
    let data = json!({ "type": "SensorGroup", "group_id": "lidar", "timestamp_us": 5,
        "values": { "scan": { "PointCloud2D": [[0.0, 1.0, 200]] } } });
    let all = event(&mut converter(), "sensors/lidar", "vacuum", data);
    let scan = of(&all, "/vacuum/scan");
    assert_eq!((scan.kind, scan.publish_ns, scan.log_ns), (Kind::LaserScan, 5000, 7_000_000_000));
    assert_eq!(LaserScan::decode(&scan.data[..]).unwrap().ranges.len(), 360);
    assert_eq!(of(&all, "/vacuum/sensors/lidar").kind, Kind::Sensors);
    let data = json!({ "timestamp_us": 5, "values": {
        "positions": [0.5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9], "velocities": [0.25] } });
    let all = event(&mut converter(), "sensors/joints", "g1", data);
    let joints = JointStates::decode(&of(&all, "/g1/joints").data[..]).unwrap().joints;
    assert_eq!(joints.len(), 13);
    assert_eq!((joints[0].position, joints[0].velocity), (Some(0.5), Some(0.25)));
    assert_eq!((joints[1].velocity, joints[12].name.as_str()), (None, "joint_12"));
}

#[test]
fn a_cloud_keeps_the_robots_steps_exactly() {
    let pose = Pose { x: 1.0, y: 2.0, z: 0.0, yaw: 0.5 };
    let header = Header {
        robot: 1,
        time_us: 9,
        origin: [-2.5, 0.25, 1.0],
        unit: 0.001,
        pose: Some(pose),
        name: "map",
        ..Header::default()
    };
    let points = [[0, 1, 65535], [3, 65534, 2]];
    let mut all = Vec::new();
    converter().frame(7, &frame::cloud(&header, &points), |topical| all.push(topical));
    let cloud = PointCloud::decode(&of(&all, "/g1/cloud").data[..]).unwrap();
    assert_eq!((cloud.frame_id.as_str(), cloud.point_stride), ("g1/map", 12));
    assert_eq!(cloud.pose.unwrap().position.unwrap().x, -2.5);
    let steps: Vec<u16> = cloud
        .data
        .chunks_exact(4)
        .map(|bytes| {
            (f64::from(f32::from_le_bytes(bytes.try_into().unwrap())) / 0.001).round() as u16
        })
        .collect();
    assert_eq!(steps, points.as_flattened());
    assert_eq!(PoseInFrame::decode(&of(&all, "/g1/pose").data[..]).unwrap().frame_id, "g1/map");
}

#[test]
fn a_map_comes_whole_when_it_has_changed_and_not_too_often() {
    let mut converter = converter();
    let header = Header { unit: 0.05, is_flat: true, ..Header::default() };
    let mut all = Vec::new();
    let second = 1_000_000_000;
    converter.frame(second, &frame::map(&header, &[[1, 1, 1, 0]]), |topical| all.push(topical));
    converter.frame(second + 1, &frame::map(&header, &[[9, 1, 0, 0]]), |topical| all.push(topical));
    converter.settle(2 * second, false, |topical| all.push(topical));
    assert_eq!(all.len(), 1);
    converter.settle(4 * second, false, |topical| all.push(topical));
    converter.settle(9 * second, true, |topical| all.push(topical));
    assert_eq!(all.len(), 2);
    let grid = Grid::decode(&all[1].data[..]).unwrap();
    assert_eq!((all[1].kind, grid.column_count, grid.data.len()), (Kind::Grid, 9, 9));
    converter.again();
    converter.settle(12 * second, false, |topical| all.push(topical));
    assert_eq!(all.len(), 3);
}

#[test]
fn what_is_no_frame_and_robots_that_are_not_known_are_nothing() {
    let header = Header { robot: 7, unit: 1.0, ..Header::default() };
    for bytes in [&b"nothing"[..], &[], &frame::cloud(&header, &[[1, 2, 3]])] {
        converter().frame(1, bytes, |topical| panic!("{topical:?}"));
    }
}

/// Every topic that the layout shows is one that is made, of a kind that its panel shows.
#[test]
fn the_layout_shows_topics_that_there_are() {
    let layout = include_str!("../../../../docs/foxglove-layout.json");
    let layout: Value = serde_json::from_str(layout).unwrap();
    let panels: Vec<&str> = layout["configById"]
        .as_object()
        .unwrap()
        .keys()
        .map(|key| key.split('!').next().unwrap())
        .collect();
    for wanted in ["3D", "Plot", "Log", "RawMessages"] {
        assert!(panels.contains(&wanted), "{panels:?}");
    }
    let made = [
        "state",
        "events",
        "log",
        "pose",
        "joints",
        "scan",
        "cloud",
        "map",
        "sensors/gd32_status",
        "sensors/joints",
    ];
    let text = layout.to_string();
    let mut count = 0;
    for robot in ["/vacuum/", "/g1/"] {
        for (at, _) in text.match_indices(robot) {
            let rest = &text[at + robot.len()..];
            let end = rest.find(['"', '.']).unwrap();
            assert!(made.contains(&&rest[..end]), "{robot}{}", &rest[..end]);
            count += 1;
        }
    }
    assert!(count >= 10, "{count}");
}
