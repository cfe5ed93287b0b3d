use std::time::Duration;

use fastrand::Rng;
use sinew_wire::gd32::{EncoderOrder, EncoderWidth, Flag, Profile, Status};

use super::{
    Options, Outputs,
    world::{Pose, World},
};

/// Distance between the wheels in metres.
pub const WHEEL_BASE: f64 = 0.233;
/// Encoder ticks per metre of wheel travel.
pub const TICKS_PER_METRE: f64 = 4464.0;
/// Speed in m/s that a wheel cannot exceed; 0.3 m/s and 1 rad/s together need 0.42.
pub const MAX_WHEEL_SPEED: f64 = 0.5;
/// Raw gyroscope units per rad/s. The project that document 003 comes from measured about 3740 at
/// 38.33 degrees a second by its encoders, 0.01025 degrees a second for each unit.
pub const GYRO_PER_RAD_S: f64 = 180.0 / (0.01025 * std::f64::consts::PI);
/// Raw gravity units per g, as that project scales them. No source scales the accelerometer; its
/// low-pass is the gravity vector, so it has the same unit here.
pub const ACCEL_PER_G: f64 = 1000.0;
/// Volts of an empty battery.
pub const BATTERY_EMPTY: f64 = 13.5;
/// Volts of a full battery.
pub const BATTERY_FULL: f64 = 15.5;

/// The physical world advances in steps of this length.
pub(super) const STEP: Duration = Duration::from_millis(2);
const DT: f64 = 0.002;

/// Time in which a wheel makes up 63 % of what it lacks to its target.
const WHEEL_RESPONSE: f64 = 0.06;
/// A wheel that is to stand still and is slower than this sticks, in m/s.
const STICTION: f64 = 0.005;
const G: f64 = 9.80665;
/// Time constant of the gravity vector's low-pass.
const GRAVITY_RESPONSE: f64 = 0.5;

/// Share of the battery's charge that an hour takes or gives.
mod per_hour {
    pub(super) const ELECTRONICS: f64 = 0.05;
    pub(super) const LIDAR: f64 = 0.05;
    /// Both wheels at 0.3 m/s.
    pub(super) const WHEELS: f64 = 0.20;
    pub(super) const VACUUM: f64 = 0.40;
    pub(super) const BRUSH: f64 = 0.10;
    pub(super) const CHARGER: f64 = 0.50;
}

/// The robot's body: it rolls, bumps, tilts its sensors and drains its battery.
#[derive(Debug, Clone)]
pub(super) struct Body {
    pub(super) pose: Pose,
    pub(super) volts: f64,
    pub(super) dustbox: bool,
    /// Left and right, in m/s.
    wheels: [f64; 2],
    targets: [f64; 2],
    /// What the encoders count for one metre of each wheel, in metres.
    encoder_scale: [f64; 2],
    /// What the encoders have seen of each wheel, in metres.
    travelled: [f64; 2],
    /// How fast the body turns, in rad/s.
    turning: f64,
    /// Forward, left, up, in g.
    accel: [f64; 3],
    gravity: [f64; 3],
    /// What the gyroscope gives for one rad/s.
    gyro_scale: f64,
    /// Yaw, pitch, roll in raw units, until the IMU is zeroed.
    gyro_bias: [f64; 3],
    /// The bias that comes back when the controller loses power.
    gyro_bias_cold: [f64; 3],
}

impl Body {
    pub(super) fn new(options: &Options, rng: &mut Rng) -> Self {
        let gyro_bias = [(); 3].map(|()| f64::from(rng.i8(-40..=40)));
        // Drawn apart, so that a seed without errors is the same robot with them.
        let mut errors = Rng::with_seed(!options.seed);
        let mut scale = |error: f64| {
            let off = deviation(&mut errors) * error;
            if off.is_finite() { 1.0 + off.clamp(-0.5, 0.5) } else { 1.0 }
        };
        let mut body = Body {
            pose: options.world.settle(options.start, Pose::default()),
            volts: BATTERY_FULL,
            dustbox: true,
            wheels: [0.0; 2],
            targets: [0.0; 2],
            encoder_scale: [(); 2].map(|()| scale(options.encoder_error)),
            travelled: [0.0; 2],
            turning: 0.0,
            gyro_scale: scale(options.gyro_error),
            accel: [0.0, 0.0, 1.0],
            gravity: [0.0, 0.0, 1.0],
            gyro_bias,
            gyro_bias_cold: gyro_bias,
        };
        body.set_volts(options.battery_volts);
        body
    }

