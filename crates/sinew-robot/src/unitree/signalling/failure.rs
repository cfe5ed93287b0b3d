use std::{fmt, time::Duration};

/// Why there is no channel, and when it is worth trying again.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// Another client has the robot.
    Busy,
    /// The robot wants its own key, and none was given.
    KeyMissing,
    /// The key that was given is not this robot's.
    KeyRejected,
    /// The robot could not be reached.
    Unreachable {
        /// What was tried, and what the system said.
        what: String,
    },
    /// Something answers there that is not a Unitree robot.
    NotAUnitree {
        /// What it answered.
        what: String,
    },
    /// The robot answered something that cannot be used.
    Protocol {
        /// To what, and what.
        what: String,
    },
}

impl Failure {
    /// How long to wait before the next try: a robot that is busy is not pressed, and a wrong key
    /// does not become right.
    pub const fn retry_after(&self) -> Duration {
        Duration::from_secs(match self {
            Failure::Unreachable { .. } => 2,
            Failure::Protocol { .. } => 5,
            Failure::Busy => 10,
            Failure::NotAUnitree { .. } => 30,
            Failure::KeyMissing | Failure::KeyRejected => 60,
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Busy => f.write_str(
                "the robot is connected to another client, such as the phone app; close it there \
                 (tried again every 10 s)",
            ),
            Failure::KeyMissing => f.write_str(
                "the robot wants its own key, and none is given; give its 32 hex digits by \
                 key_file",
            ),
            Failure::KeyRejected => f.write_str(
                "the key is not this robot's: it does not open the robot's answer; check key_file",
            ),
            Failure::Unreachable { what } => write!(
                f,
                "the robot cannot be reached: {what}; check that it is on, in this network, and \
                 that the address is right"
            ),
            Failure::NotAUnitree { what } => {
                write!(f, "what answers there is not a Unitree robot: {what}")
            }
            Failure::Protocol { what } => write!(f, "the robot's answer cannot be used: {what}"),
        }
    }
}

impl std::error::Error for Failure {}
