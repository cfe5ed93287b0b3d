//! Requests of the arms.

use std::sync::Arc;

use serde_json::json;
use sinew_robot::{
    Code, Session as _,
    teach::{ActionKind, Answer, Playback, RobotRequest, Target},
    trajectory::{Document, G1_ARMS, Interpolation, Plan, PlanOptions, Recording},
    unitree::{Event, FIRST_TAUGHT, Phase, Session},
};

use crate::{
    bench::{Bench, play, play_id},
    robot::Arms,
};

fn ids(bench: &mut Bench) -> Vec<(u32, String, ActionKind)> {
    let Answer::List { actions, unlisted: 0 } = bench.teach(RobotRequest::List) else { panic!() };
    actions.into_iter().map(|action| (action.id, action.name, action.kind)).collect()
}

#[test]
fn the_list_has_the_robots_numbers_and_stable_ones_for_what_it_was_taught() {
    let mut bench = Bench::ready();
    let preset = |id, name: &str| (id, name.to_owned(), ActionKind::Preset);
    let taught = |id, name: &str| (id, name.to_owned(), ActionKind::Taught);
    assert_eq!(
        ids(&mut bench),
        [
            preset(99, "release_arm"),
            preset(1, "turn_back_wave"),
            preset(17, "clamp"),
            taught(FIRST_TAUGHT, "Waist_Drum_Dance"),
            taught(FIRST_TAUGHT + 1, "touch me not"),
        ]
    );
    let (_, parameter) = bench.robot.calls(7107)[0].clone();
    assert_eq!(parameter, "");
    // What goes takes its number along.
    bench.robot.taught.remove(0);
    bench.robot.taught.push(("new".into(), 1.0));
    let after = ids(&mut bench);
    assert_eq!(after[3..], [taught(1002, "touch me not"), taught(1003, "new")]);
    let Answer::List { actions, .. } = bench.teach(RobotRequest::List) else { panic!() };
    assert_eq!(actions[3].duration_ms, Some(2000));
    assert_eq!(actions[0].duration_ms, None);
}

