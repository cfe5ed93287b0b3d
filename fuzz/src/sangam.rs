//! Messages of clients of SangamIO's later interface.

use sinew_api::{Command, Dialect, Request, may_be_urgent, sangam::sensors};

use crate::vectors;

/// One of each command, and a sensor group.
pub fn seeds() -> Vec<Vec<u8>> {
    vectors::hex_members("sangam.json", &["message"])
}

/// The quick reader misses no stop that the thorough one knows; what is no message says why. As the
/// text of a sensor group, anything is written or left.
pub fn exercise(data: &[u8]) {
    let request = Request::parse_sangam(data);
    assert!(request.req.is_none(), "there is no such thing");
    match request.asked {
        Ok(message) => {
            let stops = matches!(message.command, Command::Halt(_));
            let is_short = data.len() <= sinew_api::MAX_URGENT;
            assert_eq!(stops && is_short, may_be_urgent(data, Dialect::Sangam));
            assert!(!message.described().is_empty());
        }
        Err(refusal) => assert!(!refusal.message.is_empty()),
    }
    if let Ok(text) = std::str::from_utf8(data) {
        let written = sensors(text).map_or(0, |message| message.len());
        assert!(written <= 16 * text.len() + 64, "{written} bytes");
    }
}
