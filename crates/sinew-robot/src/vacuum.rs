//! The CRL-200S vacuum: what may be asked of it, and the session that does it safely.
//!
//! A [`Session`] sits between the serial port and the clients that want the robot to do
//! something. It boots the controller, keeps its watchdog quiet, and never sends a velocity that is
//! not fresh, allowed and wanted. It has no clock: every call brings the time.

mod boot;
mod command;
pub mod components;
mod dock;
mod event;
mod execute;
mod gate;
mod gyro;
mod line;
mod motion;
mod odometry;
mod outbox;
mod outputs;
pub mod sensors;
mod session;
mod settings;
mod speeds;
mod spine;
mod state;
mod wheels;

pub use command::Command;
pub use event::{DockEvent, Event, Output};
pub(crate) use gate::Gate;
pub(crate) use odometry::wrapped;
pub use session::Session;
pub use settings::Settings;
pub use state::{Counters, DockPhase, LinkState, Pose, State, Velocity};
pub use wheels::{switches_on, turns_wheels};
