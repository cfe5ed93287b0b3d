//! Frames of the topics `cloud`, `map`, `messages` and `raw`: a header, then points, or bytes. All of it
//! is little-endian.
//!
//! ```text
//!  0  version u8 = 1, kind u8, header length u16 (a multiple of 8), count u32
//!  8  sequence number u64
//! 16  time u64, microseconds since 1970
//! 24  epoch u32, robot u16, flags u8 (1: the pose is known, 2: flat), length of the name u8
//! 32  origin x, y, z f64, metres
//! 56  unit f64, metres
//! 64  pose x, y, z f64, metres, yaw f64, radians
//! 96  name of the frame, UTF-8, and zeros up to the header's length
//! ```
//!
//! A reader goes by the header's length, behind which later versions put what it does not know.
//! No bytes make it panic, and nothing is allocated by a number that they hold.

use std::{fmt, ops::Range};

use sinew_robot::{
    mapping::{Cloud, Pose},
    text::is_unshowable,
};

/// What the header takes without the name.
pub const FIXED: usize = 96;
const VERSION: u8 = 1;
const POSE_KNOWN: u8 = 1;
const FLAT: u8 = 2;
/// The longest frame of a map, bytes.
pub const LONGEST: usize = 256_000;
/// Points of a map from which on a frame of it gets no further block, which has up to 512.
pub const MAP_POINTS: usize = (LONGEST - FIXED - 256) / 8 - 512;

const HEADER_LENGTH: Range<usize> = 2..4;
const COUNT: Range<usize> = 4..8;
const SEQUENCE: Range<usize> = 8..16;
const TIME: Range<usize> = 16..24;
const EPOCH: Range<usize> = 24..28;
const ROBOT: Range<usize> = 28..30;
const FLAGS: usize = 30;
const NAME_LENGTH: usize = 31;
const ORIGIN: usize = 32;
const UNIT: usize = 56;
const POSE: usize = 64;

/// What a frame's points are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Steps along x, y, z, as the robot sent them.
    Cloud = 1,
    /// Cells along x, y, z, and the age in tenths of a second.
    Map = 2,
    /// No points, but the bytes of a message as it came from the robot; the header's name says
    /// whether it is `text` or `binary`.
    Message = 3,
    /// No points, but bytes of the robot's link as they were read or written at once; the header's name
    /// says which way they went, `tx` to the robot or `rx` from it.
    Raw = 4,
}

/// What stands before the points.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Header<'a> {
    /// The frame's number, for `Ack`. Those of an epoch rise. A map's are the server's.
    pub sequence: u64,
    /// When it was seen, microseconds since 1970.
    pub time_us: u64,
    /// Changes when what was sent before is not part of the map any more.
    pub epoch: u32,
    /// Which robot: its place in what `Robots` lists. The server writes it.
    pub robot: u16,
    /// Where all of it is measured from, as the robot names it.
    pub name: &'a str,
    /// Where the robot was, if it is known.
    pub pose: Option<Pose>,
    /// Where a point of zeros is, metres.
    pub origin: [f64; 3],
    /// A step, metres.
    pub unit: f64,
    /// A map of the ground: z is 0 where it is free and 1 where something stands.
    pub is_flat: bool,
}

/// A frame that was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame<'a> {
    /// What its points are.
    pub kind: Kind,
    /// What stands before them.
    pub header: Header<'a>,
    points: &'a [u8],
}

/// Why bytes are no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// There are fewer than these.
    Truncated {
        /// How many it takes.
        wanted: usize,
        /// How many there are.
        got: usize,
    },
    /// A version that is not known.
    Version(u8),
    /// A kind that is not known.
    Kind(u8),
    /// A header's length that cannot be.
    HeaderLength(u16),
    /// Points that take other than the rest of the bytes.
    Points {
        /// What the count says, in bytes.
        wanted: u64,
        /// How many there are.
        got: usize,
    },
    /// A name that is no text.
    Name,
    /// A place that is no number, or a step that is not over 0.
    Number,
}

/// The frame of a cloud as its robot sent it. Clouds are counted anew with each map; `sequence` is
/// the topic's.
pub fn of_cloud(cloud: &Cloud, sequence: u64, time_us: u64, epoch: u32) -> Vec<u8> {
    let Cloud { origin, unit, points, pose, frame, .. } = cloud;
    let (pose, origin, unit) = (*pose, *origin, *unit);
    let header =
        Header { sequence, time_us, epoch, name: frame, pose, origin, unit, ..Header::default() };
    self::cloud(&header, points)
}

