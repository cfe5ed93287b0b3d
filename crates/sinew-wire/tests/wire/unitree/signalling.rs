//! The envelopes before the channel, and the answer to the challenge on it.

use aes::{
    Aes256,
    cipher::{BlockDecrypt, BlockEncrypt, KeyInit, generic_array::GenericArray},
};
use aes_gcm::{AeadInPlace, Aes128Gcm};
use md5::{Digest, Md5};
use proptest::prelude::*;
use sinew_wire::{
    Wanted,
    unitree::{
        Ciphers, DeviceKey, SessionKey,
        signal::{
            Answer, Clear, ConIng, Lock, Locked, Notify, Offer, STATIC_KEY, open_answer,
            seal_answer,
        },
        validation_answer,
    },
};

use super::of;
use crate::support::{bytes, refused, text, truncations};

/// Ciphers of RustCrypto. Instead of RSA, which has chance in it, the key goes before the message.
struct Tested;

impl Ciphers for Tested {
    fn md5(&self, message: &[u8]) -> [u8; 16] {
        Md5::digest(message).into()
    }

    fn gcm_open(&self, key: &[u8; 16], nonce: &[u8; 12], tag: &[u8; 16], text: &mut [u8]) -> bool {
        let cipher = Aes128Gcm::new(key.into());
        cipher.decrypt_in_place_detached(nonce.into(), &[], text, tag.into()).is_ok()
    }

    fn gcm_seal(&self, key: &[u8; 16], nonce: &[u8; 12], text: &mut [u8]) -> [u8; 16] {
        let cipher = Aes128Gcm::new(key.into());
        cipher.encrypt_in_place_detached(nonce.into(), &[], text).unwrap().into()
    }

    fn ecb_encrypt(&self, key: &[u8; 32], blocks: &mut [[u8; 16]]) {
        let cipher = Aes256::new(key.into());
        blocks
            .iter_mut()
            .for_each(|block| cipher.encrypt_block(GenericArray::from_mut_slice(block)));
    }

    fn ecb_decrypt(&self, key: &[u8; 32], blocks: &mut [[u8; 16]]) {
        let cipher = Aes256::new(key.into());
        blocks
            .iter_mut()
            .for_each(|block| cipher.decrypt_block(GenericArray::from_mut_slice(block)));
    }

    fn rsa_encrypt(&self, public_key: &[u8], message: &[u8]) -> Option<Vec<u8>> {
        (!public_key.is_empty()).then(|| [public_key, message].concat())
    }
}

fn device_key() -> DeviceKey {
    DeviceKey::from_hex(" 00112233445566778899AABBccddeeff\n").unwrap()
}

