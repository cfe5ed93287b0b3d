//! What is known about a map, for all who ask.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sinew_api::frame;
use sinew_robot::{
    capability::Blocks,
    map::{Cursor, GroundMap, Mapper, Outcome, Uncertainty, file::picture::Drawing},
    mapping::{self, Bounds, Event, Info, LastCloud},
    vacuum::Pose,
};

use super::{FRAME, Ground};
use crate::{lock, report::timestamp_us};

/// For so long a push is told as trouble.
const RECENT: Duration = Duration::from_secs(10);

pub(super) struct Board {
    pub(super) map: GroundMap,
    pub(super) is_mapping: bool,
    /// Turns that the map is made of.
    pub(super) turns: u64,
    pub(super) dock: Option<[f64; 2]>,
    pose: Option<Pose>,
    uncertainty: Uncertainty,
    is_lost: bool,
    is_full: bool,
    /// When the robot was pushed last, and how far.
    bumped: Option<(Instant, Pose)>,
    last_turn: Option<(usize, Bounds, Instant)>,
    /// When the map was last shown anything, here and by the clock.
    seen: Option<(Instant, u64)>,
    path: Vec<[f64; 2]>,
    /// The lidar was off when the map was begun.
    switched_on: bool,
    frames: u64,
}

impl Board {
    pub(super) fn new(resolution: f64) -> Self {
        Board {
            map: GroundMap::new(resolution),
            is_mapping: false,
            turns: 0,
            dock: None,
            pose: None,
            uncertainty: Uncertainty::default(),
            is_lost: false,
            is_full: false,
            bumped: None,
            last_turn: None,
            seen: None,
            path: Vec::new(),
            switched_on: false,
            frames: 0,
        }
    }

    /// Begins a map; its epoch.
    pub(super) fn start(&mut self, switched_on: bool) -> u32 {
        self.clear();
        // One that is begun anew leaves the lidar as the first one found it.
        self.switched_on = switched_on || self.is_mapping && self.switched_on;
        self.is_mapping = true;
        self.map.epoch()
    }

    /// Ends it. Whether the lidar was switched on for it; none if none was made.
    pub(super) fn stop(&mut self) -> Option<bool> {
        let was_mapping = std::mem::take(&mut self.is_mapping);
        // Where the robot goes from now on is not followed.
        (self.pose, self.is_lost, self.bumped) = (None, false, None);
        was_mapping.then(|| std::mem::take(&mut self.switched_on))
    }

    /// Forgets it: a new epoch begins.
    pub(super) fn clear(&mut self) {
        let Board { is_mapping, switched_on, frames, .. } = *self;
        let mut map = std::mem::replace(&mut self.map, GroundMap::new(0.0));
        map.clear();
        *self = Board { is_mapping, switched_on, frames, map, ..Board::new(0.0) };
    }

    /// Notes what became of a turn; what there is to tell about it.
    pub(super) fn note(&mut self, now: Instant, outcome: Outcome) -> Option<Event> {
        self.turns += 1;
        let was_lost = self.is_lost;
        match outcome {
            Outcome::Bumped { by } => {
                self.bumped = Some((now, by));
                Some(Event::Bumped { metres: by.x.hypot(by.y), radians: by.heading })
            }
            Outcome::Lost if !was_lost => Some(Event::Lost),
            Outcome::Found { pose } => Some(Event::Found { pose: self::pose(pose) }),
            _ => None,
        }
    }

    /// Shows where the robot is, and its last turn.
    pub(super) fn show(&mut self, now: Instant, mapper: &Mapper, turn: Option<&[[f64; 2]]>) {
        // Before its first turn a map has no places.
        self.pose = (self.turns > 0).then(|| mapper.pose());
        self.uncertainty = mapper.uncertainty();
        self.is_lost = mapper.is_lost();
        self.is_full = mapper.grid().is_full();
        if let Some(bounds) = turn.and_then(bounds) {
            self.last_turn = Some((turn.map_or(0, <[_]>::len), bounds, now));
            self.seen = Some((now, timestamp_us()));
        }
        let place = |pose: &Pose| [pose.x, pose.y];
        match mapper.path().get(self.path.len()..) {
            Some(new) => self.path.extend(new.iter().map(place)),
            // A path that has become long loses poses.
            None => self.path = mapper.path().iter().map(place).collect(),
        }
    }

