//! A turn as a sensor group of the network interface.

use serde::{Serialize, Serializer, ser::SerializeMap};
use sinew_wire::delta2d::Turn;

use super::{Mounting, View};
use crate::{
    tagged::{F32, PointCloud2D, String, U16, U64, Vector3},
    vacuum::Pose,
};

/// The values of the `lidar` group.
#[derive(Debug, Clone, Copy)]
pub struct Lidar<'a> {
    /// The turn.
    pub turn: &'a Turn,
    /// How it is given out.
    pub view: View,
    /// Where the lidar stands.
    pub mounting: &'a Mounting,
    /// What document 003's interface does not have, to be given too.
    pub more: Option<More>,
}

/// What goes with a turn.
#[derive(Debug, Clone, Copy)]
pub struct More {
    /// Where the robot was when it ended, if that is known.
    pub pose: Option<Pose>,
    /// When it began, in microseconds of Unix time.
    pub began_us: u64,
}

impl Serialize for Lidar<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Lidar { turn, view, mounting, more } = *self;
        let mut map = serializer.serialize_map(None)?;
        let points = turn.points.iter().map(|point| {
            let (angle, distance) = mounting.polar(view, point);
            (rounded(angle), rounded(distance), point.sample.quality)
        });
        map.serialize_entry("scan", &PointCloud2D(points))?;
        if let Some(More { pose, began_us }) = more {
            map.serialize_entry("view", &String(view.name()))?;
            if let Some(Pose { x, y, heading }) = pose {
                map.serialize_entry("pose", &Vector3([x, y, heading]))?;
            }
            map.serialize_entry("began_us", &U64(began_us))?;
            map.serialize_entry("without_echo", &U16(turn.without_echo))?;
            map.serialize_entry(
                "turns_per_second",
                &F32(super::state::hertz(turn.turns_per_second)),
            )?;
        }
        map.end()
    }
}

/// To a hundredth of a millimetre at a metre, which is more than was measured.
fn rounded(number: f64) -> f64 {
    (number * 1e5).round() / 1e5
}

impl View {
    /// Its name for programs.
    pub const fn name(self) -> &'static str {
        match self {
            View::Raw => "raw",
            View::Robot => "robot",
        }
    }
}
