//! The documents' test plan over clean links: init, list, enter, record, stop, save, play, exit.

use sinew_robot::{
    Code,
    teach::{Answer, LinkState as Link, Playback, RobotRequest, Target},
};
use sinew_sim::g1::{Mode, Options};
use sinew_wire::teach::Layout;

use crate::harness::{LAYOUTS, Pair, ms};

pub(crate) fn save(name: &str) -> RobotRequest {
    RobotRequest::Save { name: Some(name.into()), looped: false }
}

pub(crate) fn play(action: Target) -> RobotRequest {
    RobotRequest::Play { action, how: Playback::default(), keyframes: None }
}

/// A pair with a recording that can be saved.
pub(crate) fn recorded(layout: Layout) -> Pair {
    let options = Options { needs_opening: true, ..Options::default() };
    let mut pair = Pair::clean(layout, options);
    pair.get(RobotRequest::Enter).unwrap();
    pair.get(RobotRequest::RecordStart { name: None }).unwrap();
    pair.run(ms(2000));
    pair.get(RobotRequest::RecordStop).unwrap();
    pair
}

#[test]
fn the_eight_steps() {
    for layout in LAYOUTS {
        let options = Options { needs_opening: true, ..Options::default() };
        let mut pair = Pair::clean(layout, options);
        pair.run(ms(500));
        assert_eq!(pair.host.state().link, Link::Ready);
        let none = Answer::List { actions: Vec::new(), unlisted: 0 };
        assert_eq!(pair.get(RobotRequest::List).unwrap(), none);
        let entered = pair.get(RobotRequest::Enter).unwrap();
        assert!(matches!(entered, Answer::Enter { pose_known: true, .. }), "{entered:?}");
        assert_eq!(pair.robot.mode(), Mode::Teaching);
        pair.get(RobotRequest::RecordStart { name: Some("wave".into()) }).unwrap();
        assert_eq!(pair.robot.mode(), Mode::Recording);
        pair.run(ms(6000));
        let stopped = pair.get(RobotRequest::RecordStop).unwrap();
        let Answer::RecordStop { frames, largest_gap_ms, .. } = stopped else { panic!() };
        assert!((298..=302).contains(&frames) && largest_gap_ms == 20, "{frames} frames");
        let saved = pair.get(RobotRequest::Save { name: None, looped: false }).unwrap();
        let Answer::Save { name, keyframes, .. } = saved else { panic!() };
        assert!(name == "wave" && (1..=20).contains(&keyframes));
        assert_eq!(pair.robot.actions().len(), 1);
        let before = pair.robot.joints();
        pair.get(play(Target::Name("wave".into()))).unwrap();
        assert_eq!(pair.robot.mode(), Mode::Playing);
        pair.run(ms(4000));
        assert_ne!(pair.robot.joints(), before, "the arms moved");
        pair.run(ms(12_000));
        assert_eq!(pair.host.state().playing, None);
        assert_eq!(pair.robot.mode(), Mode::Teaching, "soft again");
        assert_eq!(pair.get(RobotRequest::Exit).unwrap(), Answer::Exit { note: None });
        assert_eq!(pair.robot.mode(), Mode::Idle);
        assert_eq!(pair.rules.links, [Link::Ready]);
        let counters = pair.host.state().counters;
        assert_eq!((counters.retries, counters.stale, counters.unasked), (0, 0, 0));
    }
}

#[test]
fn teaching_is_kept_up_and_ends_by_itself() {
    for layout in LAYOUTS {
        let mut pair = Pair::clean(layout, Options::default());
        pair.get(RobotRequest::Enter).unwrap();
        pair.run(ms(299_000));
        assert_eq!(pair.robot.mode(), Mode::Teaching);
        pair.run(ms(1500));
        assert_eq!((pair.robot.mode(), pair.host.state().teaching), (Mode::Idle, false));
    }
}

#[test]
fn a_stop_overtakes_what_waits() {
    for layout in LAYOUTS {
        let mut pair = recorded(layout);
        pair.get(save("wave")).unwrap();
        pair.get(play(Target::Id(1))).unwrap();
        let waiting: Vec<_> = [RobotRequest::List, save("two"), RobotRequest::Enter]
            .map(|verb| pair.ask(verb))
            .into();
        pair.get(RobotRequest::Stop).unwrap();
        assert_eq!(pair.robot.mode(), Mode::Idle);
        for id in waiting {
            let refusal = pair.rules.outcome(id).unwrap().unwrap_err();
            assert!(matches!(refusal.code, Code::NotReady | Code::Unconfirmed), "{refusal}");
        }
        assert_eq!(pair.robot.actions().len(), 1);
        pair.rules.check_end(&pair.robot, &pair.disk);
    }
}

#[test]
fn closing_makes_the_arms_stiff_at_once() {
    for layout in LAYOUTS {
        let mut pair = recorded(layout);
        pair.host.close(pair.now);
        pair.rules.closing = true;
        pair.run(ms(10));
        assert_eq!((pair.robot.mode(), pair.host.state().link.clone()), (Mode::Idle, Link::Closed));
    }
}
