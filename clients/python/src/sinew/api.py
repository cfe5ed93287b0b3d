"""The network interface as types. Made of docs/api.schema.json by scripts/make_types.py."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

# What a client may do.
Access = Literal["nothing", "read", "control"]


ACCESS_MEANINGS: Dict[Access, str] = {
    "nothing": "Nothing but show a token.",
    "read": "Look, and stop robots.",
    "control": "Everything.",
}


class _AckCommandRequired(TypedDict):
    """What is in every `AckCommand`."""

    seq: int
    topic: Literal["cloud", "map", "messages", "raw"]
    type: Literal["Ack"]


class AckCommand(_AckCommandRequired, total=False):
    """Says that a frame and those before it were taken: of each topic of a robot two may be on their way;
    needs `robot` only if the client has that topic of several.

    - `seq`: the frame's number
    - `topic`: `cloud`, `map`, `messages` or `raw`
    """

    confirm: bool
    req: Any
    robot: str


class _AuthCommandRequired(TypedDict):
    """What is in every `AuthCommand`."""

    type: Literal["Auth"]


class AuthCommand(_AuthCommandRequired, total=False):
    """Shows a token, or gives the client a name, or both.

    - `name`: what the client is called from now on
    - `token`: the token
    """

    confirm: bool
    name: str
    req: Any
    robot: str
    token: str


class Authenticated(TypedDict):
    """What `Auth` replies.

    - `access`: What the client may do.
    - `name`: What it is called.
    """

    access: Access
    name: str


class _BootCommandRequired(TypedDict):
    """What is in every `BootCommand`."""

    type: Literal["Boot"]


class BootCommand(_BootCommandRequired, total=False):
    """Runs the boot sequence again."""

    confirm: bool
    req: Any
    robot: str


# What a robot can do; routes, commands and panels follow it.
Capability = Literal["drive", "components", "sensors", "teach", "mapping"]


# Kinds of refusal.
Code = Literal["invalid_json", "invalid_argument", "unsupported", "not_found", "not_ready", "busy", "not_confirmed", "unauthorized", "link_lost", "refused", "unconfirmed", "too_large"]


CODE_MEANINGS: Dict[Code, str] = {
    "invalid_json": "The message is not JSON.",
    "invalid_argument": "A member is missing, unknown or out of range.",
    "unsupported": "The robot or the transport cannot do it.",
    "not_found": "There is no such robot, action or file.",
    "not_ready": "The robot is not in a state to do it.",
    "busy": "Another client holds the controls, or too much waits already.",
    "not_confirmed": "It can hurt, and `confirm` was not given.",
    "unauthorized": "The token does not allow it.",
    "link_lost": "The robot cannot be reached.",
    "refused": "The robot said no.",
    "unconfirmed": "The robot did not say.",
    "too_large": "The message is over the limit.",
}


class _ActionRequired(TypedDict):
    """What is in every `Action`."""

    type: Literal["Enable", "Disable", "Reset", "Configure"]


class Action(_ActionRequired, total=False):
    """What to do with it."""

    config: Dict[str, Any]


class _ComponentControlCommandRequired(TypedDict):
    """What is in every `ComponentControlCommand`."""

    action: Action
    id: str
    type: Literal["ComponentControl"]


class ComponentControlCommand(_ComponentControlCommandRequired, total=False):
    """Switches a component.

    - `action`: what to do with it
    - `id`: the component
    """

    confirm: bool
    req: Any
    robot: str


class _DockCommandRequired(TypedDict):
    """What is in every `DockCommand`."""

    type: Literal["Dock"]


class DockCommand(_DockCommandRequired, total=False):
    """Drives back to the dock; ends with the connection, a stop, or a reason to give up."""

    confirm: bool
    req: Any
    robot: str


class _MappingStartCommandRequired(TypedDict):
    """What is in every `MappingStartCommand`."""

    op: Literal["start"]
    type: Literal["Mapping"]


class MappingStartCommand(_MappingStartCommandRequired, total=False):
    """Begin a map."""

    confirm: bool
    req: Any
    robot: str


class _MappingStopCommandRequired(TypedDict):
    """What is in every `MappingStopCommand`."""

    op: Literal["stop"]
    type: Literal["Mapping"]


class MappingStopCommand(_MappingStopCommandRequired, total=False):
    """End the map; a robot that can stores it, by default under the date.

    - `name`: a map's name
    """

    confirm: bool
    name: str
    req: Any
    robot: str


class _MappingClearCommandRequired(TypedDict):
    """What is in every `MappingClearCommand`."""

    op: Literal["clear"]
    type: Literal["Mapping"]


class MappingClearCommand(_MappingClearCommandRequired, total=False):
    """Forget the map that is made here."""

    confirm: bool
    req: Any
    robot: str


class _MappingSaveCommandRequired(TypedDict):
    """What is in every `MappingSaveCommand`."""

    format: str
    op: Literal["save"]
    type: Literal["Mapping"]


class MappingSaveCommand(_MappingSaveCommandRequired, total=False):
    """Give out the map that is made here.

    - `format`: what to give a map out as: `pcd`, `pcd-ascii`, `pcd-compressed`, `ply`, `pgm` or `png`
    """

    confirm: bool
    req: Any
    robot: str


class _MappingInfoCommandRequired(TypedDict):
    """What is in every `MappingInfoCommand`."""

    op: Literal["info"]
    type: Literal["Mapping"]


class MappingInfoCommand(_MappingInfoCommandRequired, total=False):
    """How it goes."""

    confirm: bool
    req: Any
    robot: str


class _PoseRequired(TypedDict):
    """What is in every `Pose`."""

    x: float
    y: float


class Pose(_PoseRequired, total=False):
    """A place of the map, and which way to face."""

    yaw: float
    z: float


class _MappingRelocateCommandRequired(TypedDict):
    """What is in every `MappingRelocateCommand`."""

    map: str
    op: Literal["relocate"]
    pose: Pose
    type: Literal["Mapping"]


class MappingRelocateCommand(_MappingRelocateCommandRequired, total=False):
    """Load a map that the robot stores, and say where it is.

    - `map`: the name of the map to load
    - `pose`: a place of the map, and which way to face
    """

    confirm: bool
    req: Any
    robot: str


class _MappingGoToCommandRequired(TypedDict):
    """What is in every `MappingGoToCommand`."""

    confirm: bool
    op: Literal["go_to"]
    pose: Pose
    type: Literal["Mapping"]


class MappingGoToCommand(_MappingGoToCommandRequired, total=False):
    """Walk to a place of the map that is loaded; ends with the connection or a stop.

    - `pose`: a place of the map, and which way to face
    """

    req: Any
    robot: str


class _MappingPauseCommandRequired(TypedDict):
    """What is in every `MappingPauseCommand`."""

    op: Literal["pause"]
    type: Literal["Mapping"]


class MappingPauseCommand(_MappingPauseCommandRequired, total=False):
    """Stand still on the way."""

    confirm: bool
    req: Any
    robot: str


class _MappingResumeCommandRequired(TypedDict):
    """What is in every `MappingResumeCommand`."""

    op: Literal["resume"]
    type: Literal["Mapping"]


class MappingResumeCommand(_MappingResumeCommandRequired, total=False):
    """Walk on; ends with the connection or a stop."""

    confirm: bool
    req: Any
    robot: str


class _MappingCloseCommandRequired(TypedDict):
    """What is in every `MappingCloseCommand`."""

    op: Literal["close"]
    type: Literal["Mapping"]


class MappingCloseCommand(_MappingCloseCommandRequired, total=False):
    """End mapping, or the way, without storing."""

    confirm: bool
    req: Any
    robot: str


class _MappingDownloadCommandRequired(TypedDict):
    """What is in every `MappingDownloadCommand`."""

    name: str
    op: Literal["download"]
    type: Literal["Mapping"]


class MappingDownloadCommand(_MappingDownloadCommandRequired, total=False):
    """Fetch a map that the robot stores.

    - `name`: a map's name
    """

    confirm: bool
    req: Any
    robot: str


# has a robot make a map, or find its way in one
MappingCommand = Union[
    MappingStartCommand,
    MappingStopCommand,
    MappingClearCommand,
    MappingSaveCommand,
    MappingInfoCommand,
    MappingRelocateCommand,
    MappingGoToCommand,
    MappingPauseCommand,
    MappingResumeCommand,
    MappingCloseCommand,
    MappingDownloadCommand,
]


class _PingCommandRequired(TypedDict):
    """What is in every `PingCommand`."""

    type: Literal["Ping"]


class PingCommand(_PingCommandRequired, total=False):
    """Is answered at once."""

    confirm: bool
    req: Any
    robot: str


class _ProtocolSyncCommandRequired(TypedDict):
    """What is in every `ProtocolSyncCommand`."""

    type: Literal["ProtocolSync"]


class ProtocolSyncCommand(_ProtocolSyncCommandRequired, total=False):
    """Wakes the controller's protocol."""

    confirm: bool
    req: Any
    robot: str


