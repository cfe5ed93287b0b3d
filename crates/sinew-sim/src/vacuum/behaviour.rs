use std::time::{Duration, Instant};

use fastrand::Rng;
use sinew_wire::gd32::{
    Body as Content, Frame, HANDSHAKE, Message, Mode, Profile, Sender, Switch, Velocity, Version,
    WheelSpeeds,
};

use super::{
    Options, Outputs,
    body::{Body, WHEEL_BASE},
    outbox::Outbox,
};

/// From the sync to its echo, and to the first status packet.
pub const SYNC_DELAY: Duration = Duration::from_millis(270);
/// How long 0x6B must be pulsed before motion is accepted.
pub const HANDSHAKE_TIME: Duration = Duration::from_secs(2);
/// Pulses of 0x6B further apart than this begin the handshake anew. The capture has 22 ms.
pub const PULSE_GAP: Duration = Duration::from_millis(100);
/// How long the controller ignores actuator commands after 0x65.
pub const MODE_SWITCH: Duration = Duration::from_millis(100);
/// Longer than this without 0x06, 0x66 or 0x67 and the motors stop.
pub const WATCHDOG: Duration = Duration::from_millis(50);
/// How long the wheels turn alone, where they need a companion: "1 to 2 s".
pub const COMPANION: Duration = Duration::from_millis(1500);

/// The capture has 130 acknowledgements for 1264 heartbeats.
const HEARTBEATS_PER_ACK: u32 = 10;
/// "0x08 may need repeated sends": at most this many are ignored after a sync.
const IGNORED_INITIALIZE: u8 = 3;
const LIDAR_STATE: [u8; 8] = [0x04, 0, 0, 0, 0x7F, 0, 0, 0];
/// Length, text, code 100. A text of three bytes is the longest that ends before the code begins.
const VERSION: [u8; 8] = [3, b'S', b'I', b'M', 100, 0, 0, 0];

/// What the controller does with the host's frames.
#[derive(Debug, Clone)]
pub(super) struct Behaviour {
    profile: Profile,
    mode_switch: Duration,
    needs_companion: bool,
    rng: Rng,
    pub(super) outputs: Outputs,
    /// A sync has come since power-up. Before that nothing else is obeyed.
    awake: bool,
    /// When to answer the sync, and with what.
    echo: Option<(Instant, u8)>,
    ignore_initialize: u8,
    heartbeats: u32,
    /// First and latest pulse of an unbroken handshake.
    pulses: Option<(Instant, Instant)>,
    deaf_until: Option<Instant>,
    /// When the watchdog was last fed, unless it has bitten since.
    fed: Option<Instant>,
    /// Since when the wheels turn without a companion.
    alone: Option<Instant>,
    /// The wheels were stopped for want of a companion.
    stalled: bool,
}

impl Behaviour {
    pub(super) fn new(options: &Options, rng: Rng) -> Self {
        Behaviour {
            profile: options.profile,
            mode_switch: options.mode_switch,
            needs_companion: options.needs_companion,
            rng,
            outputs: Outputs::POWER_UP,
            awake: false,
            echo: None,
            ignore_initialize: 0,
            heartbeats: 0,
            pulses: None,
            deaf_until: None,
            fed: None,
            alone: None,
            stalled: false,
        }
    }

    pub(super) fn power_cycle(&mut self) {
        let main_board_restarts = self.outputs.main_board_restarts;
        self.outputs = Outputs { main_board_restarts, ..Outputs::POWER_UP };
        self.awake = false;
        self.echo = None;
        self.heartbeats = 0;
        self.pulses = None;
        self.deaf_until = None;
        self.fed = None;
        self.alone = None;
        self.stalled = false;
    }

    /// Whether status packets are sent.
    pub(super) fn streams(&self) -> bool {
        self.outputs.synced && !self.outputs.asleep
    }

