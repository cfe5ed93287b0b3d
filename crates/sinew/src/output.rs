//! Colours, texts of others, and what a closed pipe means.

use std::{fmt::Display, io};

use anstyle::{AnsiColor, Color, Reset, Style};
use sinew_wire::text::is_unshowable;

pub(crate) const RED: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Red))).bold();
pub(crate) const GREEN: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Green)));
pub(crate) const YELLOW: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Yellow)));
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const PLAIN: Reset = Reset;

/// Whether the reader of our output has gone, which is its right (`sinew … | head`).
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// A text from a daemon, a robot or a file, without anything that moves a cursor or turns the
/// direction of writing.
pub(crate) fn printable(text: &str) -> String {
    let escaped = |c: char| match c {
        c if is_unshowable(c) => c.escape_default().collect(),
        c => c.to_string(),
    };
    text.chars().map(escaped).collect::<String>()
}

/// JSON that says the same, without such characters. They stand in strings only, all of them in 16
/// bits, so that each has an escape of JSON's own.
pub(crate) fn printable_json(json: &impl Display) -> String {
    let escaped = |c: char| match c {
        '\n' => c.to_string(),
        c if is_unshowable(c) => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    };
    json.to_string().chars().map(escaped).collect()
}

/// Says that a command was carried out: nothing for people, an object for programs.
#[cfg(feature = "daemon")]
pub(crate) fn done(json: bool) -> anyhow::Result<u8> {
    if json {
        let mut out = io::stdout().lock();
        io::Write::write_all(&mut out, b"{\"ok\":true}\n")?;
    }
    Ok(crate::DONE)
}
