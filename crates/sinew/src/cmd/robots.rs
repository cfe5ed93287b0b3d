//! `sinew robots`.

use std::io::Write;

use anstyle::Style;
use serde_json::json;
use sinew_api::RobotReport;

use crate::{
    DONE,
    client::Daemon,
    output::{BOLD, printable, printable_json},
    terminal,
    text::{Line, width, wrap},
    words,
};

/// Between columns.
const GAP: usize = 2;

/// List the robots of the daemon.
#[derive(clap::Args)]
pub(crate) struct RobotsArgs {
    #[command(flatten)]
    daemon: Daemon,
}

pub(crate) fn robots(args: &RobotsArgs, json: bool) -> anyhow::Result<u8> {
    let robots = args.daemon.connect()?.robots()?.robots;
    let mut out = anstream::stdout().lock();
    if json {
        writeln!(out, "{}", printable_json(&serde_json::to_value(robots)?))?;
        return Ok(DONE);
    }
    for line in table(&robots, terminal::width()) {
        writeln!(out, "{line}")?;
    }
    Ok(DONE)
}

/// What robots can do is left out where there is hardly room for the rest.
fn table(robots: &[RobotReport], width: usize) -> Vec<Line> {
    let columns = if width < 60 { 4 } else { 5 };
    let mut lines =
        vec![["NAME", "KIND", "LINK", "HOLDER", "CAN"].map(|title| (BOLD, title.into()))];
    lines.extend(robots.iter().map(|robot| {
        let holder = robot.holder.as_deref().map_or("-".into(), printable);
        let can: Vec<_> = robot.capabilities.iter().map(|can| words::text(&json!(can))).collect();
        [
            (Style::new(), printable(&robot.name)),
            (Style::new(), printable(&robot.kind)),
            (words::link_style(&robot.link.state), words::link(&robot.link)),
            (Style::new(), holder),
            (Style::new(), can.join(", ")),
        ]
    }));
    let lines: Vec<_> = lines.iter().map(|line| &line[..columns]).collect();
    let widths = widths(&lines, width);
    lines.iter().flat_map(|line| wrapped(line, &widths)).collect()
}

/// As wide as the widest cell of each column. Where that is too much the widest column gives way,
/// first those in which words stay whole.
fn widths(lines: &[&[(Style, String)]], most: usize) -> Vec<usize> {
    let columns = lines.first().map_or(0, |line| line.len());
    let cells = |column: usize| lines.iter().map(move |line| line[column].1.as_str());
    let most = most.saturating_sub(GAP * columns.saturating_sub(1));
    let widest = |column| cells(column).map(width).max().unwrap_or(0);
    let longest = |column| cells(column).flat_map(str::split_whitespace).map(width).max();
    let mut widths: Vec<_> = (0..columns).map(widest).collect();
    for least in
        [(0..columns).map(|column| longest(column).unwrap_or(0)).collect(), vec![2; columns]]
    {
        while widths.iter().sum::<usize>() > most {
            let roomy = widths.iter_mut().zip(&least).filter(|(width, least)| **width > **least);
            let Some((width, _)) = roomy.max_by_key(|(width, _)| **width) else { break };
            *width -= 1;
        }
    }
    widths
}

/// A line of cells, as many lines as its longest cell takes.
fn wrapped(cells: &[(Style, String)], widths: &[usize]) -> Vec<Line> {
    let cells: Vec<_> = cells
        .iter()
        .zip(widths)
        .map(|((style, text), width)| (*style, wrap(text, *width), *width))
        .collect();
    let height = cells.iter().map(|(_, texts, _)| texts.len()).max().unwrap_or(0);
    let line = |at: usize| {
        let mut line = Line::default();
        let mut column = 0;
        for (style, texts, width) in &cells {
            if let Some(text) = texts.get(at) {
                line = line.padded(column).with(*style, text.clone());
            }
            column += width + GAP;
        }
        line
    };
    (0..height).map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn robot(name: &str, reason: Option<&str>) -> RobotReport {
        let mut robot = json!({
            "name": name, "kind": "crl200s", "link": { "state": "lost" }, "holder": "机器人",
            "capabilities": ["drive", "components"], "sensors": [], "stopped_by": null,
            "last_seen_ms": null, "fresh": false, "state": {},
        });
        if let Some(reason) = reason {
            robot["link"]["reason"] = reason.into();
        }
        serde_json::from_value(robot).expect("is a report")
    }

    fn plain(robots: &[RobotReport], width: usize) -> String {
        table(robots, width).iter().map(|line| line.plain().trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn a_long_reason_goes_on_under_its_column() {
        let robots = [robot("a", Some("the port was closed")), robot("b", None)];
        let wanted = "\
NAME  KIND     LINK               HOLDER
a     crl200s  lost: the port     机器人
               was closed
b     crl200s  lost               机器人
";
        assert_eq!(plain(&robots, 40), wanted);
        assert_eq!(plain(&robots, usize::MAX).lines().count(), 3);
    }

    #[test]
    fn a_table_is_never_wider_than_it_may_be() {
        let long = "a-very-long-name-without-any-spaces-and-\u{1b}[2J";
        let robots = [robot(long, Some(long)), robot("b", None)];
        for width in 20..=200 {
            for line in table(&robots, width) {
                assert!(line.width() <= width, "{line:?} at {width}");
                assert!(!line.plain().contains('\u{1b}'));
            }
        }
    }
}
