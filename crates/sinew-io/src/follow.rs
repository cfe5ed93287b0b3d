//! What is made of a vacuum's way and its lidar's turns, beside what is told of them.

use std::time::Instant;

use serde_json::Value;
use sinew_robot::{capability::Figure, lidar::Scan, vacuum::Pose};

/// Where wheels say the robot is.
#[derive(Debug, Clone, Copy)]
pub struct Odometry {
    /// When.
    pub at: Instant,
    /// Where.
    pub pose: Pose,
    /// Whether it is on its dock.
    pub on_dock: bool,
}

/// Follows a vacuum: a map does. A build without maps has none.
pub trait Follower: Send + Sync {
    /// Whether odometry and turns are wanted. Asked on a session's own thread: it must not take a
    /// lock.
    fn is_on(&self) -> bool;

    /// Takes odometry.
    fn odometry(&self, odometry: Odometry);

    /// Takes a turn.
    fn scan(&self, scan: Scan);

    /// Its member of the robot's state.
    fn state(&self) -> (&'static str, Value);

    /// What `/metrics` shows of it.
    fn figures(&self) -> Vec<Figure>;

    /// Ends it.
    fn shut_down(&self);
}
