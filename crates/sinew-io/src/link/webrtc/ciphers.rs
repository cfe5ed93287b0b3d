use std::io;

use openssl::{
    error::ErrorStack,
    hash::{MessageDigest, hash},
    pkey::{PKey, Public},
    rsa::{Padding, Rsa},
    symm::{Cipher, Crypter, Mode, decrypt_aead, encrypt_aead},
};
use sinew_wire::unitree::Ciphers;

/// The ciphers of a Unitree robot's signalling, by OpenSSL.
#[derive(Debug, Clone, Copy)]
pub struct OpenSsl(());

/// MD5 of nothing.
const MD5_OF_NOTHING: [u8; 16] = [
    0xD4, 0x1D, 0x8C, 0xD9, 0x8F, 0x00, 0xB2, 0x04, 0xE9, 0x80, 0x09, 0x98, 0xEC, 0xF8, 0x42, 0x7E,
];

impl OpenSsl {
    /// Fails where this OpenSSL lacks one of the ciphers, as one that is made for FIPS lacks MD5.
    pub fn new() -> io::Result<Self> {
        let lacks = |name: &str| io::Error::other(format!("this system's OpenSSL has no {name}"));
        if md5(&[]).ok() != Some(MD5_OF_NOTHING) {
            return Err(lacks("MD5"));
        }
        let mut block = [[0; 16]];
        ecb(Mode::Encrypt, &[0; 32], &mut block).map_err(|_| lacks("AES-256-ECB"))?;
        gcm_seal(&[0; 16], &[0; 12], &mut []).map_err(|_| lacks("AES-128-GCM"))?;
        Ok(OpenSsl(()))
    }

    /// MD5, for a session that validates its channel.
    pub fn digest(message: &[u8]) -> [u8; 16] {
        md5(message).unwrap_or_default()
    }
}

/// What [`OpenSsl::new`] has tried does not fail later.
impl Ciphers for OpenSsl {
    fn md5(&self, message: &[u8]) -> [u8; 16] {
        md5(message).unwrap_or_default()
    }

    fn gcm_open(
        &self,
        key: &[u8; 16],
        nonce: &[u8; 12],
        tag: &[u8; 16],
        ciphertext: &mut [u8],
    ) -> bool {
        match decrypt_aead(Cipher::aes_128_gcm(), key, Some(nonce), &[], ciphertext, tag) {
            Ok(clear) if clear.len() == ciphertext.len() => {
                ciphertext.copy_from_slice(&clear);
                true
            }
            _ => false,
        }
    }

    fn gcm_seal(&self, key: &[u8; 16], nonce: &[u8; 12], plaintext: &mut [u8]) -> [u8; 16] {
        gcm_seal(key, nonce, plaintext).unwrap_or_default()
    }

    fn ecb_encrypt(&self, key: &[u8; 32], blocks: &mut [[u8; 16]]) {
        let _ = ecb(Mode::Encrypt, key, blocks);
    }

    fn ecb_decrypt(&self, key: &[u8; 32], blocks: &mut [[u8; 16]]) {
        let _ = ecb(Mode::Decrypt, key, blocks);
    }

    fn rsa_encrypt(&self, public_key: &[u8], message: &[u8]) -> Option<Vec<u8>> {
        let key = public(public_key)?;
        let mut sealed = vec![0; key.size() as usize];
        let count = key.public_encrypt(message, &mut sealed, Padding::PKCS1).ok()?;
        sealed.truncate(count);
        Some(sealed)
    }
}

fn public(der: &[u8]) -> Option<Rsa<Public>> {
    let spki = || PKey::public_key_from_der(der).and_then(|key| key.rsa());
    spki().or_else(|_| Rsa::public_key_from_der_pkcs1(der)).ok()
}

fn md5(message: &[u8]) -> Result<[u8; 16], ErrorStack> {
    let digest = hash(MessageDigest::md5(), message)?;
    Ok(digest.as_ref().try_into().unwrap_or_default())
}

fn gcm_seal(
    key: &[u8; 16],
    nonce: &[u8; 12],
    plaintext: &mut [u8],
) -> Result<[u8; 16], ErrorStack> {
    let mut tag = [0; 16];
    let cipher = Cipher::aes_128_gcm();
    let sealed = encrypt_aead(cipher, key, Some(nonce), &[], plaintext, &mut tag)?;
    plaintext.copy_from_slice(&sealed);
    Ok(tag)
}

fn ecb(mode: Mode, key: &[u8; 32], blocks: &mut [[u8; 16]]) -> Result<(), ErrorStack> {
    let mut crypter = Crypter::new(Cipher::aes_256_ecb(), mode, key, None)?;
    crypter.pad(false);
    // OpenSSL wants room for one block more than it writes.
    let mut out = vec![0; (blocks.len() + 1) * 16];
    let count = crypter.update(blocks.as_flattened(), &mut out)?;
    let rest = crypter.finalize(&mut out[count..])?;
    blocks.as_flattened_mut().copy_from_slice(&out[..count + rest]);
    Ok(())
}
