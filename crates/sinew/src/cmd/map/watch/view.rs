//! Which part of the map is seen, and from where.

use sinew_robot::mapping::Bounds;

/// How near and far it goes, metres of a square.
const NEAREST: f64 = 0.002;
const FURTHEST: f64 = 100.0;
/// What is around the map when all of it is seen.
const MARGIN: f64 = 1.05;

/// What is in the middle, and how large a square is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct View {
    /// To the right and up, metres.
    pub(super) centre: [f64; 2],
    /// The side of a square.
    pub(super) metres: f64,
    /// Height is up, instead of y.
    pub(super) from_side: bool,
}

impl View {
    /// All that is within, in so many squares.
    pub(super) fn of(bounds: &Bounds, squares: [usize; 2], from_side: bool) -> Self {
        let view = View { centre: [0.0; 2], metres: 1.0, from_side };
        let (low, high) = (view.seen(bounds.min), view.seen(bounds.max));
        let across = |axis: usize| (high[axis] - low[axis]) * MARGIN / squares[axis].max(1) as f64;
        let centre = [0, 1].map(|axis| low[axis].midpoint(high[axis]));
        View { centre, metres: across(0).max(across(1)).clamp(NEAREST, FURTHEST), from_side }
    }

    /// Where a place of the map is seen: to the right, and up.
    pub(super) fn seen(&self, [x, y, z]: [f64; 3]) -> [f64; 2] {
        if self.from_side { [x, z] } else { [x, y] }
    }

    /// Nearer by a factor over 1, or further.
    pub(super) fn zoom(&mut self, factor: f64) {
        self.metres = (self.metres / factor).clamp(NEAREST, FURTHEST);
    }

    /// The length of a bar that says how large things are, metres, and how many squares that is: a
    /// length that people say, and at most so many squares.
    pub(super) fn scale(&self, squares: usize) -> Option<(f64, usize)> {
        let most = self.metres * squares as f64;
        let power = 10f64.powf(most.log10().floor());
        let lengths = [5.0, 2.0, 1.0].map(|digit| digit * power);
        let length = lengths.into_iter().find(|length| *length > 0.0 && *length <= most)?;
        Some((length, (length / self.metres).round() as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_the_map_is_seen() {
        let bounds = Bounds { min: [-1.0, 2.0, 0.0], max: [9.0, 4.0, 3.0] };
        let view = View::of(&bounds, [100, 100], false);
        assert_eq!(view.centre, [4.0, 3.0]);
        assert!((view.metres - 0.105).abs() < 1e-9, "{view:?}");
        let side = View::of(&bounds, [100, 10], true);
        assert_eq!(side.centre, [4.0, 1.5]);
        assert!((side.metres - 0.315).abs() < 1e-9, "{side:?}");
        let none = View::of(&Bounds::default(), [0, 0], false);
        assert_eq!(none.metres, NEAREST);
    }

    #[test]
    fn a_bar_has_a_length_that_people_say() {
        let scale = |metres| View { centre: [0.0; 2], metres, from_side: false }.scale(40);
        assert_eq!(scale(0.05), Some((2.0, 40)));
        assert_eq!(scale(0.1), Some((2.0, 20)));
        assert_eq!(scale(0.03), Some((1.0, 33)));
        assert_eq!(scale(10.0).map(|(length, _)| length), Some(200.0));
        assert_eq!(View { centre: [0.0; 2], metres: 0.1, from_side: false }.scale(0), None);
        let mut view = View { centre: [0.0; 2], metres: 0.1, from_side: false };
        (0..100).for_each(|_| view.zoom(2.0));
        assert_eq!(view.metres, NEAREST);
        (0..100).for_each(|_| view.zoom(0.5));
        assert_eq!(view.metres, FURTHEST);
    }
}
