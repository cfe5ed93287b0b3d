//! Answers that come when something else is being asked, and other matters of time.

use sinew_robot::{
    Code,
    teach::{LinkState as Link, RobotRequest, Settings},
};
use sinew_sim::g1::{Mode, Options, TEACHING_TIMEOUT};

use crate::{
    harness::{LAYOUTS, Pair, Setup, ms},
    plan::save,
};

/// A pair whose robot pushes so little that a pause does not cost the link.
fn quiet(layout: sinew_wire::teach::Layout) -> Pair {
    let mut pair = Pair::clean(layout, Options { status_hz: 1, ..Options::default() });
    pair.get(RobotRequest::Enter).unwrap();
    pair
}

#[test]
fn a_late_answer_to_one_save_is_not_the_next_saves() {
    for layout in LAYOUTS {
        let mut pair = quiet(layout);
        pair.get(RobotRequest::RecordStart { name: None }).unwrap();
        pair.run(ms(2500));
        pair.get(RobotRequest::RecordStop).unwrap();
        let [one, two] = [save("one"), save("two")].map(|verb| pair.ask(verb));
        pair.down.stall(pair.now + ms(450));
        // Sent twice by now, and answered twice.
        pair.run(ms(440));
        pair.up.cut();
        pair.run(ms(2000));
        assert!(pair.rules.outcome(one).unwrap().is_ok());
        let refusal = pair.rules.outcome(two).unwrap().unwrap_err();
        assert_eq!((refusal.code, pair.robot.actions().len()), (Code::Unconfirmed, 1));
    }
}

#[test]
fn a_late_answer_to_one_stop_is_not_the_next_stops() {
    for layout in LAYOUTS {
        let mut pair = quiet(layout);
        pair.down.stall(pair.now + ms(1000));
        assert_eq!(pair.get(RobotRequest::Stop).unwrap_err().code, Code::Unconfirmed);
        assert_eq!(pair.robot.mode(), Mode::Idle);
        pair.ask(RobotRequest::Enter);
        pair.run(ms(10));
        assert_eq!(pair.robot.mode(), Mode::Teaching);
        pair.up.cut();
        assert_eq!(pair.get(RobotRequest::Stop).unwrap_err().code, Code::Unconfirmed);
        assert_eq!(pair.robot.mode(), Mode::Teaching);
        pair.run(TEACHING_TIMEOUT);
        assert_eq!(pair.robot.mode(), Mode::Idle);
    }
}

#[test]
fn closing_in_the_middle_of_a_cycle_closes() {
    for layout in LAYOUTS {
        for at in 4695..4715 {
            let mut pair = Pair::clean(layout, Options::default());
            pair.get(RobotRequest::Enter).unwrap();
            let end = pair.start + ms(at);
            pair.run(end - pair.now);
            pair.host.close(pair.now);
            pair.rules.closing = true;
            pair.run(ms(10));
            assert_eq!(pair.host.state().link, Link::Closed, "closed after {at} ms");
            assert!(pair.rules.closed && pair.robot.mode() == Mode::Idle);
        }
    }
}

#[test]
fn idle_teaching_ends_when_nothing_is_waited_for_any_more() {
    let settings = Settings { idle_exit: ms(2000), ..Settings::default() };
    let mut pair = Pair::new(Setup { settings, ..Setup::default() });
    pair.get(RobotRequest::Enter).unwrap();
    let idle = pair.now + ms(2000);
    pair.run(ms(1500));
    pair.down.cut();
    // A list does not count, but is waited for; `Pair::step` asserts that it is not over and over.
    let list = pair.ask(RobotRequest::List);
    pair.run(ms(1400));
    assert!(pair.now > idle && pair.rules.outcome(list).is_some());
    assert_eq!(pair.robot.mode(), Mode::Idle);
}

#[test]
fn an_enter_is_not_sent_again_after_an_exit() {
    for layout in LAYOUTS {
        let mut pair = Pair::clean(layout, Options::default());
        pair.run(ms(500));
        pair.down.cut();
        let enter = pair.ask(RobotRequest::Enter);
        pair.run(ms(1100));
        assert_eq!(
            (pair.host.state().link.clone(), pair.robot.mode()),
            (Link::Lost { reason: None }, Mode::Teaching)
        );
        let exit = pair.ask(RobotRequest::Exit);
        pair.run(ms(200));
        pair.restore();
        pair.run(ms(1500));
        assert_eq!((pair.robot.mode(), pair.host.state().teaching), (Mode::Idle, false));
        assert!(pair.rules.outcome(exit).unwrap().is_ok());
        let refusal = pair.rules.outcome(enter).unwrap().unwrap_err();
        assert_eq!(refusal.code, Code::Unconfirmed);
    }
}
