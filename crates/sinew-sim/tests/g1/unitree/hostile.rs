use std::time::{Duration, Instant};

use proptest::prelude::*;
use sinew_sim::g1::{Channel, MAX_CHANNELS, Mode, Options, Robot, Walking, What};
use sinew_wire::unitree::{Form, MAX_JSON};

use super::support::{Line, options};
use crate::support::ms;

const TEXTS: [&str; 10] = [
    r#"{"type":"req","topic":"rt/api/arm/request","data":{"header":{"identity":{"id":1,"api_id":7107}},"parameter":""}}"#,
    r#"{"type":"req","topic":"rt/api/arm/request","data":{"header":{"identity":{"id":1,"api_id":7110}},"parameter":"{\"action_name\":\"x\"}"}}"#,
    r#"{"type":"req","topic":"rt/api/arm/request","data":{"header":{"identity":{"id":1,"api_id":7110}},"parameter":""}}"#,
    r#"{"type":"req","topic":"rt/api/arm/request","data":{"header":{"identity":{"id":1,"api_id":7106}},"parameter":"{\"data\":27}"}}"#,
    r#"{"type":"req","topic":"rt/api/slam_operate/request","data":{"header":{"identity":{"id":1,"api_id":1801}},"parameter":"{\"data\":{\"slam_type\":\"indoor\"}}"}}"#,
    r#"{"type":"req","topic":"rt/api/slam_operate/request","data":{"header":{"identity":{"id":1,"api_id":1802}},"parameter":"{\"data\":{\"address\":\"/home/unitree/a.pcd\"}}"}}"#,
    r#"{"type":"req","topic":"rt/api/slam_operate/request","data":{"header":{"identity":{"id":1,"api_id":1102}},"parameter":"{\"data\":{\"targetPose\":{\"x\":1e308,\"y\":-1e308,\"z\":0,\"q_x\":0,\"q_y\":0,\"q_z\":1e308,\"q_w\":1e308},\"mode\":1}}"}}"#,
    r#"{"type":"subscribe","topic":"rt/unitree/slam_mapping/points"}"#,
    r#"{"type":"rtc_inner_req","topic":"","data":{"req_type":"request_static_file","req_uuid":"r","related_bussiness":"uslam_final_pcd","file_md5":"null","file_path":"/home/unitree/a.pcd"}}"#,
    r#"{"type":"validation","topic":"","data":"no"}"#,
];

