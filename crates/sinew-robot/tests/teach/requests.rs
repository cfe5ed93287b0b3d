use serde_json::{Value, json};
use sinew_robot::{
    Code,
    teach::{
        ActionKind as Kind, Answer, Event, Playback, Request, RobotRequest, Settings, Target, parse,
    },
    trajectory::{self, Interpolation},
};
use sinew_wire::teach::{Keyframe, Message};

use crate::bench::{Bench, play, save};

#[test]
fn a_list_numbers_the_actions_by_place() {
    let mut bench = Bench::ready();
    let Answer::List { actions, unlisted } = bench.get(RobotRequest::List).unwrap() else {
        panic!()
    };
    assert_eq!(unlisted, 0);
    let rows: Vec<_> = actions.iter().map(|action| (action.id, action.name.as_str())).collect();
    assert_eq!(rows, [(1, "wave"), (2, "drum")]);
    assert!(actions.iter().all(|a| a.kind == Kind::Taught && a.duration_ms.is_none()));
    let json = serde_json::to_value(Answer::List { actions, unlisted }).unwrap();
    let first = json!({"id": 1, "name": "wave", "kind": "taught", "duration_ms": null});
    assert_eq!(json["actions"][0], first);
}

#[test]
fn fifteen_actions_are_listed_and_no_more() {
    let mut bench = Bench::ready();
    bench.list = (0..17).map(|number| format!("action {number}")).collect();
    let Answer::List { actions, unlisted } = bench.get(RobotRequest::List).unwrap() else {
        panic!()
    };
    assert_eq!((actions.len(), unlisted), (15, 2));
}

#[test]
fn an_empty_list_may_come_as_a_plain_answer() {
    let mut bench = Bench::ready();
    bench.list.clear();
    let Answer::List { actions, .. } = bench.get(RobotRequest::List).unwrap() else { panic!() };
    assert!(actions.is_empty());
}

#[test]
fn unanswered_requests_are_repeated_with_new_numbers_and_end_unconfirmed() {
    let mut bench = Bench::ready();
    bench.statuses.insert(0x1A, None);
    let refusal = bench.get(RobotRequest::List).unwrap_err();
    assert_eq!(refusal.code, Code::Unconfirmed);
    let tries = bench.sent_as(0x1A);
    let times: Vec<_> = tries.iter().map(|sent| sent.at_ms - tries[0].at_ms).collect();
    assert_eq!(times, [0, 400, 800]);
    let numbers: Vec<_> = tries.iter().map(|sent| sent.datagram().sequence.0).collect();
    assert_eq!(numbers, [numbers[0], numbers[0] + 1, numbers[0] + 2]);
    assert!(tries.iter().all(|sent| sent.datagram().payload == tries[0].datagram().payload));
}

#[test]
fn a_late_answer_to_an_earlier_try_counts() {
    let mut bench = Bench::ready();
    bench.statuses.insert(0x41, None);
    let id = bench.ask(play(Target::Id(2)));
    bench.run(500);
    let first = bench.sent_as(0x41)[0].clone();
    bench.statuses.clear();
    let answer = Message::Answer { command: 0x41.into(), status: 0, rest: &[] };
    let datagram = first.datagram();
    let bytes = answer.to_vec(datagram.layout, datagram.sequence.next()).unwrap();
    bench.input(&bytes);
    assert!(bench.outcome(id).unwrap().is_ok());
}

#[test]
fn an_answer_to_an_earlier_request_does_not_confirm_a_later_one() {
    let mut bench = Bench::ready();
    bench.get(play(Target::Id(1))).unwrap();
    let first = bench.sent_as(0x41)[0].clone();
    bench.get(RobotRequest::List).unwrap();
    bench.statuses.insert(0x41, None);
    let id = bench.ask(play(Target::Id(2)));
    let answer = Message::Answer { command: 0x41.into(), status: 0, rest: &[] };
    let datagram = first.datagram();
    bench.input(&answer.to_vec(datagram.layout, datagram.sequence.next()).unwrap());
    assert_eq!(bench.outcome(id), None);
    assert_eq!(bench.session.state().counters.stale, 1);
}

#[test]
fn a_refusal_gives_the_robots_number() {
    let mut bench = Bench::ready();
    bench.statuses.insert(0x41, Some(77));
    let refusal = bench.get(play(Target::Id(1))).unwrap_err();
    assert_eq!(refusal.code, Code::Refused);
    assert!(refusal.message.contains("77"), "{refusal}");
    assert_eq!(bench.session.state().playing, None);
}

#[test]
fn play_by_name_asks_for_the_list_first() {
    let mut bench = Bench::ready();
    let answer = bench.get(play(Target::Name("drum".into()))).unwrap();
    let Answer::Play { id, name, note, .. } = answer else { panic!() };
    assert_eq!((id, name.as_deref()), (Some(2), Some("drum")));
    assert!(note.contains("robot's own"), "{note}");
    assert_eq!(bench.codes(), [0x1A, 0x41]);
    assert!(bench.events.contains(&Event::Playing { id: Some(2), name: Some("drum".into()) }));
}

