use std::fmt;

use sinew_wire::unitree::{Challenge, Form, Kind, Message};

use super::Session;

/// Is shown what comes, at the moment it comes: to copy all of it for readers that are not there
/// would cost a megabyte a second.
pub(super) struct Tap(Box<Shown>);

type Shown = dyn FnMut(Form, &[u8]) + Send;

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tap")
    }
}

impl Tap {
    pub(super) fn new(tap: impl FnMut(Form, &[u8]) + Send + 'static) -> Self {
        Tap(Box::new(tap))
    }

    pub(super) fn show_binary(&mut self, bytes: &[u8]) {
        (self.0)(Form::Binary, bytes);
    }

    /// Shows a text that was understood, unless it is of the validation.
    pub(super) fn show_text(&mut self, message: &Message, bytes: &[u8]) {
        if message.kind != Kind::Validation && Challenge::parse(message).is_none() {
            (self.0)(Form::Text, bytes);
        }
    }
}

impl Session {
    /// Has every message shown that the robot sends on a channel it has accepted, as it came. What is
    /// of the validation, or could have been meant so, is not.
    pub fn tap(&mut self, tap: impl FnMut(Form, &[u8]) + Send + 'static) {
        self.tap = Some(Tap::new(tap));
    }

    /// The tap, once the robot has accepted the channel.
    pub(super) fn open_tap(&mut self) -> Option<&mut Tap> {
        if self.is_validated() { self.tap.as_mut() } else { None }
    }
}
