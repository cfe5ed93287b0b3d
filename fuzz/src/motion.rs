//! Motions from files of all three formats, and the plans that are made of them.

use sinew_robot::trajectory::{
    Document, G1_ARMS, Keyframe, MAX_DURATION_MS, MAX_FRAMES, Plan, PlanOptions, Recording,
    from_csv, from_seq, to_csv,
};
use sinew_wire::teach::KEYFRAME_SLOTS;

/// Frames that are planned; more would make an input slow and show nothing new.
const PLANNED: usize = 60;

/// A small motion in each format, behind the byte that says which.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut recording = Recording::new();
    for index in 0..6_u8 {
        let pose = std::array::from_fn(|slot| f32::from(index) * 0.1 - slot as f32 * 0.05);
        let pushed = recording.push(u32::from(index) * 40, pose);
        pushed.expect("times that grow");
    }
    let keyframe = |joint, time_ms| Keyframe { joint, time_ms, value: 0.5 };
    let keyframes = vec![keyframe(3, 0), keyframe(3, 900), keyframe(11, 400)];
    let table = to_csv(&recording, &G1_ARMS);
    let whole = Document { name: "a".into(), created: 1, recording, keyframes: keyframes.clone() };
    let sparse = Document { name: "../b".into(), keyframes, ..Document::default() };
    let row = "- [ 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4 ]";
    let seq = format!(
        "components:\n- content: JointDisplacement\n  frame_rate: 500\n  num_frames: 2\n  \
         num_parts: 14\n  frames:\n  {row}\n  {row}\n"
    );
    let texts = [(0, whole.to_json(&G1_ARMS)), (0, sparse.to_json(&G1_ARMS)), (1, table), (2, seq)];
    texts.iter().map(|(format, text)| [&[*format], text.as_bytes()].concat()).collect()
}

/// What is read is within its bounds, is written and read as itself, and is planned safely.
pub fn exercise(data: &[u8]) {
    let Some((format, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let read = match format % 3 {
        0 => Document::from_json(text, &G1_ARMS).map(|(document, _)| document),
        1 => from_csv(text, &G1_ARMS).map(|imported| imported.recording).map(titled),
        _ => from_seq(text, &G1_ARMS).map(|imported| imported.recording).map(titled),
    };
    match read {
        Ok(document) => check(&document),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn titled(recording: Recording) -> Document {
    Document { name: "x".into(), recording, ..Document::default() }
}

fn check(document: &Document) {
    let recording = &document.recording;
    assert!(recording.len() <= MAX_FRAMES && recording.duration_ms() <= MAX_DURATION_MS);
    let text = document.to_json(&G1_ARMS);
    let (again, dropped) = Document::from_json(&text, &G1_ARMS).expect("what was written");
    assert!(again == *document && dropped.is_empty(), "{text}");
    let table = from_csv(&to_csv(recording, &G1_ARMS), &G1_ARMS).expect("what was written");
    assert_eq!(table.recording, *recording);
    plan(document);
}

/// A robot that plays it never leaves the limits, is never too fast, and never jumps.
fn plan(document: &Document) {
    let frames = if document.recording.is_empty() { 0 } else { PLANNED };
    let options = PlanOptions { speed: 2.0, ..PlanOptions::default() };
    let Ok(plan) = Plan::new(document, frames, options, &G1_ARMS) else { return };
    let mut held = plan.start.map(Option::unwrap_or_default);
    for piece in plan.approach(&[0.4; 12]).iter().chain(&plan.pieces) {
        assert!(piece.keyframes.len() <= KEYFRAME_SLOTS && piece.duration_ms <= u16::MAX.into());
        for pair in piece.keyframes.windows(2).filter(|pair| pair[0].joint == pair[1].joint) {
            let seconds = f32::from(pair[1].time_ms - pair[0].time_ms) / 1000.0;
            let way = (pair[1].value - pair[0].value).abs();
            assert!(way <= options.max_velocity * seconds * 1.001 + 1e-4, "{pair:?}");
        }
    }
    for piece in &plan.pieces {
        for keyframe in &piece.keyframes {
            let slot = usize::from(keyframe.joint);
            assert_eq!(G1_ARMS.joints[slot].clamp(keyframe.value), keyframe.value);
            let jump = (keyframe.value - held[slot]).abs();
            assert!(keyframe.time_ms > 0 || jump <= 1e-4, "{keyframe:?} from {}", held[slot]);
            held[slot] = keyframe.value;
        }
    }
}
