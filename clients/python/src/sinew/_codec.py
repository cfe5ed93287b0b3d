"""Where messages begin and end: JSON lines, and WebSocket as a client speaks it (RFC 6455).

No I/O: bytes go in, messages come out, in whatever pieces they come. Buffers grow with what has come, never by
what a length says is to come, and end at a limit.
"""

from __future__ import annotations

import base64
import hashlib
import os
import struct
from typing import Callable, Dict, List, Optional, Union

from .errors import ProtocolError

# A text, or the bytes of a frame.
Payload = Union[str, bytes]

# Far over anything that a daemon sends: what is longer does not come from one.
LIMIT = 16 << 20
# The daemon's answer to a handshake has some 200 bytes.
HEADER_LIMIT = 16 << 10
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

_CONTINUATION, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA


class Lines:
    """One message a line."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._buffer = bytearray()
        # What was searched for a line's end already.
        self._searched = 0

    @property
    def is_open(self) -> bool:
        return True

    def opening(self) -> bytes:
        """What is sent first."""
        return b""

    def closing(self) -> bytes:
        """What is sent last."""
        return b""

    def encode(self, text: str) -> bytes:
        if "\n" in text:
            raise ValueError("a line holds no line's end")
        return text.encode() + b"\n"

    def feed(self, data: bytes) -> List[Payload]:
        self._buffer += data
        messages: List[Payload] = []
        start = 0
        while (end := self._buffer.find(b"\n", max(start, self._searched))) >= 0:
            if end - start > self._limit:
                break
            line = bytes(self._buffer[start:end])
            start = end + 1
            if line.strip():
                messages.append(_text(line))
        if start:
            del self._buffer[:start]
        self._searched = len(self._buffer)
        if len(self._buffer) > self._limit:
            raise ProtocolError(f"a line of more than {self._limit} bytes")
        return messages

    def answers(self) -> bytes:
        """What has to be sent because of what came."""
        return b""


class WebSocket:
    """The client's side of a WebSocket, from the handshake on."""

    def __init__(
        self, host: str, path: str = "/ws", limit: int = LIMIT, random: Callable[[int], bytes] = os.urandom
    ) -> None:
        if any(character <= " " or character > "~" for character in host + path):
            raise ValueError("host and path are of printable ASCII")
        self._host, self._path, self._limit, self._random = host, path, limit, random
        self._key = base64.b64encode(random(16))
        self._buffer = bytearray()
        self._answers = bytearray()
        self._open = False
        self._closed = False
        # The message that has begun and not ended, and its kind.
        self._message = bytearray()
        self._kind: Optional[int] = None

    @property
    def is_open(self) -> bool:
        """Whether the handshake is over."""
        return self._open

    def opening(self) -> bytes:
        """The handshake's request."""
        return (
            f"GET {self._path} HTTP/1.1\r\nHost: {self._host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {self._key.decode()}\r\nSec-WebSocket-Version: 13\r\n\r\n"
        ).encode()

    def closing(self) -> bytes:
        return b"" if self._closed else self._frame(_CLOSE, struct.pack(">H", 1000))

    def encode(self, text: str) -> bytes:
        return self._frame(_TEXT, text.encode())

    def answers(self) -> bytes:
        answers = bytes(self._answers)
        self._answers.clear()
        return answers

    def feed(self, data: bytes) -> List[Payload]:
        self._buffer += data
        if not self._open and not self._shake():
            return []
        messages: List[Payload] = []
        start = 0
        while not self._closed:
            taken = self._next(start, messages)
            if not taken:
                break
            start += taken
        del self._buffer[:start]
        return messages

    def _shake(self) -> bool:
        """Whether the answer to the handshake is there; it is checked."""
        end = self._buffer.find(b"\r\n\r\n")
        if end > HEADER_LIMIT or (end < 0 and len(self._buffer) > HEADER_LIMIT):
            raise ProtocolError(f"a handshake of more than {HEADER_LIMIT} bytes")
        if end < 0:
            return False
        head = bytes(self._buffer[:end]).decode("latin-1").split("\r\n")
        del self._buffer[: end + 4]
        parts = head[0].split(" ", 2)
        if len(parts) < 2 or not parts[0].startswith("HTTP/1.1") or parts[1] != "101":
            raise ProtocolError(f"the handshake was answered: {head[0][:80]!r}")
        headers: Dict[str, str] = {}
        for line in head[1:]:
            name, colon, value = line.partition(":")
            if not colon:
                raise ProtocolError(f"the handshake has a line that is no header: {line[:80]!r}")
            headers[name.strip().lower()] = value.strip()
        accept = base64.b64encode(hashlib.sha1(self._key + _GUID).digest()).decode()
        upgrades = [each.strip().lower() for each in headers.get("connection", "").split(",")]
        if headers.get("upgrade", "").lower() != "websocket" or "upgrade" not in upgrades:
            raise ProtocolError("the handshake's answer upgrades to no WebSocket")
        if headers.get("sec-websocket-accept") != accept:
            raise ProtocolError("the handshake's answer is not that to our key")
        if "sec-websocket-extensions" in headers or "sec-websocket-protocol" in headers:
            raise ProtocolError("the handshake's answer has what was not asked for")
        self._open = True
        return True

    def _next(self, start: int, messages: List[Payload]) -> int:
        """Reads the frame that begins there; gives its length, 0 while it is incomplete."""
        there = len(self._buffer) - start
        if there < 2:
            return 0
        first, second = self._buffer[start], self._buffer[start + 1]
        last, kind, length = bool(first & 0x80), first & 0x0F, second & 0x7F
        if first & 0x70:
            raise ProtocolError("a frame with reserved bits")
        if second & 0x80:
            raise ProtocolError("a frame of a server is not masked")
        if kind not in (_CONTINUATION, _TEXT, _BINARY, _CLOSE, _PING, _PONG):
            raise ProtocolError(f"a frame of kind {kind}")
        is_control = kind >= _CLOSE
        if is_control and (not last or length > 125):
            raise ProtocolError("a control frame in pieces, or of more than 125 bytes")
        header = 2
        if length == 126:
            header = 4
            if there < header:
                return 0
            (length,) = struct.unpack_from(">H", self._buffer, start + 2)
            if length < 126:
                raise ProtocolError("a length that has a shorter form")
        elif length == 127:
            header = 10
            if there < header:
                return 0
            (length,) = struct.unpack_from(">Q", self._buffer, start + 2)
            if length < 1 << 16:
                raise ProtocolError("a length that has a shorter form")
        if not is_control:
            if (kind == _CONTINUATION) != (self._kind is not None):
                raise ProtocolError("a message within a message, or one that goes on without having begun")
            if len(self._message) + length > self._limit:
                raise ProtocolError(f"a message of more than {self._limit} bytes")
        if there < header + length:
            return 0
        with memoryview(self._buffer) as view:
            payload = bytes(view[start + header : start + header + length])
        if is_control:
            self._control(kind, payload)
        else:
            self._piece(kind, last, payload, messages)
        return header + length

    def _piece(self, kind: int, last: bool, payload: bytes, messages: List[Payload]) -> None:
        kind = kind if self._kind is None else self._kind
        if self._kind is None and last:
            whole = payload
        else:
            self._kind = kind
            self._message += payload
            if not last:
                return
            whole = bytes(self._message)
            self._message.clear()
            self._kind = None
        messages.append(_text(whole) if kind == _TEXT else whole)

    def _control(self, kind: int, payload: bytes) -> None:
        if kind == _PING:
            self._answers += self._frame(_PONG, payload)
        elif kind == _CLOSE:
            if len(payload) == 1:
                raise ProtocolError("a close frame of one byte")
            self._answers += self._frame(_CLOSE, payload[:2])
            self._closed = True

    @property
    def is_closed(self) -> bool:
        """Whether the daemon has ended it."""
        return self._closed

    def _frame(self, kind: int, payload: bytes) -> bytes:
        length = len(payload)
        if length < 126:
            header = struct.pack(">BB", 0x80 | kind, 0x80 | length)
        elif length < 1 << 16:
            header = struct.pack(">BBH", 0x80 | kind, 0xFE, length)
        else:
            header = struct.pack(">BBQ", 0x80 | kind, 0xFF, length)
        mask = self._random(4)
        key = (mask * (length // 4 + 1))[:length]
        masked = int.from_bytes(payload, "little") ^ int.from_bytes(key, "little")
        return header + mask + masked.to_bytes(length, "little")


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ProtocolError(f"a text that is not UTF-8: {error.reason}") from None


Codec = Union[Lines, WebSocket]
