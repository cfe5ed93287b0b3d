use std::{fmt, fs, io, path::Path};

/// What a client may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Nothing but show a token.
    Nothing,
    /// Look, and stop robots.
    Read,
    /// Everything.
    Control,
}

/// The secrets that clients show, and what each allows.
#[derive(Clone, Default)]
pub struct Tokens(Vec<(Access, String)>);

impl Tokens {
    /// Reads a token file: a line `control SECRET` or `read SECRET` each; `#` begins a comment.
    pub fn load(path: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(path).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        })?;
        Self::parse(&text)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    }

    /// Reads the text of a token file. No error shows a secret.
    pub fn parse(text: &str) -> io::Result<Self> {
        let mut tokens = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let access = match line.split_whitespace().next() {
                Some("control") => Access::Control,
                Some("read") => Access::Read,
                _ => return Err(wrong(number, "wanted `control SECRET` or `read SECRET`")),
            };
            let mut words = line.split_whitespace().skip(1);
            let (Some(secret), None) = (words.next(), words.next()) else {
                return Err(wrong(number, "wanted one secret, without spaces"));
            };
            if tokens.iter().any(|(_, known)| known == secret) {
                return Err(wrong(number, "this secret stands in an earlier line"));
            }
            tokens.push((access, secret.to_owned()));
        }
        Ok(Tokens(tokens))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What a secret allows, if it is known.
    pub fn access(&self, secret: &str) -> Option<Access> {
        self.0.iter().find(|(_, known)| same(known, secret)).map(|(access, _)| *access)
    }
}

fn wrong(line: usize, what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("line {line}: {what}"))
}

/// Compares without telling by its time where the first difference is.
fn same(known: &str, shown: &str) -> bool {
    let differences = known.bytes().zip(shown.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    known.len() == shown.len() && std::hint::black_box(differences) == 0
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tokens({})", self.0.len())
    }
}
