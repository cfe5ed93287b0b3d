"""Clients of the later states of SangamIO, written from its messages' description alone.

    sangam.py survey SANGAM TCP FROM UDP_PORT   its third state: protobuf, sensors by UDP
    sangam.py later TCP                         its second: JSON with the later names
    sangam.py press SANGAM                      presses again and again, slower than a dead-man

Addresses are HOST:PORT. The first two print a JSON document.
"""

import json
import math
import socket
import struct
import sys
import time

DEADLINE = 40.0


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def blob(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


def control(component, action, **config):
    """Of config's values, floats are float and whole numbers uint32."""
    entries = b""
    for name, value in config.items():
        if isinstance(value, float):
            value = b"\x35" + struct.pack("<f", value)
        else:
            value = b"\x10" + varint(value)
        entries += blob(2, blob(1, name.encode()) + blob(2, value))
    number = ["Enable", "Disable", "Reset", "Configure"].index(action)
    action = (b"\x08" + varint(number) if number else b"") + entries
    command = blob(1, blob(1, component.encode()) + blob(2, action))
    message = blob(1, b"command") + blob(3, command)
    return struct.pack(">I", len(message)) + message


def fields(data):
    """Field numbers and contents."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    found = []
    while at < len(data):
        tag = number()
        kind = tag & 7
        if kind == 0:
            content = number()
        else:
            length = {1: 8, 5: 4}.get(kind) or number()
            content = data[at : at + length]
            assert len(content) == length, "cut off"
            at += length
        found.append((tag >> 3, content))
    return found


def value(data):
    """A value with the name of its member."""
    ((number, content),) = fields(data)
    if number == 1:
        return "bool", bool(content)
    if number == 2:
        return "u32", content
    if number == 4:
        return "i32", content - (1 << 64) if content >> 63 else content
    if number == 6:
        return "f32", struct.unpack("<f", content)[0]
    if number == 8:
        return "string", content.decode()
    if number == 11:
        points = []
        for one, point in fields(content):
            assert one == 1
            point = dict(fields(point))
            angle, distance = (struct.unpack("<f", point.get(n, bytes(4)))[0] for n in (1, 2))
            points.append((angle, distance, point.get(3, 0)))
        return "cloud", points
    raise ValueError(f"member {number} of a value")


def group(datagram):
    (length,) = struct.unpack(">I", datagram[:4])
    assert len(datagram) == 4 + length, "the size is not that of the message"
    message = dict(fields(datagram[4:]))
    members = fields(message[2])
    name = dict(members)[1].decode()
    assert message[1].decode() == f"sensors/{name}", message[1]
    values = {}
    for number, content in members:
        if number == 3:
            entry = dict(fields(content))
            values[entry[1].decode()] = value(entry[2])
    return name, dict(members)[2], values


def connect(address, source="127.0.0.1"):
    host, port = address.rsplit(":", 1)
    tcp = socket.socket()
    if source:
        tcp.bind((source, 0))
    tcp.settimeout(DEADLINE)
    tcp.connect((host, int(port)))
    return tcp


class Json:
    """A client of the interface with JSON, on the same robot."""

    def __init__(self, address):
        self.tcp = connect(address)
        self.file = self.tcp.makefile("rb")

    def next(self):
        (length,) = struct.unpack(">I", self.file.read(4))
        message = json.loads(self.file.read(length))
        return message["topic"], message["payload"]


def i16(raw, offset):
    return struct.unpack_from("<h", raw, offset)[0]


def expected(raw):
    """What a status packet of 96 bytes means to these clients."""
    bit = lambda byte, number: bool(raw[byte] >> number & 1)
    flags = {
        "bumper_right": bit(1, 1), "bumper_left": bit(1, 2), "cliff_left_side": bit(3, 0),
        "cliff_left_front": bit(3, 1), "cliff_right_front": bit(3, 2),
        "cliff_right_side": bit(3, 3), "dustbox_attached": bit(4, 2),
        "is_dock_connected": bit(7, 0), "is_charging": bit(7, 1),
    }
    u16 = lambda offset: struct.unpack_from("<H", raw, offset)[0]
    numbers = {
        "battery_level": max(0, min(100, (raw[8] - 135) * 5)),
        "wheel_left": u16(0x10), "wheel_right": u16(0x18),
        "start_button": u16(0x3A), "dock_button": u16(0x3E),
    }
    motion = {
        "gyro_x": i16(raw, 0x30), "gyro_y": i16(raw, 0x2C), "gyro_z": -i16(raw, 0x28),
        "accel_x": i16(raw, 0x2A), "accel_y": i16(raw, 0x2E), "accel_z": i16(raw, 0x32),
        "tilt_x": i16(raw, 0x34), "tilt_y": i16(raw, 0x36), "tilt_z": i16(raw, 0x38),
    }
    volts = struct.unpack("<f", struct.pack("<f", raw[8] / 10))[0]
    return {
        **{name: ("bool", flag) for name, flag in flags.items()},
        **{name: ("u32", number) for name, number in numbers.items()},
        **{name: ("i32", number) for name, number in motion.items()},
        "battery_voltage": ("f32", volts),
    }


def survey(sangam, tcp, source, udp_port):
    own = connect(sangam, source)
    # As their viewer does: it listens only after it has connected.
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((source, int(udp_port) or own.getpeername()[1]))
    udp.settimeout(DEADLINE)
    raw, seen, report, begin = {}, {}, {"groups": {}, "sizes": {}, "lidar": []}, time.time()
    reference = Json(tcp)
    reference.tcp.settimeout(0.001)
    own.sendall(control("drive", "Enable"))
    own.sendall(control("lidar", "Enable"))

    def receive():
        datagram = udp.recv(65536)
        name, at, values = group(datagram)
        report["groups"][name] = report["groups"].get(name, 0) + 1
        report["sizes"][name] = max(len(datagram), report["sizes"].get(name, 0))
        if name == "sensor_status":
            seen[at] = values
        elif name == "device_version":
            report["version"] = values
        elif name == "lidar":
            assert list(values) == ["scan"], values
            report["lidar"] = values["scan"][1]
        return name, values

    # Velocities as their navigation sends them, until it has come some way, 20 a second.
    start, ticks, sent = None, 0, 0.0
    while ticks < 400:
        assert time.time() - begin < DEADLINE, report
        if time.time() - sent > 0.05:
            own.sendall(control("drive", "Configure", linear=0.2, angular=0.1))
            sent = time.time()
        name, values = receive()
        if name == "sensor_status":
            left = values["wheel_left"][1]
            start = left if start is None else start
            ticks = (left - start) & 0xFFFF
    while not report["lidar"] or "version" not in report:
        assert time.time() - begin < DEADLINE, report
        receive()
    own.sendall(control("drive", "Reset"))
    # The same packets by the other interface, with their bytes.
    reference.tcp.settimeout(DEADLINE)
    while len(raw) < len(seen):
        topic, payload = reference.next()
        if topic in ("sensors/gd32_status", "sensors/sensor_status"):
            raw[payload["timestamp_us"]] = bytes(payload["values"]["raw_packet"]["Bytes"])
            if payload["timestamp_us"] > max(seen):
                break
    both = [at for at in seen if at in raw]
    wrong = [(seen[at], expected(raw[at])) for at in both if seen[at] != expected(raw[at])]
    report.update(
        compared=len(both), wrong=wrong[:1], ticks=ticks, turned=max(
            values["gyro_z"][1] for values in seen.values()
        ),
    )
    own.setblocking(False)
    try:
        report["answered"] = len(own.recv(1))
    except BlockingIOError:
        report["answered"] = None
    angles = [angle for angle, _, _ in report["lidar"]]
    report["lidar"] = {
        "points": len(angles), "within": all(0 <= angle <= 2 * math.pi + 1e-6 for angle in angles),
        "quality": all(0 <= quality <= 255 for _, _, quality in report["lidar"]),
        "nearest": min(distance for _, distance, _ in report["lidar"]),
    }
    print(json.dumps(report))


def later(tcp):
    """Its second state: the same values as I16 and without a change of axes, and the bytes."""
    client, report = Json(tcp), {"topics": {}}
    while report["topics"].get("sensors/sensor_status", 0) < 50:
        topic, payload = client.next()
        report["topics"][topic] = report["topics"].get(topic, 0) + 1
        assert topic == f"sensors/{payload['group_id']}", topic
        if topic != "sensors/sensor_status":
            continue
        values = dict(payload["values"])
        raw = bytes(values.pop("raw_packet")["Bytes"])
        places = {"gyro": (0x28, 0x2C, 0x30), "accel": (0x2A, 0x2E, 0x32), "tilt": (0x34, 0x36, 0x38)}
        for sensor, offsets in places.items():
            for axis, offset in zip("xyz", offsets):
                got = values.pop(f"{sensor}_{axis}")
                assert got == {"I16": i16(raw, offset)}, (sensor, axis, got)
        wheels = [values["wheel_left"]["U16"], values["wheel_right"]["U16"]]
        assert wheels == [struct.unpack_from("<H", raw, offset)[0] for offset in (0x10, 0x18)]
        report["others"] = sorted(values)
    print(json.dumps(report))


def press(sangam):
    client = connect(sangam, None)
    client.sendall(control("drive", "Enable"))
    while True:
        client.sendall(control("drive", "Configure", linear=0.5, angular=0.0))
        time.sleep(0.4)


if __name__ == "__main__":
    modes = {"survey": survey, "later": later, "press": press}
    modes[sys.argv[1]](*sys.argv[2:])
