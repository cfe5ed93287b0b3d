//! Offer and answer, in the clear and in the envelope of `con_ing`.

use alloc::{borrow::ToOwned, format, string::String, vec::Vec};
use core::fmt;

use serde_json::Value;

use super::{
    super::{SessionKey, base64, json, secret::HIDDEN},
    Ciphers,
};
use crate::{Error, Got, Result, Wanted};

const BLOCK: usize = 16;

/// A client's offer.
#[derive(Clone, PartialEq, Eq)]
pub struct Offer {
    /// [`Offer::STATION`] in the robot's network; empty on its own access point.
    pub id: String,
    /// The whole SDP, with all candidates.
    pub sdp: String,
    /// Empty without an account of the vendor's cloud.
    pub token: String,
}

/// A robot's answer.
#[derive(Clone, PartialEq, Eq)]
pub enum Answer {
    /// Its SDP.
    Sdp(String),
    /// Another client has the robot.
    Busy,
}

/// The body of `con_ing`: the offer and the session key, both closed.
#[derive(Clone, PartialEq, Eq)]
pub struct ConIng {
    /// The offer under the session key.
    pub offer: Vec<u8>,
    /// The session key under the robot's public key.
    pub wrapped_key: Vec<u8>,
}

impl Offer {
    /// The id of an offer in the robot's network.
    pub const STATION: &str = "STA_localNetwork";

    /// Reads an offer.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let value = json::parse("offer", text)?;
        let members = json::object("offer", Some(&value))?;
        is_type(members.get("type"), "offer")?;
        let optional =
            |field| json::text_or_empty(field, members.get(field)).map(ToOwned::to_owned);
        let sdp = json::text("sdp", members.get("sdp"))?.to_owned();
        Ok(Offer { id: optional("id")?, sdp, token: optional("token")? })
    }

    /// The text to send, with its members in the library's order.
    pub fn emit(&self) -> String {
        let [id, sdp, token] =
            [&self.id, &self.sdp, &self.token].map(|text| Value::from(text.as_str()));
        format!(r#"{{"id":{id},"sdp":{sdp},"type":"offer","token":{token}}}"#)
    }
}

impl Answer {
    /// Reads an answer.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let value = json::parse("answer", text)?;
        let members = json::object("answer", Some(&value))?;
        is_type(members.get("type"), "answer")?;
        Ok(match json::text("sdp", members.get("sdp"))? {
            "reject" => Answer::Busy,
            sdp => Answer::Sdp(sdp.to_owned()),
        })
    }

    /// The text to send.
    pub fn emit(&self) -> String {
        let sdp = match self {
            Answer::Sdp(sdp) => sdp,
            Answer::Busy => "reject",
        };
        format!(r#"{{"type":"answer","sdp":{}}}"#, Value::from(sdp))
    }
}

impl ConIng {
    /// Closes an offer; an error when the robot's key cannot be used.
    pub fn seal(
        offer: &Offer,
        key: &SessionKey,
        public_key: &[u8],
        ciphers: &impl Ciphers,
    ) -> Result<Self> {
        let wrapped_key = ciphers.rsa_encrypt(public_key, key.as_bytes()).ok_or(Error::new(
            "public key",
            Wanted::What("an RSA key in DER"),
            Got::What("bytes that are none"),
        ))?;
        Ok(ConIng { offer: ecb_seal(offer.emit().as_bytes(), key, ciphers), wrapped_key })
    }

    /// Reads the body of a request, whatever its content type says.
    pub fn parse(body: &[u8]) -> Result<Self> {
        let value = json::parse("con_ing", body)?;
        let members = json::object("con_ing", Some(&value))?;
        let member =
            |field| base64::decode(field, json::text(field, members.get(field))?.as_bytes());
        Ok(ConIng { offer: member("data1")?, wrapped_key: member("data2")? })
    }

    /// The body of the request: JSON, although it is sent as `application/x-www-form-urlencoded`.
    pub fn emit(&self) -> String {
        let [data1, data2] = [&self.offer, &self.wrapped_key].map(|bytes| base64::encode(bytes));
        format!(r#"{{"data1":"{data1}","data2":"{data2}"}}"#)
    }

    /// Opens the offer; the robot has unwrapped the key.
    pub fn open(&self, key: &SessionKey, ciphers: &impl Ciphers) -> Result<Offer> {
        Offer::parse(&ecb_open("data1", &self.offer, key, ciphers)?)
    }
}

/// Opens the body of the answer to `con_ing`.
pub fn open_answer(body: &[u8], key: &SessionKey, ciphers: &impl Ciphers) -> Result<Answer> {
    let sealed = base64::decode("answer", body)?;
    Answer::parse(&ecb_open("answer", &sealed, key, ciphers)?)
}

/// The body of the answer to `con_ing`.
pub fn seal_answer(answer: &Answer, key: &SessionKey, ciphers: &impl Ciphers) -> String {
    base64::encode(&ecb_seal(answer.emit().as_bytes(), key, ciphers))
}

/// Pads by PKCS#7: always, by 1 to 16 bytes that each say how many.
fn ecb_seal(text: &[u8], key: &SessionKey, ciphers: &impl Ciphers) -> Vec<u8> {
    let padding = BLOCK - text.len() % BLOCK;
    let mut bytes = text.to_vec();
    bytes.resize(text.len() + padding, padding as u8);
    ciphers.ecb_encrypt(&key.0, bytes.as_chunks_mut().0);
    bytes
}

fn ecb_open(
    field: &'static str,
    sealed: &[u8],
    key: &SessionKey,
    ciphers: &impl Ciphers,
) -> Result<Vec<u8>> {
    if sealed.is_empty() || !sealed.len().is_multiple_of(BLOCK) {
        return Err(Error::count(field, Wanted::MultipleOf(BLOCK as u64), sealed.len()));
    }
    let mut bytes = sealed.to_vec();
    ciphers.ecb_decrypt(&key.0, bytes.as_chunks_mut().0);
    let padding = bytes.last().copied().unwrap_or(0);
    let text_len = bytes.len().saturating_sub(padding.into());
    let good = (1..=BLOCK as u8).contains(&padding)
        && bytes.iter().skip(text_len).all(|byte| *byte == padding);
    if !good {
        let got = Got::What("bytes that the session key does not open");
        return Err(Error::new(field, Wanted::What("PKCS#7 padding"), got));
    }
    bytes.truncate(text_len);
    Ok(bytes)
}

fn is_type(value: Option<&Value>, wanted: &'static str) -> Result<()> {
    if json::text("type", value)? == wanted {
        return Ok(());
    }
    Err(Error::new("type", Wanted::What(wanted), Got::What("another type")))
}

impl fmt::Debug for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = if self.token.is_empty() { "none" } else { HIDDEN };
        write!(f, "Offer(id {:?}, SDP of {} bytes, token {token})", self.id, self.sdp.len())
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Sdp(sdp) => write!(f, "Answer(SDP of {} bytes)", sdp.len()),
            Answer::Busy => f.write_str("Answer(busy)"),
        }
    }
}

impl fmt::Debug for ConIng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConIng { offer, wrapped_key } = self;
        write!(f, "ConIng(offer {} bytes, key {} bytes)", offer.len(), wrapped_key.len())
    }
}
