//! The robots and what happened, as lines of a screen.

use std::{
    collections::VecDeque,
    io,
    time::{Duration, Instant},
};

use anstyle::Style;
use sinew_api::RobotReport;

use super::{ALL, Viewer, timestamp};
use crate::{
    output::{BOLD, DIM, RED, printable},
    report::{Row, headline, rows},
    terminal::Size,
    text::{Line, cut, width, wrap},
};

/// Events that are kept.
const KEPT: usize = 500;
/// The daemon is asked every second; longer silence means that what is shown is old.
const SILENCE: Duration = Duration::from_millis(1200);
/// Robots stand side by side where each has so many columns.
const SIDE: usize = 60;
/// Rows stand side by side where each has so many.
const CELL: usize = 40;
/// The longest name beside an event or a key.
const NAME: usize = 11;

pub(super) struct Picture {
    robots: Vec<RobotReport>,
    /// None for all of them.
    chosen: Option<usize>,
    events: VecDeque<Event>,
    address: String,
    has_keys: bool,
    heard: Instant,
    changed: bool,
}

struct Event {
    time: String,
    robot: String,
    style: Style,
    text: String,
}

impl Picture {
    pub(super) fn new(robots: Vec<RobotReport>, address: String, has_keys: bool) -> Self {
        // One alone is always the chosen one.
        let chosen = (robots.len() == 1).then_some(0);
        let (events, heard) = (VecDeque::new(), Instant::now());
        Picture { robots, chosen, events, address, has_keys, heard, changed: true }
    }

    /// Whether it has changed since it was drawn.
    pub(super) fn is_changed(&self) -> bool {
        self.changed || self.heard.elapsed() > SILENCE
    }

    /// The robot that keys are about, or all.
    pub(super) fn chosen(&self) -> Option<&str> {
        self.chosen.and_then(|index| self.robots.get(index)).map(|robot| robot.name.as_str())
    }

    /// Goes from all to the first robot, and on to the last and all again; or the other way.
    pub(super) fn choose(&mut self, step: isize) {
        if self.robots.len() < 2 {
            return;
        }
        let places = self.robots.len() + 1;
        let place = self.chosen.map_or(0, |index| index + 1);
        let place = place.saturating_add_signed(step + places as isize) % places;
        self.chosen = place.checked_sub(1);
        self.changed = true;
    }

    /// Draws it, in so many lines and columns.
    pub(super) fn lines(&mut self, size: Size, now: Instant) -> Vec<Line> {
        self.changed = false;
        let Size { columns, lines } = size;
        let title = (lines >= 10).then(|| self.title(now));
        let help = (lines >= 4).then(|| self.help());
        let room = lines - usize::from(title.is_some()) - usize::from(help.is_some());
        let least = if room >= 6 { (room / 4).max(3) } else { 0 };
        let robots = self.robots(columns, room - least, now);
        let events = self.events(columns, room - robots.len());
        title.into_iter().chain(robots).chain(events).chain(help).collect()
    }

    fn silence(&self, now: Instant) -> Option<Duration> {
        Some(now.saturating_duration_since(self.heard)).filter(|silence| *silence > SILENCE)
    }

    fn title(&self, now: Instant) -> Line {
        let title = Line::new(BOLD, "sinew watch");
        match self.silence(now) {
            None => title.with(DIM, format!("  daemon at {}", self.address)),
            Some(silence) => {
                let seconds = silence.as_secs();
                title.with(RED, format!("  the daemon has not answered for {seconds} s"))
            }
        }
    }

    fn help(&self) -> Line {
        if !self.has_keys {
            return Line::new(DIM, "Ctrl-C end");
        }
        let stopped = self.chosen().map_or(ALL.into(), |name| cut(&printable(name), NAME));
        let mut keys = vec![("q", "end".to_owned()), ("space", format!("stop {stopped}"))];
        if self.robots.len() > 1 {
            keys.push(("↑↓", "choose".into()));
        }
        let mut line = Line::default();
        for (key, what) in keys {
            let gap = if line.width() > 0 { "  " } else { "" };
            line = line.with(BOLD, format!("{gap}{key}")).with(DIM, format!(" {what}"));
        }
        line
    }

