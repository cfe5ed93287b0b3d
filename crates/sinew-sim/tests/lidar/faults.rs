//! Damaged lines: what is told stays true.

use fastrand::Rng;
use sinew_faults::Faults;
use sinew_robot::{
    Session as _,
    lidar::{CheckState, Event, LinkState},
};
use sinew_sim::vacuum::{LidarOptions, Options, Pose};

use crate::harness::{Flat, ms};

#[test]
fn damaged_bytes_cost_the_frames_they_are_in_and_echoes_stay_true() {
    let (mut scans, mut wrong) = (0, 0);
    for seed in 0..40 {
        let mut rng = Rng::with_seed(seed);
        let faults = Faults {
            drop: rng.f64() * 0.002,
            corrupt: rng.f64() * 0.002,
            duplicate: rng.f64() * 0.001,
            jitter: ms(rng.u64(0..8)),
            seed,
            ..Faults::default()
        };
        let lidar = LidarOptions { seed, noise: 0.0, missing: 0.0, ..LidarOptions::default() };
        let start = Pose::new(1.0 + rng.f64(), rng.f64() - 0.5, rng.f64() * 6.0);
        let options = Options { seed, start, ..Options::default() };
        // Proven while its motor spins up.
        let mut flat = Flat::new(options, lidar, faults).turning();
        assert_eq!(flat.listener.state().check, CheckState::Proven, "seed {seed}");
        let (turns, frames, sent) =
            (flat.scans.len(), flat.listener.state().counters.frames, flat.frames);
        let damaged = |flat: &Flat| {
            let counts = flat.line.counts();
            counts.dropped + counts.corrupted + counts.duplicated
        };
        let damaged_before = damaged(&flat);
        flat.run_for(ms(10_000));
        let lost =
            (flat.frames - sent).saturating_sub(flat.listener.state().counters.frames - frames);
        let faulty = damaged(&flat) - damaged_before;
        // One more may be under way.
        assert!(lost <= faulty + 1, "seed {seed}: {lost} frames lost by {faulty} bytes");
        let turns = flat.scans.len() - turns;
        assert!((46..=51).contains(&turns), "seed {seed}: {turns} turns");
        scans += flat.scans.len();
        let worst = |scan| flat.errors(scan).into_iter().fold(0.0, f64::max);
        wrong += flat.scans.iter().filter(|scan| worst(scan) > 0.002).count();
    }
    // A sum does not notice two errors in a frame that make up for each other.
    assert!(wrong * 200 < scans, "{wrong} of {scans} turns have echoes beside the walls");
}

#[test]
fn a_check_that_is_something_else_is_reported_and_turns_come_all_the_same() {
    let lidar = LidarOptions { sums: false, noise: 0.0, missing: 0.0, ..LidarOptions::default() };
    let mut flat = Flat::new(Options::default(), lidar, Faults::default()).turning();
    flat.run_for(ms(3000));
    let state = flat.listener.state();
    assert_eq!(state.check, CheckState::NeverFits);
    assert_eq!(state.counters.unchecked, state.counters.frames);
    let told = |(_, event): &&(_, Event)| matches!(event, Event::LidarCheck { .. });
    let told: Vec<_> = flat.events.iter().filter(told).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(flat.scans.len() >= 15);
    let worst = flat.errors(flat.scans.last().unwrap()).into_iter().fold(0.0, f64::max);
    assert!(worst < 0.001);
}

#[test]
fn other_frames_per_turn_and_a_misleading_second_field_change_nothing() {
    for (frames, samples, second_field) in [(16, 22, 0), (15, 24, 150), (12, 30, -7), (30, 12, 40)]
    {
        let lidar = LidarOptions {
            frames,
            samples,
            second_field,
            noise: 0.0,
            missing: 0.0,
            ..LidarOptions::default()
        };
        let flat = Flat::new(Options::default(), lidar, Faults::default()).turning();
        let (scan, _) = &flat.scans[0];
        assert_eq!(scan.turn.points.len(), usize::from(frames * samples));
        let worst = flat.errors(&flat.scans[0]).into_iter().fold(0.0, f64::max);
        assert!(worst < 0.002, "{frames} frames of {samples}: {worst}");
    }
}

#[test]
fn a_line_that_is_cut_is_lost_and_a_broken_turn_is_not_told() {
    let mut flat = Flat::exact(Options::default()).turning();
    for _ in 0..20 {
        flat.line.cut();
        flat.run_for(ms(450));
        assert_eq!(flat.listener.state().link, LinkState::Lost);
        flat.line.restore();
        flat.run_for(ms(730));
        assert_eq!(flat.listener.state().link, LinkState::Turning);
    }
    assert!(flat.listener.state().counters.broken_turns >= 20);
    for (scan, _) in &flat.scans {
        assert_eq!(scan.turn.points.len(), 360);
    }
}

#[test]
fn a_line_that_stalls_brings_all_at_once_and_no_turn_is_mixed() {
    let mut flat = Flat::exact(Options::default()).turning();
    for stall in [30, 90, 150, 190] {
        flat.line.stall(flat.now + ms(stall));
        flat.run_for(ms(1000));
    }
    for (scan, _) in &flat.scans {
        assert_eq!(scan.turn.frames, 15);
    }
    assert_eq!(flat.listener.state().link, LinkState::Turning);
}

/// Rubbish, and frames that a hostile lidar might send.
#[test]
fn whatever_comes_the_session_is_bounded_and_goes_on() {
    let mut rng = Rng::with_seed(3);
    let mut session = sinew_robot::lidar::Session::new();
    let mut now = std::time::Instant::now();
    session.connected(now);
    for _ in 0..2000 {
        let len = rng.usize(0..200);
        let mut bytes: Vec<u8> = (0..len).map(|_| rng.u8(..)).collect();
        if rng.bool() {
            let command = *rng.choice(&[0xAD, 0xAE, 0x00, 0xFF]).unwrap();
            let frame = sinew_wire::delta2d::FrameBuf::new(command, &bytes).unwrap();
            bytes = frame.as_bytes().to_vec();
        }
        session.handle_input(now, (), &bytes);
        now += ms(rng.u64(0..30));
        session.handle_timeout(now);
        if let Some(at) = session.poll_timeout() {
            assert!(at > now, "what is due is done");
        }
    }
    let mut events = 0;
    while session.poll_output(true, &mut Vec::new()).is_some() {
        events += 1;
    }
    assert!(events <= 64);
    assert!(session.state().counters.events_lost > 0);
    assert_eq!(session.state().check, CheckState::Proven);
}
