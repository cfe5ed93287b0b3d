use std::{
    sync::{Arc, Mutex, PoisonError, TryLockError},
    time::Instant,
};

use super::{Pose, World};

/// What the lidar shares with the controller: the robot that it stands on, and its power.
///
/// The controller writes what is true at the end of each call, the lidar reads it. The two may run
/// on threads of their own; a controller that finds the lidar reading writes the next time.
#[derive(Debug, Clone, Default)]
pub(super) struct Scene(Arc<Mutex<Option<Seen>>>);

/// A moment of the scene.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) at: Instant,
    pub(super) pose: Pose,
    /// Forwards, m/s, and counter-clockwise, rad/s.
    pub(super) speeds: (f64, f64),
    /// What drives the lidar's motor, percent; none while its power is off.
    pub(super) lidar: Option<u8>,
    pub(super) world: Arc<World>,
}

impl Scene {
    pub(super) fn show(&self, seen: Seen) {
        match self.0.try_lock() {
            Ok(mut shown) => *shown = Some(seen),
            Err(TryLockError::Poisoned(shown)) => *shown.into_inner() = Some(seen),
            Err(TryLockError::WouldBlock) => {}
        }
    }

    pub(super) fn look(&self) -> Option<Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
