"""A connection of the blocking client: a socket, and the conversation over it. Threads may share it."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import deque
from typing import Any, Deque, Dict, Mapping, Optional, Set

from ._core import Address, Core, Incoming, Problem, Reply
from .errors import ConnectionLost, ProtocolError, TimedOut

_CHUNK = 1 << 16
# Longer waits are made of such, so that a socket never waits for ever.
_LONGEST_WAIT = 60.0


class Connection:
    """A thread that waits for a reply reads for all the others; none waits for another one's reply."""

    def __init__(self, address: Address, timeout: float, keeps: bool = False) -> None:
        """Connects; what is no reply is kept for `next`, or not."""
        self._keeps = keeps
        self.address = address
        self._core = Core(address.codec())
        self._sending = threading.Lock()
        self._news = threading.Condition()
        self._is_read = False
        self._asked: Set[int] = set()
        self._replies: Dict[int, Reply] = {}
        self._others: Deque[Incoming] = deque()
        # What was read, and not looked at yet.
        self._chunks: Deque[bytes] = deque()
        self._problem: Optional[Problem] = None
        self._broken: Optional[ConnectionLost] = None
        deadline = time.monotonic() + timeout
        try:
            self._socket = socket.create_connection((address.host, address.port), timeout)
        except OSError as error:
            raise ConnectionLost(f"no daemon answers at {address}: {error}") from error
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _probe(self._socket)
            # Its time-out is not that of reading.
            self._writer = self._socket.dup()
        except OSError as error:
            self._socket.close()
            raise ConnectionLost(f"{address}: {error}") from error
        try:
            self._send(self._core.opening())
            while not self._core.is_open:
                self._sort(self._receive(deadline - time.monotonic()))
        except BaseException:
            self.close()
            raise

    @property
    def is_open(self) -> bool:
        return self._broken is None

    def request(self, command: Mapping[str, Any], timeout: float) -> Any:
        """Sends a command and gives what the daemon replies."""
        deadline = time.monotonic() + timeout
        with self._sending:
            number, data = self._core.request(command)
            self._asked.add(number)
            self._send_locked(data)
        try:
            reply = self._reply(number, deadline, str(command.get("type")))
        finally:
            self._asked.discard(number)
        if reply.error is not None:
            raise reply.error
        return reply.data

    def say(self, command: Mapping[str, Any]) -> None:
        """Sends a command that is answered only if it fails."""
        with self._sending:
            self._send_locked(self._core.command(command))

    def next(self, timeout: Optional[float]) -> Optional[Incoming]:
        """What comes next that is no reply; none if nothing has within the time. One thread at a time."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._others:
            left = _LONGEST_WAIT if deadline is None else deadline - time.monotonic()
            try:
                self._sort(self._receive(left))
            except TimedOut:
                if deadline is not None and time.monotonic() >= deadline:
                    return None
        return self._others.popleft()

    def close(self) -> None:
        """Ends it, at once. What waits for a reply is told."""
        if self._broken is None:
            with contextlib.suppress(ConnectionLost, TimedOut):
                # A thread that hangs in sending keeps nothing from ending.
                if self._sending.acquire(timeout=0.1):
                    try:
                        self._send_locked(self._core.closing())
                    finally:
                        self._sending.release()
        self._break(ConnectionLost("the connection was closed here"))

    def _reply(self, number: int, deadline: float, what: str) -> Reply:
        while True:
            with self._news:
                while True:
                    reply = self._replies.pop(number, None)
                    if reply is not None:
                        return reply
                    if self._broken is not None:
                        raise ConnectionLost(str(self._broken)) from self._broken
                    left = deadline - time.monotonic()
                    if left <= 0:
                        why = f"; the daemon said: {self._problem.error}" if self._problem else ""
                        raise TimedOut(f"no reply to {what} in time{why}")
                    if not self._is_read:
                        self._is_read = True
                        break
                    self._news.wait(left)
            try:
                with contextlib.suppress(TimedOut):
                    self._sort(self._receive(left))
            finally:
                with self._news:
                    self._is_read = False
                    self._news.notify_all()

    def _sort(self, incoming: Deque[Incoming]) -> None:
        for each in incoming:
            if isinstance(each, Reply):
                # Replies that were given up are not kept.
                if each.number in self._asked:
                    self._replies[each.number] = each
                continue
            if isinstance(each, Problem):
                self._problem = each
            if self._keeps:
                self._others.append(each)

    def _receive(self, timeout: float) -> Deque[Incoming]:
        if self._broken is not None:
            raise ConnectionLost(str(self._broken)) from self._broken
        try:
            if not self._chunks:
                # Zero would mean something else to a socket.
                self._socket.settimeout(min(max(timeout, 0.001), _LONGEST_WAIT))
                # Without a step of Python's in between, at which Ctrl-C could come and what was read be lost.
                self._chunks.extend(map(self._socket.recv, (_CHUNK,)))
        except socket.timeout:
            raise TimedOut("nothing came in time") from None
        except OSError as error:
            lost = ConnectionLost(f"{self.address}: {error}")
            self._break(lost)
            raise lost from error
        try:
            data = self._chunks.popleft()
            if not data:
                raise ConnectionLost(f"{self.address} ended the connection")
            incoming = deque(self._core.receive(data))
            if answers := self._core.answers():
                self._send(answers)
            if self._core.is_closed:
                raise ConnectionLost(f"{self.address} ended the connection")
            return incoming
        except BaseException as error:
            # After Ctrl-C here something may be missing: what follows could not be trusted.
            lost = error if isinstance(error, ConnectionLost) else ProtocolError(f"reading was interrupted: {error!r}")
            self._break(lost)
            raise

    def _send(self, data: bytes) -> None:
        with self._sending:
            self._send_locked(data)

    def _send_locked(self, data: bytes) -> None:
        if self._broken is not None:
            raise ConnectionLost(str(self._broken)) from self._broken
        try:
            self._writer.settimeout(2.0)
            self._writer.sendall(data)
        except OSError as error:
            lost = ConnectionLost(f"{self.address}: {error}")
            self._break(lost)
            raise lost from error
        except BaseException:
            # Half a message may be on its way, and would spoil the next one, which may be a stop: the end of the
            # connection is one in any case.
            self._break(ConnectionLost("sending was interrupted"))
            raise

    def _break(self, why: ConnectionLost) -> None:
        if self._broken is None:
            self._broken = why
        for each in (self._socket, getattr(self, "_writer", None)):
            if each is not None:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()


def _probe(connection: socket.socket) -> None:
    """Has the system find out within seconds that a daemon's computer is gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 2), ("TCP_KEEPINTVL", 1), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 5000)):
        option = getattr(socket, name, None)
        if option is not None:
            with contextlib.suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, option, value)
