use proptest::prelude::*;
use sinew_robot::trajectory::{
    Curves, Document, G1_ARMS, Interpolation, Keyframe, Piece, Plan, PlanOptions, Pose, Recording,
};

fn document(recording: Recording) -> Document {
    Document { name: "x".into(), recording, ..Document::default() }
}

fn planned(recording: Recording, manner: PlanOptions) -> Plan {
    Plan::new(&document(recording), 0, manner, &G1_ARMS).unwrap()
}

/// A line of joint 3 from 0 to 0.5 in a second.
fn line() -> Recording {
    let mut recording = Recording::new();
    for index in 0..=50_u16 {
        let mut pose = [0.0; 12];
        pose[3] = f32::from(index) / 100.0;
        recording.push(u32::from(index) * 20, pose).unwrap();
    }
    recording
}

/// All joints on smooth ways of their own, at 50 frames a second.
fn dance(seconds: u16) -> Recording {
    let mut recording = Recording::new();
    for index in 0..seconds * 50 {
        let time = f32::from(index) / 50.0;
        let pose = std::array::from_fn(|slot| {
            let slot = slot as f32;
            0.5 * (time * (0.2 + 0.13 * slot)).sin() + 0.3 * (time * 1.7 + slot).cos()
        });
        recording.push(u32::from(index) * 20, G1_ARMS.clamp(pose)).unwrap();
    }
    recording
}

/// What a robot does that plays piece after piece: a pose every millisecond.
fn play(present: Pose, pieces: &[Piece]) -> Vec<Pose> {
    let mut poses = vec![present];
    for piece in pieces {
        assert!(piece.keyframes.len() <= 20 && piece.duration_ms <= 65_535);
        let curves = Curves::new(*poses.last().unwrap(), &piece.keyframes);
        for time in 0..=piece.duration_ms {
            poses.push(curves.pose(time.into(), piece.interpolation));
        }
    }
    poses
}

/// No joint jumps, is faster than allowed, or leaves its limits.
fn check(poses: &[Pose], max_velocity: f32) {
    for (before, after) in poses.iter().zip(&poses[1..]) {
        assert_eq!(G1_ARMS.beyond(after).count(), 0, "{after:?}");
        for (a, b) in before.iter().zip(after) {
            assert!((b - a).abs() <= max_velocity / 1000.0 + 1e-5, "from {a} to {b} in 1 ms");
        }
    }
}

/// The way in and the motion, both checked.
fn whole(plan: &Plan, present: Pose, max_velocity: f32) -> Vec<Pose> {
    let mut poses = play(present, &plan.approach(&present));
    check(&poses, 1.0);
    let mut start = *poses.last().unwrap();
    for (value, start) in start.iter_mut().zip(plan.start) {
        let start = start.unwrap_or(*value);
        assert!((*value - start).abs() <= 0.01);
        *value = start;
    }
    let motion = play(start, &plan.pieces);
    check(&motion, max_velocity);
    poses.extend(motion);
    poses
}

#[test]
fn a_simple_motion_is_one_piece() {
    let plan = planned(line(), PlanOptions::default());
    assert_eq!(plan.pieces.len(), 1);
    assert_eq!((plan.duration_ms, plan.limited.len()), (1000, 0));
    assert!(plan.error < 1e-5, "{}", plan.error);
    assert_eq!(plan.start, [Some(0.0); 12]);
}

#[test]
fn it_eases_in_from_the_present_pose() {
    let plan = planned(line(), PlanOptions::default());
    assert!(plan.approach(&[0.005; 12]).is_empty(), "it is there already");
    let mut present = [0.0; 12];
    present[3] = -0.9;
    let ease = plan.approach(&present);
    assert_eq!(ease.len(), 1);
    assert_eq!((ease[0].duration_ms, ease[0].interpolation), (1350, Interpolation::Smooth));
    whole(&plan, present, 2.0);
}

#[test]
fn more_joints_than_keyframes_allow_ease_in_one_group_after_the_other() {
    let plan = planned(line(), PlanOptions::default());
    let present = [0.5; 12];
    let ease = plan.approach(&present);
    assert_eq!(ease.iter().map(|piece| piece.keyframes.len()).collect::<Vec<_>>(), [20, 4]);
    let poses = play(present, &ease);
    check(&poses, 1.0);
    assert_eq!(*poses.last().unwrap(), [0.0; 12]);
}

#[test]
fn speed_shortens_and_the_velocity_limit_lengthens() {
    let fast = planned(line(), PlanOptions { speed: 2.0, ..PlanOptions::default() });
    assert_eq!(fast.duration_ms, 500);
    let slow = planned(line(), PlanOptions { max_velocity: 0.5, ..PlanOptions::default() });
    assert!((1333..1400).contains(&slow.duration_ms), "{}", slow.duration_ms);
    assert!(slow.slowed && !fast.slowed);
    whole(&slow, [0.0; 12], 0.5);
    for speed in [0.0, 0.04, 4.1, f32::NAN, f32::INFINITY, -1.0] {
        let manner = PlanOptions { speed, ..PlanOptions::default() };
        let error = Plan::new(&document(line()), 0, manner, &G1_ARMS).unwrap_err();
        assert!(error.to_string().contains("speed"), "{error}");
    }
}

#[test]
fn joints_stay_in_step_when_one_of_them_is_too_fast() {
    let mut both = Recording::new();
    for index in 0..=50_u16 {
        let mut pose = [0.0; 12];
        pose[0] = f32::from(index) / 25.0;
        pose[3] = f32::from(index) / 250.0;
        both.push(u32::from(index) * 20, pose).unwrap();
    }
    let plan = planned(both, PlanOptions { max_velocity: 0.5, ..PlanOptions::default() });
    for pose in whole(&plan, [0.0; 12], 0.5) {
        assert!((pose[0] - pose[3] * 10.0).abs() < 0.02, "{} and {}", pose[0], pose[3]);
    }
}

