//! Simulated robots: a vacuum at the other end of a pseudo-terminal, a G1 behind a UDP port.

#[cfg(feature = "g1")]
mod g1;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use sinew_sim::vacuum::{Controller, Options};

use crate::{
    Pty,
    link::PtyLink,
    pump::{Handle, Policy},
};

#[cfg(feature = "g1")]
pub use g1::{Discovery, G1Options, G1Simulator, Hand};

/// A real controller does not wait for the host's processor. Below the host's own thread, so that
/// the two do not fight where there is only one.
const POLICY: Policy =
    Policy { name: "simulator", priority: Some(10), relayed: false, farewell: Duration::ZERO };

/// A simulated vacuum that runs until it is dropped.
#[derive(Debug)]
pub struct Simulator {
    path: PathBuf,
    handle: Handle<Controller>,
}

impl Simulator {
    /// Starts it; with `link`, its serial port has a name that stays the same.
    pub fn spawn(options: Options, link: Option<&Path>) -> io::Result<Self> {
        let pty = Pty::open(link)?;
        let path = pty.path().to_owned();
        let controller = Controller::new(options, Instant::now());
        let handle =
            Handle::spawn(controller, Box::new(PtyLink::new(pty)?), POLICY, Arc::new(()), None)?;
        Ok(Simulator { path, handle })
    }

    /// The serial port to open.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.handle.shut_down();
    }
}