#[test]
fn a_taught_action_is_played_by_name_and_its_end_is_told() {
    let mut bench = Bench::ready();
    let answer = bench.teach(play("touch me not"));
    let Answer::Play { id, name, performed: None, note } = answer else { panic!("{answer:?}") };
    assert_eq!((id, name.as_deref()), (Some(1002), Some("touch me not")));
    assert!(note.contains("the robot's own"), "{note}");
    assert_eq!(bench.robot.calls(7108)[0].1, r#"{"action_name":"touch me not"}"#);
    bench.run(1000);
    let playing = bench.session.state().playing.clone().unwrap();
    assert_eq!((playing.id, playing.duration_ms), (Some(1002), Some(2000)));
    assert!(playing.observed);
    bench.run(3000);
    assert!(bench.session.state().playing.is_none());
    let ended = |event: &&Event| matches!(event, Event::PlayEnded { .. });
    let ended: Vec<_> = bench.events.iter().filter(ended).collect();
    assert_eq!(ended.len(), 1);
    assert_eq!(serde_json::to_value(ended[0]).unwrap()["whole"], true);
}

#[test]
fn a_preset_is_played_by_its_number_or_its_name() {
    let mut bench = Bench::ready();
    bench.teach(play_id(17));
    assert_eq!(bench.robot.calls(7106)[0].1, r#"{"data":17}"#);
    bench.run(10_000);
    bench.teach(play("clamp"));
    assert_eq!(bench.robot.plays, ["17", "17"]);
    assert!(bench.robot.calls(7108).is_empty());
}

#[test]
fn a_pose_that_is_held_does_not_play() {
    let mut bench = Bench::ready();
    bench.robot.publishes = false;
    let say = |bench: &mut Bench, holding: bool| {
        let state = format!(r#"{{\"holding\":{holding},\"id\":15,\"name\":\"both_hands_up\"}}"#);
        let topic = "rt/arm/action/state";
        let text = format!(r#"{{"type":"msg","topic":"{topic}","data":"{state}"}}"#);
        bench.robot.say(bench.ms(), text);
        bench.run(50);
    };
    say(&mut bench, false);
    assert!(bench.session.state().playing.is_some());
    say(&mut bench, true);
    assert!(bench.session.state().playing.is_none());
    assert_eq!(bench.session.state().arm.as_ref().unwrap().phase, Phase::Holding);
}

#[test]
fn what_is_not_there_is_not_played() {
    let mut bench = Bench::ready();
    let (code, message) = bench.refusal(play("nothing"));
    assert_eq!(code, Code::NotFound);
    assert_eq!(
        message,
        "no action is called \"nothing\"; the robot was taught: Waist_Drum_Dance, touch me not"
    );
    assert_eq!(bench.refusal(play_id(55)).0, Code::NotFound);
    assert!(bench.robot.plays.is_empty());
}

#[test]
fn a_play_is_sent_once_and_unconfirmed_when_nothing_shows() {
    let mut bench = Bench::ready();
    bench.robot.deaf.insert(7108);
    let (code, message) = bench.refusal(play("touch me not"));
    assert_eq!(code, Code::Unconfirmed);
    assert_eq!(message, "the robot did not answer play; it may or may not have done it");
    bench.run(10_000);
    assert_eq!(bench.robot.calls(7108).len(), 1);
}

#[test]
fn a_play_whose_answer_is_lost_is_confirmed_by_the_robots_state() {
    let mut bench = Bench::ready();
    bench.robot.silent.insert(7108);
    let answer = bench.teach(play("Waist_Drum_Dance"));
    assert!(matches!(answer, Answer::Play { id: Some(1001), .. }), "{answer:?}");
    assert_eq!(bench.robot.plays.len(), 1);
}

#[test]
fn a_play_is_not_confirmed_by_the_same_one_that_ran_before() {
    let mut bench = Bench::ready();
    bench.robot.arms =
        Arms::Playing { name: "touch me not".into(), id: 100, until: bench.ms() + 60_000 };
    bench.run(300);
    bench.robot.deaf.insert(7108);
    assert_eq!(bench.refusal(play("touch me not")).0, Code::Unconfirmed);
}

#[test]
fn a_list_is_asked_for_again() {
    let mut bench = Bench::ready();
    bench.robot.deaf.insert(7107);
    let id = bench.ask(RobotRequest::List);
    bench.run(1500);
    bench.robot.deaf.clear();
    bench.run(1000);
    assert!(bench.outcome(id).unwrap().is_ok());
    assert_eq!(bench.robot.calls(7107).len(), 3);
    bench.robot.deaf.insert(7107);
    assert_eq!(bench.refusal(RobotRequest::List).0, Code::Unconfirmed);
}

#[test]
fn answers_that_are_late_doubled_or_anothers_change_nothing() {
    let mut bench = Bench::ready();
    bench.robot.deaf.insert(7107);
    let id = bench.ask(RobotRequest::List);
    bench.run(100);
    let sent = bench.robot.messages("req")[0].1["data"]["header"]["identity"]["id"].as_i64();
    let sent = sent.unwrap();
    let answer = |id: i64, api: i64, service: &str| {
        format!(
            r#"{{"type":"res","topic":"rt/api/{service}/response","data":{{"header":{{"identity":{{"id":{id},"api_id":{api}}},"status":{{"code":0}}}},"data":"[[],[]]"}}}}"#
        )
    };
    for foreign in
        [answer(sent + 5, 7107, "arm"), answer(sent, 7108, "arm"), answer(sent, 7107, "sport")]
    {
        bench.robot.say(bench.ms(), foreign);
    }
    bench.run(50);
    assert!(bench.outcome(id).is_none());
    assert_eq!(bench.session.state().counters.unasked, 3);
    for _ in 0..3 {
        bench.robot.say(bench.ms(), answer(sent, 7107, "arm"));
    }
    bench.run(50);
    assert!(bench.outcome(id).unwrap().is_ok());
    assert_eq!(bench.session.state().counters.unasked, 5);
}

#[test]
fn refusals_say_why() {
    let mut bench = Bench::ready();
    bench.run(1000);
    let mut why = |code| {
        bench.robot.codes.insert(7106, code);
        bench.refusal(play_id(1))
    };
    assert_eq!(
        why(7400),
        (
            Code::Refused,
            "the robot refused play with 7400: the arms are occupied by another program; what was \
             asked of them last may be about to begin, which a stop ends, or another client has \
             them, as the phone's app"
                .into()
        )
    );
    assert!(why(7401).1.contains("let them return first"));
    assert_eq!(why(7402).0, Code::NotFound);
    let (code, message) = why(7404);
    assert_eq!(code, Code::Refused);
    for part in [
        "500, 501",
        "this action needs state 500 or 501",
        "fsm_mode 0 or 3",
        "it is in 4 (locked standing), fsm_mode 0",
        "Sinew changes no stance",
    ] {
        assert!(message.contains(part), "{message}");
    }
    assert!(why(3104).1.contains("did not answer in time"));
    assert!(why(1234).1.contains("1234, a number of its own"));
    // And no stance was changed to make it work.
    let calls = bench.robot.messages("req");
    assert!(calls.iter().all(|(_, it)| it["topic"] == "rt/api/arm/request"));
}

#[test]
fn what_needs_datagrams_is_unsupported_with_its_reason() {
    let mut bench = Bench::ready();
    let how = |how: Playback| RobotRequest::Play {
        action: Target::Name("touch me not".into()),
        how,
        keyframes: None,
    };
    let default = Playback::default();
    let other = [Interpolation::Linear, Interpolation::Cubic]
        .into_iter()
        .find(|it| *it != default.interpolation);
    let mut recording = Recording::new();
    recording.push(0, [0.0; 12]).unwrap();
    recording.push(1000, [0.1; 12]).unwrap();
    let document = Document { recording, ..Document::default() };
    let plan = Arc::new(Plan::new(&document, 0, PlanOptions::default(), &G1_ARMS).unwrap());
    for request in [
        how(Playback { looped: true, ..default }),
        how(Playback { speed: Some(2.0), ..default }),
        how(Playback { frames: 3, ..default }),
        how(Playback { duration_ms: 3, ..default }),
        how(Playback { interpolation: other.unwrap(), ..default }),
        RobotRequest::Perform { name: "x".into(), plan, looped: false },
    ] {
        let (code, message) = bench.refusal(request);
        assert_eq!(code, Code::Unsupported, "{message}");
        assert!(message.contains("needs the teaching datagrams"), "{message}");
    }
    assert!(bench.robot.messages("req").is_empty());
    let carries = Session::CARRIES;
    assert!(!carries.looped && !carries.speed && carries.keyframes == 0);
}

#[test]
fn enter_and_exit_send_nothing_and_say_so() {
    let mut bench = Bench::ready();
    let entered = serde_json::to_value(bench.teach(RobotRequest::Enter)).unwrap();
    let exited = serde_json::to_value(bench.teach(RobotRequest::Exit)).unwrap();
    assert_eq!(entered["op"], "enter");
    assert!(entered["note"].as_str().unwrap().starts_with("nothing was sent"));
    assert!(exited["note"].as_str().unwrap().starts_with("nothing was sent"));
    assert!(entered.get("idle_exit_ms").is_none());
    assert!(bench.robot.messages("req").is_empty());
}

#[test]
fn names_change_and_go() {
    let mut bench = Bench::ready();
    let rename = |name: &str, new_name: &str| RobotRequest::Rename {
        name: name.into(),
        new_name: new_name.into(),
    };
    let delete = |name: &str| RobotRequest::Delete { action: Target::Name(name.into()) };
    bench.teach(rename("touch me not", "shy"));
    assert_eq!(bench.robot.calls(7109)[0].1, r#"{"pre_name":"touch me not","new_name":"shy"}"#);
    assert_eq!(bench.refusal(rename("shy", "Waist_Drum_Dance")).0, Code::InvalidArgument);
    assert_eq!(bench.refusal(rename("gone", "x")).0, Code::NotFound);
    assert_eq!(bench.refusal(rename("clamp", "x")).0, Code::Unsupported);
    assert_eq!(bench.refusal(delete("clamp")).0, Code::Unsupported);
    bench.teach(delete("shy"));
    assert_eq!(bench.robot.calls(7112)[0].1, r#"{"action_name":"shy"}"#);
    assert_eq!(bench.robot.taught.len(), 1);
    bench.teach(RobotRequest::Delete { action: Target::Id(1001) });
    assert!(bench.robot.taught.is_empty());
}

#[test]
fn a_lost_answer_to_a_delete_is_made_up_for_by_the_list() {
    let mut bench = Bench::ready();
    bench.robot.silent.insert(7112);
    let delete = RobotRequest::Delete { action: Target::Name("touch me not".into()) };
    assert_eq!(bench.teach(delete), Answer::Delete { name: "touch me not".into() });
    bench.robot.deaf.insert(7112);
    let delete = RobotRequest::Delete { action: Target::Name("Waist_Drum_Dance".into()) };
    assert_eq!(bench.refusal(delete).0, Code::Unconfirmed);
    assert_eq!(bench.robot.calls(7112).len(), 2);
}

#[test]
fn a_cut_ends_what_was_asked() {
    let mut bench = Bench::ready();
    let first = bench.ask(play("touch me not"));
    let second = bench.ask(RobotRequest::List);
    bench.run(100);
    bench.cut("the cable is out");
    let refusal = bench.outcome(first).unwrap().unwrap_err();
    assert_eq!(refusal.code, Code::Unconfirmed);
    assert!(refusal.message.contains("the cable is out"), "{}", refusal.message);
    assert_eq!(bench.outcome(second).unwrap().unwrap_err().code, Code::LinkLost);
    bench.open();
    bench.run(20_000);
    assert_eq!(bench.robot.plays.len(), 1);
}

#[test]
fn requests_wait_for_each_other_but_not_without_end() {
    let mut bench = Bench::ready();
    let ids: Vec<_> = (0..40).map(|_| bench.ask(RobotRequest::List)).collect();
    let busy = ids.iter().filter(
        |id| matches!(bench.outcome(**id), Some(Err(refusal)) if refusal.code == Code::Busy),
    );
    assert_eq!(busy.count(), 7);
    bench.run(5000);
    assert!(ids.iter().all(|id| bench.outcome(*id).is_some()));
}

#[test]
fn events_are_json() {
    let mut bench = Bench::ready();
    bench.teach(play_id(17));
    bench.run(8000);
    let events: Vec<_> = bench
        .events
        .iter()
        .filter(|event| !matches!(event, Event::Joints { .. }))
        .map(|event| serde_json::to_value(event).unwrap())
        .collect();
    assert_eq!(
        json!(events),
        json!([
            {"event":"arm","holding":false,"id":17,"name":"clamp","phase":"playing"},
            {"event":"playing","id":17,"name":"clamp"},
            {"event":"arm","holding":false,"id":99,"name":"release_arm","phase":"returning"},
            {"event":"play_ended","id":17,"name":"clamp","whole":true,
             "why":"the robot's state says that it is over"},
            {"event":"arm","holding":false,"id":0,"name":"","phase":"idle"},
        ])
    );
}
