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

    /// Whether it makes the robot's arms move, or go soft.
    pub const fn moves(self) -> bool {
        matches!(self, Command::Enter | Command::Play)
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
