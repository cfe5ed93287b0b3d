//! Motions that the robot does not have, played in pieces.

use std::sync::Arc;

use sinew_robot::{
    teach::{Answer, Event, RobotRequest, Target},
    trajectory::{Document, G1_ARMS, Plan, PlanOptions, Recording},
};
use sinew_sim::g1::{Mode, Options};
use sinew_wire::teach::Layout;

use crate::{
    harness::{LAYOUTS, Pair, ms},
    plan::{play, recorded, save},
};

/// Ten seconds of waving with six joints, too rich for twenty keyframes.
fn waving() -> Recording {
    let mut recording = Recording::new();
    for index in 0..=500_u16 {
        let time = f32::from(index) / 50.0;
        let mut pose = [0.1; 12];
        for (slot, value) in pose.iter_mut().enumerate().take(6) {
            *value = 0.4 * (time * (1.0 + 0.2 * slot as f32)).sin() + 0.2;
        }
        recording.push(u32::from(index) * 20, pose).unwrap();
    }
    recording
}

fn perform(looped: bool) -> RobotRequest {
    let document = Document { recording: waving(), ..Document::default() };
    let plan = Plan::new(&document, 0, PlanOptions::default(), &G1_ARMS).unwrap();
    RobotRequest::Perform { name: "waving".into(), plan: Arc::new(plan), looped }
}

fn opened(layout: Layout) -> Pair {
    let mut pair = Pair::clean(layout, Options::default());
    pair.run(ms(500));
    pair
}

#[test]
fn the_robot_does_what_was_recorded() {
    for layout in LAYOUTS {
        let mut pair = opened(layout);
        let Answer::Play { performed: Some(performed), .. } = pair.get(perform(false)).unwrap()
        else {
            panic!()
        };
        assert!(performed.pieces > 2 && performed.error_rad < 0.1, "{performed:?}");
        let end = waving().frames().last().unwrap().positions;
        let (mut highest, mut last) = ([f32::MIN; 12], ms(0));
        while pair.host.state().playing.is_some() {
            pair.run(ms(10));
            for (highest, value) in highest.iter_mut().zip(pair.robot.joints()) {
                *highest = highest.max(value);
            }
            last += ms(10);
            assert!(last < ms(20_000), "it takes for ever");
        }
        // Beside the motion, the way in and the moments between pieces.
        assert!(last > ms(10_000), "{last:?}");
        for (slot, (is, end)) in pair.robot.joints().iter().zip(end).enumerate() {
            assert!(
                (is - end).abs() <= performed.error_rad + 0.005,
                "joint {slot}: {is} not {end}"
            );
        }
        for highest in &highest[..6] {
            assert!((highest - 0.6).abs() <= performed.error_rad + 0.01, "{highest}");
        }
        assert_eq!(pair.robot.mode(), Mode::Idle);
        assert!(pair.robot.actions().is_empty(), "nothing was stored for it");
    }
}

#[test]
fn a_stop_ends_it_where_it_is() {
    let mut pair = opened(Layout::Documented);
    pair.get(perform(true)).unwrap();
    pair.run(ms(14_000));
    assert!(pair.host.state().playing.is_some(), "it repeats");
    pair.get(RobotRequest::Stop).unwrap();
    let held = pair.robot.joints();
    pair.run(ms(5000));
    assert_eq!((pair.robot.mode(), pair.robot.joints()), (Mode::Idle, held));
    assert_eq!(pair.host.state().playing, None);
}

#[test]
fn stored_actions_that_repeat_lend_pieces_only_their_number() {
    let mut pair = recorded(Layout::Documented);
    let looped = RobotRequest::Save { name: Some("a".into()), looped: true };
    pair.get(looped).unwrap();
    pair.get(save("b")).unwrap();
    pair.get(RobotRequest::Exit).unwrap();
    pair.get(perform(false)).unwrap();
    pair.run(ms(20_000));
    assert_eq!((pair.robot.mode(), pair.host.state().playing.is_none()), (Mode::Idle, true));
    pair.get(play(Target::Name("b".into()))).unwrap();
    assert_eq!(pair.robot.mode(), Mode::Playing);
}

#[test]
fn its_end_is_told_once() {
    let mut pair = opened(Layout::Compact);
    pair.get(perform(false)).unwrap();
    pair.run(ms(20_000));
    let ended: Vec<_> =
        pair.rules.events.iter().filter(|e| matches!(e, Event::PlayEnded { .. })).collect();
    let [Event::PlayEnded { id: None, name: Some(name), whole: true, why }] = ended[..] else {
        panic!("{ended:?}")
    };
    assert_eq!((&**name, why.as_str()), ("waving", "all of it was played"));
}
