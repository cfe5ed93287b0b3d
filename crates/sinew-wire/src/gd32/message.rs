use super::{Body, Command, Field, Frame, FrameBuf, MAX_PAYLOAD, MESSAGES};
use crate::{
    Error, Result, Wanted,
    bytes::{Reader, Writer},
};

/// The payload of 0xA2 that prepares the lidar instead of asking for the IMU's state.
pub const LIDAR_PREPARATION: [u8; 4] = [0x10, 0x0E, 0x00, 0x00];

/// A frame's content, typed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Message<'a> {
    /// The command and what it is known to carry.
    pub body: Body<'a>,
    /// Payload beyond what the command is known to carry.
    pub extra: &'a [u8],
}

/// Which side sent a frame. The direction is not on the wire, and seven numbers are used both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// The computer.
    Host,
    /// The motor controller.
    Controller,
}

/// What is known of a message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry {
    /// The number it travels under.
    pub command: Command,
    /// Which side sends it.
    pub sender: Sender,
    /// What `sinew encode gd32` calls it; it encodes what a host sends.
    pub word: Option<&'static str>,
    /// What it is for.
    pub about: &'static str,
    /// Its payload, in order.
    pub fields: &'static [Field],
}

impl Entry {
    /// How many bytes its fields have; a version has as many as there are.
    pub fn length(&self) -> Option<usize> {
        self.fields.iter().map(Field::length).sum()
    }

    /// Whether a payload of this length has the known fields and nothing else.
    fn fits(&self, payload_len: usize) -> bool {
        self.length().map_or(payload_len > 0, |length| payload_len == length)
    }
}

impl Sender {
    /// The sender that a payload of this length speaks for: the controller where its message alone
    /// has that length, or where only it uses the number.
    pub fn guess(command: Command, payload_len: usize) -> Self {
        let by = |sender| {
            let known = MESSAGES.iter().filter(move |entry| entry.command == command);
            known.filter(move |entry| entry.sender == sender)
        };
        let fits = |sender| by(sender).any(|entry| entry.fits(payload_len));
        let only = by(Sender::Host).next().is_none() && by(Sender::Controller).next().is_some();
        if only || fits(Sender::Controller) && !fits(Sender::Host) {
            Sender::Controller
        } else {
            Sender::Host
        }
    }
}

impl<'a> Message<'a> {
    /// Types a frame's payload. Without a sender the payload's length decides.
    pub fn parse(frame: &Frame<'a>, sender: Option<Sender>) -> Result<Self> {
        let guess = || Sender::guess(Command::from(frame.command()), frame.payload().len());
        let mut reader = Reader::new(frame.payload());
        let body = Body::read(sender.unwrap_or_else(guess), frame.command(), &mut reader)?;
        Ok(Message { body, extra: reader.rest() })
    }

    /// The frame to send.
    pub fn frame(&self) -> Result<FrameBuf> {
        let mut buffer = [0; MAX_PAYLOAD];
        let mut payload = Writer::new(&mut buffer);
        self.body.write(&mut payload)?;
        payload.put("payload", self.extra)?;
        FrameBuf::new(self.body.command().code(), payload.written())
    }
}

impl<'a> From<Body<'a>> for Message<'a> {
    fn from(body: Body<'a>) -> Self {
        Message { body, extra: &[] }
    }
}

impl Body<'_> {
    /// Which side sends it; of an unknown command it is not known.
    pub fn sender(&self) -> Option<Sender> {
        self.entry().map(|entry| entry.sender)
    }

    /// Document 003's name, by direction.
    pub fn name(&self) -> &'static str {
        let command = self.command();
        match self.sender() {
            Some(Sender::Controller) => command.answer_name().unwrap_or(command.name()),
            _ => command.name(),
        }
    }
}

/// Refuses a payload that is too short, with both lengths.
pub(super) fn enough(payload: &[u8], least: usize) -> Result<()> {
    if payload.len() < least {
        let wanted = Wanted::AtLeast(least as u64);
        return Err(Error::count("payload length", wanted, payload.len()));
    }
    Ok(())
}
