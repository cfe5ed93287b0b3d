"""Where messages begin and end, whatever comes."""

from __future__ import annotations

import random
import struct
from typing import Any, Callable, List, Tuple

import pytest
from sinew._codec import HEADER_LIMIT, Lines, Payload, WebSocket
from sinew.errors import ProtocolError

# The example of RFC 6455, section 1.3.
KEY = b"the sample nonce"
ANSWER = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
)


def fixed(length: int) -> bytes:
    return KEY[:length]


def opened(limit: int = 1 << 20) -> WebSocket:
    codec = WebSocket("127.0.0.1:8787", limit=limit, random=fixed)
    assert codec.feed(ANSWER) == [] and codec.is_open
    return codec


def frame(kind: int, payload: bytes, last: bool = True) -> bytes:
    first = (0x80 if last else 0) | kind
    if len(payload) < 126:
        return struct.pack(">BB", first, len(payload)) + payload
    if len(payload) < 1 << 16:
        return struct.pack(">BBH", first, 126, len(payload)) + payload
    return struct.pack(">BBQ", first, 127, len(payload)) + payload


def fed(codec: Any, pieces: List[bytes]) -> List[Payload]:
    return [message for piece in pieces for message in codec.feed(piece)]


LINES = b'{"a":1}\n\r\n  \n{"b":"\xc3\xbc"}\r\n{"c":3}\n'
LINES_SAY: List[Payload] = ['{"a":1}', '{"b":"ü"}\r', '{"c":3}']
SHORT = b"".join(
    [
        frame(1, b'{"a":1}'),
        frame(9, b"hm"),
        frame(1, b"\xc3", last=False),
        frame(9, b""),
        frame(0, b"\xbc"),
        frame(10, b"unasked"),
        frame(2, bytes(range(256)) * 2),
    ]
)
FRAMES = SHORT + frame(2, b"", last=False) + frame(0, b"x" * 70000)
FRAMES_SAY: List[Payload] = ['{"a":1}', "ü", bytes(range(256)) * 2, b"x" * 70000]
CASES: List[Tuple[Callable[[], Any], bytes, List[Payload]]] = [
    (Lines, LINES, LINES_SAY),
    (opened, FRAMES, FRAMES_SAY),
    (lambda: WebSocket("h", random=fixed), ANSWER + SHORT, FRAMES_SAY[:3]),
]


@pytest.mark.parametrize("make, data, says", CASES, ids=["lines", "frames", "handshake"])
def test_messages_come_out_the_same_wherever_the_bytes_are_split(
    make: Callable[[], Any], data: bytes, says: List[Payload]
) -> None:
    assert fed(make(), [data]) == says
    head, tail = data[:700], data[700:]
    assert fed(make(), [bytes([byte]) for byte in head] + [tail]) == says
    for cut in range(len(head)):
        assert fed(make(), [data[:cut], data[cut:]]) == says


@pytest.mark.parametrize("make, data, says", CASES, ids=["lines", "frames", "handshake"])
def test_every_truncation_gives_a_beginning_of_the_messages(
    make: Callable[[], Any], data: bytes, says: List[Payload]
) -> None:
    for length in range(min(len(data), 900)):
        messages = fed(make(), [data[:length]])
        assert messages == says[: len(messages)] and len(messages) < len(says)


@pytest.mark.parametrize("make", [Lines, opened, lambda: WebSocket("h", random=fixed)])
def test_rubbish_raises_nothing_but_a_protocol_error(make: Callable[[], Any]) -> None:
    chance = random.Random(1)
    refused = 0
    for _ in range(2000):
        codec = make()
        try:
            for _ in range(4):
                codec.feed(bytes(chance.randrange(256) for _ in range(chance.randrange(40))))
        except ProtocolError:
            refused += 1
    assert refused or isinstance(make(), WebSocket) and not make().is_open


