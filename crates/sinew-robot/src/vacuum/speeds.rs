//! Speeds within a vacuum's limits, and as frames.

use sinew_wire::gd32::{Body, FrameBuf, Message, WheelSpeeds};

use super::{Settings, Velocity};
use crate::{Refusal, drive::Speeds};

impl Speeds {
    /// Refuses what is over a limit.
    pub(super) fn check(self, settings: &Settings) -> Result<(), Refusal> {
        match self {
            Speeds::Velocity { linear, angular } => {
                within("linear", linear, settings.max_linear, "m/s")?;
                within("angular", angular, settings.max_angular, "rad/s")
            }
            Speeds::Tank { left, right } => {
                within("left", left, settings.max_linear, "m/s")?;
                within("right", right, settings.max_linear, "m/s")?;
                // In double precision, so that speeds chosen to turn at the limit are allowed.
                let turn = (f64::from(right) - f64::from(left)) / f64::from(settings.wheel_base);
                let most = f64::from(settings.max_angular);
                if turn.is_nan() || turn.abs() > most * (1.0 + 1e-6) {
                    let message = format!(
                        "drive: left {left} and right {right} m/s turn at {turn:.3} rad/s, \
                         wanted at most {most} either way"
                    );
                    return Err(Refusal::invalid(message));
                }
                Ok(())
            }
        }
    }

    /// The same curve at a speed within the limits, and the factor by which both speeds were scaled.
    pub(super) fn scaled(self, settings: &Settings) -> Result<(Self, f64), Refusal> {
        let Err(refusal) = self.check(settings) else { return Ok((self, 1.0)) };
        let Settings { max_linear, max_angular, wheel_base, .. } = *settings;
        let room = |most: f32, speed: f64| f64::from(most) / speed.abs();
        let (numbers, rooms) = match self {
            Speeds::Velocity { linear, angular } => {
                let (linear, angular) = (f64::from(linear), f64::from(angular));
                let rooms = [room(max_linear, linear), room(max_angular, angular), 1.0];
                ([linear, angular], rooms)
            }
            Speeds::Tank { left, right } => {
                let (left, right) = (f64::from(left), f64::from(right));
                let turn = (right - left) / f64::from(wheel_base);
                let rooms =
                    [room(max_linear, left), room(max_linear, right), room(max_angular, turn)];
                ([left, right], rooms)
            }
        };
        if !numbers.iter().all(|number| number.is_finite()) {
            // No factor makes a speed of it.
            return Err(refusal);
        }
        let factor = rooms.into_iter().fold(1.0, f64::min);
        let [a, b] = numbers.map(|number| (number * factor) as f32);
        let speeds = match self {
            Speeds::Velocity { .. } => Speeds::Velocity { linear: a, angular: b },
            Speeds::Tank { .. } => Speeds::Tank { left: a, right: b },
        };
        Ok((speeds, factor))
    }

    /// The frame to send. What is within the limits is not rounded over them.
    pub(super) fn frame(self, settings: &Settings) -> Result<FrameBuf, Refusal> {
        let invalid = |error| Refusal::invalid(format!("drive: {error}"));
        let body = match self {
            Speeds::Velocity { linear, angular } => {
                let mut wire = settings.profile.velocity(linear, angular).map_err(invalid)?;
                let scale = settings.profile.velocity_scale;
                wire.linear = not_over(wire.linear, settings.max_linear * scale);
                wire.angular = not_over(wire.angular, settings.max_angular * scale);
                Body::Velocity(wire)
            }
            Speeds::Tank { left, right } => {
                let mut wire = WheelSpeeds::from_metres(left, right).map_err(invalid)?;
                wire.left = not_over(wire.left.into(), settings.max_linear * 1000.0) as i16;
                wire.right = not_over(wire.right.into(), settings.max_linear * 1000.0) as i16;
                let turn = f64::from(settings.max_angular) * f64::from(settings.wheel_base);
                turn_not_over(&mut wire, turn * 1000.0);
                Body::WheelSpeeds(wire)
            }
        };
        Message::from(body).frame().map_err(invalid)
    }

    pub(super) fn velocity(self, settings: &Settings) -> Velocity {
        match self {
            Speeds::Velocity { linear, angular } => Velocity { linear, angular },
            Speeds::Tank { left, right } => Velocity {
                linear: f32::midpoint(left, right),
                angular: (right - left) / settings.wheel_base,
            },
        }
    }
}

/// Refuses what is over a limit or no number; never clamps.
fn within(field: &str, value: f32, most: f32, unit: &str) -> Result<(), Refusal> {
    if value.abs() <= most {
        return Ok(());
    }
    let message = format!("drive: {field}: wanted -{most} to {most} {unit}, got {value}");
    Err(Refusal::invalid(message))
}

/// A speed in wire units that was allowed as a number but may have been rounded over its limit.
fn not_over(wire: i32, most: f32) -> i32 {
    let over = f64::from(wire.unsigned_abs()) > f64::from(most) * (1.0 + 1e-6);
    if over { wire - wire.signum() } else { wire }
}

/// The same for the turn of wheels that were both rounded apart. Never adds to forward motion.
fn turn_not_over(wheels: &mut WheelSpeeds, most: f64) {
    let WheelSpeeds { left, right } = wheels;
    if (f64::from(*left) - f64::from(*right)).abs() <= most * (1.0 + 1e-6) {
        return;
    }
    let (slower, faster) = if *left < *right { (left, right) } else { (right, left) };
    if *faster > 0 { *faster -= 1 } else { *slower += 1 }
}
