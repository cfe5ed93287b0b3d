"""The same for asyncio: connect, ask, subscribe, drive. Commands are those of `sinew.api`.

    async with await sinew.aio.connect() as client:
        robot = await client.robot("vacuum")
        async with robot.drive() as drive:
            await drive.run(2.0, linear=0.2)
        print(await robot.ask({"type": "Teach", "op": "list"}))
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from types import TracebackType
from typing import Any, AsyncIterator, Dict, List, Mapping, Optional, Sequence, Type, Union

from . import api
from ._core import (
    STOP_TIMEOUT,
    TIMEOUT,
    Address,
    Bytes,
    Core,
    Incoming,
    Lost,
    Problem,
    Reply,
    Telemetry,
    frames_address,
    own_name,
    own_token,
)
from ._hold import MAX_HOLD, Hold, Speeds, now
from .drive import Paused, checked, configure, limits_of
from .errors import Busy, ConnectionLost, NotReady, SinewError, TimedOut
from .frames import Frame
from .robot import component

_CHUNK = 1 << 16
_RETRY = 0.1
# What is read and not taken yet; beyond it the daemon keeps the rest, and tells what it leaves out.
_QUEUE = 64


async def connect(
    address: str = "127.0.0.1:5556",
    *,
    token: Optional[str] = None,
    name: Optional[str] = None,
    timeout: float = TIMEOUT,
    wait: float = 0.0,
) -> Client:
    """As `sinew.connect`."""
    client = Client(Address.parse(address), own_token(token), name or own_name(), timeout)
    end = time.monotonic() + wait
    while True:
        try:
            await client.open()
            return client
        except ConnectionLost:
            if time.monotonic() >= end:
                raise
            await asyncio.sleep(_RETRY)


class Connection:
    """A connection and the task that reads it."""

    def __init__(self, address: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._address, self._reader, self._writer = address, reader, writer
        self._core = Core(address.codec())
        self._waiting: Dict[int, asyncio.Future[Reply]] = {}
        self._incoming: asyncio.Queue[Optional[Incoming]] = asyncio.Queue(_QUEUE)
        self._keeps = False
        self._broken: Optional[ConnectionLost] = None
        self._task: Optional[asyncio.Task[None]] = None

    @staticmethod
    async def open(address: Address, keeps: bool) -> Connection:
        try:
            reader, writer = await asyncio.open_connection(address.host, address.port)
        except OSError as error:
            raise ConnectionLost(f"no daemon answers at {address}: {error}") from error
        connection = Connection(address, reader, writer)
        try:
            connection._keeps = keeps
            writer.write(connection._core.opening())
            while not connection._core.is_open:
                await connection._read()
        except BaseException:
            connection.close()
            raise
        connection._task = asyncio.ensure_future(connection._run())
        return connection

    def send(self, command: Mapping[str, Any]) -> asyncio.Future[Reply]:
        """Sends a command at once; what is given waits for the reply."""
        self._check()
        number, data = self._core.request(command)
        waiting: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        waiting.add_done_callback(lambda _: self._waiting.pop(number, None))
        self._writer.write(data)
        return waiting

    async def request(self, command: Mapping[str, Any], timeout: float) -> Any:
        waiting = self.send(command)
        try:
            reply = await asyncio.wait_for(waiting, timeout)
        except asyncio.TimeoutError:
            raise TimedOut(f"no reply to {command.get('type')} in time") from None
        if reply.error is not None:
            raise reply.error
        return reply.data

    def say(self, command: Mapping[str, Any]) -> None:
        self._check()
        self._writer.write(self._core.command(command))

    async def next(self) -> Incoming:
        """What comes next that is no reply."""
        if self._broken is not None and self._incoming.empty():
            raise ConnectionLost(str(self._broken))
        incoming = await self._incoming.get()
        if incoming is None:
            raise ConnectionLost(str(self._broken))
        return incoming

    def close(self, why: Optional[ConnectionLost] = None) -> None:
        if self._broken is None:
            self._broken = why or ConnectionLost("the connection was closed here")
            self._writer.close()
        for waiting in list(self._waiting.values()):
            if not waiting.done():
                waiting.set_exception(ConnectionLost(str(self._broken)))
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()
        # Whatever waits for what comes next is told; if the queue is full nothing does.
        with contextlib.suppress(asyncio.QueueFull):
            self._incoming.put_nowait(None)

    def _check(self) -> None:
        if self._broken is not None:
            raise ConnectionLost(str(self._broken))

    async def _run(self) -> None:
        try:
            while True:
                await self._read()
        except (ConnectionLost, OSError) as error:
            lost = error if isinstance(error, ConnectionLost) else ConnectionLost(f"{self._address}: {error}")
            self.close(lost)

    async def _read(self) -> None:
        data = await self._reader.read(_CHUNK)
        if not data:
            raise ConnectionLost(f"{self._address} ended the connection")
        incoming = self._core.receive(data)
        if answers := self._core.answers():
            self._writer.write(answers)
        for each in incoming:
            if isinstance(each, Reply):
                waiting = self._waiting.get(each.number)
                if waiting is not None and not waiting.done():
                    waiting.set_result(each)
            elif self._keeps:
                await self._incoming.put(each)
        if self._core.is_closed:
            raise ConnectionLost(f"{self._address} ended the connection")


class Client:
    """A client of a daemon; `async with` closes it."""

    def __init__(self, address: Address, token: Optional[str], name: str, timeout: float) -> None:
        self._address, self._token, self._timeout = address, token, timeout
        self.name = name
        self._connection: Optional[Connection] = None
        self.access: api.Access = "nothing"

    async def open(self) -> None:
        self._connection = await self._connect(self._address, keeps=False)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection, and with it what this client set moving."""
        if self._connection is not None:
            self._connection.close()

    async def request(self, command: Mapping[str, Any], timeout: Optional[float] = None) -> Any:
        """Sends any command and gives the `data` of its reply."""
        return await self._open.request(command, self._timeout if timeout is None else timeout)

    async def ping(self) -> api.Pong:
        pong: api.Pong = await self.request({"type": "Ping"})
        return pong

    async def robots(self) -> List[api.RobotReport]:
        """What there is to tell about all robots."""
        robots: api.Robots = await self.request({"type": "Robots"})
        return robots["robots"]

    async def robot(self, name: str) -> Robot:
        robot = Robot(self, name)
        await robot.report()
        return robot

    async def stop(self, robot: Optional[str] = None) -> None:
        """Stops a robot, or all of them; closes the connection if no reply comes."""
        # Sent before anything is waited for: a task that is being cancelled stops, too.
        waiting = self._open.send({"type": "Stop", "robot": robot})
        try:
            reply = await asyncio.wait_for(waiting, STOP_TIMEOUT)
        except asyncio.TimeoutError:
            self.close()
            raise TimedOut("no reply to Stop in time") from None
        if reply.error is not None:
            raise reply.error

    async def subscribe(
        self, topics: Union[str, Sequence[str]], *, robot: Optional[str] = None, max_hz: Optional[float] = None
    ) -> Subscription:
        """As `sinew.Client.subscribe`."""
        return Subscription(await self._subscribed(self._address, topics, robot, max_hz))

    async def frames(self, topic: str, robot: str, *, max_hz: Optional[float] = None) -> Frames:
        """As `sinew.Client.frames`."""
        address = frames_address(self._address, await self.ping())
        return Frames(await self._subscribed(address, topic, robot, max_hz), topic, robot)

    @property
    def _open(self) -> Connection:
        if self._connection is None:
            raise ConnectionLost("not connected yet")
        return self._connection

    async def _connect(self, address: Address, keeps: bool) -> Connection:
        try:
            connection = await asyncio.wait_for(Connection.open(address, keeps), self._timeout)
        except asyncio.TimeoutError:
            raise ConnectionLost(f"no daemon answers at {address} in time") from None
        try:
            command = {"type": "Auth", "name": self.name, "token": self._token}
            self.access = (await connection.request(command, self._timeout))["access"]
        except BaseException:
            connection.close()
            raise
        return connection

    async def _subscribed(
        self, address: Address, topics: Union[str, Sequence[str]], robot: Optional[str], max_hz: Optional[float]
    ) -> Connection:
        connection = await self._connect(address, keeps=True)
        try:
            each = [topics] if isinstance(topics, str) else list(topics)
            command = {"type": "Subscribe", "topics": each, "robot": robot, "max_hz": max_hz}
            await connection.request(command, self._timeout)
        except BaseException:
            connection.close()
            raise
        return connection