class _RawCommandRequired(TypedDict):
    """What is in every `RawCommand`."""

    command: Union[int, str]
    confirm: bool
    type: Literal["Raw"]


class RawCommand(_RawCommandRequired, total=False):
    """Sends any frame; velocities in it obey the limits.

    - `command`: the command byte
    - `payload`: its payload
    """

    payload: str
    req: Any
    robot: str


class _RobotsCommandRequired(TypedDict):
    """What is in every `RobotsCommand`."""

    type: Literal["Robots"]


class RobotsCommand(_RobotsCommandRequired, total=False):
    """Tells all about the robots."""

    confirm: bool
    req: Any
    robot: str


class _StopCommandRequired(TypedDict):
    """What is in every `StopCommand`."""

    type: Literal["Stop"]


class StopCommand(_StopCommandRequired, total=False):
    """Stops a robot, or all when none is named; any client may, also with a read-only token; never queued;
    unknown members beside it keep nothing from stopping.
    """

    confirm: bool
    req: Any
    robot: str


class _SubscribeCommandRequired(TypedDict):
    """What is in every `SubscribeCommand`."""

    topics: List[str]
    type: Literal["Subscribe"]


class SubscribeCommand(_SubscribeCommandRequired, total=False):
    """Adds topics or changes their rate; without `robot` for every robot that has them.

    - `max_hz`: messages of a topic a second, at most
    - `topics`: `state`, `events`, `sensors/GROUP`; on `/ws` also `cloud`, `map`, `messages`, `raw`;
      none ends all
    """

    confirm: bool
    max_hz: float
    req: Any
    robot: str


