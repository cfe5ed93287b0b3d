//! How mapping goes, for people.

use std::io::Write;

use serde_json::Value;

use crate::{output::printable, words};

/// Prints what there is to tell, a line for each.
pub(super) fn show(data: &Value) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for (label, text) in rows(data) {
        writeln!(out, "{label:<8} {}", printable(&text))?;
    }
    Ok(())
}

fn rows(data: &Value) -> Vec<(&'static str, String)> {
    let does = match (data["mapping"] == true, data["walking"] == true) {
        (true, true) => "makes a map, and walks",
        (true, false) => "makes a map",
        (false, true) => "walks",
        (false, false) => "neither maps nor walks",
    };
    let mut rows = vec![("robot", does.to_owned())];
    rows.extend(data["map"].as_str().map(|map| ("map", map.to_owned())));
    rows.extend(words::place(&data["pose"]).map(|pose| ("pose", pose)));
    if let Some(clouds) = data["clouds"].as_u64() {
        let last =
            last_cloud(&data["last_cloud"]).map_or(String::new(), |last| format!(", {last}"));
        rows.push(("clouds", format!("{clouds}{last}")));
    }
    rows.extend(data["voxels"].as_u64().map(|voxels| ("cells", voxels.to_string())));
    rows.extend(bounds(&data["bounds"]).map(|bounds| ("bounds", bounds)));
    rows.extend(uncertainty(&data["uncertainty"]).map(|known| ("pose to", known)));
    rows.extend(data["trouble"].as_str().map(|trouble| ("trouble", trouble.to_owned())));
    rows
}

/// A box, as `sinew map info FILE` tells it.
fn bounds(bounds: &Value) -> Option<String> {
    let axis = |name: &str, axis: usize| {
        let [min, max] = ["min", "max"].map(|end| bounds[end][axis].as_f64());
        Some(format!("{name} {:.2} to {:.2}", min?, max?))
    };
    Some(format!("{}, {}, {} m", axis("x", 0)?, axis("y", 1)?, axis("z", 2)?))
}

/// How well the pose is known.
fn uncertainty(known: &Value) -> Option<String> {
    let of = |name: &str| known[name].as_f64();
    let degrees = of("heading")?.to_degrees();
    let [x, y] = [of("x")?, of("y")?].map(|metres| metres * 100.0);
    Some(format!("± {x:.1} cm in x, {y:.1} cm in y, {degrees:.1}°"))
}

fn last_cloud(cloud: &Value) -> Option<String> {
    let points = cloud["points"].as_u64()?;
    let size = |axis: usize| {
        let bound = |end: &str| cloud["bounds"][end][axis].as_f64();
        Some(bound("max")? - bound("min")?)
    };
    let size = match (size(0), size(1), size(2)) {
        (Some(x), Some(y), Some(z)) => format!(" in {x:.1} x {y:.1} x {z:.1} m"),
        _ => String::new(),
    };
    let age = cloud["age_ms"].as_f64().map(|ms| format!(", {:.1} s ago", ms / 1000.0));
    Some(format!("the last of {points} points{size}{}", age.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_4;

    use serde_json::json;
    use sinew_robot::{
        map::Uncertainty,
        mapping::{Bounds, Info, LastCloud, Pose},
    };

    use super::*;

    fn told(info: &Info) -> Vec<String> {
        let rows = rows(&json!(info));
        rows.into_iter().map(|(label, text)| format!("{label}: {text}")).collect()
    }

    #[test]
    fn what_is_known_is_told() {
        let bounds = Bounds { min: [-1.0, 0.0, 0.0], max: [5.0, 5.5, 3.125] };
        let last_cloud = Some(LastCloud { points: 4512, bounds, age_ms: 110 });
        let pose = Some(Pose { x: 1.204, y: -0.3, z: 0.0, yaw: FRAC_PI_4 });
        let mapping = Info { mapping: true, clouds: 120, last_cloud, pose, ..Info::default() };
        assert_eq!(
            told(&mapping),
            [
                "robot: makes a map",
                "pose: x 1.20 m, y -0.30 m, facing 45°",
                "clouds: 120, the last of 4512 points in 6.0 x 5.5 x 3.1 m, 0.1 s ago",
            ]
        );
        let made = Info {
            voxels: Some(12_345),
            bounds: Some(bounds),
            uncertainty: Some(Uncertainty { x: 0.0123, y: 0.004, heading: 0.01 }),
            trouble: Some("the robot was lifted".into()),
            ..Info::default()
        };
        assert_eq!(
            told(&made)[2..],
            [
                "cells: 12345",
                "bounds: x -1.00 to 5.00, y 0.00 to 5.50, z 0.00 to 3.12 m",
                "pose to: ± 1.2 cm in x, 0.4 cm in y, 0.6°",
                "trouble: the robot was lifted",
            ]
        );
        let walking = Info { walking: true, map: Some("flat".into()), ..Info::default() };
        assert_eq!(told(&walking), ["robot: walks", "map: flat", "clouds: 0"]);
        assert_eq!(told(&Info::default())[0], "robot: neither maps nor walks");
    }
}
