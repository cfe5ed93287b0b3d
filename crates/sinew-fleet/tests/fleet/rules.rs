//! Each rule by itself.

use std::time::Duration;

use sinew_fleet::{Answered, Asker, Denied, Need, Remotes, Stamp, Way};
use sinew_robot::Code;

use crate::net::{MS, SECOND};

const DEADMAN: Need = Need::Velocity(Duration::from_millis(300));
/// What the client's clock shows more than the daemon's.
const AHEAD: u64 = 7 * SECOND;

#[test]
fn a_client_that_has_asked_twice_is_heard() {
    let (mut remotes, mut asker) = met();
    let go = stamp(&mut asker, 2 * SECOND);
    assert_eq!(remotes.ask(2 * SECOND + 20 * MS, &go, DEADMAN), Ok(Way::Own));
    let enable = stamp(&mut asker, 3 * SECOND);
    assert_eq!(remotes.ask(3 * SECOND + 20 * MS, &enable, Need::Client), Ok(Way::Own));
}

#[test]
fn a_velocity_older_than_the_deadman_moves_nothing() {
    let (mut remotes, mut asker) = met();
    let late = stamp(&mut asker, 2 * SECOND);
    let denied = denied(remotes.ask(2 * SECOND + 301 * MS, &late, DEADMAN));
    assert!(denied.known && denied.refusal.message.contains("300 ms"), "{denied:?}");
    let fresh = stamp(&mut asker, 2 * SECOND + 100 * MS);
    assert_eq!(remotes.ask(2 * SECOND + 302 * MS, &fresh, DEADMAN), Ok(Way::Own));
}

#[test]
fn a_wish_that_waited_is_as_old_as_it_is_and_not_as_its_stamp() {
    let (mut remotes, mut asker) = met();
    let waited = asker.stamp(2 * SECOND + AHEAD, Duration::from_millis(290));
    denied(remotes.ask(2 * SECOND + 20 * MS, &waited, DEADMAN));
    let waited = asker.stamp(3 * SECOND + AHEAD, Duration::from_millis(200));
    assert_eq!(remotes.ask(3 * SECOND + 20 * MS, &waited, DEADMAN), Ok(Way::Own));
}

#[test]
fn a_command_counts_for_two_seconds() {
    let (mut remotes, mut asker) = met();
    let (first, second) = (stamp(&mut asker, 2 * SECOND), stamp(&mut asker, 2 * SECOND));
    assert_eq!(remotes.ask(3 * SECOND + 900 * MS, &first, Need::Client), Ok(Way::Own));
    denied(remotes.ask(4 * SECOND + MS, &second, Need::Client));
}

#[test]
fn one_slow_answer_does_not_make_a_client_seem_old() {
    let (mut remotes, mut asker) = met();
    // It referred to an answer that took 280 ms; what was learnt before is closer.
    asker.answered(3 * SECOND + 280 * MS + AHEAD, &answered(3 * SECOND));
    let go = stamp(&mut asker, 3 * SECOND + 300 * MS);
    assert_eq!(remotes.ask(3 * SECOND + 350 * MS, &go, DEADMAN), Ok(Way::Own));
    // And the other way round: the first were slow, a later one is not.
    let mut remotes = Remotes::new("life");
    let mut asker = Asker::new("ann", "Ann", None);
    remotes.token_came("ann");
    for second in 1..4 {
        let now_us = second * SECOND;
        let _ = remotes.ask(now_us, &stamp(&mut asker, now_us), Need::Nothing);
        asker.answered(now_us + 280 * MS + AHEAD, &answered(now_us));
        let go = stamp(&mut asker, now_us + 300 * MS);
        denied(remotes.ask(now_us + 350 * MS, &go, DEADMAN));
    }
    ask_ping(&mut remotes, &mut asker, 5 * SECOND);
    let go = stamp(&mut asker, 5 * SECOND + 50 * MS);
    assert_eq!(remotes.ask(5 * SECOND + 100 * MS, &go, DEADMAN), Ok(Way::Own));
}

