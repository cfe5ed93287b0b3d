//! What is asked over HTTP before there is a channel.

use std::time::Duration;

use sinew_robot::unitree::signalling::{Came, Client, Failure, Step};
use sinew_wire::unitree::{DeviceKey, signal::Ciphers};

use crate::robot::base64;

/// Ciphers that can be followed by eye: each turns bits over, and GCM's tag is the key.
struct Toy;

impl Ciphers for Toy {
    fn md5(&self, _: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn gcm_open(&self, key: &[u8; 16], _: &[u8; 12], tag: &[u8; 16], text: &mut [u8]) -> bool {
        text.iter_mut().for_each(|byte| *byte ^= 0xFF);
        key == tag
    }

    fn gcm_seal(&self, key: &[u8; 16], _: &[u8; 12], text: &mut [u8]) -> [u8; 16] {
        text.iter_mut().for_each(|byte| *byte ^= 0xFF);
        *key
    }

    fn ecb_encrypt(&self, _: &[u8; 32], blocks: &mut [[u8; 16]]) {
        blocks.iter_mut().flatten().for_each(|byte| *byte ^= 0x55);
    }

    fn ecb_decrypt(&self, key: &[u8; 32], blocks: &mut [[u8; 16]]) {
        self.ecb_encrypt(key, blocks);
    }

    fn rsa_encrypt(&self, key: &[u8], message: &[u8]) -> Option<Vec<u8>> {
        (key == b"PUBLIC").then(|| message.iter().rev().copied().collect())
    }
}

const KEY: &str = "00112233445566778899aabbccddeeff";

fn client(host: &str, port: Option<u16>, key: Option<&str>) -> Client<Toy> {
    let key = key.map(|key| DeviceKey::from_hex(key).unwrap());
    Client::new(host, port, "v=0".into(), key, [7; 16], Toy)
}

fn post(step: Step) -> (u16, String, Option<&'static str>, String) {
    let Step::Post { port, path, content_type, body } = step else { panic!("{step:?}") };
    (port, path, content_type, String::from_utf8(body).unwrap())
}

fn end(client: &Client<Toy>) -> Result<String, Failure> {
    let Step::End(end) = client.step() else { panic!("{:?}", client.step()) };
    end
}

fn good(body: &str) -> Came<'_> {
    Came::Answer { status: 200, body: body.as_bytes() }
}

