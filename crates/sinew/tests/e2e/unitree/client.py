"""Uses a G1 by the published package unitree_webrtc_connect, unmodified, as its examples do.

Prints a report as JSON. The robot is at the address given, on the ports that robots have.
"""

import argparse
import asyncio
import contextlib
import json
import sys
import time

import numpy
from unitree_webrtc_connect import (
    RTC_TOPIC, AesKeyRejectedError, AesKeyRequiredError, RobotBusyError, UnitreeWebRTCConnection,
    WebRTCConnectionMethod)

ARM = RTC_TOPIC["ARM_REQUEST"]
STATE = "rt/arm/action/state"
VOXELS = RTC_TOPIC["ULIDAR_ARRAY"]


class Session:
    def __init__(self, connection):
        self.pub_sub = connection.datachannel.pub_sub
        self.counts, self.arm, self.seen = {}, {}, []

    def watch(self, topic):
        def note(message):
            self.counts[topic] = self.counts.get(topic, 0) + 1
            if topic == STATE:
                self.arm = json.loads(message["data"])
                last = (self.arm["id"], self.arm["name"])
                if not self.seen or self.seen[-1] != last:
                    self.seen.append(last)
        self.pub_sub.subscribe(topic, note)

    async def ask(self, api, parameter=""):
        options = {"api_id": api, "parameter": parameter}
        reply = await asyncio.wait_for(self.pub_sub.publish_request_new(ARM, options), 10)
        header = reply["data"]["header"]
        return header["status"]["code"], reply["data"]["data"]

    async def names(self):
        code, data = await self.ask(7107)
        assert code == 0, code
        presets, taught = json.loads(data)
        return [preset["id"] for preset in presets], {entry["name"]: entry["time"] for entry in taught}

    async def until(self, what, fits, seconds=20):
        end = time.monotonic() + seconds
        while not fits():
            assert time.monotonic() < end, f"no {what}: {self.arm}, {self.counts}"
            await asyncio.sleep(0.02)


async def teach(session, report):
    report["presets"], before = await session.names()
    began = time.monotonic()
    codes = [(await session.ask(7110, {"action_name": "python"}))[0]]
    while time.monotonic() < began + 2.5:
        codes.append((await session.ask(7110, {"action_name": ""}))[0])
        await asyncio.sleep(0.5)
    await session.until("recording", lambda: session.arm.get("id") == -1)
    codes.append((await session.ask(7110))[0])
    report["recorded_s"] = time.monotonic() - began
    await session.until("end of it", lambda: session.arm.get("id") == 0)
    _, taught = await session.names()
    report["new"] = {name: time for name, time in taught.items() if name not in before}
    codes.append((await session.ask(7109, {"pre_name": "python", "new_name": "snake"}))[0])
    codes.append((await session.ask(7108, {"action_name": "snake"}))[0])
    await session.until("play", lambda: session.arm.get("id") == 100)
    codes.append((await session.ask(7113))[0])
    await session.until("rest", lambda: session.arm.get("id") == 0)
    codes.append((await session.ask(7112, {"action_name": "snake"}))[0])
    _, taught = await session.names()
    report["codes"], report["left"] = codes, sorted(set(taught) - set(before))
    report["refused"] = (await session.ask(7106, {"data": 12345}))[0]


async def voxels(connection, session, report):
    """The cloud as the package decodes it, and the bytes that it came in."""
    channel = connection.datachannel
    channel.set_decoder("native")
    raw, clouds = [], []

    def keep(message):
        if isinstance(message, bytes):
            raw.append(message)

    channel.channel.on("message", keep)
    report["saving_off"] = await asyncio.wait_for(channel.disableTrafficSaving(True), 10)
    session.pub_sub.publish_without_callback(RTC_TOPIC["ULIDAR_SWITCH"], "on")
    session.pub_sub.subscribe(VOXELS, lambda message: clouds.append(message["data"]["data"]))
    await session.until("voxels", lambda: len(clouds) >= 4 and len(raw) >= 4)
    session.pub_sub.unsubscribe(VOXELS)
    pairs = []
    for message, cloud in list(zip(raw, clouds))[:4]:
        points = numpy.asarray(cloud["points"], dtype=float)
        pairs.append({"raw": message.hex(), "count": len(points),
                      "sum": points.sum(axis=0).tolist(), "min": points.min(axis=0).tolist(),
                      "max": points.max(axis=0).tolist()})
    report["clouds"] = pairs


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("--key")
    parser.add_argument("--voxels", action="store_true")
    parser.add_argument("--brief", action="store_true", help="connect, list, leave")
    options = parser.parse_args()
    report = {}
    connection = UnitreeWebRTCConnection(
        WebRTCConnectionMethod.LocalSTA, ip=options.address, aes_128_key=options.key,
        device_type="G1")
    began = time.monotonic()
    try:
        # The package tells how it goes on standard output.
        with contextlib.redirect_stdout(sys.stderr):
            await connection.connect()
    except (AesKeyRejectedError, AesKeyRequiredError, RobotBusyError) as error:
        print(json.dumps({"failed": type(error).__name__}))
        return
    report["connected_s"] = time.monotonic() - began
    with contextlib.redirect_stdout(sys.stderr):
        session = Session(connection)
        if options.brief:
            report["presets"], report["taught"] = await session.names()
        else:
            for topic in (STATE, RTC_TOPIC["LOW_STATE"], RTC_TOPIC["BMS_STATE"],
                          RTC_TOPIC["SERVICE_STATE"], RTC_TOPIC["LF_SPORT_MOD_STATE"]):
                session.watch(topic)
            await session.until("state of everything", lambda: len(session.counts) == 5)
            await teach(session, report)
            report["counts"], report["seen"] = session.counts, session.seen
        if options.voxels:
            await voxels(connection, session, report)
        await connection.disconnect()
    print(json.dumps(report))


if __name__ == "__main__":
    asyncio.run(main())