class _TakeControlCommandRequired(TypedDict):
    """What is in every `TakeControlCommand`."""

    type: Literal["TakeControl"]


class TakeControlCommand(_TakeControlCommandRequired, total=False):
    """Takes the controls from the client that holds them, and ends what it set moving.

    - `name`: what the client is called from now on
    """

    confirm: bool
    name: str
    req: Any
    robot: str


class _TeachListCommandRequired(TypedDict):
    """What is in every `TeachListCommand`."""

    op: Literal["list"]
    type: Literal["Teach"]


class TeachListCommand(_TeachListCommandRequired, total=False):
    """The actions that the robot keeps."""

    confirm: bool
    req: Any
    robot: str


class _TeachEnterCommandRequired(TypedDict):
    """What is in every `TeachEnterCommand`."""

    op: Literal["enter"]
    type: Literal["Teach"]


class TeachEnterCommand(_TeachEnterCommandRequired, total=False):
    """Make the arms compliant."""

    confirm: bool
    req: Any
    robot: str


class _TeachExitCommandRequired(TypedDict):
    """What is in every `TeachExitCommand`."""

    op: Literal["exit"]
    type: Literal["Teach"]


class TeachExitCommand(_TeachExitCommandRequired, total=False):
    """Make the arms stiff again."""

    confirm: bool
    req: Any
    robot: str


class _TeachRecordStartCommandRequired(TypedDict):
    """What is in every `TeachRecordStartCommand`."""

    op: Literal["record_start"]
    type: Literal["Teach"]


