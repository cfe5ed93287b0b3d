//! A robot's report and state, row by row.

mod body;

use anstyle::Style;
use serde_json::{Map, Value};
use sinew_api::RobotReport;
use sinew_robot::capability::Capability;

use super::Row;
use crate::{
    output::{DIM, GREEN, RED, YELLOW, printable},
    text::{tied, width},
    words,
};

/// A charge that does not last, percent.
const LOW: u64 = 15;

/// All there is to tell; what matters most comes first.
pub(crate) fn rows(robot: &RobotReport) -> Vec<Row> {
    let mut rows = Rows { rows: Vec::new(), state: robot.state.clone(), fresh: true };
    let has = |capability| robot.capabilities.contains(&capability);
    rows.links(robot);
    if !robot.fresh {
        rows.seen(robot);
    }
    if has(Capability::Drive) || robot.stopped_by.is_some() {
        rows.stopped(robot.stopped_by.as_deref());
    }
    rows.fresh = robot.fresh;
    rows.alarms();
    rows.battery();
    rows.cells();
    rows.hazards();
    if has(Capability::Drive) {
        rows.motion();
    }
    rows.dock();
    rows.posture();
    if has(Capability::Teach) {
        rows.teaching();
    }
    if has(Capability::Mapping) {
        rows.mapping();
    }
    rows.joints();
    rows.contacts();
    if has(Capability::Components) {
        rows.outputs();
    }
    rows.scan();
    rows.firmware();
    rows.services();
    rows.others();
    rows.fresh = true;
    rows.add("holder", robot.holder.as_deref().map_or("-".into(), printable));
    if robot.fresh {
        rows.seen(robot);
    }
    rows.counters();
    rows.rows
}

/// Rows that are being made of a state, whose members are taken as they are told.
struct Rows {
    rows: Vec<Row>,
    state: Map<String, Value>,
    fresh: bool,
}

impl Rows {
    fn push(&mut self, label: &'static str, text: String, style: Style, steady: bool) {
        let known = text != "-";
        let (text, style) = match self.fresh || !known {
            true => (text, style),
            false => (format!("{text} (stale)"), DIM),
        };
        self.rows.push(Row { label, text, style, cells: Vec::new(), steady });
    }

    fn add(&mut self, label: &'static str, text: String) {
        self.push(label, text, Style::new(), true);
    }

    /// What always changes.
    fn live(&mut self, label: &'static str, text: String) {
        self.push(label, text, Style::new(), false);
    }

    /// A member of the state; null where there is none.
    fn take(&mut self, name: &str) -> Value {
        self.state.remove(name).unwrap_or_default()
    }

    fn has(&self, name: &str) -> bool {
        self.state.contains_key(name)
    }