#[test]
fn a_client_that_paused_for_minutes_is_heard_at_once() {
    let (mut remotes, mut asker) = met();
    let go = stamp(&mut asker, 200 * SECOND);
    assert_eq!(remotes.ask(200 * SECOND + 50 * MS, &go, DEADMAN), Ok(Way::Own));
}

#[test]
fn a_message_of_unknown_age_is_not_carried_out() {
    let mut remotes = Remotes::new("life");
    remotes.token_came("ann");
    let stamp = Stamp { client: Some("ann".into()), to: Some("life".into()), ..Stamp::default() };
    let first = Stamp { seq: 1, ..stamp.clone() };
    assert!(denied(remotes.ask(SECOND, &first, DEADMAN)).known);
    let second = Stamp { seq: 2, ..stamp };
    assert!(denied(remotes.ask(SECOND, &second, Need::Client)).known);
}

#[test]
fn a_name_that_went_never_comes_back() {
    let (mut remotes, mut asker) = met();
    assert!(remotes.token_gone("ann"), "it had a connection");
    assert!(!remotes.token_gone("ann"), "and has it no more");
    remotes.token_came("ann");
    let enable = stamp(&mut asker, 2 * SECOND);
    assert!(!denied(remotes.ask(2 * SECOND, &enable, Need::Client)).known);
    // That it may stop does not depend on its name.
    assert_eq!(remotes.ask(2 * SECOND, &stamp(&mut asker, 2 * SECOND), Need::Nothing), SHARED);
}

#[test]
fn what_was_sent_under_a_name_that_went_has_no_effect_though_the_name_is_forgotten() {
    let (mut remotes, mut asker) = met();
    let (enable, stop) = (stamp(&mut asker, 2 * SECOND), stamp(&mut asker, 2 * SECOND));
    assert!(remotes.token_gone("ann"));
    for n in 0..5000 {
        remotes.token_gone(&format!("n{n}"));
    }
    remotes.token_came("ann");
    denied(remotes.ask(2 * SECOND + 50 * MS, &enable, Need::Client));
    assert_eq!(remotes.ask(2 * SECOND + 60 * MS, &stop, Need::Nothing), Ok(Way::Own));
}

#[test]
fn a_token_whose_end_is_told_before_its_begin_has_gone() {
    let mut remotes = Remotes::new("life");
    assert!(!remotes.token_gone("ann"));
    remotes.token_came("ann");
    let mut asker = Asker::new("ann", "Ann", None);
    ask_ping(&mut remotes, &mut asker, SECOND);
    let enable = stamp(&mut asker, 2 * SECOND);
    assert!(!denied(remotes.ask(2 * SECOND, &enable, Need::Client)).known);
}

#[test]
fn a_message_counts_once_and_not_after_a_newer_one() {
    let (mut remotes, mut asker) = met();
    let [first, second, third] = [0, 1, 2].map(|n| stamp(&mut asker, 2 * SECOND + n));
    assert_eq!(remotes.ask(2 * SECOND + 10, &second, DEADMAN), Ok(Way::Own));
    denied(remotes.ask(2 * SECOND + 20, &second, DEADMAN));
    denied(remotes.ask(2 * SECOND + 30, &first, Need::Client));
    assert_eq!(remotes.ask(2 * SECOND + 40, &third, DEADMAN), Ok(Way::Own));
}

#[test]
fn an_enable_does_not_undo_a_later_stop_that_overtook_it() {
    let (mut remotes, mut asker) = met();
    let (enable, stop) = (stamp(&mut asker, 2 * SECOND), stamp(&mut asker, 2 * SECOND + 1));
    assert_eq!(remotes.ask(2 * SECOND + 10, &stop, Need::Nothing), Ok(Way::Own));
    assert!(denied(remotes.ask(2 * SECOND + 20, &enable, Need::Client)).known);
}

