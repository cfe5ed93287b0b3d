//! A map in characters: squares of a picture, two by four of them in one (braille), or one by two
//! (half blocks).

use anstyle::{Ansi256Color, Color, Style};
use sinew_robot::mapping::Pose;

use super::{cells::Cells, view::View};
use crate::{
    output::{BOLD, DIM, YELLOW},
    text::Line,
};

/// What is not higher above the ground is ground, metres.
const FLOOR: f64 = 0.10;
/// Cells below and above this share of them may be outliers.
const OUTLIERS: usize = 50;
/// From the lowest to the highest.
const HEIGHTS: [u8; 10] = [27, 33, 39, 44, 48, 82, 154, 220, 208, 196];
/// To the right, and on to the left.
const ARROWS: [&str; 8] = ["→", "↗", "↑", "↖", "←", "↙", "↓", "↘"];
/// Bits of a braille character's dots, by row and column.
const DOTS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
const FREE: &str = "·";

/// What characters are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dots {
    Braille,
    HalfBlocks,
}

impl Dots {
    /// Squares of a character, across and down. All of them are as wide as high, since characters
    /// are twice as high as wide.
    pub(super) const fn squares(self) -> [usize; 2] {
        match self {
            Dots::Braille => [2, 4],
            Dots::HalfBlocks => [1, 2],
        }
    }
}

/// A square of the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Square {
    #[default]
    Unknown,
    Free,
    Path,
    /// Something stands there, so high: a place in [`HEIGHTS`].
    Taken(u8),
}

/// A picture in squares, from the upper left on.
pub(super) struct Canvas {
    dots: Dots,
    columns: usize,
    lines: usize,
    squares: Vec<Square>,
    robot: Option<(usize, usize, &'static str)>,
}

impl Canvas {
    /// Draws what of the map is in view, in so many characters.
    pub(super) fn draw(cells: &Cells, view: &View, dots: Dots, size: [usize; 2]) -> Self {
        let [columns, lines] = size;
        let [across, down] = dots.squares();
        let squares = vec![Square::Unknown; columns * across * lines * down];
        let mut canvas = Canvas { dots, columns, lines, squares, robot: None };
        let heights = Heights::of(cells);
        for cell in cells.iter() {
            let [x, y, z] = cells.middle(cell);
            let square = match cells.is_flat && cell[2] == 0 || heights.is_ground(cell[2]) {
                // From the side the ground is a line like any other.
                true if !view.from_side => Square::Free,
                _ => Square::Taken(heights.shade(cell[2])),
            };
            // A cell that is larger than a square covers several.
            let reach = (cells.unit / view.metres / 2.0).clamp(0.0, 64.0);
            let [left, top] = canvas.place(view, [x, y, z]);
            let (from, to) = ([left - reach, top - reach], [left + reach, top + reach]);
            canvas.fill(from, to, square);
        }
        canvas.path(cells, view);
        canvas.robot = cells.pose.and_then(|pose| canvas.arrow(view, pose));
        canvas
    }

    fn size(&self) -> [usize; 2] {
        let [across, down] = self.dots.squares();
        [self.columns * across, self.lines * down]
    }

    /// Squares from the left and from the top.
    fn place(&self, view: &View, place: [f64; 3]) -> [f64; 2] {
        let [width, height] = self.size();
        let [right, up] = view.seen(place);
        [
            (right - view.centre[0]) / view.metres + width as f64 / 2.0,
            (view.centre[1] - up) / view.metres + height as f64 / 2.0,
        ]
    }

    /// Sets the squares whose middles lie within, and the one in the middle of it all.
    fn fill(&mut self, from: [f64; 2], to: [f64; 2], square: Square) {
        let [width, height] = self.size();
        let range = |from: f64, to: f64, most: usize| {
            let middle = ((from + to) / 2.0).floor();
            let first = (from.round().min(middle)).max(0.0);
            let end = (to.round().max(middle + 1.0)).min(most as f64);
            // What is no number, or outside, is an empty range.
            first as usize..(end.max(0.0) as usize).min(most)
        };
        let columns = range(from[0], to[0], width);
        for row in range(from[1], to[1], height) {
            for column in columns.clone() {
                let place = &mut self.squares[row * width + column];
                *place = above(*place, square);
            }
        }
    }

