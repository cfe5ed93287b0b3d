"""How long a velocity counts, in virtual time."""

from __future__ import annotations

from typing import List, Optional, Tuple

import pytest
import sinew
from sinew._hold import MAX_HOLD, Hold, now

FORWARD = {"linear": 0.2, "angular": 0.0}
ZERO = {"linear": 0.0, "angular": 0.0}


def polled(hold: Hold, times: List[float]) -> List[Tuple[float, dict[str, float]]]:
    sent: List[Tuple[float, Optional[dict[str, float]]]] = [(at, hold.poll(at)) for at in times]
    return [(at, speeds) for at, speeds in sent if speeds is not None]


def test_a_velocity_is_repeated_within_the_dead_man_until_its_time_is_over_then_zero_once() -> None:
    hold = Hold(0.3, 1.0)
    hold.set(10.0, FORWARD)
    sent = polled(hold, [10 + step * 0.05 for step in range(60)])
    *repeats, (end, last) = sent
    assert all(speeds == FORWARD for _, speeds in repeats)
    times = [10.0, *(at for at, _ in repeats)]
    assert all(after - before < 0.2 for before, after in zip(times, times[1:]))
    assert last == ZERO and 11.0 <= end < 11.06
    assert not hold.is_held and not hold.was_paused


def test_a_caller_that_keeps_it_fresh_keeps_it() -> None:
    hold = Hold(0.3, 0.5)
    for step in range(100):
        at = step * 0.1
        if step % 4 == 0:
            hold.set(at, FORWARD)
        assert hold.poll(at) in (None, FORWARD)
    assert hold.is_held


def test_after_a_pause_longer_than_the_dead_man_it_never_comes_back() -> None:
    hold = Hold(0.3, 1.0)
    hold.set(0.0, FORWARD)
    assert hold.poll(0.31) == ZERO
    assert hold.was_paused and hold.poll(0.32) is None
    hold.set(0.4, FORWARD)
    assert not hold.was_paused and hold.is_held


def test_zero_and_clear_end_it() -> None:
    hold = Hold(0.3, 1.0)
    hold.set(0.0, FORWARD)
    hold.set(0.01, ZERO)
    assert polled(hold, [0.2, 0.4, 2.0]) == []
    hold.set(3.0, {"left": 0.1, "right": -0.1})
    assert hold.poll(4.5) == {"left": 0.0, "right": 0.0}
    hold.set(5.0, FORWARD)
    hold.clear()
    assert polled(hold, [5.2, 7.0]) == []


def test_it_says_when_to_look_again() -> None:
    hold = Hold(0.3, 0.25)
    hold.set(0.0, FORWARD)
    assert hold.wait(0.0) == pytest.approx(0.1)
    assert hold.poll(0.1) == FORWARD and hold.poll(0.2) == FORWARD
    assert hold.wait(0.2) == pytest.approx(0.05) and hold.wait(9.0) == 0.0


def test_a_hold_has_a_limit(client: sinew.Client) -> None:
    for wrong in (0.0, -1.0, MAX_HOLD + 0.01, float("nan")):
        with pytest.raises(ValueError, match="hold is over 0"):
            client.robot("vacuum").drive(hold=wrong)
    assert now() <= now()
