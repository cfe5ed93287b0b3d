//! The envelopes that carry SDP before there is a channel.
//!
//! ```text
//! newer robots, port 9991
//!   POST /con_notify, no body     base64 of {"data1":"…","data2":1|2|3}
//!   data1, clear                  10 characters | base64 of a DER public key | 10 characters
//!   data1 if data2 is 2 or 3      base64 of  ciphertext | nonce 12 | tag 16   (AES-128-GCM)
//!   POST /con_ing_<digits>        {"data1":"base64 of AES-256-ECB, PKCS#7, of the offer",
//!                                  "data2":"base64 of RSA PKCS#1 v1.5 of the session key"}
//!     answer                      base64 of AES-256-ECB, PKCS#7, of the answer
//! older robots, port 8081
//!   POST /offer, the offer        the answer
//! offer    {"id":"STA_localNetwork","sdp":"…","type":"offer","token":""}
//! answer   {"type":"answer","sdp":"…","id":…}       sdp "reject": another client has the robot
//! ```
//!
//! The digits are spelled by the last ten characters of data1: the second of each pair, A to J for
//! 0 to 9. The session key is 32 characters, and those bytes are the AES-256 key.

mod exchange;
mod notify;

use alloc::vec::Vec;

pub use exchange::{Answer, ConIng, Offer, open_answer, seal_answer};
pub use notify::{Clear, Lock, Locked, Notify, STATIC_KEY};

/// What this crate needs of a library of ciphers.
pub trait Ciphers {
    /// MD5.
    fn md5(&self, message: &[u8]) -> [u8; 16];

    /// Opens AES-128-GCM without associated data in place; false when the tag does not fit.
    fn gcm_open(
        &self,
        key: &[u8; 16],
        nonce: &[u8; 12],
        tag: &[u8; 16],
        ciphertext: &mut [u8],
    ) -> bool;

    /// Seals with AES-128-GCM without associated data in place, and returns the tag.
    fn gcm_seal(&self, key: &[u8; 16], nonce: &[u8; 12], plaintext: &mut [u8]) -> [u8; 16];

    /// Encrypts each block with AES-256 in place.
    fn ecb_encrypt(&self, key: &[u8; 32], blocks: &mut [[u8; 16]]);

    /// Decrypts each block with AES-256 in place.
    fn ecb_decrypt(&self, key: &[u8; 32], blocks: &mut [[u8; 16]]);

    /// Encrypts with RSA, PKCS#1 v1.5; none when the key (DER, SubjectPublicKeyInfo or PKCS#1)
    /// cannot be used.
    fn rsa_encrypt(&self, public_key: &[u8], message: &[u8]) -> Option<Vec<u8>>;
}
