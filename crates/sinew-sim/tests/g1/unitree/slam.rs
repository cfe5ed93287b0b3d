use std::time::Duration;

use serde_json::Value;
use sinew_sim::g1::{MAX_MAPS, Options, Place, UnitreeOptions, Walking, What};
use sinew_wire::unitree::{
    Download, FileSlice, Form, Limits,
    mapping::{Odometry, SlamInfo, SlamReply, What as Said},
};

use super::support::{Line, options};
use crate::support::ms;

const START: &str = r#"{"data":{"slam_type":"indoor"}}"#;
const TEST1: &str = r#"{"data":{"address":"/home/unitree/test1.pcd"}}"#;
const EMPTY: &str = r#"{"data":{}}"#;
const ODOM: &str = "rt/unitree/slam_mapping/odom";

fn slam(line: &mut Line, api_id: i64, parameter: &str) -> SlamReply {
    let started = line.now;
    let id = line.request("slam_operate", api_id, parameter);
    while line.now - started < ms(2000) {
        if let Some(response) = line.response(0, id) {
            assert_eq!(response.code, 0);
            return SlamReply::parse(&response.data).unwrap();
        }
        line.run(ms(5));
    }
    panic!("no answer to {api_id} {parameter}");
}

#[track_caller]
fn done(line: &mut Line, api_id: i64, parameter: &str) {
    let reply = slam(line, api_id, parameter);
    assert_eq!((reply.succeed, reply.error_code), (true, 0), "{api_id} {parameter}: {reply:?}");
}

#[track_caller]
fn refused(line: &mut Line, api_id: i64, parameter: &str) -> i64 {
    let reply = slam(line, api_id, parameter);
    assert!(!reply.succeed, "{api_id} {parameter}");
    reply.error_code
}

/// A robot that stays where it is while it maps.
fn still() -> Options {
    let unitree = UnitreeOptions { patrol: false, ..options().unitree };
    Options { unitree, ..options() }
}