    /// What the controller forgets when it loses power; the wheels run out by themselves.
    pub(super) fn power_cycle(&mut self) {
        self.targets = [0.0; 2];
        self.travelled = [0.0; 2];
        self.gyro_bias = self.gyro_bias_cold;
    }

    pub(super) fn zero_imu(&mut self) {
        self.gyro_bias = [0.0; 3];
    }

    /// Sets the battery to what a status packet can say, 0 to 25.5 V.
    pub(super) fn set_volts(&mut self, volts: f32) {
        if volts.is_finite() {
            self.volts = f64::from(volts).clamp(0.0, 25.5);
        }
    }

    /// Wheel speeds to reach, left and right.
    pub(super) fn set_targets(&mut self, targets: [f64; 2]) {
        self.targets = targets.map(|speed| {
            if speed.is_nan() { 0.0 } else { speed.clamp(-MAX_WHEEL_SPEED, MAX_WHEEL_SPEED) }
        });
    }

    pub(super) fn targets(&self) -> [f64; 2] {
        self.targets
    }

    pub(super) fn wheels(&self) -> [f64; 2] {
        self.wheels
    }

    pub(super) fn is_moving(&self) -> bool {
        self.wheels != [0.0; 2]
    }

    pub(super) fn is_driven(&self) -> bool {
        self.targets != [0.0; 2]
    }

    /// One [`STEP`].
    pub(super) fn step(&mut self, world: &World, outputs: &Outputs) {
        let before = self.forward_speed();
        for (((wheel, target), travelled), scale) in self
            .wheels
            .iter_mut()
            .zip(self.targets)
            .zip(&mut self.travelled)
            .zip(self.encoder_scale)
        {
            *wheel += (target / scale - *wheel) * (DT / WHEEL_RESPONSE);
            if target == 0.0 && wheel.abs() < STICTION {
                *wheel = 0.0;
            }
            // A robot that is held up slips: the wheels, and so the encoders, turn on.
            *travelled += *wheel * scale * DT;
        }
        let (speed, turn) = (self.forward_speed(), self.turn_rate());
        self.turning = 0.0;
        if self.is_moving() {
            // The heading in the middle of the step, so that arcs close.
            let (sin, cos) = (self.pose.heading + turn * DT / 2.0).sin_cos();
            let wanted = Pose::new(
                self.pose.x + speed * cos * DT,
                self.pose.y + speed * sin * DT,
                self.pose.heading + turn * DT,
            );
            let settled = world.settle(wanted, self.pose);
            self.turning = settled.turn_from(&self.pose) / DT;
            self.pose = settled;
        }
        self.accel = [(speed - before) / DT / G, speed * turn / G, 1.0];
        for (gravity, accel) in self.gravity.iter_mut().zip(self.accel) {
            *gravity += (accel - *gravity) * (DT / GRAVITY_RESPONSE);
        }
        self.drain(DT, world, outputs);
    }

    /// Lets time pass for a robot at rest without stepping through it.
    pub(super) fn rest(&mut self, time: Duration, world: &World, outputs: &Outputs) {
        self.drain(time.as_secs_f64(), world, outputs);
    }

    pub(super) fn place(&mut self, pose: Pose, world: &World) {
        self.pose = world.settle(pose, self.pose);
    }

