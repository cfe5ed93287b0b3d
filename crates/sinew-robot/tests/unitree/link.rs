//! The channel: validation, heartbeat, topics, and the watch over it.

use std::sync::Arc;

use serde_json::json;
use sinew_robot::{
    Code, OrderKind, Session as _,
    teach::RobotRequest,
    unitree::{Event, LinkState, Request, Session},
};
use sinew_wire::unitree::Form;

use crate::{
    bench::{Bench, play, record},
    robot::CHALLENGE_ANSWER,
};

#[test]
fn the_challenge_is_answered_and_then_the_link_is_ready() {
    let mut bench = Bench::new();
    assert_eq!(*bench.link(), LinkState::Connecting { reason: None });
    bench.open();
    assert_eq!(*bench.link(), LinkState::Validating);
    bench.run(50);
    assert_eq!(*bench.link(), LinkState::Ready);
    let (_, first) = &bench.robot.got[0];
    assert_eq!(*first, json!({"type":"validation","topic":"","data":CHALLENGE_ANSWER}));
    // Nothing else before the robot has accepted it.
    assert_eq!(bench.robot.messages("validation").len(), 1);
    let subscribed: Vec<_> =
        bench.robot.messages("subscribe").iter().map(|(_, it)| it["topic"].clone()).collect();
    assert_eq!(
        json!(subscribed),
        json!([
            "rt/arm/action/state",
            "rt/lf/lowstate",
            "rt/lf/bmsstate",
            "rt/servicestate",
            "rt/lf/sportmodestate",
            "rt/slam_info",
            "rt/slam_key_info"
        ])
    );
}

#[test]
fn a_heartbeat_goes_every_two_seconds_with_the_time_of_day() {
    let mut bench = Bench::ready();
    bench.run(6000);
    let beats = bench.robot.messages("heartbeat");
    assert_eq!(beats.len(), 3);
    let (at, beat) = beats[0];
    let gap = beats[1].0 - at;
    assert!((1990..2010).contains(&gap), "{gap}");
    // Two seconds after the session's beginning.
    assert_eq!(
        beat["data"],
        json!({"timeInStr":"2026-02-01 05:50:38","timeInNum":1_769_925_038_u64})
    );
}

#[test]
fn a_robot_that_wants_validation_again_gets_the_answer_again() {
    let mut bench = Bench::ready();
    bench.robot.say(bench.ms(), r#"{"type":"err","info":"Validation Needed."}"#);
    bench.run(100);
    let answers = bench.robot.messages("validation");
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].1["data"], CHALLENGE_ANSWER);
    assert_eq!(*bench.link(), LinkState::Ready);
    // One heartbeat chain, however often the robot says that all is well.
    bench.robot.say(bench.ms(), r#"{"type":"validation","topic":"","data":"Validation Ok."}"#);
    bench.run(4000);
    assert_eq!(bench.robot.messages("heartbeat").len(), 2);
    assert!(bench.reconnects.is_empty());
}

#[test]
fn before_a_challenge_the_empty_one_is_answered() {
    let mut bench = Bench::new();
    bench.open();
    bench.robot.out.clear();
    bench.session.handle_input(
        bench.now,
        Form::Text,
        br#"{"type":"err","info":"Validation Needed."}"#,
    );
    let mut bytes = Vec::new();
    while bench.session.poll_output(true, &mut bytes).is_some() {}
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text, r#"{"type":"validation","topic":"","data":"/J1XAV5nmActpiOnU0jwGw=="}"#);
}

#[test]
fn a_channel_that_is_not_validated_is_given_up() {
    let mut bench = Bench::new();
    bench.dead = true;
    bench.open();
    bench.reopens = false;
    bench.run(9900);
    assert!(bench.reconnects.is_empty());
    bench.run(200);
    let (at, reason) = bench.reconnects[0].clone();
    assert_eq!(at, 10_000);
    assert_eq!(reason, "the robot opened the channel, and said nothing on it for 10 s");
    let LinkState::Connecting { reason: Some(shown) } = bench.link() else {
        panic!("{:?}", bench.link())
    };
    assert_eq!(**shown, *reason);
}

