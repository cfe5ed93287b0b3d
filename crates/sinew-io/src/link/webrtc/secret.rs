//! What a channel carries that is neither traced nor recorded.

use sinew_wire::unitree::{Form, Kind, Message};

/// Whether a message is of the validation: the robot's challenge, the answer to it, what came of it.
pub(super) fn is_secret(form: Form, bytes: &[u8]) -> bool {
    if form == Form::Binary {
        return false;
    }
    match Message::parse(bytes) {
        Ok(message) => message.kind == Kind::Validation,
        // It may have been meant as one.
        Err(_) => bytes.windows(NAME.len()).any(|word| word.eq_ignore_ascii_case(NAME)),
    }
}

const NAME: &[u8] = b"validation";
