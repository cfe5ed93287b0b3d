//! Keys: where they come from, and what is done with them.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use openssl::rsa::{Padding, Rsa};
use serde_json::Value;
use sinew_io::{KeyFile, OpenSsl};
use sinew_wire::unitree::{
    Ciphers, SessionKey,
    signal::{Answer, ConIng, Locked, Notify, Offer, open_answer, seal_answer},
    validation_answer,
};

use super::bench::key;

fn vectors(what: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/unitree.json");
    let all: Vec<Value> = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let chosen: Vec<_> = all.into_iter().filter(|vector| vector["what"] == what).collect();
    assert!(!chosen.is_empty(), "{what}");
    chosen
}

fn text<'a>(vector: &'a Value, name: &str) -> &'a str {
    vector[name].as_str().unwrap()
}

#[test]
fn the_ciphers_are_those_of_the_vectors() {
    let ciphers = OpenSsl::new().unwrap();
    for vector in vectors("validation") {
        let answer = validation_answer(text(&vector, "challenge"), &ciphers).emit();
        assert!(answer.contains(text(&vector, "answer")), "{answer}");
    }
    for vector in vectors("notify") {
        let device_key = key(text(&vector, "key"));
        let notify = Notify::parse(text(&vector, "text").as_bytes()).unwrap();
        match (notify.open(Some(&device_key), &ciphers), text(&vector, "public_key")) {
            // The dummy of the library's vectors is opened, and is no base64.
            (Err(Locked::Malformed(error)), "PUBKEY") => assert_eq!(error.field, "public key"),
            (Ok(clear), _) => {
                assert_eq!(clear.digits, text(&vector, "digits"));
                let nonce = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
                let lock = notify.lock;
                let again = Notify::seal(&clear, Some(&device_key), lock, &nonce, &ciphers);
                assert_eq!(again.unwrap().open(Some(&device_key), &ciphers), Ok(clear));
            }
            (other, _) => panic!("{}: {other:?}", text(&vector, "name")),
        }
    }
    for vector in vectors("answer") {
        let session_key = SessionKey::from_bytes(text(&vector, "key").as_bytes()).unwrap();
        let answer = Answer::parse(text(&vector, "text").as_bytes()).unwrap();
        let sealed = text(&vector, "sealed");
        assert_eq!(seal_answer(&answer, &session_key, &ciphers), sealed);
        assert_eq!(open_answer(sealed.as_bytes(), &session_key, &ciphers), Ok(answer));
    }
}

#[test]
fn a_session_key_is_wrapped_for_either_form_of_public_key() {
    let ciphers = OpenSsl::new().unwrap();
    let pair = Rsa::generate(2048).unwrap();
    let offer = Offer { id: String::new(), sdp: "v=0".into(), token: String::new() };
    let session_key = SessionKey::from_random([7; 16]);
    for der in [pair.public_key_to_der().unwrap(), pair.public_key_to_der_pkcs1().unwrap()] {
        let sealed = ConIng::seal(&offer, &session_key, &der, &ciphers).unwrap();
        let mut clear = [0; 256];
        let count = pair.private_decrypt(&sealed.wrapped_key, &mut clear, Padding::PKCS1).unwrap();
        assert_eq!(&clear[..count], session_key.as_bytes());
        assert_eq!(sealed.open(&session_key, &ciphers), Ok(offer.clone()));
    }
    for rubbish in [&b""[..], b"not a key", &[0x30; 300]] {
        assert_eq!(ciphers.rsa_encrypt(rubbish, b"x"), None);
    }
}

#[test]
fn a_key_file_is_named_where_it_cannot_be_used_and_never_quoted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("g1.key");
    let digits = "00112233445566778899aabbccddeeff";
    let missing = KeyFile::read(&path).unwrap_err().to_string();
    assert!(missing.contains("g1.key") && missing.contains("No such file"), "{missing}");
    for wrong in [
        "",
        "00112233",
        &"g".repeat(32),
        &format!("{digits}{digits}"),
        &format!("{}{digits}", "\n".repeat(5000)),
    ] {
        fs::write(&path, wrong).unwrap();
        let error = KeyFile::read(&path).unwrap_err().to_string();
        assert!(error.contains("g1.key") && error.contains("32 hex digits"), "{error}");
        assert!(wrong.is_empty() || !error.contains(wrong), "{error}");
    }
    fs::write(&path, format!("  {}\n", digits.to_uppercase())).unwrap();
    for (mode, warns) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let file = KeyFile::read(&path).unwrap();
        assert_eq!(file.key, key(digits));
        assert_eq!(file.warning.is_some(), warns, "{mode:o}");
        assert!(!format!("{file:?}").to_lowercase().contains("00112233"), "{file:?}");
    }
    assert!(KeyFile::read(directory.path()).is_err());
}
