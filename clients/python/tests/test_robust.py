"""Daemons that end, come back, ask for a token, are slow to be read, or are none."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Callable, Iterator, List, Tuple

import pytest
import sinew
import sinew.aio
from conftest import PATIENCE, SINEW, Daemon
from sinew._core import Address

CONTROL, READ = "control-secret-of-tests", "read-secret-of-tests"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Callable[..., Daemon]]:
    started: List[Daemon] = []

    def start(*more: str, **rest: Any) -> Daemon:
        started.append(Daemon(tmp_path, *more, **rest))
        return started[-1]

    yield start
    for daemon in started:
        daemon.close()


def test_a_daemon_that_is_killed_is_told_and_one_that_comes_back_is_found(own: Callable[..., Daemon]) -> None:
    daemon = own()
    client = sinew.connect(daemon.lines)
    subscription = client.subscribe("sensors/gd32_status", timeout=PATIENCE)
    next(subscription)
    daemon.end(signal.SIGKILL)
    with pytest.raises(sinew.ConnectionLost):
        client.ping()
    with pytest.raises(sinew.ConnectionLost):
        for _ in subscription:
            pass
    assert not client.is_open
    with pytest.raises(sinew.ConnectionLost, match="no daemon answers"):
        sinew.connect(daemon.lines)
    # It comes back while it is waited for.
    again = threading.Timer(0.3, daemon.start)
    again.start()
    with sinew.connect(daemon.lines, wait=PATIENCE) as anew:
        anew.robot("vacuum").wait_ready()
    again.join()
    client.close()
    subscription.close()


def wait_frozen(pid: int) -> None:
    """Waits until no thread of a process runs any more: a signal says when that begins, not when it is so."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        states = [stat.read_text().rsplit(")", 1)[1].split()[0] for stat in Path(f"/proc/{pid}/task").glob("*/stat")]
        if all(state == "T" for state in states):
            return
        time.sleep(0.001)
    raise AssertionError("it still runs")


def test_a_request_that_waits_is_told_when_the_daemon_is_killed(own: Callable[..., Daemon]) -> None:
    daemon = own()
    with sinew.connect(daemon.lines) as client, client.subscribe("events") as events:
        told: List[Exception] = []
        ended = threading.Event()

        def end(error: Exception) -> None:
            told.append(error)
            ended.set()

        events.on_event(lambda event: None, end)
        daemon.end(signal.SIGKILL)
        assert ended.wait(PATIENCE) and isinstance(told[0], sinew.ConnectionLost)

    async def asynchronous() -> None:
        daemon.start()
        async with await sinew.aio.connect(daemon.lines) as client:
            subscription = await client.subscribe("events")
            # Stopped, it answers nothing; killed, it ends what waits.
            daemon.process.send_signal(signal.SIGSTOP)
            wait_frozen(daemon.process.pid)
            waiting = [asyncio.ensure_future(client.ping()), asyncio.ensure_future(subscription.next())]
            await asyncio.sleep(0)
            daemon.end(signal.SIGKILL)
            for each in await asyncio.gather(*waiting, return_exceptions=True):
                assert isinstance(each, sinew.ConnectionLost)
            with pytest.raises(sinew.ConnectionLost):
                await client.ping()

    asyncio.run(asynchronous())


@pytest.fixture
def fast_robot(tmp_path: Path) -> Iterator[str]:
    """The link of a simulated robot that sends ten times as often."""
    arguments = [SINEW, "sim", "vacuum", "--rate", "500", "--json"]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stdout is not None
    yield json.loads(process.stdout.readline())["link"]
    process.terminate()
    process.wait(PATIENCE)
    process.stdout.close()


