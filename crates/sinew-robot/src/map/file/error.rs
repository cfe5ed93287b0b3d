use std::fmt;

/// Most characters of a file that an error shows.
const SHOWN: usize = 60;

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The line it stands in, from 1, when it is text.
    pub line: Option<usize>,
    /// What is wrong, in the words of the format's documentation.
    pub field: &'static str,
    /// What it should be.
    pub wanted: String,
    /// What it is.
    pub got: String,
}

impl Error {
    pub(super) fn new(
        field: &'static str,
        wanted: impl Into<String>,
        got: impl fmt::Display,
    ) -> Self {
        let got = got.to_string();
        let got = match got.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &got[..end]),
            None => got,
        };
        Error { line: None, field, wanted: wanted.into(), got }
    }

    pub(super) fn at(self, line: usize) -> Self {
        Error { line: Some(line), ..self }
    }
}

impl From<sinew_wire::Error> for Error {
    fn from(error: sinew_wire::Error) -> Self {
        Error::new(error.field, error.wanted.to_string(), error.got)
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
