use std::f64::consts::{PI, TAU};

use serde::Serialize;
use sinew_wire::delta2d::Point;

/// How a lidar stands on its robot.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mounting {
    /// Whether its angles count clockwise, seen from above.
    pub clockwise: bool,
    /// Where its angle 0 points, in degrees counter-clockwise from straight ahead.
    pub zero_deg: f64,
    /// Metres ahead of the robot's centre.
    pub x: f64,
    /// Metres to the left of it.
    pub y: f64,
    /// Metres that its optics add to each distance.
    pub optics: f64,
}

/// How a turn is given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Angles and distances as the lidar counts them.
    Raw,
    /// As seen from the robot's centre: counter-clockwise from straight ahead.
    Robot,
}

impl Default for Mounting {
    /// That of the later state of document 003's project.
    fn default() -> Self {
        Mounting { clockwise: true, zero_deg: 192.5, x: -0.110, y: 0.0, optics: 0.025 }
    }
}

impl Mounting {
    /// Metres ahead of the robot's centre and to its left.
    pub fn place(&self, point: &Point) -> (f64, f64) {
        let angle = f64::from(point.degrees);
        let angle = self.zero_deg + if self.clockwise { -angle } else { angle };
        let (sin, cos) = angle.to_radians().sin_cos();
        let distance = self.optics + f64::from(point.metres());
        (self.x + distance * cos, self.y + distance * sin)
    }

    /// The angle in radians, from 0 to 2π, and the distance in metres of an echo.
    pub fn polar(&self, view: View, point: &Point) -> (f64, f64) {
        match view {
            View::Raw => (f64::from(point.degrees).to_radians(), point.metres().into()),
            View::Robot => {
                let (x, y) = self.place(point);
                (y.atan2(x).rem_euclid(TAU), x.hypot(y))
            }
        }
    }

    /// The direction of the lidar's angle in radians, counter-clockwise from straight ahead.
    pub fn direction(&self, degrees: f64) -> f64 {
        let angle = self.zero_deg + if self.clockwise { -degrees } else { degrees };
        let turned = angle.to_radians().rem_euclid(TAU);
        if turned > PI { turned - TAU } else { turned }
    }
}

#[cfg(test)]
mod tests {
    use sinew_wire::delta2d::Sample;

    use super::*;

    fn point(degrees: f32, metres: f32) -> Point {
        let distance = (metres / 0.000_25).round() as u16;
        Point { degrees, sample: Sample { quality: 9, distance } }
    }

    /// x = -0.110 + (0.025 + r) cos a', y = (0.025 + r) sin a', a' = -a + 180 + 12.5 degrees.
    #[test]
    fn points_lie_where_the_formula_says() {
        let mounting = Mounting::default();
        for (degrees, metres, wanted) in [
            (192.5, 1.0, (0.915, 0.0)),
            (12.5, 1.0, (-1.135, 0.0)),
            (102.5, 2.0, (-0.110, 2.025)),
            (282.5, 0.5, (-0.110, -0.525)),
            (147.5, 0.975, (-0.110 + 0.5f64.sqrt(), 0.5f64.sqrt())),
        ] {
            let (x, y) = mounting.place(&point(degrees, metres));
            assert!((x - wanted.0).hypot(y - wanted.1) < 1e-6, "{degrees}: {x} {y}");
            let (angle, distance) = mounting.polar(View::Robot, &point(degrees, metres));
            assert!((distance * angle.cos() - wanted.0).abs() < 1e-6);
            assert!((distance * angle.sin() - wanted.1).abs() < 1e-6);
            assert!((0.0..=TAU).contains(&angle));
        }
        let (angle, distance) = mounting.polar(View::Raw, &point(180.0, 1.5));
        assert!((angle - PI).abs() < 1e-6 && (distance - 1.5).abs() < 1e-6);
    }

    #[test]
    fn a_lidar_may_count_the_other_way() {
        let plain = Mounting { clockwise: false, zero_deg: 0.0, x: 0.0, y: 0.1, optics: 0.0 };
        let (x, y) = plain.place(&point(90.0, 1.0));
        assert!(x.abs() < 1e-6 && (y - 1.1).abs() < 1e-6);
        assert!((plain.direction(270.0) + PI / 2.0).abs() < 1e-9);
    }
}
