"""The client and a real daemon with simulated robots."""

from __future__ import annotations

import asyncio
import io
import threading
import time
from typing import Any, Dict, List, Tuple

import pytest
import sinew
import sinew.aio
from conftest import PATIENCE, Daemon


@pytest.mark.parametrize("way", ["lines", "websocket"])
def test_a_client_asks_on_either_port(daemon: Daemon, way: str) -> None:
    address = daemon.lines if way == "lines" else f"ws://{daemon.http}"
    with sinew.connect(address, name="ann@laptop") as client:
        assert client.access == "control" and client.name == "ann@laptop"
        assert abs(client.ping()["time_ms"] / 1000 - time.time()) < PATIENCE
        assert [report["name"] for report in client.robots()] == ["vacuum", "g1"]
        vacuum = client.robot(can="drive")
        assert vacuum.name == "vacuum" and vacuum.report()["kind"] == "crl200s"
        vacuum.component("led").configure(state=3)
        assert vacuum.report()["holder"] == "ann@laptop"
        states = vacuum.states(timeout=PATIENCE)
        assert next(report for report in states if report["state"]["led"] == 3)["name"] == "vacuum"
        states.close()  # type: ignore[attr-defined]
    assert not client.is_open
    with pytest.raises(sinew.ConnectionLost, match="closed here"):
        client.ping()


def test_robots_that_are_not_meant_are_told(client: sinew.Client) -> None:
    for arguments in ({}, {"name": "none"}, {"can": "mapping"}):
        chosen: Any = arguments
        with pytest.raises(sinew.SinewError, match="there are: vacuum, g1"):
            client.robot(**chosen)


def test_readings_and_events_come(client: sinew.Client) -> None:
    vacuum = client.robot("vacuum")
    reading = next(iter(vacuum.readings("gd32_status", timeout=PATIENCE)))
    assert reading["battery_level"] == 75 and reading["bumper_left"] is False
    vacuum.enable()
    with vacuum.events(timeout=PATIENCE) as events:
        vacuum.stop()
        vacuum.enable()
        kinds = [event["data"]["event"] for _, event in zip(range(2), events)]
    assert kinds == ["stopped", "enabled"]


def test_iterating_has_a_time_out_and_ends_when_it_is_closed(client: sinew.Client) -> None:
    with client.subscribe("events", timeout=0.05) as quiet:
        assert quiet.next(0.01) is None
        with pytest.raises(sinew.TimedOut, match="nothing has come for 0.05 s"):
            next(iter(quiet))
    subscription = client.subscribe("events")
    ended = threading.Event()

    def read() -> None:
        for _ in subscription:
            pass
        ended.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    subscription.close()
    assert ended.wait(PATIENCE)


def test_callbacks_may_ask_and_what_they_raise_is_told(client: sinew.Client) -> None:
    heard: List[Dict[str, Any]] = []
    told: List[Exception] = []
    done = threading.Event()

    def call(event: sinew.api.Event) -> None:
        heard.append(dict(client.ping()))
        raise KeyError(event["topic"])

    def end(error: Exception) -> None:
        told.append(error)
        done.set()

    client.robot("vacuum").subscribe("sensors/gd32_status").on_event(call, end)
    assert done.wait(PATIENCE)
    assert len(heard) == 1 and isinstance(told[0], KeyError)


def test_refusals_are_typed_and_say_what_helps(client: sinew.Client, daemon: Daemon) -> None:
    vacuum = client.robot("vacuum")
    with pytest.raises(sinew.NotConfirmed, match="pass confirm=True") as refused:
        vacuum.component("imu").reset()
    assert (refused.value.code, refused.value.remedy) == ("not_confirmed", "confirm")
    vacuum.ask({"type": "Raw", "command": "0x8D", "payload": "02", "confirm": True})
    with pytest.raises(sinew.InvalidArgument, match="speed"):
        vacuum.component("vacuum").configure(speed=101)
    with pytest.raises(sinew.Unsupported):
        vacuum.teach.list()
    with pytest.raises(sinew.NotFound):
        client.stop("none")
    with pytest.raises(sinew.NotFound, match="sensors"):
        client.subscribe("sensors/none", robot="vacuum")
    with pytest.raises(sinew.Unsupported):
        client.subscribe("map", robot="g1")
    with sinew.connect(daemon.lines) as other:
        with pytest.raises(sinew.Busy, match="robot.take_control") as busy:
            other.robot("vacuum").component("vacuum").disable()
        assert busy.value.is_held
        assert other.robot("vacuum").take_control() == client.name
        other.robot("vacuum").component("vacuum").disable()
    # The connection has survived all of it.
    assert client.ping()["build"]


def test_a_bad_number_is_not_sent_and_costs_nothing(client: sinew.Client) -> None:
    with pytest.raises(ValueError, match="cannot be sent"):
        client.robot("vacuum").component("vacuum").configure(speed=float("nan"))
    assert client.ping()["build"]


def test_threads_share_a_client_and_a_stop_waits_for_none_of_them(client: sinew.Client) -> None:
    g1, failures = client.robot("g1"), []
    stop = threading.Event()

    def ask() -> None:
        try:
            while not stop.is_set():
                assert len(g1.teach.list()) > 5
                assert client.robots()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        client.stop("vacuum")
    stop.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert failures == []