    fn path(&mut self, cells: &Cells, view: &View) {
        let [width, height] = self.size();
        let longest = (width + height) as f64;
        let z = cells.pose.map_or(0.0, |pose| pose.z);
        for pair in cells.path.windows(2) {
            let [a, b] = [pair[0], pair[1]].map(|[x, y]| self.place(view, [x, y, z]));
            let far = (b[0] - a[0]).abs().max((b[1] - a[1]).abs());
            // A step that is longer than the picture would be a jump, not a way.
            let steps = if far < longest { far.ceil() as usize } else { 0 };
            for step in 0..=steps {
                let share = step as f64 / steps.max(1) as f64;
                let at = [0, 1].map(|axis| a[axis] + (b[axis] - a[axis]) * share);
                self.fill(at, at, Square::Path);
            }
        }
    }

    /// The robot's character, column and line.
    fn arrow(&self, view: &View, pose: Pose) -> Option<(usize, usize, &'static str)> {
        let [across, down] = self.dots.squares();
        let [left, top] = self.place(view, [pose.x, pose.y, pose.z]);
        let (column, line) = (left / across as f64, top / down as f64);
        let inside = (0.0..self.columns as f64).contains(&column)
            && (0.0..self.lines as f64).contains(&line);
        let yaw = match view.from_side {
            false => pose.yaw,
            // From the side it faces left or right.
            true if pose.yaw.cos() < 0.0 => std::f64::consts::PI,
            true => 0.0,
        };
        let eighth = (yaw / std::f64::consts::FRAC_PI_4).round().rem_euclid(8.0) as usize;
        inside.then(|| (column as usize, line as usize, ARROWS[eighth % 8]))
    }

    /// As lines of text.
    pub(super) fn lines(&self) -> Vec<Line> {
        (0..self.lines).map(|line| self.line(line)).collect()
    }

    fn line(&self, line: usize) -> Line {
        let mut pieces: Vec<(Style, String)> = Vec::new();
        for column in 0..self.columns {
            let (style, text) = match self.robot {
                Some((at, robot_line, arrow)) if (at, robot_line) == (column, line) => {
                    (BOLD.fg_color(Some(Color::Ansi256(Ansi256Color(201)))), arrow.to_owned())
                }
                _ => self.character(column, line),
            };
            match pieces.last_mut() {
                // What looks the same is one piece: less for a terminal to read.
                Some((last, piece)) if *last == style => piece.push_str(&text),
                _ => pieces.push((style, text)),
            }
        }
        pieces.into_iter().fold(Line::default(), |line, (style, text)| line.with(style, text))
    }

    fn square(&self, column: usize, row: usize) -> Square {
        self.squares[row * self.size()[0] + column]
    }

    fn character(&self, column: usize, line: usize) -> (Style, String) {
        let [across, down] = self.dots.squares();
        let rows = (0..down).map(|row| {
            (0..across).map(move |x| (row, x, self.square(column * across + x, line * down + row)))
        });
        let squares: Vec<_> = rows.flatten().collect();
        let top = squares.iter().map(|(.., square)| *square).reduce(above).unwrap_or_default();
        match (self.dots, top) {
            (_, Square::Unknown) => (Style::new(), " ".into()),
            (_, Square::Free) => (DIM, FREE.into()),
            (Dots::Braille, _) => {
                let is_dot = |square: Square| matches!(square, Square::Taken(_) | Square::Path);
                let dots = squares.iter().filter(|(.., square)| is_dot(*square));
                let bits = dots.fold(0, |bits, (row, x, _)| bits | DOTS[*row][*x]);
                let braille = char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' ');
                (style(top), braille.into())
            }
            (Dots::HalfBlocks, _) => half_block(squares[0].2, squares[1].2),
        }
    }
}