class _Stream:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        # Messages that were left out because they were read too slowly.
        self.lost = 0

    def close(self) -> None:
        self._connection.close()

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    async def _next(self) -> Union[Telemetry, Bytes]:
        while True:
            incoming = await self._connection.next()
            if isinstance(incoming, (Telemetry, Bytes)):
                return incoming
            if isinstance(incoming, Lost):
                self.lost += incoming.count
            elif isinstance(incoming, Problem):
                raise incoming.error


class Subscription(_Stream):
    """Events, for `async for`; `asyncio.wait_for(subscription.next(), 1.0)` waits no longer than that."""

    async def __aenter__(self) -> Subscription:
        return self

    async def next(self) -> api.Event:
        while True:
            incoming = await self._next()
            if isinstance(incoming, Telemetry):
                return incoming.event

    async def __aiter__(self) -> AsyncIterator[api.Event]:
        while True:
            yield await self.next()


class Frames(_Stream):
    """Frames of one topic of a robot, acknowledged as they are taken."""

    def __init__(self, connection: Connection, topic: str, robot: str) -> None:
        super().__init__(connection)
        self._topic, self._robot = topic, robot

    async def __aenter__(self) -> Frames:
        return self

    async def next(self) -> Frame:
        while True:
            incoming = await self._next()
            if isinstance(incoming, Bytes):
                frame = Frame.read(incoming.data)
                ack = {"type": "Ack", "topic": self._topic, "seq": frame.sequence, "robot": self._robot}
                self._connection.say(ack)
                return frame

    async def __aiter__(self) -> AsyncIterator[Frame]:
        while True:
            yield await self.next()


