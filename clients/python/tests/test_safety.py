"""However a program ends, hangs or is ended, the robot stands: a second client looks."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import threading
import time
from typing import Any, Callable

import pytest
import sinew
import sinew.aio
from conftest import PATIENCE, STANDS_WITHIN, Daemon, Watcher

# In place, so that no wall ends what a test is about.
TURN = 0.5
Program = Callable[[str], "subprocess.Popen[str]"]

DRIVES = f"""
client = sinew.connect(ADDRESS, name="driver")
with client.robot("vacuum").drive(take=True) as drive:
    drive.velocity(0.0, {TURN})
    print("ready", flush=True)
    while True:
        drive.velocity(0.0, {TURN})
        time.sleep(0.05)
"""


def stopped_by(daemon: Daemon) -> Any:
    with sinew.connect(daemon.lines) as client:
        return client.robot("vacuum").report()["stopped_by"]


def who_stopped(daemon: Daemon) -> Any:
    """Who stopped it, as soon as the robot's state tells: that is a moment after the stop."""
    until = time.monotonic() + PATIENCE
    by = stopped_by(daemon)
    while by is None and time.monotonic() < until:
        time.sleep(0.01)
        by = stopped_by(daemon)
    return by


def test_leaving_the_block_stops_it_and_it_may_go_on_after(client: sinew.Client, daemon: Daemon, watcher: Watcher) -> None:
    vacuum = client.robot("vacuum")
    with vacuum.drive(take=True) as drive:
        drive.run(0.5, angular=TURN)
        drive.wheels(-0.05, 0.05)
        watcher.wait_moving()
        left = time.monotonic()
    assert watcher.stood(left) < STANDS_WITHIN
    # Zero does not last: the next to drive need not allow it first.
    assert stopped_by(daemon) is None
    with pytest.raises(sinew.SinewError, match="within the with block"):
        drive.velocity(0.1)
    with pytest.raises(sinew.SinewError, match="one with block"):
        with drive:
            with drive:
                pass


def test_run_drives_for_its_time_and_stands(client: sinew.Client, watcher: Watcher) -> None:
    with client.robot("vacuum").drive(take=True) as drive:
        begin = time.monotonic()
        drive.run(1.2, angular=TURN)
        assert time.monotonic() - begin >= 1.2
        assert watcher.moved(begin + 0.6), "it stood before its time was over"
        # Still within the block.
        assert watcher.stood(time.monotonic()) < STANDS_WITHIN


def test_an_exception_stops_it_for_good(client: sinew.Client, daemon: Daemon, watcher: Watcher) -> None:
    with pytest.raises(ZeroDivisionError):
        with client.robot("vacuum").drive(take=True) as drive:
            drive.velocity(0.0, TURN)
            watcher.wait_moving()
            drive.velocity(0.0, TURN)
            raised = time.monotonic()
            raise ZeroDivisionError
    assert watcher.stood(raised) < STANDS_WITHIN
    assert who_stopped(daemon) == client.name
    with pytest.raises(sinew.NotReady, match="robot.enable"):
        with client.robot("vacuum").drive(enable=False) as drive:
            drive.velocity(0.0, TURN)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_program_that_is_ended_stops_it(how: int, daemon: Daemon, watcher: Watcher, program: Program) -> None:
    process = program(DRIVES)
    watcher.wait_moving()
    sent = time.monotonic()
    process.send_signal(how)
    assert watcher.stood(sent) < STANDS_WITHIN
    process.wait(PATIENCE)
    assert "driver" in str(who_stopped(daemon))


def test_a_program_that_does_not_run_stops_it_and_it_does_not_go_on_by_itself(
    watcher: Watcher, program: Program
) -> None:
    process = program(
        f"""
client = sinew.connect(ADDRESS, name="driver")
with client.robot("vacuum").drive(take=True) as drive:
    print("ready", flush=True)
    drive.run(600, angular={TURN})
"""
    )
    watcher.wait_moving()
    sent = time.monotonic()
    process.send_signal(signal.SIGSTOP)
    assert watcher.stood(sent) < STANDS_WITHIN
    again = time.monotonic()
    process.send_signal(signal.SIGCONT)
    assert process.wait(PATIENCE) == 1
    assert watcher.stood(again) == 0.0, "it moved again after the pause"


@pytest.mark.parametrize("hold, within", [(None, STANDS_WITHIN), (0.8, 0.8 + STANDS_WITHIN)])
def test_a_caller_that_hangs_moves_it_no_longer_than_a_velocity_counts(
    hold: Any, within: float, client: sinew.Client, watcher: Watcher
) -> None:
    with client.robot("vacuum").drive(take=True, hold=hold) as drive:
        drive.velocity(0.0, TURN)
        watcher.wait_moving()
        drive.velocity(0.0, TURN)
        hung = time.monotonic()
        # The block is not left: nothing but the velocity's age can stop it.
        stood = watcher.stood(hung)
        assert stood < within
        if hold is not None:
            assert stood > hold / 2, "it was not held"
        # The caller is back, and so is the robot.
        drive.velocity(0.0, TURN)
        watcher.wait_moving()


