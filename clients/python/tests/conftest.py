"""A daemon with simulated robots, and a second client that sees whether a robot moves."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable, Iterator, List, Optional, Tuple

import pytest
import sinew

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parents[1]
SINEW = os.environ.get("SINEW", str(ROOT / "target" / "debug" / "sinew"))
# What is waited for, at most: the machine may be busy.
PATIENCE = 30.0
# What a robot has to stand within after its client is gone or silent: the dead-man, and what a busy machine adds.
STANDS_WITHIN = 1.5


def until(what: str, check: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """Waits until something is so, and gives it."""
    end = time.monotonic() + patience
    while True:
        value = check()
        if value:
            return value
        assert time.monotonic() < end, f"not within {patience} s: {what}"
        time.sleep(0.01)


class Daemon:
    """The program, with robots of its own."""

    def __init__(
        self, directory: Path, *more: str, robots: Tuple[str, ...] = ("--vacuum", "sim:"), anywhere: bool = False
    ) -> None:
        self._arguments = [SINEW, "serve", "--json", *robots, "--tcp", "off", "--library", str(directory / "motions")]
        self._arguments += more
        self.lines = self.http = "0.0.0.0:0" if anywhere else "127.0.0.1:0"
        self.start()

    def start(self) -> None:
        """Starts it, on the ports that it had."""
        arguments = [*self._arguments, "--lines", self.lines, "--http", self.http]
        environment = {**os.environ, "SINEW_LOG": "error"}
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.process.stdout.close()
        assert line, f"the daemon ended before it listened: {self.process.wait()}"
        ready = json.loads(line)
        self.lines, self.http = ready["lines"], ready["http"]

    def close(self) -> None:
        if self.process.poll() is None:
            self.end()

    def end(self, how: int = signal.SIGTERM) -> None:
        self.process.send_signal(how)
        self.process.wait(PATIENCE)
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One for all tests that leave it as it was."""
    robots = ("--vacuum", "sim:", "--g1", "sim:")
    with contextlib.closing(Daemon(tmp_path_factory.mktemp("sinew"), robots=robots)) as daemon:
        yield daemon


@pytest.fixture
def daemon(shared: Daemon) -> Daemon:
    """The same, with robots that can be reached."""
    with sinew.connect(shared.lines) as client:
        for report in client.robots():
            client.robot(report["name"]).wait_ready()
    return shared


@pytest.fixture
def free(tmp_path: Path) -> Iterator[Daemon]:
    """One of its own, whose vacuum stands off its dock, with room around it."""
    with contextlib.closing(Daemon(tmp_path)) as daemon:
        with sinew.connect(daemon.lines) as client:
            robot = client.robot("vacuum")

            def is_off() -> bool:
                robot.wait_ready()
                # A machine that is busy pauses this program, or the robot's heartbeat: then it stands where it is.
                with contextlib.suppress(sinew.Paused, sinew.Refused), robot.drive() as drive:
                    drive.run(0.5, linear=0.25)
                return float(robot.report()["state"]["pose"]["x"]) > 0.35

            until("it is off its dock", is_off)
        yield daemon


@pytest.fixture
def client(daemon: Daemon) -> Iterator[sinew.Client]:
    with sinew.connect(daemon.lines) as client:
        yield client


class Watcher:
    """Sees by its own connection when the wheels of a robot turn, by what the robot counts."""

    def __init__(self, daemon: Daemon) -> None:
        self._client = sinew.connect(daemon.lines)
        self._changed = threading.Condition()
        self._seen: List[Tuple[float, Tuple[int, int]]] = []
        self._subscription = self._client.robot("vacuum").subscribe("sensors/gd32_status")
        self._subscription.on_event(self._see, lambda error: None)

    def _see(self, event: Any) -> None:
        values = event["data"]["values"]
        with self._changed:
            self._seen.append((time.monotonic(), (values["wheel_left"]["U16"], values["wheel_right"]["U16"])))
            self._changed.notify_all()

    def moved(self, since: float) -> Optional[float]:
        """When the wheels turned last since then, if they did."""
        times = [
            now for (_, before), (now, after) in zip(self._seen, self._seen[1:]) if now >= since and before != after
        ]
        return times[-1] if times else None

    def wait_moving(self) -> None:
        begin = time.monotonic()
        with self._changed:
            assert self._changed.wait_for(lambda: self.moved(begin), PATIENCE), "the robot does not move"

    def stood(self, since: float, still: int = 30) -> float:
        """Waits until the wheels stand for so many packets; gives how long after `since` they turned last."""

        def stands() -> bool:
            places = [place for _, place in self._seen[-still:]]
            return len(places) == still and len(set(places)) == 1 and self._seen[-still][0] > since

        with self._changed:
            assert self._changed.wait_for(stands, PATIENCE), "the robot goes on moving"
            last = self.moved(since)
        return 0.0 if last is None else last - since

    def close(self) -> None:
        self._subscription.close()
        self._client.close()


@pytest.fixture
def watcher(daemon: Daemon) -> Iterator[Watcher]:
    with contextlib.closing(Watcher(daemon)) as watcher:
        yield watcher


@pytest.fixture
def program(daemon: Daemon) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Runs a program of its own that has `robot`, and says `ready` when it is."""
    started: List[subprocess.Popen[str]] = []

    def run(body: str) -> subprocess.Popen[str]:
        text = f"import asyncio, sinew, sinew.aio, sys, time\nADDRESS = {daemon.lines!r}\n{body}\n"
        process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line == "ready\n", line
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
