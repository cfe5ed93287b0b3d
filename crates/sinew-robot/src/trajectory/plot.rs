use std::fmt::Write;

use sinew_wire::teach::Keyframe;

use super::{Curves, Interpolation, JointMap, Recording};

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

/// A picture of the joints over time: what was recorded as lines, keyframes as dots with dashed
/// lines between them.
pub fn svg(recording: &Recording, keyframes: &[Keyframe], joints: &JointMap) -> String {
    let scale = Scale::new(recording, keyframes);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    scale.axes(&mut out);
    let first = recording.frames().first();
    let curves = first.map(|first| Curves::new(first.positions, keyframes));
    let step = recording.len().div_ceil(MAX_POINTS).max(1);
    let thinned = recording.thinned(step);
    for (slot, (joint, colour)) in joints.joints.iter().zip(COLOURS).enumerate() {
        let line = |value: &dyn Fn(usize) -> f64| {
            let points = thinned.frames().iter().enumerate().map(|(index, frame)| {
                let time = f64::from(frame.time_ms - first.map_or(0, |first| first.time_ms));
                format!("{:.1},{:.1}", scale.x(time), scale.y(value(index)))
            });
            points.collect::<Vec<_>>().join(" ")
        };
        let recorded = |index: usize| {
            let frame = thinned.frames().get(index);
            let value = frame.and_then(|frame| frame.positions.get(slot)).copied();
            f64::from(value.unwrap_or_default())
        };
        let points = line(&recorded);
        let _infallible = writeln!(
            out,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" points=\"{points}\"/>"
        );
        let mut own = keyframes.iter().filter(|keyframe| usize::from(keyframe.joint) == slot);
        if let (Some(curves), true) = (&curves, own.clone().next().is_some()) {
            let start = first.map_or(0, |first| first.time_ms);
            let reduced = |index: usize| {
                let frame = thinned.frames().get(index);
                let time = frame.map_or(0, |frame| frame.time_ms - start);
                let pose = curves.pose(time.into(), Interpolation::Linear);
                f64::from(pose.get(slot).copied().unwrap_or_default())
            };
            let points = line(&reduced);
            let _infallible = writeln!(
                out,
                "<polyline fill=\"none\" stroke=\"{colour}\" stroke-dasharray=\"5 3\" \
                 points=\"{points}\"/>"
            );
        }
        own.by_ref().for_each(|keyframe| {
            let (x, y) = (scale.x(keyframe.time_ms.into()), scale.y(keyframe.value.into()));
            let _infallible =
                writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
        });
        let (x, y) = (WIDTH - RIGHT + 15.0, TOP + 15.0 + 18.0 * slot as f64);
        let _infallible = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{}\" width=\"12\" height=\"4\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"{y}\">{}</text>",
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

    fn axes(&self, out: &mut String) {
        for tick in 0..=4 {
            let part = f64::from(tick) / 4.0;
            let value = self.min + (self.max - self.min) * part;
            let (y, right) = (self.y(value), WIDTH - RIGHT);
            let _infallible = writeln!(
                out,
                "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{value:.2}</text>",
                LEFT - 6.0,
                y + 4.0
            );
            let (x, seconds) = (self.x(self.duration * part), self.duration * part / 1000.0);
            let _infallible = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{seconds:.1} s</text>",
                HEIGHT - BOTTOM + 18.0
            );
        }
        let _infallible = writeln!(out, "<text x=\"6\" y=\"{}\">rad</text>", HEIGHT - 6.0);
    }
}

/// A line of text per joint: name, least and greatest position, and its way in `width` columns of
/// eight heights, from least to greatest. A joint that does not move is a low line.
pub fn terminal(recording: &Recording, joints: &JointMap, width: usize) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let width = width.clamp(1, MAX_POINTS);
    let mut out = String::new();
    for (slot, joint) in joints.joints.iter().enumerate() {
        let value = |pose: [f32; 12]| pose.get(slot).copied().unwrap_or_default();
        let values = recording.frames().iter().map(|frame| value(frame.positions));
        let (min, max) = values
            .fold((f32::INFINITY, f32::NEG_INFINITY), |(min, max), v| (min.min(v), max.max(v)));
        let _infallible = write!(out, "{:<21}", joint.name);
        if min > max {
            out.push_str(" no frames\n");
            continue;
        }
        let _infallible = write!(out, "{min:>7.3} … {max:>6.3} rad  ");
        for column in 0..width {
            let last = width.saturating_sub(1).max(1) as f64;
            let time = f64::from(recording.duration_ms()) * column as f64 / last;
            let pose = recording.pose_at(time as u32).unwrap_or_default();
            let part = f64::from(value(pose) - min) / f64::from((max - min).max(f32::EPSILON));
            let height = (part * 7.0).round().clamp(0.0, 7.0) as usize;
            out.push(BARS.get(height).copied().unwrap_or(' '));
        }
        out.push('\n');
    }
    let _infallible = writeln!(out, "0 to {:.1} s", f64::from(recording.duration_ms()) / 1000.0);
    out
}
