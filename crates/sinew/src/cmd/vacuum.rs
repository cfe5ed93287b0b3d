//! `sinew vacuum`: the verbs of a vacuum.

use std::time::{Duration, Instant};

use clap::{Subcommand, ValueEnum};
use serde_json::{Map, Value, json};
use sinew_api::{Command, Halt, Topic};

use super::control::{carry_out, component_control};
use crate::{
    DONE,
    client::Daemon,
    interrupt,
    output::{self, printable, printable_json},
};

/// How often a velocity is sent anew; the robot stops 300 ms after the last one.
const REFRESH: Duration = Duration::from_millis(100);

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
        #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
        linear: f32,
        /// Counter-clockwise, rad/s.
        #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
        angular: f32,
        /// How long, as in 3s or 500ms.
        #[arg(long = "for", value_parser = super::duration)]
        duration: Duration,
    },
    /// Drive each wheel until the time is over or Ctrl-C, then stop.
    Tank {
        /// Left wheel, m/s.
        #[arg(long, allow_negative_numbers = true)]
        left: f32,
        /// Right wheel, m/s.
        #[arg(long, allow_negative_numbers = true)]
        right: f32,
        /// How long, as in 3s or 500ms.
        #[arg(long = "for", value_parser = super::duration)]
        duration: Duration,
    },
    /// Everything off at once.
    Stop,
    /// Suction or a brush, in percent.
    Set {
        part: Part,
        #[arg(value_parser = clap::value_parser!(u8).range(0..=100))]
        percent: u8,
    },
    /// Button LED: 0 to 18.
    Led { state: u8 },
    /// Laser scanner.
    Lidar {
        state: OnOff,
        /// Motor, in percent.
        #[arg(long, value_parser = clap::value_parser!(u8).range(0..=100))]
        pwm: Option<u8>,
    },
    /// Drive back to the dock.
    Dock,
    /// Run the boot sequence again.
    Boot,
    /// Inertial sensor: ask for its state, or calibrate it (needs --confirm).
    Imu {
        what: Sensor,
        #[arg(long)]
        confirm: bool,
    },
    /// Compass: ask for its state, or calibrate it (needs --confirm).
    Compass {
        what: Sensor,
        #[arg(long)]
        confirm: bool,
    },
    /// Power of main board, charger and controller.
    Power {
        what: Board,
        /// Needed for what can hurt.
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
        #[arg(long)]
        confirm: bool,
    },
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let (command, confirm) = match &args.verb {
        Verb::Drive { linear, angular, duration } => {
            let config = [("linear", *linear), ("angular", *angular)];
            return drive(args, config, *duration, json);
        }
        Verb::Tank { left, right, duration } => {
            return drive(args, [("left", *left), ("right", *right)], *duration, json);
        }
        Verb::Dock => return dock(args, json),
        Verb::Stop => (STOP, false),
        Verb::Set { part, percent } => {
            let id = match part {
                Part::Vacuum => "vacuum",
                Part::MainBrush => "main_brush",
                Part::SideBrush => "side_brush",
            };
            (control(id, "Configure", &[("speed", json!({ "U8": percent }))]), false)
        }
        Verb::Led { state } => {
            (control("led", "Configure", &[("state", json!({ "U8": state }))]), false)
        }
        Verb::Lidar { state: OnOff::Off, .. } => (control("lidar", "Disable", &[]), false),
        Verb::Lidar { state: OnOff::On, pwm } => {
            let config: Vec<_> = pwm.iter().map(|pwm| ("pwm", json!({ "U8": pwm }))).collect();
            (control("lidar", "Enable", &config), false)
        }
        Verb::Boot => (Command::Boot, false),
        Verb::Imu { what, confirm } => (control("imu", sensor_verb(*what), &[]), *confirm),
        Verb::Compass { what, confirm } => (control("compass", sensor_verb(*what), &[]), *confirm),
        Verb::Power { what, confirm } => {
            let (id, verb) = match what {
                Board::MainBoardOn => ("main_board", "Enable"),
                Board::MainBoardOff => ("main_board", "Disable"),
                Board::MainBoardRestart => ("main_board", "Reset"),
                Board::ChargerOn => ("charger", "Enable"),
                Board::ChargerOff => ("charger", "Disable"),
                Board::McuSleep => ("mcu", "Disable"),
                Board::McuWake => ("mcu", "Enable"),
            };
            (control(id, verb, &[]), *confirm)
        }
        Verb::Raw { command, payload, confirm } => {
            let command = super::number::<u8>(command).map_err(super::Usage)?;
            // The payload as it was typed: the daemon reads it, and says what is wrong with it.
            let raw = json!({ "type": "Raw", "command": command, "payload": payload });
            carry_out(&mut args.daemon.connect()?, args.daemon.robot(), raw, *confirm)?;
            return output::done(json);
        }
    };
    carry_out(&mut args.daemon.connect()?, args.daemon.robot(), command, confirm)?;
    output::done(json)
}

