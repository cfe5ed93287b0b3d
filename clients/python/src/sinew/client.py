"""The blocking client: connect, ask, subscribe."""

from __future__ import annotations

import http.client
import json
import shutil
import threading
import time
from types import TracebackType
from typing import (
    Any,
    BinaryIO,
    Callable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Type,
    Union,
    cast,
    overload,
)

from . import api
from ._connection import Connection
from ._core import (
    STOP_TIMEOUT,
    TIMEOUT,
    Address,
    Bytes,
    Lost,
    Problem,
    Telemetry,
    frames_address,
    own_name,
    own_token,
)
from .errors import ConnectionLost, Refused, SinewError, TimedOut
from .frames import Frame
from .robot import Robot

# How often a daemon that is not there yet is looked for.
_RETRY = 0.1


def connect(
    address: str = "127.0.0.1:5556",
    *,
    token: Optional[str] = None,
    name: Optional[str] = None,
    timeout: float = TIMEOUT,
    wait: float = 0.0,
) -> Client:
    """Connects to a daemon: `HOST:PORT` for its JSON lines, `ws://HOST:PORT` for its HTTP port.

    `token` is by default what SINEW_TOKEN says; `name` is what other clients see while this one holds the controls;
    `timeout` counts for every reply; for `wait` seconds a daemon that is not there yet is waited for.
    """
    where = Address.parse(address)
    end = time.monotonic() + wait
    while True:
        try:
            return Client(where, own_token(token), name or own_name(), timeout)
        except ConnectionLost:
            if time.monotonic() >= end:
                raise
            time.sleep(_RETRY)


class Client:
    """A client of a daemon. Threads may share it; `with` closes it.

    What it drove stops when it is closed, when its process ends, and when its computer is gone.
    """

    def __init__(self, address: Address, token: Optional[str], name: str, timeout: float) -> None:
        self._address, self._token, self._timeout = address, token, timeout
        self._frames_address: Optional[Address] = None
        self.name = name
        self._connection = self._connect(address, keeps=False)
        # What the token allows.
        self.access: api.Access = self._authenticated["access"]

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection, and with it what this client set moving."""
        self._connection.close()

    @property
    def is_open(self) -> bool:
        """Whether the connection is there, as far as is known."""
        return self._connection.is_open

    @overload
    def request(self, command: api.PingCommand, timeout: Optional[float] = None) -> api.Pong: ...
    @overload
    def request(self, command: api.RobotsCommand, timeout: Optional[float] = None) -> api.Robots: ...
    @overload
    def request(self, command: api.TakeControlCommand, timeout: Optional[float] = None) -> api.Taken: ...
    @overload
    def request(self, command: api.Command, timeout: Optional[float] = None) -> Any: ...
    def request(self, command: Any, timeout: Optional[float] = None) -> Any:
        """Sends any command and gives the `data` of its reply; raises what `errors` has for a refusal."""
        return self._connection.request(command, self._timeout if timeout is None else timeout)

    def ping(self) -> api.Pong:
        """The daemon's version and time."""
        return self.request({"type": "Ping"})

    def robots(self) -> List[api.RobotReport]:
        """What there is to tell about all robots."""
        return self.request({"type": "Robots"})["robots"]

    def warnings(self) -> List[str]:
        """What the daemon's keeper should know."""
        return self.request({"type": "Robots"})["warnings"]

    def robot(self, name: Optional[str] = None, *, can: Optional[api.Capability] = None) -> Robot:
        """A robot by its name; without one the only robot, or the only one that `can`."""
        reports = self.robots()
        fits = [
            report
            for report in reports
            if name in (None, report["name"]) and (can is None or can in report["capabilities"])
        ]
        if len(fits) != 1:
            there = ", ".join(report["name"] for report in reports) or "none"
            wanted = f"called {name}" if name else f"that can {can}" if can else "to choose"
            raise SinewError(f"{len(fits)} robots {wanted}; there are: {there}")
        return Robot(self, fits[0]["name"])

    def stop(self, robot: Optional[str] = None) -> None:
        """Stops a robot, or all of them. Any client may; it waits for nothing that other threads wait for.

        If no reply comes the connection is closed, which stops what this client drove.
        """
        command: api.StopCommand = {"type": "Stop"}
        if robot is not None:
            command["robot"] = robot
        try:
            self._connection.request(command, STOP_TIMEOUT)
        except TimedOut:
            self._connection.close()
            raise

    def subscribe(
        self,
        topics: Union[str, Sequence[str]],
        *,
        robot: Optional[str] = None,
        max_hz: Optional[float] = None,
        timeout: Optional[float] = None,
    ) -> Subscription:
        """Subscribes to `state`, `events` or `sensors/GROUP`, of one robot or of all that have them.

        It has a connection of its own: one that is read slowly loses its oldest messages, and nothing else.
        Iterating raises TimedOut when nothing has come for `timeout` seconds; without one it waits.
        """
        connection = self._subscribed(self._address, topics, robot, max_hz)
        return Subscription(connection, timeout)

    def frames(
        self, topic: str, robot: str, *, max_hz: Optional[float] = None, timeout: Optional[float] = None
    ) -> Frames:
        """Subscribes to `cloud`, `map`, `messages` or `raw` of a robot, over the daemon's HTTP port."""
        connection = self._subscribed(self._http_address(), topic, robot, max_hz)
        return Frames(connection, timeout, topic, robot)

    def download(self, path: str, target: BinaryIO) -> None:
        """Fetches a file from the daemon's HTTP port."""
        where = self._http_address()
        connection = http.client.HTTPConnection(where.host, where.port, timeout=max(self._timeout, 30.0))
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            if answer.status != 200:
                raise _refusal(answer.read(1 << 16), answer.status)
            shutil.copyfileobj(answer, target)
            # Reading in pieces says nothing about an end that came too early.
            if answer.length:
                raise ConnectionLost(f"{where}{path}: {answer.length} bytes are missing")
        except ConnectionLost:
            raise
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionLost(f"{where}{path}: {error}") from error
        finally:
            connection.close()

    def _connect(self, address: Address, keeps: bool) -> Connection:
        connection = Connection(address, self._timeout, keeps)
        try:
            command: api.AuthCommand = {"type": "Auth", "name": self.name}
            if self._token is not None:
                command["token"] = self._token
            self._authenticated = cast(api.Authenticated, connection.request(command, self._timeout))
        except BaseException:
            connection.close()
            raise
        return connection

    def _subscribed(
        self, address: Address, topics: Union[str, Sequence[str]], robot: Optional[str], max_hz: Optional[float]
    ) -> Connection:
        connection = self._connect(address, keeps=True)
        try:
            each = [topics] if isinstance(topics, str) else list(topics)
            command = {"type": "Subscribe", "topics": each, "robot": robot, "max_hz": max_hz}
            connection.request(command, self._timeout)
        except BaseException:
            connection.close()
            raise
        return connection

    def _http_address(self) -> Address:
        if self._frames_address is None:
            self._frames_address = frames_address(self._address, self.ping())
        return self._frames_address


