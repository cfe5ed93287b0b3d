//! What is never shown: keys, and members that hold keys, tokens and serial numbers.

use alloc::{format, string::String, vec::Vec};
use core::fmt;

use serde_json::Value;

use super::json;
use crate::{Error, Got, Result, Wanted};

/// What is shown instead.
pub(super) const HIDDEN: &str = "(hidden)";

/// The key of one robot, for `data2` 3: 16 bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct DeviceKey(pub(super) [u8; 16]);

/// The key of one connection: 32 characters whose bytes are the AES-256 key.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionKey(pub(super) [u8; 32]);

impl DeviceKey {
    /// The key that 32 hex digits spell; spaces around them do no harm.
    pub fn from_hex(text: &str) -> Result<Self> {
        let digits: Vec<u32> = text.trim().chars().map_while(|c| c.to_digit(16)).collect();
        if digits.len() != text.trim().chars().count() {
            let got = Got::What("other characters");
            return Err(Error::new("device key", Wanted::What("32 hex digits"), got));
        }
        if digits.len() != 32 {
            return Err(Error::count("device key", Wanted::Exactly(32), digits.len()));
        }
        let mut key = [0; 16];
        for (byte, [high, low]) in key.iter_mut().zip(digits.as_chunks::<2>().0) {
            *byte = (high << 4 | low) as u8;
        }
        Ok(DeviceKey(key))
    }
}

impl SessionKey {
    /// A key as the library makes it, a version 4 UUID without dashes, out of 16 bytes of chance.
    pub fn from_random(mut random: [u8; 16]) -> Self {
        random[6] = random[6] & 0x0F | 0x40;
        random[8] = random[8] & 0x3F | 0x80;
        let mut key = [0; 32];
        for ([high, low], byte) in key.as_chunks_mut::<2>().0.iter_mut().zip(random) {
            *high = digit(byte >> 4);
            *low = digit(byte & 0x0F);
        }
        SessionKey(key)
    }

    /// The key that a client sent.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let key = bytes.try_into();
        key.map(SessionKey)
            .map_err(|_| Error::count("session key", Wanted::Exactly(32), bytes.len()))
    }

    /// What is sent to the robot, wrapped with its public key.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

const fn digit(nibble: u8) -> u8 {
    if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 }
}

impl fmt::Debug for DeviceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeviceKey(hidden)")
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionKey(hidden)")
    }
}

/// Members whose text is a secret, or names one robot or one account.
const SECRET: [&str; 15] = [
    "sn",
    "serial",
    "serial_number",
    "serialnumber",
    "key",
    "gcm_key",
    "aes_key",
    "token",
    "accesstoken",
    "refreshtoken",
    "password",
    "passwd",
    "data1",
    "data2",
    "sdp",
];

/// JSON in a string in JSON is looked into this often; what is nested deeper is hidden.
const STRINGS: u8 = 3;

/// A copy in which secret members are hidden, also in JSON that stands in a string.
pub(crate) fn redacted(value: &Value) -> Value {
    redacted_within(value, STRINGS)
}

fn redacted_within(value: &Value, strings: u8) -> Value {
    let secret = |name: &String| SECRET.contains(&name.to_ascii_lowercase().as_str());
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| match value {
                value if !secret(name) => (name.clone(), redacted_within(value, strings)),
                Value::String(text) if text.is_empty() => (name.clone(), value.clone()),
                _ => (name.clone(), HIDDEN.into()),
            })
            .collect(),
        Value::Array(list) => list.iter().map(|value| redacted_within(value, strings)).collect(),
        Value::String(text) => inner_text(text, strings).unwrap_or_else(|| value.clone()),
        other => other.clone(),
    }
}

/// The text with secrets hidden, when it is JSON that has any.
fn inner_text(text: &str, strings: u8) -> Option<Value> {
    if !text.trim_start().starts_with(['{', '[', '"']) {
        return None;
    }
    let Some(strings) = strings.checked_sub(1) else { return Some(HIDDEN.into()) };
    let inner = json::parse("text", text.as_bytes()).ok()?;
    let shown = redacted_within(&inner, strings);
    (shown != inner).then(|| format!("{shown}").into())
}
