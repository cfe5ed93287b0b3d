"""Driving, as a `with` block at whose end the robot stands."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, Optional, Type

from . import api
from ._core import STOP_TIMEOUT
from ._hold import MAX_HOLD, Hold, Speeds, now
from .errors import Busy, ConnectionLost, NotReady, Refused, SinewError, Unsupported

if TYPE_CHECKING:
    from .robot import Robot


class Paused(SinewError):
    """This program did not run for longer than a velocity counts, so the robot was stopped."""


class Drive:
    """The wheels of a robot.

    Entering it clears a stop (`enable=False` leaves one in force) and, with `take`, takes the controls. The end of the
    block stops the robot, by zero velocity; an exception, Ctrl-C too, by a stop that lasts until `enable`. A process
    that is killed loses its connection, which stops the robot, too.

    A velocity counts for the daemon's dead-man (`limits["deadman_ms"]`, 300 ms by default): a caller that hangs moves
    nothing for longer. With `hold`, at most 1 s, it is repeated on the caller's behalf for so long after each
    call, and then the robot is stopped: for callers that think for longer than the dead-man.
    """

    def __init__(self, robot: Robot, take: bool, enable: bool, hold: Optional[float]) -> None:
        if hold is not None and not 0 < hold <= MAX_HOLD:
            raise ValueError(f"hold is over 0 and at most {MAX_HOLD} s, not {hold}")
        self._robot, self._take, self._enable, self._hold_time = robot, take, enable, hold
        # Held while a velocity is chosen and sent, so that none is overtaken by an older one.
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._is_entered = False
        self._lost_controls = False
        self._failure: Optional[SinewError] = None
        self._zero: Speeds = {"linear": 0.0, "angular": 0.0}
        self.limits: api.Limits = {"linear": 0.0, "angular": 0.0, "deadman_ms": 0}
        self._hold: Optional[Hold] = None

    def __enter__(self) -> Drive:
        if self._is_entered:
            raise SinewError("a Drive is for one with block")
        self.limits = limits_of(self._robot.report())
        if self._take:
            self._robot.take_control()
        if self._enable:
            self._robot.enable()
        self._is_entered = True
        if self._hold_time is not None:
            self._hold = Hold(self._deadman, self._hold_time)
            threading.Thread(target=self._keep, args=(self._hold,), name="sinew drive", daemon=True).start()
        return self

    def velocity(self, linear: float, angular: float = 0.0) -> None:
        """Metres and radians a second; counts for the dead-man, or `hold`. Raises why not, if it is refused."""
        self._drive({"linear": linear, "angular": angular})

    def wheels(self, left: float, right: float) -> None:
        """The same by wheel, in metres a second."""
        self._drive({"left": left, "right": right})

    def run(self, seconds: float, linear: float = 0.0, angular: float = 0.0) -> None:
        """Drives for so long, then stands. The caller's own thread repeats the velocity: if it hangs, it ends."""
        hold = Hold(self._deadman, seconds)
        speeds = {"linear": linear, "angular": angular}
        hold.set(now(), speeds)
        self._drive(speeds, repeat=False)
        while hold.is_held:
            time.sleep(hold.wait(now()))
            again = hold.poll(now())
            if again is not None:
                self._drive(again, repeat=False)
        if hold.was_paused:
            raise Paused("this program did not run for a while; the robot was stopped")

    def stop(self) -> None:
        """Stands still; the next velocity moves it again. (`robot.stop()` is the one that lasts.)"""
        self._drive(dict(self._zero))

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._ended.set()
        self._is_entered = False
        if self._hold is not None:
            self._hold.clear()
        # Another client has the controls: nothing of ours moves, and what does is the other's.
        if self._lost_controls:
            return
        if error is None:
            with contextlib.suppress(NotReady):
                # Stopped already is well, too.
                with self._lock:
                    self._send(self._zero)
            return
        # The first exception is the one to tell. If a stop cannot be sent the connection is lost, or closed by it,
        # and the daemon stops the robot.
        with contextlib.suppress(SinewError):
            self._robot.stop()

    @property
    def _deadman(self) -> float:
        return self.limits["deadman_ms"] / 1000

    def _drive(self, speeds: Speeds, repeat: bool = True) -> None:
        if not self._is_entered:
            raise SinewError("a robot is driven within the with block")
        checked(speeds)
        with self._lock:
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
            if self._hold is not None:
                if repeat:
                    self._hold.set(now(), speeds)
                else:
                    self._hold.clear()
            self._zero = {name: 0.0 for name in speeds}
            self._send(speeds)

    def _send(self, speeds: Speeds) -> None:
        """With its reply: never more than one is on its way, so that old ones cannot pile up."""
        try:
            self._robot.ask(configure(speeds), STOP_TIMEOUT)
        except SinewError as error:
            if self._hold is not None:
                self._hold.clear()
            if isinstance(error, Busy) and error.is_held:
                self._lost_controls = True
            raise

    def _keep(self, hold: Hold) -> None:
        """Repeats the newest velocity for as long as it counts."""
        while not self._ended.wait(hold.refresh / 2):
            with self._lock:
                again = hold.poll(now())
                if again is None:
                    continue
                try:
                    self._send(again)
                except (Refused, ConnectionLost, TimeoutError) as error:
                    # Told with the caller's next velocity.
                    self._failure = error if isinstance(error, SinewError) else None


def checked(speeds: Speeds) -> None:
    """What is no number is neither sent nor held."""
    if not all(math.isfinite(speed) for speed in speeds.values()):
        raise ValueError(f"speeds are numbers, not {speeds}")


def configure(speeds: Speeds) -> Dict[str, Any]:
    """The command for a velocity."""
    config = {name: {"F32": float(speed)} for name, speed in speeds.items()}
    return {"type": "ComponentControl", "id": "drive", "action": {"type": "Configure", "config": config}}


def limits_of(report: api.RobotReport) -> api.Limits:
    limits = report.get("limits")
    if limits is None:
        raise Unsupported(f"{report['name']} does not drive", "unsupported")
    return limits