    /// Which of these flags are set; none when that is not known.
    fn flags<'a>(&mut self, names: &[(&str, &'a str)]) -> Option<Vec<&'a str>> {
        let flags: Vec<_> =
            names.iter().map(|(name, word)| (self.take(name).as_bool(), *word)).collect();
        let known = flags.iter().any(|(flag, _)| flag.is_some());
        let set = flags.into_iter().filter(|(flag, _)| *flag == Some(true));
        known.then(|| set.map(|(_, word)| word).collect())
    }

    /// Links that have more to say than their state, and those of further drivers.
    fn links(&mut self, robot: &RobotReport) {
        let said = words::link(&robot.link);
        if said != printable(&robot.link.state) {
            self.push("link", said, words::link_style(&robot.link.state), false);
        }
        for (name, link) in &robot.links {
            let said = format!("{}: {}", printable(name), words::link(link));
            self.push("link", said, words::link_style(&link.state), true);
        }
    }

    fn seen(&mut self, robot: &RobotReport) {
        let ago = |ms: u64| tied(&format!("{:.1} s ago", ms as f64 / 1000.0));
        match (robot.last_seen_ms, robot.fresh) {
            (None, _) => self.push("seen", "never".into(), YELLOW, false),
            (Some(..1000), true) => self.live("seen", "just now".into()),
            (Some(ms), true) => self.live("seen", ago(ms)),
            (Some(ms), false) => {
                let text = format!("last seen {}: what it told is stale", ago(ms));
                self.push("seen", text, YELLOW, false);
            }
        }
    }

    fn stopped(&mut self, by: Option<&str>) {
        match by {
            Some(by) => self.push("stopped by", printable(by), YELLOW, false),
            None => self.live("stopped by", "-".into()),
        }
    }

    fn battery(&mut self) {
        if !self.has("battery_percent") {
            return;
        }
        let charging = self.flags(&[("is_charging", "charging")]).map(|set| !set.is_empty());
        let volts = number(&self.take("battery_volts"), 1);
        let Some(percent) = self.take("battery_percent").as_u64() else {
            return self.add("battery", "-".into());
        };
        let (charge, style) = match charging {
            Some(true) => (Some("charging"), GREEN),
            _ if percent < LOW => (Some("not charging"), YELLOW),
            Some(false) => (Some("not charging"), Style::new()),
            None => (None, Style::new()),
        };
        let items = [format!("{percent} %"), format!("{volts} V")];
        self.push("battery", list(items.into_iter().chain(charge.map(Into::into))), style, true);
    }

    fn dock(&mut self) {
        let docking = self.take("docking");
        let distance = self.take("dock_distance_m").as_f64();
        if !docking.is_null() {
            let left = distance.map(|metres| format!("{metres:.2} m left"));
            let items = std::iter::once(words::dock_phase(&docking)).chain(left);
            let text = items.collect::<Vec<_>>().join(", ");
            self.push("docking", text, YELLOW, false);
        }
        if !self.has("is_dock_connected") {
            return;
        }
        let place = self.take("dock");
        let text = match self.flags(&[("is_dock_connected", "")]) {
            None => "-".into(),
            Some(set) if !set.is_empty() => "connected".into(),
            Some(_) if place.is_null() => "not connected, place not known".into(),
            Some(_) => {
                let [x, y] = ["x", "y"].map(|axis| number(&place[axis], 2));
                list(["not connected".into(), format!("at x {x} m"), format!("y {y} m")])
            }
        };
        self.add("dock", text);
    }

    fn hazards(&mut self) {
        let bumpers = [("bumper_left", "left"), ("bumper_right", "right")];
        self.hazard("bumpers", &bumpers, "free", " pressed");
        let cliffs = [
            ("cliff_left_side", "left side"),
            ("cliff_left_front", "left front"),
            ("cliff_right_front", "right front"),
            ("cliff_right_side", "right side"),
        ];
        self.hazard("cliffs", &cliffs, "none", "");
    }

    fn hazard(&mut self, label: &'static str, names: &[(&str, &str)], fine: &str, is: &str) {
        if !names.iter().any(|(name, _)| self.has(name)) {
            return;
        }
        match self.flags(names) {
            None => self.add(label, "-".into()),
            Some(flags) if flags.is_empty() => self.add(label, fine.into()),
            Some(flags) => self.push(label, format!("{}{is}", flags.join(", ")), RED, true),
        }
    }

    fn contacts(&mut self) {
        if self.has("dustbox_attached") {
            match self.flags(&[("dustbox_attached", "")]) {
                None => self.add("dustbox", "-".into()),
                Some(set) if set.is_empty() => self.push("dustbox", "missing".into(), YELLOW, true),
                Some(_) => self.add("dustbox", "in place".into()),
            }
        }
        if self.has("start_button") || self.has("dock_button") {
            let pressed = self.flags(&[("start_button", "start"), ("dock_button", "dock")]);
            let pressed = pressed.map(|set| match set.is_empty() {
                true => "none pressed".into(),
                false => format!("{} pressed", set.join(" and ")),
            });
            self.add("buttons", pressed.unwrap_or("-".into()));
        }
    }

    fn motion(&mut self) {
        let velocity = self.take("velocity");
        let [linear, angular] = ["linear", "angular"].map(|member| number(&velocity[member], 2));
        self.add("velocity", list([format!("{linear} m/s"), format!("{angular} rad/s")]));
        let pose = self.take("pose");
        let [x, y, heading] = ["x", "y", "heading"].map(|member| number(&pose[member], 3));
        let distance = self.take("distance").as_f64();
        let items = [format!("x {x} m"), format!("y {y} m"), format!("{heading} rad")];
        let driven = distance.map(|metres| format!("{metres:.2} m driven"));
        self.live("pose", list(items.into_iter().chain(driven)));
    }

    fn teaching(&mut self) {
        // A robot that makes its arms soft by itself does not tell it.
        if self.has("teaching") {
            let mode = self.take("mode");
            let on = self.take("teaching") == true;
            let soft = if on { "on: the arms are soft" } else { "off" };
            let mode = mode.as_u64().map(|mode| format!("mode {mode}"));
            let text = list([soft.to_owned()].into_iter().chain(mode));
            self.push("teaching", text, if on { YELLOW } else { Style::new() }, false);
        }
        let running = self.take("recording") == true;
        let name = self.take("recording_name");
        let (frames, ms) = (self.take("recorded_frames"), self.take("recorded_ms"));
        let name = name.as_str().map(|name| format!("\"{}\"", printable(name)));
        let frames = frames.as_u64().filter(|frames| *frames > 0);
        let length = frames.map(|frames| format!("{frames} frames, {} s", seconds(&ms)));
        let on = if running { "on" } else { "off" };
        self.live("recording", list([on.to_owned()].into_iter().chain(name).chain(length)));
        let playing = self.take("playing");
        let text = match &playing {
            Value::Null => "-".into(),
            playing => {
                let whole = playing["duration_ms"].as_u64().map(|_| &playing["duration_ms"]);
                let of = whole.map_or(String::new(), |whole| format!(" of {}", seconds(whole)));
                let elapsed = seconds(&playing["elapsed_ms"]);
                list([words::action(playing), format!("{elapsed}{of} s")])
            }
        };
        self.live("playing", text);
    }

    /// Joints by name, those of the left and the right side together.
    fn joints(&mut self) {
        self.take("velocities");
        if !self.has("positions") {
            return;
        }
        let positions = self.take("positions");
        let Some(joints) = positions.as_object() else {
            return self.live("joints", "-".into());
        };
        let cells = joint_cells(joints);
        let paired = joints.len() > cells.len();
        self.live("joints", if paired { "left and right, rad" } else { "rad" }.into());
        if let Some(row) = self.rows.last_mut() {
            row.cells = cells;
        }
    }

    fn outputs(&mut self) {
        let mode = self.take("mode").as_u64().map(|mode| format!("motor mode {mode}"));
        let names = ["vacuum", "main_brush", "side_brush"];
        let powers = names.map(|name| (words::spaced(name), self.take(name).as_u64()));
        let power = |(name, percent): (String, Option<u64>)| Some(format!("{name} {} %", percent?));
        let lidar = self.has("lidar").then(|| match self.take("lidar").as_u64() {
            Some(percent) => format!("lidar {percent} %"),
            None => "lidar off".into(),
        });
        // Most robots have none.
        let pump = self.take("water_pump").as_u64().filter(|percent| *percent > 0);
        let pump = pump.map(|percent| format!("water pump {percent} %"));
        let led = self.take("led").as_u64().map(|led| format!("LED {led}"));
        let powers = powers.into_iter().filter_map(power);
        let items: Vec<_> = powers.chain(pump).chain(lidar).chain(led).chain(mode).collect();
        if !items.is_empty() {
            self.add("outputs", list(items));
        }
    }

    /// What a lidar does; nothing while it is silent.
    fn scan(&mut self) {
        let scan = self.take("scan");
        let Some(turns) = scan["turns_per_second"].as_f64() else { return };
        let points = scan["points"].as_u64().filter(|points| *points > 0);
        let points = points.map(|points| format!("{points} echoes a turn"));
        let unchecked = (scan["check"] == "never_fits").then(|| "unchecked".into());
        let items = [format!("{turns:.1} turns/s")].into_iter().chain(points).chain(unchecked);
        self.live("lidar", list(items));
    }

    fn firmware(&mut self) {
        if !self.has("version") {
            return;
        }
        let (version, code) = (self.take("version"), self.take("version_code"));
        let code = code.as_i64().map(|code| format!("code {code}"));
        self.add("firmware", list([words::text(&version)].into_iter().chain(code)));
    }

    /// What has no row of its own.
    fn others(&mut self) {
        let counters = self.state.remove_entry("counters");
        let others = std::mem::take(&mut self.state);
        self.state.extend(counters);
        let others = others.iter();
        let others: Vec<_> = others
            .map(|(name, value)| format!("{} {}", words::spaced(name), words::text(value)))
            .collect();
        if !others.is_empty() {
            self.add("other", list(others));
        }
    }

    /// What went over the wire: counted by the daemon, and so never stale.
    fn counters(&mut self) {
        let counters = self.take("counters");
        let counted = counters.as_object().into_iter().flatten();
        let counted = counted.filter(|(_, count)| count.as_u64() != Some(0));
        let counted: Vec<_> = counted
            .map(|(name, count)| format!("{} {}", words::text(count), words::spaced(name)))
            .collect();
        if !counted.is_empty() {
            self.live("line", list(counted));
        }
    }
}