#[test]
fn an_enable_does_not_undo_a_later_stop_that_overtook_even_the_token() {
    let mut remotes = Remotes::new("life");
    let mut asker = Asker::new("ann", "Ann", None);
    ask_ping(&mut remotes, &mut asker, SECOND);
    ask_ping(&mut remotes, &mut asker, SECOND + 50 * MS);
    assert!(!asker.is_in_step(), "it is not known without its token");
    let (enable, stop) = (stamp(&mut asker, 2 * SECOND), stamp(&mut asker, 2 * SECOND + 1));
    assert_eq!(remotes.ask(2 * SECOND + 10, &stop, Need::Nothing), SHARED);
    remotes.token_came("ann");
    assert!(denied(remotes.ask(2 * SECOND + 20, &enable, Need::Client)).known);
    // The answer to that is one that it can refer to.
    asker.answered(2 * SECOND + 30 + AHEAD, &answered(2 * SECOND + 20));
    let enable = stamp(&mut asker, 2 * SECOND + 40);
    assert_eq!(remotes.ask(2 * SECOND + 50, &enable, Need::Client), Ok(Way::Own));
}

#[test]
fn a_message_for_another_life_of_the_daemon_has_no_effect() {
    let (_, mut asker) = met();
    let mut remotes = Remotes::new("another life");
    remotes.token_came("ann");
    let enable = stamp(&mut asker, 2 * SECOND);
    let told = denied(remotes.ask(2 * SECOND, &enable, Need::Client));
    assert!(!told.known);
    assert_eq!(remotes.ask(2 * SECOND, &stamp(&mut asker, 2 * SECOND), Need::Nothing), SHARED);
    let answered =
        Answered { instance: "another life".into(), daemon_us: 5, known: true, in_step: true };
    asker.answered(2 * SECOND + AHEAD, &answered);
    assert!(asker.is_over(), "it learns so by any answer");
}

#[test]
fn the_clock_of_another_daemon_of_that_name_teaches_nothing() {
    let (mut remotes, mut asker) = met();
    // A stop for the other one, whose clock is ahead, came here as well.
    let (client, to) = (Some("ann".to_owned()), Some("another life".to_owned()));
    let (seq, sent_us) = (10, 2 * SECOND + AHEAD);
    let echo_us = Some(2 * SECOND + 200 * MS);
    let stop = Stamp { client, to, seq, sent_us, echo_us, ..Stamp::default() };
    assert_eq!(remotes.ask(2 * SECOND + 300 * MS, &stop, Need::Nothing), Ok(Way::Own));
    let go = Stamp { seq: 11, ..stamp(&mut asker, 3 * SECOND) };
    denied(remotes.ask(3 * SECOND + 400 * MS, &go, DEADMAN));
    // Nor does a client tell one daemon what it heard from the other.
    let before = stamp(&mut asker, 4 * SECOND);
    let answered = Answered {
        instance: "another life".into(),
        daemon_us: u64::MAX,
        known: true,
        in_step: true,
    };
    asker.answered(4 * SECOND + AHEAD, &answered);
    assert_eq!(stamp(&mut asker, 4 * SECOND).echo_us, before.echo_us);
}

#[test]
fn reading_and_stopping_need_neither_token_nor_stamp() {
    let mut remotes = Remotes::new("life");
    assert_eq!(remotes.ask(SECOND, &Stamp::default(), Need::Nothing), SHARED);
    assert!(denied(remotes.ask(SECOND, &Stamp::default(), Need::Client)).known);
}

#[test]
fn anyone_may_stop_when_all_places_are_taken() {
    let mut remotes = Remotes::new("life");
    let mut askers: Vec<Asker> = (0..300).map(|n| Asker::new(format!("n{n}"), "", None)).collect();
    for asker in &mut askers {
        remotes.token_came(asker.client());
        ask_ping(&mut remotes, asker, SECOND);
        let ping = stamp(asker, SECOND + 20 * MS);
        let way = remotes.ask(SECOND + 20 * MS, &ping, Need::Nothing);
        assert!(way.is_ok(), "{way:?}");
    }
    let last = askers.last_mut().expect("there are some");
    let enable = stamp(last, 2 * SECOND);
    assert_eq!(denied(remotes.ask(2 * SECOND, &enable, Need::Client)).refusal.code, Code::Busy);
    let stop = stamp(last, 2 * SECOND);
    assert_eq!(remotes.ask(2 * SECOND, &stop, Need::Nothing), SHARED);
}

