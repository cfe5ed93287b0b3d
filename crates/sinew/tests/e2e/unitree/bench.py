"""Times a G1 by the published package unitree_webrtc_connect, unmodified.

Prints as JSON how long requests took, in seconds, and what clouds came and cost. The robot is at the
address given, on the ports that robots have.
"""

import asyncio
import contextlib
import json
import logging
import struct
import sys
import time

import numpy
from unitree_webrtc_connect import RTC_TOPIC, UnitreeWebRTCConnection, WebRTCConnectionMethod

ARM = RTC_TOPIC["ARM_REQUEST"]
SLAM = "rt/api/slam_operate/request"
POINTS = "rt/unitree/slam_mapping/points"


async def ask(pub_sub, topic, api, parameter=""):
    options = {"api_id": api, "parameter": parameter}
    reply = await asyncio.wait_for(pub_sub.publish_request_new(topic, options), 10)
    assert reply["data"]["header"]["status"]["code"] == 0, reply


def points(message):
    """The points of a packed cloud, in metres."""
    _, head, body = struct.unpack_from("<III", message)
    data = json.loads(message[12:12 + head])["data"]
    raw = numpy.frombuffer(message, "<u2", body // 2, 12 + head).reshape(-1, 3)
    return raw * 0.001 + (data["xmin"], data["ymin"], data["zmin"])


async def clouds(connection, seconds):
    channel, pub_sub = connection.datachannel, connection.datachannel.pub_sub
    await asyncio.wait_for(channel.disableTrafficSaving(True), 10)
    seen = {"clouds": 0, "bytes": 0, "points": 0}

    def take(message):
        if isinstance(message, bytes):
            seen["clouds"] += 1
            seen["bytes"] += len(message)
            seen["points"] += len(points(message))

    pub_sub.subscribe(POINTS)
    await ask(pub_sub, SLAM, 1801, {"data": {"slam_type": "indoor"}})
    # The package takes every cloud of this form for a GO2's voxels, so they are read in its stead.
    own = list(channel.channel.listeners("message"))
    channel.channel.remove_all_listeners("message")
    channel.channel.on("message", take)
    while seen["clouds"] < 5:
        await asyncio.sleep(0.05)
    before, began, spent = dict(seen), time.monotonic(), time.process_time()
    await asyncio.sleep(seconds)
    took = {name: seen[name] - before[name] for name in seen}
    took["seconds"], took["cpu"] = time.monotonic() - began, time.process_time() - spent
    channel.channel.remove_all_listeners("message")
    for listener in own:
        channel.channel.on("message", listener)
    pub_sub.unsubscribe(POINTS)
    await ask(pub_sub, SLAM, 1901, {"data": {}})
    return took


async def main():
    address, turns, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    # It would spend most of its time on telling what it does.
    logging.disable(logging.CRITICAL)
    connection = UnitreeWebRTCConnection(
        WebRTCConnectionMethod.LocalSTA, ip=address, device_type="G1")
    report = {"times": []}
    with contextlib.redirect_stdout(sys.stderr):
        await connection.connect()
        for _ in range(turns):
            began = time.perf_counter()
            await ask(connection.datachannel.pub_sub, ARM, 7107)
            report["times"].append(time.perf_counter() - began)
        report["clouds"] = await clouds(connection, seconds)
        await connection.disconnect()
    print(json.dumps(report))


if __name__ == "__main__":
    asyncio.run(main())
