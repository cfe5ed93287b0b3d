//! Clouds, as the robot sends them while it maps.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use sinew_wire::{
    slam::{Cloud as WireCloud, CloudFrame, Message, Reading},
    unitree::Binary,
};

use super::{
    CloudSeen, Event, Mapping, Session,
    topics::{FOUND_POINTS, MAP_POINTS},
};
use crate::{
    cut, later,
    mapping::{Bounds, Cloud, Pose},
};

/// Of clouds that do not add up it is told no more often.
const TELL_AGAIN: Duration = Duration::from_secs(10);
/// Both readings count millimetres.
const UNIT: f64 = 0.001;

impl Session {
    pub(super) fn receive_binary(&mut self, now: Instant, bytes: &[u8]) {
        let message = Binary::new_checked(bytes).and_then(|binary| Ok((binary, binary.message()?)));
        let (binary, message) = match message {
            Ok(read) => read,
            Err(_) => {
                self.state.counters.malformed += 1;
                return;
            }
        };
        self.heard(now);
        if !self.is_validated() {
            return;
        }
        match message.topic() {
            topic @ (MAP_POINTS | FOUND_POINTS) => {
                let of_map = topic == MAP_POINTS && self.state.mapping.active;
                self.take_cloud(now, &binary, of_map);
            }
            topic if topic.contains("utlidar") => self.state.mapping.voxel_maps += 1,
            _ => self.state.counters.unknown += 1,
        }
    }

    fn take_cloud(&mut self, now: Instant, binary: &Binary<'_>, of_map: bool) {
        match read(&binary.cloud(), self.state.pose) {
            Ok((cloud, bounds)) => {
                let cloud = self.state.mapping.note(now, cloud, bounds);
                self.event(Event::Cloud { points: cloud.points.len(), of_map, cloud });
            }
            Err(error) => self.reject_cloud(now, &error.to_string()),
        }
    }

    /// What does not add up is counted and told, never shown.
    fn reject_cloud(&mut self, now: Instant, why: &str) {
        self.state.mapping.clouds_rejected += 1;
        let count = self.state.mapping.clouds_rejected;
        if self.clouds_told.is_none_or(|told| now >= later(told, TELL_AGAIN)) {
            self.clouds_told = Some(now);
            self.event(Event::CloudRejected { count, why: why.into() });
        }
    }
}

impl Mapping {
    /// Counts a cloud, which gets its number.
    pub(super) fn note(&mut self, now: Instant, mut cloud: Cloud, bounds: Bounds) -> Arc<Cloud> {
        self.clouds += 1;
        self.last_cloud = Some(CloudSeen { points: cloud.points.len(), bounds, at: now });
        cloud.sequence = self.clouds;
        Arc::new(cloud)
    }
}

/// The cloud of a message, seen from this place, and the box around it; or what does not add up.
pub(super) fn read(
    message: &Message<'_>,
    pose: Option<Pose>,
) -> sinew_wire::Result<(Cloud, Bounds)> {
    let cloud = WireCloud::new(message, None)?;
    let mut problem = None;
    cloud.problems(|error| problem = Some(error));
    if let Some(error) = problem {
        return Err(error);
    }
    let (origin, points) = points(&cloud);
    let real = cloud.bounds(CloudFrame::Map);
    let bounds = real.map_or_else(Bounds::default, |real| Bounds { min: real.min, max: real.max });
    let frame = cut(cloud.metadata.frame_id.unwrap_or_default(), 60).into();
    Ok((Cloud { sequence: 0, origin, unit: UNIT, points, pose, frame }, bounds))
}

/// The points in steps from a corner.
fn points(cloud: &WireCloud<'_>) -> ([f64; 3], Vec<[u16; 3]>) {
    match cloud.choice.reading {
        Reading::Packed => {
            let origin = cloud.metadata.bounds.map_or([0.0; 3], |bounds| bounds.min);
            let records = cloud.body().as_chunks::<6>().0;
            let point = |[x0, x1, y0, y1, z0, z1]: &[u8; 6]| {
                [[*x0, *x1], [*y0, *y1], [*z0, *z1]].map(u16::from_le_bytes)
            };
            (origin, records.iter().map(point).collect())
        }
        Reading::Documented => {
            let records = cloud.body().as_chunks::<12>().0;
            let point = |[x0, x1, y0, y1, z0, z1, ..]: &[u8; 12]| {
                [[*x0, *x1], [*y0, *y1], [*z0, *z1]].map(i16::from_le_bytes)
            };
            let least = |axis: usize| records.iter().map(|record| point(record)[axis]).min();
            let corner = [0, 1, 2].map(|axis| least(axis).unwrap_or(0));
            let steps = |record: &[u8; 12]| {
                let point = point(record);
                [0, 1, 2].map(|axis| point[axis].abs_diff(corner[axis]))
            };
            let origin = corner.map(|steps| f64::from(steps) * UNIT);
            (origin, records.iter().map(steps).collect())
        }
    }
}
