//! Rows about a robot with a body of its own: stance, arms, services, faults, maps and walks.

use anstyle::Style;
use serde_json::Value;

use super::{LOW, Rows, list};
use crate::{
    output::{DIM, RED, YELLOW, printable},
    words,
};

impl Rows {
    /// What is wrong with it, and whether it is being stopped.
    pub(super) fn alarms(&mut self) {
        let faults = self.take("faults");
        let faults = faults.as_array().into_iter().flatten();
        let faults: Vec<_> = faults.map(|fault| words::text(&fault["text"])).collect();
        if !faults.is_empty() {
            self.push("faults", faults.join("; "), RED, false);
        }
        if let Some(by) = self.take("stopping").as_str() {
            let text = format!("going on: {}", printable(by));
            self.push("stop", text, YELLOW, false);
        }
    }

    /// The battery of a robot that tells it in one.
    pub(super) fn cells(&mut self) {
        if !self.has("battery") {
            return;
        }
        let battery = self.take("battery");
        let percent = battery["percent"].as_f64();
        let is_low = percent.is_some_and(|percent| percent < LOW as f64);
        let percent = percent.map(|percent| format!("{percent:.0} %"));
        let volts = battery["volts"].as_f64().map(|volts| format!("{volts:.1} V"));
        let known: Vec<_> = [percent, volts].into_iter().flatten().collect();
        let text = if known.is_empty() { "-".into() } else { list(known) };
        self.push("battery", text, if is_low { YELLOW } else { Style::new() }, true);
    }

    /// What its legs and its arms do.
    pub(super) fn posture(&mut self) {
        if self.has("fsm") {
            let fsm = self.take("fsm");
            let text = match (&fsm["id"], fsm["name"].as_str()) {
                (Value::Null, _) => "-".into(),
                (id, Some(name)) => format!("{} (state {id})", printable(name)),
                (id, None) => format!("state {id}"),
            };
            let mode = match fsm["mode"].as_i64() {
                None => None,
                Some(0) => Some("stands still".into()),
                Some(1) => Some("moves".into()),
                Some(mode) => Some(format!("mode {mode}")),
            };
            // It moves and stands in turns, and is told for its stance.
            self.live("stance", list([text].into_iter().chain(mode)));
        }
        if self.has("arm") {
            let arm = self.take("arm");
            let moves = !matches!(arm["phase"].as_str(), None | Some("idle"));
            let style = if moves { YELLOW } else { Style::new() };
            self.push(
                "arms",
                if arm.is_null() { "-".into() } else { words::arm(&arm) },
                style,
                false,
            );
        }
    }

    pub(super) fn services(&mut self) {
        if self.has("services") {
            let services = self.take("services");
            let off = services["off"].as_array().into_iter().flatten().map(words::text);
            let off: Vec<_> = off.collect();
            let text = match (services["count"].as_u64(), &off[..]) {
                (None, _) => "-".into(),
                (Some(count), []) => format!("{count}, all on"),
                (Some(count), off) => format!("{count}, of which off: {}", off.join(", ")),
            };
            self.add("services", text);
        }
        let missing = self.take("not_offered");
        let missing = missing.as_array().into_iter().flatten().map(words::text);
        let missing: Vec<_> = missing.collect();
        if !missing.is_empty() {
            let text = format!("the robot does not tell {}", missing.join(", "));
            self.push("missing", text, DIM, false);
        }
    }

    /// Maps, and the way in them.
    pub(super) fn mapping(&mut self) {
        let mapping = self.take("mapping");
        let count = |name: &str| mapping[name].as_u64().filter(|count| *count > 0);
        let clouds = count("clouds").map(|clouds| format!("{clouds} clouds"));
        let points = mapping["last_cloud"]["points"].as_u64();
        let last = points.map(|points| format!("the last of {points} points"));
        let rejected = count("clouds_rejected").map(|count| format!("{count} not taken"));
        let voxels = count("voxel_maps").map(|count| format!("{count} voxel maps not taken"));
        let active = mapping["active"] == true;
        let on = if active { "on" } else { "off" };
        let items = [Some(on.into()), clouds, last, rejected, voxels];
        let style = if active { YELLOW } else { Style::new() };
        self.push("mapping", list(items.into_iter().flatten()), style, false);
        self.add("map", mapping["map"].as_str().map_or("-".into(), printable));
        let walk = match (mapping["walking"] == true, mapping["paused"] == true) {
            (_, true) => Some("paused"),
            (true, false) => Some("on its way"),
            (false, false) => None,
        };
        if let Some(walk) = walk {
            let percent = mapping["percent"].as_f64().map(|percent| format!("{percent:.0} %"));
            let items = [walk.to_owned()].into_iter().chain(percent);
            self.push("walk", list(items), YELLOW, false);
        }
        if self.has("pose") {
            let pose = self.take("pose");
            self.live("pose", words::place(&pose).unwrap_or("-".into()));
        }
    }
}