    /// Robots side by side or one above the other, in at most so many lines.
    fn robots(&self, columns: usize, most: usize, now: Instant) -> Vec<Line> {
        let across = match self.chosen {
            None => (columns / SIDE).clamp(1, self.robots.len().max(1)),
            Some(_) => 1,
        };
        let side = columns / across;
        let gap = if across > 1 { 2 } else { 0 };
        let block = |at| self.block(at, side - gap, now);
        let blocks: Vec<_> = (0..self.robots.len()).map(block).collect();
        let bands: Vec<_> = blocks.chunks(across).collect();
        let wanted = bands.iter().map(|band| band.iter().map(Vec::len).max().unwrap_or(0));
        let heights = shared(wanted.collect(), most);
        let fits = heights.iter().sum::<usize>() + heights.len() <= most;
        let gaps = fits && self.chosen.is_none();
        // More robots than lines: the chosen one is among those that are shown.
        let skipped = self.chosen.map_or(0, |at| (at + 1).saturating_sub(most));
        let mut lines = Vec::new();
        for (band, height) in bands.iter().zip(heights).skip(skipped) {
            for at in 0..height {
                let cells = band.iter().map(|block| cell(block, at, height).padded(side));
                lines.extend(cells.reduce(Line::joined));
            }
            lines.extend(gaps.then(Line::default));
        }
        lines.truncate(most);
        lines
    }

    /// A robot; of one that is not chosen, while another is, its first line.
    fn block(&self, at: usize, columns: usize, now: Instant) -> Vec<Line> {
        let mut robot = self.robots[at].clone();
        if let Some(silence) = self.silence(now) {
            robot.fresh = false;
            robot.last_seen_ms = robot.last_seen_ms.map(|ms| ms + silence.as_millis() as u64);
        }
        let mark = match self.chosen {
            Some(chosen) if self.robots.len() > 1 && chosen == at => "▸ ",
            Some(_) if self.robots.len() > 1 => "  ",
            _ => "",
        };
        let head = headline(&robot, columns.saturating_sub(width(mark)));
        let mut lines = vec![Line::new(BOLD, mark).joined(head)];
        if self.chosen.is_none_or(|chosen| chosen == at) {
            lines.extend(packed(&rows(&robot), columns));
        }
        lines
    }

    /// The last events, the newest below.
    fn events(&self, columns: usize, most: usize) -> Vec<Line> {
        if most < 2 {
            return vec![Line::default(); most];
        }
        let name = self.events.iter().map(|event| width(&event.robot)).max().unwrap_or(0).min(NAME);
        let mut lines = VecDeque::new();
        for event in self.events.iter().rev() {
            let lead = Line::new(DIM, format!("{} ", event.time))
                .with(BOLD, cut(&event.robot, name))
                .padded(event.time.len() + 1 + name + 2);
            let indent = lead.width();
            let mut texts = wrap(&event.text, columns.saturating_sub(indent)).into_iter();
            let first = lead.with(event.style, texts.next().unwrap_or_default());
            let more = texts.map(|text| Line::new(event.style, " ".repeat(indent) + &text));
            for line in more.rev() {
                lines.push_front(line);
            }
            lines.push_front(first);
            if lines.len() >= most {
                break;
            }
        }
        if lines.is_empty() {
            lines.push_back(Line::new(DIM, "nothing has happened yet"));
        }
        let rule = "── events, times in UTC ";
        let rule =
            Line::new(DIM, rule.to_owned() + &"─".repeat(columns.saturating_sub(width(rule))));
        lines.drain(..lines.len().saturating_sub(most - 1));
        let mut lines: Vec<_> = [rule].into_iter().chain(lines).collect();
        lines.resize(most, Line::default());
        lines
    }
}

impl Viewer for Picture {
    fn report(&mut self, robot: RobotReport) -> io::Result<()> {
        (self.heard, self.changed) = (Instant::now(), true);
        if let Some(known) = self.robots.iter_mut().find(|known| known.name == robot.name) {
            *known = robot;
        }
        Ok(())
    }

    fn say(&mut self, robot: &str, style: Style, text: &str) -> io::Result<()> {
        let time = timestamp().get(11..19).unwrap_or_default().to_owned();
        let (robot, text) = (printable(robot), text.to_owned());
        self.events.push_back(Event { time, robot, style, text });
        if self.events.len() > KEPT {
            self.events.pop_front();
        }
        self.changed = true;
        Ok(())
    }
}

/// Rows in lines, side by side where they are short.
fn packed(rows: &[Row], columns: usize) -> Vec<Line> {
    let across = (columns / CELL).clamp(1, 3);
    let cell = columns / across;
    let mut lines: Vec<Line> = Vec::new();
    let mut used = across;
    for row in rows {
        // With a space before the next one.
        let cells = row.width().map(|width| (width + 1).div_ceil(cell));
        let Some(cells) = cells.filter(|cells| *cells <= across) else {
            lines.extend(row.lines(columns));
            used = across;
            continue;
        };
        let mut line = row.lines(columns).into_iter().next().unwrap_or_default();
        if used + cells <= across
            && let Some(before) = lines.pop()
        {
            line = before.padded(used * cell).joined(line);
        } else {
            used = 0;
        }
        used += cells;
        lines.push(line);
    }
    lines
}

/// Heights of at most so many lines together: the tallest give way.
fn shared(mut heights: Vec<usize>, most: usize) -> Vec<usize> {
    while heights.iter().sum::<usize>() > most
        && let Some(tallest) = heights.iter_mut().max().filter(|tallest| **tallest > 1)
    {
        *tallest -= 1;
    }
    heights
}