def test_a_motion_is_taught_played_shown_and_deleted(client: sinew.Client) -> None:
    g1 = client.robot("g1")
    with g1.teach.soft():
        with g1.teach.recording("nod") as recording:
            frames = 0
            for report in g1.states(timeout=PATIENCE):
                frames = report["state"]["recorded_frames"]
                if frames > 30:
                    break
    assert recording.stopped["frames"] >= frames and recording.saved["name"] == "nod"
    assert "nod" in [action["name"] for action in g1.teach.list()]
    assert g1.teach.play_whole("nod")["whole"] is True
    motion = g1.teach.show("nod")
    assert len(motion["frames"]) == motion["frames_total"] and "next" not in motion
    motion["name"] = "copy"
    for member in ("frames_total", "op"):
        motion.pop(member, None)
    g1.teach.load(motion)
    assert {"nod", "copy"} <= {each["name"] for each in g1.teach.library()}
    g1.teach.rename("copy", "again", library=True)
    g1.teach.delete("again", library=True)
    assert "again" not in {each["name"] for each in g1.teach.library()}
    with pytest.raises(sinew.NotFound):
        g1.teach.play("again")


def test_an_exception_ends_a_recording_and_leaves_the_arms_stiff(client: sinew.Client) -> None:
    g1 = client.robot("g1")
    with pytest.raises(ZeroDivisionError):
        with g1.teach.soft(), g1.teach.recording("half"):
            raise ZeroDivisionError
    state = g1.report()["state"]
    assert not state["recording"] and not state["teaching"]
    assert "half" not in [action["name"] for action in g1.teach.list()]


@pytest.fixture
def mapping(client: sinew.Client) -> sinew.Robot:
    g1 = client.robot("g1")
    if not g1.mapping.info()["mapping"]:
        g1.mapping.start()
    return g1


def test_clouds_come_as_arrays_and_go_on_coming(mapping: sinew.Robot) -> None:
    with mapping.clouds(timeout=PATIENCE) as clouds:
        # More than the two that come without acknowledgement.
        for _, cloud in zip(range(6), clouds):
            assert cloud.topic == "cloud" and len(cloud.cells) == cloud.count > 100
            assert len(cloud.xyz()[0]) == 3 and cloud.pose is not None
            assert abs(time.time() - cloud.time) < PATIENCE


def test_a_map_comes_whole_and_is_what_the_daemon_saves(mapping: sinew.Robot, tmp_path: Any) -> None:
    world = sinew.Map()
    with mapping.map_frames(timeout=PATIENCE) as frames:
        for frame in frames:
            world.take(frame)
            if len(world) > 2000:
                break
    assert len(world.xyz()) == len(world)
    mapping.mapping.save(tmp_path / "map.ply", "ply")
    assert (tmp_path / "map.ply").read_bytes().startswith(b"ply\n")
    file = io.BytesIO()
    mapping.mapping.save(file, "pcd")
    assert file.getvalue().startswith(b"# .PCD") or b"VERSION" in file.getvalue()[:200]
    with pytest.raises(sinew.Refused):
        mapping.client.download("/api/v1/robots/g1/map?format=bmp", file)


def test_the_vacuum_returns_to_its_dock(free: Daemon) -> None:
    with sinew.connect(free.lines) as client:
        vacuum = client.robot("vacuum")
        phases: List[str] = []
        vacuum.dock(on_phase=phases.append)
        assert phases[0] == "startup" and "navigation" in phases
        assert vacuum.report()["state"]["is_charging"]


def test_asyncio_asks_subscribes_and_takes_frames(daemon: Daemon) -> None:
    async def run() -> Tuple[str, float, int]:
        async with await sinew.aio.connect(daemon.lines, name="bob") as client:
            g1, vacuum = await client.robot("g1"), await client.robot("vacuum")
            with pytest.raises(sinew.SinewError, match="no robot none"):
                await client.robot("none")
            replies = await asyncio.gather(*(client.ping() for _ in range(50)))
            assert len(replies) == 50
            with pytest.raises(sinew.NotConfirmed):
                await vacuum.component("imu", "Reset")
            async with await vacuum.subscribe("sensors/gd32_status") as readings:
                event = await asyncio.wait_for(readings.next(), PATIENCE)
            assert len((await g1.ask({"type": "Teach", "op": "list"}))["actions"]) > 5
            if not (await g1.ask({"type": "Mapping", "op": "info"}))["mapping"]:
                await g1.ask({"type": "Mapping", "op": "start"})
            count = 0
            async with await g1.clouds() as clouds:
                async for cloud in clouds:
                    count += cloud.count > 100
                    if count == 5:
                        break
            with pytest.raises(asyncio.TimeoutError):
                async with await client.subscribe("events") as quiet:
                    await asyncio.wait_for(quiet.next(), 0.05)
            return client.access, event["data"]["values"]["battery_level"]["U8"], count

    assert asyncio.run(run()) == ("control", 75, 5)
