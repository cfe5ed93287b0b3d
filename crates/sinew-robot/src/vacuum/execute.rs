use std::time::Instant;

use sinew_wire::gd32::{Body, Command as WireCommand, FrameBuf, Mode, Switch};

use super::{
    Command, Event, LinkState, Session,
    motion::{self, NAVIGATION},
    outputs::Actuator,
    wheels,
};
use crate::{Code, Refusal, drive::Speeds};

impl Session {
    pub(super) fn dispatch(
        &mut self,
        now: Instant,
        received: Instant,
        command: Command,
        by: &str,
    ) -> Result<(), Refusal> {
        if self.recorded {
            return self.dispatch_recorded(&command, by);
        }
        match command {
            Command::DriveReset => self.emergency_stop(now, by),
            Command::DriveDisable => self.drive_disable(now, by),
            Command::Velocity { linear, angular } => {
                self.drive(now, received, Speeds::Velocity { linear, angular }, by)?;
            }
            Command::Tank { left, right } => {
                self.drive(now, received, Speeds::Tank { left, right }, by)?;
            }
            Command::Lenient { speeds, hold } => {
                self.drive_leniently(now, received, speeds, hold, by)?;
            }
            Command::LetGo { reason } => self.let_go(now, reason),
            Command::Dock => self.dock(now, received)?,
            Command::Boot => self.boot_again(now, by)?,
            Command::Raw { command, payload } => self.raw(now, received, command, &payload, by)?,
            // A controller that sleeps sends nothing, so its link counts as lost: this is for it.
            Command::McuWake if self.state.link == LinkState::Lost => {
                self.may_wait()?;
                self.send(Body::WakeupAck);
            }
            other => {
                check(&other)?;
                self.gate()?;
                self.may_wait()?;
                self.control(now, other, by)?;
            }
        }
        Ok(())
    }

    /// Of a recording nothing can be asked; a stop is what it is already.
    fn dispatch_recorded(&mut self, command: &Command, by: &str) -> Result<(), Refusal> {
        match command {
            command if command.is_stop() => {
                self.stopped(by);
                Ok(())
            }
            Command::LetGo { .. } => Ok(()),
            _ => Err(Refusal::new(
                Code::Unsupported,
                "this is a recording: there is no robot that could do it",
            )),
        }
    }

    /// Whether the controller takes commands.
    pub(super) fn gate(&self) -> Result<(), Refusal> {
        let link = &self.state.link;
        let (code, hint) = match link {
            LinkState::Ready => return Ok(()),
            LinkState::Disconnected { .. } => (Code::LinkLost, ""),
            LinkState::Lost => (Code::LinkLost, ": it is booted again when it comes back"),
            LinkState::Booting { .. } => (Code::NotReady, ": wait until it is ready"),
            LinkState::Failed { .. } => (Code::NotReady, ""),
        };
        Err(Refusal::new(code, format!("{link}{hint}")))
    }

    /// Commands that need nothing but a controller that listens.
    fn control(&mut self, now: Instant, command: Command, by: &str) -> Result<(), Refusal> {
        match command {
            Command::DriveEnable { mode } => {
                self.is_awake(now)?;
                self.drive_enable(now, mode, by);
            }
            Command::Vacuum { percent } => {
                self.settings
                    .profile
                    .vacuum(percent)
                    .map_err(|error| Refusal::invalid(format!("vacuum: {error}")))?;
                self.set_output(now, Actuator::Vacuum(percent));
            }
            Command::MainBrush { percent } => self.set_output(now, Actuator::MainBrush(percent)),
            Command::SideBrush { percent } => self.set_output(now, Actuator::SideBrush(percent)),
            Command::WaterPump { percent } => self.set_output(now, Actuator::WaterPump(percent)),
            Command::LidarOn { pwm } => {
                self.leave_idle_mode(now);
                self.start_lidar(now, pwm);
            }
            Command::LidarOff => {
                self.outputs.forget_waiting_lidar();
                self.set_output(now, Actuator::LidarPower(None));
            }
            Command::Led { state } => {
                self.set_led(state);
                self.keep_led();
            }
            Command::ImuState => self.send(Body::ImuState),
            Command::ImuCalibrate => {
                self.send(Body::ImuCalibrate);
                self.odometry.gyro.zeroed();
            }
            Command::CompassState => self.send(Body::CompassState),
            Command::CompassCalibrate => self.send(Body::CompassCalibrate),
            Command::CliffIr { on } => self.send(Body::CliffIr(switch(on))),
            Command::CliffIrDirection { direction } => self.send(Body::CliffIrDirection(direction)),
            Command::Charger { on } => self.send(Body::ChargerPower(switch(on))),
            Command::McuWake => self.send(Body::WakeupAck),
            Command::McuClearErrors => self.send(Body::ResetErrorCode),
            Command::ProtocolSync => self.send(Body::ProtocolSync(1)),
            Command::McuSleep => self.leave_standing(now, by, Body::McuSleep),
            Command::MainBoard { on: true } => self.send(Body::MainBoardPower(Switch::On)),
            Command::MainBoard { on: false } => {
                self.leave_standing(now, by, Body::MainBoardPower(Switch::Off));
            }
            Command::MainBoardRestart => self.leave_standing(now, by, Body::MainBoardRestart),
            Command::DriveReset
            | Command::DriveDisable
            | Command::Velocity { .. }
            | Command::Tank { .. }
            | Command::Lenient { .. }
            | Command::LetGo { .. }
            | Command::Dock
            | Command::Boot
            | Command::Raw { .. } => {}
        }
        Ok(())
    }

