//! A line for each change, for programs that read lines, and files.

use std::{collections::BTreeMap, io, io::Write};

use anstyle::Style;
use sinew_api::RobotReport;

use super::{Viewer, timestamp};
use crate::{output::printable, report::rows, words};

/// What was told of each robot.
pub(super) struct Changes {
    told: BTreeMap<String, Told>,
}

#[derive(Default)]
struct Told {
    texts: BTreeMap<&'static str, String>,
    fresh: bool,
}

impl Changes {
    /// Tells how things are.
    pub(super) fn begin(robots: Vec<RobotReport>) -> io::Result<Self> {
        let mut changes = Changes { told: BTreeMap::new() };
        for robot in robots {
            let said = format!("link {}", words::link(&robot.link));
            changes.told.insert(robot.name.clone(), Told { fresh: true, ..Told::default() });
            changes.say(&robot.name, Style::new(), &said)?;
            changes.report(robot)?;
        }
        Ok(changes)
    }
}

impl Viewer for Changes {
    fn report(&mut self, mut robot: RobotReport) -> io::Result<()> {
        let Some(mut told) = self.told.remove(&robot.name) else { return Ok(()) };
        let fresh = std::mem::replace(&mut robot.fresh, true);
        if told.fresh != fresh {
            let said = if fresh { "what it tells is fresh again" } else { "what it told is stale" };
            self.say(&robot.name, Style::new(), said)?;
            told.fresh = fresh;
        }
        for row in rows(&robot).into_iter().filter(|row| row.steady) {
            if told.texts.get(row.label) != Some(&row.text) {
                self.say(&robot.name, Style::new(), &format!("{} {}", row.label, row.text))?;
                told.texts.insert(row.label, row.text);
            }
        }
        self.told.insert(robot.name, told);
        Ok(())
    }

    fn say(&mut self, robot: &str, _style: Style, text: &str) -> io::Result<()> {
        let time = timestamp();
        let mut out = io::stdout().lock();
        writeln!(out, "{time} {}: {}", printable(robot), text.replace('\u{a0}', " "))?;
        out.flush()
    }
}