    /// When something is due by itself.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let echo = self.echo.filter(|_| !self.outputs.asleep).map(|(due, _)| due);
        [echo, self.watchdog(), self.companion()].into_iter().flatten().min()
    }

    /// Does what is due at `now`.
    pub(super) fn handle_timeout(&mut self, now: Instant, body: &mut Body, out: &mut Outbox) {
        if let Some((due, byte)) = self.echo
            && due <= now
            && !self.outputs.asleep
        {
            self.echo = None;
            self.outputs.synced = true;
            out.release(Content::ProtocolSyncAck(byte));
        }
        if self.watchdog().is_some_and(|due| due <= now) {
            self.fed = None;
            self.alone = None;
            self.outputs.motors_off();
            body.set_targets([0.0; 2]);
        }
        if self.companion().is_some_and(|due| due <= now) {
            self.alone = None;
            self.stalled = true;
            body.set_targets([0.0; 2]);
        }
    }

    /// Obeys a frame.
    pub(super) fn handle_frame(
        &mut self,
        now: Instant,
        frame: &Frame<'_>,
        body: &mut Body,
        out: &mut Outbox,
    ) {
        let Ok(Message { body: content, .. }) = Message::parse(frame, Some(Sender::Host)) else {
            return;
        };
        match content {
            Content::WakeupAck => self.wake(now),
            _ if self.outputs.asleep => {}
            Content::ProtocolSync(byte) => self.sync(now, byte, out),
            _ if !self.awake => {}
            content => {
                if feeds_watchdog(&content) {
                    self.fed = Some(now);
                }
                if is_actuator(&content) {
                    if self.deaf_until.is_none_or(|until| now >= until) {
                        self.actuate(content, body);
                    }
                } else {
                    self.answer(&content, body, out);
                    self.switch(now, content, body);
                }
            }
        }
        self.watch_companion(now, body);
    }

    /// Commands that need neither mode nor handshake.
    fn switch(&mut self, now: Instant, content: Content<'_>, body: &mut Body) {
        let outputs = &mut self.outputs;
        match content {
            Content::McuSleep => {
                outputs.asleep = true;
                outputs.all_off();
                body.set_targets([0.0; 2]);
            }
            Content::LidarPrepare(_) => outputs.lidar_prepared = true,
            Content::MotorMode(mode) => self.set_mode(now, mode, body),
            Content::MotorInit(value) => self.pulse(now, value),
            Content::CliffIr(state) => set(&mut outputs.cliff_ir, state),
            Content::CliffIrDirection(value) => outputs.cliff_direction = value,
            Content::DockIr(state) => outputs.dock_ir = state,
            Content::Led(led) => outputs.led = led,
            Content::ChargerPower(state) => set(&mut outputs.charger, state),
            Content::MainBoardPower(state) => set(&mut outputs.main_board_on, state),
            Content::MainBoardRestart => {
                outputs.main_board_restarts = outputs.main_board_restarts.saturating_add(1);
            }
            Content::ImuCalibrate => body.zero_imu(),
            _ => {}
        }
    }

    fn answer(&mut self, content: &Content<'_>, body: &mut Body, out: &mut Outbox) {
        match content {
            Content::Heartbeat => {
                self.heartbeats += 1;
                if self.heartbeats == HEARTBEATS_PER_ACK {
                    self.heartbeats = 0;
                    out.push(Content::HeartbeatAck);
                }
            }
            Content::VersionRequest => out.push(Content::Version(Version(&VERSION))),
            Content::Initialize if self.ignore_initialize > 0 => self.ignore_initialize -= 1,
            Content::Initialize => {
                self.outputs.initialized = true;
                body.zero_imu();
                out.push(Content::InitializeAck);
            }
            Content::LidarConfig(_) => out.push(Content::LidarConfigAck(1)),
            Content::LidarQuery => out.push(Content::LidarState(LIDAR_STATE)),
            Content::ImuState | Content::LidarPrepare(_) => out.push(Content::ImuStateAnswer(1)),
            _ => {}
        }
    }

    /// The first sync since power-up keeps answers back until its echo: the captured host asked
    /// for the version again within 50 ms, and got both answers.
    fn sync(&mut self, now: Instant, byte: u8, out: &mut Outbox) {
        if self.echo.is_some() {
            return;
        }
        if !self.awake {
            self.awake = true;
            out.hold();
        }
        self.echo = Some((crate::later(now, SYNC_DELAY), byte));
        self.ignore_initialize = self.rng.u8(0..=IGNORED_INITIALIZE);
    }

    /// A sync that was due an answer during the sleep gets it now.
    fn wake(&mut self, now: Instant) {
        self.outputs.asleep = false;
        self.echo = self.echo.map(|(due, byte)| (due.max(now), byte));
    }

    /// Document 003 asks for the wait after any 0x65, so one that changes nothing deafens too.
    fn set_mode(&mut self, now: Instant, mode: Mode, body: &mut Body) {
        self.outputs.mode = mode;
        self.deaf_until = Some(crate::later(now, self.mode_switch));
        self.stalled = false;
        if mode == Mode::Idle {
            self.outputs.all_off();
            body.set_targets([0.0; 2]);
        }
    }

    /// A finished handshake stays finished: the dock approach of document 003 sends `6B 00` and
    /// drives on. From then on it is the pump's, which works like any output in a mode that drives.
    fn pulse(&mut self, now: Instant, value: u8) {
        if self.outputs.handshake_done {
            if self.outputs.mode != Mode::Idle {
                self.outputs.water_pump = value.min(100);
            }
            return;
        }
        self.pulses = match self.pulses {
            _ if value != HANDSHAKE => None,
            Some((first, last)) if now.saturating_duration_since(last) <= PULSE_GAP => {
                self.outputs.handshake_done =
                    now.saturating_duration_since(first) >= HANDSHAKE_TIME;
                Some((first, now))
            }
            _ => Some((now, now)),
        };
    }

    /// What came while the caller did not run came in time.
    pub(super) fn excuse(&mut self, late: Duration) {
        if let Some((_, last)) = &mut self.pulses {
            *last = crate::later(*last, late);
        }
    }

    fn actuate(&mut self, content: Content<'_>, body: &mut Body) {
        let outputs = &mut self.outputs;
        if outputs.mode == Mode::Idle {
            return;
        }
        match content {
            Content::Velocity(Velocity { linear, angular }) => {
                let scale = f64::from(self.profile.velocity_scale);
                let forward = f64::from(linear) / scale;
                let outward = f64::from(angular) / scale * WHEEL_BASE / 2.0;
                self.drive([forward - outward, forward + outward], body);
            }
            Content::WheelSpeeds(WheelSpeeds { left, right }) => {
                self.drive([left, right].map(|speed| f64::from(speed) / 1000.0), body);
            }
            Content::Vacuum(value) => {
                let percent = f64::from(value) / f64::from(self.profile.vacuum_scale);
                outputs.vacuum = percent.round().clamp(0.0, 100.0) as u8;
            }
            Content::SideBrush(percent) => outputs.side_brush = percent.min(100),
            Content::MainBrush(percent) => outputs.main_brush = percent.min(100),
            Content::LidarPwm(percent) => outputs.lidar_pwm = percent.clamp(0, 100) as u8,
            Content::LidarPower(state) => set(&mut outputs.lidar_power, state),
            _ => {}
        }
    }

    fn drive(&mut self, targets: [f64; 2], body: &mut Body) {
        let stop = targets == [0.0; 2];
        self.stalled &= !stop;
        if self.outputs.handshake_done && !self.stalled {
            body.set_targets(targets);
        }
    }

    fn watch_companion(&mut self, now: Instant, body: &Body) {
        if self.outputs.has_companion() {
            self.stalled = false;
        }
        if !self.needs_companion || self.outputs.has_companion() || !body.is_driven() {
            self.alone = None;
        } else {
            self.alone.get_or_insert(now);
        }
    }

    /// A host that speaks every 50 ms is in time, so the watchdog bites just after.
    fn watchdog(&self) -> Option<Instant> {
        self.fed.map(|fed| crate::later(fed, WATCHDOG + Duration::from_nanos(1)))
    }

    fn companion(&self) -> Option<Instant> {
        self.alone.map(|since| crate::later(since, COMPANION))
    }
}

fn feeds_watchdog(content: &Content<'_>) -> bool {
    matches!(content, Content::Heartbeat | Content::Velocity(_) | Content::WheelSpeeds(_))
}

/// 0x66 to 0x6A, 0x71, 0x97: what a mode switch deafens to, and what mode 0x00 forbids.
fn is_actuator(content: &Content<'_>) -> bool {
    matches!(
        content,
        Content::Velocity(_)
            | Content::WheelSpeeds(_)
            | Content::Vacuum(_)
            | Content::SideBrush(_)
            | Content::MainBrush(_)
            | Content::LidarPwm(_)
            | Content::LidarPower(_)
    )
}

/// Switches; a value that no document names changes nothing.
fn set(output: &mut bool, state: Switch) {
    match state {
        Switch::Off => *output = false,
        Switch::On => *output = true,
        Switch::Other(_) => {}
    }
}