class _Stream:
    """What comes over a connection of its own."""

    def __init__(self, connection: Connection, timeout: Optional[float]) -> None:
        self._connection = connection
        self._timeout = timeout
        self._is_closed = False
        # Messages that were left out because they were read too slowly.
        self.lost = 0

    def close(self) -> None:
        """Ends it; an iteration in another thread ends, too."""
        self._is_closed = True
        self._connection.close()

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def _next(self, timeout: Optional[float]) -> Optional[Union[Telemetry, Bytes]]:
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if end is None else max(0.0, end - time.monotonic())
            incoming = self._connection.next(left)
            if incoming is None or isinstance(incoming, (Telemetry, Bytes)):
                return incoming
            if isinstance(incoming, Lost):
                self.lost += incoming.count
            elif isinstance(incoming, Problem):
                raise incoming.error


class Subscription(_Stream):
    """Events of the topics that were subscribed to, in their order; `lost` says how many were left out."""

    def __enter__(self) -> Subscription:
        return self

    def __iter__(self) -> Iterator[api.Event]:
        return self

    def __next__(self) -> api.Event:
        try:
            event = self.next(self._timeout)
        except ConnectionLost:
            if self._is_closed:
                raise StopIteration from None
            raise
        if event is None:
            raise TimedOut(f"nothing has come for {self._timeout} s")
        return event

    def next(self, timeout: Optional[float] = None) -> Optional[api.Event]:
        """The next event; none if there is none within the time."""
        incoming = self._next(timeout)
        return incoming.event if isinstance(incoming, Telemetry) else None

    def on_event(
        self, call: Callable[[api.Event], object], on_end: Optional[Callable[[Exception], object]] = None
    ) -> Subscription:
        """Calls back for every event, on a thread of its own, until it is closed.

        What ends it otherwise goes to `on_end`: a connection that was lost, or what `call` raised.
        """

        def run() -> None:
            try:
                for event in self:
                    call(event)
            except Exception as error:
                self.close()
                if on_end is None:
                    raise
                on_end(error)

        threading.Thread(target=run, name="sinew events", daemon=True).start()
        return self


class Frames(_Stream):
    """Frames of one topic of a robot. Each is acknowledged when it is taken, so that none waits on the way."""

    def __init__(self, connection: Connection, timeout: Optional[float], topic: str, robot: str) -> None:
        super().__init__(connection, timeout)
        self._topic, self._robot = topic, robot

    def __enter__(self) -> Frames:
        return self

    def __iter__(self) -> Iterator[Frame]:
        return self

    def __next__(self) -> Frame:
        try:
            frame = self.next(self._timeout)
        except ConnectionLost:
            if self._is_closed:
                raise StopIteration from None
            raise
        if frame is None:
            raise TimedOut(f"nothing has come for {self._timeout} s")
        return frame

    def next(self, timeout: Optional[float] = None) -> Optional[Frame]:
        """The next frame; none if there is none within the time."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            incoming = self._next(None if end is None else max(0.0, end - time.monotonic()))
            if incoming is None:
                return None
            if isinstance(incoming, Bytes):
                frame = Frame.read(incoming.data)
                ack = {"type": "Ack", "topic": self._topic, "seq": frame.sequence, "robot": self._robot}
                self._connection.say(ack)
                return frame


def _refusal(body: bytes, status: int) -> Refused:
    """What an answer of HTTP says, if it is a reply of the interface."""
    try:
        reply = json.loads(body)
        return Refused.of(cast(Mapping[str, Any], reply["error"]))
    except (ValueError, KeyError, TypeError):
        return Refused(f"HTTP status {status}")