#[test]
fn what_is_beyond_a_limit_goes_up_to_it_and_is_named() {
    let mut recording = Recording::new();
    for index in 0..=10_u16 {
        let mut pose = [0.0; 12];
        pose[3] = f32::from(index) * 0.3;
        recording.push(u32::from(index) * 300, pose).unwrap();
    }
    let plan = planned(recording, PlanOptions::default());
    assert_eq!(plan.limited, ["left_elbow"]);
    let poses = whole(&plan, [0.0; 12], 2.0);
    assert_eq!(poses.last().unwrap()[3], G1_ARMS.joints[3].max);
}

#[test]
fn only_the_first_frames_when_asked() {
    let plan = Plan::new(&document(line()), 26, PlanOptions::default(), &G1_ARMS).unwrap();
    assert_eq!(plan.duration_ms, 500);
    assert_eq!(whole(&plan, [0.0; 12], 2.0).last().unwrap()[3], 0.25);
    let more = Plan::new(&document(line()), 5000, PlanOptions::default(), &G1_ARMS).unwrap();
    assert_eq!(more.duration_ms, 1000);
}

#[test]
fn keyframes_alone_leave_other_joints_where_they_are() {
    let at = |time_ms, value| Keyframe { joint: 3, time_ms, value };
    let keyframes = vec![at(0, 0.2), at(1500, 0.8), at(3000, 0.2)];
    let motion = Document { keyframes, ..Document::default() };
    for interpolation in Interpolation::ALL {
        let manner = PlanOptions { interpolation, ..PlanOptions::default() };
        let plan = Plan::new(&motion, 0, manner, &G1_ARMS).unwrap();
        assert_eq!(plan.start.iter().flatten().count(), 1);
        let present = [0.4; 12];
        let poses = whole(&plan, present, 2.0);
        assert!(poses.iter().all(|pose| pose[0] == 0.4 && pose[11] == 0.4));
        assert!((poses.last().unwrap()[3] - 0.2).abs() < 1e-5);
    }
    assert!(Plan::new(&motion, 3, PlanOptions::default(), &G1_ARMS).is_err(), "it has no frames");
    assert!(Plan::new(&Document::default(), 0, PlanOptions::default(), &G1_ARMS).is_err());
}

#[test]
fn a_long_motion_of_all_joints_is_played_in_pieces() {
    let recording = dance(150);
    let plan = planned(recording.clone(), PlanOptions::default());
    assert!(plan.pieces.len() > 10, "{}", plan.pieces.len());
    let poses = play(recording.frames()[0].positions, &plan.pieces);
    check(&poses, 2.0);
    assert_eq!(plan.duration_ms, recording.duration_ms(), "nothing in it is too fast");
    // Nothing adds up: at the end of every piece each joint is as near as the plan says.
    let (mut at, mut played) = (0, 0);
    for piece in &plan.pieces {
        at += piece.duration_ms;
        played += piece.duration_ms as usize + 1;
        for (is, wanted) in poses[played].iter().zip(recording.pose_at(at).unwrap()) {
            assert!((is - wanted).abs() <= plan.error + 1e-4, "{is} is not {wanted} at {at}");
        }
    }
    assert!(plan.error < 0.35, "{}", plan.error);
}

#[test]
fn a_joint_that_creeps_does_not_stay_behind() {
    // Within the tolerance of every single piece, a radian in all.
    let mut recording = Recording::new();
    for index in 0..=6000_u16 {
        let mut pose = [0.0; 12];
        pose[3] = f32::from(index) / 6000.0;
        recording.push(u32::from(index) * 100, pose).unwrap();
    }
    let plan = planned(recording, PlanOptions::default());
    let poses = whole(&plan, [0.0; 12], 2.0);
    assert!((poses.last().unwrap()[3] - 1.0).abs() <= 0.03, "{:?}", poses.last());
}

#[test]
fn a_gap_that_no_keyframe_can_count_is_filled() {
    let mut recording = Recording::new();
    recording.push(0, [0.0; 12]).unwrap();
    recording.push(100_000, [1.0; 12]).unwrap();
    let plan = planned(recording, PlanOptions::default());
    assert_eq!(plan.duration_ms, 100_000);
    assert!(plan.pieces.len() > 1);
    for value in whole(&plan, [0.0; 12], 2.0).last().unwrap() {
        assert!((value - 1.0).abs() <= plan.error + 1e-4, "{value}");
    }
}

#[test]
fn a_speed_at_which_it_takes_too_long_is_refused() {
    let manner = PlanOptions { speed: 0.05, ..PlanOptions::default() };
    let error = Plan::new(&document(dance(60)), 0, manner, &G1_ARMS).unwrap_err();
    assert!(error.to_string().contains("600000 ms"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_the_motion_no_joint_jumps_races_or_leaves_its_limits(
        steps in prop::collection::vec((1_u32..400, prop::collection::vec(-4.0_f32..4.0, 12)), 1..30),
        present in prop::collection::vec(-1.0_f32..1.0, 12),
        speed in 0.1_f32..4.0,
        max_velocity in 0.3_f32..3.0,
    ) {
        let mut recording = Recording::new();
        let mut time = 0;
        for (step, pose) in steps {
            recording.push(time, pose.try_into().unwrap()).unwrap();
            time += step;
        }
        let present: Pose = present.try_into().unwrap();
        let plan = planned(recording, PlanOptions { speed, max_velocity, ..PlanOptions::default() });
        whole(&plan, present, max_velocity);
    }
}