/// The answer to `con_notify`: ten characters, the key, and pairs that spell 03691.
fn notify(data2: u8, key: [u8; 16]) -> String {
    let clear = format!("abcdefghij{}zAyDxGwJvB", base64(b"PUBLIC"));
    let data1 = match data2 {
        1 => clear,
        _ => {
            let mut sealed: Vec<u8> = clear.bytes().map(|byte| byte ^ 0xFF).collect();
            sealed.extend([9; 12]);
            sealed.extend(key);
            base64(&sealed)
        }
    };
    base64(format!(r#"{{"data1":"{data1}","data2":{data2}}}"#).as_bytes())
}

/// An answer under the session key.
fn sealed(answer: &str) -> String {
    let padding = 16 - answer.len() % 16;
    let padded = answer.bytes().chain(std::iter::repeat_n(padding as u8, padding));
    base64(&padded.map(|byte| byte ^ 0x55).collect::<Vec<_>>())
}

const STATIC: [u8; 16] = [
    0xE8, 0x56, 0x82, 0xBD, 0x16, 0x54, 0x9B, 0x00, 0x8E, 0x04, 0xA6, 0x68, 0x2B, 0xB3, 0xEB, 0xE3,
];
const OWN: [u8; 16] = [
    0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF,
];

#[test]
fn a_newer_robot_in_all_its_forms() {
    for (data2, key, given) in [(1, [0; 16], None), (2, STATIC, None), (3, OWN, Some(KEY))] {
        let mut client = client("192.168.86.3", None, given);
        assert_eq!(client.step(), Step::Probe { port: 9991 });
        client.handle(Came::Open);
        assert_eq!(post(client.step()), (9991, "/con_notify".into(), None, String::new()));
        client.handle(good(&notify(data2, key)));
        let (port, path, content_type, body) = post(client.step());
        assert_eq!((port, path.as_str()), (9991, "/con_ing_03691"));
        assert_eq!(content_type, Some("application/x-www-form-urlencoded"));
        let offer = r#"{"id":"STA_localNetwork","sdp":"v=0","type":"offer","token":""}"#;
        assert!(body.starts_with(&format!(r#"{{"data1":"{}","data2":"#, sealed(offer))), "{body}");
        client.handle(good(&sealed(r#"{"type":"answer","sdp":"theirs","id":"x"}"#)));
        assert_eq!(end(&client), Ok("theirs".into()));
    }
}

#[test]
fn an_older_robot() {
    let mut client = client("192.168.12.1", None, None);
    client.handle(Came::Failed("connection refused"));
    assert_eq!(client.step(), Step::Probe { port: 8081 });
    client.handle(Came::Open);
    let (port, path, content_type, body) = post(client.step());
    assert_eq!((port, path.as_str(), content_type), (8081, "/offer", Some("application/json")));
    // Its own access point: no id.
    assert_eq!(body, r#"{"id":"","sdp":"v=0","type":"offer","token":""}"#);
    client.handle(good(r#"{"type":"answer","sdp":"theirs"}"#));
    assert_eq!(end(&client), Ok("theirs".into()));
}

#[test]
fn with_a_port_only_that_one() {
    let mut client = client("robot", Some(12_345), None);
    assert_eq!(post(client.step()).1, "/con_notify");
    client.handle(Came::Answer { status: 404, body: b"" });
    let (port, path, ..) = post(client.step());
    assert_eq!((port, path.as_str()), (12_345, "/offer"));
    client.handle(Came::Answer { status: 404, body: b"" });
    let failure = end(&client).unwrap_err();
    assert!(matches!(failure, Failure::NotAUnitree { .. }), "{failure:?}");
}

#[test]
fn a_robot_that_is_not_there() {
    let mut client = client("robot", None, None);
    client.handle(Came::Failed("connection refused"));
    client.handle(Came::Failed("timed out"));
    let failure = end(&client).unwrap_err();
    assert_eq!(
        failure.to_string(),
        "the robot cannot be reached: port 9991: connection refused; port 8081: timed out; check \
         that it is on, in this network, and that the address is right"
    );
    assert_eq!(failure.retry_after(), Duration::from_secs(2));
}

#[test]
fn a_robot_that_another_client_has() {
    let reject = r#"{"id":"STA_localNetwork","type":"answer","sdp":"reject"}"#;
    let mut old = client("robot", Some(8081), None);
    old.handle(Came::Answer { status: 404, body: b"" });
    old.handle(good(reject));
    assert_eq!(end(&old), Err(Failure::Busy));
    let mut new = client("robot", Some(9991), None);
    new.handle(good(&notify(1, [0; 16])));
    new.handle(good(&sealed(reject)));
    assert_eq!(end(&new), Err(Failure::Busy));
    let mut slow = client("robot", Some(8081), None);
    slow.handle(Came::Answer { status: 404, body: b"" });
    slow.handle(Came::Answer { status: 504, body: b"error: timeout" });
    assert_eq!(end(&slow), Err(Failure::Busy));
    assert!(Failure::Busy.to_string().contains("such as the phone app; close it there"));
    assert_eq!(Failure::Busy.retry_after(), Duration::from_secs(10));
}

#[test]
fn keys_that_are_missing_or_wrong() {
    let mut missing = client("robot", Some(9991), None);
    missing.handle(good(&notify(3, OWN)));
    assert_eq!(end(&missing), Err(Failure::KeyMissing));
    let mut wrong = client("robot", Some(9991), Some("ffffffffffffffffffffffffffffffff"));
    wrong.handle(good(&notify(3, OWN)));
    let failure = end(&wrong).unwrap_err();
    assert_eq!(failure, Failure::KeyRejected);
    assert!(failure.retry_after() >= Duration::from_secs(60));
    // The key that all share does not fit: that is nothing that an owner could set right.
    let mut shared = client("robot", Some(9991), Some(KEY));
    shared.handle(good(&notify(2, OWN)));
    assert!(matches!(end(&shared), Err(Failure::Protocol { .. })));
}

#[test]
fn answers_that_cannot_be_used() {
    let failure = |came: Came<'_>| {
        let mut client = client("robot", Some(9991), None);
        client.handle(came);
        end(&client).unwrap_err()
    };
    assert!(matches!(failure(good("<html>")), Failure::NotAUnitree { .. }));
    assert!(matches!(failure(good("")), Failure::NotAUnitree { .. }));
    let status = failure(Came::Answer { status: 500, body: b"" });
    assert!(status.to_string().contains("HTTP status 500"), "{status}");
    assert!(matches!(failure(Came::Failed("reset")), Failure::Unreachable { .. }));
    let after = |came: Came<'_>| {
        let mut client = client("robot", Some(9991), None);
        client.handle(good(&notify(1, [0; 16])));
        client.handle(came);
        end(&client).unwrap_err()
    };
    assert!(matches!(after(good("rubbish")), Failure::Protocol { .. }));
    // A robot that does not like the offer just closes the connection.
    let closed = after(Came::Failed("closed without an answer"));
    assert_eq!(
        closed.to_string(),
        "the robot's answer cannot be used: /con_ing: closed without an answer"
    );
}

#[test]
fn nothing_secret_is_shown() {
    let mut client = client("robot", Some(9991), Some(KEY));
    client.handle(good(&notify(3, OWN)));
    let shown = format!("{client:?} {:?}", client.step());
    assert!(!shown.contains("03691") && !shown.contains("data1"), "{shown}");
    let old = Client::new("robot", Some(1), "a=ice-pwd:secret".into(), None, [7; 16], Toy);
    assert!(!format!("{old:?} {:?}", old.step()).contains("secret"));
}
