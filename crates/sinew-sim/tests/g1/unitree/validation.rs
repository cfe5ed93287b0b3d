use sinew_sim::g1::{MAX_CHANNELS, Options, UnitreeOptions, What};
use sinew_wire::unitree::{Form, validation_answer_with};

use super::support::{Line, md5, options};
use crate::support::ms;

const NEEDED: &str = r#"{"type":"err","info":"Validation Needed."}"#;
const LIST: &str = r#"{"type":"req","topic":"rt/api/arm/request","data":{"header":{"identity":{"id":1,"api_id":7107}},"parameter":""}}"#;

#[test]
fn the_digest_is_the_one_that_the_library_computes() {
    let answer = |challenge| validation_answer_with(challenge, md5).data.unwrap();
    assert_eq!(answer("0123456789abcdef"), "w+wJRSatpJQf2TpbA1FlIA==");
    assert_eq!(answer(""), "/J1XAV5nmActpiOnU0jwGw==");
}

#[test]
fn a_channel_is_challenged_as_it_opens_and_validated_once() {
    let mut line = Line::new(options());
    line.input(1, What::Opened, b"");
    assert_eq!(line.heard.len(), 1, "one message, at once");
    let challenge = line.heard[0].json();
    assert_eq!((&challenge["type"], &challenge["topic"]), (&"validation".into(), &"".into()));
    let answer = validation_answer_with(challenge["data"].as_str().unwrap(), md5).emit();
    line.send(&answer);
    line.send(&answer);
    line.run(ms(1000));
    let said: Vec<&str> = line.heard[1..].iter().map(|heard| heard.text()).collect();
    let ok = r#"{"type":"validation","topic":"","data":"Validation Ok."}"#;
    assert_eq!(said, [ok, r#"{"type":"errors","topic":"","data":[]}"#]);
}

#[test]
fn challenges_are_random_by_seed() {
    let challenge = |seed| {
        let mut line = Line::new(Options { seed, ..options() });
        line.input(1, What::Opened, b"");
        line.input(2, What::Opened, b"");
        [line.heard[0].text().to_owned(), line.heard[1].text().to_owned()]
    };
    assert_eq!(challenge(7), challenge(7));
    assert_ne!(challenge(7), challenge(8));
    let [first, second] = challenge(7);
    assert_ne!(first, second);
}

#[test]
fn nothing_is_done_before_the_validation() {
    let mut line = Line::new(options());
    line.input(1, What::Opened, b"");
    line.send(LIST);
    line.send(r#"{"type":"subscribe","topic":"rt/arm/action/state"}"#);
    line.send(r#"{"type":"req","topic":"rt/api/arm/request","data":{"header":{"identity":{"id":2,"api_id":7110}},"parameter":"{\"action_name\":\"x\"}"}}"#);
    line.send(
        r#"{"type":"heartbeat","data":{"timeInStr":"2026-01-31 16:50:36","timeInNum":1769896236}}"#,
    );
    line.run(ms(1000));
    let said: Vec<&str> = line.heard[1..].iter().map(|heard| heard.text()).collect();
    assert_eq!(said, [NEEDED; 4]);
    assert_eq!(line.robot.channel_counters().unvalidated, 4);
    assert_eq!(line.robot.mode(), sinew_sim::g1::Mode::Idle);
}

#[test]
fn wrong_answers_are_asked_again_and_then_cost_the_channel() {
    let mut line = Line::new(options());
    line.input(1, What::Opened, b"");
    for wrong in 1..=5 {
        assert!(line.closed.is_empty());
        line.send(r#"{"type":"validation","topic":"","data":"w+wJRSatpJQf2TpbA1FlIA=="}"#);
        assert_eq!(line.heard.len(), 1 + wrong);
        assert_eq!(line.heard[wrong].text(), NEEDED);
    }
    assert_eq!(line.closed, [1]);
    line.send(LIST);
    assert_eq!(line.heard.len(), 6, "a closed channel is not answered");
    assert_eq!(line.robot.channels(), 0);
}

#[test]
fn a_right_answer_after_wrong_ones_counts() {
    let mut line = Line::new(options());
    line.input(1, What::Opened, b"");
    let challenge = line.heard[0].json();
    line.send(r#"{"type":"validation","topic":"","data":"no"}"#);
    line.send(r#"{"type":"validation","topic":"","data":12}"#);
    let answer = validation_answer_with(challenge["data"].as_str().unwrap(), md5).emit();
    line.send(&answer);
    assert!(line.heard[3].text().contains("Validation Ok."));
    assert_eq!(line.arm(7107, ""), 0);
}

#[test]
fn a_client_that_does_not_answer_is_closed() {
    let mut line = Line::new(options());
    line.input(1, What::Opened, b"");
    line.run(ms(14_900));
    assert!(line.closed.is_empty());
    line.run(ms(200));
    assert_eq!(line.closed, [1]);
}

#[test]
fn a_robot_may_ask_again_and_serves_nothing_meanwhile() {
    let unitree = UnitreeOptions { revalidate_every: Some(ms(5000)), ..options().unitree };
    let mut line = Line::open(Options { unitree, ..options() });
    line.run(ms(4900));
    assert_eq!(line.arm(7107, ""), 0);
    let before = line.heard.len();
    line.run(ms(200));
    let challenge = line.heard[before].json();
    assert_eq!(challenge["type"], "validation");
    line.send(LIST);
    assert_eq!(line.heard.last().unwrap().text(), NEEDED);
    let answer = validation_answer_with(challenge["data"].as_str().unwrap(), md5).emit();
    line.send(&answer);
    assert_eq!(line.arm(7107, ""), 0);
}

#[test]
fn without_md5_there_is_no_channel() {
    let unitree = UnitreeOptions { md5: None, ..options().unitree };
    let mut line = Line::new(Options { unitree, ..options() });
    line.input(1, What::Opened, b"");
    assert_eq!((line.heard.len(), line.closed.as_slice()), (0, &[1][..]));
}

#[test]
fn channels_are_few() {
    let mut line = Line::new(options());
    for client in 0..100 {
        line.input(client, What::Opened, b"");
    }
    assert_eq!(line.robot.channels(), MAX_CHANNELS);
    assert_eq!(line.closed.len(), 100 - MAX_CHANNELS);
    line.input(0, What::Closed, b"");
    line.join(100);
    assert_eq!(line.robot.channels(), MAX_CHANNELS);
}

#[test]
fn a_restart_closes_channels_and_forgets_the_validation() {
    let mut line = Line::open(options());
    line.subscribe("rt/arm/action/state");
    line.run(ms(500));
    line.robot.restart(line.now);
    line.heard.clear();
    line.listen();
    assert_eq!(line.closed, [1]);
    line.send(LIST);
    line.run(ms(1000));
    assert!(line.heard.is_empty());
    line.input(2, What::Opened, b"");
    line.text(2, LIST);
    assert_eq!(line.heard.last().unwrap().text(), NEEDED);
    line.input(2, What::Closed, b"");
    line.join(3);
}

#[test]
fn challenges_do_not_show() {
    let mut line = Line::new(options());
    line.input(1, What::Opened, b"");
    let challenge = line.heard[0].json();
    let shown = format!("{:?}", line.robot);
    assert!(!shown.contains(challenge["data"].as_str().unwrap()));
}

#[test]
fn the_bridge_answers_for_itself() {
    let mut line = Line::open(options());
    let last = |line: &Line| line.heard.last().unwrap().text().to_owned();
    let beat = r#"{"type":"heartbeat","topic":"","data":{"timeInNum":1769896236,"timeInStr":"2026-01-31 16:50:36"}}"#;
    line.send(beat);
    assert_eq!(last(&line), beat);
    line.send(r#"{"type":"rtc_inner_req","topic":"","data":{"req_type":"public_network_status","uuid":"a-b"}}"#);
    assert_eq!(
        last(&line),
        r#"{"type":"rtc_inner_req","topic":"","info":{"req_type":"public_network_status","status":"NetworkStatus.ON_WIFI_CONNECTED","uuid":"a-b"}}"#
    );
    line.send(r#"{"type":"rtc_inner_req","topic":"","data":{"req_type":"disable_traffic_saving","instruction":"on"}}"#);
    let answer = line.heard.last().unwrap().json();
    assert_eq!(answer["info"]["execution"], "ok");
    assert!(answer["info"].get("uuid").is_none() && answer["info"].get("req_uuid").is_none());
    let before = line.heard.len();
    line.send(r#"{"type":"vid","topic":"","data":"on"}"#);
    line.send(r#"{"type":"aud","topic":"","data":"off"}"#);
    line.send(r#"{"type":"something new","topic":"","data":{}}"#);
    line.send(r#"{"type":"msg","topic":"rt/wirelesscontroller","data":{"lx":0.0,"ly":0.0,"rx":0.0,"ry":0.0,"keys":0}}"#);
    assert_eq!(line.heard.len(), before);
}

#[test]
fn the_delay_is_probed_now_and_then() {
    let mut line = Line::open(options());
    let before = line.heard.len();
    line.run(ms(25_000));
    let probes: Vec<_> = line.heard[before..].iter().map(|heard| heard.json()).collect();
    assert_eq!(probes.len(), 2);
    let info = &probes[0]["info"];
    assert_eq!(info["req_type"], "rtt_probe_send_from_mechine");
    assert!(info["uuid"].is_string(), "or it would be taken for another answer");
    line.send(&format!(r#"{{"type":"rtc_inner_req","topic":"","data":{info}}}"#));
    assert_eq!(line.robot.channel_counters().probes, 1);
    assert_eq!(line.heard[before].form, Form::Text);
}

#[test]
fn an_unknown_topic_is_refused() {
    let mut line = Line::open(options());
    for topic in ["rt/utlidar/voxel_map_compressed", "rt/utlidar/robot_pose", "rt/nothing"] {
        line.subscribe(topic);
        let wanted = format!(r#"{{"type":"err","info":"Invalid Topic.{topic}"}}"#);
        assert_eq!(line.heard.last().unwrap().text(), wanted);
    }
    let before = line.heard.len();
    line.subscribe("rt/api/arm/response");
    assert_eq!(line.heard.len(), before);
}
