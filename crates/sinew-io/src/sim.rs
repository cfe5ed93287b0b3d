//! Simulated robots: a vacuum at the other end of a pseudo-terminal, a G1 behind a UDP port.

#[cfg(feature = "g1")]
mod g1;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Instant,
};

use sinew_sim::vacuum::{Controller, Options};

use crate::{Pty, port::Port, wake::Waker};

#[cfg(feature = "g1")]
pub use g1::{Discovery, G1Options, G1Simulator, Hand};

pub(crate) const BAUD: u32 = 115_200;

/// A simulated vacuum that runs until it is dropped.
#[derive(Debug)]
pub struct Simulator {
    path: PathBuf,
    waker: Arc<Waker>,
    ending: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Simulator {
    /// Starts it; with `link`, its serial port has a name that stays the same.
    pub fn spawn(options: Options, link: Option<&Path>) -> io::Result<Self> {
        let pty = Pty::open(link)?;
        let path = pty.path().to_owned();
        let waker = Arc::new(Waker::new()?);
        let ending = Arc::new(AtomicBool::new(false));
        let pump = Pump {
            port: Port::new(pty.master()?)?,
            _pty: pty,
            controller: Controller::new(options, Instant::now()),
            waker: Arc::clone(&waker),
            ending: Arc::clone(&ending),
        };
        let thread = thread::Builder::new().name("simulator".into()).spawn(move || pump.run())?;
        Ok(Simulator { path, waker, ending, thread: Some(thread) })
    }

    /// The serial port to open.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Release);
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Pump {
    port: Port,
    _pty: Pty,
    controller: Controller,
    waker: Arc<Waker>,
    ending: Arc<AtomicBool>,
}

impl Pump {
    fn run(mut self) {
        // A real controller does not wait for the host's processor. Below the host's own thread, so
        // that the two do not fight where there is only one.
        crate::priority::raise(10);
        let mut buffer = [0; 4096];
        while !self.ending.load(Ordering::Acquire) {
            let now = Instant::now();
            if let Ok(count @ 1..) = self.port.read(&mut buffer) {
                let bytes = buffer.get(..count).unwrap_or_default();
                self.controller.handle_input(now, bytes);
            }
            if self.controller.poll_timeout() <= now {
                self.controller.handle_timeout(now);
            }
            while let Some(frame) = self.controller.poll_transmit() {
                // A real line loses what nobody reads, and so does this one.
                if self.port.write(now, frame.as_bytes()).is_err() {
                    self.port.discard_waiting();
                }
            }
            let until = Some(self.controller.poll_timeout());
            match self.waker.wait(Some(self.port.events()), until) {
                Ok(true) => {
                    if self.port.take_events().is_ok_and(|ready| ready.writable) {
                        let _ = self.port.flush(Instant::now());
                    }
                }
                Ok(false) => {}
                Err(_) => thread::sleep(std::time::Duration::from_millis(1)),
            }
        }
    }
}
