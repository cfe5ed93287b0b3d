//! Frames become turns, and samples get their angles.

use proptest::{collection::vec, prelude::*};
use serde_json::Value;
use sinew_wire::delta2d::{
    Body, Frame, MAX_TURN, Measurement, Message, Source, Sources, Spacing, Turn, Turns,
};

use crate::support::{text, vectors};

/// Feeds frames that are given in hex, of which none is known to be lost.
fn turns(frames: &Value) -> Vec<Turn> {
    let mut turns = Turns::default();
    let mut complete = Vec::new();
    for frame in frames.as_array().unwrap() {
        let digits = frame.as_str().unwrap();
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        let bytes: Vec<_> = (0..digits.len()).step_by(2).map(byte).collect();
        let frame = Frame::new_checked(&bytes).unwrap();
        let Body::Measurement(measurement) = Message::parse(&frame).unwrap().body else { panic!() };
        complete.extend(turns.push(&measurement, false));
    }
    complete
}

#[test]
fn vectors_make_their_turns() {
    for vector in vectors("delta2d_turns.json") {
        let name = text(&vector, "name");
        let complete = turns(&vector["frames"]);
        let wanted = vector["turns"].as_array().unwrap();
        assert_eq!(complete.len(), wanted.len(), "{name}");
        for (turn, wanted) in complete.iter().zip(wanted) {
            let count = |key: &str| wanted["sources"][key].as_u64().unwrap() as u16;
            let sources = Sources {
                next: count("next"),
                last: count("last"),
                field: count("field"),
                span: count("span"),
            };
            assert_eq!(turn.sources, sources, "{name}");
            assert_eq!(u64::from(turn.frames), wanted["frames"].as_u64().unwrap(), "{name}");
            assert_eq!(Some(turn.without_echo.into()), wanted["without_echo"].as_u64(), "{name}");
            assert!((turn.turns_per_second - 5.0).abs() < 1e-6, "{name}");
            let points = wanted["points"].as_array().unwrap();
            assert_eq!(turn.points.len(), points.len(), "{name}");
            for (index, (point, wanted)) in turn.points.iter().zip(points).enumerate() {
                let off = |got: f32, at: usize| f64::from(got) - wanted[at].as_f64().unwrap();
                assert!(off(point.degrees, 0).abs() < 2e-3, "{name} {index}: {point:?} {wanted}");
                assert!(off(point.metres(), 1).abs() < 1e-5, "{name} {index}: {point:?} {wanted}");
                assert_eq!(Some(point.sample.quality.into()), wanted[2].as_u64(), "{name}");
            }
        }
    }
}

#[test]
fn the_rules_for_the_spacing_come_in_their_order() {
    let mut spacing = Spacing::default();
    let of = |spacing: &mut Spacing, next, field| spacing.of(0, next, 24, field);
    assert_eq!(of(&mut spacing, None, 0), (1.0, Source::Span));
    assert_eq!(of(&mut spacing, None, 19), (1.0, Source::Span), "under 0.2 degrees is no spacing");
    assert_eq!(of(&mut spacing, None, 201), (1.0, Source::Span), "nor is more than 2");
    assert_eq!(of(&mut spacing, None, -100), (1.0, Source::Span));
    assert_eq!(of(&mut spacing, None, 125), (1.25, Source::Field));
    let (degrees, source) = of(&mut spacing, Some(2160), 125);
    assert!((degrees - 0.9).abs() < 1e-6 && source == Source::Next);
    assert_eq!(of(&mut spacing, None, 125), (degrees, Source::Last));
    assert_eq!(of(&mut spacing, Some(0), 125), (degrees, Source::Last), "the same frame again");
}

#[test]
fn a_lost_frame_does_not_stretch_the_one_before_it() {
    let mut spacing = Spacing::default();
    assert_eq!(spacing.of(0, Some(2400), 24, 0), (1.0, Source::Next));
    assert_eq!(spacing.of(2400, Some(7200), 24, 0), (1.0, Source::Last));
    assert_eq!(spacing.of(7200, Some(9600), 24, 0), (1.0, Source::Next));
    // Loss at the very beginning is made good by the first frame that is followed by its next.
    let mut spacing = Spacing::default();
    assert_eq!(spacing.of(0, Some(4800), 24, 0), (2.0, Source::Next));
    assert_eq!(spacing.of(4800, Some(7200), 24, 0), (1.0, Source::Next));
}

#[test]
fn a_lidar_that_really_changed_is_believed_at_the_third_frame() {
    let mut spacing = Spacing::default();
    assert_eq!(spacing.of(0, Some(2400), 24, 0).1, Source::Next);
    let mut used = Vec::new();
    for frame in 1..5u16 {
        used.push(spacing.of(frame * 2400, Some((frame + 1) * 2400), 12, 0).1);
    }
    assert_eq!(used, [Source::Last, Source::Last, Source::Next, Source::Next]);
}

fn measurement(start: u16, samples: &[[u8; 3]]) -> Measurement<'_> {
    Measurement { speed: 100, offset: 0, start, samples }
}

#[test]
fn what_is_known_to_be_lost_is_not_measured_across() {
    let samples = [[9, 0, 9]; 24];
    let mut turns = Turns::default();
    turns.push(&measurement(0, &samples), false);
    turns.push(&measurement(3000, &samples), true);
    assert_eq!(turns.source(), Some(Source::Span), "not 1.25 degrees");
}

#[test]
fn a_turn_that_was_given_up_is_not_given_out() {
    let samples = [[9, 0, 9]; 24];
    let mut turns = Turns::default();
    let mut complete = 0;
    for frame in 0..40u16 {
        complete +=
            usize::from(turns.push(&measurement(frame % 15 * 2400, &samples), false).is_some());
    }
    assert_eq!(complete, 1, "the first is not whole");
    turns.forget();
    for frame in 10..15u16 {
        assert_eq!(turns.push(&measurement(frame * 2400, &samples), false), None);
    }
    assert_eq!(turns.push(&measurement(0, &samples), false), None, "its beginning was not seen");
}

#[test]
fn a_turn_without_end_is_bounded() {
    let samples = [[9, 0, 9]; 360];
    let mut turns = Turns::default();
    turns.push(&measurement(35_000, &samples), false);
    for _ in 0..100 {
        assert_eq!(turns.push(&measurement(0, &samples), false), None);
    }
    for frame in 0..30u16 {
        if let Some(turn) = turns.push(&measurement(frame % 15 * 2400, &samples), false) {
            assert!(turn.points.len() <= MAX_TURN);
        }
    }
}

proptest! {
    #[test]
    fn any_measurements_make_bounded_turns_of_true_echoes(
        frames in vec((any::<u16>(), any::<i16>(), vec(any::<[u8; 3]>(), 0..40), any::<bool>()), 0..60),
    ) {
        let mut turns = Turns::default();
        for (start, offset, samples, lost) in &frames {
            let measurement = Measurement { speed: 1, offset: *offset, start: *start, samples };
            if let Some(turn) = turns.push(&measurement, *lost) {
                prop_assert!(turn.points.len() <= MAX_TURN);
                for point in turn.points {
                    prop_assert!((0.0..360.0).contains(&point.degrees));
                    prop_assert!(point.sample.has_echo());
                }
            }
        }
    }
}
