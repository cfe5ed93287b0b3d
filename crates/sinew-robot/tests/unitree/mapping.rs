//! Maps, and walking in them.

use std::time::Duration;

use serde_json::json;
use sinew_robot::{
    Code, OrderKind, Session as _,
    mapping::{Answer, Pose, Request},
    teach::RobotRequest,
    unitree::Event,
};

use crate::{bench::Bench, robot::Out};

fn pose(x: f64, y: f64) -> Pose {
    Pose { x, y, z: 0.0, yaw: 0.0 }
}

fn go(x: f64, y: f64) -> Request {
    Request::GoTo { pose: pose(x, y) }
}

/// One that stands in a loaded map.
fn located() -> Bench {
    let mut bench = Bench::ready();
    bench.robot.files.insert("/home/unitree/home.pcd".into(), b"map".to_vec());
    bench.map(Request::Relocate { map: "home".into(), pose: pose(1.0, 2.0) });
    bench.run(500);
    bench.forget();
    bench
}

/// A cloud as a G1 sends it, with the head of the one that was captured.
fn cloud(topic: &str, points: &[[u16; 3]]) -> Vec<u8> {
    let max = |axis: usize| {
        f64::from(points.iter().map(|point| point[axis]).max().unwrap()) / 1000.0 - 1.0
    };
    let json = format!(
        r#"{{"type":"msg","topic":"{topic}","data":{{"header":{{"frame_id":"map"}},"is_dense":true,"xmin":-1.0,"xmax":{:.3},"ymin":-1.0,"ymax":{:.3},"zmin":-1.0,"zmax":{:.3}}}}}"#,
        max(0),
        max(1),
        max(2)
    );
    let body: Vec<u8> = points.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    let mut bytes = vec![2, 0, 0, 0];
    bytes.extend((json.len() as u32).to_le_bytes());
    bytes.extend((body.len() as u32).to_le_bytes());
    bytes.extend(json.as_bytes());
    bytes.extend(body);
    bytes
}

#[test]
fn a_map_is_begun_with_thinning_off_before_its_clouds_are_asked_for() {
    let mut bench = Bench::ready();
    assert_eq!(bench.map(Request::Start), Answer::Start);
    let words: Vec<String> = bench
        .robot
        .got
        .iter()
        .map(|(_, it)| match it["type"].as_str().unwrap() {
            "rtc_inner_req" => it["data"].to_string(),
            "req" => it["data"]["parameter"].as_str().unwrap().into(),
            _ => it["topic"].as_str().unwrap().into(),
        })
        .filter(|word| !word.is_empty())
        .collect();
    assert_eq!(
        words,
        [
            "rt/unitree/slam_mapping/odom",
            r#"{"instruction":"on","req_type":"disable_traffic_saving"}"#,
            "rt/unitree/slam_mapping/points",
            r#"{"data":{"slam_type":"indoor"}}"#,
        ]
    );
    assert!(bench.session.state().mapping.active);
}

#[test]
fn clouds_come_with_the_pose_and_are_counted() {
    let mut bench = Bench::ready();
    bench.map(Request::Start);
    bench.robot.at = (3.0, 4.0);
    bench.run(500);
    let points = [[0, 0, 0], [1500, 10, 20], [30, 2500, 40]];
    let bytes = cloud("rt/unitree/slam_mapping/points", &points);
    bench.robot.out.push((bench.ms(), Out::Binary(bytes)));
    bench.run(100);
    let cloud = bench.events.iter().find_map(|event| match event {
        Event::Cloud { cloud, points: 3, of_map: true } => Some(cloud.clone()),
        _ => None,
    });
    let cloud = cloud.unwrap();
    assert_eq!(cloud.points, points);
    assert_eq!((cloud.origin, cloud.unit), ([-1.0; 3], 0.001));
    assert_eq!((cloud.pose, &*cloud.frame), (Some(pose(3.0, 4.0)), "map"));
    let Answer::Info(info) = bench.map(Request::Info) else { panic!() };
    assert!(info.mapping && info.clouds == 1);
    let last = info.last_cloud.unwrap();
    assert_eq!((last.points, last.age_ms < 200), (3, true));
    assert_eq!(last.bounds.max, [0.5, 1.5, -0.96]);
    assert_eq!(info.pose, Some(pose(3.0, 4.0)));
}