def test_a_flipped_bit_raises_nothing_but_a_protocol_error() -> None:
    data = ANSWER + SHORT
    for place in range(len(data) * 8):
        flipped = bytearray(data)
        flipped[place // 8] ^= 1 << place % 8
        try:
            WebSocket("h", random=fixed).feed(bytes(flipped))
        except ProtocolError:
            pass


def test_a_line_over_the_limit_ends_it_whether_it_ends_or_not() -> None:
    assert Lines(limit=4).feed(b"1234\n") == ["1234"]
    for data in (b"12345", b"12345\n"):
        with pytest.raises(ProtocolError, match="more than 4 bytes"):
            Lines(limit=4).feed(data)


def test_a_message_over_the_limit_is_refused_by_its_length_before_it_comes() -> None:
    for head in (struct.pack(">BBH", 0x82, 126, 4097), struct.pack(">BBQ", 0x82, 127, 1 << 63)):
        with pytest.raises(ProtocolError, match="more than 4096 bytes"):
            opened(limit=4096).feed(head)
    with pytest.raises(ProtocolError, match="more than 4096 bytes"):
        opened(limit=4096).feed(frame(2, b"x" * 4000, last=False) + frame(0, b"x" * 97))


@pytest.mark.parametrize(
    "data, why",
    [
        (b"\xc1\x00", "reserved bits"),
        (b"\x83\x00", "kind 3"),
        (b"\x8b\x00", "kind 11"),
        (b"\x81\x80", "not masked"),
        (b"\x09\x00", "control frame"),
        (b"\x89\x7e\x00\x7e", "control frame"),
        (b"\x81\x7e\x00\x7d", "shorter form"),
        (b"\x81\x7f" + struct.pack(">Q", 65535), "shorter form"),
        (b"\x80\x00", "without having begun"),
        (b"\x01\x00\x81\x00", "within a message"),
        (b"\x81\x01\xff", "UTF-8"),
        (b"\x88\x01\x00", "one byte"),
    ],
)
def test_what_a_server_must_not_send_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(ProtocolError, match=why):
        opened().feed(data)


@pytest.mark.parametrize(
    "old, new, why",
    [
        (b"101 Switching", b"200 OK", "answered"),
        (b"HTTP/1.1", b"SSH-2.0", "answered"),
        (b"s3pPLMBi", b"00000000", "our key"),
        (b"Upgrade: websocket", b"Upgrade: h2c", "no WebSocket"),
        (b"Connection: Upgrade", b"Connection: close", "no WebSocket"),
        (b"\r\n\r\n", b"\r\nSec-WebSocket-Extensions: x\r\n\r\n", "not asked for"),
        (b"Connection: Upgrade", b"rubbish", "no header"),
    ],
)
def test_a_handshake_that_is_not_ours_is_refused(old: bytes, new: bytes, why: str) -> None:
    with pytest.raises(ProtocolError, match=why):
        WebSocket("h", random=fixed).feed(ANSWER.replace(old, new))


def test_a_handshake_without_an_end_is_refused() -> None:
    codec = WebSocket("h", random=fixed)
    codec.feed(b"x" * HEADER_LIMIT)
    with pytest.raises(ProtocolError, match="more than"):
        codec.feed(b"x")


def test_the_handshake_is_that_of_the_standard() -> None:
    text = WebSocket("127.0.0.1:8787", random=fixed).opening().decode()
    assert text.startswith("GET /ws HTTP/1.1\r\nHost: 127.0.0.1:8787\r\n") and text.endswith("\r\n\r\n")
    assert "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" in text
    for wrong in ("a b", "a\r\nX: y", "ü"):
        with pytest.raises(ValueError):
            WebSocket(wrong)


@pytest.mark.parametrize("length", [0, 1, 125, 126, 65535, 65536])
def test_what_is_sent_is_masked_and_has_the_shortest_length(length: int) -> None:
    text = ("0123456789" * 7000)[:length]
    sent = opened().encode(text)
    assert sent[0] == 0x81 and sent[1] & 0x80
    short = sent[1] & 0x7F
    start = {126: 4, 127: 10}.get(short, 2)
    declared = int.from_bytes(sent[2:start], "big") if start > 2 else short
    assert declared == length and start == (2 if length < 126 else 4 if length < 65536 else 10)
    mask, masked = sent[start : start + 4], sent[start + 4 :]
    assert bytes(byte ^ mask[place % 4] for place, byte in enumerate(masked)) == text.encode()


def test_a_ping_is_answered_with_its_bytes_and_a_close_once() -> None:
    codec = opened()
    codec.feed(frame(9, b"hm"))
    pong = codec.answers()
    assert pong[:2] == b"\x8a\x82" and bytes(a ^ b for a, b in zip(pong[6:], pong[2:6])) == b"hm"
    assert codec.answers() == b""
    codec.feed(frame(8, struct.pack(">H", 1001) + b"bye") + frame(1, b"after"))
    assert codec.is_closed and codec.answers()[:2] == b"\x88\x82" and codec.closing() == b""
