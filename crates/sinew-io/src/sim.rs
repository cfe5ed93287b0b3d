//! Simulated robots: a vacuum at the other end of two pseudo-terminals, or on the threads of its drivers; a G1 behind a
//! UDP port.

#[cfg(feature = "g1")]
mod g1;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use sinew_sim::vacuum::{Controller, Lidar, LidarOptions, Options};

use crate::{
    Pty,
    link::{Inside, PtyLink},
    pump::{Handle, Policy},
};

#[cfg(feature = "g1")]
pub use g1::{Discovery, G1Options, G1Simulator, Hand};

/// A real controller does not wait for the host's processor. Below the host's own thread, so that
/// the two do not fight where there is only one.
const POLICY: Policy =
    Policy { name: "simulator", priority: Some(10), relayed: false, farewell: Duration::ZERO };

const LIDAR_POLICY: Policy = Policy { name: "simulated-lidar", priority: None, ..POLICY };

/// How long the simulated controller ignores actuators after a mode switch: less than a real one. It
/// hears of the switch when its thread runs, and a host that waits for as long as it must would find
/// it deaf for as much longer.
const MODE_SWITCH: Duration = Duration::from_millis(70);

/// A simulated vacuum, with its lidar, that runs until it is dropped.
#[derive(Debug)]
pub struct Simulator {
    path: PathBuf,
    handle: Handle<Controller>,
    lidar_path: PathBuf,
    lidar: Handle<Lidar>,
}

impl Simulator {
    /// Starts it; with `link`, its serial port has a name that stays the same.
    pub fn spawn(options: Options, link: Option<&Path>) -> io::Result<Self> {
        let pty = Pty::open(link)?;
        let path = pty.path().to_owned();
        let lidar_pty = Pty::open(None)?;
        let lidar_path = lidar_pty.path().to_owned();
        let (controller, lidar) = vacuum(options, Instant::now());
        let (line, lidar_line) = (PtyLink::new(pty)?, PtyLink::new(lidar_pty)?);
        let handle = Handle::spawn(controller, Box::new(line), POLICY, Arc::new(()), None)?;
        let lidar = Handle::spawn(lidar, Box::new(lidar_line), LIDAR_POLICY, Arc::new(()), None)?;
        Ok(Simulator { path, handle, lidar_path, lidar })
    }

    /// The serial port to open.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The lidar's.
    pub fn lidar_path(&self) -> &Path {
        &self.lidar_path
    }
}

/// Links to a simulated vacuum and to its lidar, which run on the threads of their users.
pub(crate) fn vacuum_inside(options: Options) -> (Inside<Controller>, Inside<Lidar>) {
    let now = Instant::now();
    let (controller, lidar) = vacuum(options, now);
    (Inside::new(controller, now), Inside::new(lidar, now))
}

fn vacuum(options: Options, now: Instant) -> (Controller, Lidar) {
    let lidar = LidarOptions { seed: options.seed, ..LidarOptions::default() };
    let options = Options { mode_switch: options.mode_switch.min(MODE_SWITCH), ..options };
    let mut controller = Controller::new(options, now);
    let lidar = Lidar::new(&mut controller, lidar, now);
    (controller, lidar)
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.lidar.shut_down();
        self.handle.shut_down();
    }
}
