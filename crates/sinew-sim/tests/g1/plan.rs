//! The eight steps of document 000's test plan.

use sinew_sim::g1::{Mode, Motion};
use sinew_wire::teach::{Layout, Message, Sequence};

use crate::support::*;

/// Init, list, enter, record, stop, save, play, exit.
fn eight_steps(layout: Layout, first: u16) {
    let mut bench = Bench::new(Default::default());
    bench.layout = layout;
    bench.sequence = Sequence(first);
    for message in opening() {
        bench.done(&message);
    }
    assert_eq!(bench.list(), []);
    bench.enter();
    assert_eq!(bench.robot.mode(), Mode::Teaching);
    bench.done(&START);
    assert_eq!(bench.robot.mode(), Mode::Recording);
    bench.teach(ms(5000));
    bench.done(&STOP);
    assert_eq!(bench.robot.mode(), Mode::Teaching);
    bench.done(&save("my_wave", 1_674_988_800, &[]));
    assert_eq!(bench.stores, 1);
    assert_eq!(bench.list(), [("my_wave".to_owned(), 5000)]);

    let [action] = bench.robot.actions() else { panic!("one action") };
    let Motion::Poses(poses) = action.motion.clone() else { panic!("its own recording") };
    assert_eq!(poses.len(), 251, "50 a second, both ends");
    let lifted = |pose: &[f32; 12]| pose[6] < -0.5;
    assert!(poses.iter().any(lifted), "somebody waved");

    bench.done(&play(1));
    assert_eq!(bench.robot.mode(), Mode::Playing);
    let mut nearest = f32::MAX;
    let highest = poses.iter().map(|pose| pose[6]).fold(0.0, f32::min);
    while bench.robot.mode() == Mode::Playing {
        bench.teach(ms(20));
        nearest = nearest.min((bench.joint(6) - highest).abs());
    }
    assert!(nearest < 0.05, "the arm went where it had been led");
    assert_eq!(bench.robot.mode(), Mode::Teaching);
    bench.done(&EXIT);
    assert_eq!(bench.robot.mode(), Mode::Idle);
    let held = bench.robot.joints();
    bench.run(ms(3000));
    assert_eq!(bench.robot.joints(), held, "and holds its pose");

    for heard in &bench.heard {
        assert_eq!(heard.datagram().layout, layout);
    }
}

#[test]
fn the_test_plan_passes_in_the_documented_layout() {
    eight_steps(Layout::Documented, 0);
}

#[test]
fn the_test_plan_passes_in_the_compact_layout() {
    eight_steps(Layout::Compact, 0);
}

#[test]
fn the_test_plan_passes_across_the_wrap() {
    eight_steps(Layout::Documented, 65_530);
}

#[test]
fn answers_have_the_sizes_and_numbers_of_the_documents() {
    for (layout, answer, list) in [(Layout::Documented, 63, 239), (Layout::Compact, 57, 233)] {
        let mut bench = Bench::still();
        bench.layout = layout;
        bench.sequence = Sequence(65_533);
        for (command, message) in one_of_each() {
            let asked = bench.sequence;
            let before = bench.heard.len();
            bench.send(client(0), &message);
            let heard = &bench.heard[before];
            let datagram = heard.datagram();
            assert_eq!(datagram.command, command.code());
            assert_eq!(datagram.sequence, asked.next(), "{message:?}");
            assert_eq!(heard.to, client(0));
            let size = if matches!(message, Message::ListRequest { .. }) { list } else { answer };
            assert_eq!(heard.bytes.len(), size, "{message:?}");
        }
    }
}

#[test]
fn an_answer_comes_in_the_layout_of_its_question() {
    let mut bench = Bench::still();
    for layout in [LAYOUTS, LAYOUTS].concat() {
        bench.layout = layout;
        bench.list();
        assert_eq!(bench.heard.last().unwrap().datagram().layout, layout);
    }
}

#[test]
fn a_list_grows_with_its_actions() {
    for (layout, sizes) in [
        (Layout::Documented, [(0, 239), (6, 239), (7, 273), (15, 561)]),
        (Layout::Compact, [(0, 233), (5, 233), (6, 235), (15, 559)]),
    ] {
        for (count, size) in sizes {
            let name = |number: usize| format!("action_{number:02}");
            let actions = (0..count).map(|number| stored(&name(number), &[(15, 1234, 0.5)]));
            let mut bench = Bench::with(actions.collect());
            bench.layout = layout;
            let list = bench.list();
            assert_eq!(bench.heard.last().unwrap().bytes.len(), size);
            let wanted: Vec<_> = (0..count).map(|number| (name(number), 1234)).collect();
            assert_eq!(list, wanted);
        }
    }
}
