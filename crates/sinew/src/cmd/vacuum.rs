//! `sinew vacuum`: the verbs of a vacuum.

mod ask;
mod dock;
mod drive;

use std::time::Duration;

use clap::{Subcommand, ValueEnum};
use serde_json::{Map, Value, json};
use sinew_api::Command;

use super::control::{carry_out, component_control};
use crate::{client::Daemon, output, say::say};

/// Drive and use a vacuum.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    daemon: Daemon,
}

#[derive(Clone, Copy, ValueEnum)]
enum OnOff {
    On,
    Off,
}

#[derive(Clone, Copy, ValueEnum)]
enum Part {
    Vacuum,
    MainBrush,
    SideBrush,
}

#[derive(Clone, Copy, ValueEnum)]
enum Sensor {
    State,
    Calibrate,
}

#[derive(Clone, Copy, ValueEnum)]
enum Board {
    MainBoardOn,
    MainBoardOff,
    MainBoardRestart,
    ChargerOn,
    ChargerOff,
    McuSleep,
    McuWake,
}

#[derive(Subcommand)]
enum Verb {
    /// Drive until the time is over or Ctrl-C, then stop.
    Drive {
        /// Forward, m/s.
        #[arg(long, value_name = "M/S", default_value_t = 0.0, allow_negative_numbers = true)]
        linear: f32,
        /// Counter-clockwise, rad/s.
        #[arg(long, value_name = "RAD/S", default_value_t = 0.0, allow_negative_numbers = true)]
        angular: f32,
        /// How long, as in 3s or 500ms.
        #[arg(long = "for", value_name = "TIME", value_parser = super::duration)]
        duration: Duration,
    },
    /// Drive each wheel until the time is over or Ctrl-C, then stop.
    Tank {
        /// Left wheel, m/s.
        #[arg(long, value_name = "M/S", allow_negative_numbers = true)]
        left: f32,
        /// Right wheel, m/s.
        #[arg(long, value_name = "M/S", allow_negative_numbers = true)]
        right: f32,
        /// How long, as in 3s or 500ms.
        #[arg(long = "for", value_name = "TIME", value_parser = super::duration)]
        duration: Duration,
    },
    /// Everything off at once.
    Stop,
    /// Suction or a brush, in percent.
    Set {
        /// Which.
        part: Part,
        /// How much, 0 to 100.
        #[arg(value_parser = clap::value_parser!(u8).range(0..=100))]
        percent: u8,
    },
    /// Button LED: 0 to 18.
    Led {
        /// The mode.
        state: u8,
    },
    /// Laser scanner.
    Lidar {
        /// Power.
        state: OnOff,
        /// Motor, in percent.
        #[arg(long, value_parser = clap::value_parser!(u8).range(0..=100))]
        pwm: Option<u8>,
    },
    /// Drive back to the dock, and tell how it goes until the robot charges.
    Dock,
    /// Run the boot sequence again, and wait for its end.
    Boot,
    /// Wake the controller's protocol.
    Sync,
    /// Inertial sensor: ask for its state, or calibrate it (needs --confirm).
    Imu {
        /// What to do.
        what: Sensor,
        /// Calibrate it although that replaces the factory's calibration.
        #[arg(long)]
        confirm: bool,
    },
    /// Compass: ask for its state, or calibrate it (needs --confirm).
    Compass {
        /// What to do.
        what: Sensor,
        /// Calibrate it although that replaces its calibration.
        #[arg(long)]
        confirm: bool,
    },
    /// Power of main board, charger and controller.
    Power {
        /// What to switch, and how.
        what: Board,
        /// Do it although it can hurt: it is needed to switch the main board off, to restart it, and to
        /// put the controller to sleep.
        #[arg(long)]
        confirm: bool,
    },
    /// Send any frame (needs --confirm).
    Raw {
        /// The command byte.
        command: String,
        /// The payload as hex.
        #[arg(default_value = "")]
        payload: String,
        /// Send it although nothing checks what it does.
        #[arg(long)]
        confirm: bool,
    },
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let (command, confirm, done) = match &args.verb {
        Verb::Drive { linear, angular, duration } => {
            let speeds = [("linear", *linear), ("angular", *angular)];
            let what = drive::velocity(*linear, *angular);
            return drive::run(&args.daemon, speeds, &what, *duration, json);
        }
        Verb::Tank { left, right, duration } => {
            let what = format!("its wheels at {left} and {right} m/s");
            let speeds = [("left", *left), ("right", *right)];
            return drive::run(&args.daemon, speeds, &what, *duration, json);
        }
        Verb::Dock => return dock::run(&args.daemon, json),
        Verb::Stop => return super::stop::stop(&args.daemon, json),
        Verb::Boot => return ask::boot(&args.daemon, json),
        Verb::Sync => return ask::sync(&args.daemon, json),
        Verb::Imu { what: Sensor::State, .. } => return ask::imu(&args.daemon, json),
        Verb::Compass { what: Sensor::State, .. } => return ask::compass(&args.daemon, json),
        Verb::Set { part, percent } => {
            let (id, what) = match part {
                Part::Vacuum => ("vacuum", "suction"),
                Part::MainBrush => ("main_brush", "main brush"),
                Part::SideBrush => ("side_brush", "side brush"),
            };
            let command = control(id, "Configure", &[("speed", json!({ "U8": percent }))]);
            (command, false, format!("{what} at {percent} %"))
        }
        Verb::Led { state } => {
            let command = control("led", "Configure", &[("state", json!({ "U8": state }))]);
            (command, false, format!("LED in mode {state}"))
        }
        Verb::Lidar { state: OnOff::Off, .. } => {
            (control("lidar", "Disable", &[]), false, "lidar off".into())
        }
        Verb::Lidar { state: OnOff::On, pwm } => {
            let config: Vec<_> = pwm.iter().map(|pwm| ("pwm", json!({ "U8": pwm }))).collect();
            let motor = pwm.map_or(String::new(), |pwm| format!(", its motor at {pwm} %"));
            (control("lidar", "Enable", &config), false, format!("lidar on{motor}"))
        }
        Verb::Imu { what: Sensor::Calibrate, confirm } => {
            (control("imu", "Reset", &[]), *confirm, "calibrating the inertial sensor".into())
        }
        Verb::Compass { what: Sensor::Calibrate, confirm } => {
            (control("compass", "Reset", &[]), *confirm, "calibrating the compass".into())
        }
        Verb::Power { what, confirm } => {
            let (id, verb, done) = match what {
                Board::MainBoardOn => ("main_board", "Enable", "main board on"),
                Board::MainBoardOff => ("main_board", "Disable", "main board off"),
                Board::MainBoardRestart => ("main_board", "Reset", "main board restarts"),
                Board::ChargerOn => ("charger", "Enable", "charger on"),
                Board::ChargerOff => ("charger", "Disable", "charger off"),
                Board::McuSleep => ("mcu", "Disable", "the controller sleeps"),
                Board::McuWake => ("mcu", "Enable", "the controller was woken"),
            };
            (control(id, verb, &[]), *confirm, done.into())
        }
        Verb::Raw { command, payload, confirm } => {
            let command = super::number::<u8>(command).map_err(super::Usage)?;
            // The payload as it was typed: the daemon reads it, and says what is wrong with it.
            let raw = json!({ "type": "Raw", "command": command, "payload": payload });
            let sent = format!("sent {command:02x} {payload}");
            return finish(&args.daemon, raw, *confirm, sent.trim_end(), json);
        }
    };
    finish(&args.daemon, command.to_value(), confirm, &done, json)
}

/// Has something done, and says so.
fn finish(
    daemon: &Daemon,
    command: Value,
    confirm: bool,
    done: &str,
    json: bool,
) -> anyhow::Result<u8> {
    let robot = carry_out(&mut daemon.connect()?, command, confirm)?;
    say(&format!("{robot}: {done}"));
    output::done(json)
}

fn control(id: &str, verb: &str, config: &[(&str, Value)]) -> Command {
    let config: Map<_, _> =
        config.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
    component_control(id, verb, config)
}
