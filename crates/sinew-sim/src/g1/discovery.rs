//! What a robot says when a host looks for it.

use std::net::IpAddr;

use sinew_wire::discovery::{Answer, Question};

/// The answer to a question for this robot's serial number, or for any robot's.
pub fn answer(question: &[u8], sn: &str, ip: IpAddr) -> Option<Vec<u8>> {
    let question = Question::parse(question)?;
    let answer = || Answer { sn: sn.into(), ip: Some(ip) }.emit().into_bytes();
    question.is_for(sn).then(answer)
}