#[test]
fn a_dead_channel_is_shown_within_a_second_and_given_up_within_six() {
    let mut bench = Bench::ready();
    bench.run(1000);
    bench.reopens = false;
    bench.dead = true;
    let died = bench.ms();
    bench.run(1100);
    let state = bench.session.state();
    assert!(!state.fresh);
    let LinkState::Lost { reason } = &state.link else { panic!("{:?}", state.link) };
    assert!(reason.contains("stalls for 1.0 s"), "{reason}");
    // Silent, so nothing is promised.
    assert_eq!(bench.refusal(RobotRequest::List).0, Code::LinkLost);
    bench.run(5000);
    let (at, reason) = bench.reconnects[0].clone();
    assert!(at - died <= 6000, "{}", at - died);
    assert_eq!(reason, "nothing came from the robot for 5 s");
    let state = bench.session.state();
    assert!(state.arm.is_none() && state.positions.is_none());
}

#[test]
fn a_stall_that_passes_costs_no_channel() {
    let mut bench = Bench::ready();
    bench.dead = true;
    bench.run(1500);
    assert!(bench.link().is_lost());
    bench.dead = false;
    bench.run(200);
    assert_eq!(*bench.link(), LinkState::Ready);
    assert!(bench.session.state().fresh);
    assert!(bench.reconnects.is_empty());
}

#[test]
fn a_robot_that_says_nothing_of_itself_is_asked_before_it_is_given_up() {
    let mut bench = Bench::ready();
    bench.robot.publishes = false;
    bench.run(20_000);
    assert!(bench.reconnects.is_empty());
    assert!(bench.robot.messages("rtc_inner_req").len() >= 8);
    bench.robot.answers_probes = false;
    bench.run(6000);
    assert_eq!(bench.reconnects.len(), 1);
}

#[test]
fn topics_are_asked_for_again_on_a_new_channel() {
    let mut bench = Bench::ready();
    bench.cut("the cable is out");
    assert_eq!(*bench.link(), LinkState::Lost { reason: "the cable is out".into() });
    bench.session.disconnected(bench.now, "no route to host");
    assert_eq!(*bench.link(), LinkState::Lost { reason: "no route to host".into() });
    bench.open();
    bench.run(400);
    assert_eq!(bench.robot.messages("subscribe").len(), 7);
    assert_eq!(*bench.link(), LinkState::Ready);
    assert!(bench.session.state().fresh);
}

#[test]
fn a_topic_that_the_robot_does_not_have_is_told_once_and_not_asked_for_again() {
    let mut bench = Bench::new();
    bench.robot.missing.insert("rt/lf/bmsstate".into());
    let mut bench = bench.opened();
    bench.cut("cut");
    bench.open();
    bench.run(1000);
    let asked = bench.robot.messages("subscribe");
    assert_eq!(asked.len(), 6);
    assert!(asked.iter().all(|(_, it)| it["topic"] != "rt/lf/bmsstate"));
    let not_offered: Vec<_> =
        bench.session.state().not_offered.iter().map(|topic| topic.to_string()).collect();
    assert_eq!(not_offered, ["rt/lf/bmsstate"]);
    let value = serde_json::to_value(bench.session.state()).unwrap();
    assert_eq!(value["not_offered"], json!(["rt/lf/bmsstate"]));
}

