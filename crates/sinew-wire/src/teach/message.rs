use core::fmt;

use super::{Datagram, Keyframes, Layout, NAME_FIELD, Name, Sequence};
use crate::{
    Error, Got, Result, Wanted,
    bytes::{Reader, Writer},
};

/// Joint slots in a state or status.
pub const JOINTS: usize = 12;

/// Most actions that a robot stores.
const MAX_ACTIONS: i64 = 15;
/// Bytes of an action in a list.
const ACTION_LEN: usize = NAME_FIELD + 4;
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

/// The ten commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "`name` is the documentation")]
pub enum Command {
    ControlMode,
    ParameterSync,
    Subscribe,
    Ready,
    Enter,
    Exit,
    Record,
    List,
    Save,
    Play,
    /// A byte no document mentions.
    Unknown(u8),
}

impl Command {
    /// The ten, with their bytes and the documents' names.
    pub const TABLE: [(Command, u8, &'static str); 10] = [
        (Command::ControlMode, 0x09, "Control Mode Set"),
        (Command::ParameterSync, 0x0A, "Parameter Sync"),
        (Command::Subscribe, 0x0B, "Status Subscribe"),
        (Command::Ready, 0x0C, "Ready Signal"),
        (Command::Enter, 0x0D, "Enter Teaching Mode"),
        (Command::Exit, 0x0E, "Exit Teaching Mode"),
        (Command::Record, 0x0F, "Record Trajectory"),
        (Command::List, 0x1A, "List Actions"),
        (Command::Save, 0x2B, "Save Action"),
        (Command::Play, 0x41, "Play Action"),
    ];

    /// The byte on the wire.
    pub fn code(self) -> u8 {
        match self {
            Command::Unknown(code) => code,
            known => Self::TABLE.iter().find(|row| row.0 == known).map_or(0, |row| row.1),
        }
    }

    /// The documents' name.
    pub fn name(self) -> &'static str {
        Self::TABLE.iter().find(|row| row.0 == self).map_or("Unknown", |row| row.2)
    }
}

impl From<u8> for Command {
    fn from(code: u8) -> Self {
        let row = Self::TABLE.iter().find(|row| row.1 == code);
        row.map_or(Command::Unknown(code), |row| row.0)
    }
}

/// Who sent a datagram. Most answers have the size of a request, so it matters.
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

/// The robot's state as it pushes it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "fields are named as in docs/protocols/teach.md")]
pub struct Status<'a> {
    pub positions: [f32; JOINTS],
    pub velocities: [f32; JOINTS],
    pub time_ms: u32,
    pub mode: u32,
    pub flags: u32,
    pub rest: &'a [u8],
}

/// The robot's state as the host sends it on entering teaching mode.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "fields are named as in docs/protocols/teach.md")]
pub struct State<'a> {
    /// Bit 0: damping.
    pub mode_flags: u32,
    pub positions: [f32; JOINTS],
    pub velocities: [f32; JOINTS],
    /// Acceleration, then angular velocity.
    pub imu: [f32; 6],
    pub feet: [f32; 4],
    pub timestamp_ms: u32,
    /// Not carried by the compact layout, which refuses any but 0.
    pub flags: u32,
    pub rest: &'a [u8],
}

/// A request to store an action.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "fields are named as in docs/protocols/teach.md")]
pub struct Save<'a> {
    pub name: Name,
    /// Unix time in seconds.
    pub timestamp: u32,
    pub duration_ms: u32,
    pub frame_count: u32,
    /// 1 save, 2 loop, 4 speed.
    pub flags: u32,
    /// None used: store what you recorded yourself.
    pub keyframes: Keyframes,
    pub rest: &'a [u8],
}

/// A request to play an action.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "fields are named as in docs/protocols/teach.md")]
pub struct Play<'a> {
    /// 1 to 15.
    pub action_id: u32,
    /// 0: all.
    pub frame_count: u32,
    /// 0: as recorded.
    pub duration_ms: u32,
    pub interpolation: Interpolation,
    pub keyframes: Keyframes,
    pub rest: &'a [u8],
}

