//! The table of commands: for the parser, its error texts, the rules, and the documentation.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sinew_robot::{
    Refusal, capability::Capability, drive, mapping::OPS as MAPPING_OPS, ops::Op,
    teach::OPS as TEACH_OPS,
};

use crate::{
    Command, Halt, mapping,
    member::{Given, Member, Type, optional, required},
    teach,
};

/// A command of the interface.
#[derive(Debug)]
pub struct Row {
    /// Its name, in member `type`.
    pub name: &'static str,
    /// What it does.
    pub what: &'static str,
    /// Its members, beside [`COMMON`].
    pub members: &'static [Member],
    /// Its ops, where it has some. They check their members themselves.
    pub ops: &'static [Op],
    /// Why it needs `confirm`, if it does.
    pub confirm: Option<&'static str>,
    /// What the rules say about it.
    pub terms: Terms,
    /// Forms of it about which they say something else; the first that fits counts.
    pub cases: &'static [Case],
    /// The data of its reply, in words.
    pub reply: &'static str,
    /// A message.
    pub example: &'static str,
    pub(crate) make: fn(&Given<'_>) -> Result<Command, Refusal>,
}

/// A form of a command that has rules of its own.
#[derive(Debug)]
pub struct Case {
    /// The members that tell it from others (`action.type` is a member of a member), with their
    /// values.
    pub of: &'static [(&'static str, &'static str)],
    /// What the rules say about it.
    pub terms: Terms,
}

/// What the rules say about a command.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// What a client's token must allow.
    pub access: Access,
    /// Whether it is looked for in what has come, and heard before all that waits.
    pub urgent: bool,
    /// When it needs the robot's controls.
    pub controls: When,
    /// When it needs a connection, and what a client without one is told.
    pub connection: (When, &'static str),
    /// What a robot must be able to do.
    pub capability: Option<Capability>,
}

/// When a rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Never.
    Never,
    /// Always.
    Always,
    /// If this member is true.
    If(&'static str),
    /// Unless this member is true.
    Unless(&'static str),
    /// For what these words describe. Only the robot can tell: by the `Nature` of the `Task`.
    Robot(&'static str),
}

/// What the rules say about a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// What a client's token must allow.
    pub access: Access,
    /// Whether it is heard before all that waits.
    pub urgent: bool,
    /// Whether it needs the robot's controls.
    pub controls: bool,
    /// What a client without a connection is told, if it needs one.
    pub connection: Option<&'static str>,
    /// What a robot must be able to do.
    pub capability: Option<Capability>,
}

/// What a client may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Nothing but show a token.
    Nothing,
    /// Look, and stop robots.
    Read,
    /// Everything.
    Control,
}

/// What a client without a connection is told when it wants to drive.
pub const DRIVING: &str = "driving by POST: there is no connection whose loss would stop the robot";
const WALKING: &str = "walking by POST: there is no connection whose loss would stop the robot";
const LOOP: &str = "loop by POST: there is no connection whose loss would end it";
const LASTING: &str = "this needs a connection that lasts: use /ws";

/// Members that every command may have.
pub const COMMON: &[Member] = &[
    required("type", Type::Text, "the command's name"),
    ROBOT,
    optional("req", Type::Any, "comes back with the reply"),
    CONFIRM,
];
pub(crate) const ROBOT: Member =
    optional("robot", Type::Text, "the robot's name; needed only when there is a choice");
pub(crate) const CONFIRM: Member = optional("confirm", Type::Flag, "true for what can hurt");

/// Looking.
const READ: Terms = Terms {
    access: Access::Read,
    urgent: false,
    controls: When::Never,
    connection: (When::Never, ""),
    capability: None,
};
/// Having a robot do something.
const CONTROL: Terms = Terms { access: Access::Control, controls: When::Always, ..READ };
/// Stopping: any client's right.
const STOP: Terms = Terms { urgent: true, ..READ };

const COMPONENTS: Terms = Terms { capability: Some(Capability::Components), ..CONTROL };
const DRIVE: Terms = Terms { capability: Some(Capability::Drive), ..CONTROL };
const DRIVE_STOP: Terms = Terms { capability: Some(Capability::Drive), ..STOP };
const MOVE: Terms = Terms { connection: (When::Always, DRIVING), ..DRIVE };

const TEACH: Terms = Terms { capability: Some(Capability::Teach), ..CONTROL };
const TEACH_READ: Terms = Terms { access: Access::Read, controls: When::Never, ..TEACH };
const TEACH_STOP: Terms = Terms { urgent: true, ..TEACH_READ };
/// The library is no robot.
const LIBRARY: Terms = Terms { controls: When::Never, ..TEACH };
const OR_LIBRARY: Terms = Terms { controls: When::Unless("library"), ..TEACH };

const MAPPING: Terms = Terms { capability: Some(Capability::Mapping), ..CONTROL };
const MAPPING_READ: Terms = Terms { access: Access::Read, controls: When::Never, ..MAPPING };
const WALK: Terms = Terms { connection: (When::Always, WALKING), ..MAPPING };

const fn row(
    name: &'static str,
    what: &'static str,
    terms: Terms,
    make: fn(&Given<'_>) -> Result<Command, Refusal>,
) -> Row {
    let (members, ops, cases) = (&[], &[], &[]);
    let (confirm, reply, example) = (None, "", "");
    Row { name, what, members, ops, confirm, terms, cases, reply, example, make }
}

const fn case(of: &'static [(&'static str, &'static str)], terms: Terms) -> Case {
    Case { of, terms }
}

/// What clients may ask.
pub const COMMANDS: &[Row] = &[
    Row {
        members: &[
            required("id", Type::Component, "the component"),
            required("action", Type::Action, "what to do with it"),
        ],
        cases: &[
            case(&[("id", drive::ID), ("action.type", "Reset")], DRIVE_STOP),
            case(&[("id", drive::ID), ("action.type", "Disable")], DRIVE_STOP),
            case(&[("id", drive::ID), ("action.type", "Configure")], MOVE),
            case(&[("id", drive::ID)], DRIVE),
        ],
        example: r#"{"type":"ComponentControl","id":"vacuum","action":{"type":"Configure","config":{"speed":{"U8":75}}}}"#,
        ..row("ComponentControl", "switches a component", COMPONENTS, |given| {
            let is_drive = given.at("id").is_some_and(|id| id == drive::ID);
            Ok(match given.at("action.type").and_then(Value::as_str) {
                Some("Reset") if is_drive => Command::Halt(Halt::Reset),
                Some("Disable") if is_drive => Command::Halt(Halt::Disable),
                _ => {
                    let (id, action) = (given.value("id"), given.value("action"));
                    Command::ComponentControl { id, action }
                }
            })
        })
    },
    Row {
        example: r#"{"type":"ProtocolSync"}"#,
        ..row("ProtocolSync", "wakes the controller's protocol", COMPONENTS, |_| Ok(Command::Sync))
    },
    Row {
        example: r#"{"type":"Dock"}"#,
        ..row(
            "Dock",
            "drives back to the dock; ends with the connection, a stop, or a reason to give up",
            MOVE,
            |_| Ok(Command::Dock),
        )
    },
    Row {
        example: r#"{"type":"Boot"}"#,
        ..row("Boot", "runs the boot sequence again", COMPONENTS, |_| Ok(Command::Boot))
    },
    Row {
        members: &[
            required("command", Type::Byte, "the command byte"),
            optional("payload", Type::Hex, "its payload"),
        ],
        confirm: Some("a raw frame goes to the robot unchecked, and has to be confirmed"),
        example: r#"{"type":"Raw","command":"0x8D","payload":"02","confirm":true}"#,
        ..row(
            "Raw",
            "sends any frame; velocities in it obey the limits",
            Terms { connection: (When::Robot("frames that drive"), DRIVING), ..COMPONENTS },
            |given| {
                let (command, payload) = (given.byte("command"), given.bytes("payload"));
                Ok(Command::Raw { command, payload })
            },
        )
    },
    Row {
        members: teach::MEMBERS,
        ops: TEACH_OPS,
        cases: &[
            case(&[("op", "list")], TEACH_READ),
            case(&[("op", "library")], TEACH_READ),
            case(&[("op", "show")], TEACH_READ),
            case(&[("op", "stop")], TEACH_STOP),
            case(&[("op", "import")], LIBRARY),
            case(&[("op", "save")], OR_LIBRARY),
            case(&[("op", "rename")], OR_LIBRARY),
            case(&[("op", "delete")], OR_LIBRARY),
            // It moves the robot, wherever the motion is from.
            case(&[("op", "play")], Terms { connection: (When::If("loop"), LOOP), ..TEACH }),
        ],
        reply: "as its `op` says",
        example: r#"{"type":"Teach","op":"play","name":"wave"}"#,
        ..row("Teach", "teaches a robot, or has it play", TEACH, teach::make)
    },
    Row {
        members: mapping::MEMBERS,
        ops: MAPPING_OPS,
        cases: &[
            case(&[("op", "info")], MAPPING_READ),
            // It tells where the file is, which HTTP gives to all that may read.
            case(&[("op", "save")], MAPPING_READ),
            case(&[("op", "go_to")], WALK),
            case(&[("op", "resume")], WALK),
        ],
        reply: "as its `op` says",
        example: r#"{"type":"Mapping","op":"go_to","pose":{"x":1.5,"y":-0.5},"confirm":true}"#,
        ..row("Mapping", "has a robot make a map, or find its way in one", MAPPING, mapping::make)
    },
    Row {
        members: &[
            required(
                "topics",
                Type::Topics,
                "`state`, `events`, `sensors/GROUP`; on `/ws` also `cloud`, `map`, `messages`, `raw`; none \
                 ends all",
            ),
            optional("max_hz", Type::Rate, "messages of a topic a second, at most"),
        ],
        reply: "a list of what it is subscribed to now: `robot`, `topic`",
        example: r#"{"type":"Subscribe","topics":["state","events"],"max_hz":5}"#,
        ..row(
            "Subscribe",
            "adds topics or changes their rate; without `robot` for every robot that has them",
            Terms { connection: (When::Always, LASTING), ..READ },
            |given| {
                let max_hz = given.given("max_hz").as_ref().and_then(Value::as_f64);
                Ok(Command::Subscribe { topics: given.topics("topics"), max_hz })
            },
        )
    },
    Row {
        members: &[
            required("topic", Type::Frames, "`cloud`, `map`, `messages` or `raw`"),
            required("seq", Type::Sequence, "the frame's number"),
        ],
        example: r#"{"type":"Ack","topic":"cloud","seq":41}"#,
        ..row(
            "Ack",
            "says that a frame and those before it were taken: of each topic of a robot two may \
             be on their way; needs `robot` only if the client has that topic of several",
            Terms { connection: (When::Always, LASTING), ..READ },
            |given| {
                let topic = given.frames("topic");
                let topic = topic.ok_or_else(|| Refusal::invalid("Ack topic: wanted one"))?;
                Ok(Command::Ack { topic, seq: given.sequence("seq") })
            },
        )
    },
    Row {
        reply: "`robots`: name, kind, link, capabilities, sensors, holder, state; `warnings`",
        example: r#"{"type":"Robots","req":1}"#,
        ..row("Robots", "tells all about the robots", READ, |_| Ok(Command::Robots))
    },
    Row {
        reply: "null, or a `note` on what stood beside it",
        example: r#"{"type":"Stop"}"#,
        ..row(
            "Stop",
            "stops a robot, or all when none is named; any client may, also with a read-only \
             token; never queued; unknown members beside it keep nothing from stopping",
            STOP,
            |_| Ok(Command::Halt(Halt::Stop { note: None })),
        )
    },
    Row {
        members: &[optional("name", Type::Name, "what the client is called from now on")],
        reply: "`robot`, `from`: the client that had them, if another one did",
        example: r#"{"type":"TakeControl","name":"Ann's laptop"}"#,
        ..row(
            "TakeControl",
            "takes the controls from the client that holds them, and ends what it set moving",
            Terms { controls: When::Never, connection: (When::Always, LASTING), ..CONTROL },
            |given| Ok(Command::TakeControl { name: given.text("name") }),
        )
    },
    Row {
        members: &[
            optional("token", Type::Text, "the token"),
            optional("name", Type::Name, "what the client is called from now on"),
        ],
        reply: "`access` (`read`, `control`), `name`",
        example: r#"{"type":"Auth","name":"Ann's laptop"}"#,
        ..row(
            "Auth",
            "shows a token, or gives the client a name, or both",
            Terms {
                access: Access::Nothing,
                urgent: true,
                connection: (When::Always, LASTING),
                ..READ
            },
            |given| match (given.text("token"), given.text("name")) {
                (None, None) => Err(Refusal::invalid("Auth: wanted token or name, got neither")),
                (token, name) => Ok(Command::Auth { token, name }),
            },
        )
    },
    Row {
        reply: "`build` (the daemon's version), `time_ms` (since 1970), `http` (the port, null \
                when it is closed)",
        example: r#"{"type":"Ping","req":1}"#,
        ..row("Ping", "is answered at once", READ, |_| Ok(Command::Ping))
    },
];

impl Row {
    /// What the rules say about a message with these members.
    pub(crate) fn rules(&self, members: &Map<String, Value>) -> Rules {
        let given = Given(members);
        let fits = |case: &&Case| {
            case.of.iter().all(|(path, value)| given.at(path).is_some_and(|got| got == value))
        };
        let terms = self.cases.iter().find(fits).map_or(&self.terms, |case| &case.terms);
        let (connection, why) = terms.connection;
        Rules {
            access: terms.access,
            urgent: terms.urgent,
            controls: terms.controls.holds(&given),
            connection: connection.holds(&given).then_some(why),
            capability: terms.capability,
        }
    }
}

impl When {
    fn holds(self, given: &Given<'_>) -> bool {
        let is_true = |member| given.at(member).is_some_and(|value| value == true);
        match self {
            When::Never | When::Robot(_) => false,
            When::Always => true,
            When::If(member) => is_true(member),
            When::Unless(member) => !is_true(member),
        }
    }
}
