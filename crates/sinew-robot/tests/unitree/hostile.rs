//! What no robot should send.

use sinew_robot::{Session as _, teach::RobotRequest, unitree::LinkState};
use sinew_wire::unitree::Form;

use crate::bench::{Bench, play};

const TEXTS: [&str; 26] = [
    "",
    "{",
    "[]",
    "null",
    "{}",
    r#"{"type":7}"#,
    r#"{"type":"validation"}"#,
    r#"{"type":"validation","data":7}"#,
    r#"{"type":"msg"}"#,
    r#"{"type":"msg","topic":"rt/arm/action/state"}"#,
    r#"{"type":"msg","topic":"rt/arm/action/state","data":"{"}"#,
    r#"{"type":"msg","topic":"rt/arm/action/state","data":"{\"id\":1e99}"}"#,
    r#"{"type":"msg","topic":"rt/lf/lowstate","data":{"motor_state":[]}}"#,
    r#"{"type":"msg","topic":"rt/lf/lowstate","data":{"motor_state":"x"}}"#,
    r#"{"type":"msg","topic":"rt/lf/sportmodestate","data":"x"}"#,
    r#"{"type":"msg","topic":"rt/lf/bmsstate","data":[]}"#,
    r#"{"type":"msg","topic":"rt/slam_info","data":"{\"type\":\"ctrl_info\"}"}"#,
    r#"{"type":"msg","topic":"rt/slam_key_info","data":{"type":"task_result","data":{}}}"#,
    r#"{"type":"res","topic":"rt/api/arm/response","data":{}}"#,
    r#"{"type":"res","topic":"x","data":{"header":{"identity":{"id":1,"api_id":1},"status":{"code":0}}}}"#,
    r#"{"type":"rtc_inner_req"}"#,
    r#"{"type":"rtc_inner_req","info":{"req_type":"request_static_file","req_uuid":"x"}}"#,
    r#"{"type":"errors","data":[[1,2]]}"#,
    r#"{"type":"err","info":"Invalid Topic."}"#,
    r#"{"type":"err","info":{"a":1}}"#,
    r#"{"type":"nonsense","topic":"\u0000"}"#,
];

#[test]
fn rubbish_changes_nothing() {
    let mut bench = Bench::ready();
    for text in TEXTS {
        for form in [Form::Text, Form::Binary] {
            bench.session.handle_input(bench.now, form, text.as_bytes());
        }
        bench.settle();
    }
    bench.run(1000);
    assert_eq!(*bench.link(), LinkState::Ready);
    assert!(bench.session.state().counters.malformed > 20);
    bench.teach(RobotRequest::List);
}

#[test]
fn nothing_but_validation_counts_before_it() {
    let mut bench = Bench::new();
    bench.dead = true;
    bench.open();
    for text in TEXTS {
        bench.session.handle_input(bench.now, Form::Text, text.as_bytes());
    }
    let state = r#"{"type":"msg","topic":"rt/arm/action/state","data":"{\"holding\":false,\"id\":0,\"name\":\"\"}"}"#;
    bench.session.handle_input(bench.now, Form::Text, state.as_bytes());
    bench.settle();
    assert_eq!(*bench.link(), LinkState::Validating);
    assert!(bench.session.state().arm.is_none() && !bench.session.state().fresh);
}

#[test]
fn a_flood_leaves_nothing_behind() {
    let mut bench = Bench::ready();
    // Not fetched meanwhile.
    let probe = br#"{"type":"rtc_inner_req","info":{"req_type":"rtt_probe_send_from_mechine"}}"#;
    let again = br#"{"type":"err","info":"Validation Needed."}"#;
    let invalid = br#"{"type":"err","info":"Invalid Topic.zz"}"#;
    for number in 0..20_000_u32 {
        bench.session.handle_input(bench.now, Form::Text, probe);
        bench.session.handle_input(bench.now, Form::Text, again);
        bench.session.handle_input(bench.now, Form::Text, invalid);
        let fault = format!(r#"{{"type":"add_error","data":[1,{number},1]}}"#);
        bench.session.handle_input(bench.now, Form::Text, fault.as_bytes());
    }
    let (mut outputs, mut sent, mut bytes) = (0, 0, Vec::new());
    while bench.session.poll_output(true, &mut bytes).is_some() {
        outputs += 1;
        sent = bytes.len();
    }
    assert!(outputs < 700, "{outputs}");
    assert!(sent < 20_000, "{sent}");
    assert!(bench.session.state().faults.len() <= 64);
    assert!(bench.session.state().counters.events_lost > 10_000);
    assert!(bench.session.state().counters.dropped > 10_000);
}

#[test]
fn lists_without_end_are_cut() {
    let mut bench = Bench::ready();
    bench.robot.taught = (0..5000).map(|number| (format!("action {number}"), 1.0)).collect();
    let answer = bench.teach(RobotRequest::List);
    let sinew_robot::teach::Answer::List { actions, unlisted } = answer else { panic!() };
    assert_eq!((actions.len(), unlisted), (256, 5003 - 256));
    // New names all the time: numbers are remembered, but not without end.
    for round in 0..60 {
        bench.robot.taught = (0..250).map(|number| (format!("{round} {number}"), 1.0)).collect();
        bench.teach(RobotRequest::List);
    }
}

#[test]
fn answers_of_the_wrong_form_end_requests_with_a_reason() {
    let mut bench = Bench::ready();
    bench.robot.taught = vec![("x".into(), 1e30)];
    bench.teach(RobotRequest::List);
    bench.robot.codes.insert(7107, 0);
    // The data is empty now, which is no list.
    let (_, message) = bench.refusal(play("x"));
    assert!(message.contains("cannot be read"), "{message}");
}

#[test]
fn time_that_stands_still_or_jumps_harms_nothing() {
    let mut bench = Bench::ready();
    for _ in 0..1000 {
        bench.session.handle_timeout(bench.now);
    }
    bench.settle();
    let far = bench.now + std::time::Duration::from_secs(86_400);
    bench.session.handle_timeout(far);
    bench.session.handle_timeout(bench.now);
    bench.reopens = true;
    bench.settle();
    bench.run(2000);
    assert_eq!(*bench.link(), LinkState::Ready);
}
