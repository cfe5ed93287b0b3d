use std::{
    mem,
    time::{Duration, Instant},
};

use sinew_wire::gd32::{Body, Command as WireCommand, FrameBuf, LIDAR_PREPARATION, Mode, Switch};

use super::{
    Session,
    motion::NAVIGATION,
    outbox::{self, framed},
};
use crate::later;

/// How long the controller ignores actuators after a mode switch.
const SETTLE: Duration = Duration::from_millis(100);
/// When the port takes a frame is known only at the next call, which is a beat away.
const UNTIL_NEXT_CALL: Duration = Duration::from_millis(20);
/// How often what is on is said again.
const REPEAT: Duration = Duration::from_millis(100);
/// The lidar does not start before this long after 0x08 was answered.
const LIDAR_DELAY: Duration = Duration::from_millis(1400);
/// Actuator commands kept while a mode switch settles.
const WAITING: usize = 64;

/// Mode switches, and what waits for them.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    settled_at: Option<Instant>,
    switched_at: Option<Instant>,
    waiting: Vec<(Instant, Actuator)>,
    repeat_at: Option<Instant>,
    /// When the lidar may start.
    lidar_from: Option<Instant>,
}

/// What an output is to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Actuator {
    Vacuum(u8),
    MainBrush(u8),
    SideBrush(u8),
    WaterPump(u8),
    LidarPrepare,
    /// The motor's percentage, or none to switch the power off.
    LidarPower(Option<u8>),
    LidarPwm(u8),
}

/// Which of the brushes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Brushes {
    pub(super) side: bool,
    pub(super) main: bool,
}

impl Actuator {
    fn is_lidar(self) -> bool {
        matches!(self, Actuator::LidarPrepare | Actuator::LidarPower(_) | Actuator::LidarPwm(_))
    }

    fn is_off(self) -> bool {
        matches!(
            self,
            Actuator::Vacuum(0)
                | Actuator::MainBrush(0)
                | Actuator::SideBrush(0)
                | Actuator::WaterPump(0)
                | Actuator::LidarPower(None)
        )
    }

    /// Whether it sets what another one sets.
    fn replaces(self, other: Actuator) -> bool {
        mem::discriminant(&self) == mem::discriminant(&other)
            || (self.is_lidar() && other.is_lidar())
    }

    fn starts_lidar(self) -> bool {
        self.is_lidar() && self != Actuator::LidarPower(None)
    }
}

impl Outputs {
    pub(super) fn timeout(&self) -> Option<Instant> {
        let waiting = self.waiting.iter().map(|(at, _)| *at).min();
        let next = [waiting, self.repeat_at].into_iter().flatten().min();
        // Nothing is sent before the mode has settled.
        match (next, self.settled_at) {
            (Some(next), Some(settled)) => Some(next.max(settled)),
            (next, settled) => next.or(settled),
        }
    }

    /// Whether the controller still ignores actuators.
    pub(super) fn is_settling(&self, now: Instant) -> bool {
        self.settled_at.is_some_and(|at| now < at)
    }

    /// The controller answered 0x08.
    pub(super) fn initialised(&mut self, now: Instant) {
        self.lidar_from = Some(later(now, LIDAR_DELAY));
    }

    /// How many commands wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// A mode is on the line from then on.
    pub(super) fn settle_from(&mut self, begins: Instant) {
        let settled = later(begins, SETTLE);
        self.settled_at = Some(self.settled_at.map_or(settled, |at| at.max(settled)));
    }

    /// What was accepted but not yet sent never is.
    pub(super) fn forget_waiting(&mut self) {
        self.waiting.clear();
    }

    /// The same for what would come on; what was to go off still does.
    pub(super) fn forget_waiting_on(&mut self) {
        self.waiting.retain(|(_, actuator)| actuator.is_off());
    }

    pub(super) fn forget_waiting_brushes(&mut self) {
        let brush = |actuator: &Actuator| {
            matches!(actuator, Actuator::MainBrush(_) | Actuator::SideBrush(_))
        };
        self.waiting.retain(|(_, actuator)| !brush(actuator));
    }

    pub(super) fn forget_waiting_lidar(&mut self) {
        self.waiting.retain(|(_, actuator)| !actuator.is_lidar());
    }
}

