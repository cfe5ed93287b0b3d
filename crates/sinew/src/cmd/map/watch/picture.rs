//! The map and what is known of it, as lines of a screen.

use std::time::Duration;

use serde_json::Value;
use sinew_robot::mapping::{Bounds, Pose};
use sinew_wire::text::grouped;

use super::{
    canvas::{Canvas, Dots},
    cells::Cells,
    view::View,
};
use crate::{
    output::{BOLD, DIM, RED, YELLOW, printable},
    terminal::{Key, Size},
    text::{Line, cut, wrap},
    words,
};

/// How much nearer a key goes.
const ZOOM: f64 = 1.25;
/// How far an arrow goes, of what is seen.
const PAN: f64 = 0.125;
/// Around a robot whose map has no cells yet, metres.
const AROUND: f64 = 2.0;
const NO_MAP: &str = "there is no map yet: `sinew map start` begins one";

pub(super) struct Picture {
    pub(super) cells: Cells,
    dots: Dots,
    from_side: bool,
    has_keys: bool,
    robot: String,
    looks: Looks,
    /// What was seen last.
    view: Option<View>,
    /// Squares of the picture, as it was drawn last.
    squares: [usize; 2],
    /// What mapping says of itself.
    info: Value,
    /// How the robot's link is, unless it is ready.
    link: Option<String>,
    changed: bool,
}

/// What is kept in view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looks {
    /// All of the map.
    All,
    /// The robot.
    Robot,
    /// What the user chose.
    There,
}

/// How the daemon is, beside what it says.
pub(super) enum Daemon {
    /// It answers, at this address, and the last frame is so old.
    Here(String, Duration),
    /// It has been silent for so long.
    Silent(Duration),
    /// It is gone.
    Lost(String),
}

impl Picture {
    pub(super) fn new(dots: Dots, from_side: bool, has_keys: bool, robot: &str) -> Self {
        Picture {
            cells: Cells::default(),
            dots,
            from_side,
            has_keys,
            robot: printable(robot),
            looks: Looks::All,
            view: None,
            squares: [0; 2],
            info: Value::Null,
            link: None,
            changed: true,
        }
    }

    /// Whether it has changed since it was drawn.
    pub(super) fn is_changed(&self) -> bool {
        self.changed
    }

    pub(super) fn change(&mut self) {
        self.changed = true;
    }

    /// What mapping says of itself.
    pub(super) fn tell(&mut self, info: Value) {
        let pose = serde_json::from_value::<Pose>(info["pose"].clone()).ok();
        self.cells.set_pose(pose);
        self.info = info;
        self.changed = true;
    }

    /// How the robot's link is.
    pub(super) fn tell_link(&mut self, link: &sinew_api::LinkReport) {
        let is_ready = link.state == "ready";
        self.link = (!is_ready).then(|| format!("link {}", words::link(link)));
        self.changed = true;
    }

    /// Does what a key asks for.
    pub(super) fn press(&mut self, key: Key) {
        let (looks, view) = (self.looks, &mut self.view);
        let Some(view) = view.as_mut() else { return };
        let step = |axis: usize| view.metres * self.squares[axis] as f64 * PAN;
        let (right, up) = (step(0), step(1));
        self.looks = match key {
            Key::Letter(b'+' | b'=') => {
                view.zoom(ZOOM);
                if looks == Looks::All { Looks::There } else { looks }
            }
            Key::Letter(b'-' | b'_') => {
                view.zoom(1.0 / ZOOM);
                if looks == Looks::All { Looks::There } else { looks }
            }
            Key::Letter(b'f' | b'F') if looks == Looks::Robot => Looks::There,
            Key::Letter(b'f' | b'F') => Looks::Robot,
            Key::Letter(b'c' | b'C') => Looks::All,
            Key::Left | Key::Right | Key::Up | Key::Down => {
                match key {
                    Key::Left => view.centre[0] -= right,
                    Key::Right => view.centre[0] += right,
                    Key::Up => view.centre[1] += up,
                    _ => view.centre[1] -= up,
                }
                Looks::There
            }
            _ => return,
        };
        self.changed = true;
    }

    /// Draws it, in so many lines and columns.
    pub(super) fn lines(&mut self, size: Size, daemon: &Daemon) -> Vec<Line> {
        self.changed = false;
        let Size { columns, lines } = size;
        let [has_title, has_status, has_help] = [6, 3, 8].map(|least| lines >= least);
        let taken = [has_title, has_status, has_help].into_iter().filter(|has| *has).count();
        let room = [columns, lines - taken];
        let [across, down] = self.dots.squares();
        self.squares = [room[0] * across, room[1] * down];
        let view = self.look();
        let title = has_title.then(|| self.title(daemon));
        let status = has_status.then(|| self.status(daemon));
        let help = has_help.then(|| self.help());
        let drawn = match self.cells.len() {
            0 if self.cells.path.len() < 2 => said(NO_MAP, room),
            _ => Canvas::draw(&self.cells, &view, self.dots, room).lines(),
        };
        let all = title.into_iter().chain(drawn).chain(status).chain(help);
        all.map(|line| line.cut(columns)).collect()
    }

