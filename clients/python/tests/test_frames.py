"""Clouds and maps: bytes to arrays, with numpy and without."""

from __future__ import annotations

import io
import random
import re
import struct
from typing import Any, Dict, Iterator, List, Tuple

import pytest
from conftest import ROOT
from sinew import Frame, FrameError, Map, Pose, frames, write_ply


@pytest.fixture(params=["arrays", "numpy"], autouse=True)
def arrays(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.param == "arrays":
        monkeypatch.setattr(frames, "numpy", None)
    elif frames.numpy is None:
        pytest.skip("no numpy here")
    yield


def packed(kind: int, points: List[Tuple[int, ...]], *, name: str = "map", epoch: int = 3, flags: int = 1) -> bytes:
    """A frame by the table of docs/api.md."""
    header = 96 + (len(name) + 7) // 8 * 8
    head = struct.pack("<BBHIQQIHBB", 1, kind, header, len(points), 9, 1_700_000_000_500_000, epoch, 1, flags, len(name))
    head += struct.pack("<4d4d", -1.0, -2.0, -3.0, 0.0625, 1.0, 2.0, 3.0, 0.5) + name.encode().ljust(header - 96, b"\0")
    return head + b"".join(struct.pack(f"<{len(point)}H", *point) for point in points)


def listed(rows: Any) -> List[Tuple[float, ...]]:
    return [tuple(float(value) for value in row) for row in rows]


def test_a_cloud_is_read_as_the_page_says() -> None:
    cloud = Frame.read(packed(1, [(16, 32, 48), (0, 1, 65535)]))
    assert (cloud.topic, cloud.sequence, cloud.time, cloud.epoch, cloud.robot) == ("cloud", 9, 1_700_000_000.5, 3, 1)
    assert (cloud.name, cloud.pose, cloud.unit, cloud.is_flat) == ("map", Pose(1.0, 2.0, 3.0, 0.5), 0.0625, False)
    assert listed(cloud.cells) == [(16, 32, 48), (0, 1, 65535)]
    assert listed(cloud.xyz()) == [(0.0, 0.0, 0.0), (-1.0, -1.9375, 4092.9375)]


def test_rows_index_like_sequences_and_an_empty_cloud_has_none() -> None:
    cells = Frame.read(packed(1, [(1, 2, 3), (4, 5, 6), (7, 8, 9)])).cells
    assert listed([cells[0], cells[-1]]) == [(1, 2, 3), (7, 8, 9)] and len(cells) == 3
    assert listed(cells[1:]) == [(4, 5, 6), (7, 8, 9)]
    with pytest.raises(IndexError):
        cells[3]
    empty = Frame.read(packed(1, [], flags=0))
    assert empty.pose is None and len(empty.cells) == 0 and listed(empty.xyz()) == []


def test_every_truncation_and_surplus_is_refused() -> None:
    whole = packed(2, [(1, 2, 3, 4)] * 3)
    for length in range(len(whole)):
        with pytest.raises(FrameError):
            Frame.read(whole[:length])
    with pytest.raises(FrameError, match="wanted 128 bytes, got 129"):
        Frame.read(whole + b"\0")


def test_rubbish_raises_nothing_but_a_frame_error() -> None:
    chance = random.Random(3)
    whole = packed(1, [(1, 2, 3)] * 3)
    for _ in range(5000):
        damaged = bytearray(whole)
        for _ in range(chance.randrange(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            Frame.read(bytes(damaged)).xyz()
        except FrameError:
            pass


@pytest.mark.parametrize(
    "place, data, why",
    [
        (0, b"\x02", "version"),
        (1, b"\x00", "kind"),
        (2, b"\x60\x00", "header length"),
        (2, b"\x69\x00", "header length"),
        (4, b"\xff\xff\xff\xff", "wanted 25769803874 bytes"),
        (56, struct.pack("<d", 0.0), "unit"),
        (32, struct.pack("<d", float("nan")), "origin"),
        (64, struct.pack("<d", float("inf")), "pose"),
        (96, b"\xff", "UTF-8"),
    ],
)
def test_what_cannot_be_is_refused_in_words(place: int, data: bytes, why: str) -> None:
    damaged = bytearray(packed(1, [(1, 2, 3)]))
    damaged[place : place + len(data)] = data
    with pytest.raises(FrameError, match=why):
        Frame.read(bytes(damaged))


@pytest.mark.parametrize("kind, topic, name", [(3, "messages", "binary"), (4, "raw", "tx")])
def test_a_message_has_bytes_and_no_points(kind: int, topic: str, name: str) -> None:
    header = packed(kind, [], name=name, flags=0)
    message = Frame.read(header[:4] + struct.pack("<I", 4) + header[8:] + b"\x02\0{}")
    assert (message.topic, message.name, message.data) == (topic, name, b"\x02\0{}")
    with pytest.raises(FrameError, match="no points"):
        message.cells


def rule_of_the_page() -> Any:
    """The class that docs/api.md gives to authors of clients."""
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    code = re.search(r"<!-- rule -->\n```python\n(.*?)```", page, re.S)
    assert code is not None
    names: Dict[str, Any] = {}
    exec(code[1], names)
    return names["Map"]()


def test_a_map_is_what_the_rule_of_the_page_makes_of_the_same_frames() -> None:
    chance = random.Random(4)
    ours, theirs = Map(), rule_of_the_page()
    epoch, changes = 1, 0
    for _ in range(60):
        if chance.random() < 0.1:
            epoch += 1
        points: Dict[Tuple[int, int, int], int] = {}
        for _ in range(chance.randrange(6)):
            block = [chance.randrange(4) * 8 + 65500 // 8 * 8 * chance.randrange(2) for _ in range(3)]
            if chance.random() < 0.2:
                points[(block[0], block[1], block[2])] = 65535
                continue
            for _ in range(chance.randrange(1, 9)):
                x, y, z = (min(each + chance.randrange(8), 65535) for each in block)
                points[x, y, z] = chance.randrange(65535)
        cells: List[Tuple[int, ...]] = [(*place, age) for place, age in points.items()]
        chance.shuffle(cells)
        data = packed(2, cells, epoch=epoch)
        ours.take(Frame.read(data))
        theirs.take(data)
        wanted = {(*place, age) for block in theirs.blocks.values() for place, age in block.items()}
        assert set(listed(ours.cells())) == wanted and len(ours) == len(wanted)
        changes += len(wanted)
    assert changes > 100 and ours.epoch == epoch


def test_a_map_in_metres_and_before_anything_came() -> None:
    assert listed(Map().xyz()) == [] and len(Map()) == 0
    world = Map()
    world.take(Frame.read(packed(2, [(16, 32, 48, 7)], flags=2)))
    assert listed(world.xyz()) == [(0.0, 0.0, 0.0)] and world.newest is not None and world.newest.is_flat
    with pytest.raises(FrameError, match="wanted map, got cloud"):
        world.take(Frame.read(packed(1, [])))


def test_a_ply_file_has_its_points() -> None:
    file = io.BytesIO()
    assert write_ply(file, Frame.read(packed(1, [(16, 32, 48), (16, 32, 64)])).xyz()) == 2
    head, _, body = file.getvalue().partition(b"end_header\n")
    assert head.splitlines()[:3] == [b"ply", b"format binary_little_endian 1.0", b"element vertex 2"]
    assert struct.unpack("<6f", body) == (0, 0, 0, 0, 0, 1)