impl Session {
    pub(super) fn switch_mode(&mut self, now: Instant, mode: u8) {
        self.send(Body::MotorMode(Mode::from(mode)));
        self.mode_switched(now, mode);
    }

    /// A frame with this mode has been sent.
    pub(super) fn mode_switched(&mut self, now: Instant, mode: u8) {
        self.state.mode = mode;
        self.outputs.settled_at = Some(later(now, SETTLE));
        self.outputs.switched_at = Some(now);
    }

    /// A mode that the port has not taken yet does not settle.
    pub(super) fn hold_settling(&mut self, now: Instant) {
        if self.outputs.switched_at.is_some_and(|at| now > at) && self.outbox.holds(is_mode) {
            self.outputs.settled_at = Some(later(now, SETTLE + UNTIL_NEXT_CALL));
        }
    }

    /// Nothing works in mode 0.
    pub(super) fn leave_idle_mode(&mut self, now: Instant) {
        if self.state.mode == 0 {
            self.switch_mode(now, NAVIGATION);
        }
    }

    /// Sends it, or keeps it until the controller listens.
    pub(super) fn actuate(&mut self, now: Instant, actuator: Actuator) {
        let from = self.outputs.lidar_from.filter(|_| actuator.starts_lidar()).unwrap_or(now);
        if now >= from && !self.outputs.is_settling(now) {
            return self.apply(now, actuator);
        }
        let waiting = &mut self.outputs.waiting;
        if waiting.len() >= WAITING {
            let same = |other: &Actuator| mem::discriminant(other) == mem::discriminant(&actuator);
            let oldest = waiting.iter().position(|(_, other)| same(other)).unwrap_or(0);
            waiting.remove(oldest);
        }
        waiting.push((from, actuator));
    }

    pub(super) fn start_lidar(&mut self, now: Instant, pwm: u8) {
        for actuator in
            [Actuator::LidarPrepare, Actuator::LidarPower(Some(pwm)), Actuator::LidarPwm(pwm)]
        {
            self.actuate(now, actuator);
        }
    }

    /// Switches everything that is on back on, after a mode switch switched it off. What waited
    /// before comes after it, and in place of what it replaces.
    pub(super) fn restore_outputs(&mut self, now: Instant) {
        let waiting = mem::take(&mut self.outputs.waiting);
        let replaced = |on: &Actuator| waiting.iter().any(|(_, later)| later.replaces(*on));
        let running = self.running().into_iter().flatten().filter(|on| !replaced(on));
        running.for_each(|on| self.actuate(now, on));
        if let Some(pwm) = self.state.lidar.filter(|pwm| !replaced(&Actuator::LidarPwm(*pwm))) {
            self.start_lidar(now, pwm);
        }
        self.outputs.waiting.extend(waiting);
    }

    /// Whether something is on, or will be once what waits is sent.
    pub(super) fn something_stays_on(&self) -> bool {
        let waiting = || self.outputs.waiting.iter().map(|(_, actuator)| *actuator);
        let lidar = self.state.lidar.map(Actuator::LidarPwm);
        let stays = |on: Actuator| !waiting().any(|later| later.replaces(on));
        self.running().into_iter().flatten().chain(lidar).any(stays)
            || waiting().enumerate().any(|(index, on)| {
                let replaced = waiting().skip(index + 1).any(|later| later.replaces(on));
                !on.is_off() && !replaced
            })
    }

    /// Switches off the vacuum, the brushes and the pump that run.
    pub(super) fn outputs_off(&mut self, now: Instant) {
        self.outputs.forget_waiting();
        if self.state.vacuum > 0 {
            self.apply(now, Actuator::Vacuum(0));
        }
        if self.state.water_pump > 0 {
            self.apply(now, Actuator::WaterPump(0));
        }
        self.brushes_off(now, Brushes { side: true, main: true });
    }

    /// Switches off those of these brushes that run.
    pub(super) fn brushes_off(&mut self, now: Instant, brushes: Brushes) {
        if brushes.side && self.state.side_brush > 0 {
            self.apply(now, Actuator::SideBrush(0));
        }
        if brushes.main && self.state.main_brush > 0 {
            self.apply(now, Actuator::MainBrush(0));
        }
    }