/// How values between keyframes are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Interpolation {
    #[default]
    Linear,
    Cubic,
    Smooth,
    /// A value no document names.
    Other(u32),
}

/// A stored action in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Action {
    pub name: Name,
    /// Time, duration or both: no document says.
    pub metadata: u32,
}

/// The stored actions: borrowed from a datagram, or from a slice to send.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Actions<'a> {
    source: Source<'a>,
    rest: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Source<'a> {
    Wire(&'a [[u8; ACTION_LEN]]),
    Slice(&'a [Action]),
}

impl<'a> Actions<'a> {
    /// A list to send.
    pub fn new(actions: &'a [Action]) -> Result<Self> {
        if actions.len() > usize::from(u16::MAX) {
            let wanted = Wanted::AtMost(u16::MAX.into());
            return Err(Error::count("action count", wanted, actions.len()));
        }
        Ok(Actions { source: Source::Slice(actions), rest: &[] })
    }

    fn read(payload: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(payload);
        let count = usize::from(reader.u16_be("action count")?);
        let entries = reader.take("action list", count * ACTION_LEN)?;
        Ok(Actions { source: Source::Wire(entries.as_chunks().0), rest: reader.rest() })
    }

    /// Whether an answer of a request's size is a list all the same. A refusal has that size too,
    /// and where its status begins no count of actions that the payload holds.
    fn in_brief(payload: &'a [u8]) -> bool {
        payload.len() < 4 || Self::read(payload).is_ok_and(|list| !list.is_empty())
    }

    /// The actions in order.
    pub fn iter(&self) -> impl Iterator<Item = Action> + 'a {
        let (wire, slice): (&[[u8; ACTION_LEN]], &[Action]) = match self.source {
            Source::Wire(wire) => (wire, &[]),
            Source::Slice(slice) => (&[], slice),
        };
        wire.iter().map(Action::decode).chain(slice.iter().copied())
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        match self.source {
            Source::Wire(wire) => wire.len(),
            Source::Slice(slice) => slice.len(),
        }
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Payload after the last action.
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl Action {
    fn decode(bytes: &[u8; ACTION_LEN]) -> Self {
        let mut reader = Reader::new(bytes);
        let name = reader.array("name").unwrap_or([0; NAME_FIELD]);
        let metadata = reader.u32_be("metadata").unwrap_or_default();
        Action { name: Name::from_field(name), metadata }
    }
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
            Message::List(actions) => 2 + actions.len() * ACTION_LEN + actions.rest.len(),
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
            Message::List(actions) => actions.rest,
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
                between("action_id", play.action_id, 1, MAX_ACTIONS);
                between("interpolation", play.interpolation.into(), 0, 2);
            }
            Message::List(actions) => {
                let count = u32::try_from(actions.len()).unwrap_or(u32::MAX);
                between("action count", count, 0, MAX_ACTIONS);
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

impl<'a> Status<'a> {
    fn read(mut reader: Reader<'a>) -> Result<Self> {
        Ok(Status {
            positions: reader.f32s_be("positions")?,
            velocities: reader.f32s_be("velocities")?,
            time_ms: reader.u32_be("time_ms")?,
            mode: reader.u32_be("mode")?,
            flags: reader.u32_be("flags")?,
            rest: reader.rest(),
        })
    }

    fn write(&self, out: &mut Writer<'_>) -> Result<()> {
        out.f32s_be("positions", &self.positions)?;
        out.f32s_be("velocities", &self.velocities)?;
        out.put("time_ms", &self.time_ms.to_be_bytes())?;
        out.put("mode", &self.mode.to_be_bytes())?;
        out.put("flags", &self.flags.to_be_bytes())
    }
}

impl<'a> State<'a> {
    fn read(mut reader: Reader<'a>, layout: Layout) -> Result<Self> {
        let mut state = State {
            mode_flags: reader.u32_be("mode_flags")?,
            positions: reader.f32s_be("positions")?,
            velocities: reader.f32s_be("velocities")?,
            imu: reader.f32s_be("imu")?,
            feet: reader.f32s_be("feet")?,
            timestamp_ms: reader.u32_be("timestamp_ms")?,
            flags: 0,
            rest: reader.rest(),
        };
        if layout == Layout::Documented {
            // A payload that ends inside the flags gives those bytes of them that it has.
            let (given, rest) = state.rest.split_at(state.rest.len().min(4));
            let mut flags = [0; 4];
            flags.iter_mut().zip(given).for_each(|(to, from)| *to = *from);
            state.flags = u32::from_be_bytes(flags);
            state.rest = rest;
        }
        Ok(state)
    }

    fn write(&self, layout: Layout, out: &mut Writer<'_>) -> Result<()> {
        out.put("mode_flags", &self.mode_flags.to_be_bytes())?;
        out.f32s_be("positions", &self.positions)?;
        out.f32s_be("velocities", &self.velocities)?;
        out.f32s_be("imu", &self.imu)?;
        out.f32s_be("feet", &self.feet)?;
        out.put("timestamp_ms", &self.timestamp_ms.to_be_bytes())?;
        match layout {
            Layout::Documented => out.put("flags", &self.flags.to_be_bytes()),
            Layout::Compact if self.flags == 0 => Ok(()),
            Layout::Compact => {
                let wanted = Wanted::What("0, since the compact layout has no room for flags");
                Err(Error::new("flags", wanted, Got::Number(self.flags.into())))
            }
        }
    }
}

impl<'a> Save<'a> {
    fn read(payload: &'a [u8]) -> Result<Self> {
        let mut reader = whole(payload, 208)?;
        Ok(Save {
            name: Name::from_field(reader.array("name")?),
            timestamp: reader.u32_be("timestamp")?,
            duration_ms: reader.u32_be("duration_ms")?,
            frame_count: reader.u32_be("frame_count")?,
            flags: reader.u32_be("flags")?,
            keyframes: Keyframes::read(&mut reader)?,
            rest: reader.rest(),
        })
    }

    fn write(&self, out: &mut Writer<'_>) -> Result<()> {
        out.put("name", self.name.as_field())?;
        for word in [self.timestamp, self.duration_ms, self.frame_count, self.flags] {
            out.put("save", &word.to_be_bytes())?;
        }
        self.keyframes.write(out)
    }
}

impl<'a> Play<'a> {
    fn read(payload: &'a [u8]) -> Result<Self> {
        let mut reader = whole(payload, 176)?;
        Ok(Play {
            action_id: reader.u32_be("action_id")?,
            frame_count: reader.u32_be("frame_count")?,
            duration_ms: reader.u32_be("duration_ms")?,
            interpolation: reader.u32_be("interpolation")?.into(),
            keyframes: Keyframes::read(&mut reader)?,
            rest: reader.rest(),
        })
    }

    fn write(&self, out: &mut Writer<'_>) -> Result<()> {
        let mode = self.interpolation.into();
        for word in [self.action_id, self.frame_count, self.duration_ms, mode] {
            out.put("play", &word.to_be_bytes())?;
        }
        self.keyframes.write(out)
    }
}

/// A reader over a payload that must have this many bytes.
fn whole(payload: &[u8], needs: usize) -> Result<Reader<'_>> {
    if payload.len() < needs {
        return Err(Error::count("payload length", Wanted::AtLeast(needs as u64), payload.len()));
    }
    Ok(Reader::new(payload))
}

impl From<u32> for Interpolation {
    fn from(value: u32) -> Self {
        match value {
            0 => Interpolation::Linear,
            1 => Interpolation::Cubic,
            2 => Interpolation::Smooth,
            other => Interpolation::Other(other),
        }
    }
}

impl From<Interpolation> for u32 {
    fn from(value: Interpolation) -> u32 {
        match value {
            Interpolation::Linear => 0,
            Interpolation::Cubic => 1,
            Interpolation::Smooth => 2,
            Interpolation::Other(other) => other,
        }
    }
}

impl fmt::Display for Interpolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Interpolation::Linear => f.write_str("linear"),
            Interpolation::Cubic => f.write_str("cubic"),
            Interpolation::Smooth => f.write_str("smooth"),
            Interpolation::Other(other) => write!(f, "unknown ({other})"),
        }
    }
}
