//! The answer to those who look for a robot.

use std::net::{IpAddr, Ipv4Addr};

use proptest::{collection::vec, prelude::*};
use sinew_sim::g1::discovery::answer;
use sinew_wire::discovery::{ANSWER_GROUP, GROUPS};

const SN: &str = "E21D1000TESTSN00";
const IP: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 86, 16));
/// As captured, but for the serial number.
const ANSWER: &str =
    r#"{"sn": "E21D1000TESTSN00", "key": "", "name": "unitree_dapengche", "ip": "192.168.86.16"}"#;

fn asked(query: &str) -> Option<String> {
    answer(query.as_bytes(), SN, IP).map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn a_robot_answers_to_its_serial_number() {
    let query = r#"{"sn":"E21D1000TESTSN00","key":"","name":"unitree_dapengche"}"#;
    assert_eq!(query.len(), 61, "as captured");
    assert_eq!(asked(query).as_deref(), Some(ANSWER));
    assert_eq!(ANSWER.len(), 89, "as captured");
    assert!(GROUPS.contains(&ANSWER_GROUP));
}

#[test]
fn a_robot_answers_to_a_query_for_any() {
    assert_eq!(asked(r#"{"key":"","name":"unitree_dapengche"}"#).as_deref(), Some(ANSWER));
    assert_eq!(asked(r#"{"sn":"","name":"unitree_dapengche"}"#).as_deref(), Some(ANSWER));
}

#[test]
fn a_robot_does_not_answer_for_others() {
    for query in [
        r#"{"sn":"E21D1000TESTSN01","key":"","name":"unitree_dapengche"}"#,
        r#"{"sn":"e21d1000testsn00","name":"unitree_dapengche"}"#,
        r#"{"sn":7,"name":"unitree_dapengche"}"#,
        r#"{"sn":null,"name":"unitree_dapengche"}"#,
        r#"{"name":"something else"}"#,
        r#"{"name":["unitree_dapengche"]}"#,
        r#"["unitree_dapengche"]"#,
        "{}",
        "",
        "G1_DISCOVERY",
        ANSWER,
    ] {
        assert_eq!(asked(query), None, "{query}");
    }
    let padded = format!(r#"{{"name":"unitree_dapengche","x":"{}"}}"#, "x".repeat(2000));
    assert_eq!(asked(&padded), None);
    assert_eq!(answer(&[b'['; 1024], SN, IP), None, "nested deep");
}

#[test]
fn any_serial_number_makes_json() {
    let odd = "a\"b\\c\u{1}\u{2028}";
    let bytes = answer(br#"{"name":"unitree_dapengche"}"#, odd, "fe80::1".parse().unwrap());
    let value: serde_json::Value = serde_json::from_slice(&bytes.unwrap()).unwrap();
    assert_eq!((&value["sn"], &value["ip"]), (&odd.into(), &"fe80::1".into()));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_query_panics(query in vec(any::<u8>(), 0..200)) {
        let _ = answer(&query, SN, IP);
    }
}