#[test]
fn clouds_of_a_robot_that_finds_its_way_are_not_of_a_map_that_is_made() {
    let mut bench = Bench::ready();
    bench.map(Request::Start);
    let topics = ["rt/unitree/slam_mapping/points", "rt/unitree/slam_relocation/points"];
    for topic in topics {
        bench.robot.out.push((bench.ms(), Out::Binary(cloud(topic, &[[0, 0, 0]]))));
        bench.run(100);
    }
    bench.map(Request::Stop { name: None });
    // What was on its way when the map ended.
    bench.robot.out.push((bench.ms(), Out::Binary(cloud(topics[0], &[[0, 0, 0]]))));
    bench.run(100);
    let of_map = |event: &Event| match event {
        Event::Cloud { of_map, .. } => Some(*of_map),
        _ => None,
    };
    let of_map: Vec<_> = bench.events.iter().filter_map(of_map).collect();
    assert_eq!(of_map, [true, false, false]);
}

#[test]
fn a_cloud_that_does_not_add_up_is_told_and_not_taken() {
    let mut bench = Bench::ready();
    bench.map(Request::Start);
    let good = cloud("rt/unitree/slam_mapping/points", &[[0, 0, 0], [100, 100, 100], [5, 5, 5]]);
    for _ in 0..3 {
        let mut bad = good.clone();
        // A point far outside of the box that is stated.
        let end = bad.len() - 1;
        bad[end] = 0xEE;
        bench.robot.out.push((bench.ms(), Out::Binary(bad)));
    }
    let voxels = cloud("rt/utlidar/voxel_map_compressed", &[[0, 0, 0]]);
    bench.robot.out.push((bench.ms(), Out::Binary(voxels)));
    bench.run(100);
    let mapping = &bench.session.state().mapping;
    assert_eq!((mapping.clouds, mapping.clouds_rejected, mapping.voxel_maps), (0, 3, 1));
    let told = bench.events.iter().filter(|it| matches!(it, Event::CloudRejected { .. }));
    assert_eq!(told.count(), 1, "not each");
}