class TeachRecordStartCommand(_TeachRecordStartCommandRequired, total=False):
    """Begin to record.

    - `name`: an action's name
    """

    confirm: bool
    name: str
    req: Any
    robot: str


class _TeachRecordStopCommandRequired(TypedDict):
    """What is in every `TeachRecordStopCommand`."""

    op: Literal["record_stop"]
    type: Literal["Teach"]


class TeachRecordStopCommand(_TeachRecordStopCommandRequired, total=False):
    """End the recording."""

    confirm: bool
    req: Any
    robot: str


class _TeachSaveCommandRequired(TypedDict):
    """What is in every `TeachSaveCommand`."""

    op: Literal["save"]
    type: Literal["Teach"]


class TeachSaveCommand(_TeachSaveCommandRequired, total=False):
    """Store the recording in the robot and keep it in the library, or do only that.

    - `library`: the library and nothing else
    - `loop`: whether it repeats
    - `name`: an action's name
    """

    confirm: bool
    library: bool
    loop: bool
    name: str
    req: Any
    robot: str


class _TeachPlayCommandRequired(TypedDict):
    """What is in every `TeachPlayCommand`."""

    op: Literal["play"]
    type: Literal["Teach"]


class TeachPlayCommand(_TeachPlayCommandRequired, total=False):
    """Play what the robot keeps; from the library what it does not, or not so.

    - `duration_ms`: how long it takes; 0 is as recorded
    - `frames`: how many of its frames; 0 is all
    - `id`: an action's number
    - `interpolation`: how values between keyframes are found
    - `library`: the library and nothing else
    - `loop`: whether it repeats
    - `name`: an action's name
    - `speed`: how much faster than recorded
    """

    confirm: bool
    duration_ms: int
    frames: int
    id: int
    interpolation: Literal["linear", "cubic", "smooth"]
    library: bool
    loop: bool
    name: str
    req: Any
    robot: str
    speed: float


class _TeachStopCommandRequired(TypedDict):
    """What is in every `TeachStopCommand`."""

    op: Literal["stop"]
    type: Literal["Teach"]


class TeachStopCommand(_TeachStopCommandRequired, total=False):
    """End playback and teaching."""

    confirm: bool
    req: Any
    robot: str


class _TeachRenameCommandRequired(TypedDict):
    """What is in every `TeachRenameCommand`."""

    name: str
    new_name: str
    op: Literal["rename"]
    type: Literal["Teach"]


class TeachRenameCommand(_TeachRenameCommandRequired, total=False):
    """Give an action another name.

    - `library`: the library and nothing else
    - `name`: an action's name
    - `new_name`: its new name
    """

    confirm: bool
    library: bool
    req: Any
    robot: str


class _TeachDeleteCommandRequired(TypedDict):
    """What is in every `TeachDeleteCommand`."""

    op: Literal["delete"]
    type: Literal["Teach"]


class TeachDeleteCommand(_TeachDeleteCommandRequired, total=False):
    """Remove an action.

    - `id`: an action's number
    - `library`: the library and nothing else
    - `name`: an action's name
    """

    confirm: bool
    id: int
    library: bool
    name: str
    req: Any
    robot: str


class _TeachLibraryCommandRequired(TypedDict):
    """What is in every `TeachLibraryCommand`."""

    op: Literal["library"]
    type: Literal["Teach"]


class TeachLibraryCommand(_TeachLibraryCommandRequired, total=False):
    """What the library holds."""

    confirm: bool
    req: Any
    robot: str


class _TeachShowCommandRequired(TypedDict):
    """What is in every `TeachShowCommand`."""

    name: str
    op: Literal["show"]
    type: Literal["Teach"]


_TeachShowCommandOptional = TypedDict(
    "_TeachShowCommandOptional",
    {
        "confirm": bool,
        "from": int,
        "req": Any,
        "robot": str,
    },
    total=False,
)


class TeachShowCommand(_TeachShowCommandRequired, _TeachShowCommandOptional):
    """Give a motion of the library, 2,000 frames at a time.

    - `from`: the first frame to give
    - `name`: an action's name
    """


