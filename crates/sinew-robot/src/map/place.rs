//! Poses that follow one another.

use crate::vacuum::{Pose, wrapped};

impl Pose {
    /// Where one is who, from here, goes `step`: its x is ahead, its y to the left.
    pub fn then(self, step: Pose) -> Pose {
        let [x, y] = self.place([step.x, step.y]);
        Pose { x, y, heading: wrapped(self.heading + step.heading) }
    }

    /// The step from here to there.
    pub fn step_to(self, there: Pose) -> Pose {
        let (sin, cos) = self.heading.sin_cos();
        let (dx, dy) = (there.x - self.x, there.y - self.y);
        Pose {
            x: dx * cos + dy * sin,
            y: dy * cos - dx * sin,
            heading: wrapped(there.heading - self.heading),
        }
    }

    /// The place of a point ahead and to the left of here.
    pub fn place(self, [ahead, left]: [f64; 2]) -> [f64; 2] {
        let (sin, cos) = self.heading.sin_cos();
        [self.x + ahead * cos - left * sin, self.y + ahead * sin + left * cos]
    }

    /// Metres to another pose.
    pub fn distance(self, other: Pose) -> f64 {
        (self.x - other.x).hypot(self.y - other.y)
    }

    /// Whether all of it are numbers.
    pub fn is_finite(self) -> bool {
        self.x.is_finite() && self.y.is_finite() && self.heading.is_finite()
    }
}
