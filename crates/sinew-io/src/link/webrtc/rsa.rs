//! RSA, which the signalling needs on the robot's side, and DTLS where the peer knows no better.

use std::sync::LazyLock;

use openssl::{
    asn1::Asn1Time,
    error::ErrorStack,
    hash::MessageDigest,
    pkey::{PKey, Private},
    rsa::Rsa,
    x509::{X509, X509NameBuilder},
};
use str0m::config::DtlsCert;

/// It takes a third of a second to make, so there is one for this process.
static KEY: LazyLock<Result<Rsa<Private>, ErrorStack>> = LazyLock::new(|| Rsa::generate(2048));

/// This process's key.
pub(super) fn key() -> Result<Rsa<Private>, ErrorStack> {
    KEY.clone()
}

/// A certificate with it.
pub(super) fn certificate() -> Result<DtlsCert, ErrorStack> {
    let key = PKey::from_rsa(key()?)?;
    let mut name = X509NameBuilder::new()?;
    name.append_entry_by_text("CN", "WebRTC")?;
    let name = name.build();
    let mut builder = X509::builder()?;
    builder.set_version(2)?;
    builder.set_not_before(&*Asn1Time::days_from_now(0)?)?;
    builder.set_not_after(&*Asn1Time::days_from_now(365)?)?;
    builder.set_subject_name(&name)?;
    builder.set_issuer_name(&name)?;
    builder.set_pubkey(&key)?;
    builder.sign(&key, MessageDigest::sha256())?;
    let certificate = builder.build().to_der()?;
    Ok(DtlsCert { certificate, private_key: key.private_key_to_der()? })
}