#[test]
fn a_probe_of_the_delay_comes_back_whole() {
    let mut bench = Bench::ready();
    let info = r#"{"req_type":"rtt_probe_send_from_mechine","stamp":123,"more":[1,2]}"#;
    bench.robot.say(bench.ms(), format!(r#"{{"type":"rtc_inner_req","info":{info}}}"#));
    bench.run(100);
    let echoes = bench.robot.messages("rtc_inner_req");
    assert_eq!(echoes.len(), 1);
    let info: serde_json::Value = serde_json::from_str(info).unwrap();
    assert_eq!(echoes[0].1, json!({"type":"rtc_inner_req","topic":"","data":info}));
}

#[test]
fn faults_are_kept_in_words_and_told_once() {
    let mut bench = Bench::ready();
    let say = |bench: &mut Bench, text: &str| {
        bench.robot.say(bench.ms(), text);
        bench.run(100);
    };
    say(&mut bench, r#"{"type":"errors","data":[[1769925000,200,1],[1769925001,300,16]]}"#);
    // The robot repeats it now and then, with another time.
    say(&mut bench, r#"{"type":"errors","data":[[1769925060,200,1],[1769925001,300,16]]}"#);
    say(&mut bench, r#"{"type":"add_error","data":[1769925061,600,8]}"#);
    say(&mut bench, r#"{"type":"rm_error","data":[1769925062,200,1]}"#);
    let told: Vec<_> = bench
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Fault { on, text, .. } => Some((*on, text.to_string())),
            _ => None,
        })
        .collect();
    assert_eq!(
        told,
        [
            (true, "rear left fan jammed".into()),
            (true, "motor: winding too hot".into()),
            (true, "motion control: protection of a low battery".into()),
            (false, "rear left fan jammed".into()),
        ]
    );
    let value = serde_json::to_value(bench.session.state()).unwrap();
    assert_eq!(value["faults"].as_array().unwrap().len(), 2);
    assert_eq!(value["faults"][0]["text"], "motor: winding too hot");
}

#[test]
fn the_state_says_what_the_robot_says() {
    let mut bench = Bench::ready();
    bench.run(1000);
    let value = serde_json::to_value(bench.session.state()).unwrap();
    assert_eq!(value["link"], json!({"state":"ready"}));
    assert_eq!(value["arm"], json!({"holding":false,"id":0,"name":"","phase":"idle"}));
    assert_eq!(value["fsm"], json!({"id":4,"name":"locked standing","mode":0}));
    assert_eq!(value["battery"]["percent"], 77.0);
    assert_eq!(value["services"], json!({"count":2,"off":["unitree_slam"]}));
    // Joint 15 of 29 is the first slot, 22 the seventh.
    let positions = &value["positions"];
    assert!((positions["left_shoulder_pitch"].as_f64().unwrap() - 0.15).abs() < 1e-6);
    assert!((positions["right_shoulder_pitch"].as_f64().unwrap() - 0.22).abs() < 1e-6);
    assert_eq!(positions.as_object().unwrap().len(), 12);
    assert_eq!(value["velocities"]["left_elbow"], 0.5);
}

#[test]
fn cloning_the_state_shares_its_texts() {
    let mut bench = Bench::ready();
    bench.robot.say(bench.ms(), r#"{"type":"errors","data":[[1,200,1]]}"#);
    bench.run(600);
    let first = bench.session.state().clone();
    bench.run(2000);
    let second = bench.session.state();
    // Numbers changed, texts are the same ones.
    assert_ne!(first.counters.received, second.counters.received);
    let (a, b) = (first.arm.unwrap(), second.arm.clone().unwrap());
    assert!(Arc::ptr_eq(&a.name, &b.name));
    assert!(Arc::ptr_eq(&first.faults, &second.faults));
    let (a, b) = (first.services.unwrap(), second.services.clone().unwrap());
    assert!(Arc::ptr_eq(&a.off, &b.off));
}

#[test]
fn what_an_order_overtakes() {
    use OrderKind::{Disable, Released, Stop, Taken};
    use sinew_robot::mapping::{Pose, Request as Map};
    let overtaken = |request: Request| {
        [Stop, Disable, Taken, Released].map(|by| Session::is_overtaken(&request, by))
    };
    let go = Map::GoTo { pose: Pose::default() };
    assert_eq!(overtaken(go.into()), [true, true, true, true]);
    assert_eq!(overtaken(Map::Resume.into()), [true, true, true, true]);
    assert_eq!(overtaken(play("x").into()), [true, true, true, false]);
    assert_eq!(overtaken(record("x").into()), [true, true, true, false]);
    assert_eq!(overtaken(Map::Start.into()), [true, true, false, false]);
    for never in [
        Request::from(RobotRequest::List),
        RobotRequest::Stop.into(),
        Map::Info.into(),
        Map::Download { name: "x".into() }.into(),
        Map::Pause.into(),
        Map::Close.into(),
    ] {
        assert_eq!(overtaken(never), [false; 4]);
    }
}
