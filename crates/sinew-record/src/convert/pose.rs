//! Where a robot is, and how its frames lie in each other.
//!
//! ```text
//! ROBOT/map -> ROBOT/odom -> ROBOT/base        a vacuum: the map corrects what the wheels say
//! ROBOT/map -> ROBOT/base                      a robot that knows its place in its map
//! ```

use foxglove::messages::{FrameTransform, FrameTransforms, Pose, PoseInFrame, Quaternion, Vector3};
use serde_json::Value;
use sinew_robot::mapping;

use super::{Give, timestamp};
use crate::Kind;

/// Where frames of all robots are told.
const TRANSFORMS: &str = "/tf";

pub(super) fn map_frame(robot: &str) -> String {
    format!("{robot}/map")
}

pub(super) fn base_frame(robot: &str) -> String {
    format!("{robot}/base")
}

fn odometry_frame(robot: &str) -> String {
    format!("{robot}/odom")
}

/// A place in the plane and which way it faces.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Place {
    x: f64,
    y: f64,
    z: f64,
    yaw: f64,
}

/// What was told of a robot's place.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// By its wheels.
    odometry: Option<Place>,
    /// Whether its place in the map comes by other topics than `state`.
    has_better: bool,
}

impl Frames {
    /// A robot's state.
    pub(super) fn state(&mut self, state: &Value, give: &mut Give<'_>) {
        let pose = &state["pose"];
        if !pose["heading"].is_null() {
            let Some(odometry) = Place::read(pose, "heading") else { return };
            self.odometry = Some(odometry);
            let found = Place::read(&state["map"]["pose"], "yaw");
            self.vacuum(odometry, found, give);
        } else if !self.has_better
            && let Some(place) = Place::read(pose, "yaw")
        {
            known(place, give);
        }
    }

    /// A reading of group `odometry`.
    pub(super) fn odometry(&mut self, values: &Value, give: &mut Give<'_>) {
        let number = |name: &str| values[name]["F64"].as_f64();
        if let (Some(x), Some(y), Some(yaw)) = (number("x"), number("y"), number("yaw")) {
            self.has_better = true;
            known(Place { x, y, z: number("z").unwrap_or(0.0), yaw }, give);
        }
    }

    /// Where the robot was when a cloud was seen.
    pub(super) fn in_map(&mut self, pose: &mapping::Pose, give: &mut Give<'_>) {
        let place = Place { x: pose.x, y: pose.y, z: pose.z, yaw: pose.yaw };
        match self.odometry {
            Some(odometry) => self.vacuum(odometry, Some(place), give),
            None => {
                self.has_better = true;
                known(place, give);
            }
        }
    }

    fn vacuum(&self, odometry: Place, found: Option<Place>, give: &mut Give<'_>) {
        let (map, odom) = (map_frame(give.robot), odometry_frame(give.robot));
        let moved = odometry.transform(&odom, &base_frame(give.robot), give.seen_ns);
        // Without a map its frame is where the wheels began.
        let begin = found.map_or(Place::default(), |found| found.less(odometry));
        let begin = begin.transform(&map, &odom, give.seen_ns);
        transforms(vec![begin, moved], give);
        let (place, frame) = found.map_or((odometry, odom), |found| (found, map));
        pose(place, frame, give);
    }
}

/// A place in the map.
fn known(place: Place, give: &mut Give<'_>) {
    let (map, base) = (map_frame(give.robot), base_frame(give.robot));
    transforms(vec![place.transform(&map, &base, give.seen_ns)], give);
    pose(place, map, give);
}

fn pose(place: Place, frame_id: String, give: &mut Give<'_>) {
    let pose = Some(at([place.x, place.y, place.z], place.yaw));
    let timestamp = Some(timestamp(give.seen_ns));
    give.protobuf("pose", Kind::PoseInFrame, &PoseInFrame { timestamp, frame_id, pose });
}

fn transforms(transforms: Vec<FrameTransform>, give: &mut Give<'_>) {
    let data = prost::Message::encode_to_vec(&FrameTransforms { transforms });
    give.whole(TRANSFORMS.into(), Kind::FrameTransforms, data);
}

impl Place {
    fn read(value: &Value, yaw: &str) -> Option<Self> {
        let number = |name: &str| value[name].as_f64();
        let (x, y, yaw) = (number("x")?, number("y")?, number(yaw)?);
        Some(Place { x, y, z: number("z").unwrap_or(0.0), yaw })
    }

    /// Where a frame lies in which `other` is, if `other` is here.
    fn less(self, other: Place) -> Place {
        let yaw = self.yaw - other.yaw;
        let (sin, cos) = yaw.sin_cos();
        Place {
            x: self.x - (cos * other.x - sin * other.y),
            y: self.y - (sin * other.x + cos * other.y),
            z: self.z - other.z,
            yaw,
        }
    }

    fn transform(self, parent: &str, child: &str, at_ns: u64) -> FrameTransform {
        let Pose { position, orientation } = at([self.x, self.y, self.z], self.yaw);
        FrameTransform {
            timestamp: Some(timestamp(at_ns)),
            parent_frame_id: parent.into(),
            child_frame_id: child.into(),
            translation: position,
            rotation: orientation,
        }
    }
}

/// A pose that faces this way.
pub(super) fn at([x, y, z]: [f64; 3], yaw: f64) -> Pose {
    let (sin, cos) = (yaw / 2.0).sin_cos();
    Pose {
        position: Some(Vector3 { x, y, z }),
        orientation: Some(Quaternion { x: 0.0, y: 0.0, z: sin, w: cos }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maps_correction_puts_the_robot_where_the_map_has_it() {
        let odometry = Place { x: 2.0, y: 1.0, z: 0.0, yaw: 0.5 };
        let found = Place { x: -1.0, y: 3.0, z: 0.0, yaw: 2.0 };
        let begin = found.less(odometry);
        let (sin, cos) = begin.yaw.sin_cos();
        let x = begin.x + cos * odometry.x - sin * odometry.y;
        let y = begin.y + sin * odometry.x + cos * odometry.y;
        assert!((x - found.x).abs() < 1e-12 && (y - found.y).abs() < 1e-12);
        assert!((begin.yaw + odometry.yaw - found.yaw).abs() < 1e-12);
    }
}