fn joint_cells(joints: &Map<String, Value>) -> Vec<String> {
    let twin = |name: &str, side: &str, other: &str| {
        let twin = format!("{other}{}", name.strip_prefix(side)?);
        joints.get(&twin)
    };
    let mut cells = Vec::new();
    for (name, position) in joints {
        if twin(name, "right_", "left_").is_some() {
            continue;
        }
        let right = twin(name, "left_", "right_");
        let part = name.strip_prefix("left_").filter(|_| right.is_some()).unwrap_or(name);
        let sides = [Some(position), right].into_iter().flatten();
        let sides: Vec<_> = sides.map(|side| format!("{:>5}", number(side, 2))).collect();
        cells.push((words::spaced(part), sides.join(" ")));
    }
    let widest = cells.iter().map(|(part, _)| width(part)).max().unwrap_or(0);
    let pad = |part: &str| " ".repeat(widest - width(part));
    cells.iter().map(|(part, sides)| format!("{part}{} {sides}", pad(part))).collect()
}

/// Items of a list, which stay whole where lines are broken.
fn list(items: impl IntoIterator<Item = String>) -> String {
    items.into_iter().map(|item| tied(&item)).collect::<Vec<_>>().join(", ")
}

fn number(value: &Value, digits: usize) -> String {
    value.as_f64().map_or("-".into(), |number| format!("{number:.digits$}"))
}

fn seconds(ms: &Value) -> String {
    ms.as_f64().map_or("-".into(), |ms| format!("{:.1}", ms / 1000.0))
}
