//! Numbers that come round: 65,535 is followed by 0, and what follows is not old.

use sinew_robot::teach::{Answer, LinkState as Link, RobotRequest};
use sinew_sim::g1::{Mode, Options};

use crate::harness::{LAYOUTS, Pair, ms};

#[test]
fn status_goes_on() {
    for layout in LAYOUTS {
        let mut pair = Pair::clean(layout, Options { status_hz: 500, ..Options::default() });
        pair.get(RobotRequest::Enter).unwrap();
        pair.run(ms(140_000));
        let counters = pair.host.state().counters;
        assert!(counters.status > 66_000, "{counters:?}");
        assert_eq!((counters.stale, pair.rules.links.as_slice()), (0, &[Link::Ready][..]));
        assert_eq!(pair.robot.mode(), Mode::Teaching);
    }
}

#[test]
fn requests_and_answers_go_on() {
    let mut pair = Pair::clean(LAYOUTS[0], Options { status_hz: 1, ..Options::default() });
    for number in 0..65_700 {
        let answer = pair.get(RobotRequest::List);
        assert!(matches!(answer, Ok(Answer::List { .. })), "{number}: {answer:?}");
    }
    let counters = pair.host.state().counters;
    assert!(counters.sent > 65_700 && counters.stale == 0 && counters.retries == 0);
    let counters = pair.robot.counters();
    assert_eq!((counters.old, counters.duplicates), (0, 0));
}
