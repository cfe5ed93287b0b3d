//! What there is to tell about a robot, in rows: by what it can do and by what it tells, never by
//! its kind.

mod rows;

use anstyle::Style;
pub(crate) use rows::rows;
use sinew_api::RobotReport;

use crate::{
    output::{BOLD, DIM, printable},
    text::{Line, cut, width, wrap},
    words,
};

/// Where the values stand.
const VALUES: usize = 13;
/// Of a name, at least so much is shown.
const LEAST_NAME: usize = 8;

/// Something about a robot.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) label: &'static str,
    pub(crate) text: String,
    pub(crate) style: Style,
    /// Short texts of the same width, in columns below.
    cells: Vec<String>,
    /// It changes now and then, and no event tells that.
    pub(crate) steady: bool,
}

/// A robot's name and how it can be reached, in a line. Of a long name the end is left out.
pub(crate) fn headline(robot: &RobotReport, width: usize) -> Line {
    let (kind, state) = (printable(&robot.kind), printable(&robot.link.state));
    let kind = Line::new(DIM, format!(" ({kind})"));
    let rest = kind.with(words::link_style(&state), format!("  {state}"));
    let name = cut(&printable(&robot.name), width.saturating_sub(rest.width()).max(LEAST_NAME));
    Line::new(BOLD, name).joined(rest).cut(width)
}

impl Row {
    /// The row in lines of at most this width.
    pub(crate) fn lines(&self, width: usize) -> Vec<Line> {
        let indent = " ".repeat(VALUES);
        let texts = wrap(&self.text, width.saturating_sub(VALUES));
        let mut lines: Vec<_> = texts.into_iter().map(|text| (indent.clone(), text)).collect();
        if let Some((label, _)) = lines.first_mut() {
            *label = format!("  {:<10} ", self.label);
        }
        // In a file, too, a line of cells is one that can be read.
        let room = width.min(80).saturating_sub(4);
        lines.extend(grid(&self.cells, room).map(|line| ("    ".into(), line)));
        let line = |(label, text)| Line::new(DIM, label).with(self.style, text).cut(width);
        lines.into_iter().map(line).collect()
    }

    /// The columns it takes in one line; none if it takes more than a line.
    pub(crate) fn width(&self) -> Option<usize> {
        self.cells.is_empty().then(|| VALUES + width(&self.text))
    }
}

