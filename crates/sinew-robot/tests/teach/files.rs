use proptest::prelude::*;
use sinew_robot::trajectory::{
    Document, G1_ARMS, MAX_FRAMES, Recording, from_csv, from_seq, reduce, to_csv,
};

fn recordings() -> impl Strategy<Value = Recording> {
    let pose = prop::array::uniform12(-3.0_f32..3.0);
    prop::collection::vec((1_u32..1000, pose), 0..20).prop_map(|frames| {
        let mut recording = Recording::new();
        let mut time = 0;
        for (step, pose) in frames {
            recording.push(time, pose).unwrap();
            time += step;
        }
        recording
    })
}

/// A file as Unitree's, with what else is in one.
fn seq(frames: &[[f64; 14]]) -> String {
    let mut text = format!(
        "type: CompositeSeq\ncontent: BodyMotion\nformat_version: 4\nframe_rate: 500\n\
         num_frames: {0}\ncomponents:\n  -\n    type: MultiSE3Seq\n    content: LinkPosition\n    \
         frame_rate: 500\n    num_frames: 1\n    num_parts: 1\n    SE3Format: XYZQWQXQYQZ\n    \
         frames:\n      - [ [ 0, 0, nan, 1, 0, 0, 0 ] ]\n  -\n    type: MultiValueSeq\n    \
         content: JointDisplacement\n    frame_rate: 500\n    num_frames: {0}\n    \
         num_parts: 14\n    frames:\n",
        frames.len()
    );
    for frame in frames {
        let cells: Vec<_> = frame.iter().map(|value| format!("{value:e}")).collect();
        text.push_str(&format!("      - [ {} ]\n", cells.join(", ")));
    }
    text.push_str(
        "  -\n    type: Vector3Seq\n    content: ZMP\n    frames:\n      - [ 0, -nan, 0 ]\n",
    );
    text
}

#[test]
fn a_motion_of_the_sdk_loses_the_wrists_yaw_and_says_so() {
    let frames = [0, 1, 2].map(|frame| std::array::from_fn(|part| (part + frame) as f64 / 10.0));
    let imported = from_seq(&seq(&frames), &G1_ARMS).unwrap();
    assert_eq!(imported.dropped, ["21 left_wrist_yaw", "28 right_wrist_yaw"]);
    let frame = imported.recording.frames()[1];
    assert_eq!(frame.time_ms, 2);
    let wanted = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3];
    assert_eq!(frame.positions, wanted);
    assert_eq!(imported.recording.len(), 3);
}

#[test]
fn what_is_wrong_in_a_motion_of_the_sdk_is_named_by_line() {
    let good = seq(&[[0.5; 14], [0.25; 14]]);
    let line = good.lines().position(|line| line.contains("2.5e-1")).unwrap() + 1;
    let number = "2.5e-1";
    for (from, to, wanted) in [
        (number, "nan", "position: wanted a finite number"),
        (number, "x", "position: wanted a number, got x"),
        ("[ 2.5e-1,", "[", "frame: wanted 14 numbers, got 13"),
        ("2.5e-1 ]", "2.5e-1", "frame: wanted [ numbers ] in one line"),
    ] {
        let error = from_seq(&good.replacen(from, to, 1), &G1_ARMS).unwrap_err();
        assert_eq!(error.line, Some(line));
        assert!(error.to_string().contains(wanted), "{error}");
    }
    for (from, to, wanted) in [
        ("num_parts: 14", "num_parts: 29", "num_parts: wanted 14, joints 15 to 28, got 29"),
        ("frame_rate: 500", "frame_rate: 5000", "frame_rate: wanted 1 to 1000"),
        ("JointDisplacement", "Other", "components: wanted"),
        ("num_frames: 2", "num_frames: 3", "frames: wanted 3, as num_frames says, got 2"),
        ("type: Composite", "rubbish Composite", "line 1: line: wanted key: value"),
    ] {
        let error = from_seq(&good.replace(from, to), &G1_ARMS).unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
    }
    assert!(from_seq("", &G1_ARMS).is_err());
}