#[test]
fn rubbish_is_counted_and_not_answered() {
    let mut line = Line::open(options());
    let before = line.heard.len();
    for rubbish in ["", "{", "[]", "null", "\u{0}", r#"{"topic":"rt/x"}"#, r#"{"type":7}"#] {
        line.send(rubbish);
    }
    line.input(1, What::Message(Form::Text), &[0xFF; 100]);
    line.input(1, What::Message(Form::Binary), &[2, 0, 0, 0, 1]);
    line.send(&format!(r#"{{"type":"heartbeat","data":"{}"}}"#, "x".repeat(MAX_JSON)));
    line.send(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)));
    line.send(r#"{"type":"req","topic":"rt/api/arm/request","data":{}}"#);
    line.send(
        r#"{"type":"req","topic":"rt/arm","data":{"header":{"identity":{"id":1,"api_id":1}}}}"#,
    );
    line.send(r#"{"type":"rtc_inner_req","topic":"","data":[]}"#);
    assert_eq!(line.heard.len(), before);
    assert_eq!(line.robot.channel_counters().malformed, 14);
    assert!(line.closed.is_empty());
    assert_eq!(line.arm(7107, ""), 0);
}

#[test]
fn messages_of_channels_that_are_not_open_do_nothing() {
    let mut line = Line::new(options());
    for text in TEXTS {
        line.text(9, text);
    }
    line.input(9, What::Closed, b"");
    line.run(ms(1000));
    assert!(line.heard.is_empty() && line.closed.is_empty());
}

#[test]
fn ten_thousand_subscriptions_are_no_more_than_there_are_topics() {
    let mut line = Line::open(options());
    for number in 0..10_000 {
        line.subscribe(&format!("rt/nothing/{number}"));
        line.subscribe("rt/lf/lowstate");
    }
    line.subscribe(&"x".repeat(100_000));
    assert!(line.heard.last().unwrap().bytes.len() < 200, "no echo of what was sent");
    let before = line.heard.len();
    line.run(ms(1010));
    assert_eq!(line.on(before, "rt/lf/lowstate").len(), 20);
}

#[test]
fn a_client_that_takes_nothing_is_closed() {
    let mut line = Line::open(options());
    line.room = false;
    for _ in 0..5000 {
        line.send(r#"{"type":"heartbeat","data":{"timeInNum":1}}"#);
    }
    assert_eq!(line.closed, [1]);
    assert_eq!(line.robot.channels(), 0);
}

#[test]
fn calls_beyond_what_can_wait_are_counted() {
    let mut line = Line::open(options());
    for _ in 0..5000 {
        line.request("arm", 7107, "");
    }
    let counters = line.robot.channel_counters();
    assert_eq!((counters.answered, counters.overflowed), (512, 4488));
    line.run(ms(100));
    assert_eq!(line.arm(7107, ""), 0);
}

#[test]
fn a_year_passes_quickly_while_mapping() {
    let mut line = Line::open(options());
    line.subscribe("rt/unitree/slam_mapping/points");
    line.subscribe("rt/lf/lowstate");
    line.request("slam_operate", 1801, r#"{"data":{"slam_type":"indoor"}}"#);
    line.run(ms(1000));
    line.now += Duration::from_secs(365 * 24 * 60 * 60);
    line.robot.handle_timeout(line.now);
    line.listen();
    assert_eq!(line.robot.walking(), Walking::Led);
    assert!(line.heard.len() < 100);
    line.run(ms(1000));
    assert_eq!(line.arm(7107, ""), 0);
}

#[test]
fn time_that_goes_back_stands_still() {
    let mut line = Line::open(options());
    line.run(ms(1000));
    line.now -= ms(500);
    line.subscribe("rt/lf/lowstate");
    line.request("arm", 7107, "");
    line.now += ms(500);
    line.run(ms(200));
    assert_eq!(line.arm(7107, ""), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_messages_are_survived(
        seed: u64,
        steps in prop::collection::vec((0_u32..12, 0_usize..13, any::<u16>(), any::<u8>(), 0_u64..700), 1..60),
    ) {
        let mut line = Line::open(Options { seed, ..options() });
        line.send(r#"{"type":"rtc_inner_req","topic":"","data":{"req_type":"disable_traffic_saving","instruction":"on"}}"#);
        for (client, what, place, byte, wait) in steps {
            let client = if client < 8 { 1 } else { client };
            match what {
                10 => line.input(client, What::Opened, b""),
                11 if client != 1 => line.input(client, What::Closed, b""),
                what => {
                    let mut bytes = TEXTS[what % TEXTS.len()].as_bytes().to_vec();
                    if byte < 128 {
                        let place = usize::from(place) % bytes.len();
                        bytes[place] = byte;
                    }
                    line.input(client, What::Message(Form::Text), &bytes);
                }
            }
            line.run(ms(wait));
            prop_assert!(line.robot.channels() <= MAX_CHANNELS + 1);
        }
        // Whatever it was, it ends.
        line.join(1000);
        line.text(1000, r#"{"type":"req","topic":"rt/api/arm/request","data":{"header":{"identity":{"id":1,"api_id":7113}},"parameter":""}}"#);
        line.text(1000, r#"{"type":"req","topic":"rt/api/arm/request","data":{"header":{"identity":{"id":1,"api_id":7110}},"parameter":""}}"#);
        line.text(1000, r#"{"type":"req","topic":"rt/api/slam_operate/request","data":{"header":{"identity":{"id":1,"api_id":1901}},"parameter":"{\"data\":{}}"}}"#);
        line.run(ms(5000));
        prop_assert_eq!(line.robot.mode(), Mode::Idle);
        prop_assert_eq!(line.robot.walking(), Walking::No);
    }
}

#[test]
fn channels_that_nothing_closes_do_not_pile_up() {
    let now = Instant::now();
    let mut robot = Robot::new(options(), now);
    for client in 0..3000 {
        let channel = Channel { client, what: What::Opened };
        robot.handle_channel(now, channel, b"");
    }
    assert_eq!(robot.channels(), 1024);
}

#[test]
fn files_that_wait_are_bounded() {
    let mut line = Line::open(options());
    line.send(TEXTS[4]);
    line.run(Duration::from_secs(10));
    line.send(TEXTS[5]);
    line.run(ms(1000));
    line.room = false;
    for _ in 0..1000 {
        line.send(TEXTS[8]);
    }
    let before = line.heard.len();
    line.room = true;
    line.listen();
    let slices = line.heard.len() - before;
    assert!((20..64).contains(&slices), "{slices}");
}