    /// What is in view now.
    fn look(&mut self) -> View {
        let from_side = self.from_side && !self.cells.is_flat;
        let pose = self.cells.pose;
        let around = |[x, y, z]: [f64; 3]| Bounds {
            min: [x - AROUND, y - AROUND, z - AROUND],
            max: [x + AROUND, y + AROUND, z + AROUND],
        };
        let place = pose.map_or([0.0; 3], |pose| [pose.x, pose.y, pose.z]);
        let whole = || {
            let mut bounds = self.cells.bounds().unwrap_or_else(|| around(place));
            // The robot is part of it, unless it is far off.
            if pose.is_some() && place.iter().all(|axis| axis.abs() < 1e4) {
                let (low, high) = (bounds.min.iter_mut(), bounds.max.iter_mut());
                for ((low, high), at) in low.zip(high).zip(place) {
                    (*low, *high) = (low.min(at), high.max(at));
                }
            }
            View::of(&bounds, self.squares, from_side)
        };
        let mut view = match (self.looks, self.view) {
            (Looks::Robot | Looks::There, Some(view)) => view,
            _ => whole(),
        };
        if self.looks == Looks::Robot && pose.is_some() {
            view.centre = view.seen(place);
        }
        view.from_side = from_side;
        self.view = Some(view);
        view
    }

    fn title(&self, daemon: &Daemon) -> Line {
        let up = if self.view.is_some_and(|view| view.from_side) { "z" } else { "y" };
        let title = Line::new(BOLD, format!("sinew map watch  {}", self.robot));
        match daemon {
            Daemon::Here(address, _) => {
                let title = title.with(DIM, format!("  x →  {up} ↑  daemon at {address}"));
                let trouble = self.link.as_deref().or(self.info["trouble"].as_str());
                match trouble {
                    Some(trouble) => title.with(YELLOW, format!("  {}", printable(trouble))),
                    None => title,
                }
            }
            Daemon::Silent(silence) => {
                let seconds = silence.as_secs();
                title.with(RED, format!("  the daemon has not answered for {seconds} s"))
            }
            Daemon::Lost(why) => title.with(RED, format!("  {}; trying again", printable(why))),
        }
    }

    fn status(&self, daemon: &Daemon) -> Line {
        let squares = self.dots.squares()[0];
        let scale = self.view.and_then(|view| view.scale(self.squares[0] / 4));
        let bar = scale.filter(|(_, count)| *count >= 2 * squares).map(|(length, count)| {
            let length = match length {
                length if length < 1.0 => format!("{:.0} cm", length * 100.0),
                length => format!("{length:.0} m"),
            };
            format!("  ├{}┤ {length}", "─".repeat((count / squares).saturating_sub(2)))
        });
        let style = if matches!(daemon, Daemon::Here(..)) { BOLD } else { RED };
        let line = Line::new(style, self.figures(daemon)).with(DIM, bar.unwrap_or_default());
        let place = words::place(&serde_json::json!(self.cells.pose));
        line.with(DIM, place.map(|place| format!("  {place}")).unwrap_or_default())
    }

    /// How much there is, how often it changes, and how old it is.
    pub(super) fn figures(&self, daemon: &Daemon) -> String {
        let cells = grouped(self.cells.len() as u64);
        let over = if self.cells.is_over { ", and more than can be shown" } else { "" };
        match daemon {
            _ if self.cells.epoch().is_none() => "waiting for the map".into(),
            Daemon::Here(_, age) => {
                let rate = self.cells.rate(*age);
                format!("map {cells} cells{over}, {rate:.1} frames/s, {} old", span(*age))
            }
            Daemon::Silent(_) | Daemon::Lost(_) => format!("map {cells} cells{over}, not fresh"),
        }
    }

    fn help(&self) -> Line {
        if !self.has_keys {
            return Line::new(DIM, "Ctrl-C end");
        }
        let follow = if self.looks == Looks::Robot { "stay" } else { "follow" };
        let keys = [
            ("q", "end"),
            ("space", "stop"),
            ("+-", "zoom"),
            ("←↑↓→", "move"),
            ("f", follow),
            ("c", "all of it"),
        ];
        keys.into_iter().enumerate().fold(Line::default(), |line, (index, (key, what))| {
            let gap = if index > 0 { "  " } else { "" };
            line.with(BOLD, format!("{gap}{key}")).with(DIM, format!(" {what}"))
        })
    }
}

