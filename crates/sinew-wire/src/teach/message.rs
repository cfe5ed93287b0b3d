use super::{Actions, Command, Datagram, Layout, Play, Save, Sequence, State, Status};
use crate::{
    Error, Got, Result, Wanted,
    bytes::{Reader, Writer},
};

/// Most actions that a robot stores, and the highest number that a play can carry: the vendor's
/// app says "up to 15 actions can be created".
pub const MAX_ACTIONS: u32 = 15;
/// Payload sizes in the documented layout.
const CONTROL_LEN: usize = 44;
const STATUS_LEN: usize = 112;
const STATE_LEN: usize = 148;
const PLAY_LEN: usize = 184;
const SAVE_LEN: usize = 220;
const LIST_LEN: usize = 220;
/// A shorter 0x0B is a subscription, a shorter 0x0D keeps teaching mode alive.
const STATUS_NEEDS: usize = 108;
const STATE_NEEDS: usize = 144;

/// Which side sent a datagram. Most answers have the size of a request, so it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Sender {
    Host,
    Robot,
}

/// A datagram's content. `rest` is payload beyond the known fields: padding, as a rule.
///
/// Written out, a message is padded with zeros to the size its command has in the layout.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "fields are named as in docs/protocols/teach.md")]
pub enum Message<'a> {
    /// 0x09, opaque.
    ControlMode { rest: &'a [u8] },
    /// 0x0A, opaque.
    ParameterSync { rest: &'a [u8] },
    /// 0x0B, opaque.
    Subscribe { rest: &'a [u8] },
    /// 0x0B pushed by the robot.
    Status(Status<'a>),
    /// 0x0C.
    Ready { ready: u32, rest: &'a [u8] },
    /// 0x0D with the host's view of the robot.
    Enter(State<'a>),
    /// 0x0D, repeated to stay in teaching mode.
    Maintain { mode_flags: u32, rest: &'a [u8] },
    /// 0x0E.
    Exit { mode_flags: u32, rest: &'a [u8] },
    /// 0x0F: 1 starts, 0 stops.
    Record { flag: u32, rest: &'a [u8] },
    /// 0x1A, opaque.
    ListRequest { rest: &'a [u8] },
    /// 0x1A answered.
    List(Actions<'a>),
    /// 0x2B.
    Save(Save<'a>),
    /// 0x41.
    Play(Play<'a>),
    /// Any other command answered: 0 is success.
    Answer { command: Command, status: u32, rest: &'a [u8] },
    /// A command no document describes.
    Unknown { command: u8, payload: &'a [u8] },
}

impl<'a> Message<'a> {
    /// Types a datagram's payload. Without a sender, one of a request's size is a request; with
    /// one, a request or an answer may have more payload than it needs.
    pub fn parse(datagram: &Datagram<'a>, sender: Option<Sender>) -> Result<Self> {
        let payload = datagram.payload;
        let command = Command::from(datagram.command);
        let control = payload.len() <= datagram.layout.payload_len(CONTROL_LEN);
        let from_host = sender == Some(Sender::Host);
        let from_robot = sender == Some(Sender::Robot);
        let mut reader = Reader::new(payload);
        let message = match command {
            Command::Unknown(command) => return Ok(Message::Unknown { command, payload }),
            Command::List if !control && !from_host || from_robot && Actions::in_brief(payload) => {
                return Actions::read(payload).map(Message::List);
            }
            Command::Subscribe if payload.len() >= STATUS_NEEDS && !from_host => {
                return Status::read(reader).map(Message::Status);
            }
            Command::Enter if payload.len() >= STATE_NEEDS && !from_robot => {
                return State::read(reader, datagram.layout).map(Message::Enter);
            }
            _ if from_robot => {
                let status = reader.u32_be("payload length")?;
                Message::Answer { command, status, rest: reader.rest() }
            }
            Command::ControlMode => Message::ControlMode { rest: payload },
            Command::ParameterSync => Message::ParameterSync { rest: payload },
            Command::Subscribe => Message::Subscribe { rest: payload },
            Command::List => Message::ListRequest { rest: payload },
            Command::Ready => {
                let ready = reader.u32_be("payload length")?;
                Message::Ready { ready, rest: reader.rest() }
            }
            Command::Enter => {
                let mode_flags = reader.u32_be("payload length")?;
                Message::Maintain { mode_flags, rest: reader.rest() }
            }
            Command::Exit => {
                let mode_flags = reader.u32_be("payload length")?;
                Message::Exit { mode_flags, rest: reader.rest() }
            }
            Command::Record => {
                let flag = reader.u32_be("payload length")?;
                Message::Record { flag, rest: reader.rest() }
            }
            Command::Save => return Save::read(payload).map(Message::Save),
            Command::Play => return Play::read(payload).map(Message::Play),
        };
        if payload.len() < 4 {
            return Err(Error::count("payload length", Wanted::AtLeast(4), payload.len()));
        }
        Ok(message)
    }

    /// The command it travels under.
    pub fn command(&self) -> Command {
        match self {
            Message::ControlMode { .. } => Command::ControlMode,
            Message::ParameterSync { .. } => Command::ParameterSync,
            Message::Subscribe { .. } | Message::Status(_) => Command::Subscribe,
            Message::Ready { .. } => Command::Ready,
            Message::Enter(_) | Message::Maintain { .. } => Command::Enter,
            Message::Exit { .. } => Command::Exit,
            Message::Record { .. } => Command::Record,
            Message::ListRequest { .. } | Message::List(_) => Command::List,
            Message::Save(_) => Command::Save,
            Message::Play(_) => Command::Play,
            Message::Answer { command, .. } => *command,
            Message::Unknown { command, .. } => Command::Unknown(*command),
        }
    }

    /// Writes the datagram into `out` and returns how many bytes it took.
    pub fn emit(&self, layout: Layout, sequence: Sequence, out: &mut [u8]) -> Result<usize> {
        let command = self.command().code();
        Datagram::emit_with(layout, sequence, command, out, |out| self.emit_payload(layout, out))
    }

    /// The datagram in a buffer of its own.
    #[cfg(feature = "alloc")]
    pub fn to_vec(&self, layout: Layout, sequence: Sequence) -> Result<alloc::vec::Vec<u8>> {
        let payload_room = match self {
            Message::List(actions) => {
                2 + actions.len() * super::actions::ACTION_LEN + actions.rest().len()
            }
            Message::Unknown { payload, .. } => payload.len(),
            other => SAVE_LEN + other.rest().len(),
        };
        let mut out = alloc::vec![0; layout.overhead() + payload_room.max(LIST_LEN)];
        let len = self.emit(layout, sequence, &mut out)?;
        out.truncate(len);
        Ok(out)
    }

    /// Payload beyond the known fields.
    pub fn rest(&self) -> &'a [u8] {
        match self {
            Message::ControlMode { rest }
            | Message::ParameterSync { rest }
            | Message::Subscribe { rest }
            | Message::ListRequest { rest }
            | Message::Ready { rest, .. }
            | Message::Maintain { rest, .. }
            | Message::Exit { rest, .. }
            | Message::Record { rest, .. }
            | Message::Answer { rest, .. } => rest,
            Message::Status(status) => status.rest,
            Message::Enter(state) => state.rest,
            Message::List(actions) => actions.rest(),
            Message::Save(save) => save.rest,
            Message::Play(play) => play.rest,
            Message::Unknown { .. } => &[],
        }
    }

    /// What the documents do not allow although the payload has room for it.
    pub fn problems(&self, mut report: impl FnMut(Error)) {
        let mut between = |field, value: u32, low, high| {
            if !(low..=high).contains(&i64::from(value)) {
                let got = Got::Number(value.into());
                report(Error::new(field, Wanted::Between(low, high), got));
            }
        };
        match self {
            Message::Record { flag, .. } => between("recording", *flag, 0, 1),
            Message::Save(save) => {
                // Keyframe times have 16 bits.
                between("duration_ms", save.duration_ms, 0, u16::MAX.into());
                if let Err(error) = save.name.as_str() {
                    report(error);
                }
            }
            Message::Play(play) => {
                between("action_id", play.action_id, 1, MAX_ACTIONS.into());
                between("interpolation", play.interpolation.into(), 0, 2);
            }
            Message::List(actions) => {
                let count = u32::try_from(actions.len()).unwrap_or(u32::MAX);
                between("action count", count, 0, MAX_ACTIONS.into());
                actions.iter().filter_map(|action| action.name.as_str().err()).for_each(report);
            }
            _ => {}
        }
    }

    fn emit_payload(&self, layout: Layout, out: &mut Writer<'_>) -> Result<()> {
        let documented_len = match self {
            Message::Status(status) => {
                status.write(out)?;
                STATUS_LEN
            }
            Message::Enter(state) => {
                state.write(layout, out)?;
                STATE_LEN
            }
            Message::List(actions) => {
                let count = u16::try_from(actions.len()).unwrap_or(u16::MAX);
                out.put("action count", &count.to_be_bytes())?;
                for action in actions.iter() {
                    out.put("name", action.name.as_field())?;
                    out.put("metadata", &action.metadata.to_be_bytes())?;
                }
                LIST_LEN
            }
            Message::Save(save) => {
                save.write(out)?;
                SAVE_LEN
            }
            Message::Play(play) => {
                play.write(out)?;
                PLAY_LEN
            }
            Message::Ready { ready: word, .. }
            | Message::Maintain { mode_flags: word, .. }
            | Message::Exit { mode_flags: word, .. }
            | Message::Record { flag: word, .. }
            | Message::Answer { status: word, .. } => {
                out.put("payload", &word.to_be_bytes())?;
                CONTROL_LEN
            }
            Message::ControlMode { .. }
            | Message::ParameterSync { .. }
            | Message::Subscribe { .. }
            | Message::ListRequest { .. } => CONTROL_LEN,
            Message::Unknown { payload, .. } => return out.put("payload", payload),
        };
        out.put("rest of the payload", self.rest())?;
        out.pad("padding", layout.payload_len(documented_len))
    }
}
