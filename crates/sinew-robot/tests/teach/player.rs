use std::time::{Duration, Instant};

use proptest::prelude::*;
use sinew_robot::trajectory::{
    G1_ARMS, Interpolation, Phase, Piece, Player, PlayerSettings, Pose, Recording, pieces,
};
use sinew_wire::teach::Keyframe;

const TICK: Duration = Duration::from_millis(20);

fn piece(keyframes: Vec<Keyframe>, duration_ms: u32) -> Piece {
    Piece { start_ms: 0, duration_ms, rest: [0.0; 12], keyframes, error: 0.0 }
}

fn line() -> Piece {
    let at = |time_ms, value| Keyframe { joint: 3, time_ms, value };
    piece(vec![at(0, 0.0), at(1000, 1.0)], 1000)
}

fn player(piece: Piece, settings: PlayerSettings, present: Pose) -> (Player, Instant) {
    let now = Instant::now();
    (Player::new(&[piece], settings, G1_ARMS, present, now).unwrap(), now)
}

/// Poses until it is over, with the milliseconds it took.
fn run(player: &mut Player, start: Instant) -> (Vec<Pose>, u64) {
    let mut poses = Vec::new();
    for tick in 1..10_000 {
        let posture = player.pose(start + TICK * tick);
        poses.push(posture.positions);
        if posture.phase == Phase::Done {
            assert_eq!(posture.progress, 1.0);
            return (poses, u64::from(tick) * 20);
        }
    }
    panic!("it never ends");
}

#[test]
fn it_eases_in_from_the_present_pose() {
    let mut present = [0.0; 12];
    present[3] = -0.5;
    let (mut player, start) = player(line(), PlayerSettings::default(), present);
    let first = player.pose(start + TICK);
    assert_eq!(first.phase, Phase::EasingIn);
    assert!((first.positions[3] + 0.5).abs() < 0.01, "{first:?}");
    let (poses, took) = run(&mut player, start);
    assert_eq!(poses.last().unwrap()[3], 1.0);
    assert!((1900..2300).contains(&took), "a second of easing, a second of motion: {took}");
}

#[test]
fn it_begins_at_once_where_it_already_is() {
    let (mut player, start) = player(line(), PlayerSettings::default(), [0.0; 12]);
    let (_, took) = run(&mut player, start);
    assert!((980..1100).contains(&took), "{took}");
}

#[test]
fn speed_shortens_and_the_velocity_limit_lengthens() {
    let fast = PlayerSettings { speed: 2.0, ..PlayerSettings::default() };
    let (mut quick, start) = player(line(), fast, [0.0; 12]);
    let took = run(&mut quick, start).1;
    assert!((480..600).contains(&took), "{took}");
    let slow = PlayerSettings { max_velocity: 0.5, ..PlayerSettings::default() };
    let (mut slow, start) = player(line(), slow, [0.0; 12]);
    let took = run(&mut slow, start).1;
    assert!((1980..2200).contains(&took), "{took}");
}

#[test]
fn joints_stay_in_step_when_one_of_them_is_too_fast() {
    let at = |joint, time_ms, value| Keyframe { joint, time_ms, value };
    let both = piece(vec![at(0, 0, 0.0), at(0, 1000, 2.0), at(3, 0, 0.0), at(3, 1000, 0.2)], 1000);
    let slow = PlayerSettings { max_velocity: 0.5, ..PlayerSettings::default() };
    let (mut player, start) = player(both, slow, [0.0; 12]);
    for pose in run(&mut player, start).0 {
        assert!((pose[0] - pose[3] * 10.0).abs() < 0.02, "{} and {}", pose[0], pose[3]);
    }
}

#[test]
fn a_stop_holds_the_pose() {
    let (mut player, start) = player(line(), PlayerSettings::default(), [0.0; 12]);
    for tick in 0..25 {
        player.pose(start + TICK * tick);
    }
    let held = player.stop();
    assert_eq!(held.phase, Phase::Stopped);
    assert!(held.positions[3] > 0.3 && held.positions[3] < 0.7);
    for tick in 25..200 {
        assert_eq!(player.pose(start + TICK * tick), held);
    }
}

