//! What people are told on standard error, and how wide a line may be.

use std::{
    env,
    io::{self, IsTerminal},
    os::fd::AsFd,
    sync::atomic::{AtomicBool, Ordering},
};

use anstyle::Style;
#[cfg(any(feature = "capture", feature = "daemon"))]
use unicode_width::UnicodeWidthChar;
use unicode_width::UnicodeWidthStr;

#[cfg(feature = "daemon")]
use crate::output::YELLOW;
use crate::output::{PLAIN, RED, printable};

static QUIET: AtomicBool = AtomicBool::new(false);

/// Less room than this beside something is no room for words.
#[cfg(feature = "daemon")]
const LEAST: usize = 24;
/// Where words stand that have no room beside what they belong to.
#[cfg(feature = "daemon")]
const BELOW: usize = 4;

/// From now on neither successes nor progress are told; errors and warnings are.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

#[cfg(any(feature = "capture", feature = "daemon"))]
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Tells in a line what happened.
#[cfg(any(feature = "capture", feature = "daemon"))]
pub(crate) fn say(text: &str) {
    if !is_quiet() {
        note(text);
    }
}

/// The same, whether asked to be quiet or not.
pub(crate) fn note(text: &str) {
    tell(None, &printable(text));
}

/// Tells what should be known, whether asked to be quiet or not.
#[cfg(feature = "daemon")]
pub(crate) fn warn(text: &str) {
    tell(Some((YELLOW, "warning: ")), &printable(text));
}

/// Tells why it failed, in as many lines as it takes.
pub(crate) fn fail(text: &str) {
    let lines: Vec<_> = text.lines().map(printable).collect();
    tell(Some((RED, "error: ")), &lines.join("\n"));
}

fn tell(mark: Option<(Style, &str)>, text: &str) {
    let columns = io::stderr().is_terminal().then(|| columns(io::stderr())).flatten();
    let text = wrapped(text, columns, mark.map_or(0, |(_, mark)| mark.len()), 0);
    match mark {
        Some((style, mark)) => anstream::eprintln!("{}{mark}{PLAIN}{text}", style.render()),
        None => anstream::eprintln!("{text}"),
    }
}

/// How wide a stream is: a terminal's width, or what `COLUMNS` says; none where any width will do.
pub(crate) fn columns(stream: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col));
    let set = || env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    size.filter(|columns| *columns > 0).or_else(set).filter(|columns: &usize| *columns > 0)
}

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// As much of a text as fits.
#[cfg(any(feature = "capture", feature = "daemon"))]
pub(crate) fn cut(text: &str, columns: usize) -> String {
    let mut taken = 0;
    let fits = |c: &char| {
        taken += c.width().unwrap_or(0);
        taken <= columns
    };
    text.chars().take_while(fits).collect()
}

/// A text whose lines end between words. `taken` columns of its first line are in use, and the
/// others begin with `indent` spaces. A word that fits on no line is left whole.
pub(crate) fn wrapped(text: &str, columns: Option<usize>, taken: usize, indent: usize) -> String {
    let Some(columns) = columns else { return text.into() };
    let mut out = String::new();
    let mut used = taken;
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = indent;
        }
        for (place, word) in line.split(' ').enumerate() {
            let space = usize::from(place > 0);
            if place > 0 && used + space + word.width() > columns {
                out.push('\n');
                out.push_str(&" ".repeat(indent));
                used = indent;
            } else if space > 0 {
                out.push(' ');
                used += space;
            }
            out.push_str(word);
            used += word.width();
        }
    }
    out
}

/// A row of a table: words beside what is `taken` already, each line of them below the one before.
/// Without room beside it they stand below it.
#[cfg(feature = "daemon")]
pub(crate) fn beside(text: &str, columns: Option<usize>, taken: usize) -> String {
    match columns {
        Some(columns) if columns < taken + LEAST.min(text.width()) => {
            format!("\n{}{}", " ".repeat(BELOW), wrapped(text, Some(columns), BELOW, BELOW))
        }
        _ => wrapped(text, columns, taken, taken),
    }
}

/// How this program was called, for commands to copy.
#[cfg(feature = "sim")]
pub(crate) fn program() -> String {
    let called = env::args().next().unwrap_or_else(|| "sinew".into());
    let path = std::path::Path::new(&called);
    let here = env::current_dir().ok();
    let below = here.as_deref().and_then(|here| path.strip_prefix(here).ok());
    let name = match below.and_then(std::path::Path::to_str) {
        // A name without a slash is looked for elsewhere.
        Some(below) if !below.contains('/') => format!("./{below}"),
        Some(below) => below.into(),
        None => called,
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./+".contains(c);
    if name.chars().all(is_plain) { name } else { format!("'{}'", printable(&name)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_between_words_and_long_words_stay_whole() {
        assert_eq!(wrapped("one two three", None, 0, 0), "one two three");
        assert_eq!(wrapped("one two three", Some(8), 0, 0), "one two\nthree");
        assert_eq!(wrapped("one two three", Some(8), 4, 2), "one\n  two\n  three");
        assert_eq!(wrapped("a /very/long/path b", Some(6), 0, 0), "a\n/very/long/path\nb");
        assert_eq!(wrapped("a\nb c", Some(3), 0, 1), "a\n b\n c");
        // Each of these takes two columns.
        assert_eq!(wrapped("手 手 手", Some(5), 0, 0), "手 手\n手");
    }

    #[cfg(feature = "daemon")]
    #[test]
    fn words_without_room_beside_stand_below() {
        let words = "these are some more words than fit";
        assert_eq!(beside("few", Some(20), 10), "few");
        assert_eq!(beside(words, None, 10), words);
        let below = beside(words, Some(30), 10);
        assert_eq!(below, "\n    these are some more words\n    than fit");
        let right = beside(words, Some(40), 10);
        assert_eq!(right, "these are some more words than\n          fit");
    }

    #[cfg(feature = "daemon")]
    #[test]
    fn what_is_cut_fits() {
        assert_eq!(cut("abc", 2), "ab");
        assert_eq!(cut("手手", 3), "手");
        assert_eq!(cut("abc", 9), "abc");
    }
}