/// Which of two squares is seen.
fn above(a: Square, b: Square) -> Square {
    let rank = |square: Square| match square {
        Square::Unknown => 0,
        Square::Free => 1,
        Square::Path => 2,
        Square::Taken(height) => 3 + u16::from(height),
    };
    if rank(b) > rank(a) { b } else { a }
}

fn colour(square: Square) -> Option<Color> {
    match square {
        Square::Taken(height) => {
            let shade = HEIGHTS[usize::from(height).min(HEIGHTS.len() - 1)];
            Some(Color::Ansi256(Ansi256Color(shade)))
        }
        Square::Path => YELLOW.get_fg_color(),
        _ => None,
    }
}

fn style(square: Square) -> Style {
    Style::new().fg_color(colour(square))
}

/// Two squares, one above the other.
fn half_block(upper: Square, lower: Square) -> (Style, String) {
    match (colour(upper), colour(lower)) {
        (Some(_), None) => (style(upper), "▀".into()),
        (None, Some(_)) => (style(lower), "▄".into()),
        (a, b) if a == b => (style(upper), "█".into()),
        (_, below) => (style(upper).bg_color(below), "▀".into()),
    }
}

/// How high cells are, as steps of colour.
struct Heights {
    low: u16,
    high: u16,
    /// Cells up to this one are ground; none on a map of the ground.
    ground: Option<u16>,
}

impl Heights {
    fn of(cells: &Cells) -> Self {
        if cells.is_flat {
            return Heights { low: 0, high: 1, ground: None };
        }
        let mut counts = vec![0usize; 1 << 16];
        cells.iter().for_each(|[.., z]| counts[usize::from(z)] += 1);
        let beyond = cells.len() / OUTLIERS;
        let low = first_beyond(counts.iter().enumerate(), beyond);
        let high = first_beyond(counts.iter().enumerate().rev(), beyond);
        let step = (FLOOR / cells.unit).ceil().clamp(1.0, 1000.0) as u16;
        // Where all is as high as the ground there is none to be told from it.
        let ground = (high > low.saturating_add(step)).then(|| low.saturating_add(step) - 1);
        Heights { low, high, ground }
    }

    fn is_ground(&self, z: u16) -> bool {
        self.ground.is_some_and(|ground| z <= ground)
    }

    fn shade(&self, z: u16) -> u8 {
        let (z, span) = (z.clamp(self.low, self.high) - self.low, self.high - self.low);
        let most = HEIGHTS.len() - 1;
        (usize::from(z) * most / usize::from(span.max(1))) as u8
    }
}

/// Where more than so many were counted.
fn first_beyond<'a>(mut counts: impl Iterator<Item = (usize, &'a usize)>, beyond: usize) -> u16 {
    let mut seen = 0;
    let found = counts.find(|(_, count)| {
        seen += **count;
        seen > beyond
    });
    found.map_or(0, |(z, _)| z as u16)
}

#[cfg(test)]
mod tests {
    use sinew_api::frame::{Frame, Header, map};

    use super::*;

    fn cells(header: &Header<'_>, points: &[[u16; 4]]) -> Cells {
        let mut cells = Cells::default();
        cells.take(&Frame::read(&map(header, points)).expect("is a frame"));
        cells
    }

    fn plain(canvas: &Canvas) -> Vec<String> {
        canvas.lines().iter().map(Line::plain).collect()
    }

    /// A flat map of 8 x 8 squares: walls at the left and below, free elsewhere.
    fn flat() -> Cells {
        let header = Header { unit: 1.0, is_flat: true, ..Header::default() };
        let squares = (0..8).flat_map(|x| (0..8).map(move |y| (x, y)));
        let points: Vec<_> = squares.map(|(x, y)| [x, y, u16::from(x == 0 || y == 0), 0]).collect();
        cells(&header, &points)
    }

    const WHOLE: View = View { centre: [4.0, 4.0], metres: 1.0, from_side: false };

