"""What can go wrong, as exceptions: one class for each code of the interface, and those of the way there."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Type

from .api import Code, Remedy

# What helps, in this package's words.
REMEDIES: Dict[Remedy, str] = {
    "take_control": "take the controls: robot.take_control(), or robot.drive(take=True)",
    "confirm": "pass confirm=True",
    "enable": "allow the wheels to turn: robot.enable(), or robot.drive()",
    "name_robot": "name the robot: client.robot(NAME)",
    "show_token": "connect with a token that may: connect(token=...), or SINEW_TOKEN",
    "use_library": "pass library=True",
    "enter": "make the arms soft first: robot.teach.enter()",
    "exit": "make the arms stiff first: robot.teach.exit()",
}


class SinewError(Exception):
    """Anything that this package raises."""


class ConnectionLost(SinewError, ConnectionError):
    """There is no connection to the daemon, or there is none any more.

    The daemon stops what a client drove when its connection ends.
    """


class TimedOut(SinewError, TimeoutError):
    """Nothing came in time."""


class ProtocolError(ConnectionLost):
    """What came is not what a daemon sends; the connection was closed."""


class Refused(SinewError):
    """The daemon or the robot did not do what was asked; also the class for codes that are not known here.

    `code` is for programs, `message` for people; `remedy` is what would help, if something would.
    """

    def __init__(self, message: str, code: str = "refused", remedy: Optional[str] = None) -> None:
        self.message = message
        self.code = code
        self.remedy = remedy
        advice = _ADVICE.get(remedy) if remedy is not None else None
        super().__init__(f"{message} ({code})" + (f"; {advice}" if advice else ""))

    @staticmethod
    def of(refusal: Mapping[str, Any]) -> Refused:
        """The exception for an `error` of the interface."""
        code = refusal.get("code")
        message = refusal.get("message")
        remedy = refusal.get("remedy")
        code = code if isinstance(code, str) else "refused"
        kind = _BY_NAME.get(code, Refused)
        return kind(
            message if isinstance(message, str) else "refused", code, remedy if isinstance(remedy, str) else None
        )


class InvalidJson(Refused):
    """The message is not JSON."""


class InvalidArgument(Refused):
    """A member is missing, unknown or out of range."""


class Unsupported(Refused):
    """The robot or the transport cannot do it."""


class NotFound(Refused):
    """There is no such robot, action or file."""


class NotReady(Refused):
    """The robot is not in a state to do it: it boots, was stopped, or stands at a bumper."""


class Busy(Refused):
    """Another client holds the controls, or too much waits already."""

    @property
    def is_held(self) -> bool:
        """Whether another client holds the controls."""
        return self.remedy == "take_control"


class NotConfirmed(Refused):
    """It can hurt, and `confirm` was not given."""


class Unauthorized(Refused):
    """The token does not allow it."""


class LinkLost(Refused):
    """The robot cannot be reached."""


class RobotRefused(Refused):
    """The robot said no."""


class Unconfirmed(Refused):
    """The robot did not say: it may have done it, or not."""


class TooLarge(Refused):
    """The message is over the limit."""


class DockFailed(SinewError):
    """A return to the dock ended elsewhere."""


BY_CODE: Dict[Code, Type[Refused]] = {
    "invalid_json": InvalidJson,
    "invalid_argument": InvalidArgument,
    "unsupported": Unsupported,
    "not_found": NotFound,
    "not_ready": NotReady,
    "busy": Busy,
    "not_confirmed": NotConfirmed,
    "unauthorized": Unauthorized,
    "link_lost": LinkLost,
    "refused": RobotRefused,
    "unconfirmed": Unconfirmed,
    "too_large": TooLarge,
}
_BY_NAME: Dict[str, Type[Refused]] = {code: kind for code, kind in BY_CODE.items()}
_ADVICE: Dict[str, str] = {remedy: text for remedy, text in REMEDIES.items()}
