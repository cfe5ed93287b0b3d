//! The answer to `con_notify`: the robot's public key and the path of the next request.

use alloc::{borrow::ToOwned, format, string::String, vec::Vec};
use core::fmt;

use serde_json::Value;

use super::{
    super::{DeviceKey, base64, json},
    Ciphers,
};
use crate::{Error, Result, Wanted};

/// The key of `data2` 2: the same for all robots. The public library unitree_webrtc_connect ships
/// it; it protects nothing.
pub const STATIC_KEY: [u8; 16] = [
    0xE8, 0x56, 0x82, 0xBD, 0x16, 0x54, 0x9B, 0x00, 0x8E, 0x04, 0xA6, 0x68, 0x2B, 0xB3, 0xEB, 0xE3,
];

/// Characters before the public key, without a known meaning.
const FILLER: usize = 10;
/// Characters behind it.
const TOKEN: usize = 10;
const NONCE: usize = 12;
const TAG: usize = 16;

/// An answer to `con_notify`.
#[derive(Clone, PartialEq, Eq)]
pub struct Notify {
    /// How `data1` is closed.
    pub lock: Lock,
    data1: String,
}

/// How `data1` is closed, by `data2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// 1, nothing, or anything else: not at all.
    Plain,
    /// 2: with [`STATIC_KEY`].
    Static,
    /// 3: with the robot's own key.
    Device,
}

/// Why `data1` cannot be read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Locked {
    /// The robot wants its own key, and none was given.
    KeyMissing,
    /// The key is another robot's, or wrong.
    KeyRejected,
    /// It is not laid out as it should be.
    Malformed(Error),
}

/// What `data1` says.
#[derive(Clone, PartialEq, Eq)]
pub struct Clear {
    /// The robot's public key, DER.
    pub public_key: Vec<u8>,
    /// The end of the path of `con_ing`: five digits, or fewer where the token has characters
    /// that spell none.
    pub digits: String,
}

impl Notify {
    /// Reads the body of the HTTP answer.
    pub fn parse(body: &[u8]) -> Result<Self> {
        if body.len() > json::MAX_JSON {
            let most = Wanted::AtMost(json::MAX_JSON as u64);
            return Err(Error::count("con_notify", most, body.len()));
        }
        let value = json::parse("con_notify", &base64::decode("con_notify", body)?)?;
        let members = json::object("con_notify", Some(&value))?;
        let data1 = json::text("data1", members.get("data1"))?.to_owned();
        // As in the library, a "2" in quotes is no 2.
        let lock = match members.get("data2").and_then(Value::as_i64) {
            Some(2) => Lock::Static,
            Some(3) => Lock::Device,
            _ => Lock::Plain,
        };
        Ok(Notify { lock, data1 })
    }

    /// Closes `clear` as a robot does. `nonce` must be new each time.
    pub fn seal(
        clear: &Clear,
        device_key: Option<&DeviceKey>,
        lock: Lock,
        nonce: &[u8; NONCE],
        ciphers: &impl Ciphers,
    ) -> Option<Self> {
        let text = clear.emit();
        let key = match lock {
            Lock::Plain => return Some(Notify { lock, data1: text }),
            Lock::Static => &STATIC_KEY,
            Lock::Device => &device_key?.0,
        };
        let mut sealed = text.into_bytes();
        let tag = ciphers.gcm_seal(key, nonce, &mut sealed);
        sealed.extend(nonce);
        sealed.extend(tag);
        Some(Notify { lock, data1: base64::encode(&sealed) })
    }

    /// The body of the HTTP answer.
    pub fn emit(&self) -> String {
        let data1 = Value::from(self.data1.as_str());
        let data2 = match self.lock {
            Lock::Plain => 1,
            Lock::Static => 2,
            Lock::Device => 3,
        };
        base64::encode(format!(r#"{{"data1":{data1},"data2":{data2}}}"#).as_bytes())
    }

    /// Opens `data1`.
    pub fn open(
        &self,
        device_key: Option<&DeviceKey>,
        ciphers: &impl Ciphers,
    ) -> core::result::Result<Clear, Locked> {
        let key = match self.lock {
            Lock::Plain => return Ok(Clear::parse(self.data1.as_bytes())?),
            Lock::Static => &STATIC_KEY,
            Lock::Device => &device_key.ok_or(Locked::KeyMissing)?.0,
        };
        let sealed = base64::decode("data1", self.data1.as_bytes())?;
        let short = || Error::count("data1", Wanted::AtLeast((NONCE + TAG) as u64), sealed.len());
        let (rest, tag) = sealed.split_last_chunk::<TAG>().ok_or_else(short)?;
        let (ciphertext, nonce) = rest.split_last_chunk::<NONCE>().ok_or_else(short)?;
        let mut text = ciphertext.to_vec();
        if !ciphers.gcm_open(key, nonce, tag, &mut text) {
            return Err(Locked::KeyRejected);
        }
        Ok(Clear::parse(&text)?)
    }

    /// Bytes of ciphertext, nonce and tag, or characters of clear text.
    pub(crate) fn len(&self) -> usize {
        match self.lock {
            Lock::Plain => self.data1.len(),
            _ => base64::decode("data1", self.data1.as_bytes()).map_or(0, |sealed| sealed.len()),
        }
    }
}

impl Clear {
    /// Reads the clear `data1`.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let short = || Error::count("data1", Wanted::AtLeast((FILLER + TOKEN) as u64), text.len());
        let (_, rest) = text.split_at_checked(FILLER).ok_or_else(short)?;
        let (key, token) = rest.split_last_chunk::<TOKEN>().ok_or_else(short)?;
        let public_key = base64::decode("public key", key)?;
        let seconds = token.as_chunks::<2>().0.iter().map(|[_, second]| *second);
        let digits = seconds.filter(|second| (b'A'..=b'J').contains(second));
        let digits = digits.map(|letter| char::from(letter - b'A' + b'0')).collect();
        Ok(Clear { public_key, digits })
    }

    /// The clear `data1`, with `0` for all that means nothing.
    fn emit(&self) -> String {
        let letter = |digit: char| char::from(b'A' + digit.to_digit(10).unwrap_or(0) as u8);
        let spelled = self.digits.chars().map(letter).chain(core::iter::repeat('0'));
        let token: String = spelled.take(TOKEN / 2).flat_map(|letter| ['0', letter]).collect();
        format!("{}{}{token}", "0".repeat(FILLER), base64::encode(&self.public_key))
    }

    /// The path of the next request.
    pub fn path(&self) -> String {
        format!("/con_ing_{}", self.digits)
    }
}

impl From<Error> for Locked {
    fn from(error: Error) -> Self {
        Locked::Malformed(error)
    }
}

impl fmt::Display for Locked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Locked::KeyMissing => f.write_str("device key: wanted this robot's, got none"),
            Locked::KeyRejected => f.write_str(
                "device key: wanted this robot's, got one that does not open its answer",
            ),
            Locked::Malformed(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for Locked {}

impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Lock::Plain => "clear",
            Lock::Static => "AES-128-GCM with the key that all robots share",
            Lock::Device => "AES-128-GCM with the robot's own key",
        })
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Notify({:?}, data1 hidden)", self.lock)
    }
}

impl fmt::Debug for Clear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clear(public key of {} bytes, path hidden)", self.public_key.len())
    }
}