#[test]
fn a_table_may_have_other_columns_in_any_order() {
    let mut names: Vec<_> = G1_ARMS.joints.iter().map(|joint| joint.name).collect();
    names.reverse();
    let text = format!(
        "# by hand\r\nwaist_yaw, {}, time_ms\r\n\r\n9,12,11,10,9,8,7,6,5,4,3,2,1, 10.4\r\n",
        names.join(", ")
    );
    let imported = from_csv(&text, &G1_ARMS).unwrap();
    assert_eq!(imported.dropped, ["waist_yaw"]);
    let frame = imported.recording.frames()[0];
    assert_eq!(frame.time_ms, 10);
    assert_eq!(frame.positions, std::array::from_fn(|slot| slot as f32 + 1.0));
}

#[test]
fn what_is_wrong_in_a_table_is_named_by_line() {
    let mut recording = Recording::new();
    recording.push(0, [0.5; 12]).unwrap();
    recording.push(20, [0.5; 12]).unwrap();
    let good = to_csv(&recording, &G1_ARMS);
    for (from, to, wanted) in [
        ("\n20,", "\n0,", "line 3: time_ms: wanted more than the frame before, 0 ms, got 0"),
        ("\n20,", "\n-1,", "line 3: time_ms: wanted 0 to"),
        ("\n20,0.5,", "\n20,", "line 3: columns: wanted 13, as in the header, got 12"),
        ("\n20,0.5", "\n20,inf", "line 3: position: wanted a finite number"),
        ("\n20,0.5", "\n20,zero", "line 3: position: wanted a number, got zero"),
        ("left_elbow", "knee", "line 1: header: wanted a column left_elbow"),
        ("left_elbow", "left_wrist_roll", "line 1: header: wanted a column left_elbow"),
        ("time_ms", "left_elbow", "line 1: header: wanted one column left_elbow"),
    ] {
        let error = from_csv(&good.replacen(from, to, 1), &G1_ARMS).unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
    }
    assert!(from_csv("\n\n", &G1_ARMS).is_err());
}

#[test]
fn a_document_is_readable_and_complete() {
    let mut recording = Recording::new();
    for index in 0..10_u8 {
        let mut pose = [0.0; 12];
        pose[3] = f32::from(index) / 10.0;
        recording.push(u32::from(index) * 20, pose).unwrap();
    }
    let keyframes = reduce(&recording, 20).unwrap().keyframes;
    let document =
        Document { name: "say \"hi\"".into(), created: 1_700_000_000, recording, keyframes };
    let text = document.to_json(&G1_ARMS);
    assert!(text.contains("  \"name\": \"say \\\"hi\\\"\",\n"), "{text}");
    assert!(text.contains("\n    [20, 0, 0, 0, 0.1, "), "{text}");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["version"], 1);
    assert_eq!(value["created"], 1_700_000_000);
    assert_eq!(value["duration_ms"], 180);
    assert_eq!(value["joints"][3], "left_elbow");
    assert_eq!(value["keyframes"][0]["joint"], "left_elbow");
    assert_eq!(Document::from_json(&text, &G1_ARMS).unwrap(), (document, vec![]));
}

#[test]
fn what_is_wrong_in_a_document_is_named() {
    let mut document = Document { name: "x".into(), ..Document::default() };
    document.recording.push(0, [0.5; 12]).unwrap();
    document.recording.push(20, [0.5; 12]).unwrap();
    let good = document.to_json(&G1_ARMS);
    for (from, to, wanted) in [
        ("\"created\": 0", "\"created\": x", "line 4: document"),
        ("\"version\": 1", "\"version\": 2", "version: wanted 1, got 2"),
        ("[20, ", "[0, ", "got 0 in frame 1"),
        ("[20, ", "[20.5, ", "time_ms: wanted a whole number from 0, got 20.5 in frame 1"),
        ("[20, 0.5, ", "[20, ", "frames: wanted 13 numbers"),
        ("[20, 0.5", "[20, 1e39", "position: wanted a finite number, got inf in frame 1"),
        ("left_elbow", "knee", "joints: wanted left_elbow among them"),
        (
            "\"keyframes\": []",
            "\"keyframes\": [{\"joint\": \"a\", \"time_ms\": 1, \"value\": 1}]",
            "keyframes: wanted a joint that joints lists, got a",
        ),
    ] {
        let error = Document::from_json(&good.replacen(from, to, 1), &G1_ARMS).unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
    }
}

