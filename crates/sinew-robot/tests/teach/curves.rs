use proptest::prelude::*;
use sinew_robot::trajectory::{Curves, G1_ARMS, Interpolation, Keyframe};

fn keyframes() -> impl Strategy<Value = Vec<Keyframe>> {
    let keyframe = (0_u16..14, any::<u16>(), -4.0_f32..4.0);
    let keyframe = keyframe.prop_map(|(joint, time_ms, value)| Keyframe { joint, time_ms, value });
    prop::collection::vec(keyframe, 0..25)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// No way of interpolating leaves the range of the two keyframes around a time.
    #[test]
    fn curves_stay_between_neighbours(keyframes in keyframes(), time in 0.0_f64..70_000.0) {
        let curves = Curves::new([0.5; 12], &keyframes);
        for way in Interpolation::ALL {
            let pose = curves.pose(time, way);
            for (slot, value) in pose.iter().enumerate() {
                // The last of several at one time counts.
                let own: Vec<_> =
                    keyframes.iter().filter(|k| usize::from(k.joint) == slot).collect();
                let counts = |index: usize| {
                    own[index + 1..].iter().all(|later| later.time_ms != own[index].time_ms)
                };
                let own: Vec<_> =
                    (0..own.len()).filter(|index| counts(*index)).map(|i| own[i]).collect();
                let before = own.iter().filter(|k| f64::from(k.time_ms) <= time)
                    .max_by_key(|k| k.time_ms);
                let after = own.iter().filter(|k| f64::from(k.time_ms) > time)
                    .min_by_key(|k| k.time_ms);
                let (low, high) = match (before, after) {
                    (Some(a), Some(b)) => (a.value.min(b.value), a.value.max(b.value)),
                    (Some(only), None) | (None, Some(only)) => (only.value, only.value),
                    (None, None) => (0.5, 0.5),
                };
                prop_assert!((low..=high).contains(value), "{way:?}: {value} not in {low}..{high}");
            }
        }
    }

    /// All ways meet in the keyframes.
    #[test]
    fn curves_pass_their_keyframes(values in prop::collection::vec(-2.0_f32..2.0, 1..20)) {
        let keyframe = |(index, value): (usize, &f32)| {
            Keyframe { joint: 7, time_ms: index as u16 * 100, value: *value }
        };
        let keyframes: Vec<_> = values.iter().enumerate().map(keyframe).collect();
        let curves = Curves::new([0.0; 12], &keyframes);
        for way in Interpolation::ALL {
            for (index, value) in values.iter().enumerate() {
                let got = curves.pose(index as f64 * 100.0, way)[7];
                prop_assert!((got - value).abs() < 1e-6);
            }
        }
    }

    /// The cubic goes up where the keyframes go up.
    #[test]
    fn a_cubic_is_monotone_where_its_keyframes_are(
        steps in prop::collection::vec((1_u16..500, 0.0_f32..0.5), 2..20),
    ) {
        let (mut time_ms, mut value) = (0, -1.0);
        let mut keyframes = vec![Keyframe { joint: 0, time_ms, value }];
        for (step, rise) in steps {
            (time_ms, value) = (time_ms + step, value + rise);
            keyframes.push(Keyframe { joint: 0, time_ms, value });
        }
        let curves = Curves::new([0.0; 12], &keyframes);
        let mut before = f32::NEG_INFINITY;
        for tick in 0..=400 {
            let at = f64::from(time_ms) * f64::from(tick) / 400.0;
            let now = curves.pose(at, Interpolation::Cubic)[0];
            prop_assert!(now >= before - 1e-6, "{before} then {now}");
            before = now;
        }
    }
}

#[test]
fn the_three_ways_differ_between_keyframes() {
    let keyframes = [(0, 0.0), (1000, 1.0), (2000, 3.0)].map(|(time_ms, value)| Keyframe {
        joint: 0,
        time_ms,
        value,
    });
    let curves = Curves::new([0.0; 12], &keyframes);
    let at = |way| curves.pose(250.0, way)[0];
    assert_eq!(at(Interpolation::Linear), 0.25);
    assert_eq!(at(Interpolation::Smooth), 0.15625);
    let cubic = at(Interpolation::Cubic);
    assert!(cubic < 0.25 && cubic > 0.0 && cubic != 0.15625, "{cubic}");
}

#[test]
fn the_twelve_slots_are_the_arms_of_a_g1() {
    let numbers: Vec<_> = G1_ARMS.joints.iter().map(|joint| joint.number).collect();
    assert_eq!(numbers, [15, 16, 17, 18, 19, 20, 22, 23, 24, 25, 26, 27]);
    assert!(G1_ARMS.joints.iter().all(|joint| joint.min < 0.0 && joint.max > 0.0));
    // Mirrored rolls swap sign.
    let (left, right) = (G1_ARMS.joints[1], G1_ARMS.joints[7]);
    assert_eq!((left.min, left.max), (-right.max, -right.min));
    assert_eq!(G1_ARMS.slot_of("right_elbow"), Some(9));
    let names: Vec<_> = G1_ARMS.beyond(&[2.2; 12]).map(|joint| joint.name).collect();
    assert!(names.contains(&"left_elbow") && !names.contains(&"left_shoulder_pitch"));
    assert_eq!(G1_ARMS.clamp([f32::NAN; 12]), [0.0; 12]);
}
