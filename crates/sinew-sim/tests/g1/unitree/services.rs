use std::time::Duration;

use sinew_sim::g1::{Options, UnitreeOptions};
use sinew_wire::unitree::{
    Fault,
    state::{LowState, MOTORS, Service},
};

use super::support::{Line, options};
use crate::support::ms;

#[test]
fn small_services_answer_as_in_the_log() {
    let mut line = Line::open(options());
    let mode = line.call("motion_switcher", 1001, "");
    assert_eq!((mode.code, mode.data), (0, r#"{"form":"0","name":"ai"}"#.into()));
    let version = line.call("bashrunner", 1001, r#"{"script":"get_software_version.sh"}"#);
    assert_eq!(version.data, r#"{"info":"1.4.7","type":"content acquisition"}"#);
    let off = line.call("robot_state", 1001, r#"{"name":"audio_player_service","switch":0}"#);
    assert_eq!(off.data, r#"{"name":"audio_player_service","status":1}"#);
    assert_eq!(line.code("robot_state", 1001, r#"{"name":"webrtc_bridge","switch":0}"#), 5202);
    assert_eq!(line.code("robot_state", 1001, r#"{"name":"nothing","switch":0}"#), 5201);
    assert_eq!(line.code("robot_state", 1002, r#"{"interval":1,"duration":5}"#), 0);
    assert_eq!(line.code("vui", 1003, r#"{"volume":7}"#), 0);
    assert_eq!(line.call("vui", 1004, "").data, r#"{"volume":7}"#);
    assert_eq!(line.code("vui", 1003, r#"{"volume":11}"#), 3204);
}

#[test]
fn the_motion_mode_can_be_set() {
    let mut line = Line::open(options());
    assert_eq!(line.code("motion_switcher", 1002, r#"{"name":"normal"}"#), 0);
    assert_eq!(line.call("motion_switcher", 1001, "").json().unwrap()["name"], "normal");
    assert_eq!(line.code("motion_switcher", 1002, r#"{"name":"dance"}"#), 7004);
    assert_eq!(line.robot.fsm_id(), 500, "that is another service's");
}

#[test]
fn the_state_of_the_motion_control_changes_as_asked() {
    let mut line = Line::open(options());
    assert_eq!(line.call("sport", 7001, "").data, r#"{"data":500}"#);
    assert_eq!(line.call("sport", 7002, "").data, r#"{"data":0}"#);
    for (wanted, code) in
        [(501, 0), (801, 0), (0, 1001), (9999, 1003), (1, 0), (500, 1001), (4, 0), (500, 0)]
    {
        let parameter = format!(r#"{{"data":{wanted}}}"#);
        assert_eq!(line.code("sport", 7101, &parameter), code, "{wanted}");
    }
    assert_eq!(line.robot.fsm_id(), 500);
    assert_eq!(line.code("sport", 7101, "500"), 3204);
}

#[test]
fn calls_that_no_service_has_are_refused() {
    let mut line = Line::open(options());
    for (service, api_id) in [("sport", 1), ("nothing", 7107), ("robot_state", 5001), ("vui", 1)] {
        assert_eq!(line.code(service, api_id, ""), 3203, "{service} {api_id}");
    }
    assert_eq!(line.code("slam_operate", 1950, ""), 3203);
}

#[test]
fn states_come_at_their_rates_while_they_are_subscribed_to() {
    for (topic, period) in [
        ("rt/lf/lowstate", ms(50)),
        ("rt/lf/sportmodestate", ms(100)),
        ("rt/lf/bmsstate", ms(1000)),
        ("rt/lf/mainboardstate", ms(1000)),
        ("rt/lf/secondary_imu", ms(50)),
        ("rt/multiplestate", ms(1000)),
        ("rt/servicestate", ms(5000)),
        ("rt/arm/action/state", ms(102)),
    ] {
        let mut line = Line::open(options());
        line.run(ms(1000));
        assert!(line.on(0, topic).is_empty());
        line.subscribe(topic);
        line.run(Duration::from_secs(20));
        let times: Vec<_> = line.on(0, topic).iter().map(|(at, _)| *at).collect();
        assert!(times.len() > 3, "{topic}");
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == period), "{topic}");
    }
}

#[test]
fn the_motors_are_those_of_the_body() {
    let mut line = Line::open(options());
    line.subscribe("rt/lf/lowstate");
    assert_eq!(line.arm(7106, r#"{"data":23}"#), 0);
    line.run(ms(6000));
    let state = LowState::parse(&line.on(0, "rt/lf/lowstate").last().unwrap().1).unwrap();
    let (positions, joints) = (state.positions().unwrap(), line.robot.joints());
    assert_eq!(positions.len(), MOTORS);
    for (joint, slot) in [(15, 0), (20, 5), (22, 6), (25, 9), (27, 11)] {
        assert!((positions[joint] - f64::from(joints[slot])).abs() < 1e-5, "{joint}");
    }
    assert!(positions[22] < -2.0);
    assert_eq!((positions[21], positions[28]), (0.0, 0.0), "no slot stands for them");
    assert!(state.velocities().is_some());
    assert_eq!(state.mode_machine, Some(4));
}

#[test]
fn services_and_motion_state_are_published() {
    let mut line = Line::open(options());
    line.subscribe("rt/servicestate");
    line.subscribe("rt/lf/sportmodestate");
    line.subscribe("rt/multiplestate");
    line.run(ms(200));
    let services = Service::parse(&line.on(0, "rt/servicestate")[0].1).unwrap();
    assert_eq!(services.len(), 27);
    let arm = services.iter().find(|service| service.name == "g1_arm_example").unwrap();
    assert_eq!((arm.version.as_str(), arm.running, arm.protected), ("2.0.0.19", true, false));
    let sport = &line.on(0, "rt/lf/sportmodestate")[0].1.data.clone().unwrap();
    assert_eq!((&sport["fsm_id"], &sport["fsm_mode"]), (&500.into(), &0.into()));
    let multiple = line.on(0, "rt/multiplestate")[0].1.data.clone().unwrap();
    let multiple: serde_json::Value = serde_json::from_str(multiple.as_str().unwrap()).unwrap();
    assert_eq!(multiple["volume"], 5);
}

#[test]
fn faults_are_told_after_the_validation() {
    let faults = vec![Fault { time: 1_769_896_236, source: 200, code: 1 }];
    let unitree = UnitreeOptions { faults, ..options().unitree };
    let mut line = Line::new(Options { unitree, ..options() });
    line.input(1, sinew_sim::g1::What::Opened, b"");
    let challenge = line.heard[0].json();
    let challenge = challenge["data"].as_str().unwrap();
    let answer = sinew_wire::unitree::validation_answer_with(challenge, super::support::md5);
    line.send(&answer.emit());
    let wanted = r#"{"type":"errors","topic":"","data":[[1769896236,200,1]]}"#;
    assert_eq!(line.heard[2].text(), wanted);
}

#[test]
fn a_late_caller_gets_the_newest_state_only() {
    let mut line = Line::open(options());
    line.subscribe("rt/lf/lowstate");
    line.run(ms(1000));
    let before = line.heard.len();
    line.room = false;
    line.run(ms(10_000));
    assert_eq!(line.heard.len(), before);
    line.room = true;
    line.listen();
    let states = line.on(before, "rt/lf/lowstate").len();
    assert_eq!(states, 1, "the others are gone");
}

#[test]
fn answers_go_before_states() {
    let mut line = Line::open(options());
    line.subscribe("rt/lf/lowstate");
    line.run(ms(1000));
    line.room = false;
    line.request("arm", 7107, "");
    line.run(ms(1000));
    let before = line.heard.len();
    line.room = true;
    line.listen();
    assert_eq!(line.heard[before].message().unwrap().topic(), "rt/api/arm/response");
    assert_eq!(line.heard[before + 1].message().unwrap().topic(), "rt/lf/lowstate");
}
