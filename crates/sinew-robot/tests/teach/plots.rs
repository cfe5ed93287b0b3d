use sinew_robot::trajectory::{G1_ARMS, Recording, reduce, svg, terminal};

fn wave(frames: u32) -> Recording {
    let mut recording = Recording::new();
    for index in 0..frames {
        let mut pose = [0.0; 12];
        pose[3] = (index as f32 * 0.01).sin();
        recording.push(index * 20, pose).unwrap();
    }
    recording
}

#[test]
fn a_picture_has_every_joint_and_keyframe() {
    let recording = wave(3000);
    let keyframes = reduce(&recording, 20).unwrap().keyframes;
    let picture = svg(&recording, &keyframes, &G1_ARMS);
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
    assert!(G1_ARMS.joints.iter().all(|joint| picture.contains(joint.name)));
    assert_eq!(picture.matches("<circle").count(), keyframes.len());
    assert_eq!(picture.matches("<polyline").count(), 2, "the one that moves, and it reduced");
    assert!(!picture.contains("NaN") && !picture.contains("inf"));
    assert!(picture.len() < 400_000, "{}", picture.len());
}

#[test]
fn the_terminal_shows_a_line_per_joint() {
    let text = terminal(&wave(600), &G1_ARMS, 40);
    assert_eq!(text.lines().count(), 13);
    let elbow = text.lines().find(|line| line.starts_with("left_elbow")).unwrap();
    assert!(elbow.contains('█') && elbow.contains('▁'), "{text}");
    assert_eq!(elbow.chars().filter(|c| ('▁'..='█').contains(c)).count(), 40);
    assert!(text.ends_with("0 to 12.0 s\n"));
}

#[test]
fn nothing_and_one_frame_can_be_drawn_too() {
    for recording in [Recording::new(), wave(1)] {
        let picture = svg(&recording, &[], &G1_ARMS);
        assert!(!picture.contains("NaN") && !picture.contains("inf"));
        assert_eq!(terminal(&recording, &G1_ARMS, 0).lines().count(), 13);
    }
}
