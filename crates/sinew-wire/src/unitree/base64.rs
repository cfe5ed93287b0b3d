//! Base64 as robots and the library write and read it: line ends and a missing padding do no harm.

use alloc::{string::String, vec::Vec};

use base64::{Engine, engine::general_purpose::STANDARD_PAD_INDIFFERENT as ENGINE};

use crate::{Error, Got, Result, Wanted};

pub(super) fn encode(bytes: &[u8]) -> String {
    ENGINE.encode(bytes)
}

pub(super) fn decode(field: &'static str, text: &[u8]) -> Result<Vec<u8>> {
    let digits: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    ENGINE.decode(digits).map_err(|_| {
        Error::new(field, Wanted::What("base64"), Got::What("text that is not base64"))
    })
}
