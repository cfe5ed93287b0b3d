//! The caller's time: same calls, same bytes, however often the caller looks.

use sinew_sim::g1::{Mode, Options};
use sinew_wire::teach::Interpolation;

use crate::support::*;

/// A session with something of everything, and what the robot sent, with the time since its start.
fn session(seed: u64, naps: &[u64]) -> Vec<(u128, Vec<u8>)> {
    let mut bench = Bench::new(Options { seed, ..Options::default() });
    let mut naps = naps.iter().cycle();
    let mut run = |bench: &mut Bench, time| {
        let end = bench.now + ms(time);
        while bench.now < end {
            let nap = ms(*naps.next().unwrap()).min(end - bench.now);
            bench.jump(nap);
        }
    };
    bench.open(client(0));
    bench.enter();
    bench.done(&START);
    run(&mut bench, 4000);
    bench.done(&STOP);
    bench.done(&save("wave", 1, &[]));
    bench.done(&play_with(1, |play| play.interpolation = Interpolation::Cubic));
    run(&mut bench, 2000);
    bench.done(&EXIT);
    bench
        .heard
        .iter()
        .map(|heard| ((heard.at - bench.start).as_nanos(), heard.bytes.clone()))
        .collect()
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    assert_eq!(session(7, &[20]), session(7, &[20]));
    assert_ne!(session(7, &[20]), session(8, &[20]));
}

#[test]
fn how_often_the_robot_is_called_does_not_matter() {
    let bytes = |naps: &[u64]| session(7, naps).into_iter().map(|(_, bytes)| bytes).collect();
    let often: Vec<Vec<u8>> = bytes(&[1]);
    let seldom: Vec<Vec<u8>> = bytes(&[40, 3, 20]);
    assert!(often.len() > 300);
    assert_eq!(often, seldom);
}

#[test]
fn a_late_caller_gets_no_old_status() {
    let mut bench = Bench::still();
    bench.open(client(0));
    bench.heard.clear();
    bench.jump(ms(5000));
    assert_eq!(bench.statuses(client(0)).len(), 3, "of the last 50 ms");
    bench.jump(ms(3_600_000));
    assert_eq!(bench.robot.clients(), 0);
}

#[test]
fn a_caller_who_was_away_for_a_year_finds_the_robot_at_rest() {
    let mut bench = Bench::with(vec![stored("ramp", &[(15, 0, 0.0), (15, 1000, 1.0)])]);
    bench.enter();
    bench.done(&play_with(1, |play| play.duration_ms = 600_000));
    bench.robot.handle_timeout(bench.now + ms(365 * 24 * 3_600_000));
    assert_eq!((bench.robot.mode(), bench.joint(0)), (Mode::Idle, 1.0));
}

#[test]
fn time_that_goes_back_stands_still() {
    let mut bench = Bench::new(Options::default());
    bench.enter();
    bench.run(ms(2000));
    let before = bench.robot.joints();
    bench.robot.handle_timeout(bench.start);
    let bytes = MAINTAIN.to_vec(bench.layout, bench.sequence).unwrap();
    bench.robot.handle_datagram(bench.start, client(0), &bytes);
    assert_eq!(bench.robot.joints(), before);
    assert!(bench.robot.poll_timeout() > bench.now);
    bench.run(ms(9_999));
    assert_eq!(bench.robot.mode(), Mode::Teaching, "kept up as of now");
}
