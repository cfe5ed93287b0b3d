"""The conversation with a daemon, without I/O: commands become bytes, bytes become what the daemon said."""

from __future__ import annotations

import getpass
import json
import os
import socket
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, NamedTuple, NoReturn, Optional, Union, cast

from ._codec import Codec, Lines, WebSocket
from .api import Event
from .errors import ProtocolError, Refused, SinewError

PORT_LINES = 5556
PORT_HTTP = 8787
# How long a reply may take.
TIMEOUT = 5.0
# How long a stop may take before the connection is closed instead, which stops, too.
STOP_TIMEOUT = 1.0


@dataclass(frozen=True)
class Reply:
    """What came of a command."""

    number: int
    data: Any
    error: Optional[Refused]


@dataclass(frozen=True)
class Lost:
    """So many messages were left out, because they were read too slowly."""

    count: int


@dataclass(frozen=True)
class Problem:
    """Something went wrong that no command had a number for."""

    error: Refused


@dataclass(frozen=True)
class Telemetry:
    """Something happened to a robot."""

    event: Event


@dataclass(frozen=True)
class Bytes:
    """A frame of a topic of bytes."""

    data: bytes


Incoming = Union[Reply, Lost, Problem, Telemetry, Bytes]


class Address(NamedTuple):
    """Where a daemon listens, and in which way."""

    host: str
    port: int
    is_websocket: bool

    @staticmethod
    def parse(text: str) -> Address:
        """Reads `HOST`, `HOST:PORT` (JSON lines) or `ws://HOST:PORT`."""
        rest, is_websocket = text, False
        if text.startswith("ws://"):
            rest, is_websocket = text[len("ws://") :].rstrip("/"), True
            rest = rest[: -len("/ws")] if rest.endswith("/ws") else rest
        host, colon, port = rest.rpartition(":")
        if not colon or rest.endswith("]"):
            host, port = rest, str(PORT_HTTP if is_websocket else PORT_LINES)
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        if not host or "/" in host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 1 << 16:
            raise ValueError(f"an address is HOST, HOST:PORT or ws://HOST:PORT, not {text!r}")
        return Address(host, int(port), is_websocket)

    def codec(self) -> Codec:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return WebSocket(f"{host}:{self.port}") if self.is_websocket else Lines()

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'ws://' if self.is_websocket else ''}{host}:{self.port}"


class Core:
    """One connection's state."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._number = 0

    @property
    def is_open(self) -> bool:
        """Whether commands may be sent."""
        return self._codec.is_open

    @property
    def is_closed(self) -> bool:
        """Whether the daemon has said that it ends the connection."""
        return isinstance(self._codec, WebSocket) and self._codec.is_closed

    def opening(self) -> bytes:
        return self._codec.opening()

    def closing(self) -> bytes:
        return self._codec.closing()

    def answers(self) -> bytes:
        return self._codec.answers()

    def command(self, command: Mapping[str, Any]) -> bytes:
        """A command that is answered only if it fails."""
        return self._codec.encode(written(command))

    def request(self, command: Mapping[str, Any]) -> Request:
        """A command with a number, by which its reply is known."""
        self._number += 1
        return Request(self._number, self.command({**command, "req": self._number}))

    def receive(self, data: bytes) -> List[Incoming]:
        """Takes bytes, in whatever pieces they come."""
        incoming: List[Incoming] = []
        for payload in self._codec.feed(data):
            if isinstance(payload, bytes):
                incoming.append(Bytes(payload))
            elif (message := understood(payload)) is not None:
                incoming.append(message)
        return incoming


class Request(NamedTuple):
    """A command on its way."""

    number: int
    data: bytes


def written(command: Mapping[str, Any]) -> str:
    """A command as JSON. What has no value is left out; numbers that are none are refused here."""
    members = {name: value for name, value in command.items() if value is not None}
    try:
        return json.dumps(members, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{command.get('type')} cannot be sent: {error}") from None


def understood(text: str) -> Optional[Incoming]:
    """What a text says; none for messages of kinds that are not known here."""
    try:
        message = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise ProtocolError(f"a message that is not JSON: {text[:80]!r}") from None
    if not isinstance(message, dict):
        raise ProtocolError(f"a message that is no object: {text[:80]!r}")
    try:
        return _read(cast(Dict[str, Any], message))
    except (KeyError, TypeError, ValueError) as error:
        raise ProtocolError(f"a message that lacks something ({error}): {text[:80]!r}") from None


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


def _read(message: Dict[str, Any]) -> Optional[Incoming]:
    kind = message["type"]
    if kind == "Reply":
        number, ok = message.get("req"), message["ok"]
        # Numbers are all that is sent from here.
        if not isinstance(number, int):
            return None
        return Reply(number, message.get("data"), None if ok is True else Refused.of(_object(message["error"])))
    if kind == "Event":
        topic, robot, data = message["topic"], message["robot"], message["data"]
        if not isinstance(topic, str) or not isinstance(robot, str):
            raise TypeError("topic and robot are texts")
        return Telemetry({"topic": topic, "robot": robot, "data": data})
    if kind == "Lost":
        count = message["count"]
        if not isinstance(count, int) or count < 0:
            raise TypeError("count is a number")
        return Lost(count)
    if kind == "Error":
        return Problem(Refused.of(_object(message["error"])))
    return None


def _object(value: Any) -> Dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("error is an object")
    return cast(Dict[str, Any], value)


def own_name() -> str:
    """What a client is called that was given no name."""
    try:
        return f"{getpass.getuser()}@{socket.gethostname()} (python)"[:64]
    except (OSError, KeyError, ImportError):
        return "python"


def own_token(token: Optional[str]) -> Optional[str]:
    """The token that was given, or that of the environment."""
    return token if token is not None else os.environ.get("SINEW_TOKEN") or None


def frames_address(address: Address, pong: Mapping[str, Any]) -> Address:
    """Where the same daemon gives frames of bytes."""
    if address.is_websocket:
        return address
    port = pong.get("http")
    if not isinstance(port, int):
        raise SinewError("the daemon's HTTP port is closed (--http), and clouds and maps come over it")
    return Address(address.host, port, True)
