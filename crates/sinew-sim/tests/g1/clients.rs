//! Who is heard, who is told, and for how long.

use sinew_sim::g1::{Code, MAX_CLIENTS, Mode, Options, status_flag};
use sinew_wire::teach::{Layout, Message, Sequence, Status};

use crate::support::*;

fn status(heard: &Heard) -> Status<'_> {
    match heard.message() {
        Message::Status(status) => status,
        other => panic!("no status: {other:?}"),
    }
}

#[test]
fn status_comes_fifty_times_a_second_to_those_who_subscribed() {
    for (layout, size) in [(Layout::Documented, 131), (Layout::Compact, 125)] {
        let mut bench = Bench::still();
        bench.layout = layout;
        bench.open(client(0));
        bench.send(client(1), &LIST);
        bench.run(ms(1000));
        let statuses = bench.statuses(client(0));
        assert_eq!(statuses.len(), 51);
        assert!(bench.statuses(client(1)).is_empty());
        for (number, heard) in statuses.into_iter().enumerate() {
            assert_eq!(heard.bytes.len(), size);
            assert_eq!(heard.at, bench.start + ms(20) * number as u32);
            assert_eq!(heard.datagram().sequence, Sequence(number as u16));
            assert_eq!(status(heard).time_ms, 20 * number as u32);
        }
    }
}

#[test]
fn the_rate_can_be_chosen() {
    for (hz, count) in [(0, 2), (1, 2), (200, 201), (10_000, 501)] {
        let mut bench = Bench::new(Options { status_hz: hz, ..Options::default() });
        bench.open(client(0));
        bench.run(ms(1000));
        assert_eq!(bench.statuses(client(0)).len(), count, "{hz} Hz");
    }
}

#[test]
fn the_acknowledgement_comes_before_the_first_status() {
    let mut bench = Bench::still();
    bench.send(client(0), &SUBSCRIBE);
    assert_eq!(bench.heard[0].code(), Some(Code::Success));
    assert_eq!(status(&bench.heard[1]).time_ms, 0);
}

#[test]
fn status_stops_ten_seconds_after_the_client_fell_silent() {
    let mut bench = Bench::still();
    bench.open(client(0));
    for _ in 0..5 {
        bench.run(ms(4700));
        bench.open(client(0));
    }
    let last_word = bench.now;
    bench.run(ms(30_000));
    let statuses = bench.statuses(client(0));
    let last = statuses.last().unwrap().at;
    assert_eq!(last, last_word + ms(10_000));
    assert_eq!(bench.robot.clients(), 0);
    assert!(statuses.windows(2).all(|two| two[1].at - two[0].at == ms(20)));
}

#[test]
fn a_repeated_opening_changes_nothing() {
    let mut bench = Bench::still();
    bench.open(client(0));
    bench.run(ms(490));
    bench.open(client(0));
    bench.open(client(0));
    bench.run(ms(510));
    let statuses = bench.statuses(client(0));
    assert_eq!(statuses.len(), 51, "no second stream");
    let numbers: Vec<u16> = statuses.iter().map(|heard| heard.datagram().sequence.0).collect();
    assert_eq!(numbers, (0..=50).collect::<Vec<u16>>(), "and no gap");
}

#[test]
fn a_status_tells_what_the_robot_does() {
    let mut bench = Bench::new(lifts(3, 1.0));
    bench.open(client(0));
    let told = |bench: &mut Bench| {
        bench.run(ms(40));
        let statuses = bench.statuses(client(0));
        let status = status(statuses.last().unwrap());
        (status.mode, status.flags, status.positions[3], status.velocities[3])
    };
    const SOFT: u32 = status_flag::DAMPING | status_flag::TEACHING;
    assert_eq!(told(&mut bench), (0, 0, 0.0, 0.0));
    bench.enter();
    assert_eq!(told(&mut bench), (1, SOFT, 0.0, 0.0));
    bench.done(&START);
    bench.run(ms(1000));
    let (mode, flags, position, velocity) = told(&mut bench);
    assert_eq!((mode, flags), (2, SOFT | status_flag::RECORDED));
    assert!(position > 0.1 && velocity > 0.1, "the arm is led: {position} {velocity}");
    bench.teach(ms(2000));
    bench.done(&STOP);
    bench.done(&save("lift", 1, &[]));
    bench.done(&play(1));
    let playing = status_flag::TEACHING | status_flag::RECORDED;
    assert_eq!((told(&mut bench).0, told(&mut bench).1), (3, playing), "damping rests");
    bench.done(&EXIT);
    assert_eq!((told(&mut bench).0, told(&mut bench).1), (0, 0));
}

