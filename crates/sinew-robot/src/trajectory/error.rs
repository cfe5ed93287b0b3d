use std::fmt;

/// What is wrong with a motion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The line it stands in, from 1, when it was read from a text.
    pub line: Option<usize>,
    /// What is wrong.
    pub field: &'static str,
    /// What it should be.
    pub wanted: String,
    /// What it is.
    pub got: String,
}

impl Error {
    /// An error about a field.
    pub fn new(field: &'static str, wanted: impl Into<String>, got: impl fmt::Display) -> Self {
        Error { line: None, field, wanted: wanted.into(), got: shortened(&got.to_string()) }
    }

    pub(super) fn at(self, line: usize) -> Self {
        Error { line: Some(line), ..self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{}: wanted {}, got {}", self.field, self.wanted, self.got)
    }
}

impl std::error::Error for Error {}

/// A text from elsewhere for an error, cut where it gets long.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}