def narrow(address: Any, timeout: float) -> socket.socket:
    """A connection for which the system keeps little."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    connection.settimeout(timeout)
    connection.connect(address)
    return connection


def test_a_slow_reader_loses_the_oldest_and_is_told_how_many(
    own: Callable[..., Daemon], fast_robot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = own(robots=("--vacuum", fast_robot))
    with sinew.connect(daemon.lines) as client:
        monkeypatch.setattr(socket, "create_connection", narrow)
        group = "sensors/gd32_status"
        with client.subscribe(group) as slow, client.subscribe(group, timeout=PATIENCE) as quick:
            monkeypatch.undo()
            times = []
            # The other one is the clock: this one reads one in eight, and stays behind until something is left out.
            for number, _ in enumerate(quick):
                if number % 8 == 0 or slow.lost:
                    event = slow.next(PATIENCE)
                    assert event is not None
                    times.append(event["data"]["timestamp_us"])
                if slow.lost:
                    break
                assert number < 20_000, "it was told nothing"
            assert quick.lost == 0
        # What was left out is what is missing: packets come every 2 ms, as far as the machine lets them.
        missing = (times[-1] - times[-2]) / 2000
        assert slow.lost == pytest.approx(missing, rel=0.3)


def test_tokens_say_what_a_client_may(own: Callable[..., Daemon], tmp_path: Path, monkeypatch: Any) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"control {CONTROL}\nread {READ}\n")
    file.chmod(0o600)
    # On loopback none is needed.
    daemon = own("--token-file", str(file), robots=("--vacuum", "sim:", "--g1", "sim:"), anywhere=True)
    for address in (daemon.lines, f"ws://{daemon.http}"):
        with pytest.raises(sinew.Unauthorized):
            with sinew.connect(address) as stranger:
                stranger.robots()
        with pytest.raises(sinew.Unauthorized):
            sinew.connect(address, token="wrong" * 5)
        with sinew.connect(address, token=READ) as reader:
            assert reader.access == "read" and len(reader.robots()) == 2
            with pytest.raises(sinew.Unauthorized, match="SINEW_TOKEN"):
                reader.robot("vacuum").component("vacuum").enable()
            reader.stop()
    monkeypatch.setenv("SINEW_TOKEN", CONTROL)
    with sinew.connect(daemon.lines) as client:
        g1 = client.robot("g1")
        g1.wait_ready()
        g1.mapping.start()
        with g1.clouds(timeout=PATIENCE) as clouds:
            assert next(clouds).count > 0
        with g1.map_frames(timeout=PATIENCE) as frames:
            world = sinew.Map()
            while not len(world):
                world.take(next(frames))
        g1.mapping.save(tmp_path / "map.ply", "ply")
    assert os.path.getsize(tmp_path / "map.ply") > 100


class Fake:
    """A server that answers a connection's first bytes with its own, and then with each of the others."""

    def __init__(self, *answers: bytes, ends: bool = False) -> None:
        self._answers, self._ends = answers, ends
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._peers: List[socket.socket] = []
        self.address = "127.0.0.1:%d" % self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self._socket.accept()
                self._peers.append(peer)
                for answer in self._answers:
                    peer.recv(1 << 16)
                    peer.sendall(answer)
                if self._ends:
                    peer.close()

    def __enter__(self) -> Fake:
        return self

    def __exit__(self, *_: object) -> None:
        for each in [self._socket, *self._peers]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._thread.join(PATIENCE)


WELCOME = b'{"type":"Reply","req":1,"ok":true,"data":{"access":"control","name":"x"}}\n'
CASES: List[Tuple[str, Tuple[bytes, ...], Any]] = [
    ("", (b"HTTP/1.1 400 Bad Request\r\n\r\n",), sinew.ProtocolError),
    ("", (WELCOME, b"\xff\xfe\n"), sinew.ProtocolError),
    ("", (WELCOME, b"[1,2]\n"), sinew.ProtocolError),
    ("", (WELCOME, b"x" * (17 << 20)), sinew.ProtocolError),
    ("", (WELCOME, b'{"type":"Reply","req":77,"ok":true}\n{"type":"Weather"}\n'), sinew.TimedOut),
    ("ws://", (b"HTTP/1.1 404 Not Found\r\n\r\n",), sinew.ProtocolError),
    ("ws://", (b"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",), sinew.ProtocolError),
    ("ws://", (b"x" * 20000,), sinew.ProtocolError),
]


@pytest.mark.parametrize("scheme, answers, kind", CASES)
def test_what_is_no_daemon_is_noticed_and_left(scheme: str, answers: Tuple[bytes, ...], kind: Any) -> None:
    with Fake(*answers) as fake:
        with pytest.raises(kind):
            with sinew.connect(scheme + fake.address, timeout=2.0) as client:
                client.ping()

        async def run() -> None:
            async with await sinew.aio.connect(scheme + fake.address, timeout=2.0) as client:
                await client.ping()

        # There the handshake has the whole time-out, and its error the words.
        with pytest.raises((kind, sinew.ConnectionLost)):
            asyncio.run(run())


def test_a_server_that_says_nothing_or_hangs_up_is_told(daemon: Daemon) -> None:
    with Fake() as silent:
        begin = time.monotonic()
        with pytest.raises(sinew.TimedOut, match="no reply to Auth"):
            sinew.connect(silent.address, timeout=0.2)
        with pytest.raises((sinew.TimedOut, sinew.ConnectionLost)):
            sinew.connect(f"ws://{silent.address}", timeout=0.2)
        assert time.monotonic() - begin < PATIENCE
    with Fake(WELCOME, ends=True) as ends:
        with sinew.connect(ends.address) as client, pytest.raises(sinew.ConnectionLost):
            client.ping()


def test_a_file_that_comes_in_part_leaves_the_old_one_as_it_was(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "map.ply"
    file.write_text("old")
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"
    refused = b'{"ok":false,"error":{"code":"busy","message":"later"}}'
    refusal = b"HTTP/1.1 503 x\r\nContent-Length: %d\r\n\r\n%s" % (len(refused), refused)
    cases: Any = [(half, sinew.ConnectionLost), (b"rubbish\r\n\r\n", sinew.ConnectionLost), (refusal, sinew.Busy)]
    for answer, kind in cases:
        with Fake(answer, ends=True) as fake, sinew.connect(daemon.lines) as client:
            monkeypatch.setattr(client, "_frames_address", Address.parse(f"ws://{fake.address}"))
            with pytest.raises(kind):
                client.robot("g1").mapping.save(file, "ply")
    assert file.read_text() == "old" and list(tmp_path.iterdir()) == [file]


def test_a_stop_that_is_not_answered_closes_the_connection() -> None:
    with Fake(WELCOME) as fake, sinew.connect(fake.address) as client:
        with pytest.raises(sinew.TimedOut):
            client.stop()
        assert not client.is_open
