"""Reads the files of a map by other programs' means, and prints what it found as JSON.

readers.py pcd FILE    a reader written by the format's documentation alone
readers.py ply FILE    plyfile; prints null without it
readers.py pgm FILE    numpy; prints null without it
readers.py png FILE    zlib: size and how often each colour of the palette occurs
"""

import json
import struct
import sys
import zlib


def lzf(data, length):
    out = bytearray()
    at = 0
    while at < len(data):
        control = data[at]
        at += 1
        if control < 32:
            out += data[at : at + control + 1]
            at += control + 1
            continue
        count = control >> 5
        if count == 7:
            count += data[at]
            at += 1
        start = len(out) - ((control & 31) << 8) - data[at] - 1
        at += 1
        for step in range(count + 2):
            out.append(out[start + step])
    assert len(out) == length
    return bytes(out)


def pcd(data):
    header = {}
    at = 0
    while "DATA" not in header:
        end = data.index(b"\n", at)
        words = data[at:end].decode().split()
        at = end + 1
        if words and not words[0].startswith("#"):
            header[words[0]] = words[1:]
    letters = {"I1": "b", "U1": "B", "I2": "h", "U2": "H", "I4": "i", "U4": "I", "I8": "q", "U8": "Q", "F4": "f", "F8": "d"}
    codes = [letters[kind + size] for kind, size in zip(header["TYPE"], header["SIZE"])]
    counts = [int(count) for count in header["COUNT"]]
    points = int(header["POINTS"][0])
    body = data[at:]
    encoding = header["DATA"][0]
    if encoding == "ascii":
        lines = body.decode().split("\n")
        kinds = "".join(code * count for code, count in zip(codes, counts))
        rows = [[float(word) if kind in "fd" else int(word) for kind, word in zip(kinds, line.split())] for line in lines[:points]]
    elif encoding == "binary":
        row = struct.Struct("<" + "".join(code * count for code, count in zip(codes, counts)))
        rows = [list(values) for values in row.iter_unpack(body[: row.size * points])]
    else:
        packed, length = struct.unpack_from("<II", body)
        columns = lzf(body[8 : 8 + packed], length)
        rows = [[] for _ in range(points)]
        at = 0
        for code, count in zip(codes, counts):
            field = struct.Struct("<" + code * count)
            for values in rows:
                values.extend(field.unpack_from(columns, at))
                at += field.size
    return {"fields": header["FIELDS"], "rows": rows}


def ply(path):
    try:
        from plyfile import PlyData
    except ImportError:
        return None
    vertex = PlyData.read(path)["vertex"]
    names = [item.name for item in vertex.properties]
    return {"fields": names, "rows": [[number.item() for number in row] for row in vertex.data]}


def pgm(data):
    try:
        import numpy
    except ImportError:
        return None
    magic, comment, size, deepest, pixels = data.split(b"\n", 4)
    width, height = map(int, size.split())
    assert magic == b"P5" and comment.startswith(b"# ") and deepest == b"255"
    return numpy.frombuffer(pixels, dtype=numpy.uint8).reshape(height, width).tolist()


def png(data):
    at, packed, head = 8, b"", None
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + content) == struct.unpack_from(">I", data, at + 8 + length)[0]
        if kind == b"IHDR":
            head = struct.unpack(">IIBBBBB", content)
        packed += content if kind == b"IDAT" else b""
        at += 12 + length
    rows = zlib.decompress(packed)
    width, height = head[0], head[1]
    assert len(rows) == (width + 1) * height and head[2:] == (8, 3, 0, 0, 0)
    inks = b"".join(rows[row * (width + 1) + 1 : (row + 1) * (width + 1)] for row in range(height))
    return {"size": [width, height], "inks": [inks.count(ink) for ink in range(6)]}


what, path = sys.argv[1:]
with open(path, "rb") as file:
    content = file.read()
found = {"pcd": lambda: pcd(content), "ply": lambda: ply(path), "pgm": lambda: pgm(content), "png": lambda: png(content)}
print(json.dumps(found[what]()))