#[test]
fn a_loop_eases_back_to_its_beginning() {
    let settings = PlayerSettings { looped: true, ..PlayerSettings::default() };
    let (mut player, start) = player(line(), settings, [0.0; 12]);
    let mut before = 0.0;
    let mut tops = 0;
    for tick in 1..500 {
        let value = player.pose(start + TICK * tick).positions[3];
        assert!((value - before).abs() <= 2.0 * 0.02 + 1e-5, "{before} to {value}");
        tops += u32::from(value == 1.0 && before < 1.0);
        before = value;
    }
    assert!(tops >= 4, "{tops} times in ten seconds");
}

#[test]
fn a_caller_that_was_away_gets_no_jump() {
    let (mut player, start) = player(line(), PlayerSettings::default(), [0.0; 12]);
    player.pose(start + TICK);
    let before = player.pose(start + TICK * 2).positions[3];
    let after = player.pose(start + Duration::from_secs(60)).positions[3];
    assert!(after - before <= 0.2 + 1e-5, "{before} to {after}");
}

#[test]
fn a_recording_in_pieces_plays_as_it_was() {
    let mut recording = Recording::new();
    for index in 0..500_u32 {
        let pose: Pose =
            std::array::from_fn(|slot| 0.4 * (index as f32 * 0.02 + slot as f32).sin());
        recording.push(index * 20, pose).unwrap();
    }
    let pieces = pieces(&recording, 0.03).unwrap();
    assert!(pieces.len() > 1);
    let now = Instant::now();
    let present = recording.frames()[0].positions;
    let mut player =
        Player::new(&pieces, PlayerSettings::default(), G1_ARMS, present, now).unwrap();
    let mut at = now;
    while player.pose(at).phase == Phase::EasingIn {
        at += TICK;
    }
    for frame in &recording.frames()[1..490] {
        at += TICK;
        let pose = player.pose(at).positions;
        for (got, wanted) in pose.iter().zip(frame.positions) {
            assert!((got - wanted).abs() < 0.1, "{got} instead of {wanted}");
        }
    }
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let now = Instant::now();
    let wrong = [
        PlayerSettings { speed: 0.0, ..PlayerSettings::default() },
        PlayerSettings { speed: f32::NAN, ..PlayerSettings::default() },
        PlayerSettings { max_velocity: 0.0, ..PlayerSettings::default() },
        PlayerSettings { max_velocity: f32::INFINITY, ..PlayerSettings::default() },
    ];
    for settings in wrong {
        assert!(Player::new(&[line()], settings, G1_ARMS, [0.0; 12], now).is_err());
    }
    let settings = PlayerSettings::default();
    assert!(Player::new(&[], settings, G1_ARMS, [0.0; 12], now).is_err());
    assert!(Player::new(&[line()], settings, G1_ARMS, [f32::NAN; 12], now).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is played, from wherever, called however: within the limits, never too fast.
    #[test]
    fn every_pose_is_within_limits_and_near_the_one_before(
        keyframes in prop::collection::vec(
            (0_u16..13, 0_u16..3000, -5.0_f32..5.0)
                .prop_map(|(joint, time_ms, value)| Keyframe { joint, time_ms, value }), 0..20),
        rest in prop::array::uniform12(-5.0_f32..5.0),
        present in prop::array::uniform12(-5.0_f32..5.0),
        steps in prop::collection::vec(0_u64..150, 1..200),
        way in prop::sample::select(Interpolation::ALL.to_vec()),
        speed in 0.05_f32..4.0,
        max_velocity in 0.1_f32..10.0,
        looped in any::<bool>(),
    ) {
        let settings = PlayerSettings {
            interpolation: way, speed, looped, max_velocity, ease_in: Duration::from_millis(500),
        };
        let piece = Piece { start_ms: 0, duration_ms: 3000, rest, keyframes, error: 0.0 };
        let mut now = Instant::now();
        let mut player = Player::new(&[piece], settings, G1_ARMS, present, now).unwrap();
        let mut before = G1_ARMS.clamp(present);
        for step in steps {
            now += Duration::from_millis(step);
            let pose = player.pose(now).positions;
            prop_assert_eq!(G1_ARMS.clamp(pose), pose);
            let reach = max_velocity * step as f32 / 1000.0 + 1e-5;
            for (now, before) in pose.iter().zip(before) {
                prop_assert!((now - before).abs() <= reach, "{before} to {now} in {step} ms");
            }
            before = pose;
        }
    }
}
