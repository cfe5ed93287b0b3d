//! Events and links in words.

use anstyle::Style;
use serde_json::Value;
use sinew_api::LinkReport;
use sinew_robot::shown;

use crate::output::{GREEN, RED, YELLOW, printable, printable_json};

/// What an event says, in a sentence; one that is not known, as it came.
pub(crate) fn sentence(event: &Value) -> String {
    let text = |member: &str| text(&event[member]);
    let by = || text("by");
    match event["event"].as_str().unwrap_or_default() {
        "link" => link_event(event),
        "boot_step" => format!("booting, step {} of 19: {}", text("step"), text("what")),
        "boot_done" => "booted: the controller takes commands".into(),
        "boot_failed" => format!("boot failed at step {}: {}", text("step"), text("reason")),
        // As in all of these, a client or a rule: "link lost", "ann disconnected".
        "stopped" => format!("stopped by {}", by()),
        "enabled" => format!("enabled ({}): the wheels may turn", by()),
        "reflex" => format!("{}: forward motion was stopped", hazards(&event["what"])),
        "deadman_expired" => {
            "dead-man expired: no fresh velocity came, so the wheels were stopped".into()
        }
        "held" => {
            format!(
                "{} may hold its velocity for {} ms without repeating it",
                by(),
                text("hold_ms")
            )
        }
        "hold_ended" => match event["reason"].as_str() {
            Some("expired") => "a velocity was held for as long as it may be: stopped".into(),
            Some("unreachable") => {
                "the client that held a velocity is out of reach: stopped".into()
            }
            _ => "the client that held a velocity may not do so any more: stopped".into(),
        },
        "scaled" => format!(
            "{} wants to go faster than it may: its speeds are scaled by {:.2}",
            by(),
            event["factor"].as_f64().unwrap_or(1.0)
        ),
        "repeats" => {
            format!("{} repeats its velocities: each counts for {} ms", by(), text("deadman_ms"))
        }
        "dock" => dock_event(event),
        "imu_state" => format!("the IMU's calibration state is {}", text("value")),
        "compass_state" => format!("the compass answered {}", hex(&event["payload"])),
        "lidar_state" => format!("the lidar's state is {}", hex(&event["bytes"])),
        "lidar_check" => match event["check"].as_str() {
            Some("proven") => {
                "the lidar's check is the sum of its bytes: others are dropped".into()
            }
            Some("never_fits") => {
                "the lidar's check is not the sum of its bytes: what it sends is taken unchecked"
                    .into()
            }
            _ => "whether the lidar's check is the sum of its bytes is not known yet".into(),
        },
        "lidar_unknown" => format!(
            "a frame of the lidar that no reader describes: {} {}",
            hex(&event["command"]),
            hex(&event["payload"])
        ),
        "synced" => "the controller answered the protocol's wake-up".into(),
        "unknown" => format!(
            "a frame that no document describes: {} {}",
            hex(&event["command"]),
            hex(&event["payload"])
        ),
        "teaching" if event["on"] == true => {
            format!("teaching began ({}): the arms are soft", by())
        }
        "teaching" => format!("teaching ended ({}): the arms are stiff again", by()),
        "recording" if event["on"] == true => format!("recording{} began ({})", named(event), by()),
        "recording" => {
            format!("recording{} ended ({}), {} frames", named(event), by(), text("frames"))
        }
        "foreign_recording" => {
            format!("the robot records{}, and was not asked to from here", named(event))
        }
        "recording_long" => format!(
            "the recording lasts {} s, longer than the vendor's app lets one get",
            text("seconds")
        ),
        "arm" => format!("arms: {}", arm(event)),
        "stop_ended" if event["confirmed"] == true => format!("ended ({}): {}", by(), text("why")),
        "stop_ended" => format!("the end is not confirmed ({}): {}", by(), text("why")),
        "fault" if event["on"] == true => format!("fault: {}", text("text")),
        "fault" => format!("no longer a fault: {}", text("text")),
        "not_offered" => format!("the robot does not tell {}", text("topic")),
        "mapping" if event["on"] == true => format!("mapping began ({})", by()),
        "mapping" => format!("mapping ended ({})", by()),
        "cloud_rejected" => {
            format!("clouds that were not taken: {}: {}", text("count"), text("why"))
        }
        "walking" => match place(&event["to"]) {
            Some(goal) => format!("walking to {goal}"),
            None => "walking, and was not asked to from here".into(),
        },
        "recording_full" => {
            format!("the recording is full: what follows its {} frames is not kept", text("frames"))
        }
        "walk_ended" if event["arrived"] == true => "walked to its goal".into(),
        "walk_ended" => match event["why"].as_str() {
            Some(why) => format!("did not reach its goal: {}", printable(why)),
            None => "did not reach its goal".into(),
        },
        "playing" => format!("playing {}", action(event)),
        "play_ended" if event["whole"] == true => {
            format!("played {} to its end: {}", action(event), text("why"))
        }
        "play_ended" => format!("playing {} was cut short: {}", action(event), text("why")),
        "step_refused" => format!(
            "the robot refused step {} of the opening cycle (its status {}), which goes on",
            hex(&event["command"]),
            text("status")
        ),
        "encrypted_peer" => "what comes is encrypted: this robot speaks WebRTC".into(),
        "closed" => "the link is closed".into(),
        "refused" => format!("refused {} of {}: {}", text("command"), by(), text("message")),
        _ => printable_json(event),
    }
}

