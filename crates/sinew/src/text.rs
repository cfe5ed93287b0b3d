//! Text in columns: how wide it is, where it breaks, what is cut off.

use std::{fmt, mem};

use anstyle::Style;
use unicode_width::UnicodeWidthChar;

/// A space at which no line is broken.
const TIE: char = '\u{a0}';

/// The columns that a text takes on a terminal.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

fn columns(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// A text that stays in one line where lines are broken at words.
pub(crate) fn tied(text: &str) -> String {
    text.replace(' ', &TIE.to_string())
}

/// Breaks a text into lines, at words where they fit.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    // A wide character needs two.
    let width = width.max(2);
    let mut lines = Vec::new();
    let (mut line, mut used) = (String::new(), 0);
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let gap = usize::from(used > 0);
        if used + gap + self::width(word) <= width {
            line.extend((gap > 0).then_some(' '));
            used += gap;
        } else if used > 0 {
            lines.push(mem::take(&mut line));
            used = 0;
        }
        for c in word.chars() {
            if used + columns(c) > width {
                lines.push(mem::take(&mut line));
                used = 0;
            }
            line.push(if c == TIE { ' ' } else { c });
            used += columns(c);
        }
    }
    lines.push(line);
    lines
}

/// The beginning of a text that fits, with a sign that there was more.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if self::width(text) <= width {
        return text.into();
    }
    let mut used = 0;
    let fits = |c: &char| {
        used += columns(*c);
        used < width
    };
    let mut kept: String = text.chars().take_while(fits).collect();
    kept.extend((width > 0).then_some('…'));
    kept
}

/// A line of styled pieces.
#[derive(Debug, Clone, Default)]
pub(crate) struct Line {
    pieces: Vec<(Style, String)>,
}

impl Line {
    pub(crate) fn new(style: Style, text: impl Into<String>) -> Self {
        Line::default().with(style, text)
    }

    #[must_use]
    pub(crate) fn with(mut self, style: Style, text: impl Into<String>) -> Self {
        self.pieces.push((style, text.into()));
        self
    }

    pub(crate) fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| width(text)).sum()
    }

    /// The same with spaces up to this column.
    #[must_use]
    pub(crate) fn padded(self, to: usize) -> Self {
        let missing = to.saturating_sub(self.width());
        self.with(Style::new(), " ".repeat(missing))
    }

    /// The same and another one behind it.
    #[must_use]
    pub(crate) fn joined(mut self, other: Line) -> Self {
        self.pieces.extend(other.pieces);
        self
    }

    /// What of it fits.
    #[must_use]
    pub(crate) fn cut(self, width: usize) -> Self {
        if self.width() <= width {
            return self;
        }
        let mut left = width;
        let mut kept = Line::default();
        for (style, text) in self.pieces {
            let text = cut(&text, left);
            left = left.saturating_sub(self::width(&text));
            kept = kept.with(style, text);
        }
        kept
    }

    /// Without styles.
    pub(crate) fn plain(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces.iter().try_for_each(|(style, text)| write!(f, "{style}{text}{style:#}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{BOLD, RED};

    #[test]
    fn lines_break_at_words_and_inside_only_where_one_is_too_long() {
        for (text, width, wanted) in [
            ("", 5, &[""][..]),
            ("one two three", 40, &["one two three"]),
            ("one two three", 7, &["one two", "three"]),
            ("one two three", 6, &["one", "two", "three"]),
            ("a  b", 3, &["a b"]),
            ("ab abcdefgh i", 4, &["ab", "abcd", "efgh", "i"]),
            ("x\u{a0}1 m y\u{a0}2 m", 6, &["x 1 m", "y 2 m"]),
            ("中文字", 5, &["中文", "字"]),
            ("中文", 1, &["中", "文"]),
        ] {
            assert_eq!(wrap(text, width), wanted, "{text:?} at {width}");
        }
    }

    #[test]
    fn what_is_cut_is_marked_and_never_wider_than_it_may_be() {
        for (text, width, wanted) in [
            ("robot", 5, "robot"),
            ("robot", 4, "rob…"),
            ("robot", 1, "…"),
            ("robot", 0, ""),
            ("机器人", 6, "机器人"),
            ("机器人", 5, "机器…"),
            ("机器人", 4, "机…"),
            ("机器人", 2, "…"),
        ] {
            assert_eq!(cut(text, width), wanted, "{text:?} at {width}");
        }
        let line = Line::new(BOLD, "机器人").with(RED, " lost");
        for width in 0..12 {
            let cut = line.clone().cut(width);
            assert!(cut.width() <= width, "{cut:?} at {width}");
        }
        assert_eq!(line.clone().cut(8).plain(), "机器人 …");
        assert_eq!(line.clone().cut(11).plain(), "机器人 lost");
        assert_eq!(line.padded(13).width(), 13);
    }
}
