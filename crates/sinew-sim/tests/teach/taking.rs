//! Takeovers of the controls, and saves that the robot's disk refuses, over clean links.

use sinew_robot::{
    Code,
    teach::{Event, RobotRequest, Target},
};
use sinew_sim::g1::{Mode, Options};

use crate::{
    harness::{LAYOUTS, Pair, ms},
    plan::{play, recorded, save},
};

fn looped(name: &str) -> RobotRequest {
    RobotRequest::Save { name: Some(name.into()), looped: true }
}

#[test]
fn what_the_robot_plays_ends_and_teaching_does_not() {
    for layout in LAYOUTS {
        let mut pair = recorded(layout);
        pair.get(save("once")).unwrap();
        pair.get(looped("for ever")).unwrap();
        for (id, name) in [(1, "once"), (2, "for ever")] {
            pair.get(play(Target::Id(id))).unwrap();
            pair.run(ms(100));
            assert_eq!(pair.robot.mode(), Mode::Playing, "{name}");
            pair.take();
            pair.run(ms(20));
            assert_eq!(pair.robot.mode(), Mode::Teaching, "{name}");
            pair.run(ms(30_000));
            assert_eq!(pair.robot.mode(), Mode::Teaching, "{name}: kept up");
            assert!(pair.host.state().teaching && pair.host.state().playing.is_none());
            let ended = pair.rules.events.last().unwrap();
            assert!(
                matches!(ended, Event::PlayEnded { why, .. } if why == "newcomer took the controls"),
                "{ended:?}"
            );
        }
        pair.get(RobotRequest::RecordStart { name: None }).unwrap();
        assert_eq!(pair.robot.mode(), Mode::Recording);
        pair.take();
        pair.run(ms(500));
        assert_eq!(pair.robot.mode(), Mode::Recording, "nothing plays, so nothing is sent");
    }
}

#[test]
fn what_plays_while_nothing_is_taught_ends_and_stays_so() {
    for layout in LAYOUTS {
        let mut pair = recorded(layout);
        pair.get(looped("for ever")).unwrap();
        pair.get(RobotRequest::Exit).unwrap();
        pair.get(play(Target::Name("for ever".into()))).unwrap();
        pair.run(ms(100));
        pair.take();
        pair.run(ms(20));
        assert_eq!(pair.robot.mode(), Mode::Idle);
        pair.run(ms(30_000));
        assert_eq!((pair.robot.mode(), pair.host.state().teaching), (Mode::Idle, false));
    }
}

#[test]
fn a_save_that_the_disk_refuses_is_refused_and_can_be_made_again() {
    for layout in LAYOUTS {
        let mut pair = recorded(layout);
        pair.disk.full = true;
        let refusal = pair.get(save("wave")).unwrap_err();
        assert_eq!(refusal.code, Code::Refused);
        assert!(refusal.message.contains("12") && refusal.message.contains("disk"), "{refusal}");
        assert!(pair.robot.actions().is_empty());
        pair.restart(true);
        assert!(pair.robot.actions().is_empty());
        pair.run(ms(1000));
        let mut pair = recorded(layout);
        pair.disk.full = true;
        pair.get(save("wave")).unwrap_err();
        pair.disk.full = false;
        pair.get(save("wave")).unwrap();
        pair.restart(true);
        assert_eq!(pair.robot.actions()[0].name, "wave");
    }
}

/// The arms move, and can be stopped, while the disk takes its time.
#[test]
fn a_slow_disk_delays_a_save_and_nothing_else() {
    for layout in LAYOUTS {
        let mut pair = recorded(layout);
        pair.get(save("first")).unwrap();
        pair.disk.delay = ms(60_000);
        let refusal = pair.get(save("second")).unwrap_err();
        assert_eq!(refusal.code, Code::Unconfirmed, "neither yes nor no");
        pair.get(play(Target::Id(1))).unwrap();
        pair.run(ms(100));
        assert_eq!(pair.robot.mode(), Mode::Playing);
        pair.get(RobotRequest::Stop).unwrap();
        assert_eq!(pair.robot.mode(), Mode::Idle);
        assert_eq!(pair.robot.actions().len(), 1);
        pair.run(ms(60_000));
        assert_eq!(pair.robot.actions().len(), 2, "it was done in the end");
    }
    let mut pair = Pair::clean(LAYOUTS[0], Options::default());
    pair.disk.delay = ms(600);
    pair.get(RobotRequest::Enter).unwrap();
    pair.get(RobotRequest::RecordStart { name: None }).unwrap();
    pair.run(ms(500));
    pair.get(RobotRequest::RecordStop).unwrap();
    pair.get(save("patient")).unwrap();
    assert_eq!(pair.robot.actions().len(), 1, "repetitions are one save");
}
