//! Recording: kept alive, collected, ended.

use sinew_robot::{
    Code, OrderKind, Session as _,
    teach::{Answer, RobotRequest},
    unitree::Event,
};

use crate::{
    bench::{Bench, record},
    robot::Arms,
};

fn save(name: Option<&str>) -> RobotRequest {
    RobotRequest::Save { name: name.map(Into::into), looped: false }
}

#[test]
fn a_recording_is_begun_kept_alive_and_ended_as_the_app_does() {
    let mut bench = Bench::ready();
    let Answer::RecordStart { name, note } = bench.teach(record("wave")) else { panic!() };
    assert_eq!(name.as_deref(), Some("wave"));
    assert!(note.unwrap().contains("60 s after this client has gone"));
    bench.run(5000);
    assert!(bench.session.state().recording);
    assert!(matches!(bench.robot.arms, Arms::Recording { .. }));
    let Answer::RecordStop { frames, duration_ms, note, .. } =
        bench.teach(RobotRequest::RecordStop)
    else {
        panic!()
    };
    assert!((90..120).contains(&frames), "{frames}");
    assert!((4900..5600).contains(&duration_ms), "{duration_ms}");
    assert!(note.unwrap().contains("stores what it recorded, and keeps it"));
    bench.run(6000);
    let calls = bench.robot.calls(7110);
    let parameters: Vec<&str> = calls.iter().map(|(_, parameter)| parameter.as_str()).collect();
    assert_eq!(parameters[0], r#"{"action_name":"wave"}"#);
    let keeps = parameters.iter().filter(|it| **it == r#"{"action_name":""}"#).count();
    assert!((5..=6).contains(&keeps), "{keeps}");
    let gap = calls[3].0 - calls[2].0;
    assert!((990..1010).contains(&gap), "{gap}");
    assert_eq!(bench.robot.taught.last().unwrap().0, "wave");
    let state = bench.session.state();
    assert!(!state.recording && state.recorded.as_ref().unwrap().len() == frames);
}

#[test]
fn no_keep_alive_follows_the_stop() {
    for late in 0..40 {
        let mut bench = Bench::ready();
        bench.teach(record("wave"));
        bench.run(1000 + 25 * late);
        bench.teach(RobotRequest::RecordStop);
        bench.run(3000);
        let calls = bench.robot.calls(7110);
        let first = calls.iter().position(|(_, parameter)| parameter.is_empty()).unwrap();
        assert!(calls[first..].iter().all(|(_, parameter)| parameter.is_empty()), "{calls:?}");
    }
}

#[test]
fn a_keep_alive_that_waits_is_not_sent_after_the_stop() {
    let mut bench = Bench::ready();
    bench.teach(record("wave"));
    bench.run(500);
    // The channel takes nothing for a while, so a keep-alive waits in the session.
    let later = bench.now + std::time::Duration::from_millis(1500);
    bench.session.handle_timeout(later);
    let origin = bench.origin(1);
    bench.session.request(later, RobotRequest::RecordStop.into(), &origin);
    let (mut sent, mut bytes) = (Vec::new(), Vec::new());
    while bench.session.poll_output(true, &mut bytes).is_some() {
        sent.push(String::from_utf8(std::mem::take(&mut bytes)).unwrap());
    }
    assert!(sent.iter().any(|text| text.contains(r#""api_id":7110}},"parameter":"""#)), "{sent:?}");
    assert!(!sent.iter().any(|text| text.contains("action_name")), "{sent:?}");
}

#[test]
fn without_a_name_it_is_called_by_the_date() {
    let mut bench = Bench::ready();
    let Answer::RecordStart { name, .. } = bench.teach(RobotRequest::RecordStart { name: None })
    else {
        panic!()
    };
    assert_eq!(name.as_deref(), Some("2026-02-01_05:50:36"));
}

#[test]
fn it_is_stored_by_the_robot_and_save_renames_it() {
    let mut bench = Bench::ready();
    assert_eq!(bench.refusal(save(Some("x"))).0, Code::NotReady);
    bench.teach(record("wave"));
    assert_eq!(bench.refusal(save(None)).0, Code::NotReady);
    assert_eq!(bench.refusal(record("again")).0, Code::NotReady);
    bench.run(2000);
    bench.teach(RobotRequest::RecordStop);
    bench.run(5000);
    let Answer::Save { name, error_rad: None, keyframes: 0, frames, note, .. } =
        bench.teach(save(None))
    else {
        panic!()
    };
    assert_eq!(name, "wave");
    assert!(frames > 30 && note.unwrap().contains("stays in it"));
    assert!(bench.robot.calls(7109).is_empty());
    let Answer::Save { name, .. } = bench.teach(save(Some("greeting"))) else { panic!() };
    assert_eq!(name, "greeting");
    assert_eq!(bench.robot.calls(7109)[0].1, r#"{"pre_name":"wave","new_name":"greeting"}"#);
    assert_eq!(bench.session.state().recording_name.as_deref(), Some("greeting"));
    // And once more: it is known by its new name.
    bench.teach(save(Some("hello")));
    assert_eq!(bench.robot.taught.last().unwrap().0, "hello");
    let looped = RobotRequest::Save { name: None, looped: true };
    assert_eq!(bench.refusal(looped).0, Code::Unsupported);
}

#[test]
fn a_name_that_is_taken_is_not_recorded_over() {
    let mut bench = Bench::ready();
    assert_eq!(bench.refusal(record("touch me not")).0, Code::InvalidArgument);
    assert!(bench.robot.calls(7110).is_empty());
    assert_eq!(bench.refusal(RobotRequest::RecordStop).0, Code::NotReady);
}

#[test]
fn it_ends_sixty_seconds_after_its_client_has_gone() {
    let mut bench = Bench::ready();
    bench.teach(record("wave"));
    bench.run(100_000);
    assert!(bench.session.state().recording);
    bench.presence.end();
    bench.order(OrderKind::Released, 1);
    bench.run(59_500);
    assert!(bench.session.state().recording);
    bench.run(2000);
    assert!(!bench.session.state().recording);
    assert!(bench.robot.is_still());
    let ended = bench.events.iter().find_map(|event| match event {
        Event::Recording { on: false, by, .. } => Some(by.clone()),
        _ => None,
    });
    assert_eq!(ended.as_deref(), Some("its client has gone 60 s ago"));
}

#[test]
fn it_ends_so_even_if_its_client_did_not_hold_the_controls() {
    let mut bench = Bench::ready();
    bench.teach(record("wave"));
    bench.order(OrderKind::Taken, 2);
    bench.run(5000);
    assert!(bench.session.state().recording, "teaching goes on when the controls are taken");
    bench.presence.end();
    bench.order(OrderKind::Released, 2);
    bench.run(65_000);
    assert!(!bench.session.state().recording);
    assert!(bench.robot.is_still());
}

#[test]
fn the_apps_limit_is_told() {
    let mut bench = Bench::ready();
    bench.teach(record("wave"));
    bench.run(200_000);
    let long: Vec<_> =
        bench.events.iter().filter(|it| matches!(it, Event::RecordingLong { .. })).collect();
    assert_eq!(long, [&Event::RecordingLong { seconds: 180 }]);
}

#[test]
fn a_start_that_is_not_answered_is_ended() {
    let mut bench = Bench::ready();
    bench.robot.silent.insert(7110);
    bench.robot.ends_unkept = false;
    // The state shows it: it counts as begun.
    let answer = bench.teach(record("wave"));
    assert!(matches!(answer, Answer::RecordStart { .. }));
    bench.robot.silent.clear();
    bench.teach(RobotRequest::RecordStop);
    bench.run(5000);
    // The state does not show it either: whatever has become of it is ended.
    bench.robot.deaf.insert(7110);
    assert_eq!(bench.refusal(record("second")).0, Code::Unconfirmed);
    bench.robot.deaf.clear();
    let before = bench.robot.calls(7110).len();
    bench.run(1000);
    let calls = bench.robot.calls(7110);
    assert!(calls.len() > before && calls.last().unwrap().1.is_empty(), "{calls:?}");
}

#[test]
fn what_goes_on_after_a_cut_is_ended_when_the_robot_is_back() {
    let mut bench = Bench::ready();
    bench.robot.ends_unkept = false;
    bench.teach(record("wave"));
    bench.run(2000);
    bench.cut("the cable is out");
    assert!(!bench.session.state().recording);
    bench.run(4000);
    assert!(matches!(bench.robot.arms, Arms::Recording { .. }));
    bench.open();
    bench.run(1000);
    assert!(bench.robot.is_still());
    assert_eq!(bench.robot.taught.last().unwrap().0, "wave");
}

#[test]
fn a_recording_of_another_client_is_only_told() {
    let mut bench = Bench::ready();
    bench.robot.ends_unkept = false;
    bench.robot.arms = Arms::Recording { name: "phone".into(), since: bench.ms() };
    bench.run(3000);
    let told: Vec<_> =
        bench.events.iter().filter(|it| matches!(it, Event::ForeignRecording { .. })).collect();
    assert_eq!(told, [&Event::ForeignRecording { name: "phone".into() }]);
    assert!(bench.robot.calls(7110).is_empty());
    assert_eq!(bench.refusal(record("wave")).0, Code::NotReady);
    // A client may end it.
    bench.teach(RobotRequest::RecordStop);
    assert!(bench.robot.is_still());
}

#[test]
fn a_recording_that_the_robot_ends_is_over() {
    let mut bench = Bench::ready();
    bench.teach(record("wave"));
    bench.run(2000);
    bench.robot.end_recording(bench.ms());
    bench.run(500);
    assert!(!bench.session.state().recording);
    let before = bench.robot.calls(7110).len();
    bench.run(5000);
    assert_eq!(bench.robot.calls(7110).len(), before, "nothing is kept alive any more");
}

#[test]
fn the_daemons_end_ends_it() {
    let mut bench = Bench::ready();
    bench.robot.ends_unkept = false;
    bench.teach(record("wave"));
    bench.run(2000);
    bench.session.close(bench.now, &"the daemon's end".into());
    bench.settle();
    assert!(!bench.session.is_closed());
    bench.run(1000);
    assert!(bench.session.is_closed());
    assert!(bench.robot.is_still());
    assert_eq!(bench.events.last(), Some(&Event::Closed));
    assert_eq!(bench.session.poll_timeout(), None);
    assert_eq!(bench.refusal(RobotRequest::List).0, Code::NotReady);
}