class Robot:
    """One robot of a daemon, by its name."""

    def __init__(self, client: Client, name: str) -> None:
        self.client = client
        self.name = name

    async def report(self) -> api.RobotReport:
        """What there is to tell about it now."""
        for report in await self.client.robots():
            if report["name"] == self.name:
                return report
        raise SinewError(f"the daemon has no robot {self.name}")

    async def ask(self, command: Mapping[str, Any], timeout: Optional[float] = None) -> Any:
        """Sends it any command and gives the `data` of the reply; members that are None are left out."""
        return await self.client.request({**command, "robot": self.name}, timeout)

    async def stop(self) -> None:
        """Stops it, whichever client drives it. It stays stopped until `enable`."""
        await self.client.stop(self.name)

    async def enable(self) -> None:
        await self.component("drive", "Enable")

    async def component(self, name: str, verb: str, *, confirm: bool = False, **config: float) -> None:
        """Switches a component, as `component("vacuum", "Configure", speed=60)`."""
        await self.ask(component(name, verb, config, confirm))

    def drive(self, *, take: bool = False, enable: bool = True, hold: Optional[float] = None) -> Drive:
        """The wheels, for an `async with` block: as `sinew.Drive`."""
        return Drive(self, take, enable, hold)

    async def subscribe(self, *topics: str, max_hz: Optional[float] = None) -> Subscription:
        return await self.client.subscribe(topics, robot=self.name, max_hz=max_hz)

    async def clouds(self, *, max_hz: Optional[float] = None) -> Frames:
        return await self.client.frames("cloud", self.name, max_hz=max_hz)

    async def map_frames(self, *, max_hz: Optional[float] = None) -> Frames:
        return await self.client.frames("map", self.name, max_hz=max_hz)