    pub(super) fn next_frame(&mut self) -> u64 {
        self.frames += 1;
        self.frames
    }

    pub(super) fn drawing(&self) -> Drawing {
        let robot = self.pose.map(|pose| [pose.x, pose.y]);
        Drawing { path: self.path.clone(), dock: self.dock, robot }
    }

    pub(super) fn state(&self) -> Value {
        let round = |number: f64| (number * 1e4).round() / 1e4;
        let pose = self.pose.map(
            |Pose { x, y, heading }| json!({ "x": round(x), "y": round(y), "yaw": round(heading) }),
        );
        json!({
            "mapping": self.is_mapping,
            "pose": pose,
            "turns": self.turns,
            "voxels": self.map.len(),
            "lost": self.is_lost,
        })
    }

    pub(super) fn info(&self, now: Instant) -> Info {
        let is_there = self.is_mapping || !self.map.is_empty();
        Info {
            mapping: self.is_mapping,
            pose: self.pose.map(pose),
            clouds: self.turns,
            last_cloud: self.last_turn.map(|(points, bounds, at)| {
                let age_ms = now.saturating_duration_since(at).as_millis() as u64;
                LastCloud { points, bounds, age_ms }
            }),
            voxels: is_there.then(|| self.map.len()),
            bounds: self.map.bounds(),
            uncertainty: self.pose.map(|_| self.uncertainty),
            trouble: self.trouble(now),
            ..Info::default()
        }
    }

    /// What is wrong with the map itself.
    fn trouble(&self, now: Instant) -> Option<String> {
        if self.is_lost {
            return Some(
                "it is not known where the robot is: what it sees contradicts the map, as after it \
                 was carried away; nothing is mapped until it is found"
                    .into(),
            );
        }
        if self.is_full {
            return Some(
                "the map is full: places that are new are left out; save and clear it".into(),
            );
        }
        let (_, by) = self.bumped.filter(|(at, _)| now.saturating_duration_since(*at) <= RECENT)?;
        let (way, turn) = (by.x.hypot(by.y) * 100.0, by.heading.to_degrees().abs());
        Some(format!(
            "the robot was {way:.0} cm and {turn:.0} degrees off from where its wheels say: one \
             slipped, or something pushed it; the map has put that right"
        ))
    }
}

impl Blocks for Ground {
    fn next(&self, place: &mut Cursor) -> Option<Vec<u8>> {
        let mut board = lock(&self.board);
        if board.map.is_current(place) {
            return None;
        }
        let mut points = Vec::new();
        // A map that is not added to any more does not look fresh to a reader that comes later.
        let (seen, time_us) = board.seen.unwrap_or_else(|| (Instant::now(), timestamp_us()));
        board.map.changes(seen, place, frame::MAP_POINTS, &mut points);
        let sequence = board.next_frame();
        let Board { map, pose, .. } = &*board;
        let header = frame::Header {
            sequence,
            time_us,
            epoch: map.epoch(),
            name: FRAME,
            pose: pose.map(self::pose),
            origin: map.origin(),
            unit: map.unit(),
            is_flat: true,
            ..frame::Header::default()
        };
        drop(board);
        Some(frame::map(&header, &points))
    }
}

/// A pose as the interface has it.
pub(super) fn pose(Pose { x, y, heading }: Pose) -> mapping::Pose {
    mapping::Pose { x, y, z: 0.0, yaw: heading }
}

/// The box around places.
fn bounds(places: &[[f64; 2]]) -> Option<Bounds> {
    let [x, y] = *places.first()?;
    let first = Bounds { min: [x, y, 0.0], max: [x, y, 0.0] };
    Some(places.iter().fold(first, |mut bounds, place| {
        for (axis, at) in place.iter().enumerate() {
            bounds.min[axis] = bounds.min[axis].min(*at);
            bounds.max[axis] = bounds.max[axis].max(*at);
        }
        bounds
    }))
}