/// The colour of an event: of what is good to know, of what stopped the robot, of what is wrong.
pub(crate) fn style(event: &Value) -> Style {
    let link = event["link"]["state"].as_str().map(link_style);
    match event["event"].as_str().unwrap_or_default() {
        "link" => link.unwrap_or_default(),
        "boot_failed" | "reflex" | "step_refused" | "encrypted_peer" => RED,
        "fault" if event["on"] == true => RED,
        "stop_ended" if event["confirmed"] != true => RED,
        "walk_ended" if event["arrived"] != true => YELLOW,
        "dock" if event["dock"] == "gave_up" => RED,
        "dock" if event["dock"] == "arrived" => GREEN,
        "boot_done" | "enabled" => GREEN,
        "stopped" | "deadman_expired" | "hold_ended" | "refused" | "recording_full" => YELLOW,
        _ => Style::new(),
    }
}

/// How a robot can be reached, and why not.
pub(crate) fn link(link: &LinkReport) -> String {
    let state = printable(&link.state);
    let reason = link.reason.as_deref().map(printable);
    match (link.details.get("step").map(text), reason) {
        (Some(step), Some(reason)) => format!("{state} at step {step}: {reason}"),
        (Some(step), None) => format!("{state} (step {step} of 19)"),
        (None, Some(reason)) => format!("{state}: {reason}"),
        (None, None) => state,
    }
}

/// The colour of a link's state.
pub(crate) fn link_style(state: &str) -> Style {
    match state {
        "ready" | "turning" => GREEN,
        // A lidar that is off, a recording that is over.
        "silent" | "ended" => Style::new(),
        "booting" | "starting" | "connecting" | "validating" | "closing" => YELLOW,
        _ => RED,
    }
}

/// A phase of a return to the dock.
pub(crate) fn dock_phase(phase: &Value) -> String {
    match phase.as_str() {
        Some("startup") => "asking the controller whether it is there".into(),
        Some("navigation") => "driving to the place in front of the dock".into(),
        Some("approach") => "backing onto the dock".into(),
        Some("shutdown") => "switching everything off".into(),
        _ => text(phase),
    }
}

/// What a robot's arms do.
pub(crate) fn arm(arm: &Value) -> String {
    match arm["phase"].as_str() {
        Some("idle") => "idle".into(),
        Some("recording") => format!("recording{}: they are soft", named(arm)),
        Some("playing") => format!("playing{}", named(arm)),
        Some("returning") => "returning".into(),
        _ => text(&arm["phase"]),
    }
}

/// Where a robot is in its map, or is to go.
pub(crate) fn place(pose: &Value) -> Option<String> {
    let (x, y) = (pose["x"].as_f64()?, pose["y"].as_f64()?);
    let degrees = pose["yaw"].as_f64().unwrap_or_default().to_degrees();
    // As people say it: no minus before a nought.
    let degrees = degrees.round() + 0.0;
    Some(format!("x {x:.2} m, y {y:.2} m, facing {degrees:.0}°"))
}

/// The name that something has, if it has one, behind a word.
fn named(value: &Value) -> String {
    let name = value["name"].as_str().filter(|name| !name.is_empty());
    name.map_or(String::new(), |name| format!(" \"{}\"", printable(name)))
}

