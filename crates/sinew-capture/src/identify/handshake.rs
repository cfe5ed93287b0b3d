//! The one part of a DTLS handshake that is of interest: which ciphers the server chose.

/// Offsets in a ServerHello's fragment: type, length, number, place and length of this piece; then
/// version, random, and the session's id.
const SESSION: usize = 12 + 2 + 32;
const SERVER_HELLO: u8 = 2;

/// The cipher suite of a ServerHello.
pub(super) fn cipher_suite(fragment: &[u8]) -> Option<u16> {
    let is_first = fragment.get(6..9) == Some(&[0, 0, 0]);
    if fragment.first() != Some(&SERVER_HELLO) || !is_first {
        return None;
    }
    let session = usize::from(*fragment.get(SESSION)?);
    let suite = fragment.get(SESSION + 1 + session..)?.first_chunk()?;
    Some(u16::from_be_bytes(*suite))
}

/// What a suite is called, for those that WebRTC's libraries choose.
pub(crate) fn suite_name(suite: u16) -> Option<&'static str> {
    Some(match suite {
        0x002F => "TLS_RSA_WITH_AES_128_CBC_SHA",
        0x0035 => "TLS_RSA_WITH_AES_256_CBC_SHA",
        0x009C => "TLS_RSA_WITH_AES_128_GCM_SHA256",
        0x009D => "TLS_RSA_WITH_AES_256_GCM_SHA384",
        0x1301 => "TLS_AES_128_GCM_SHA256",
        0x1302 => "TLS_AES_256_GCM_SHA384",
        0x1303 => "TLS_CHACHA20_POLY1305_SHA256",
        0xC009 => "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
        0xC00A => "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
        0xC013 => "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
        0xC014 => "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
        0xC02B => "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        0xC02C => "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        0xC02F => "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        0xC030 => "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        0xCCA8 => "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        0xCCA9 => "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        _ => return None,
    })
}