class Drive:
    """As `sinew.Drive`: the rules are the same. A caller that blocks the event loop repeats nothing."""

    def __init__(self, robot: Robot, take: bool, enable: bool, hold: Optional[float]) -> None:
        if hold is not None and not 0 < hold <= MAX_HOLD:
            raise ValueError(f"hold is over 0 and at most {MAX_HOLD} s, not {hold}")
        self._robot, self._take, self._enable, self._hold_time = robot, take, enable, hold
        self._lock: Optional[asyncio.Lock] = None
        self._task: Optional[asyncio.Task[None]] = None
        self._hold: Optional[Hold] = None
        self._is_over = False
        self._lost_controls = False
        self._failure: Optional[SinewError] = None
        self._zero: Speeds = {"linear": 0.0, "angular": 0.0}
        self.limits: api.Limits = {"linear": 0.0, "angular": 0.0, "deadman_ms": 0}

    async def __aenter__(self) -> Drive:
        if self._lock is not None:
            raise SinewError("a Drive is for one with block")
        self.limits = limits_of(await self._robot.report())
        if self._take:
            await self._robot.ask({"type": "TakeControl"})
        if self._enable:
            await self._robot.enable()
        self._lock = asyncio.Lock()
        if self._hold_time is not None:
            self._hold = Hold(self._deadman, self._hold_time)
            self._task = asyncio.ensure_future(self._keep(self._hold))
        return self

    async def velocity(self, linear: float, angular: float = 0.0) -> None:
        await self._drive({"linear": linear, "angular": angular})

    async def wheels(self, left: float, right: float) -> None:
        await self._drive({"left": left, "right": right})

    async def run(self, seconds: float, linear: float = 0.0, angular: float = 0.0) -> None:
        """Drives for so long, then stands."""
        hold = Hold(self._deadman, seconds)
        speeds = {"linear": linear, "angular": angular}
        hold.set(now(), speeds)
        await self._drive(speeds, repeat=False)
        while hold.is_held:
            await asyncio.sleep(hold.wait(now()))
            again = hold.poll(now())
            if again is not None:
                await self._drive(again, repeat=False)
        if hold.was_paused:
            raise Paused("this program did not run for a while; the robot was stopped")

    async def stop(self) -> None:
        """Stands still; the next velocity moves it again."""
        await self._drive(dict(self._zero))

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._is_over = True
        if self._hold is not None:
            self._hold.clear()
        if self._task is not None:
            self._task.cancel()
        if self._lost_controls:
            return
        if error is None:
            with contextlib.suppress(NotReady):
                await self._send(self._zero)
            return
        with contextlib.suppress(SinewError):
            await self._robot.stop()

    @property
    def _deadman(self) -> float:
        return self.limits["deadman_ms"] / 1000

    async def _drive(self, speeds: Speeds, repeat: bool = True) -> None:
        if self._lock is None or self._is_over:
            raise SinewError("a robot is driven within the with block")
        checked(speeds)
        async with self._lock:
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
            if self._hold is not None:
                if repeat:
                    self._hold.set(now(), speeds)
                else:
                    self._hold.clear()
            self._zero = {name: 0.0 for name in speeds}
            await self._send(speeds)

    async def _send(self, speeds: Speeds) -> None:
        try:
            await self._robot.ask(configure(speeds), STOP_TIMEOUT)
        except SinewError as error:
            if self._hold is not None:
                self._hold.clear()
            if isinstance(error, Busy) and error.is_held:
                self._lost_controls = True
            raise

    async def _keep(self, hold: Hold) -> None:
        while self._lock is not None:
            await asyncio.sleep(hold.refresh / 2)
            async with self._lock:
                again = hold.poll(now())
                if again is None:
                    continue
                try:
                    await self._send(again)
                except SinewError as error:
                    self._failure = error
