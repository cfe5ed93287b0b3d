//! Names, numbers and a full store, over clean links.

use sinew_robot::{
    Code,
    teach::{Answer, RobotRequest, Target},
};
use sinew_sim::g1::{Mode, Options};
use sinew_wire::teach::Layout;

use crate::{
    harness::{LAYOUTS, Pair},
    plan::{play, recorded, save},
};

#[track_caller]
fn refused(pair: &mut Pair, verb: RobotRequest, code: Code) {
    let stored = pair.robot.actions().to_vec();
    let refusal = pair.get(verb.clone()).unwrap_err();
    assert_eq!(refusal.code, code, "{verb:?}: {refusal}");
    assert_eq!(pair.robot.actions(), stored, "{verb:?} changes nothing");
}

fn listed(pair: &mut Pair) -> Vec<(u32, String)> {
    let Answer::List { actions, unlisted } = pair.get(RobotRequest::List).unwrap() else {
        panic!()
    };
    assert_eq!(unlisted, 0);
    actions.into_iter().map(|action| (action.id, action.name)).collect()
}

#[test]
fn fifteen_are_listed_and_a_sixteenth_is_refused() {
    for layout in LAYOUTS {
        let mut pair = recorded(layout);
        let mut stored = Vec::new();
        for number in 1..=15 {
            let name = format!("{number:2} {}", "x".repeat(28));
            pair.get(save(&name)).unwrap();
            stored.push((number, name));
            assert_eq!(listed(&mut pair), stored);
        }
        let (_, list) = pair.taken_by_host.clone().unwrap();
        assert_eq!(list.len(), layout.overhead() + 2 + 15 * 36, "longer than 220");
        refused(&mut pair, save("one more"), Code::Refused);
        refused(&mut pair, save(&stored[3].1), Code::Refused);
        let asked = pair.get(play(Target::Name(stored[14].1.clone()))).unwrap();
        assert!(matches!(asked, Answer::Play { id: Some(15), .. }));
        assert_eq!(pair.robot.mode(), Mode::Playing);
        pair.restart(true);
        pair.run(std::time::Duration::from_secs(10));
        assert_eq!(listed(&mut pair), stored, "restarts keep the store");
    }
}

#[test]
fn names() {
    for layout in LAYOUTS {
        let mut pair = recorded(layout);
        let (longest, accents) = ("n".repeat(31), format!("{}n", "é".repeat(15)));
        let good = [longest.as_str(), &accents, "波 👋", " ", "x"];
        for name in good {
            pair.get(save(name)).unwrap();
            refused(&mut pair, save(name), Code::Refused);
        }
        let names: Vec<_> = listed(&mut pair).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, good);
        for name in good {
            assert!(pair.get(play(Target::Name(name.into()))).is_ok(), "{name:?}");
            pair.get(RobotRequest::Stop).unwrap();
        }
        let mut pair = recorded(layout);
        let (long, cut) = ("n".repeat(32), format!("{}é", "n".repeat(30)));
        for name in [
            long.as_str(),
            &cut,
            &"👋".repeat(8),
            "",
            "a\0b",
            "\0",
            "end\0",
            "\u{1}",
            "ab\u{202e}cd",
        ] {
            refused(&mut pair, save(name), Code::InvalidArgument);
            let start = RobotRequest::RecordStart { name: Some(name.into()) };
            refused(&mut pair, start, Code::InvalidArgument);
        }
        refused(&mut pair, RobotRequest::Save { name: None, looped: false }, Code::InvalidArgument);
        assert!(pair.robot.actions().is_empty());
    }
}

#[test]
fn numbers() {
    for layout in LAYOUTS {
        let mut pair = recorded(layout);
        pair.get(save("one")).unwrap();
        for id in [0, 16, u32::MAX] {
            let sent = pair.host.state().counters.sent;
            refused(&mut pair, play(Target::Id(id)), Code::InvalidArgument);
            assert_eq!(pair.host.state().counters.sent, sent, "{id} is not even asked for");
        }
        for id in [2, 15] {
            refused(&mut pair, play(Target::Id(id)), Code::Refused);
        }
        refused(&mut pair, play(Target::Name("never saved".into())), Code::NotFound);
        refused(&mut pair, play(Target::Name(String::new())), Code::NotFound);
        assert_eq!((pair.robot.mode(), &pair.host.state().playing), (Mode::Teaching, &None));
        pair.get(play(Target::Id(1))).unwrap();
    }
}

#[test]
fn what_cannot_be_saved_or_done() {
    let mut pair = Pair::clean(Layout::Documented, Options::default());
    refused(&mut pair, save("nothing"), Code::NotReady);
    refused(&mut pair, RobotRequest::RecordStart { name: None }, Code::NotReady);
    refused(&mut pair, RobotRequest::RecordStop, Code::NotReady);
    refused(&mut pair, RobotRequest::Delete { action: Target::Id(1) }, Code::Unsupported);
    let rename = RobotRequest::Rename { name: "a".into(), new_name: "b".into() };
    refused(&mut pair, rename, Code::Unsupported);
    pair.get(RobotRequest::Enter).unwrap();
    pair.get(RobotRequest::RecordStart { name: None }).unwrap();
    refused(&mut pair, save("it runs"), Code::NotReady);
    pair.get(RobotRequest::Exit).unwrap();
    refused(&mut pair, save("it is gone"), Code::NotReady);
}
