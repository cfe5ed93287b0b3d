//! Questions for robots and their answers.

use proptest::{collection::vec, prelude::*};
use sinew_wire::discovery::{Answer, Question};

fn question(sn: Option<&str>) -> Question {
    Question { sn: sn.map(String::from) }
}

#[test]
fn questions_are_read_and_written_as_captured() {
    let captured = r#"{"sn":"E21D1000TESTSN00","key":"","name":"unitree_dapengche"}"#;
    let named = question(Some("E21D1000TESTSN00"));
    assert_eq!(named.emit(), captured);
    assert_eq!(Question::parse(captured.as_bytes()), Some(named));
    assert_eq!(question(None).emit(), r#"{"name":"unitree_dapengche"}"#);
    let empty = br#"{"sn":"","name":"unitree_dapengche","more":[1]}"#;
    assert_eq!(Question::parse(empty), Some(question(None)), "what is not known does no harm");
}

#[test]
fn a_question_is_for_one_robot_or_for_all() {
    assert!(question(None).is_for("A") && question(Some("A")).is_for("A"));
    assert!(!question(Some("A")).is_for("a"));
}

#[test]
fn answers_are_read_and_written_as_captured() {
    let captured = r#"{"sn": "E21D1000TESTSN00", "key": "", "name": "unitree_dapengche", "ip": "192.168.86.16"}"#;
    let answer = Answer { sn: "E21D1000TESTSN00".into(), ip: "192.168.86.16".parse().ok() };
    assert_eq!(answer.emit(), captured);
    assert_eq!(Answer::parse(captured.as_bytes()), Some(answer));
}

#[test]
fn an_answer_needs_a_serial_number_and_may_lack_an_address() {
    let unplaced = Some(Answer { sn: "A".into(), ip: None });
    for text in [r#"{"sn":"A"}"#, r#"{"sn":"A","ip":null}"#, r#"{"sn":"A","ip":"here"}"#] {
        assert_eq!(Answer::parse(text.as_bytes()), unplaced, "{text}");
    }
    for text in ["", "{}", r#"{"sn":""}"#, r#"{"sn":7}"#, r#"{"sn":"A","ip":7}"#, r#"["A"]"#] {
        assert_eq!(Answer::parse(text.as_bytes()), None, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(sn in ".{1,20}", v4: Option<[u8; 4]>) {
        let asked = question(Some(&sn));
        prop_assert_eq!(Question::parse(asked.emit().as_bytes()), Some(asked));
        let answer = Answer { sn, ip: v4.map(Into::into) };
        prop_assert_eq!(Answer::parse(answer.emit().as_bytes()), Some(answer));
    }

    #[test]
    fn nothing_panics(bytes in vec(any::<u8>(), 0..200)) {
        let _ = (Question::parse(&bytes), Answer::parse(&bytes));
    }
}
