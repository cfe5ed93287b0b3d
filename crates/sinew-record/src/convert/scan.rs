//! A turn of a lidar as ranges at even angles.

use std::f64::consts::TAU;

use foxglove::messages::LaserScan;
use serde_json::Value;

use super::{pose, timestamp};

/// Ranges of a turn; a lidar gives some 360 samples.
const BINS: usize = 360;

/// How a lidar is mounted, as the robot's state says; see docs/vacuum.md.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mounting {
    clockwise: bool,
    zero_deg: f64,
    x: f64,
    y: f64,
    optics: f64,
}

impl Default for Mounting {
    fn default() -> Self {
        Mounting { clockwise: true, zero_deg: 192.5, x: -0.110, y: 0.0, optics: 0.025 }
    }
}

impl Mounting {
    pub(super) fn take(&mut self, told: &Value) {
        let number = |name: &str, old: f64| told[name].as_f64().unwrap_or(old);
        *self = Mounting {
            clockwise: told["clockwise"].as_bool().unwrap_or(self.clockwise),
            zero_deg: number("zero_deg", self.zero_deg),
            x: number("x", self.x),
            y: number("y", self.y),
            optics: number("optics", self.optics),
        };
    }
}

/// A reading of group `lidar`. Of two samples at one angle the nearer counts; without an echo the range is
/// not a number.
pub(super) fn scan(
    values: &Value,
    mounting: &Mounting,
    robot: &str,
    seen_ns: u64,
) -> Option<LaserScan> {
    let points = values["scan"]["PointCloud2D"].as_array()?;
    let is_raw = values["view"]["String"].as_str().or(values["view"].as_str()) != Some("robot");
    let mut ranges = vec![f64::NAN; BINS];
    let mut intensities = vec![0.0; BINS];
    for point in points {
        let (Some(angle), Some(distance)) = (point[0].as_f64(), point[1].as_f64()) else {
            continue;
        };
        let (angle, distance) = match is_raw {
            true => {
                let angle = if mounting.clockwise { -angle } else { angle };
                (mounting.zero_deg.to_radians() + angle, distance + mounting.optics)
            }
            false => (angle, distance),
        };
        let bin = (angle.rem_euclid(TAU) / TAU * BINS as f64).round() as usize % BINS;
        if ranges[bin].is_nan() || distance < ranges[bin] {
            ranges[bin] = distance;
            intensities[bin] = point[2].as_f64().unwrap_or(0.0);
        }
    }
    let place = if is_raw { [mounting.x, mounting.y, 0.0] } else { [0.0; 3] };
    Some(LaserScan {
        timestamp: Some(timestamp(seen_ns)),
        frame_id: pose::base_frame(robot),
        pose: Some(pose::at(place, 0.0)),
        start_angle: 0.0,
        end_angle: TAU * (BINS - 1) as f64 / BINS as f64,
        ranges,
        intensities,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_raw_turn_is_counted_from_straight_ahead_to_the_left() {
        // Angle 0 of the lidar points to 192.5 degrees, and it counts clockwise.
        let values = json!({ "scan": { "PointCloud2D": [[0.0, 1.0, 200], [12.5f64.to_radians(), 2.0, 9]] } });
        let scan = scan(&values, &Mounting::default(), "vacuum", 5).expect("is one");
        assert_eq!(scan.ranges.len(), 360);
        assert_eq!((scan.ranges[193], scan.intensities[193]), (1.025, 200.0));
        assert_eq!((scan.ranges[180], scan.intensities[180]), (2.025, 9.0));
        assert_eq!(scan.ranges.iter().filter(|range| range.is_nan()).count(), 358);
        let pose = scan.pose.and_then(|pose| pose.position).expect("has one");
        assert_eq!((pose.x, pose.y), (-0.110, 0.0));
    }

    #[test]
    fn the_robots_view_stays_as_it_is_and_the_nearer_echo_counts() {
        let values = json!({ "scan": { "PointCloud2D": [[0.0, 3.0, 1], [0.001, 2.0, 2], [7.0, "x", 1]] },
            "view": { "String": "robot" } });
        let scan = scan(&values, &Mounting::default(), "vacuum", 5).expect("is one");
        assert_eq!((scan.ranges[0], scan.intensities[0]), (2.0, 2.0));
        assert!(scan.ranges[1..].iter().all(|range| range.is_nan()));
    }
}
