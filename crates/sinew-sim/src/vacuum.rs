//! The CRL-200S motor controller's side of the wire, with a robot and a room behind it.
//!
//! [`Controller`] takes the host's bytes and gives frames back; what it
//! commands moves a [`Pose`] about in a [`World`]. It behaves as
//! document 003 and its project describe: it is silent until synced, wants two
//! seconds of handshake before it moves, is deaf for a while after a mode
//! switch, and stops the motors when the host falls silent. [`Lidar`] is the robot's other line.
//!
//! ```
//! use std::time::{Duration, Instant};
//! use sinew_sim::vacuum::{Controller, Options};
//!
//! let mut now = Instant::now();
//! let mut robot = Controller::new(Options::default(), now);
//! robot.handle_input(now, &[0xFA, 0xFB, 0x04, 0x0C, 0x01, 0x0C, 0x01]);
//! let mut answer = None;
//! while answer.is_none() {
//!     now = robot.poll_timeout();
//!     robot.handle_timeout(now);
//!     answer = robot.poll_transmit();
//! }
//! assert_eq!(answer.unwrap().as_bytes(), [0xFA, 0xFB, 0x04, 0x0C, 0x01, 0x0C, 0x01]);
//! ```

mod behaviour;
mod body;
mod controller;
mod dock;
mod lidar;
mod outbox;
mod recorder;
mod scene;
mod spine;
mod world;

use std::time::Duration;

use sinew_wire::gd32::{DockIr, LedMode, Mode, Profile};

pub use behaviour::{COMPANION, HANDSHAKE_TIME, MODE_SWITCH, PULSE_GAP, SYNC_DELAY, WATCHDOG};
pub use body::{
    ACCEL_PER_G, BATTERY_EMPTY, BATTERY_FULL, GYRO_PER_RAD_S, MAX_WHEEL_SPEED, TICKS_PER_METRE,
    WHEEL_BASE,
};
pub use controller::Controller;
pub use dock::Dock;
pub use lidar::{Lidar, LidarOptions};
pub use recorder::Received;
pub use world::{CLIFF_SENSORS, Pose, ROBOT_RADIUS, Rect, World};

/// How a simulated robot begins, and which robot it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Where all chance comes from: sensor noise and errors, gyroscope bias, ignored 0x08.
    pub seed: u64,
    /// Status packets a second, from 1 to 500. A real UART carries at most 112.
    pub rate_hz: u32,
    /// Units and encoder layout on the wire.
    pub profile: Profile,
    /// Where the robot stands; by default on the dock, which is the origin.
    pub start: Pose,
    /// What surrounds it.
    pub world: World,
    /// How long the controller hears nothing after [`Controller::new`] and [`Controller::reboot`].
    pub boot_delay: Duration,
    /// How long actuators are ignored after 0x65.
    pub mode_switch: Duration,
    /// Whether the wheels stop after [`COMPANION`] when neither lidar, vacuum nor a brush is on,
    /// as the later state of document 003's project says of its robot.
    pub needs_companion: bool,
    /// How much each wheel's encoder counts too many or too few, as a share: the deviation of what
    /// is drawn for it, of which none is over three times as much. The controller holds its speeds
    /// by the encoders, so that a robot that is told to go straight goes in a curve.
    pub encoder_error: f64,
    /// The same for the rates that the gyroscope gives.
    pub gyro_error: f64,
    /// Battery voltage at the beginning.
    pub battery_volts: f32,
    /// How many of the host's latest frames are kept for [`Controller::received`].
    pub record: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            seed: 0,
            rate_hz: 110,
            profile: Profile::default(),
            start: Pose::default(),
            world: World::default(),
            boot_delay: Duration::ZERO,
            mode_switch: MODE_SWITCH,
            needs_companion: false,
            encoder_error: 0.0,
            gyro_error: 0.0,
            battery_volts: 15.0,
            record: 65_536,
        }
    }
}

/// What the controller has switched, and what it knows of its host.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Outputs {
    /// What 0x65 set.
    pub mode: Mode,
    /// Vacuum, percent.
    pub vacuum: u8,
    /// Side brush, percent.
    pub side_brush: u8,
    /// Main brush, percent.
    pub main_brush: u8,
    /// Pump of the mop, percent: 0x6B once its two seconds are over.
    pub water_pump: u8,
    /// Whether 0xA2 has prepared the lidar.
    pub lidar_prepared: bool,
    /// Lidar power.
    pub lidar_power: bool,
    /// Lidar motor, percent.
    pub lidar_pwm: u8,
    /// Button LED.
    pub led: LedMode,
    /// Charger; on at power-up.
    pub charger: bool,
    /// Cliff sensors; on at power-up, since the captured boot does not switch them on.
    pub cliff_ir: bool,
    /// What 0x79 set.
    pub cliff_direction: u8,
    /// Dock sensor.
    pub dock_ir: DockIr,
    /// The sync was received and answered.
    pub synced: bool,
    /// The two seconds of 0x6B are over.
    pub handshake_done: bool,
    /// 0x08 was accepted.
    pub initialized: bool,
    /// Between 0x04 and 0x05.
    pub asleep: bool,
    /// What 0x99 set.
    pub main_board_on: bool,
    /// How often 0x9A came, through reboots.
    pub main_board_restarts: u32,
}

impl Outputs {
    /// What the controller comes up with.
    const POWER_UP: Outputs = Outputs {
        mode: Mode::Idle,
        vacuum: 0,
        side_brush: 0,
        main_brush: 0,
        water_pump: 0,
        lidar_prepared: false,
        lidar_power: false,
        lidar_pwm: 0,
        led: LedMode(0),
        charger: true,
        cliff_ir: true,
        cliff_direction: 0,
        dock_ir: DockIr::Off,
        synced: false,
        handshake_done: false,
        initialized: false,
        asleep: false,
        main_board_on: true,
        main_board_restarts: 0,
    };

    /// Whether lidar, vacuum or a brush is on.
    pub const fn has_companion(&self) -> bool {
        self.lidar_power || self.vacuum > 0 || self.side_brush > 0 || self.main_brush > 0
    }

    /// What drives the lidar's motor, percent: it has to be prepared and to have power.
    pub fn lidar_drive(&self) -> Option<u8> {
        Some(self.lidar_pwm).filter(|_| self.lidar_prepared && self.lidar_power)
    }

    fn motors_off(&mut self) {
        self.vacuum = 0;
        self.side_brush = 0;
        self.main_brush = 0;
        self.water_pump = 0;
    }

    fn all_off(&mut self) {
        self.motors_off();
        self.lidar_prepared = false;
        self.lidar_power = false;
        self.lidar_pwm = 0;
    }
}