class _TeachImportCommandRequired(TypedDict):
    """What is in every `TeachImportCommand`."""

    document: Dict[str, Any]
    op: Literal["import"]
    type: Literal["Teach"]


class TeachImportCommand(_TeachImportCommandRequired, total=False):
    """Put a motion into the library; in parts, if it is long.

    - `append`: whether it goes on with a motion of which not all has come
    - `document`: a motion
    - `more`: whether more of it will come
    """

    append: bool
    confirm: bool
    more: bool
    req: Any
    robot: str


# teaches a robot, or has it play
TeachCommand = Union[
    TeachListCommand,
    TeachEnterCommand,
    TeachExitCommand,
    TeachRecordStartCommand,
    TeachRecordStopCommand,
    TeachSaveCommand,
    TeachPlayCommand,
    TeachStopCommand,
    TeachRenameCommand,
    TeachDeleteCommand,
    TeachLibraryCommand,
    TeachShowCommand,
    TeachImportCommand,
]


Command = Union[
    AckCommand,
    AuthCommand,
    BootCommand,
    ComponentControlCommand,
    DockCommand,
    MappingCommand,
    PingCommand,
    ProtocolSyncCommand,
    RawCommand,
    RobotsCommand,
    StopCommand,
    SubscribeCommand,
    TakeControlCommand,
    TeachCommand,
]


# What helps against a refusal. Front ends have words of their own for each: a member of a message, a flag, a button.
Remedy = Literal["take_control", "confirm", "enable", "name_robot", "show_token", "use_library", "enter", "exit"]


REMEDY_MEANINGS: Dict[Remedy, str] = {
    "take_control": "Taking the controls from the client that holds them.",
    "confirm": "Confirming that it is meant.",
    "enable": "Allowing the wheels to turn again.",
    "name_robot": "Naming the robot.",
    "show_token": "Showing a token.",
    "use_library": "Having it done in the library alone.",
    "enter": "Making the arms soft first.",
    "exit": "Making the arms stiff first.",
}


class _RefusalRequired(TypedDict):
    """What is in every `Refusal`."""

    code: Code
    message: str


class Refusal(_RefusalRequired, total=False):
    """Why a command was not carried out.

    - `code`: The kind, for programs.
    - `message`: What was wanted and what came, for people, whatever they use.
    - `remedy`: What its client could do about it, for programs that know how to say it.
    - `robots`: The robots that it is about, where a command was for several.
    """

    remedy: Optional[Remedy]
    robots: List[str]


class _ReplyRequired(TypedDict):
    """What is in every `Reply`."""

    ok: bool


class Reply(_ReplyRequired, total=False):
    """What came of a command.

    - `data`: What it gave, if it was; null where there is nothing to say.
    - `error`: Why not, if it was not.
    - `ok`: Whether it was carried out.
    - `req`: The command's `req`. By POST it need not have had one.
    """

    data: Any
    error: Optional[Refusal]
    req: Any


class DaemonReply(Reply):
    """What came of a command that had a `req`."""

    type: Literal["Reply"]


class ErrorMessage(TypedDict):
    """What went wrong.

    - `error`: Why.
    """

    error: Refusal


class DaemonError(ErrorMessage):
    """What went wrong with a command that had none."""

    type: Literal["Error"]


class Event(TypedDict):
    """Something that happened to a robot.

    - `data`: For `state` what `Robots` tells about it, for others what the robot tells.
    - `robot`: The robot.
    - `topic`: The topic: `state`, `events` or `sensors/GROUP`.
    """

    data: Any
    robot: str
    topic: str


class DaemonEvent(Event):
    """Something happened."""

    type: Literal["Event"]


class Lost(TypedDict):
    """Telemetry was left out because the client reads too slowly.

    - `count`: So many messages.
    """

    count: int


class DaemonLost(Lost):
    """The client reads too slowly."""

    type: Literal["Lost"]


