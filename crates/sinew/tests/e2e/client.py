"""A client of document 003's network interface, standard library only.

Listens without a word, then drives for a second, and leaves without saying so.
"""

import json
import socket
import struct
import sys
import time


def receive(stream):
    (length,) = struct.unpack(">I", stream.read(4))
    return json.loads(stream.read(length))


def send(sock, command):
    message = {"topic": "command", "payload": {"type": "Command", "command": command}}
    text = json.dumps(message).encode()
    sock.sendall(struct.pack(">I", len(text)) + text)


def drive(action):
    return {"type": "ComponentControl", "id": "drive", "action": action}


def tags(values):
    assert all(len(value) == 1 for value in values.values())
    return {name: next(iter(value)) for name, value in values.items()}


def main():
    sock = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=20)
    stream = sock.makefile("rb")
    statuses, version, others = [], None, set()
    begin = time.monotonic()
    while len(statuses) < 110 or version is None:
        message = receive(stream)
        payload = message["payload"]
        if message["topic"] == "sensors/gd32_status":
            assert payload["type"] == "SensorGroup", payload
            assert payload["group_id"] == "gd32_status", payload
            statuses.append(payload)
        elif message["topic"] == "sensors/gd32_version":
            version = payload["values"]
        else:
            others.add(message["topic"])
    rate = len(statuses) / (time.monotonic() - begin)
    stamps = [status["timestamp_us"] for status in statuses]
    assert stamps == sorted(stamps) and len(set(stamps)) == len(stamps)

    first = statuses[-1]["values"]
    send(sock, drive({"type": "Enable"}))
    last, end = first, time.monotonic() + 1.0
    velocity = {"linear": {"F32": 0.2}, "angular": {"F32": 0.0}}
    while time.monotonic() < end:
        send(sock, drive({"type": "Configure", "config": velocity}))
        for _ in range(10):
            message = receive(stream)
            if message["topic"] == "sensors/gd32_status":
                last = message["payload"]["values"]
            elif not message["topic"].startswith("sensors/"):
                others.add(message["topic"])
    ticks = (last["wheel_left"]["U16"] - first["wheel_left"]["U16"]) % 65536
    print(json.dumps({
        "types": tags(first),
        "battery_level": first["battery_level"]["U8"],
        "raw_length": len(first["raw_packet"]["Bytes"]),
        "version": tags(version),
        "rate": rate,
        "ticks": ticks,
        "other_topics": sorted(others),
    }))


main()