#[test]
fn play_of_a_name_that_is_not_stored_is_not_found() {
    let mut bench = Bench::ready();
    let refusal = bench.get(play(Target::Name("kick".into()))).unwrap_err();
    assert_eq!(refusal.code, Code::NotFound);
    assert!(refusal.message.contains("wave, drum"), "{refusal}");
    assert_eq!(bench.codes(), [0x1A]);
}

#[test]
fn a_play_carries_everything_it_was_given() {
    let mut bench = Bench::ready();
    let (joint, time_ms, value) = (3, 500, 0.5);
    let keyframe = trajectory::Keyframe { joint, time_ms, value };
    let verb = RobotRequest::Play {
        action: Target::Id(15),
        how: Playback {
            frames: 20,
            duration_ms: 4000,
            interpolation: Interpolation::Smooth,
            ..Playback::default()
        },
        keyframes: Some(vec![keyframe]),
    };
    bench.get(verb).unwrap();
    let sent = bench.sent_as(0x41)[0].clone();
    let Message::Play(play) = sent.message() else { panic!() };
    assert_eq!((play.action_id, play.frame_count, play.duration_ms), (15, 20, 4000));
    assert_eq!(u32::from(play.interpolation), 2);
    assert_eq!(play.keyframes.iter().collect::<Vec<_>>(), [Keyframe { joint, time_ms, value }]);
    // Without status the given time is all that tells when it is over.
    assert!(bench.session.state().playing.is_some());
    bench.run(4100);
    assert_eq!(bench.session.state().playing, None);
}

#[test]
fn what_the_datagrams_cannot_do_is_unsupported_and_says_why() {
    let mut bench = Bench::ready();
    let rename = RobotRequest::Rename { name: "a".into(), new_name: "b".into() };
    let delete = RobotRequest::Delete { action: Target::Id(1) };
    for (verb, word) in [(rename, "rename"), (delete, "delete")] {
        let refusal = bench.get(verb).unwrap_err();
        assert_eq!(refusal.code, Code::Unsupported);
        assert!(refusal.message.contains(word) && refusal.message.contains("datagrams"));
    }
    let parsed = |value: Value| match parse(value.as_object().unwrap()).unwrap() {
        Request::Robot(request) => request,
        other => panic!("{other:?} is not the robot's"),
    };
    for unsupported in [
        json!({ "op": "play", "id": 1, "loop": true }),
        json!({ "op": "play", "id": 1, "speed": 2 }),
    ] {
        assert_eq!(bench.code(parsed(unsupported)), Code::Unsupported);
    }
    assert!(bench.sent.is_empty());
}

#[test]
fn names_and_numbers_out_of_range_are_refused_before_sending() {
    let mut bench = Bench::ready();
    for id in [0, 16, u32::MAX] {
        assert_eq!(bench.code(play(Target::Id(id))), Code::InvalidArgument);
    }
    let long = "x".repeat(32);
    for name in ["", "a\0b", long.as_str(), "ééééééééééééééééé"] {
        assert_eq!(bench.code(save(name)), Code::InvalidArgument, "{name:?}");
        let start = RobotRequest::RecordStart { name: Some(name.into()) };
        assert_eq!(bench.code(start), Code::InvalidArgument, "{name:?}");
    }
    assert!(bench.sent.is_empty());
}

#[test]
fn requests_are_carried_out_one_after_the_other() {
    let mut bench = Bench::ready();
    bench.statuses.insert(0x1A, None);
    let list = bench.session.request(bench.now, RobotRequest::List, "tester");
    let enter = bench.session.request(bench.now, RobotRequest::Enter, "tester");
    bench.settle();
    assert_eq!(bench.codes(), [0x1A]);
    bench.run(1300);
    assert!(bench.outcome(list).unwrap().is_err());
    assert!(bench.outcome(enter).unwrap().is_ok());
}

#[test]
fn too_many_requests_are_busy() {
    let mut bench = Bench::ready();
    bench.statuses.insert(0x1A, None);
    let ids: Vec<_> = (0..40).map(|_| bench.ask(RobotRequest::List)).collect();
    let busy = |id: &&u64| {
        bench.outcome(**id).is_some_and(|outcome| outcome.unwrap_err().code == Code::Busy)
    };
    assert_eq!(ids.iter().filter(busy).count(), 7);
}

#[test]
fn numbers_wrap_and_so_do_those_of_the_robot() {
    let settings = Settings { retry: std::time::Duration::from_millis(1), ..Settings::default() };
    let mut bench = Bench::with(settings).opened();
    // The robot answers with the request's number + 1, so both sides wrap.
    for _ in 0..66_000 {
        bench.forget();
        bench.get(RobotRequest::List).unwrap();
    }
    let counters = bench.session.state().counters;
    assert!(counters.sent > 66_000);
    assert_eq!((counters.stale, counters.retries), (0, 0));
}