/// A frame of topic `cloud`.
pub fn cloud(header: &Header<'_>, points: &[[u16; 3]]) -> Vec<u8> {
    write(Kind::Cloud, header, points)
}

/// A frame of topic `map`.
pub fn map(header: &Header<'_>, points: &[[u16; 4]]) -> Vec<u8> {
    write(Kind::Map, header, points)
}

/// A frame of topic `messages`.
pub fn message(header: &Header<'_>, bytes: &[u8]) -> Vec<u8> {
    self::bytes(Kind::Message, header, bytes)
}

/// A frame of topic `raw`.
pub fn raw(header: &Header<'_>, bytes: &[u8]) -> Vec<u8> {
    self::bytes(Kind::Raw, header, bytes)
}

fn bytes(kind: Kind, header: &Header<'_>, bytes: &[u8]) -> Vec<u8> {
    let header = Header { unit: 1.0, ..header.clone() };
    let mut frame = begin(kind, &header, bytes.len());
    frame.extend_from_slice(bytes);
    frame
}

fn write<const N: usize>(kind: Kind, header: &Header<'_>, points: &[[u16; N]]) -> Vec<u8> {
    let mut frame = begin(kind, header, points.len());
    let (start, numbers) = (frame.len(), points.as_flattened());
    frame.resize(start + 2 * numbers.len(), 0);
    let places = frame[start..].as_chunks_mut().0;
    for (place, number) in places.iter_mut().zip(numbers) {
        *place = number.to_le_bytes();
    }
    frame
}

/// The header, and room for this many points.
fn begin(kind: Kind, header: &Header<'_>, count: usize) -> Vec<u8> {
    let name = shown(header.name);
    let length = (FIXED + name.len()).next_multiple_of(8);
    let mut frame = Vec::with_capacity(length + count * kind.point());
    frame.resize(length, 0);
    (frame[0], frame[1]) = (VERSION, kind as u8);
    // A name has at most 255 bytes, and no memory holds more points than u32 counts.
    frame[HEADER_LENGTH].copy_from_slice(&(length as u16).to_le_bytes());
    frame[COUNT].copy_from_slice(&(count as u32).to_le_bytes());
    frame[SEQUENCE].copy_from_slice(&header.sequence.to_le_bytes());
    frame[TIME].copy_from_slice(&header.time_us.to_le_bytes());
    frame[EPOCH].copy_from_slice(&header.epoch.to_le_bytes());
    frame[ROBOT].copy_from_slice(&header.robot.to_le_bytes());
    let flag = |is: bool, flag: u8| if is { flag } else { 0 };
    frame[FLAGS] = flag(header.pose.is_some(), POSE_KNOWN) | flag(header.is_flat, FLAT);
    frame[NAME_LENGTH] = name.len() as u8;
    let pose = header.pose.unwrap_or_default();
    let [x, y, z] = header.origin;
    let numbers = [x, y, z, header.unit, pose.x, pose.y, pose.z, pose.yaw];
    for (place, number) in frame[ORIGIN..FIXED].chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    frame[FIXED..FIXED + name.len()].copy_from_slice(name.as_bytes());
    frame
}

/// As much of a name as there is room for, without what should not be shown.
fn shown(name: &str) -> String {
    let mut bytes = 0;
    let fits = |c: &char| {
        bytes += c.len_utf8();
        bytes <= usize::from(u8::MAX)
    };
    name.chars().filter(|c| !is_unshowable(*c)).take_while(fits).collect()
}

/// Writes which robot it is into a frame.
pub fn set_robot(frame: &mut [u8], robot: u16) {
    if let Some(place) = frame.get_mut(ROBOT) {
        place.copy_from_slice(&robot.to_le_bytes());
    }
}

/// Writes a frame's number into it.
pub fn set_sequence(frame: &mut [u8], sequence: u64) {
    if let Some(place) = frame.get_mut(SEQUENCE) {
        place.copy_from_slice(&sequence.to_le_bytes());
    }
}

/// The number of a frame that was checked before; none of bytes that are too few.
pub fn sequence(frame: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(frame.get(SEQUENCE)?.try_into().ok()?))
}