    fn drive_enable(&mut self, now: Instant, mode: u8, by: &str) {
        if self.motion.is_some() {
            self.halt(now);
        }
        self.abandon_dock(now, format!("{by} sent drive Enable"), true);
        if mode != NAVIGATION {
            self.outputs_off(now);
            if self.state.lidar.is_some() {
                self.send(Body::LidarPower(Switch::Off));
                self.state.lidar = None;
            }
        }
        self.state.stopped_by = None;
        self.switch_mode(now, mode);
        self.event(Event::Enabled { by: by.into() });
    }

    fn drive_disable(&mut self, now: Instant, by: &str) {
        // Outputs whose frames are dropped here are restored below.
        self.stop_with(now, &[Body::MotorMode(Mode::Idle)], motion::actuates);
        self.mode_switched(now, 0);
        self.abandon_dock(now, format!("{by} stopped it"), true);
        self.stopped(by);
        if self.something_stays_on() && self.state.link == LinkState::Ready {
            self.switch_mode(now, NAVIGATION);
            self.restore_outputs(now);
        }
    }

    fn emergency_stop(&mut self, now: Instant, by: &str) {
        let off = self.all_off(now);
        self.stop_with(now, &off, motion::actuates);
        self.abandon_dock(now, format!("{by} stopped it"), true);
        self.stopped(by);
    }

    /// Sends something after which the wheels are out of reach.
    fn leave_standing(&mut self, now: Instant, by: &str, body: Body<'_>) {
        self.halt(now);
        self.abandon_dock(now, format!("{by} switched it off"), true);
        self.send(body);
    }

    fn boot_again(&mut self, now: Instant, by: &str) -> Result<(), Refusal> {
        if !matches!(self.state.link, LinkState::Failed { .. }) {
            self.gate()?;
        }
        self.may_wait()?;
        self.halt(now);
        self.abandon_dock(now, format!("{by} booted the controller again"), true);
        self.latch(by);
        self.begin_boot(now);
        Ok(())
    }

    fn set_output(&mut self, now: Instant, actuator: Actuator) {
        self.leave_idle_mode(now);
        self.actuate(now, actuator);
    }

    /// Any frame. One that drives is held to the rules of driving; one that sets an output changes
    /// what is repeated.
    fn raw(
        &mut self,
        now: Instant,
        received: Instant,
        command: u8,
        payload: &[u8],
        by: &str,
    ) -> Result<(), Refusal> {
        let frame = FrameBuf::new(command, payload)
            .map_err(|error| Refusal::invalid(format!("raw: {error}")))?;
        match (WireCommand::from(command), payload) {
            // Standing still is always allowed.
            (WireCommand::MotorVelocity, &[0, 0, 0, 0, 0, 0, 0, 0])
            | (WireCommand::MotorSpeed, &[0, 0, 0, 0]) => {
                self.gate()?;
                let wheels = command == WireCommand::MotorSpeed.code();
                let then: &[_] = if wheels { &[motion::ZERO_WHEELS] } else { &[] };
                self.stop_with(now, then, motion::moves);
                self.abandon_dock(now, format!("{by} stopped it"), true);
                return Ok(());
            }
            (WireCommand::MotorVelocity | WireCommand::MotorSpeed, _) => {
                let speeds = wheels::speeds(command, payload, &self.settings.profile)?;
                return self.drive(now, received, speeds, by);
            }
            _ => self.gate()?,
        }
        self.may_occupy_line(command, &frame)?;
        self.may_wait()?;
        let state = &mut self.state;
        match (WireCommand::from(command), payload) {
            (WireCommand::MotorMode, &[mode, ..]) => self.mode_switched(now, mode),
            (WireCommand::Vacuum, &[low, high, ..]) => {
                let power = f32::from(u16::from_le_bytes([low, high]));
                state.vacuum = (power / self.settings.profile.vacuum_scale).ceil().min(100.0) as u8;
            }
            (WireCommand::SideBrush, &[percent, ..]) => state.side_brush = percent,
            (WireCommand::MainBrush, &[percent, ..]) => state.main_brush = percent,
            (WireCommand::MotorInit, &[percent, ..]) => state.water_pump = percent,
            (WireCommand::LidarPwm, &[pwm, ..]) if state.lidar.is_some() => state.lidar = Some(pwm),
            (WireCommand::LidarPower, &[0, ..]) => state.lidar = None,
            (WireCommand::LidarPower, _) if state.lidar.is_none() => state.lidar = Some(0),
            (WireCommand::Led, &[led, ..]) => {
                state.led = led;
                self.keep_led();
            }
            _ => {}
        }
        self.send_frame(frame);
        self.outputs_changed(now);
        Ok(())
    }
}

/// Percentages and modes are checked when a command is parsed; a caller that builds one itself
/// does not get around it.
fn check(command: &Command) -> Result<(), Refusal> {
    let (what, value, wanted) = match *command {
        Command::Vacuum { percent } if percent > 100 => ("vacuum speed", percent, "0 to 100"),
        Command::MainBrush { percent } if percent > 100 => {
            ("main_brush speed", percent, "0 to 100")
        }
        Command::SideBrush { percent } if percent > 100 => {
            ("side_brush speed", percent, "0 to 100")
        }
        Command::WaterPump { percent } if percent > 100 => {
            ("water_pump speed", percent, "0 to 100")
        }
        Command::LidarOn { pwm } if pwm > 100 => ("lidar pwm", pwm, "0 to 100"),
        Command::DriveEnable { mode } if mode != 0 && mode != NAVIGATION => {
            ("drive mode", mode, "0 or 2")
        }
        _ => return Ok(()),
    };
    Err(Refusal::invalid(format!("{what}: wanted {wanted}, got {value}")))
}

const fn switch(on: bool) -> Switch {
    if on { Switch::On } else { Switch::Off }
}