/// A flag of a robot by its name, as `cliff_left_front`.
pub(crate) fn flag(name: &str) -> String {
    match name.split_once('_') {
        Some(("bumper", side)) => format!("{} bumper", spaced(side)),
        Some(("cliff", place)) => format!("cliff at the {}", spaced(place)),
        _ => spaced(name),
    }
}

/// A member's name in words.
pub(crate) fn spaced(name: &str) -> String {
    printable(&name.replace('_', " "))
}

/// A text of the daemon or a robot; of anything else its beginning.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => printable(text),
        Value::Null => "-".into(),
        other => printable(&shown(other)),
    }
}

fn link_event(event: &Value) -> String {
    let said = link(&LinkReport::new(event["link"].clone()));
    // One of several links is told by its driver's name.
    let link =
        event["driver"].as_str().map_or("link".into(), |part| format!("{} link", spaced(part)));
    match (event["link"]["state"].as_str(), event["silent_ms"].as_f64()) {
        (Some("lost" | "disconnected"), Some(ms)) => {
            format!("{link} {said} (last heard {:.1} s ago)", ms / 1000.0)
        }
        _ => format!("{link} {said}"),
    }
}

fn dock_event(event: &Value) -> String {
    match event["dock"].as_str() {
        Some("phase") => format!("docking: {}", dock_phase(&event["phase"])),
        Some("arrived") => "docked: the robot charges".into(),
        Some("gave_up") => format!("docking given up: {}", text(&event["reason"])),
        _ => printable_json(event),
    }
}

fn hazards(flags: &Value) -> String {
    let flags = flags.as_array().into_iter().flatten().filter_map(Value::as_str);
    flags.map(flag).collect::<Vec<_>>().join(", ")
}

/// The action that an event or a state is about.
pub(crate) fn action(event: &Value) -> String {
    match (&event["name"], &event["id"]) {
        (Value::String(name), _) => format!("\"{}\"", printable(name)),
        (_, id) => format!("action {}", text(id)),
    }
}

/// Bytes as in the documents.
fn hex(bytes: &Value) -> String {
    let one = std::slice::from_ref(bytes);
    let bytes = bytes.as_array().map_or(one, Vec::as_slice);
    let hex = |byte: &Value| byte.as_u64().map_or("-".into(), |byte| format!("{byte:02X}"));
    bytes.iter().take(32).map(hex).collect::<Vec<_>>().join(" ")
}

