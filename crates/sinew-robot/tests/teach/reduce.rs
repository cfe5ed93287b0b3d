use proptest::prelude::*;
use sinew_robot::trajectory::{Keyframe, Recording, error_of, reduce};

/// A recording from the joints that move; frames at the given times.
fn recording(times: &[u32], joints: &[Vec<f32>]) -> Recording {
    let mut recording = Recording::new();
    for (index, &time) in times.iter().enumerate() {
        let mut pose = [0.0; 12];
        for (slot, joint) in joints.iter().enumerate() {
            pose[slot] = joint[index];
        }
        recording.push(time, pose).unwrap();
    }
    recording
}

/// The least error of a joint for each number of keyframes up to `most`, by trying all choices.
fn best_errors(times: &[u32], values: &[f32], most: usize) -> Vec<f64> {
    let last = values.len() - 1;
    let at = |index: usize| (f64::from(times[index]), f64::from(values[index]));
    let rest = values.iter().map(|value| (f64::from(*value) - at(0).1).abs()).fold(0.0, f64::max);
    let mut best = vec![rest; most + 1];
    for choice in 0..1_u32 << (last - 1) {
        let inner = (1..last).filter(|index| choice >> (index - 1) & 1 == 1);
        let kept: Vec<_> = [0].into_iter().chain(inner).chain([last]).collect();
        if kept.len() > most {
            continue;
        }
        let mut error = 0.0_f64;
        for pair in kept.windows(2) {
            let ((t0, v0), (t1, v1)) = (at(pair[0]), at(pair[1]));
            for index in pair[0] + 1..pair[1] {
                let (time, value) = at(index);
                error = error.max((value - (v0 + (v1 - v0) * (time - t0) / (t1 - t0))).abs());
            }
        }
        for errors in best.iter_mut().skip(kept.len()) {
            *errors = errors.min(error);
        }
    }
    best
}

/// The least largest error over all ways to share the keyframes out among the joints.
fn brute_force(times: &[u32], joints: &[Vec<f32>], most: usize) -> f64 {
    let mut best = vec![0.0; most + 1];
    for values in joints {
        let own = best_errors(times, values, most);
        best = (0..=most)
            .map(|budget| {
                let shares = (0..=budget).map(|share| f64::max(best[budget - share], own[share]));
                shares.fold(f64::INFINITY, f64::min)
            })
            .collect();
    }
    best[most]
}

fn check(recording: &Recording, max_keyframes: usize) -> (Vec<Keyframe>, f64) {
    let reduced = reduce(recording, max_keyframes).unwrap();
    assert!(reduced.keyframes.len() <= max_keyframes);
    assert_eq!(reduced.error, error_of(recording, &reduced.keyframes));
    for keyframe in &reduced.keyframes {
        let first = recording.frames()[0].time_ms;
        let time = first + u32::from(keyframe.time_ms);
        let frame = recording.frames().iter().find(|frame| frame.time_ms == time).unwrap();
        assert_eq!(frame.positions[usize::from(keyframe.joint)], keyframe.value, "not a sample");
    }
    (reduced.keyframes, reduced.error.into())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_choice_is_the_best_there_is(
        (steps, joints) in (2_usize..9).prop_flat_map(|frames| {
            let joint = prop::collection::vec(-2.0_f32..2.0, frames);
            (prop::collection::vec(1_u32..50, frames), prop::collection::vec(joint, 1..4))
        }),
        most in 0_usize..12,
    ) {
        let times: Vec<_> =
            steps.iter().scan(0, |time, step| { *time += step; Some(*time) }).collect();
        let (_, error) = check(&recording(&times, &joints), most);
        let best = brute_force(&times, &joints, most);
        prop_assert!((error - best).abs() < 2e-6, "{error} instead of {best}");
    }

    /// Coarse values make ties and straight lines, where rounding could hurt.
    #[test]
    fn the_choice_is_the_best_there_is_among_equals(
        joints in (2_usize..10).prop_flat_map(|frames| {
            let value = (-3_i8..4).prop_map(|value| f32::from(value) / 10.0);
            prop::collection::vec(prop::collection::vec(value, frames), 1..4)
        }),
        most in 0_usize..14,
    ) {
        let times: Vec<_> = (0..joints[0].len() as u32).map(|index| index * 20).collect();
        let (_, error) = check(&recording(&times, &joints), most);
        let best = brute_force(&times, &joints, most);
        prop_assert!((error - best).abs() < 2e-6, "{error} instead of {best}");
    }
}

#[test]
fn joints_at_rest_get_no_keyframes() {
    let times: Vec<_> = (0..50).map(|index| index * 20).collect();
    let line: Vec<_> = (0..50).map(|index| index as f32 * 0.01).collect();
    let (keyframes, error) = check(&recording(&times, &[vec![0.3; 50], line]), 20);
    assert_eq!(keyframes.len(), 2);
    assert!(keyframes.iter().all(|keyframe| keyframe.joint == 1));
    assert!(error < 1e-6);
    let (keyframes, error) = check(&recording(&times, &[vec![0.3; 50]]), 20);
    assert!(keyframes.is_empty() && error == 0.0);
}

#[test]
fn twelve_moving_joints_have_to_share_twenty() {
    let times: Vec<_> = (0..100).map(|index| index * 20).collect();
    let joint = |slot: usize| -> Vec<f32> {
        (0..100).map(|index| (index as f32 * 0.1 + slot as f32).sin()).collect()
    };
    let joints: Vec<_> = (0..12).map(joint).collect();
    let recording = recording(&times, &joints);
    let (keyframes, error) = check(&recording, 20);
    assert!(!keyframes.is_empty() && error > 0.1);
}

#[test]
fn nothing_and_too_long() {
    assert_eq!(reduce(&Recording::new(), 20).unwrap().keyframes, []);
    let long = recording(&[5, 65_541], &[vec![0.0, 1.0]]);
    assert!(reduce(&long, 20).unwrap_err().to_string().contains("65535"));
    let longest = recording(&[5, 65_540], &[vec![0.0, 1.0]]);
    assert_eq!(check(&longest, 20).0[1].time_ms, 65_535);
}