/// Words in the middle of an empty picture.
fn said(words: &str, [columns, lines]: [usize; 2]) -> Vec<Line> {
    let mut texts = wrap(words, columns);
    texts.truncate(lines);
    let above = (lines - texts.len()) / 2;
    let mut drawn = vec![Line::default(); above];
    drawn.extend(texts.into_iter().map(|text| {
        let text = cut(&text, columns);
        let indent = columns.saturating_sub(crate::text::width(&text)) / 2;
        Line::new(DIM, " ".repeat(indent) + &text)
    }));
    drawn.resize(lines, Line::default());
    drawn
}

/// A time in few characters.
fn span(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds < 100.0 => format!("{seconds:.1} s"),
        seconds if seconds < 6000.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.0} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use sinew_api::frame::{Frame, Header, map};

    use super::*;

    fn picture(points: &[[u16; 4]]) -> Picture {
        let pose = Some(Pose { x: 0.5, y: 0.5, ..Pose::default() });
        let header = Header { unit: 0.05, time_us: 5, is_flat: true, pose, ..Header::default() };
        let mut picture = Picture::new(Dots::Braille, false, true, "flat");
        picture.cells.take(&Frame::read(&map(&header, points)).expect("is a frame"));
        picture
    }

    fn room() -> Vec<[u16; 4]> {
        let wall = |at: u16| [[at, 0, 1, 0], [at, 100, 1, 0], [0, at, 1, 0], [100, at, 1, 0]];
        (0..=100).flat_map(wall).collect()
    }

    fn here() -> Daemon {
        Daemon::Here("127.0.0.1:8787".into(), Duration::from_millis(120))
    }

    fn texts(picture: &mut Picture, columns: usize, lines: usize, daemon: &Daemon) -> Vec<String> {
        let lines = picture.lines(Size { columns, lines }, daemon);
        lines.iter().map(|line| line.plain().trim_end().to_owned()).collect()
    }

    #[test]
    fn a_picture_fills_every_screen_and_is_never_wider() {
        for points in [vec![], room()] {
            let mut picture = picture(&points);
            let daemons =
                [here(), Daemon::Silent(Duration::from_secs(3)), Daemon::Lost("no route".into())];
            for daemon in &daemons {
                for (columns, lines) in [(1, 1), (2, 3), (7, 2), (20, 6), (80, 24), (200, 60)] {
                    let drawn = picture.lines(Size { columns, lines }, daemon);
                    assert_eq!(drawn.len(), lines, "{columns} x {lines}");
                    assert!(drawn.iter().all(|line| line.width() <= columns), "{drawn:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_known_stands_around_the_picture() {
        let mut picture = picture(&room());
        let lines = texts(&mut picture, 100, 24, &here());
        assert!(
            lines[0].starts_with("sinew map watch  flat  x →  y ↑  daemon at 127"),
            "{lines:#?}"
        );
        let status = &lines[22];
        assert!(status.contains("┤ "), "{status}");
        assert!(status.contains("map 404 cells, 0.5 frames/s, 0.1 s old"), "{status}");
        assert!(status.ends_with("x 0.50 m, y 0.50 m, facing 0°"), "{status}");
        assert!(lines[23].starts_with("q end  space stop  +- zoom"), "{lines:#?}");
        assert!(lines[1..22].iter().any(|line| line.contains('→')), "{lines:#?}");
        picture.tell(serde_json::json!({ "trouble": "the robot was lifted", "pose": null }));
        assert!(texts(&mut picture, 120, 24, &here())[0].ends_with("the robot was lifted"));
        let silent = texts(&mut picture, 100, 24, &Daemon::Silent(Duration::from_secs(2)));
        assert!(silent[0].ends_with("the daemon has not answered for 2 s"), "{silent:#?}");
        assert!(silent[22].contains("not fresh"), "{silent:#?}");
    }

    #[test]
    fn keys_zoom_move_follow_and_go_back() {
        let mut picture = picture(&room());
        let whole = texts(&mut picture, 60, 24, &here());
        for keys in [&[Key::Letter(b'+')][..], &[Key::Left], &[Key::Down, Key::Down]] {
            keys.iter().for_each(|key| picture.press(*key));
            assert!(picture.is_changed());
            assert_ne!(texts(&mut picture, 60, 24, &here())[1..22], whole[1..22], "{keys:?}");
            picture.press(Key::Letter(b'c'));
            assert_eq!(texts(&mut picture, 60, 24, &here()), whole);
        }
        picture.press(Key::Letter(b'f'));
        picture.tell(serde_json::json!({ "pose": { "x": 400.0, "y": 0.0 } }));
        let followed = texts(&mut picture, 60, 24, &here());
        assert!(followed[11].contains('→'), "{followed:#?}");
        assert!(followed[23].contains("f stay"), "{followed:#?}");
    }

    #[test]
    fn no_map_is_said() {
        let mut picture = picture(&[]);
        let lines = texts(&mut picture, 80, 24, &here());
        assert!(lines[11].contains(NO_MAP), "{lines:#?}");
        assert_eq!(span(Duration::from_secs(7200)), "2 h");
    }
}