    #[test]
    fn walls_are_dots_and_free_ground_is_not_in_both_kinds_of_characters() {
        let cells = flat();
        let canvas = Canvas::draw(&cells, &WHOLE, Dots::Braille, [4, 2]);
        assert_eq!(plain(&canvas), ["⡇···", "⣇⣀⣀⣀"]);
        let canvas = Canvas::draw(&cells, &WHOLE, Dots::HalfBlocks, [8, 4]);
        assert_eq!(plain(&canvas), ["█·······", "█·······", "█·······", "█▄▄▄▄▄▄▄"]);
    }

    #[test]
    fn a_cell_larger_than_a_square_covers_all_of_it() {
        let near = View { metres: 0.5, ..WHOLE };
        let canvas = Canvas::draw(&flat(), &near, Dots::HalfBlocks, [16, 8]);
        let lines = plain(&canvas);
        assert!(lines.iter().all(|line| line.starts_with("██")), "{lines:#?}");
        assert_eq!(lines[7], "█".repeat(16));
    }

    #[test]
    fn height_is_colour_and_ground_is_not_drawn_over() {
        let header = Header { unit: 0.1, ..Header::default() };
        let mut points: Vec<_> = (0..80).map(|x| [x, 0, 0, 0]).collect();
        points.extend((1..=20).map(|z| [5, 0, z, 0]));
        let cells = cells(&header, &points);
        let view = View { centre: [4.0, 0.05], metres: 0.1, from_side: false };
        let canvas = Canvas::draw(&cells, &view, Dots::HalfBlocks, [80, 1]);
        assert_eq!(plain(&canvas)[0].chars().filter(|c| *c == '·').count(), 79);
        assert_eq!(canvas.squares.iter().filter(|s| **s == Square::Taken(9)).count(), 1);
        // From the side the pole stands.
        let side = View { centre: [0.5, 1.0], metres: 0.1, from_side: true };
        let canvas = Canvas::draw(&cells, &side, Dots::HalfBlocks, [10, 11]);
        let pole = plain(&canvas).iter().filter(|line| line.contains(['█', '▀', '▄'])).count();
        assert!(pole >= 10, "{:#?}", plain(&canvas));
    }

    #[test]
    fn the_robot_faces_where_it_faces_and_is_left_out_where_it_is_not_seen() {
        for (degrees, arrow) in
            [(0, '→'), (44, '↗'), (90, '↑'), (135, '↖'), (180, '←'), (-90, '↓'), (-721, '→')]
        {
            let yaw = f64::from(degrees).to_radians();
            let pose = Some(Pose { x: 4.0, y: 4.0, z: 0.0, yaw });
            let header = Header { unit: 1.0, pose, ..Header::default() };
            let canvas = Canvas::draw(&cells(&header, &[]), &WHOLE, Dots::Braille, [5, 3]);
            assert_eq!(plain(&canvas)[1].trim(), arrow.to_string(), "{degrees}");
        }
        let pose = Some(Pose { x: 1e300, y: -1e300, ..Pose::default() });
        let header = Header { unit: 1.0, pose, ..Header::default() };
        let canvas = Canvas::draw(&cells(&header, &[]), &WHOLE, Dots::Braille, [5, 3]);
        assert!(plain(&canvas).iter().all(|line| line.trim().is_empty()));
    }

    #[test]
    fn no_size_and_no_view_is_too_odd() {
        let mut odd = flat();
        odd.set_pose(Some(Pose { x: 4.0, y: 4.0, ..Pose::default() }));
        odd.set_pose(Some(Pose { x: 1e9, y: 4.0, ..Pose::default() }));
        for size in [[0, 0], [0, 5], [1, 1], [300, 1], [1, 100]] {
            for metres in [1e-12, 1e-3, 1.0, 1e12] {
                for centre in [[0.0, 0.0], [1e300, -1e300], [4.0, 4.0]] {
                    for from_side in [false, true] {
                        let view = View { centre, metres, from_side };
                        for dots in [Dots::Braille, Dots::HalfBlocks] {
                            let lines = Canvas::draw(&odd, &view, dots, size).lines();
                            assert_eq!(lines.len(), size[1]);
                            assert!(lines.iter().all(|line| line.width() == size[0]));
                        }
                    }
                }
            }
        }
    }
}