    fn drain(&mut self, seconds: f64, world: &World, outputs: &Outputs) {
        let percent = |value: u8| f64::from(value) / 100.0;
        let [left, right] = self.wheels;
        let mut load = per_hour::ELECTRONICS
            + per_hour::WHEELS * (left.abs() + right.abs()) / 0.6
            + per_hour::VACUUM * percent(outputs.vacuum)
            + per_hour::BRUSH * (percent(outputs.side_brush) + percent(outputs.main_brush));
        if outputs.lidar_power {
            load += per_hour::LIDAR;
        }
        if outputs.charger && world.on_dock(&self.pose) {
            load -= per_hour::CHARGER;
        }
        let volts = self.volts - load * (BATTERY_FULL - BATTERY_EMPTY) * seconds / 3600.0;
        // Voltages that a tester set beyond the usual range stay there.
        self.volts = volts.clamp(self.volts.min(BATTERY_EMPTY), self.volts.max(BATTERY_FULL));
    }

    /// How the robot moves: forwards in m/s, counter-clockwise in rad/s.
    pub(super) fn speeds(&self) -> (f64, f64) {
        (self.forward_speed(), self.turning)
    }

    fn forward_speed(&self) -> f64 {
        let [left, right] = self.wheels;
        (left + right) / 2.0
    }

    fn turn_rate(&self) -> f64 {
        let [left, right] = self.wheels;
        (right - left) / WHEEL_BASE
    }

    /// What the sensors read; `noise` is drawn from.
    pub(super) fn status(
        &self,
        world: &World,
        outputs: &Outputs,
        profile: &Profile,
        noise: &mut Rng,
    ) -> Status {
        let mut status = Status::default();
        status.battery_decivolts = (self.volts * 10.0).round() as u8;
        status.encoders = self.encoders(profile);
        let (left, right) = world.bumpers(&self.pose);
        status.set(Flag::BumperLeft, left);
        status.set(Flag::BumperRight, right);
        let cliffs = [
            Flag::CliffLeftSide,
            Flag::CliffLeftFront,
            Flag::CliffRightFront,
            Flag::CliffRightSide,
        ];
        for (flag, seen) in cliffs.into_iter().zip(world.cliffs(&self.pose)) {
            status.set(flag, seen && outputs.cliff_ir);
        }
        status.set(Flag::DustboxAttached, self.dustbox);
        let on_dock = world.on_dock(&self.pose);
        status.set(Flag::OnDock, on_dock);
        status.set(Flag::Charging, on_dock && outputs.charger);

        // In the robot's own axes yaw counts clockwise.
        let [yaw, pitch, roll] = self.gyro_bias;
        let yaw = yaw - self.turning * self.gyro_scale * GYRO_PER_RAD_S;
        status.set_gyro([yaw, pitch, roll].map(|value| raw(value, 6.0, noise)));
        status.set_accel(self.accel.map(|value| raw(value * ACCEL_PER_G, 12.0, noise)));
        status.set_gravity(self.gravity.map(|value| raw(value * ACCEL_PER_G, 3.0, noise)));
        status
    }

    /// The encoders in the order and width of the profile.
    fn encoders(&self, profile: &Profile) -> [u64; 2] {
        let [left, right] = self.travelled.map(|metres| {
            let count = (metres * TICKS_PER_METRE).floor() as i64 as u64;
            match profile.encoder_width {
                EncoderWidth::Bits16 => count & 0xFFFF,
                EncoderWidth::Bits64 => count,
            }
        });
        match profile.encoder_order {
            EncoderOrder::RightFirst => [right, left],
            EncoderOrder::LeftFirst => [left, right],
        }
    }
}

/// A reading with noise of about this deviation, at most three times as much.
fn raw(value: f64, noise: f64, rng: &mut Rng) -> i16 {
    (value + deviation(rng) * noise).round() as i16
}

/// A number with a deviation of 1, from -3 to 3: the sum of three uniform ones from -1 to 1.
pub(super) fn deviation(rng: &mut Rng) -> f64 {
    (0..3).map(|_| rng.f64() * 2.0 - 1.0).sum()
}