def test_a_program_that_is_stopped_while_it_holds_a_velocity_moves_nothing_after(
    watcher: Watcher, program: Program
) -> None:
    process = program(
        f"""
client = sinew.connect(ADDRESS, name="driver")
with client.robot("vacuum").drive(take=True, hold=1.0) as drive:
    print("ready", flush=True)
    for _ in range(400):
        drive.velocity(0.0, {TURN})
        time.sleep(0.5)
        if sys.stdin.closed:
            break
"""
    )
    watcher.wait_moving()
    sent = time.monotonic()
    process.send_signal(signal.SIGSTOP)
    assert watcher.stood(sent) < STANDS_WITHIN
    again = time.monotonic()
    process.kill()
    process.wait(PATIENCE)
    assert watcher.stood(again) == 0.0


def test_others_stop_it_and_the_caller_is_told(client: sinew.Client, daemon: Daemon, watcher: Watcher) -> None:
    with pytest.raises(sinew.NotReady, match="other"):
        with client.robot("vacuum").drive(take=True) as drive, sinew.connect(daemon.lines, name="other") as other:
            threading.Timer(0.3, other.stop).start()
            drive.run(PATIENCE, angular=TURN)


def test_controls_that_were_taken_are_left_to_their_new_holder(
    client: sinew.Client, daemon: Daemon, watcher: Watcher
) -> None:
    with sinew.connect(daemon.lines, name="other") as other:
        theirs = other.robot("vacuum").drive(take=True)
        with pytest.raises(sinew.Busy, match="other"):
            with client.robot("vacuum").drive(take=True) as ours:
                ours.velocity(0.0, TURN)
                theirs.__enter__()
                theirs.velocity(0.0, TURN)
                ours.velocity(0.0, TURN)
        # What this client left did not stop the other one.
        theirs.velocity(0.0, TURN)
        watcher.wait_moving()
        theirs.__exit__(None, None, None)


def test_speeds_over_the_limit_and_numbers_that_are_none_move_nothing(client: sinew.Client, watcher: Watcher) -> None:
    with client.robot("vacuum").drive(take=True, hold=0.5) as drive:
        watcher.stood(time.monotonic())
        begin = time.monotonic()
        with pytest.raises(sinew.InvalidArgument):
            drive.velocity(drive.limits["linear"] * 2)
        with pytest.raises(ValueError):
            drive.velocity(float("nan"))
        assert watcher.stood(begin) == 0.0


def test_a_robot_without_wheels_is_not_driven(client: sinew.Client) -> None:
    with pytest.raises(sinew.Unsupported, match="g1 does not drive"):
        with client.robot("g1").drive():
            pass


def test_asyncio_leaving_the_block_stops_it(daemon: Daemon, watcher: Watcher) -> None:
    async def run() -> float:
        async with await sinew.aio.connect(daemon.lines, name="driver") as client:
            async with (await client.robot("vacuum")).drive(take=True, hold=1.0) as drive:
                await drive.run(0.3, angular=TURN)
                await drive.velocity(0.0, TURN)
                await asyncio.get_running_loop().run_in_executor(None, watcher.wait_moving)
                left = time.monotonic()
            assert await asyncio.get_running_loop().run_in_executor(None, watcher.stood, left) < STANDS_WITHIN
            with pytest.raises(sinew.SinewError, match="within the with block"):
                await drive.velocity(0.1)
            return left

    asyncio.run(run())
    assert "driver" in str(who_stopped(daemon))


def test_asyncio_a_task_that_is_cancelled_stops_it(daemon: Daemon, watcher: Watcher) -> None:
    async def drive(client: sinew.aio.Client) -> None:
        async with (await client.robot("vacuum")).drive(take=True) as drive:
            await drive.run(PATIENCE, angular=TURN)

    async def run() -> None:
        async with await sinew.aio.connect(daemon.lines, name="driver") as client:
            task = asyncio.ensure_future(drive(client))
            await asyncio.get_running_loop().run_in_executor(None, watcher.wait_moving)
            cancelled = time.monotonic()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            # The client is still connected: it was the block's end.
            assert await asyncio.get_running_loop().run_in_executor(None, who_stopped, daemon) == "driver"
            assert await asyncio.get_running_loop().run_in_executor(None, watcher.stood, cancelled) < STANDS_WITHIN

    asyncio.run(run())


def test_asyncio_a_loop_that_hangs_moves_it_no_longer_than_the_dead_man(daemon: Daemon, watcher: Watcher) -> None:
    async def run() -> None:
        async with await sinew.aio.connect(daemon.lines, name="driver") as client:
            async with (await client.robot("vacuum")).drive(take=True, hold=1.0) as drive:
                await drive.velocity(0.0, TURN)
                # Blocks the loop, and with it what would repeat the velocity.
                watcher.wait_moving()
                assert watcher.stood(time.monotonic()) < STANDS_WITHIN

    asyncio.run(run())