    pub(super) fn something_is_on(&self) -> bool {
        let state = &self.state;
        let percents = [state.vacuum, state.main_brush, state.side_brush];
        percents.iter().any(|&percent| percent > 0) || state.lidar.is_some()
    }

    /// Frames that stop everything but the wheels, in the order of document 003's project. That of
    /// the pump, of which it does not tell, is among them where the pump is on.
    pub(super) fn all_off(&mut self, now: Instant) -> Vec<Body<'static>> {
        self.outputs.forget_waiting();
        let state = &mut self.state;
        let pump = mem::take(&mut state.water_pump) > 0;
        (state.vacuum, state.main_brush, state.side_brush, state.lidar) = (0, 0, 0, None);
        self.mode_switched(now, 0);
        let off = [
            Body::Vacuum(0),
            Body::SideBrush(0),
            Body::MainBrush(0),
            Body::LidarPwm(0),
            Body::LidarPower(Switch::Off),
            Body::MotorMode(Mode::Idle),
        ];
        pump.then_some(Body::MotorInit(0)).into_iter().chain(off).collect()
    }

    pub(super) fn advance_outputs(&mut self, now: Instant) {
        if self.outputs.is_settling(now) {
            return;
        }
        self.outputs.settled_at = None;
        while let Some(due) = self.outputs.waiting.iter().position(|(at, _)| now >= *at) {
            let (_, actuator) = self.outputs.waiting.remove(due);
            self.apply(now, actuator);
        }
        self.send_waiting_velocity(now);
        self.repeat_outputs(now);
    }

    /// Sends it now.
    fn apply(&mut self, now: Instant, actuator: Actuator) {
        if let Some(body) = self.set(actuator) {
            self.send(body);
            self.outputs_changed(now);
        }
    }

    /// Notes it as sent, and gives what is to be sent.
    fn set(&mut self, actuator: Actuator) -> Option<Body<'static>> {
        let state = &mut self.state;
        Some(match actuator {
            Actuator::Vacuum(percent) => {
                let power = self.settings.profile.vacuum(percent).ok()?;
                state.vacuum = percent;
                Body::Vacuum(power)
            }
            Actuator::MainBrush(percent) => {
                state.main_brush = percent;
                Body::MainBrush(percent)
            }
            Actuator::SideBrush(percent) => {
                state.side_brush = percent;
                Body::SideBrush(percent)
            }
            Actuator::WaterPump(percent) => {
                state.water_pump = percent;
                Body::MotorInit(percent)
            }
            Actuator::LidarPrepare => Body::LidarPrepare(LIDAR_PREPARATION),
            Actuator::LidarPower(pwm) => {
                state.lidar = pwm;
                Body::LidarPower(if pwm.is_some() { Switch::On } else { Switch::Off })
            }
            Actuator::LidarPwm(pwm) => Body::LidarPwm(pwm.into()),
        })
    }

    /// Starts the repetition when something has come on.
    pub(super) fn outputs_changed(&mut self, now: Instant) {
        if self.outputs.repeat_at.is_none() && self.something_is_on() {
            self.outputs.repeat_at = Some(later(now, REPEAT));
        }
    }

    fn repeat_outputs(&mut self, now: Instant) {
        if self.outputs.repeat_at.is_none_or(|at| now < at) {
            return;
        }
        self.outputs.repeat_at = self.something_is_on().then(|| later(now, REPEAT));
        // The pump's value is not repeated: no source says that it has to be.
        let [running @ .., _pump] = self.running();
        let lidar = self.state.lidar.map(Actuator::LidarPwm);
        for actuator in running.into_iter().flatten().chain(lidar) {
            if let Some(frame) = self.set(actuator).and_then(framed) {
                self.send_again(frame);
            }
        }
    }

    fn running(&self) -> [Option<Actuator>; 4] {
        let on = |percent: u8, actuator: fn(u8) -> Actuator| {
            Some(percent).filter(|&percent| percent > 0).map(actuator)
        };
        [
            on(self.state.vacuum, Actuator::Vacuum),
            on(self.state.side_brush, Actuator::SideBrush),
            on(self.state.main_brush, Actuator::MainBrush),
            on(self.state.water_pump, Actuator::WaterPump),
        ]
    }
}

pub(super) fn is_mode(frame: &FrameBuf) -> bool {
    outbox::command_of(frame) == Some(WireCommand::MotorMode)
}