impl Kind {
    const fn of(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Kind::Cloud),
            2 => Some(Kind::Map),
            3 => Some(Kind::Message),
            4 => Some(Kind::Raw),
            _ => None,
        }
    }

    /// Bytes of a point.
    const fn point(self) -> usize {
        match self {
            Kind::Cloud => 6,
            Kind::Map => 8,
            Kind::Message | Kind::Raw => 1,
        }
    }
}

impl<'a> Frame<'a> {
    /// Reads a frame.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let truncated = |wanted| Error::Truncated { wanted, got: bytes.len() };
        let fixed: &[u8; FIXED] = bytes.first_chunk().ok_or(truncated(FIXED))?;
        if fixed[0] != VERSION {
            return Err(Error::Version(fixed[0]));
        }
        let kind = Kind::of(fixed[1]).ok_or(Error::Kind(fixed[1]))?;
        let length = u16::from_le_bytes(at(fixed, HEADER_LENGTH.start));
        let name_end = FIXED + usize::from(fixed[NAME_LENGTH]);
        if usize::from(length) < name_end || !length.is_multiple_of(8) {
            return Err(Error::HeaderLength(length));
        }
        let (header, points) =
            bytes.split_at_checked(length.into()).ok_or(truncated(length.into()))?;
        let count = u32::from_le_bytes(at(fixed, COUNT.start));
        let wanted = u64::from(count) * kind.point() as u64;
        if wanted != points.len() as u64 {
            return Err(Error::Points { wanted, got: points.len() });
        }
        let name = header.get(FIXED..name_end).and_then(|name| str::from_utf8(name).ok());
        let number = |place| f64::from_le_bytes(at(fixed, place));
        let known = fixed[FLAGS] & POSE_KNOWN != 0;
        let pose = Pose {
            x: number(POSE),
            y: number(POSE + 8),
            z: number(POSE + 16),
            yaw: number(POSE + 24),
        };
        let header = Header {
            sequence: u64::from_le_bytes(at(fixed, SEQUENCE.start)),
            time_us: u64::from_le_bytes(at(fixed, TIME.start)),
            epoch: u32::from_le_bytes(at(fixed, EPOCH.start)),
            robot: u16::from_le_bytes(at(fixed, ROBOT.start)),
            name: name.ok_or(Error::Name)?,
            pose: known.then_some(pose),
            origin: [number(ORIGIN), number(ORIGIN + 8), number(ORIGIN + 16)],
            unit: number(UNIT),
            is_flat: fixed[FLAGS] & FLAT != 0,
        };
        let is_number = header.origin.iter().all(|number| number.is_finite())
            && header.unit.is_finite()
            && header.unit > 0.0
            && header.pose.is_none_or(|pose| pose.is_finite());
        if is_number { Ok(Frame { kind, header, points }) } else { Err(Error::Number) }
    }

    /// What stands behind the header.
    pub fn bytes(&self) -> &'a [u8] {
        self.points
    }

    /// Its points, of three or four numbers each; a message, and raw bytes, have none.
    pub fn points(&self) -> impl ExactSizeIterator<Item = impl ExactSizeIterator<Item = u16>> {
        self.points
            .chunks_exact(self.kind.point())
            .map(|point| point.as_chunks::<2>().0.iter().map(|number| u16::from_le_bytes(*number)))
    }
}

/// Some of the bytes that every header has.
fn at<const N: usize>(fixed: &[u8; FIXED], place: usize) -> [u8; N] {
    std::array::from_fn(|index| fixed[place + index])
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Truncated { wanted, got } => write!(f, "wanted {wanted} bytes, got {got}"),
            Error::Version(got) => write!(f, "version: wanted {VERSION}, got {got}"),
            Error::Kind(got) => write!(f, "kind: wanted 1 to 4, got {got}"),
            Error::HeaderLength(got) => {
                write!(f, "header length: wanted {FIXED} and the name, in steps of 8, got {got}")
            }
            Error::Points { wanted, got } => write!(f, "points: wanted {wanted} bytes, got {got}"),
            Error::Name => f.write_str("name: wanted UTF-8"),
            Error::Number => {
                f.write_str("origin, unit and pose: wanted numbers, and a unit over 0")
            }
        }
    }
}

impl std::error::Error for Error {}