const STOP: Command = Command::Halt(Halt::Stop { note: None });

fn control(id: &str, verb: &str, config: &[(&str, Value)]) -> Command {
    let config: Map<_, _> =
        config.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
    component_control(id, verb, config)
}

fn sensor_verb(what: Sensor) -> &'static str {
    match what {
        Sensor::State => "Enable",
        Sensor::Calibrate => "Reset",
    }
}

/// Enables the drive, refreshes the velocity until the time is over or Ctrl-C, and stops.
fn drive(
    args: &Args,
    speeds: [(&str, f32); 2],
    duration: Duration,
    json: bool,
) -> anyhow::Result<u8> {
    let interrupted = interrupt::flag()?;
    let mut client = args.daemon.connect()?;
    let configure = |speeds: [(&str, f32); 2]| {
        let config = speeds.map(|(name, speed)| (name, json!({ "F32": speed })));
        control("drive", "Configure", &config)
    };
    client.request(control("drive", "Enable", &[]))?;
    let start = Instant::now();
    let driven = loop {
        if let Err(error) = client.request(configure(speeds)) {
            break Err(error);
        }
        let left = duration.saturating_sub(start.elapsed());
        if left.is_zero() || interrupted.is_set() {
            break Ok(());
        }
        interrupted.wait(left.min(REFRESH));
    };
    // Also after a refusal: what was accepted before it may still be in force.
    // By velocity or by wheel, as it was driven: neither is known to override the other.
    let stopped = client.request(configure(speeds.map(|(name, _)| (name, 0.0))));
    driven?;
    stopped?;
    output::done(json)
}

/// Has the robot return to its dock and tells how it goes. The controls, and with them the
/// return, end with the connection, so it is kept until the robot has arrived or given up.
fn dock(args: &Args, json: bool) -> anyhow::Result<u8> {
    let interrupted = interrupt::flag()?;
    let mut client = args.daemon.connect()?;
    client.request(Command::Subscribe { topics: vec![Topic::Events], max_hz: None })?;
    client.request(control("drive", "Enable", &[]))?;
    client.request(Command::Dock)?;
    client.set_patience(Duration::from_millis(100))?;
    while !interrupted.is_set() {
        let Some(event) = client.next_event()?.map(|event| event.data) else { continue };
        if event["event"] != "dock" {
            continue;
        }
        if json {
            println!("{}", printable_json(&event));
        }
        match event["dock"].as_str() {
            Some("arrived") => {
                if !json {
                    println!("on the dock, charging");
                }
                return Ok(DONE);
            }
            Some("gave_up") => {
                anyhow::bail!("gave up: {}", event["reason"].as_str().unwrap_or("?"));
            }
            _ if !json => println!("{}", printable(event["phase"].as_str().unwrap_or("?"))),
            _ => {}
        }
    }
    client.request(STOP)?;
    anyhow::bail!("interrupted: the robot was stopped")
}