#[test]
fn a_map_is_stored_under_a_plain_name_or_the_date() {
    let mut bench = Bench::ready();
    bench.map(Request::Start);
    for name in ["", "../x", "a/b", "a b", ".x", "-x", "ä", &"x".repeat(65)] {
        let (code, _) = bench.refusal(Request::Stop { name: Some(name.into()) });
        assert_eq!(code, Code::InvalidArgument, "{name}");
    }
    let Answer::Stop { name, note } = bench.map(Request::Stop { name: Some("flat_1".into()) })
    else {
        panic!()
    };
    assert_eq!(name, "flat_1");
    assert!(note.unwrap().contains("/home/unitree/flat_1.pcd"));
    assert_eq!(bench.robot.calls(1802)[0].1, r#"{"data":{"address":"/home/unitree/flat_1.pcd"}}"#);
    assert!(!bench.session.state().mapping.active);
    bench.run(100);
    let unsubscribed = bench.robot.messages("unsubscribe");
    assert_eq!(unsubscribed.len(), 2);
    bench.map(Request::Start);
    let Answer::Stop { name, .. } = bench.map(Request::Stop { name: None }) else { panic!() };
    assert!(name.starts_with("2026-02-01_05-5"), "{name}");
}

#[test]
fn clouds_are_asked_for_again_on_a_new_channel() {
    let mut bench = Bench::ready();
    bench.map(Request::Start);
    bench.cut("cut");
    bench.forget();
    bench.open();
    bench.run(500);
    let topics: Vec<_> =
        bench.robot.messages("subscribe").iter().map(|(_, it)| it["topic"].clone()).collect();
    assert!(topics.contains(&"rt/unitree/slam_mapping/points".into()), "{topics:?}");
    assert_eq!(bench.robot.messages("rtc_inner_req").len(), 1, "thinning is off again");
}

#[test]
fn a_map_is_loaded_and_errors_are_in_words() {
    let mut bench = Bench::ready();
    let relocate = |map: &str| Request::Relocate { map: map.into(), pose: pose(1.0, 2.0) };
    let (code, message) = bench.refusal(relocate("nowhere"));
    assert_eq!(code, Code::Refused);
    assert_eq!(
        message,
        "the robot refused relocate with 507: the map cannot be loaded (Load pcd failed)"
    );
    bench.robot.files.insert("/home/unitree/home.pcd".into(), Vec::new());
    assert_eq!(bench.map(relocate("home")), Answer::Relocate { map: "home".into() });
    let parameter: serde_json::Value = serde_json::from_str(&bench.robot.calls(1804)[1].1).unwrap();
    let data = &parameter["data"];
    assert_eq!((&data["x"], &data["q_w"]), (&1.0.into(), &1.0.into()));
    assert_eq!(data["address"], "/home/unitree/home.pcd");
    bench.run(500);
    let state = bench.session.state();
    assert_eq!(state.mapping.map.as_deref(), Some("home"));
    assert_eq!(state.pose, Some(pose(1.0, 2.0)));
}

#[test]
fn the_robot_walks_to_a_place_and_says_when_it_is_there() {
    let mut bench = located();
    let Answer::GoTo { note } = bench
        .map(Request::GoTo { pose: Pose { x: 2.0, y: 2.0, z: 0.0, yaw: std::f64::consts::PI } })
    else {
        panic!()
    };
    assert!(note.contains("the robot's own business"), "{note}");
    let parameter: serde_json::Value = serde_json::from_str(&bench.robot.calls(1102)[0].1).unwrap();
    let data = &parameter["data"];
    assert_eq!(data["mode"], 1);
    assert_eq!(data["targetPose"]["q_z"], 1.0);
    assert!(data["targetPose"]["q_w"].as_f64().unwrap().abs() < 1e-9);
    assert!(bench.session.state().mapping.walking);
    assert_eq!(bench.refusal(go(2.0, 3.0)).0, Code::NotReady, "it walks already");
    bench.run(5000);
    assert!(!bench.session.state().mapping.walking);
    let ended: Vec<_> =
        bench.events.iter().filter(|it| matches!(it, Event::WalkEnded { .. })).collect();
    assert_eq!(ended.len(), 1);
    assert!(matches!(ended[0], Event::WalkEnded { arrived: true, .. }));
    assert!(bench.robot.calls(1201).is_empty() && bench.robot.calls(1901).is_empty());
}

#[test]
fn what_is_too_far_or_without_a_map_is_refused() {
    let mut bench = Bench::ready();
    let (code, message) = bench.refusal(go(1.0, 0.0));
    assert_eq!(code, Code::NotReady);
    assert!(message.contains("make a map or relocate"), "{message}");
    let mut bench = located();
    let (code, message) = bench.refusal(go(9.0, 9.0));
    assert_eq!(code, Code::InvalidArgument);
    assert!(message.contains("within 10 m") && message.contains("10.6 m away"), "{message}");
    assert_eq!(bench.refusal(go(f64::NAN, 0.0)).0, Code::InvalidArgument);
    assert!(bench.robot.calls(1102).is_empty());
}

#[test]
fn a_walk_ends_with_its_client() {
    let mut bench = located();
    bench.map(go(8.0, 2.0));
    bench.run(1000);
    bench.presence.end();
    bench.order(OrderKind::Released, 1);
    bench.run(1000);
    assert!(bench.robot.is_still() && bench.robot.walk.is_none());
    let (pauses, closes) = (bench.robot.calls(1201), bench.robot.calls(1901));
    assert!(pauses[0].0 <= closes[0].0, "it stands before it forgets where to");
    assert_eq!(pauses[0].1, r#"{"data":{}}"#);
}

#[test]
fn a_walk_ends_when_only_its_clients_presence_tells() {
    let mut bench = located();
    bench.map(go(8.0, 2.0));
    bench.presence.end();
    bench.run(1000);
    assert!(bench.robot.is_still());
}

#[test]
fn a_walk_ends_by_a_stop_and_by_a_takeover() {
    for kind in [OrderKind::Stop, OrderKind::Disable, OrderKind::Taken] {
        for wait in [0, 20, 40, 500] {
            let mut bench = located();
            let id = bench.ask(go(8.0, 2.0));
            bench.run(wait);
            bench.order(kind, 2);
            bench.run(1500);
            assert!(bench.robot.is_still(), "{kind:?} after {wait} ms");
            assert!(bench.outcome(id).is_some());
            assert!(!bench.session.state().mapping.walking);
        }
    }
    // The client that walks may take the controls that it has.
    let mut bench = located();
    bench.map(go(8.0, 2.0));
    bench.run(500);
    // What walks by the robot's own word is not known to be that client's.
    bench.order(OrderKind::Released, 2);
    bench.run(1000);
    assert!(!bench.robot.is_still());
}

#[test]
fn a_walk_that_is_not_ours_ends_by_a_stop() {
    let mut bench = located();
    bench.robot.walk = Some(crate::robot::Walk { to: (8.0, 2.0), paused: false, arrived: false });
    bench.run(600);
    bench.order(OrderKind::Stop, 2);
    bench.run(1000);
    assert!(bench.robot.is_still());
}

#[test]
fn a_deaf_robot_is_told_to_stand_until_it_hears() {
    let mut bench = located();
    bench.map(go(9.0, 2.0));
    bench.robot.deaf.extend([1201, 1901]);
    bench.presence.end();
    bench.order(OrderKind::Released, 1);
    // Longer than one stop lasts.
    bench.run(8000);
    assert!(!bench.robot.is_still());
    assert!(bench.robot.calls(1201).len() > 50);
    bench.robot.deaf.clear();
    bench.run(1000);
    assert!(bench.robot.is_still());
}

#[test]
fn a_walk_that_is_found_on_connecting_is_ended() {
    let mut bench = located();
    bench.map(go(9.0, 2.0));
    bench.run(500);
    let robot = std::mem::replace(&mut bench.robot, crate::robot::Robot::new());
    // Another daemon: the one before was killed, and its robot walks on.
    let mut bench = Bench::new();
    bench.robot = robot;
    let mut bench = bench.opened();
    bench.run(2500);
    assert!(bench.robot.is_still() && bench.robot.walk.is_none());
}

#[test]
fn a_walk_does_not_outlast_its_link() {
    let mut bench = located();
    bench.map(go(9.0, 2.0));
    bench.run(500);
    bench.cut("a pulled cable");
    bench.run(1000);
    bench.open();
    bench.run(2500);
    assert!(bench.robot.is_still() && bench.robot.walk.is_none());
    assert!(!bench.session.state().mapping.walking);
}

#[test]
fn a_walk_ends_when_this_computer_slept() {
    let mut bench = located();
    assert_eq!(bench.session.longest_pause(), None, "nothing moves");
    bench.map(go(9.0, 2.0));
    bench.run(500);
    assert!(bench.session.longest_pause().is_some_and(|longest| longest <= Duration::from_secs(1)));
    bench.session.paused(bench.now, Duration::from_secs(3));
    bench.run(1500);
    assert!(bench.robot.is_still() && bench.robot.walk.is_none());
}

#[test]
fn an_answer_is_not_believed_while_the_robot_goes_on() {
    for untold in [false, true] {
        let mut bench = located();
        if untold {
            // It does not tell how walking goes, only where it is.
            bench.robot.missing.insert("rt/slam_info".into());
        }
        bench.map(go(9.5, 2.0));
        bench.run(500);
        bench.robot.hollow.extend([1201, 1901]);
        bench.order(OrderKind::Stop, 2);
        bench.run(3000);
        let calls = bench.robot.calls(1201).len() + bench.robot.calls(1901).len();
        assert!(calls > 6, "{untold}: {calls} calls: it goes on");
        assert!(bench.session.state().stopping.is_some());
        bench.robot.hollow.clear();
        bench.run(3000);
        assert!(bench.robot.is_still(), "{untold}");
        assert!(bench.session.state().stopping.is_none());
    }
}

#[test]
fn a_walk_that_cannot_be_paused_loses_its_map() {
    let mut bench = Bench::ready();
    bench.map(Request::Start);
    bench.run(500);
    bench.map(go(9.0, 0.0));
    bench.run(500);
    bench.robot.codes.insert(1201, 3203);
    bench.robot.hollow.insert(1201);
    bench.order(OrderKind::Stop, 2);
    bench.run(4500);
    assert!(bench.robot.is_still() && bench.robot.walk.is_none());
}

#[test]
fn it_pauses_and_walks_on() {
    let mut bench = located();
    assert_eq!(bench.refusal(Request::Resume).0, Code::NotReady);
    bench.map(go(8.0, 2.0));
    assert_eq!(bench.map(Request::Pause), Answer::Pause);
    assert!(bench.robot.is_still());
    assert!(bench.session.state().mapping.paused);
    bench.run(1000);
    assert_eq!(bench.map(Request::Resume), Answer::Resume);
    assert!(!bench.robot.is_still());
    bench.run(500);
    assert_eq!(bench.map(Request::Close), Answer::Close);
    assert!(bench.robot.is_still() && bench.session.state().mapping.map.is_none());
}

#[test]
fn what_stands_on_its_way_waits_for_the_next_client() {
    let mut bench = located();
    bench.map(go(8.0, 2.0));
    bench.run(1000);
    bench.map(Request::Pause);
    let gone = std::mem::take(&mut bench.presence);
    gone.end();
    bench.order(OrderKind::Released, 1);
    bench.run(5000);
    assert!(bench.robot.is_still() && bench.robot.calls(1901).is_empty());
    assert!(bench.session.state().mapping.paused);
    assert_eq!(bench.map(Request::Resume), Answer::Resume);
    bench.run(500);
    assert!(!bench.robot.is_still());
    // One that walks on by itself, or for another, has no client.
    bench.map(Request::Pause);
    bench.presence.end();
    bench.order(OrderKind::Released, 1);
    bench.run(1000);
    bench.robot.walk.as_mut().unwrap().paused = false;
    bench.run(1500);
    assert!(bench.robot.is_still() && bench.robot.walk.is_none());
}

#[test]
fn a_walk_that_is_stopped_says_by_whom_whatever_the_robot_says() {
    let mut bench = located();
    bench.map(go(8.0, 2.0));
    bench.run(1000);
    bench.order(OrderKind::Stop, 2);
    let result = r#"{"type":"task_result","data":{"targetNodeName":"","is_arrived":false}}"#;
    let now = bench.ms();
    bench.robot.publish(now, "rt/slam_key_info", &json!(result));
    bench.run(1500);
    let why = bench.events.iter().find_map(|event| match event {
        Event::WalkEnded { arrived: false, why } => Some(why.as_str()),
        _ => None,
    });
    assert_eq!(why, Some("stopped by client 2"));
}

#[test]
fn a_stop_while_a_map_is_made_costs_no_map() {
    let mut bench = Bench::ready();
    bench.map(Request::Start);
    bench.run(500);
    bench.map(go(3.0, 0.0));
    bench.run(500);
    bench.order(OrderKind::Stop, 2);
    bench.run(1500);
    assert!(bench.robot.is_still());
    assert!(bench.robot.mapping, "1901 would have ended it");
    assert!(bench.robot.calls(1901).is_empty());
    assert!(!bench.session.state().mapping.walking);
}

#[test]
fn a_map_is_fetched_in_slices() {
    let mut bench = Bench::ready();
    let map: Vec<u8> = (0..=255).cycle().take(1000).collect();
    bench.robot.files.insert("/home/unitree/home.pcd".into(), map.clone());
    let download = |name: &str| Request::Download { name: name.into() };
    let Answer::Download { name, file } = bench.map(download("home")) else { panic!() };
    assert_eq!((name.as_str(), &file[..]), ("home", &map[..]));
    let (_, request) = bench.robot.messages("rtc_inner_req")[0];
    assert_eq!(request["data"]["related_bussiness"], "uslam_final_pcd");
    assert!(request["data"]["req_uuid"].as_str().unwrap().starts_with("req_"));
    assert_eq!(request["data"]["file_md5"], "null");
    // One that is not there never comes.
    let (code, message) = bench.refusal(download("gone"));
    assert_eq!(code, Code::Unconfirmed);
    assert!(message.contains("10 s"), "{message}");
    assert_eq!(bench.refusal(download("../etc/passwd")).0, Code::InvalidArgument);
}

#[test]
fn a_map_that_is_too_large_is_not_taken() {
    use sinew_robot::unitree::Settings;
    let settings = Settings {
        largest_file: 300,
        ..Settings::new(crate::bench::UNIX_TIME, 7, crate::bench::md5)
    };
    let mut bench = Bench::with(settings).opened();
    bench.robot.files.insert("/home/unitree/home.pcd".into(), vec![7; 1000]);
    let (code, _) = bench.refusal(Request::Download { name: "home".into() });
    assert_eq!(code, Code::Refused);
    bench.teach(RobotRequest::List);
}