#[test]
fn duplicates_and_old_datagrams_are_dropped_across_the_wrap() {
    let mut bench = Bench::still();
    let mut send = |sequence: u16| {
        bench.sequence = Sequence(sequence);
        let before = bench.heard.len();
        bench.send(client(0), &LIST);
        bench.heard.len() - before
    };
    assert_eq!(send(65_534), 1, "begins anywhere");
    assert_eq!(send(65_534), 0, "again");
    assert_eq!(send(65_535), 1);
    assert_eq!(send(0), 1);
    assert_eq!(send(65_535), 0, "from before the wrap");
    assert_eq!(send(3), 1, "with a gap");
    assert_eq!(send(2), 0, "overtaken");
    assert_eq!(send(3), 0);
    assert_eq!(send(32_770), 1, "as far ahead as can be");
    assert_eq!(send(2), 0, "half the circle away is old");
    let counters = bench.robot.counters();
    assert_eq!((counters.duplicates, counters.old, counters.answered), (2, 3, 5));
    assert_eq!(counters.received, 10);
}

#[test]
fn a_dropped_datagram_has_no_effect() {
    let mut bench = Bench::still();
    bench.sequence = Sequence(10);
    bench.done(&EXIT);
    for old in [9, 10] {
        bench.sequence = Sequence(old);
        bench.send(client(0), &enter());
        assert_eq!(bench.robot.mode(), Mode::Idle);
    }
}

#[test]
fn clients_are_told_apart_by_address_and_port() {
    let mut bench = Bench::still();
    let elsewhere = "10.0.0.9:40000".parse().unwrap();
    for from in [client(0), client(1), elsewhere] {
        bench.sequence = Sequence(5);
        bench.send(from, &LIST);
        assert_eq!(bench.heard.last().unwrap().to, from);
    }
    assert_eq!((bench.robot.clients(), bench.robot.counters().duplicates), (3, 0));
}

#[test]
fn a_client_that_begins_anew_is_heard_after_ten_seconds_of_silence() {
    let mut bench = Bench::still();
    bench.sequence = Sequence(1000);
    bench.send(client(0), &LIST);
    let heard = |bench: &mut Bench| {
        bench.sequence = Sequence(0);
        let before = bench.heard.len();
        bench.send(client(0), &LIST);
        bench.heard.len() > before
    };
    assert!(!heard(&mut bench));
    bench.run(ms(9_999));
    assert!(!heard(&mut bench), "what is dropped does not keep the old numbers alive");
    bench.run(ms(1));
    assert!(heard(&mut bench));
}

#[test]
fn strangers_do_not_crowd_a_stop_out() {
    let mut bench = Bench::still();
    bench.enter();
    for number in 0..500 {
        bench.run(ms(1));
        bench.sequence = Sequence(0);
        bench.open(client(number));
        assert!(bench.robot.clients() <= MAX_CLIENTS);
    }
    bench.send(client(999), &EXIT);
    assert_eq!(bench.robot.mode(), Mode::Idle);
}

#[test]
fn a_robot_that_needs_its_opening_asks_for_it_in_order() {
    let mut bench = Bench::new(Options { needs_opening: true, ..Options::default() });
    let [mode, sync, subscribe, ready] = opening();
    assert_eq!(bench.ask(&sync), Code::NotOpened);
    assert_eq!(bench.ask(&enter()), Code::NotOpened);
    assert_eq!(bench.list(), [], "looking is free");
    bench.done(&EXIT);
    bench.done(&mode);
    assert_eq!(bench.ask(&subscribe), Code::NotOpened);
    bench.done(&sync);
    bench.done(&mode);
    bench.done(&subscribe);
    assert_eq!(bench.ask(&enter()), Code::NotOpened);
    bench.done(&ready);
    bench.enter();
    bench.sequence = Sequence(0);
    let before = bench.heard.len();
    bench.send(client(1), &MAINTAIN);
    assert_eq!(bench.heard[before].code(), Some(Code::NotOpened), "each client for itself");
}

#[test]
fn a_restarted_robot_knows_nobody_but_its_actions() {
    let mut bench = Bench::with(vec![stored("wave", &[(15, 500, 0.5)])]);
    bench.open(client(0));
    bench.enter();
    bench.done(&START);
    bench.run(ms(500));
    bench.robot.restart(bench.now);
    bench.run(ms(1));
    assert_eq!((bench.robot.mode(), bench.robot.clients()), (Mode::Idle, 0));
    assert_eq!(bench.robot.recorded_frames(), 0);
    let statuses = bench.statuses(client(0)).len();
    bench.run(ms(500));
    assert_eq!(bench.statuses(client(0)).len(), statuses, "silent until asked");
    assert_eq!(bench.ask(&MAINTAIN), Code::WrongMode);
    bench.open(client(7));
    assert_eq!(bench.list().len(), 1);
    let statuses = bench.statuses(client(7));
    assert!(status(statuses[0]).time_ms <= 510, "its clock began anew");
}
