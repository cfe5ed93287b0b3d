//! Messages of a G1 in an MCAP recording.

use std::{fs::File, io::BufReader, time::Duration};

use sinew_record::stored::{LinkMessage, LinkMessages, LinkTopic, Part};
use sinew_robot::unitree::replay::Item;
use sinew_wire::unitree::Form;

/// A recording that is read as it plays.
pub(super) struct Mcap {
    messages: LinkMessages<BufReader<File>>,
    front: Option<LinkMessage>,
    /// When the first message was, microseconds since 1970.
    begin_us: u64,
    end: Option<String>,
}

impl Mcap {
    /// Finds the first message; a recording without any is refused, with what it has.
    pub(super) fn new(file: BufReader<File>) -> Result<Self, String> {
        let mut messages =
            LinkMessages::new(file, LinkTopic::Messages).map_err(|error| error.to_string())?;
        let front = messages.message().map_err(|error| error.to_string())?;
        let Some(front) = front else { return Err(messages.none_here()) };
        let begin_us = front.at_us;
        Ok(Mcap { messages, front: Some(front), begin_us, end: None })
    }

    /// When the message at the front comes, or why there is none.
    pub(super) fn front(&mut self) -> Result<Duration, String> {
        if self.front.is_none() && self.end.is_none() {
            match self.messages.message() {
                Ok(Some(message)) => self.front = Some(message),
                Ok(None) if self.messages.is_unfinished() => {
                    self.end = Some("the recording is over; it was not finished".into());
                }
                Ok(None) => self.end = Some("the recording is over".into()),
                Err(error) => self.end = Some(format!("the recording cannot be read on: {error}")),
            }
        }
        match (&self.front, &self.end) {
            (Some(front), _) => {
                Ok(Duration::from_micros(front.at_us.saturating_sub(self.begin_us)))
            }
            (None, reason) => Err(reason.clone().unwrap_or_default()),
        }
    }

    /// Gives the message at the front; none of one that is too long.
    pub(super) fn take(&mut self, buffer: &mut [u8]) -> (usize, Item) {
        let Some(message) = self.front.take() else { return (0, Item::Skipped) };
        let form = if message.part == Part::Text { Form::Text } else { Form::Binary };
        match buffer.get_mut(..message.bytes.len()) {
            Some(room) => {
                room.copy_from_slice(&message.bytes);
                (room.len(), Item::Message(form))
            }
            None => (0, Item::Skipped),
        }
    }
}
