//! Motions as pictures.

use std::fmt::Write;

use sinew_robot::trajectory::{JointMap, Keyframe, Pose, Recording};

use crate::say::{width, wrapped};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 50.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 15.0;
const BOTTOM: f64 = 35.0;
/// Points of a line: more than the picture has columns show nothing.
const MAX_POINTS: usize = 1000;
const COLOURS: [&str; 12] = [
    "#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f",
    "#bcbd22", "#17becf", "#393b79", "#637939",
];

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// A way in fewer columns than this stands below its legend.
const FEW: usize = 20;
/// A joint that moves less than this stands still, rad.
const STILL: f32 = 0.001;

/// A picture of the joints over time: what was recorded as lines, keyframes as dots with dashed
/// lines between them. Joints that stand still are named in grey.
pub(super) fn svg(recording: &Recording, keyframes: &[Keyframe], joints: &JointMap) -> String {
    let scale = Scale::new(recording, keyframes);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    scale.axes(&mut out);
    let begin = recording.frames().first().map_or(0, |frame| frame.time_ms);
    let thinned = recording.thinned(recording.len().div_ceil(MAX_POINTS).max(1));
    for (slot, (joint, colour)) in joints.joints.iter().zip(COLOURS).enumerate() {
        let recorded = thinned.frames().iter().map(|frame| {
            let value = frame.positions.get(slot).copied().unwrap_or_default();
            (f64::from(frame.time_ms - begin), value)
        });
        let own = keyframes.iter().filter(|keyframe| usize::from(keyframe.joint) == slot);
        let mut kept: Vec<_> = own.map(|key| (f64::from(key.time_ms), key.value)).collect();
        kept.sort_by(|a, b| a.0.total_cmp(&b.0));
        let first = recorded.clone().next().map_or(0.0, |(_, value)| value);
        let moves = recorded.clone().any(|(_, value)| (value - first).abs() > STILL);
        if moves {
            scale.line(&mut out, recorded, &format!("stroke=\"{colour}\" stroke-width=\"1.5\""));
        }
        if !kept.is_empty() {
            let style = format!("stroke=\"{colour}\" stroke-dasharray=\"5 3\"");
            scale.line(&mut out, kept.iter().copied(), &style);
        }
        for (time, value) in &kept {
            let (x, y) = (scale.x(*time), scale.y((*value).into()));
            let _infallible =
                writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
        }
        let (swatch, ink) =
            if moves || !kept.is_empty() { (colour, "black") } else { ("#eee", "#999") };
        let (x, y) = (WIDTH - RIGHT + 15.0, TOP + 15.0 + 18.0 * slot as f64);
        let _infallible = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{}\" width=\"12\" height=\"4\" fill=\"{swatch}\"/>\
             <text x=\"{}\" y=\"{y}\" fill=\"{ink}\">{}</text>",
            y - 6.0,
            x + 18.0,
            joint.name
        );
    }
    out.push_str("</svg>\n");
    out
}

/// From milliseconds and radians to the picture.
struct Scale {
    duration: f64,
    min: f64,
    max: f64,
}

impl Scale {
    fn new(recording: &Recording, keyframes: &[Keyframe]) -> Self {
        let recorded = recording.frames().iter().flat_map(|frame| frame.positions);
        let given = keyframes.iter().map(|keyframe| keyframe.value);
        let values = recorded.chain(given).filter(|value| value.is_finite()).map(f64::from);
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        values.for_each(|value| (min, max) = (min.min(value), max.max(value)));
        if min > max {
            (min, max) = (-1.0, 1.0);
        }
        if max - min < 0.1 {
            (min, max) = (min - 0.05, max + 0.05);
        }
        let last = keyframes.iter().map(|keyframe| u32::from(keyframe.time_ms)).max();
        let duration = recording.duration_ms().max(last.unwrap_or(0)).max(1);
        Scale { duration: duration.into(), min, max }
    }

    fn x(&self, time_ms: f64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * time_ms / self.duration
    }

    fn y(&self, value: f64) -> f64 {
        TOP + (HEIGHT - TOP - BOTTOM) * (self.max - value) / (self.max - self.min)
    }

    fn line(&self, out: &mut String, points: impl Iterator<Item = (f64, f32)>, style: &str) {
        let points: Vec<_> = points
            .map(|(time, value)| format!("{:.1},{:.1}", self.x(time), self.y(value.into())))
            .collect();
        let points = points.join(" ");
        let _infallible = writeln!(out, "<polyline fill=\"none\" {style} points=\"{points}\"/>");
    }

