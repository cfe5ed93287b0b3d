use std::fmt;

/// How a request ended: the `status` of its answer.
///
/// The documents know only that 0 is success. These numbers are the simulator's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "`text` is the documentation")]
pub enum Code {
    Success,
    StoreFull,
    UnknownId,
    WrongMode,
    BadName,
    NameTaken,
    NothingRecorded,
    Busy,
    BadPayload,
    TooLong,
    BadJoint,
    NotOpened,
    NotStored,
    Storing,
}

impl Code {
    /// All codes with their numbers and what they mean, as in `docs/protocols/teach.md`.
    pub const TABLE: [(Code, u32, &'static str); 14] = [
        (Code::Success, 0, "done, or done before and asked again"),
        (Code::StoreFull, 1, "15 actions are stored already"),
        (Code::UnknownId, 2, "no action has this id"),
        (Code::WrongMode, 3, "not in teaching mode: enter it first"),
        (Code::BadName, 4, "the name is not 1 to 31 bytes of UTF-8"),
        (Code::NameTaken, 5, "an action saved at another time has this name"),
        (Code::NothingRecorded, 6, "there is no recording: start one first"),
        (Code::Busy, 7, "an action plays or a recording runs: end it first"),
        (Code::BadPayload, 8, "a field has a value that the protocol does not know, or is missing"),
        (Code::TooLong, 9, "longer than 65,535 ms, or a play longer than 10 minutes"),
        (
            Code::BadJoint,
            10,
            "a keyframe's joint is not of the arms, or its value beyond its limits",
        ),
        (Code::NotOpened, 11, "0x09, 0x0A, 0x0B and 0x0C must come first, in this order"),
        (Code::NotStored, 12, "the disk did not take it: it is not stored"),
        (Code::Storing, 13, "another action is being stored: wait for its answer"),
    ];

    /// The number on the wire.
    pub fn number(self) -> u32 {
        Self::TABLE.iter().find(|row| row.0 == self).map_or(u32::MAX, |row| row.1)
    }

    /// What it means.
    pub fn text(self) -> &'static str {
        Self::TABLE.iter().find(|row| row.0 == self).map_or("", |row| row.2)
    }

    /// The code that has a number.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::TABLE.iter().find(|row| row.1 == number).map(|row| row.0)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
