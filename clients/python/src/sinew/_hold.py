"""How long a velocity counts that its caller does not repeat. No I/O, no clock.

The daemon's dead-man ends a velocity some 300 ms after it came. A caller that thinks for longer than that may have
its velocity repeated, for a time that it gives and that is bounded. After it, and after any pause of this
program in which the dead-man may have ended it, the velocity is gone: it never comes back by itself.
"""

from __future__ import annotations

import time
from typing import Dict, Optional

# Speeds by their names: linear and angular, or left and right.
Speeds = Dict[str, float]

# A program that hangs moves a robot for no longer than this.
MAX_HOLD = 1.0


def now() -> float:
    """Seconds by a clock that goes on while the computer sleeps, where there is one."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class Hold:
    """The newest velocity, and until when it is repeated."""

    def __init__(self, deadman: float, hold: float) -> None:
        self._deadman = deadman
        self._hold = hold
        self.refresh = deadman / 3
        self._speeds: Optional[Speeds] = None
        self._until = 0.0
        self._sent = 0.0
        # Whether it ended because this program did not run.
        self.was_paused = False

    def set(self, at: float, speeds: Speeds) -> None:
        """The caller gave a velocity, which is sent now."""
        moves = any(speed != 0 for speed in speeds.values())
        self._speeds = speeds if moves else None
        self._until = at + self._hold
        self._sent = at
        self.was_paused = False

    def clear(self) -> None:
        """Nothing is repeated any more."""
        self._speeds = None

    @property
    def is_held(self) -> bool:
        return self._speeds is not None

    def poll(self, at: float) -> Optional[Speeds]:
        """What to send now, if anything: the velocity again, or zero when its time is over."""
        if self._speeds is None:
            return None
        if at - self._sent > self._deadman:
            self.was_paused = True
        if self.was_paused or at >= self._until:
            zero = {name: 0.0 for name in self._speeds}
            self._speeds = None
            return zero
        if at - self._sent >= self.refresh:
            self._sent = at
            return self._speeds
        return None

    def wait(self, at: float) -> float:
        """Seconds until there may be something to send."""
        return max(0.0, min(self._sent + self.refresh, self._until) - at)
