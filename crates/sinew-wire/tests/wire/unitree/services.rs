//! What calls, answers and topics hold.

use serde_json::{Value, json};
use sinew_wire::unitree::{
    API, Message, Request, Response, TOPICS,
    arm::{ActionList, ArmRequest, ArmState, Phase},
    mapping::{Odometry, Pose, SlamInfo, SlamReply, SlamRequest, What},
    state::{JOINTS, LowState, MotionMode, Service},
    status_text,
};

use super::{message, named, of};
use crate::support::{refused, text};

const POSE: Pose = Pose { position: [1.5, -0.25, 0.5], orientation: [0.1, 0.2, 0.3, 0.9] };

#[test]
fn arm_calls_mean_what_the_log_shows() {
    for vector in of("request").iter().filter(|vector| vector["service"] == "arm") {
        let Request { api_id, parameter, .. } = Request::parse(&message(vector)).unwrap();
        let request = ArmRequest::parse(api_id, &parameter).unwrap();
        assert_eq!(request.to_string(), text(vector, "request"));
        assert_eq!((request.api_id(), request.parameter()), (api_id, parameter));
    }
}

#[test]
fn arm_calls_that_cannot_be_read_say_why() {
    assert_eq!(refused(ArmRequest::parse(7106, "")), "parameter");
    assert_eq!(refused(ArmRequest::parse(7106, r#"{"data":"x"}"#)), "data");
    assert_eq!(refused(ArmRequest::parse(7108, "{}")), "action_name");
    assert_eq!(refused(ArmRequest::parse(7109, r#"{"pre_name":"a"}"#)), "new_name");
    assert_eq!(refused(ArmRequest::parse(7110, "{}")), "action_name", "only \"\" stops");
    let other = ArmRequest::parse(7114, "anything").unwrap();
    assert_eq!((other.api_id(), other.parameter().as_str()), (7114, "anything"));
}

#[test]
fn the_list_has_presets_and_taught_actions() {
    let vector = named("arm list answer");
    let response = Response::parse(&message(&vector)).unwrap();
    let list = ActionList::parse(&response.data).unwrap();
    let presets: Value =
        list.presets.iter().map(|preset| json!([preset.id, preset.name])).collect();
    let taught: Value =
        list.taught.iter().map(|taught| json!([taught.name, taught.seconds])).collect();
    assert_eq!((&presets, &taught), (&vector["presets"], &vector["taught"]));
    assert_eq!((list.presets.len(), list.taught.len()), (20, 7));
    assert_eq!(list.presets[1].fsm, [500, 501]);
    assert_eq!(list.presets[15].mode_machine, [4]);
    assert_eq!(ActionList::parse(&list.emit().into()), Ok(list.clone()));
    assert_eq!(ActionList::parse(&serde_json::from_str(&list.emit()).unwrap()), Ok(list));
}

#[test]
fn a_list_that_is_none_says_what_is_wrong() {
    let cases = [
        ("", "data"),
        ("{}", "data"),
        ("[]", "presets"),
        ("[[]]", "taught"),
        (r#"[[{"id":1}],[]]"#, "name"),
        (r#"[[],[{"name":"a","time":"1"}]]"#, "time"),
    ];
    for (data, field) in cases {
        assert_eq!(refused(ActionList::parse(&data.into())), field, "{data}");
    }
}

#[test]
fn the_state_of_the_arms_is_its_number() {
    for vector in of("state") {
        let state = ArmState::parse(&message(&vector)).unwrap();
        assert_eq!(
            (json!(state.id), state.name.as_str()),
            (vector["id"].clone(), text(&vector, "action"))
        );
        assert_eq!(state.phase().to_string(), text(&vector, "phase"));
        assert_eq!(state.emit(), message(&vector).data.unwrap().as_str().unwrap());
    }
    let preset = ArmState { holding: true, id: 27, name: "shake_hand".into() };
    assert_eq!(preset.phase(), Phase::Preset(27));
}

#[test]
fn slam_calls_are_read_and_written() {
    let mut seen = Vec::new();
    for vector in of("request").iter().filter(|vector| vector["service"] == "slam_operate") {
        let Request { api_id, parameter, .. } = Request::parse(&message(vector)).unwrap();
        let request = SlamRequest::parse(api_id, &parameter).unwrap();
        assert_eq!((request.api_id(), request.parameter()), (api_id, parameter));
        seen.push(request);
    }
    let address = "/home/unitree/test1.pcd".to_owned();
    let wanted = [
        SlamRequest::Start("indoor".into()),
        SlamRequest::Save(address.clone()),
        SlamRequest::Locate { pose: POSE, address },
        SlamRequest::GoTo { pose: POSE, mode: 1 },
        SlamRequest::Pause,
        SlamRequest::Resume,
        SlamRequest::Close,
    ];
    assert_eq!(seen, wanted);
    assert_eq!(refused(SlamRequest::parse(1801, "{}")), "data", "the inner data is not optional");
    assert_eq!(refused(SlamRequest::parse(1804, r#"{"data":{"x":1}}"#)), "y");
    assert_eq!(refused(SlamRequest::parse(1102, r#"{"data":{"x":1}}"#)), "targetPose");
    let other = SlamRequest::parse(1803, "{}").unwrap();
    assert_eq!((other.api_id(), other.parameter().as_str()), (1803, "{}"));
}

#[test]
fn slam_answers_are_read_and_written() {
    let response = Response::parse(&message(&named("slam answer"))).unwrap();
    let reply = SlamReply::parse(&response.data).unwrap();
    assert!(reply.succeed && reply.error_code == 0 && reply.info.contains("started"));
    assert_eq!(SlamReply::parse(&reply.emit().into()), Ok(reply));
    assert_eq!(refused(SlamReply::parse(&"{}".into())), "succeed");
}

#[test]
fn slam_information_is_told_apart() {
    let what = |name: &str| SlamInfo::parse(&message(&named(name))).unwrap().what;
    assert_eq!(what("mapping_info"), What::Mapping { pose: POSE });
    let (map, address) = ("test1".into(), "/home/unitree/test1.pcd".into());
    assert_eq!(what("pos_info"), What::Position { pose: POSE, map, address });
    let control =
        What::Control { is_arrived: Some(false), is_paused: Some(true), percent: Some(40.5) };
    assert_eq!(what("ctrl_info"), control);
    let battery = What::Robot { battery_percent: Some(81.0), battery_millivolts: Some(52000.0) };
    assert_eq!(what("robot_data"), battery);
    let arrived = What::TaskResult { target: "door".into(), is_arrived: true };
    assert_eq!(what("task_result"), arrived);
    let new = br#"{"type":"msg","topic":"rt/slam_info","data":"{\"type\":\"new\",\"a\":1}"}"#;
    let info = SlamInfo::parse(&Message::parse(new).unwrap()).unwrap();
    assert_eq!((info.what, &info.json["a"]), (What::Other("new".into()), &json!(1)));
}

#[test]
fn odometry_is_one_level_deeper() {
    let vector = named("odometry");
    let odometry = Odometry::parse(&message(&vector)).unwrap();
    assert_eq!(json!(odometry.pose.position), vector["position"]);
    assert_eq!(json!(odometry.pose.orientation), vector["orientation"]);
    assert_eq!((odometry.stamp, odometry.frame_id.as_str()), (Some((12, 500)), "map"));
    let mut again = message(&vector);
    again.data = Some(odometry.json());
    assert_eq!(Odometry::parse(&again), Ok(odometry));
    again.data = Some(json!({ "pose": { "position": { "x": 0, "y": 0, "z": 0 } } }));
    assert_eq!(refused(Odometry::parse(&again)), "pose.pose");
}

#[test]
fn motors_have_positions_velocities_and_signed_temperatures() {
    let vector = named("low state");
    let low = LowState::parse(&message(&vector)).unwrap();
    assert_eq!((low.motors.len(), low.mode_machine), (35, Some(4)));
    assert_eq!(json!(low.positions().unwrap().to_vec()), vector["positions"]);
    assert_eq!(json!(low.velocities().unwrap().to_vec()), vector["velocities"]);
    assert_eq!(low.motors[0].temperatures, [40, -6]);
    assert_eq!(
        (JOINTS[3], JOINTS[15], JOINTS[28]),
        ("left_knee", "left_shoulder_pitch", "right_wrist_yaw")
    );
    let mut again = message(&vector);
    again.data = Some(low.json());
    assert_eq!(LowState::parse(&again), Ok(low.clone()));
    // A GO2's has twelve motors, and no velocities.
    again.data = Some(json!({ "motor_state": [{ "q": 0.5, "temperature": 30, "lost": 0 }] }));
    let few = LowState::parse(&again).unwrap();
    assert_eq!((few.positions(), few.velocities(), few.motors[0].dq), (None, None, None));
    again.data = Some(json!({ "motor_state": vec![json!({ "q": 0 }); 65] }));
    assert_eq!(refused(LowState::parse(&again)), "motor_state");
    again.data = Some(json!({ "motor_state": [{ "q": "0" }] }));
    assert_eq!(refused(LowState::parse(&again)), "q");
}

#[test]
fn services_run_when_their_status_is_zero() {
    let vector = named("services");
    let services = Service::parse(&message(&vector)).unwrap();
    assert_eq!(json!(services.len()), vector["count"]);
    let names = |pick: fn(&Service) -> bool| -> Value {
        services.iter().filter(|service| pick(service)).map(|service| json!(service.name)).collect()
    };
    assert_eq!(names(|service| !service.running), vector["stopped"]);
    assert_eq!(names(|service| service.protected), vector["protected"]);
    let mut again = message(&vector);
    again.data = Some(Service::json(&services));
    assert_eq!(Service::parse(&again), Ok(services), "as it is, too, not only in a string");
}

#[test]
fn the_motion_mode_has_a_name() {
    let response = Response::parse(&message(&named("motion mode answer"))).unwrap();
    let mode = MotionMode::parse(&response.data).unwrap();
    assert_eq!((mode.form.as_str(), mode.name.as_str()), ("0", "ai"));
    assert_eq!(mode.emit(), response.data.as_str().unwrap());
    assert_eq!(MotionMode::set_parameter("normal"), r#"{"name":"normal"}"#);
}

#[test]
fn codes_mean_something_in_their_service_only() {
    for code in [7400, 7401, 7402, 7404] {
        assert!(status_text("arm", code).is_some());
        assert_eq!(status_text("sport", code), None);
    }
    for code in [3001, 3102, 3104, 3203, 3204, 3207] {
        assert_eq!(status_text("arm", code), status_text("sport", code));
        assert!(status_text("arm", code).is_some());
    }
    for code in 1001..=1003 {
        assert!(status_text("sport", code).is_some() && status_text("arm", code).is_none());
    }
    assert_eq!((status_text("arm", 0), status_text("arm", 7403)), (Some("done"), None));
    let refusal = Response::parse(&message(&named("arm refusal"))).unwrap();
    assert!(refusal.code_text().unwrap().contains("state does not allow"));
}

#[test]
fn the_tables_have_one_row_each() {
    let mut calls: Vec<_> = API.iter().map(|api| (api.service, api.id)).collect();
    let mut topics: Vec<_> = TOPICS.iter().map(|topic| topic.topic).collect();
    let rows = calls.len() + topics.len();
    calls.sort();
    calls.dedup();
    topics.sort();
    topics.dedup();
    assert_eq!(calls.len() + topics.len(), rows);
    assert!(topics.iter().all(|topic| topic.starts_with("rt/") && !topic.starts_with("rt/api/")));
    for vector in of("request") {
        let id = vector["api_id"].as_i64().unwrap();
        assert!(sinew_wire::unitree::api(text(&vector, "service"), id).is_some(), "{vector}");
    }
}