class ReadyRobot(TypedDict):
    """A robot that is served.

    - `kind`: Its kind.
    - `name`: Its name.
    """

    kind: str
    name: str


class Ready(TypedDict):
    """What `sinew serve --json` says once everything listens.

    - `http`: The address for HTTP.
    - `lines`: The address for JSON lines.
    - `robots`: The robots.
    - `sangam`: The address of SangamIO's later interface.
    - `tcp`: The address of the interface of document 003; null where it is closed, as for the others.
    """

    http: Optional[str]
    lines: Optional[str]
    robots: List[ReadyRobot]
    sangam: Optional[str]
    tcp: Optional[str]


class DaemonReady(Ready):
    """Everything listens: a line of `sinew serve --json`, not sent to clients."""

    type: Literal["ready"]


# Any message of the daemon.
DaemonMessage = Union[DaemonReply, DaemonError, DaemonEvent, DaemonLost, DaemonReady]


class Limits(TypedDict):
    """How fast a robot may be driven, and for how long.

    - `angular`: rad/s.
    - `deadman_ms`: How long a velocity counts without a new one.
    - `linear`: m/s; also for each wheel.
    """

    angular: float
    deadman_ms: int
    linear: float


class _LinkReportRequired(TypedDict):
    """What is in every `LinkReport`."""

    state: str


class LinkReport(_LinkReportRequired, total=False):
    """How a robot, or one of its drivers, can be reached.

    - `fresh`: Of a driver beside the robot's first: whether its values are as fresh as they should be.
    - `last_seen_ms`: Of such a driver: how long ago its end of the link was heard.
    - `reason`: Why it cannot be reached, in the system's or the robot's words.
    - `state`: As `ready`, `booting`, `lost`, `disconnected`.
    """

    fresh: Optional[bool]
    last_seen_ms: Optional[int]
    reason: Optional[str]


class Pong(TypedDict):
    """What `Ping` replies.

    - `build`: The daemon's version.
    - `http`: The port of HTTP, where it is open.
    - `time_ms`: The time there, in milliseconds since 1970.
    """

    build: str
    http: Optional[int]
    time_ms: int


class _RobotReportRequired(TypedDict):
    """What is in every `RobotReport`."""

    capabilities: List[Capability]
    fresh: bool
    holder: Optional[str]
    kind: str
    last_seen_ms: Optional[int]
    link: LinkReport
    name: str
    sensors: List[str]
    state: Dict[str, Any]
    stopped_by: Optional[str]


class RobotReport(_RobotReportRequired, total=False):
    """What there is to tell about a robot.

    - `capabilities`: What it can do.
    - `fresh`: Whether its values are as fresh as they should be.
    - `holder`: The client that holds the controls.
    - `kind`: Its kind, as `crl200s`.
    - `last_seen_ms`: How long ago it was heard.
    - `limits`: How it may be driven, if it can `drive`.
    - `link`: How it can be reached.
    - `links`: How each of its drivers can be reached, by the driver's name, where there are several.
    - `name`: Its name.
    - `sensors`: Its sensor groups.
    - `state`: What its drivers tell.
    - `stopped_by`: Who stopped it; null once it may move.
    """

    limits: Optional[Limits]
    links: Dict[str, LinkReport]


class Robots(TypedDict):
    """What `Robots` replies.

    - `robots`: All of them.
    - `warnings`: What their keeper should know.
    """

    robots: List[RobotReport]
    warnings: List[str]


class Subscribed(TypedDict):
    """One of the topics that `Subscribe` replies.

    - `robot`: The robot.
    - `topic`: The topic.
    """

    robot: str
    topic: str


_Taken = TypedDict(
    "_Taken",
    {
        "from": Optional[str],
        "robot": str,
    },
    total=True,
)


class Taken(_Taken):
    """What `TakeControl` replies.

    - `from`: The client that had the controls, if another one did.
    - `robot`: The robot.
    """


class Replies(TypedDict, total=False):
    """What `data` of a reply is, by the command's name."""

    Auth: Authenticated
    Ping: Pong
    Robots: Robots
    Subscribe: List[Subscribed]
    TakeControl: Taken