/// Cells in as many columns as fit, one column after the other.
fn grid(cells: &[String], width: usize) -> impl Iterator<Item = String> {
    const GAP: usize = 3;
    let cell = cells.iter().map(|cell| self::width(cell)).max().unwrap_or(0);
    let columns = (width.saturating_add(GAP) / (cell + GAP)).clamp(1, cells.len().max(1));
    let lines = cells.len().div_ceil(columns);
    (0..lines).map(move |line| {
        let cells: Vec<_> = cells.iter().skip(line).step_by(lines).map(String::as_str).collect();
        cells.join(&" ".repeat(GAP))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::output::{RED, YELLOW};

    fn robot(changes: Value) -> RobotReport {
        let mut robot = json!({
            "name": "a", "kind": "b", "link": { "state": "ready" }, "holder": null,
            "capabilities": ["drive", "components", "sensors", "teach"], "sensors": [],
            "stopped_by": null, "last_seen_ms": 4, "fresh": true, "state": {},
        });
        for (member, value) in changes.as_object().expect("is an object") {
            robot[member] = value.clone();
        }
        serde_json::from_value(robot).expect("is a report")
    }

    fn text(robot: &RobotReport, width: usize) -> String {
        let rows = rows(robot);
        let lines = rows.iter().flat_map(|row| row.lines(width));
        lines.map(|line| line.plain() + "\n").collect()
    }

    #[test]
    fn rows_follow_what_a_robot_can_do_and_tells() {
        let state = json!({
            "battery_percent": 3, "battery_volts": 13.56, "is_charging": false,
            "bumper_left": true, "bumper_right": false,
            "cliff_left_front": false, "cliff_right_side": false,
            "dustbox_attached": false, "start_button": false, "dock_button": true,
            "is_dock_connected": false, "dock": { "x": 1.0, "y": -2.0 },
            "docking": "approach", "dock_distance_m": 0.456,
            "version": "v1", "version_code": 7,
            "velocity": { "linear": 0.2, "angular": -0.5 }, "mode": 2,
            "pose": { "x": 1.0, "y": 2.0, "heading": 3.0 }, "distance": 4.0,
            "vacuum": 10, "main_brush": 20, "side_brush": 30, "lidar": null, "led": 6,
            "teaching": true, "recording": true, "recording_name": "wave",
            "recorded_frames": 12, "recorded_ms": 600,
            "playing": { "id": 3, "name": null, "elapsed_ms": 1200, "duration_ms": 3000 },
            "positions": { "left_elbow": 0.5, "right_elbow": -1.25, "waist": 0.125 },
            "velocities": {},
            "counters": { "frames": 8, "bad_checks": 0, "sent": 9 },
            "lamp": 40, "scanning": true,
        });
        let all = text(&robot(json!({ "state": state, "holder": "ann" })), usize::MAX);
        let wanted = "  stopped by -
  battery    3 %, 13.6 V, not charging
  bumpers    left pressed
  cliffs     none
  velocity   0.20 m/s, -0.50 rad/s
  pose       x 1.000 m, y 2.000 m, 3.000 rad, 4.00 m driven
  docking    backing onto the dock, 0.46 m left
  dock       not connected, at x 1.00 m, y -2.00 m
  teaching   on: the arms are soft, mode 2
  recording  on, \"wave\", 12 frames, 0.6 s
  playing    action 3, 1.2 of 3.0 s
  joints     left and right, rad
    elbow  0.50 -1.25   waist  0.12
  dustbox    missing
  buttons    dock pressed
  outputs    vacuum 10 %, main brush 20 %, side brush 30 %, lidar off, LED 6
  firmware   v1, code 7
  other      lamp 40, scanning true
  holder     ann
  seen       just now
  line       8 frames, 9 sent
";
        assert_eq!(all, wanted);
        // A robot that tells less has fewer rows.
        let little = robot(json!({ "capabilities": [], "state": { "lamp": 1 } }));
        let wanted = "  other      lamp 1\n  holder     -\n  seen       just now\n";
        assert_eq!(text(&little, usize::MAX), wanted);
    }

    #[test]
    fn a_robot_with_a_body_has_rows_for_it() {
        let fault = json!({ "time": 1, "source": 300, "code": 4, "text": "motor 3 is hot" });
        let state = json!({
            "arm": { "holding": false, "id": 100, "name": "wave", "phase": "playing" },
            "fsm": { "id": 500, "name": "walking", "mode": 1 },
            "battery": { "percent": 12.4, "volts": null },
            "services": { "count": 9, "off": ["ota_box", "chat"] },
            "faults": [fault], "recording": false, "playing": null, "stopping": "stopped by ann",
            "mapping": {
                "active": true, "map": null, "walking": true, "paused": false, "percent": 41.6,
                "clouds": 120, "clouds_rejected": 2, "voxel_maps": 0,
                "last_cloud": { "points": 906, "bounds": {} },
            },
            "pose": { "x": 1.0, "y": -0.5, "z": 0.0, "yaw": -0.001 },
            "not_offered": ["rt/lf/lowstate"],
        });
        let capabilities = json!(["teach", "mapping"]);
        let robot = robot(json!({ "state": state, "capabilities": capabilities }));
        let wanted = "  faults     motor 3 is hot
  stop       going on: stopped by ann
  battery    12 %
  stance     walking (state 500), moves
  arms       playing \"wave\"
  recording  off
  playing    -
  mapping    on, 120 clouds, the last of 906 points, 2 not taken
  map        -
  walk       on its way, 42 %
  pose       x 1.00 m, y -0.50 m, facing 0°
  services   9, of which off: ota_box, chat
  missing    the robot does not tell rt/lf/lowstate
  holder     -
  seen       just now
";
        assert_eq!(text(&robot, usize::MAX), wanted);
        let styled =
            |label| rows(&robot).iter().find(|row| row.label == label).map(|row| row.style);
        assert_eq!(styled("faults"), Some(RED));
        assert_eq!(styled("battery"), Some(YELLOW), "it does not last");
        // What a robot does not say is no alarm, and a state without a name has its number.
        let state = json!({
            "arm": null, "fsm": { "id": 77, "name": null, "mode": null }, "battery": null,
            "services": null, "faults": [], "stopping": null, "mapping": { "paused": true },
            "pose": null, "not_offered": [],
        });
        let robot = self::robot(json!({ "state": state, "capabilities": ["mapping"] }));
        let wanted = "  battery    -
  stance     state 77
  arms       -
  mapping    off
  map        -
  walk       paused
  pose       -
  services   -
  holder     -
  seen       just now
";
        assert_eq!(text(&robot, usize::MAX), wanted);
    }

    #[test]
    fn what_is_stale_or_unknown_never_looks_fresh() {
        let state = json!({ "battery_percent": 50, "bumper_left": true, "cliff_left_side": null });
        let link = json!({ "state": "lost", "reason": "it went" });
        let changes = json!({
            "fresh": false, "last_seen_ms": 3210, "link": link, "state": state,
            "capabilities": [], "links": { "lidar": { "state": "booting", "step": 7 } },
        });
        let robot = robot(changes);
        let wanted = "  link       lost: it went
  link       lidar: booting (step 7 of 19)
  seen       last seen 3.2 s ago: what it told is stale
  battery    50 %, - V (stale)
  bumpers    left pressed (stale)
  cliffs     -
  holder     -
";
        assert_eq!(text(&robot, usize::MAX), wanted);
        let bumpers = rows(&robot).into_iter().find(|row| row.label == "bumpers");
        assert_eq!(bumpers.map(|row| row.style), Some(DIM), "no alarm of the past");
    }

    #[test]
    fn no_line_is_wider_than_it_may_be() {
        let long =
            "机器人 with\u{1b}[2J a name that goes on_and_on_and_on_without_a_space_for_long";
        let changes = json!({
            "name": long, "holder": long, "stopped_by": long,
            "link": { "state": "failed", "step": 3, "reason": long },
            "state": {
                "battery_percent": 100, "velocity": {}, "pose": {}, "version": long,
                "positions": { "left_shoulder_pitch": -1.0, "right_shoulder_pitch": 1e9 },
                (long): { "x": [1, 2, 3] },
            },
        });
        let robot = robot(changes);
        for columns in 1..=200 {
            for line in rows(&robot).iter().flat_map(|row| row.lines(columns)) {
                assert!(line.width() <= columns, "{line:?} at {columns}");
                assert!(!line.plain().contains('\u{1b}'));
            }
        }
        // At a width that is meant, nothing is lost either.
        let flat = |text: &str| text.replace([' ', '\n'], "");
        let (narrow, wide) = (text(&robot, 40), text(&robot, usize::MAX));
        assert_eq!(flat(&narrow), flat(&wide));
    }
}