#[test]
fn challenges_are_answered_as_by_the_library() {
    for vector in of("validation") {
        let answer = validation_answer(text(&vector, "challenge"), &Tested);
        let wanted =
            format!(r#"{{"type":"validation","topic":"","data":"{}"}}"#, text(&vector, "answer"));
        assert_eq!(answer.emit(), wanted);
    }
}

#[test]
fn con_notify_opens_in_its_three_forms() {
    for vector in of("notify") {
        let notify = Notify::parse(text(&vector, "text").as_bytes()).unwrap();
        assert_eq!(format!("{:?}", notify.lock), text(&vector, "lock"));
        match (notify.open(Some(&device_key()), &Tested), text(&vector, "public_key")) {
            // The dummy of the library's vectors is opened, and is no base64.
            (Err(Locked::Malformed(error)), "PUBKEY") => assert_eq!(error.field, "public key"),
            (Ok(clear), public_key) => {
                assert_eq!(
                    (public_key, clear.public_key.as_slice()),
                    ("bm90IGEgcmVhbCBrZXk=", &b"not a real key"[..])
                );
                assert_eq!(clear.digits, text(&vector, "digits"));
                assert_eq!(clear.path(), "/con_ing_03691");
            }
            (other, _) => panic!("{}: {other:?}", text(&vector, "name")),
        }
    }
}

#[test]
fn a_missing_key_and_a_wrong_one_are_told_apart() {
    let wrong = DeviceKey::from_hex("ffffffffffffffffffffffffffffffff").unwrap();
    for vector in of("notify") {
        let notify = Notify::parse(text(&vector, "text").as_bytes()).unwrap();
        let device = notify.lock == Lock::Device;
        assert_eq!(notify.open(None, &Tested) == Err(Locked::KeyMissing), device);
        assert_eq!(notify.open(Some(&wrong), &Tested) == Err(Locked::KeyRejected), device);
    }
}

#[test]
fn what_a_robot_closes_a_client_opens() {
    let clear = Clear { public_key: vec![0x30, 0x82, 1, 2, 3], digits: "90210".into() };
    for lock in [Lock::Plain, Lock::Static, Lock::Device] {
        let notify = Notify::seal(&clear, Some(&device_key()), lock, &[7; 12], &Tested).unwrap();
        let read = Notify::parse(notify.emit().as_bytes()).unwrap();
        assert_eq!(read, notify);
        assert_eq!(read.open(Some(&device_key()), &Tested), Ok(clear.clone()));
    }
    assert_eq!(Notify::seal(&clear, None, Lock::Device, &[7; 12], &Tested), None);
}

#[test]
fn anything_but_the_numbers_two_and_three_is_clear() {
    let encoded = |data2: &str| {
        // {"data1":"…","data2":…} in base64, by hand.
        let json = format!(r#"{{"data1":"abcdefghijzAyDxGwJvB","data2":{data2}}}"#);
        let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for three in json.as_bytes().chunks(3) {
            let bits =
                (0..3).fold(0u32, |bits, at| bits << 8 | u32::from(*three.get(at).unwrap_or(&0)));
            let four = (0..4).rev().map(|at| digits[(bits >> (6 * at) & 63) as usize]);
            text.extend(four.take(three.len() + 1).map(char::from));
            text.push_str("\r\n");
        }
        text
    };
    for (data2, lock) in [
        ("1", Lock::Plain),
        ("2", Lock::Static),
        ("3", Lock::Device),
        ("4", Lock::Plain),
        ("\"2\"", Lock::Plain),
        ("2.0", Lock::Plain),
        ("null", Lock::Plain),
    ] {
        assert_eq!(Notify::parse(encoded(data2).as_bytes()).unwrap().lock, lock, "{data2}");
    }
    let clear = Notify::parse(encoded("1").as_bytes()).unwrap().open(None, &Tested).unwrap();
    assert_eq!((clear.public_key.len(), clear.digits.as_str()), (0, "03691"));
}

#[test]
fn characters_that_spell_no_digit_are_left_out() {
    let digits =
        |token: &str| Clear::parse(format!("0123456789{token}").as_bytes()).unwrap().digits;
    assert_eq!(digits("zAyDxGwJvB"), "03691");
    assert_eq!(digits("zAyaxGwKvB"), "061");
    assert_eq!(digits("0000000000"), "");
}

#[test]
fn every_truncation_of_con_notify_is_refused() {
    for vector in of("notify").iter().filter(|vector| vector["lock"] != "Plain") {
        for cut in truncations(text(vector, "text").trim_end_matches('=').as_bytes()) {
            let opened = Notify::parse(cut).map(|notify| notify.open(Some(&device_key()), &Tested));
            assert!(!matches!(opened, Ok(Ok(_))), "{}", cut.len());
        }
    }
    for len in 0..20 {
        assert_eq!(refused(Clear::parse(&vec![b'A'; len])), "data1");
    }
}

#[test]
fn the_session_cipher_is_the_library_s() {
    for vector in of("ecb") {
        let key = SessionKey::from_bytes(text(&vector, "key").as_bytes()).unwrap();
        // Neither is an answer; how it is refused shows that it was opened.
        let error = open_answer(text(&vector, "sealed").as_bytes(), &key, &Tested).unwrap_err();
        match text(&vector, "clear") {
            r#"{"a":1}"# => assert_eq!(error.field, "type"),
            _ => assert_eq!((error.field, error.wanted), ("answer", Wanted::What("JSON"))),
        }
        let wrong = SessionKey::from_bytes(&[b'0'; 32]).unwrap();
        let error = open_answer(text(&vector, "sealed").as_bytes(), &wrong, &Tested).unwrap_err();
        assert_eq!(error.wanted, Wanted::What("PKCS#7 padding"));
    }
}

#[test]
fn con_ing_holds_the_offer_and_the_key() {
    let vector = &of("con_ing")[0];
    let key = SessionKey::from_bytes(text(vector, "key").as_bytes()).unwrap();
    let body = ConIng::parse(text(vector, "text").as_bytes()).unwrap();
    assert_eq!(body.emit(), text(vector, "text"));
    assert_eq!(body.wrapped_key, bytes(vector, "wrapped_key"));
    let offer = body.open(&key, &Tested).unwrap();
    assert_eq!(offer.emit(), text(vector, "offer"));
    let sealed = ConIng::seal(&offer, &key, b"der", &Tested).unwrap();
    assert_eq!(sealed.offer, body.offer);
    assert_eq!(sealed.wrapped_key, [&b"der"[..], key.as_bytes()].concat());
    assert_eq!(refused(ConIng::seal(&offer, &key, b"", &Tested)), "public key");
    for cut in truncations(&body.offer) {
        let cut = ConIng { offer: cut.to_vec(), wrapped_key: Vec::new() };
        assert!(cut.open(&key, &Tested).is_err());
    }
}

#[test]
fn offers_and_answers_are_read_and_written() {
    for vector in of("offer") {
        let offer = Offer::parse(text(&vector, "text").as_bytes()).unwrap();
        assert_eq!((offer.id.as_str(), offer.sdp.as_str()), (Offer::STATION, text(&vector, "sdp")));
        assert_eq!(offer.emit(), text(&vector, "text"));
    }
    for vector in of("answer") {
        let answer = Answer::parse(text(&vector, "text").as_bytes()).unwrap();
        assert_eq!(answer == Answer::Busy, vector["busy"].as_bool().unwrap());
        assert_eq!(answer.emit(), text(&vector, "text"));
        let key = SessionKey::from_bytes(text(&vector, "key").as_bytes()).unwrap();
        assert_eq!(seal_answer(&answer, &key, &Tested), text(&vector, "sealed"));
        let lines = text(&vector, "sealed").replacen('=', "=\n", 1);
        assert_eq!(open_answer(lines.as_bytes(), &key, &Tested), Ok(answer));
    }
    assert_eq!(refused(Answer::parse(br#"{"type":"offer","sdp":""}"#)), "type");
    assert_eq!(refused(Answer::parse(br#"{"type":"answer"}"#)), "sdp");
    assert_eq!(refused(Offer::parse(br#"{"type":"offer"}"#)), "sdp");
}

#[test]
fn keys_have_their_form() {
    assert_eq!(refused(DeviceKey::from_hex("00")), "device key");
    assert_eq!(refused(DeviceKey::from_hex("0011223344556677 8899aabbccddeef")), "device key");
    assert_eq!(refused(DeviceKey::from_hex("é")), "device key");
    let key = SessionKey::from_random([0xFF; 16]);
    assert_eq!(key.as_bytes(), b"ffffffffffff4fffbfffffffffffffff");
    assert_eq!(refused(SessionKey::from_bytes(b"short")), "session key");
    assert_eq!(STATIC_KEY[..4], [0xE8, 0x56, 0x82, 0xBD]);
}

#[test]
fn nothing_of_a_key_is_printed() {
    let offer = Offer { id: "a".into(), sdp: "s3cret".into(), token: "s3cret".into() };
    let key = SessionKey::from_bytes(&[b's'; 32]).unwrap();
    let shown = format!("{offer:?} {:?} {:?} {key:?}", Answer::Sdp("s3cret".into()), device_key());
    assert!(
        !shown.contains("s3cret") && !shown.contains("ssss") && !shown.contains("1122"),
        "{shown}"
    );
    let notify = &of("notify")[0];
    let notify = Notify::parse(text(notify, "text").as_bytes()).unwrap();
    assert_eq!(format!("{notify:?}"), "Notify(Plain, data1 hidden)");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_offer_passes_closed(id in ".{0,20}", sdp in "(?s).{0,200}", token in ".{0,20}", random: [u8; 16]) {
        let offer = Offer { id, sdp, token };
        let key = SessionKey::from_random(random);
        let sealed = ConIng::seal(&offer, &key, b"der", &Tested).unwrap();
        let read = ConIng::parse(sealed.emit().as_bytes()).unwrap();
        prop_assert_eq!(read.open(&key, &Tested), Ok(offer));
    }

    #[test]
    fn no_answer_makes_it_panic(body in prop::collection::vec(any::<u8>(), 0..120), random: [u8; 16]) {
        let key = SessionKey::from_random(random);
        let _ = open_answer(&body, &key, &Tested);
        let _ = ConIng { offer: body.clone(), wrapped_key: Vec::new() }.open(&key, &Tested);
        let _ = Clear::parse(&body);
        if let Ok(notify) = Notify::parse(&body) {
            let _ = notify.open(Some(&device_key()), &Tested);
        }
    }
}