const SHARED: Result<Way, Denied> = Ok(Way::Shared);

/// A daemon and a client that know each other, on a network without delay.
fn met() -> (Remotes, Asker) {
    let (mut remotes, mut asker) = (Remotes::new("life"), Asker::new("ann", "Ann", None));
    remotes.token_came("ann");
    ask_ping(&mut remotes, &mut asker, SECOND);
    ask_ping(&mut remotes, &mut asker, SECOND + 50 * MS);
    assert!(asker.is_in_step() && !asker.is_over());
    (remotes, asker)
}

#[test]
fn what_moves_by_itself_needs_a_client_that_is_heard() {
    let (mut remotes, mut asker) = met();
    let dock = Stamp { beats: false, ..stamp(&mut asker, 2 * SECOND) };
    // It said so with its pings.
    assert_eq!(remotes.ask(2 * SECOND + MS, &dock, Need::Lasting), Ok(Way::Own));
    assert_eq!(remotes.overdue(3 * SECOND), [""; 0]);
    let ping = stamp(&mut asker, 3 * SECOND);
    assert_eq!(remotes.ask(3 * SECOND + MS, &ping, Need::Nothing), Ok(Way::Own));
    assert_eq!(remotes.overdue(4 * SECOND + 900 * MS), [""; 0]);
    assert_eq!(remotes.overdue(5 * SECOND + 10 * MS), [asker.client()], "silent for over 2 s");
    let go = stamp(&mut asker, 5 * SECOND + 20 * MS);
    let denied = denied(remotes.ask(5 * SECOND + 21 * MS, &go, DEADMAN));
    assert!(!denied.known, "it has gone, though its token is there");
}

#[test]
fn a_message_that_was_held_up_does_not_say_that_its_client_is_there() {
    let (mut remotes, mut asker) = met();
    let ping = stamp(&mut asker, 2 * SECOND);
    assert_eq!(remotes.ask(9 * SECOND, &ping, Need::Nothing), Ok(Way::Own));
    assert_eq!(remotes.overdue(9 * SECOND), [asker.client()]);
}

#[test]
fn what_moves_by_itself_is_refused_to_a_client_that_does_not_say_it_is_heard() {
    let mut remotes = Remotes::new("life");
    remotes.token_came("quiet");
    let mut asker = Asker::new("quiet", "a program", None);
    for now_us in [SECOND, SECOND + 50 * MS] {
        let ping = Stamp { beats: false, ..stamp(&mut asker, now_us) };
        assert!(remotes.ask(now_us, &ping, Need::Nothing).is_ok());
        asker.answered(now_us + AHEAD, &answered(now_us));
    }
    let still = |stamp: Stamp| Stamp { beats: false, ..stamp };
    let dock = still(stamp(&mut asker, 2 * SECOND));
    assert!(
        denied(remotes.ask(2 * SECOND + MS, &dock, Need::Lasting))
            .refusal
            .message
            .contains("beats")
    );
    let enable = still(stamp(&mut asker, 2 * SECOND + 2 * MS));
    assert_eq!(remotes.ask(2 * SECOND + 3 * MS, &enable, Need::Client), Ok(Way::Own));
    assert_eq!(remotes.overdue(60 * SECOND), [""; 0], "only its token tells");
}

fn ask_ping(remotes: &mut Remotes, asker: &mut Asker, now_us: u64) {
    let ping = stamp(asker, now_us);
    let way = remotes.ask(now_us, &ping, Need::Nothing);
    assert!(way.is_ok(), "{way:?}");
    let in_step = remotes.is_in_step(asker.client());
    asker.answered(now_us + AHEAD, &Answered { in_step, ..answered(now_us) });
}

fn stamp(asker: &mut Asker, now_us: u64) -> Stamp {
    asker.stamp(now_us + AHEAD, Duration::ZERO)
}

fn answered(daemon_us: u64) -> Answered {
    Answered { instance: "life".into(), daemon_us, known: true, in_step: true }
}

fn denied(way: Result<Way, Denied>) -> Denied {
    way.expect_err("must not be carried out")
}