/// What was left out because it came faster than it was read.
pub(crate) fn lost(count: u64) -> String {
    format!("{count} messages were left out: they came faster than they were read")
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde_json::json;
    use sinew_robot::{
        mapping, teach, unitree,
        vacuum::{self, DockEvent, DockPhase},
    };

    use super::*;

    #[test]
    fn a_link_that_is_down_says_why() {
        for (report, wanted) in [
            (json!({ "state": "ready" }), "ready"),
            (json!({ "state": "booting", "step": 7 }), "booting (step 7 of 19)"),
            (
                json!({ "state": "failed", "step": 3, "reason": "no answer" }),
                "failed at step 3: no answer",
            ),
            (
                json!({ "state": "disconnected", "reason": "No such file (os error 2)\u{1b}" }),
                "disconnected: No such file (os error 2)\\u{1b}",
            ),
        ] {
            assert_eq!(link(&LinkReport::new(report)), wanted);
        }
    }

    fn said(event: impl Serialize) -> String {
        sentence(&serde_json::to_value(event).expect("is JSON"))
    }

    #[test]
    fn what_happens_to_a_vacuum_is_said_in_words() {
        use vacuum::{Event, LinkState};
        let link = |link| Event::Link { link, silent_ms: Some(240) };
        let dock = |dock| Event::Dock { dock };
        let phase = |phase| dock(DockEvent::Phase { phase });
        let what = vec!["bumper_left", "cliff_right_front"];
        for (event, wanted) in [
            (link(LinkState::Ready), "link ready"),
            (link(LinkState::Lost), "link lost (last heard 0.2 s ago)"),
            (
                link(LinkState::Disconnected { reason: Some("unplugged".into()) }),
                "link disconnected: unplugged (last heard 0.2 s ago)",
            ),
            (link(LinkState::Booting { step: 4 }), "link booting (step 4 of 19)"),
            (Event::BootStep { step: 2, what: "wake" }, "booting, step 2 of 19: wake"),
            (Event::BootDone, "booted: the controller takes commands"),
            (
                Event::BootFailed { step: 3, reason: "no answer".into() },
                "boot failed at step 3: no answer",
            ),
            (Event::Stopped { by: "ann".into() }, "stopped by ann"),
            (Event::Enabled { by: "ann".into() }, "enabled (ann): the wheels may turn"),
            (
                Event::Reflex { what },
                "left bumper, cliff at the right front: forward motion was stopped",
            ),
            (
                Event::DeadmanExpired,
                "dead-man expired: no fresh velocity came, so the wheels were stopped",
            ),
            (phase(DockPhase::Startup), "docking: asking the controller whether it is there"),
            (phase(DockPhase::Navigation), "docking: driving to the place in front of the dock"),
            (phase(DockPhase::Approach), "docking: backing onto the dock"),
            (phase(DockPhase::Shutdown), "docking: switching everything off"),
            (dock(DockEvent::Arrived), "docked: the robot charges"),
            (dock(DockEvent::GaveUp { reason: "a wall".into() }), "docking given up: a wall"),
            (Event::ImuState { value: 1 }, "the IMU's calibration state is 1"),
            (Event::CompassState { payload: vec![1, 0xAB] }, "the compass answered 01 AB"),
            (Event::LidarState { bytes: [0; 8] }, "the lidar's state is 00 00 00 00 00 00 00 00"),
            (Event::Synced, "the controller answered the protocol's wake-up"),
            (
                Event::Unknown { command: 0x5A, payload: vec![7] },
                "a frame that no document describes: 5A 07",
            ),
        ] {
            assert_eq!(said(event), wanted);
        }
    }

    #[test]
    fn what_happens_to_a_robot_that_walks_is_said_in_words() {
        use mapping::Event;
        let ended = |arrived, why: Option<&str>| {
            said(Event::WalkEnded { arrived, why: why.map(Into::into) })
        };
        assert_eq!(ended(true, None), "walked to its goal");
        assert_eq!(ended(false, Some("a wall\u{1b}")), "did not reach its goal: a wall\\u{1b}");
        assert_eq!(ended(false, None), "did not reach its goal");
    }

    #[test]
    fn what_happens_to_a_robot_with_a_body_is_said_in_words() {
        use unitree::{Arm, Event, LinkState, Phase};
        let by = || "ann".to_owned();
        let arm = |phase, name: &str| Event::Arm {
            arm: Arm { holding: false, id: 1, name: name.into(), phase },
        };
        let recording =
            |on| Event::Recording { on, name: Some("wave".into()), frames: 9, by: by() };
        let stop = |confirmed| Event::StopEnded { by: by(), confirmed, why: "it says so".into() };
        let fault = |on| Event::Fault { on, source: 1, code: 2, text: "it is hot".into() };
        let goal = mapping::Pose { x: 1.0, y: 2.0, z: 0.0, yaw: std::f64::consts::PI };
        for (event, wanted) in [
            (Event::Link { link: LinkState::Validating, silent_ms: None }, "link validating"),
            (arm(Phase::Idle, ""), "arms: idle"),
            (arm(Phase::Returning, "release_arm"), "arms: returning"),
            (arm(Phase::Playing, "wave"), "arms: playing \"wave\""),
            (arm(Phase::Recording, "wave"), "arms: recording \"wave\": they are soft"),
            (recording(true), "recording \"wave\" began (ann)"),
            (recording(false), "recording \"wave\" ended (ann), 9 frames"),
            (
                Event::ForeignRecording { name: "x".into() },
                "the robot records \"x\", and was not asked to from here",
            ),
            (
                Event::RecordingLong { seconds: 180 },
                "the recording lasts 180 s, longer than the vendor's app lets one get",
            ),
            (stop(true), "ended (ann): it says so"),
            (stop(false), "the end is not confirmed (ann): it says so"),
            (fault(true), "fault: it is hot"),
            (fault(false), "no longer a fault: it is hot"),
            (Event::NotOffered { topic: "rt/x".into() }, "the robot does not tell rt/x"),
            (Event::Mapping { on: true, by: by() }, "mapping began (ann)"),
            (Event::Mapping { on: false, by: by() }, "mapping ended (ann)"),
            (
                Event::CloudRejected { count: 3, why: "too long".into() },
                "clouds that were not taken: 3: too long",
            ),
            (Event::Walking { to: Some(goal) }, "walking to x 1.00 m, y 2.00 m, facing 180°"),
            (Event::Walking { to: None }, "walking, and was not asked to from here"),
        ] {
            assert_eq!(said(event), wanted);
        }
        let beside = json!({ "event": "link", "link": { "state": "lost" }, "driver": "teaching" });
        assert_eq!(said(beside), "teaching link lost");
    }

    #[test]
    fn what_happens_to_a_lidar_is_said_in_words() {
        use sinew_robot::lidar::{CheckState, Event, LinkState};
        let link = |link| {
            let mut event = serde_json::to_value(Event::Link { link, silent_ms: Some(240) });
            if let Ok(event) = &mut event {
                event["driver"] = "lidar".into();
            }
            event.expect("is JSON")
        };
        assert_eq!(said(link(LinkState::Turning)), "lidar link turning");
        assert_eq!(said(link(LinkState::Lost)), "lidar link lost (last heard 0.2 s ago)");
        for (check, wanted) in [
            (CheckState::Proven, "the lidar's check is the sum of its bytes"),
            (CheckState::NeverFits, "the lidar's check is not the sum of its bytes"),
            (CheckState::Unproven, "whether the lidar's check is the sum"),
        ] {
            assert!(said(Event::LidarCheck { check }).starts_with(wanted));
        }
        let unknown = Event::LidarUnknown { command: 0xAB, payload: vec![7] };
        assert_eq!(said(unknown), "a frame of the lidar that no reader describes: AB 07");
    }

    #[test]
    fn what_happens_to_a_robot_that_is_taught_is_said_in_words() {
        use teach::Event;
        let by = || "ann".to_owned();
        let why = || "it was asked to".to_owned();
        for (event, wanted) in [
            (Event::Teaching { on: true, by: by() }, "teaching began (ann): the arms are soft"),
            (
                Event::Teaching { on: false, by: by() },
                "teaching ended (ann): the arms are stiff again",
            ),
            (Event::Recording { on: true, frames: 0, by: by() }, "recording began (ann)"),
            (
                Event::Recording { on: false, frames: 9, by: by() },
                "recording ended (ann), 9 frames",
            ),
            (
                Event::RecordingFull { frames: 9 },
                "the recording is full: what follows its 9 frames is not kept",
            ),
            (Event::Playing { id: Some(3), name: None }, "playing action 3"),
            (Event::Playing { id: None, name: Some("a\u{202e}".into()) }, "playing \"a\\u{202e}\""),
            (
                Event::PlayEnded { id: Some(3), name: None, whole: true, why: why() },
                "played action 3 to its end: it was asked to",
            ),
            (
                Event::PlayEnded { id: Some(3), name: None, whole: false, why: why() },
                "playing action 3 was cut short: it was asked to",
            ),
            (
                Event::StepRefused { command: 0x0B, status: 4 },
                "the robot refused step 0B of the opening cycle (its status 4), which goes on",
            ),
            (Event::EncryptedPeer, "what comes is encrypted: this robot speaks WebRTC"),
            (Event::Closed, "the link is closed"),
        ] {
            assert_eq!(said(event), wanted);
        }
    }

    #[test]
    fn what_the_daemon_tells_is_said_in_words() {
        for (event, wanted) in [
            (
                json!({ "event": "refused", "command": "Dock", "code": "busy", "message": "no" }),
                "refused Dock of viewer: no",
            ),
            (
                json!({ "event": "held", "hold_ms": 2000 }),
                "viewer may hold its velocity for 2000 ms without repeating it",
            ),
            (
                json!({ "event": "hold_ended", "reason": "unreachable" }),
                "the client that held a velocity is out of reach: stopped",
            ),
            (
                json!({ "event": "scaled", "factor": 0.6 }),
                "viewer wants to go faster than it may: its speeds are scaled by 0.60",
            ),
            (
                json!({ "event": "repeats", "deadman_ms": 300 }),
                "viewer repeats its velocities: each counts for 300 ms",
            ),
        ] {
            let mut event = event;
            event["by"] = "viewer".into();
            assert_eq!(said(event), wanted);
        }
    }

    #[test]
    fn what_is_not_known_is_said_as_it_came() {
        let odd = json!({ "event": "warp", "factor": "\u{1b}9" });
        assert_eq!(said(odd), r#"{"event":"warp","factor":"\u001b9"}"#);
        assert_eq!(said(json!(3)), "3");
        assert_eq!(said(json!({ "event": "dock", "dock": 1 })), r#"{"dock":1,"event":"dock"}"#);
    }
}
