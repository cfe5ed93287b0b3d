use core::fmt;

use crate::{Error, Got, Result, Wanted};

/// Bytes of a name on the wire.
pub const NAME_FIELD: usize = 32;

/// An action's name as it stands on the wire: 32 bytes, NUL padded.
///
/// A name made here is 1 to 31 bytes of UTF-8 without NUL. One that was
/// received may be anything; [`as_str`](Self::as_str) says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Name([u8; NAME_FIELD]);

impl Name {
    /// Checks a name; one that is too long is refused, not cut.
    pub fn new(text: &str) -> Result<Self> {
        if text.is_empty() || text.len() >= NAME_FIELD {
            let wanted = Wanted::Between(1, NAME_FIELD as i64 - 1);
            return Err(Error::count("name length in bytes", wanted, text.len()));
        }
        if text.contains('\0') {
            return Err(Error::new("name", Wanted::What("no NUL inside"), Got::What("a NUL")));
        }
        let mut field = [0; NAME_FIELD];
        for (place, byte) in field.iter_mut().zip(text.bytes()) {
            *place = byte;
        }
        Ok(Name(field))
    }

    /// A name as received.
    pub const fn from_field(field: [u8; NAME_FIELD]) -> Self {
        Name(field)
    }

    /// The bytes on the wire.
    pub const fn as_field(&self) -> &[u8; NAME_FIELD] {
        &self.0
    }

    /// The text up to the first NUL, when it is a name that [`Name::new`] would take.
    pub fn as_str(&self) -> Result<&str> {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(NAME_FIELD);
        let text = self.0.get(..end).unwrap_or_default();
        if text.is_empty() || end == NAME_FIELD {
            let wanted = Wanted::Between(1, NAME_FIELD as i64 - 1);
            return Err(Error::count("name length in bytes", wanted, end));
        }
        core::str::from_utf8(text).map_err(|_| {
            Error::new("name", Wanted::What("UTF-8"), Got::What("bytes that are not UTF-8"))
        })
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_str() {
            Ok(text) => text.fmt(f),
            Err(_) => write!(f, "{:02x?}", self.0),
        }
    }
}