#[test]
fn a_recording_is_bounded() {
    let mut recording = Recording::new();
    for index in 0..MAX_FRAMES as u32 {
        recording.push(index, [0.0; 12]).unwrap();
    }
    assert!(recording.push(u32::MAX, [0.0; 12]).is_err());
    let mut recording = Recording::new();
    recording.push(0, [0.0; 12]).unwrap();
    assert!(recording.push(600_001, [0.0; 12]).is_err());
    assert!(recording.push(600_000, [f32::NAN; 12]).is_err());
    recording.push(600_000, [0.0; 12]).unwrap();
    let text = "#".repeat((16 << 20) + 1);
    assert!(from_csv(&text, &G1_ARMS).unwrap_err().to_string().contains("at most"));
}

#[test]
fn resampling_keeps_the_way_and_the_end() {
    let mut recording = Recording::new();
    for index in 0..=50_u8 {
        recording.push(100 + u32::from(index) * 2, [f32::from(index) / 50.0; 12]).unwrap();
    }
    let resampled = recording.resampled(30).unwrap();
    let frames: Vec<_> =
        resampled.frames().iter().map(|frame| (frame.time_ms, frame.positions[0])).collect();
    assert_eq!(frames, [(0, 0.0), (30, 0.3), (60, 0.6), (90, 0.9), (100, 1.0)]);
    assert!(recording.resampled(0).is_err());
    assert!(Recording::new().resampled(10).unwrap().is_empty());
    assert_eq!(recording.pose_at(1).unwrap()[0], 0.01);
    assert_eq!(recording.pose_at(u32::MAX).unwrap()[0], 1.0);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tables_and_documents_come_back_as_they_went(
        recording in recordings(), name in "\\PC{0,40}", created in any::<u64>(),
    ) {
        let back = from_csv(&to_csv(&recording, &G1_ARMS), &G1_ARMS).unwrap();
        prop_assert_eq!(&back.recording, &recording);
        let keyframes = reduce(&recording, 20).unwrap().keyframes;
        let document = Document { name, created, recording, keyframes };
        let text = document.to_json(&G1_ARMS);
        prop_assert_eq!(Document::from_json(&text, &G1_ARMS).unwrap().0, document);
    }

    /// Good files with some characters changed, and rubbish: errors, never panics.
    #[test]
    fn no_text_makes_a_reader_panic(
        recording in recordings(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), "\\PC?"), 0..8),
        rubbish in "\\PC{0,200}",
        lines in prop::collection::vec("( *- )?(content: JointDisplacement|frames:|frame_rate: [0-9]{1,12}|num_frames: [0-9]*|\\[[-0-9., na]*\\]|[^\n]{0,20})", 0..20),
    ) {
        let document = Document { recording: recording.clone(), ..Document::default() };
        let frames: Vec<_> = recording.frames().iter().map(|f| [f64::from(f.positions[0]); 14]).collect();
        let good = [to_csv(&recording, &G1_ARMS), document.to_json(&G1_ARMS), seq(&frames)];
        let mut texts = vec![rubbish, lines.join("\n")];
        for text in good {
            let mut characters: Vec<String> = text.chars().map(String::from).collect();
            for (index, change) in &changes {
                *index.get_mut(&mut characters) = change.clone();
            }
            texts.push(characters.concat());
        }
        for text in texts {
            let _any = from_csv(&text, &G1_ARMS);
            let _any = from_seq(&text, &G1_ARMS);
            let _any = Document::from_json(&text, &G1_ARMS);
        }
    }
}