/// A line of a block that has so many; the last one tells what is missing.
fn cell(block: &[Line], at: usize, height: usize) -> Line {
    let missing = block.len().saturating_sub(height);
    if missing > 0 && at > 0 && at + 1 == height {
        return Line::new(DIM, format!("  … {} more lines", missing + 1));
    }
    block.get(at).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn robot(name: &str) -> RobotReport {
        serde_json::from_value(json!({
            "name": name, "kind": "b", "holder": "机器人", "stopped_by": "a client with a long name",
            "link": { "state": "failed", "step": 3, "reason": "the controller did not answer" },
            "capabilities": ["drive"], "sensors": [], "last_seen_ms": 4, "fresh": true,
            "state": {
                "battery_percent": 75, "battery_volts": 15.0, "bumper_left": true,
                "velocity": { "linear": 0.2, "angular": 0.0 }, "pose": {},
                "positions": { "left_elbow": 0.5, "right_elbow": 0.5 },
            },
        }))
        .expect("is a report")
    }

    fn picture(robots: &[&str]) -> Picture {
        Picture::new(robots.iter().map(|name| robot(name)).collect(), "a:1".into(), true)
    }

    fn texts(picture: &mut Picture, columns: usize, lines: usize) -> Vec<String> {
        let lines = picture.lines(Size { columns, lines }, Instant::now());
        lines.iter().map(|line| line.plain().trim_end().to_owned()).collect()
    }

    #[test]
    fn a_picture_has_as_many_lines_as_the_screen_and_none_too_wide() {
        let names = ["a", "bb", "a-name-that-is-rather-long-for-a-robot", "d", "e"];
        for count in 0..=names.len() {
            let mut picture = picture(&names[..count]);
            let say = |picture: &mut Picture, text: &str| picture.say("bb", RED, text);
            say(&mut picture, "stopped by 机器人, which is a client with a long name")
                .expect("is kept");
            say(&mut picture, "short").expect("is kept");
            for chosen in 0..=count {
                for lines in 0..40 {
                    for columns in [1, 5, 17, 40, 60, 80, 133, 200] {
                        let size = Size { columns, lines };
                        let drawn = picture.lines(size, Instant::now());
                        assert_eq!(drawn.len(), lines, "{count} robots at {size:?}");
                        let cut = drawn.iter().map(|line| line.clone().cut(columns).width());
                        assert!(cut.max().unwrap_or(0) <= columns);
                        // What was meant for the screen is not cut off at its side.
                        let whole = drawn.iter().all(|line| line.width() <= columns);
                        assert!(whole || columns < 40, "{count} robots at {size:?}: {drawn:?}");
                        let seen = drawn.iter().any(|line| line.plain().starts_with("▸"));
                        assert_eq!(seen, chosen > 0 && count > 1 && lines > 0, "{size:?}");
                    }
                }
                picture.choose(1);
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_counted_and_the_chosen_robot_comes_first() {
        let mut picture = picture(&["a", "b", "c"]);
        let all = texts(&mut picture, 60, 20);
        assert!(all.iter().filter(|line| line.ends_with("more lines")).count() == 3, "{all:#?}");
        assert_eq!(all.last().map(String::as_str), Some("q end  space stop all  ↑↓ choose"));
        picture.choose(-1);
        assert_eq!(picture.chosen(), Some("c"));
        let chosen = texts(&mut picture, 60, 24);
        assert_eq!(chosen[1..3], ["  a (b)  failed", "  b (b)  failed"]);
        assert_eq!(chosen[3], "▸ c (b)  failed");
        assert!(chosen.iter().any(|line| line.contains("bumpers    left pressed")), "{chosen:#?}");
        picture.choose(1);
        assert_eq!(picture.chosen(), None);
        // With more robots than lines it is seen all the same.
        picture.choose(-1);
        assert_eq!(texts(&mut picture, 60, 3)[2], "▸ c (b)  failed");
    }

    #[test]
    fn events_stand_in_order_and_wrap_under_themselves() {
        let mut picture = picture(&["a", "b"]);
        for count in 0..2 * KEPT {
            picture.say("a", RED, &format!("event number {count}")).expect("is kept");
        }
        picture.say("b", RED, "what happened last is told in so many words").expect("is kept");
        assert_eq!(picture.events.len(), KEPT);
        let lines = texts(&mut picture, 40, 24);
        let [.., before, first, second, help] = &lines[..] else { panic!("{lines:#?}") };
        assert!(before.ends_with("a  event number 999"), "{lines:#?}");
        assert!(first.ends_with("b  what happened last is told"), "{lines:#?}");
        assert_eq!(second, "            in so many words");
        assert!(help.starts_with('q'));
    }
}