    fn axes(&self, out: &mut String) {
        let right = WIDTH - RIGHT;
        for value in ticks(self.min, self.max) {
            let y = self.y(value);
            let _infallible = writeln!(
                out,
                "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                y + 4.0,
                tidy(value)
            );
        }
        for seconds in ticks(0.0, self.duration / 1000.0) {
            let x = self.x(seconds * 1000.0);
            let _infallible = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{} s</text>",
                HEIGHT - BOTTOM + 18.0,
                tidy(seconds)
            );
        }
        let _infallible = writeln!(out, "<text x=\"6\" y=\"{}\">rad</text>", HEIGHT - 6.0);
    }
}

/// Four to ten round numbers between two.
fn ticks(from: f64, to: f64) -> impl Iterator<Item = f64> {
    let rough = (to - from) / 8.0;
    let ten = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * ten);
    let step = step.into_iter().find(|step| *step >= rough).unwrap_or(rough);
    let first = (from / step).ceil() as i64;
    let last = (to / step).floor() as i64;
    (first..=last).map(move |count| count as f64 * step)
}

/// A tick without the zeros that say nothing.
fn tidy(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// The joints that move, each with its name, least and greatest position, and its way in blocks of
/// eight heights, from least to greatest; then the names of those that do not. No line is longer
/// than `columns`, but for names that are.
pub(super) fn terminal(recording: &Recording, joints: &JointMap, columns: usize) -> String {
    let value = |pose: Pose, slot: usize| pose.get(slot).copied().unwrap_or_default();
    let range = |slot: usize| {
        let values = recording.frames().iter().map(|frame| value(frame.positions, slot));
        values.fold((f32::INFINITY, f32::NEG_INFINITY), |(min, max), v| (min.min(v), max.max(v)))
    };
    let all = joints.joints.iter().enumerate().map(|(slot, joint)| (slot, joint.name, range(slot)));
    let (moving, still): (Vec<_>, Vec<_>) = all.partition(|(_, _, (min, max))| max - min > STILL);
    let longest = moving.iter().map(|(_, name, _)| name.len()).max().unwrap_or_default();
    let mut out = String::new();
    for (slot, name, (min, max)) in moving {
        let legend = format!("{name:<longest$} {min:>7.3} … {max:>6.3} rad");
        let beside = columns.saturating_sub(width(&legend) + 2);
        let (space, room) = match beside < FEW {
            true => ("\n  ", columns.saturating_sub(2)),
            false => ("  ", beside),
        };
        let _infallible = write!(out, "{}{space}", wrapped(&legend, Some(columns), 0, 2));
        let room = room.clamp(1, MAX_POINTS);
        for column in 0..room {
            let last = room.saturating_sub(1).max(1) as f64;
            let time = f64::from(recording.duration_ms()) * column as f64 / last;
            let pose = recording.pose_at(time as u32).unwrap_or_default();
            let part =
                f64::from(value(pose, slot) - min) / f64::from((max - min).max(f32::EPSILON));
            let height = (part * 7.0).round().clamp(0.0, 7.0) as usize;
            out.push(BARS.get(height).copied().unwrap_or(' '));
        }
        out.push('\n');
    }
    let seconds = f64::from(recording.duration_ms()) / 1000.0;
    let _infallible = writeln!(out, "0 to {seconds:.1} s");
    if !still.is_empty() {
        let names: Vec<_> = still.iter().map(|(_, name, _)| *name).collect();
        let text = format!("not moving: {}", names.join(", "));
        let _infallible = writeln!(out, "{}", wrapped(&text, Some(columns), 0, 2));
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use sinew_robot::trajectory::{G1_ARMS, reduce};

    use super::*;

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
    fn the_terminal_shows_the_joints_that_move_at_any_width() {
        for columns in [40, 60, 80, 200] {
            let text = terminal(&wave(600), &G1_ARMS, columns);
            assert!(text.lines().all(|line| width(line) <= columns), "{columns}: {text}");
            let blocks = |c: &char| ('▁'..='█').contains(c);
            let plotted: Vec<_> = text.lines().filter(|line| line.contains('█')).collect();
            let [plot] = plotted[..] else { panic!("{columns}: {text}") };
            assert!(plot.contains('▁') && plot.chars().filter(blocks).count() >= FEW, "{text}");
            assert!(text.starts_with("left_elbow"), "{text}");
            let (_, still) = text.split_once("0 to 12.0 s\nnot moving: ").unwrap();
            assert!(!still.contains("left_elbow"), "{text}");
            assert_eq!(still.matches(',').count(), 10, "{text}");
        }
    }

    #[test]
    fn nothing_and_one_frame_can_be_drawn_too() {
        for recording in [Recording::new(), wave(1)] {
            let picture = svg(&recording, &[], &G1_ARMS);
            assert!(!picture.contains("NaN") && !picture.contains("inf"));
            assert!(terminal(&recording, &G1_ARMS, 0).starts_with("0 to 0.0 s\nnot\n"));
            assert!(terminal(&recording, &G1_ARMS, 80).starts_with("0 to 0.0 s\nnot moving: "));
        }
    }
}