fn locate(line: &mut Line) {
    let pose = r#""x":0.0,"y":0.0,"z":0.0,"q_x":0.0,"q_y":0.0,"q_z":0.0,"q_w":1.0"#;
    let parameter = format!(r#"{{"data":{{{pose},"address":"/home/unitree/test1.pcd"}}}}"#);
    done(line, 1804, &parameter);
}

/// With a map whose origin is where the robot begins, and found in it.
fn located() -> Line {
    let mut line = Line::open(still());
    done(&mut line, 1801, START);
    line.run(ms(1000));
    done(&mut line, 1802, TEST1);
    locate(&mut line);
    line
}

fn goal(x: f64, y: f64, yaw: f64) -> String {
    let (sin, cos) = (yaw / 2.0).sin_cos();
    format!(
        r#"{{"data":{{"targetPose":{{"x":{x},"y":{y},"z":0.0,"q_x":0.0,"q_y":0.0,"q_z":{sin},"q_w":{cos}}},"mode":1}}}}"#
    )
}

fn infos(line: &Line, from: usize) -> Vec<Said> {
    let infos = line.on(from, "rt/slam_info");
    infos.iter().map(|(_, message)| SlamInfo::parse(message).unwrap().what).collect()
}

fn results(line: &Line) -> Vec<bool> {
    let results = line.on(0, "rt/slam_key_info");
    let results = results.iter().map(|(_, message)| SlamInfo::parse(message).unwrap().what);
    results
        .map(|what| match what {
            Said::TaskResult { is_arrived, .. } => is_arrived,
            other => panic!("{other:?}"),
        })
        .collect()
}

fn off(place: Place, x: f64, y: f64) -> f64 {
    (place.x - x).hypot(place.y - y)
}

#[test]
fn mapping_is_started_and_stored_as_documented() {
    let mut line = Line::open(still());
    line.send(r#"{"type":"req","topic":"rt/api/slam_operate/request","data":{"header":{"identity":{"id":5,"api_id":1801}},"parameter":"{\"data\":{\"slam_type\":\"indoor\"}}"}}"#);
    line.run(ms(100));
    let answer = line.heard.last().unwrap().json();
    assert_eq!(answer["topic"], "rt/api/slam_operate/response");
    let data = answer["data"]["data"].as_str().unwrap();
    assert_eq!(data, r#"{"data":{},"errorCode":0,"info":"","succeed":true}"#);
    assert!(line.robot.is_mapping());
    assert_eq!(refused(&mut line, 1801, START), 501);
    line.run(ms(2000));
    done(&mut line, 1802, TEST1);
    assert!(!line.robot.is_mapping());
    let maps: Vec<_> = line.robot.maps().collect();
    assert_eq!(maps[0].0, "/home/unitree/test1.pcd");
    assert!(maps[0].1 > 1000);
    assert_eq!(refused(&mut line, 1802, TEST1), 502);
}

#[test]
fn what_cannot_be_done_is_said() {
    let mut line = Line::open(still());
    assert_eq!(refused(&mut line, 1801, r#"{"data":{"slam_type":"outdoor"}}"#), 503);
    let locate = r#"{"data":{"x":0,"y":0,"z":0,"q_x":0,"q_y":0,"q_z":0,"q_w":1,"address":"/home/unitree/test9.pcd"}}"#;
    let reply = slam(&mut line, 1804, locate);
    assert_eq!((reply.error_code, reply.info.as_str()), (507, "Load pcd failed"));
    assert_eq!(refused(&mut line, 1102, &goal(1.0, 0.0, 0.0)), 505);
    assert_eq!(refused(&mut line, 1202, EMPTY), 508);
    done(&mut line, 1201, EMPTY);
    done(&mut line, 1901, EMPTY);
    for (api_id, parameter) in [(1801, ""), (1801, "{}"), (1102, EMPTY), (1804, EMPTY)] {
        assert_eq!(line.code("slam_operate", api_id, parameter), 3204, "{api_id} {parameter}");
    }
    done(&mut line, 1801, START);
    for address in ["test1.pcd", "/home/unitree/.pcd", "/home/unitree/a/b.pcd", "/etc/passwd"] {
        let parameter = format!(r#"{{"data":{{"address":"{address}"}}}}"#);
        assert_eq!(refused(&mut line, 1802, &parameter), 504, "{address}");
    }
    assert!(line.robot.is_mapping());
}

#[test]
fn ten_maps_are_stored_at_most() {
    let mut line = Line::open(still());
    for number in 0..=MAX_MAPS {
        done(&mut line, 1801, START);
        let parameter = format!(r#"{{"data":{{"address":"/home/unitree/test{number}.pcd"}}}}"#);
        if number < MAX_MAPS {
            done(&mut line, 1802, &parameter);
        } else {
            assert_eq!(refused(&mut line, 1802, &parameter), 504);
            done(&mut line, 1802, TEST1);
        }
    }
    assert_eq!(line.robot.maps().count(), MAX_MAPS);
}

#[test]
fn an_operator_leads_the_robot_through_all_rooms_while_it_maps() {
    let mut line = Line::open(options());
    line.subscribe(ODOM);
    line.subscribe("rt/lf/sportmodestate");
    assert_eq!(line.robot.walking(), Walking::No);
    done(&mut line, 1801, START);
    let mut rooms = [false; 4];
    for _ in 0..600 {
        line.run(ms(100));
        let Place { x, y, .. } = line.robot.place();
        rooms[usize::from(x > 6.5) + 2 * usize::from(y > 4.1)] = true;
        assert_eq!(line.robot.walking(), Walking::Led);
    }
    assert_eq!(rooms, [true; 4]);
    let poses: Vec<_> = line
        .on(0, ODOM)
        .iter()
        .map(|(at, message)| (*at, Odometry::parse(message).unwrap()))
        .collect();
    assert!((590..=610).contains(&poses.len()), "{} in a minute", poses.len());
    let mut jumps = poses.windows(2).map(|pair| {
        let [one, two] = [pair[0].1.pose.position, pair[1].1.pose.position];
        (one[0] - two[0]).hypot(one[1] - two[1])
    });
    assert!(jumps.all(|jump| jump < 0.06), "it walks at half a metre a second");
    let sport = line.on(0, "rt/lf/sportmodestate");
    assert_eq!(sport.last().unwrap().1.data.as_ref().unwrap()["fsm_mode"], 1);
    done(&mut line, 1802, TEST1);
    assert_eq!(line.robot.walking(), Walking::No);
    let points = line.robot.maps().next().unwrap().1;
    assert!(points > 20_000, "{points}");
}

#[test]
fn the_pose_is_told_in_the_frame_of_the_map() {
    let mut line = Line::open(options());
    line.subscribe("rt/slam_info");
    line.subscribe(ODOM);
    done(&mut line, 1801, START);
    line.run(ms(3000));
    // Mapping began where the robot stood, looking east.
    let place = line.robot.place();
    let pose = Odometry::parse(&line.on(0, ODOM).last().unwrap().1).unwrap().pose;
    assert!((pose.position[0] - (place.x - 2.5)).abs() < 0.1 && pose.position[0] > 1.0);
    let mapping = infos(&line, 0).into_iter().rfind(|info| matches!(info, Said::Mapping { .. }));
    let Some(Said::Mapping { pose }) = mapping else { panic!("no mapping_info") };
    assert!((pose.position[0] - (place.x - 2.5)).abs() < 0.15);
    assert!(
        infos(&line, 0)
            .iter()
            .any(|info| matches!(info, Said::Robot { battery_percent: Some(90.0), .. }))
    );
}

#[test]
fn a_robot_walks_to_a_goal_and_says_so() {
    let mut line = located();
    line.subscribe("rt/slam_info");
    line.subscribe("rt/slam_key_info");
    let (asked, before) = (line.now, line.heard.len());
    done(&mut line, 1102, &goal(0.0, -1.0, 0.0));
    line.run(ms(1000));
    assert_eq!(line.robot.walking(), Walking::ToGoal);
    while line.robot.walking() != Walking::No {
        line.run(ms(20));
        assert!(line.now - asked < ms(20_000));
    }
    let took = line.now - asked;
    // Two quarter turns at 0.8 rad/s and a metre at 0.5 m/s.
    assert!((ms(5500)..ms(6500)).contains(&took), "{took:?}");
    let place = line.robot.place();
    assert!(off(place, 2.5, 1.0) < 0.03 && place.yaw.abs() < 0.03, "{place:?}");
    assert_eq!(results(&line), [true]);
    let percents: Vec<f64> = infos(&line, before)
        .iter()
        .filter_map(|info| match info {
            Said::Control { percent, .. } => *percent,
            _ => None,
        })
        .collect();
    assert!((25..=33).contains(&percents.len()), "five a second: {}", percents.len());
    assert!(percents.is_sorted() && *percents.last().unwrap() > 95.0);
}

#[test]
fn a_walk_pauses_resumes_and_ends_when_it_is_closed() {
    let mut line = located();
    line.subscribe("rt/slam_key_info");
    line.subscribe("rt/slam_info");
    done(&mut line, 1102, &goal(2.5, 0.0, 0.0));
    line.run(ms(1000));
    done(&mut line, 1201, EMPTY);
    let paused = line.robot.place();
    assert!(paused.x > 2.8);
    line.run(Duration::from_secs(30));
    assert_eq!((line.robot.place(), line.robot.walking()), (paused, Walking::Paused));
    let last = infos(&line, 0).into_iter().rfind(|info| matches!(info, Said::Control { .. }));
    assert!(matches!(last, Some(Said::Control { is_paused: Some(true), .. })), "{last:?}");
    done(&mut line, 1202, EMPTY);
    line.run(ms(1000));
    assert!(line.robot.place().x > paused.x + 0.3);
    line.request("slam_operate", 1901, EMPTY);
    let closed = line.robot.place();
    assert_eq!(line.robot.walking(), Walking::No);
    line.run(ms(5000));
    assert_eq!(line.robot.place(), closed);
    assert_eq!(results(&line), [false]);
    assert_eq!(refused(&mut line, 1102, &goal(0.0, 0.0, 0.0)), 505, "there is no map now");
}

#[test]
fn a_robot_stops_half_a_metre_before_an_obstacle_and_gives_up() {
    let mut line = located();
    line.subscribe("rt/slam_key_info");
    // The table stands between here and there: its edge is at x = 3.6, y = 3.0 in the building.
    done(&mut line, 1102, &goal(2.0, 1.4, 0.0));
    let (mut closest, mut blocked) = (f64::INFINITY, 0);
    while line.robot.walking() != Walking::No {
        line.run(ms(50));
        blocked += u32::from(line.robot.walking() == Walking::Blocked);
        let Place { x, y, .. } = line.robot.place();
        closest = closest.min((3.6 - x).max(0.0).hypot((3.0 - y).max(0.0)));
    }
    assert!(closest > 0.3, "{closest}");
    assert!((390..=410).contains(&blocked), "20 s: {blocked}");
    assert_eq!(results(&line), [false]);
    assert!(off(line.robot.place(), 4.5, 3.4) > 0.8);
}

#[test]
fn goals_out_of_reach_are_refused() {
    let mut line = located();
    assert_eq!(refused(&mut line, 1102, &goal(10.1, 0.0, 0.0)), 506);
    let other_mode = goal(1.0, 0.0, 0.0).replace(r#""mode":1"#, r#""mode":2"#);
    assert_eq!(refused(&mut line, 1102, &other_mode), 506);
    assert_eq!(line.code("sport", 7101, r#"{"data":4}"#), 0);
    assert_eq!(refused(&mut line, 1102, &goal(1.0, 0.0, 0.0)), 509);
    assert_eq!(line.robot.walking(), Walking::No);
}

#[test]
fn a_walk_goes_on_without_its_client() {
    let mut line = located();
    done(&mut line, 1102, &goal(2.0, 0.0, 0.0));
    line.input(1, What::Closed, b"");
    line.run(ms(8000));
    assert!(off(line.robot.place(), 4.5, 2.0) < 0.03, "a stop has to be sent");
}

#[test]
fn damping_and_restarts_end_a_walk() {
    for restart in [false, true] {
        let mut line = located();
        done(&mut line, 1102, &goal(2.5, 0.0, 0.0));
        line.run(ms(1000));
        if restart {
            line.robot.restart(line.now);
        } else {
            assert_eq!(line.code("sport", 7101, r#"{"data":1}"#), 0);
        }
        let place = line.robot.place();
        line.run(ms(5000));
        assert_eq!((line.robot.place(), line.robot.walking()), (place, Walking::No));
        assert_eq!(line.robot.maps().count(), 1);
    }
}

#[test]
fn a_new_goal_replaces_the_old_one() {
    let mut line = located();
    line.subscribe("rt/slam_key_info");
    done(&mut line, 1102, &goal(2.5, 0.0, 0.0));
    line.run(ms(1000));
    done(&mut line, 1102, &goal(0.0, 0.0, 0.0));
    assert_eq!(results(&line), [false]);
    line.run(ms(15_000));
    assert_eq!(results(&line), [false, true]);
    assert!(off(line.robot.place(), 2.5, 2.0) < 0.03);
}

#[test]
fn a_stored_map_can_be_fetched_in_slices() {
    let mut line = Line::open(options());
    done(&mut line, 1801, START);
    line.run(Duration::from_secs(20));
    done(&mut line, 1802, TEST1);
    let points = line.robot.maps().next().unwrap().1;
    let before = line.heard.len();
    line.send(r#"{"type":"rtc_inner_req","topic":"","data":{"req_type":"request_static_file","req_uuid":"req_1","related_bussiness":"uslam_final_pcd","file_md5":"null","file_path":"/home/unitree/test1.pcd"}}"#);
    let mut download = Download::new(Limits { bytes: 8 << 20, chunks: 1000 });
    let mut file = None;
    let slices = line.heard[before..]
        .iter()
        .filter_map(|heard| FileSlice::parse(&heard.message()?).unwrap());
    for slice in slices {
        assert_eq!(slice.uuid, "req_1");
        file = download.push(&slice).unwrap();
    }
    let file = file.unwrap();
    let header = String::from_utf8_lossy(&file[..250]).into_owned();
    assert!(header.contains("FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\n"), "{header}");
    assert!(header.contains(&format!("POINTS {points}\nDATA binary\n")), "{header}");
    let data = header.find("DATA binary\n").unwrap() + "DATA binary\n".len();
    assert_eq!(file.len() - data, points * 12);
    let before = line.heard.len();
    line.send(r#"{"type":"rtc_inner_req","topic":"","data":{"req_type":"request_static_file","req_uuid":"req_2","related_bussiness":"uslam_final_pcd","file_md5":"null","file_path":"/etc/passwd"}}"#);
    line.run(ms(1000));
    assert_eq!(line.heard.len(), before);
}

#[test]
fn a_stop_goes_before_the_slices_of_a_file() {
    let mut line = Line::open(options());
    done(&mut line, 1801, START);
    line.run(Duration::from_secs(20));
    done(&mut line, 1802, TEST1);
    line.room = false;
    line.send(r#"{"type":"rtc_inner_req","topic":"","data":{"req_type":"request_static_file","req_uuid":"req_1","related_bussiness":"uslam_final_pcd","file_md5":"null","file_path":"/home/unitree/test1.pcd"}}"#);
    line.request("arm", 7113, "");
    line.run(ms(100));
    let before = line.heard.len();
    line.room = true;
    line.listen();
    let first: Value = line.heard[before].json();
    assert_eq!(first["topic"], "rt/api/arm/response");
    assert!(line.heard[before + 1..].iter().all(|heard| heard.form == Form::Text));
    assert!(line.heard.len() > before + 3);
}
