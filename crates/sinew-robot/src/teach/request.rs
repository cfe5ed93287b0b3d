use std::sync::Arc;

use crate::trajectory::{Document, Interpolation, Keyframe, Plan};

/// What the interface's `Teach` asks, checked for form but not yet against what the robot or its
/// transport can do.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Of the robot. What it saves is kept in the library, too, and what it does not have by a name
    /// may be there.
    Robot(RobotRequest),
    /// Of the library alone.
    Library(LibraryRequest),
    /// Play a motion of the library.
    Perform {
        /// Which.
        name: String,
        /// How.
        how: Playback,
    },
}

/// What a robot is asked over its transport.
#[derive(Debug, Clone, PartialEq)]
pub enum RobotRequest {
    /// The stored actions.
    List,
    /// Make the arms compliant.
    Enter,
    /// Make them stiff again.
    Exit,
    /// Begin to record.
    RecordStart {
        /// What the recording is to be called, when that is known already.
        name: Option<String>,
    },
    /// End the recording.
    RecordStop,
    /// Store the recording.
    Save {
        /// What it is called; the name given when recording began, if none.
        name: Option<String>,
        /// Whether it repeats when it is played.
        looped: bool,
    },
    /// Play a stored action.
    Play {
        /// Which.
        action: Target,
        /// How.
        how: Playback,
        /// Keyframes to play instead of the stored ones; none of the interface's members gives
        /// them.
        keyframes: Option<Vec<Keyframe>>,
    },
    /// Play a motion that the robot does not have.
    Perform {
        /// What it is called.
        name: String,
        /// The motion.
        plan: Arc<Plan>,
        /// Whether it repeats.
        looped: bool,
    },
    /// End playback.
    Stop,
    /// Give an action another name.
    Rename {
        /// Its name.
        name: String,
        /// The new one.
        new_name: String,
    },
    /// Remove an action.
    Delete {
        /// Which.
        action: Target,
    },
}

/// What a library of motions is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum LibraryRequest {
    /// What it holds.
    List,
    /// Give a motion.
    Show {
        /// Which.
        name: String,
        /// The first of its frames to give; one answer does not hold those of a long motion.
        from: u32,
    },
    /// Put a motion, or a part of one, into it.
    Import {
        /// The motion.
        document: Box<Document>,
        /// Joints it has that no slot takes.
        dropped: Vec<String>,
        /// Whether it goes on with a motion of which not all has come.
        append: bool,
        /// Whether more of it will come.
        more: bool,
    },
    /// Keep the last recording.
    Keep {
        /// What it is called; the name given when recording began, if none.
        name: Option<String>,
    },
    /// Give a motion another name.
    Rename {
        /// Its name.
        name: String,
        /// The new one.
        new_name: String,
    },
    /// Remove a motion.
    Delete {
        /// Which.
        name: String,
    },
}

/// A stored action: by the number its list gives it, or by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// By number.
    Id(u32),
    /// By name.
    Name(String),
}

/// How an action or a motion is played.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Playback {
    /// How many of its frames; 0 is all.
    pub frames: u32,
    /// How long it takes; 0 is as recorded.
    pub duration_ms: u32,
    /// How values between keyframes are found.
    pub interpolation: Interpolation,
    /// Whether it repeats.
    pub looped: bool,
    /// How much faster than recorded.
    pub speed: Option<f32>,
}

/// What a transport can carry, so that what it cannot is not tried in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carries {
    /// A play that repeats.
    pub looped: bool,
    /// A play at another speed.
    pub speed: bool,
    /// Keyframes in one play.
    pub keyframes: usize,
}

impl Request {
    /// Its name in `Teach`.
    pub const fn op(&self) -> &'static str {
        match self {
            Request::Robot(request) => request.op(),
            Request::Library(request) => request.op(),
            Request::Perform { .. } => "play",
        }
    }

    /// Whether it only asks, and changes nothing.
    pub const fn is_query(&self) -> bool {
        match self {
            Request::Robot(request) => request.is_query(),
            Request::Library(request) => request.is_query(),
            Request::Perform { .. } => false,
        }
    }

    /// Whether it is [`RobotRequest::Stop`].
    pub const fn is_stop(&self) -> bool {
        matches!(self, Request::Robot(RobotRequest::Stop))
    }

    /// Whether it plays until its client has gone.
    pub const fn repeats(&self) -> bool {
        match self {
            Request::Robot(RobotRequest::Play { how, .. }) | Request::Perform { how, .. } => {
                how.looped
            }
            _ => false,
        }
    }
}

impl RobotRequest {
    /// Its name in `Teach`.
    pub const fn op(&self) -> &'static str {
        match self {
            RobotRequest::List => "list",
            RobotRequest::Enter => "enter",
            RobotRequest::Exit => "exit",
            RobotRequest::RecordStart { .. } => "record_start",
            RobotRequest::RecordStop => "record_stop",
            RobotRequest::Save { .. } => "save",
            RobotRequest::Play { .. } | RobotRequest::Perform { .. } => "play",
            RobotRequest::Stop => "stop",
            RobotRequest::Rename { .. } => "rename",
            RobotRequest::Delete { .. } => "delete",
        }
    }

    /// Whether it only asks, and changes nothing.
    pub const fn is_query(&self) -> bool {
        matches!(self, RobotRequest::List)
    }

    /// Whether the arms may move when it is carried out. Soft ones do, by their own weight.
    pub const fn moves(&self) -> bool {
        matches!(
            self,
            RobotRequest::Enter | RobotRequest::Play { .. } | RobotRequest::Perform { .. }
        )
    }

    /// Whether it plays until its client has gone: what Sinew repeats.
    pub const fn repeats(&self) -> bool {
        matches!(self, RobotRequest::Perform { looped: true, .. })
    }
}

impl LibraryRequest {
    /// Its name in `Teach`.
    pub const fn op(&self) -> &'static str {
        match self {
            LibraryRequest::List => "library",
            LibraryRequest::Show { .. } => "show",
            LibraryRequest::Import { .. } => "import",
            LibraryRequest::Keep { .. } => "save",
            LibraryRequest::Rename { .. } => "rename",
            LibraryRequest::Delete { .. } => "delete",
        }
    }

    /// Whether it only asks, and changes nothing.
    pub const fn is_query(&self) -> bool {
        matches!(self, LibraryRequest::List | LibraryRequest::Show { .. })
    }
}
