use std::{fmt, sync::Arc, time::Instant};

use serde::{Serialize, Serializer, ser::SerializeMap};
use sinew_wire::gd32::{Flag, Status};

/// What is known about a vacuum.
#[derive(Debug, Clone, Serialize)]
pub struct State {
    /// How the controller can be reached.
    pub link: LinkState,
    /// When the last good frame came.
    #[serde(skip)]
    pub last_seen: Option<Instant>,
    /// The client or the rule that stopped the wheels; none once `drive` Enable allowed them again.
    pub stopped_by: Option<Arc<str>>,
    /// Motor mode last sent.
    pub mode: u8,
    /// Velocity that is in effect; tank speeds are turned into it.
    pub velocity: Velocity,
    /// Suction last sent, percent.
    pub vacuum: u8,
    /// Rolling brush last sent, percent.
    pub main_brush: u8,
    /// Side brush last sent, percent.
    pub side_brush: u8,
    /// Pump of the mop last sent, percent; the pulses of the boot do not count.
    pub water_pump: u8,
    /// Lidar motor, percent; none while its power is off.
    pub lidar: Option<u8>,
    /// LED state last sent.
    pub led: u8,
    /// The last status packet; of it, what touches the robot is told.
    #[serde(flatten, serialize_with = "contacts")]
    pub status: Option<Status>,
    /// Where encoders and gyroscope say the robot is, from where the port was opened.
    pub pose: Pose,
    /// Metres driven since the port was opened, forwards and backwards alike.
    pub distance: f64,
    /// Where the robot last stood on its dock.
    pub dock: Option<Pose>,
    /// How far a return to the dock has got.
    pub docking: Option<DockPhase>,
    /// Metres of way that are left to the dock, by odometry; none when it does not return there.
    pub dock_distance_m: Option<f64>,
    /// Battery charge by voltage.
    pub battery_percent: Option<u8>,
    /// Battery voltage.
    pub battery_volts: Option<f64>,
    /// The controller's version text.
    pub version: Option<Arc<str>>,
    /// The controller's version number.
    pub version_code: Option<i32>,
    /// What went over the wire.
    pub counters: Counters,
}

/// How the controller can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum LinkState {
    /// The port is not open.
    Disconnected {
        /// Why, in the system's words; none before it was tried.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Arc<str>>,
    },
    /// The boot sequence runs.
    Booting {
        /// Its step, 1 to 18 as in the table of frames; 19 is the two seconds of handshake.
        step: u8,
    },
    /// Everything may be asked.
    Ready,
    /// The status stream stopped.
    Lost,
    /// The controller did not answer while booting; it is tried again.
    Failed {
        /// The step that was not answered.
        step: u8,
        /// What was not answered, and what to do.
        reason: Arc<str>,
    },
}

/// A velocity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Velocity {
    /// Forwards, m/s.
    pub linear: f32,
    /// Counter-clockwise, rad/s.
    pub angular: f32,
}

/// A place and a direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Pose {
    /// Metres along x.
    pub x: f64,
    /// Metres along y.
    pub y: f64,
    /// Radians, counter-clockwise, from -π to π.
    pub heading: f64,
}

/// The four phases of a return to the dock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DockPhase {
    /// The controller is asked whether it is there.
    Startup,
    /// On the way to the place in front of the dock.
    Navigation,
    /// Backwards onto the dock.
    Approach,
    /// Everything is switched off.
    Shutdown,
}

/// What went over the wire since the session began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Good frames received.
    pub frames: u64,
    /// Candidates whose check was wrong.
    pub bad_checks: u64,
    /// Candidates whose length was impossible.
    pub bad_lengths: u64,
    /// Bytes that belong to no frame.
    pub dropped: u64,
    /// Good frames whose payload was too short for their command.
    pub malformed: u64,
    /// Frames sent.
    pub sent: u64,
    /// Of them, those that kept the watchdog quiet.
    pub heartbeats: u64,
    /// Encoder readings too far from the one before to be true.
    pub encoder_jumps: u64,
    /// Events lost because the caller did not fetch them.
    pub events_lost: u64,
}

/// Flags by their names in `gd32_status`, and whether a button is pressed; all null before the first
/// packet.
fn contacts<S: Serializer>(status: &Option<Status>, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    for flag in Flag::ALL {
        map.serialize_entry(flag.name(), &status.map(|status| status.is(*flag)))?;
    }
    map.serialize_entry("start_button", &status.map(|status| status.start_button != 0))?;
    map.serialize_entry("dock_button", &status.map(|status| status.dock_button != 0))?;
    map.end()
}

impl LinkState {
    /// Whether the port is open.
    pub const fn is_open(&self) -> bool {
        !matches!(self, LinkState::Disconnected { .. })
    }
}

impl fmt::Display for LinkState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkState::Disconnected { reason: None } => f.write_str("the port is not open"),
            LinkState::Disconnected { reason: Some(reason) } => {
                write!(f, "the port is not open: {reason}")
            }
            LinkState::Booting { step } => {
                write!(f, "the controller is booting (step {step} of 19)")
            }
            LinkState::Ready => f.write_str("ready"),
            LinkState::Lost => f.write_str("the controller's status stream stopped"),
            LinkState::Failed { step, reason } => write!(f, "boot failed at step {step}: {reason}"),
        }
    }
}

impl State {
    pub(super) fn new() -> Self {
        State {
            link: LinkState::Disconnected { reason: None },
            last_seen: None,
            stopped_by: Some("not enabled since the port was opened".into()),
            mode: 0,
            velocity: Velocity::default(),
            vacuum: 0,
            main_brush: 0,
            side_brush: 0,
            water_pump: 0,
            lidar: None,
            led: 0,
            status: None,
            pose: Pose::default(),
            distance: 0.0,
            dock: None,
            docking: None,
            dock_distance_m: None,
            battery_percent: None,
            battery_volts: None,
            version: None,
            version_code: None,
            counters: Counters::default(),
        }
    }
}
