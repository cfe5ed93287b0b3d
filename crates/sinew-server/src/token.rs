use std::{
    fmt,
    fs::{File, Metadata},
    io::{self, Read},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use sinew_api::Access;
use subtle::ConstantTimeEq;

/// A file of tokens is not longer than this.
const MAX_FILE: u64 = 1 << 20;
/// The shortest secret: fewer characters can be guessed.
const MIN_SECRET: usize = 16;

/// The secrets that clients show, and what each allows.
#[derive(Clone, Default)]
pub struct Tokens(Vec<(Access, String)>);

impl Tokens {
    /// Reads a token file: a line `control SECRET` or `read SECRET` each; `#` begins a comment.
    pub fn load(path: &Path) -> io::Result<Self> {
        let read = || {
            let mut file = File::open(path)?;
            check_private(&file.metadata()?)?;
            let mut text = String::new();
            (&mut file).take(MAX_FILE).read_to_string(&mut text)?;
            Self::parse(&text)
        };
        read().map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
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
            if secret.chars().count() < MIN_SECRET {
                let what = format!("wanted a secret of at least {MIN_SECRET} characters");
                return Err(wrong(number, &what));
            }
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
        // Compared without telling by its time where the first difference is.
        let same = |known: &String| bool::from(known.as_bytes().ct_eq(secret.as_bytes()));
        self.0.iter().find(|(_, known)| same(known)).map(|(access, _)| *access)
    }
}

/// A secret that other users of the machine can read is none.
pub fn check_private(metadata: &Metadata) -> io::Result<()> {
    let others = metadata.permissions().mode() & 0o066;
    if !metadata.is_file() || others == 0 {
        return Ok(());
    }
    let message = "other users can read or change it; make it yours alone: chmod 600";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

fn wrong(line: usize, what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("line {line}: {what}"))
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tokens({})", self.0.len())
    }
}
