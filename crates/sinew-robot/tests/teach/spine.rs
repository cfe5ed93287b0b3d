//! The session as the pump runs it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use sinew_robot::{
    Code, Order, OrderKind, Origin, Output, Session as _,
    teach::{Answer, Event, LinkState as Link, RobotRequest, Session, Settings, Target},
};
use sinew_wire::teach::Datagram;

use crate::bench::{Bench, UNIX_TIME, play};
use crate::perform::perform;

fn order(kind: OrderKind) -> Order {
    Order { kind, epoch: 1, by: "newcomer".into(), client: Some(2) }
}

fn origin(now: Instant) -> Origin {
    Origin {
        by: "tester".into(),
        client: 1,
        robot: "g1".into(),
        epoch: 0,
        received: now,
        presence: Default::default(),
    }
}

fn session(now: Instant) -> Session {
    Session::new(Settings { unix_time: Some(UNIX_TIME), ..Settings::default() }, now)
}

/// All that comes, events as JSON, and the commands of the datagrams.
fn fetch(session: &mut Session) -> (Vec<serde_json::Value>, Vec<u8>) {
    let (mut events, mut codes, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(output) = session.poll_output_of(&mut bytes) {
        match output {
            Output::Transmit(()) => {
                codes.push(Datagram::new_checked(&bytes).unwrap().command);
                bytes.clear();
            }
            Output::Event(event) => events.push(serde_json::to_value(event).unwrap()),
            Output::Reply(..) | Output::Job(_) | Output::Reconnect(_) => {}
        }
    }
    (events, codes)
}

/// The trait's method, which has the name of another.
trait Fetch {
    fn poll_output_of(&mut self, bytes: &mut Vec<u8>) -> Option<Output<Session>>;
}

impl Fetch for Session {
    fn poll_output_of(&mut self, bytes: &mut Vec<u8>) -> Option<Output<Session>> {
        sinew_robot::Session::poll_output(self, true, bytes)
    }
}

#[test]
fn a_link_that_is_down_says_why() {
    let now = Instant::now();
    let mut session = session(now);
    fetch(&mut session);
    session.troubled(now, "Connection refused (os error 111)");
    session.troubled(now, "Connection refused (os error 111)");
    let wanted = json!({ "state": "connecting", "reason": "Connection refused (os error 111)" });
    assert_eq!(serde_json::to_value(&session.state().link).unwrap(), wanted);
    let (events, _) = fetch(&mut session);
    assert_eq!(
        events,
        [json!({ "event": "link", "link": wanted, "silent_ms": null })],
        "told once"
    );
    let id = session.request(now, RobotRequest::Enter, "tester");
    session.handle_timeout(now + Duration::from_secs(10));
    let mut bytes = Vec::new();
    let refusal = loop {
        match session.poll_output_of(&mut bytes).expect("it ends") {
            Output::Reply(done, outcome) if done == id => break outcome.unwrap_err(),
            _ => {}
        }
    };
    assert_eq!(refusal.code, Code::LinkLost);
    assert!(refusal.message.ends_with(": Connection refused (os error 111)"), "{refusal}");
    session.connected(now + Duration::from_secs(11));
    assert_eq!(
        serde_json::to_value(&session.state().link).unwrap(),
        json!({ "state": "connecting" })
    );
}

#[test]
fn a_link_that_closes_is_lost_at_once_and_trouble_shows_when_it_is() {
    let mut bench = Bench::pushing();
    bench.session.troubled(bench.now, "Network is unreachable (os error 101)");
    assert_eq!(bench.session.state().link, Link::Ready, "the robot may answer all the same");
    bench.run(100);
    bench.mute = true;
    bench.session.troubled(bench.now, "Connection refused (os error 111)");
    bench.run(2000);
    let Link::Lost { reason } = bench.session.state().link.clone() else { panic!() };
    assert_eq!(reason.as_deref(), Some("Connection refused (os error 111)"));

    let mut bench = Bench::pushing();
    bench.mute = true;
    bench.session.disconnected(bench.now, "No such device (os error 19)");
    bench.settle();
    let lost = Link::Lost { reason: Some("No such device (os error 19)".into()) };
    assert_eq!(bench.session.state().link, lost);
    assert!(bench.events.iter().any(|e| matches!(e, Event::Link { link, .. } if *link == lost)));
    // What is heard again is no longer in trouble.
    bench.mute = false;
    bench.run(100);
    assert_eq!(bench.session.state().link, Link::Ready);
    bench.mute = true;
    bench.run(2000);
    assert_eq!(bench.session.state().link, Link::Lost { reason: None });
}

#[test]
fn orders_are_carried_out_without_a_reply() {
    for kind in [OrderKind::Stop, OrderKind::Disable, OrderKind::Taken] {
        let mut bench = Bench::pushing();
        bench.get(play(Target::Id(1))).unwrap();
        bench.forget();
        bench.session.order(bench.now, &order(kind));
        bench.settle();
        assert_eq!(bench.codes(), [0x0E], "{kind:?}");
        assert_eq!(bench.replies, [], "{kind:?}");
    }
    for looped in [true, false] {
        let mut bench = Bench::pushing();
        bench.get(perform(looped)).unwrap();
        bench.forget();
        bench.session.order(bench.now, &order(OrderKind::Released));
        bench.settle();
        assert_eq!(bench.codes().contains(&0x0E), looped);
    }
}

#[test]
fn orders_overtake_what_they_end() {
    let save = crate::bench::save("a");
    let play = play(Target::Id(1));
    let cases = [
        (RobotRequest::List, [false, false, false, false]),
        (RobotRequest::Stop, [false, false, false, false]),
        (RobotRequest::Exit, [true, true, false, false]),
        (save, [true, true, false, false]),
        (RobotRequest::Enter, [true, true, true, false]),
        (play, [true, true, true, false]),
        (perform(false), [true, true, true, false]),
        (perform(true), [true, true, true, true]),
    ];
    for (request, wanted) in cases {
        let got = OrderKind::ALL.map(|kind| Session::is_overtaken(&request, kind));
        assert_eq!(got, wanted, "{request:?}");
    }
}

#[test]
fn without_room_nothing_is_sent_and_all_else_is_told() {
    let now = Instant::now();
    let mut session = session(now);
    let id = sinew_robot::Session::request(&mut session, now, RobotRequest::Stop, &origin(now));
    let mut bytes = vec![7];
    let mut told = 0;
    while let Some(output) = sinew_robot::Session::poll_output(&mut session, false, &mut bytes) {
        assert!(!matches!(output, Output::Transmit(())));
        told += 1;
    }
    assert_eq!((told, bytes.len()), (1, 1), "who stopped it");
    assert!(matches!(session.poll_output_of(&mut bytes), Some(Output::Transmit(()))));
    assert_eq!((bytes[0], Datagram::new_checked(&bytes[1..]).unwrap().command), (7, 0x0E));
    // It is repeated until it is given up.
    for tenths in 1..100 {
        session.handle_timeout(now + Duration::from_millis(100 * tenths));
        while let Some(output) = session.poll_output_of(&mut bytes) {
            if let Output::Reply(done, outcome) = output {
                assert_eq!((done, outcome.unwrap_err().code), (id, Code::LinkLost));
                return;
            }
        }
    }
    panic!("it never ends");
}

#[test]
fn a_save_is_reduced_as_a_job_and_replied_to() {
    let mut bench = Bench::pushing();
    bench.pose =
        |time_ms| std::array::from_fn(|slot| (time_ms * u32::from(slot == 3)) as f32 * 1e-4);
    bench.get(RobotRequest::Enter).unwrap();
    bench.get(RobotRequest::RecordStart { name: Some("wave".into()) }).unwrap();
    bench.run(1000);
    bench.get(RobotRequest::RecordStop).unwrap();
    let save = RobotRequest::Save { name: None, looped: false };
    let id = bench.session.request(bench.now, save, "tester");
    let mut bytes = Vec::new();
    let mut job = None;
    while let Some(output) = bench.session.poll_output_of(&mut bytes) {
        if let Output::Job(work) = output {
            job = Some(work);
        }
    }
    let done = job.expect("it takes a while").run();
    assert_eq!((done.0, done.1.as_ref().unwrap().keyframes.len() <= 20), (id, true));
    bench.session.handle_done(bench.now, done);
    bench.settle();
    let Some(Ok(Answer::Save { name, keyframes, .. })) = bench.outcome(id) else { panic!() };
    assert_eq!((name.as_str(), keyframes > 0), ("wave", true));
}

/// The pump shows the state after every turn, and must not allocate for it.
#[test]
fn copies_of_the_state_share_their_texts() {
    let mut bench = Bench::pushing();
    bench.get(RobotRequest::Enter).unwrap();
    bench.get(RobotRequest::RecordStart { name: Some("wave".into()) }).unwrap();
    bench.get(play(Target::Name("drum".into()))).unwrap();
    let state = bench.session.state();
    let copy = state.clone();
    let texts = |state: &sinew_robot::teach::State| {
        let playing = state.playing.clone().and_then(|playing| playing.name);
        [state.recording_name.clone(), playing].map(Option::unwrap)
    };
    for (text, copied) in texts(state).into_iter().zip(texts(&copy)) {
        assert!(Arc::ptr_eq(&text, &copied), "{text}");
    }
}

#[test]
fn it_is_closed_when_the_robot_has_let_go() {
    let mut bench = Bench::pushing();
    bench.get(RobotRequest::Enter).unwrap();
    bench.statuses.insert(0x0E, None);
    sinew_robot::Session::close(&mut bench.session, bench.now, &"daemon".into());
    bench.run(50);
    assert!(!bench.session.is_closed());
    bench.statuses.clear();
    bench.run(500);
    assert!(bench.session.is_closed());
}
