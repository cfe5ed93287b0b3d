"""Clouds and maps: the frames of bytes that come over the WebSocket, as arrays.

With numpy they are its arrays. Without it they are sequences of rows over an `array.array`: `points[0]` is a tuple,
`points.buffer` the memoryview of all numbers.
"""

from __future__ import annotations

import importlib
import math
import struct
import sys
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

from .errors import SinewError

# Of no type here: it need not be there, for those who check types either.
numpy: Any
try:
    numpy = importlib.import_module("numpy")
except ImportError:
    numpy = None

_HEADER = struct.Struct("<BBHIQQIHBB4d4d")
_CLOUD, _MAP, _MESSAGES, _RAW = 1, 2, 3, 4
_TOPICS = {_CLOUD: "cloud", _MAP: "map", _MESSAGES: "messages", _RAW: "raw"}
# Bytes of a point.
_POINT = {_CLOUD: 6, _MAP: 8, _MESSAGES: 1, _RAW: 1}
_KNOWS_POSE, _IS_FLAT = 1, 2
# A cell of this age says that its block is empty.
_EMPTY = 65535

# A cell's block.
_Block = Tuple[int, int, int]


class FrameError(SinewError, ValueError):
    """Bytes that are no frame: what was wanted, and what came."""


@dataclass(frozen=True)
class Pose:
    """Where a robot is: metres and radians in the frame that is named beside it."""

    x: float
    y: float
    z: float
    yaw: float


@dataclass(frozen=True)
class Frame:
    """A frame of topic `cloud`, `map`, `messages` or `raw`."""

    topic: str
    sequence: int
    # Seconds since 1970, when it was seen: how old it is follows from this, not from its arrival.
    time: float
    epoch: int
    # The robot's place in the list of robots.
    robot: int
    name: str
    pose: Optional[Pose]
    origin: Tuple[float, float, float]
    unit: float
    is_flat: bool
    count: int
    # The points as they came, or the bytes of a message or of the link: `name` says which way those went, `tx` or `rx`.
    data: bytes

    @staticmethod
    def read(data: bytes) -> Frame:
        """Reads a frame; whatever the bytes are, they raise nothing but FrameError."""
        if len(data) < _HEADER.size:
            raise FrameError(f"wanted {_HEADER.size} bytes, got {len(data)}")
        version, kind, header, count, sequence, time_us, epoch, robot, flags, named, *numbers = _HEADER.unpack_from(data)
        if version != 1:
            raise FrameError(f"version: wanted 1, got {version}")
        topic = _TOPICS.get(kind)
        if topic is None:
            raise FrameError(f"kind: wanted 1 to 4, got {kind}")
        if header < _HEADER.size + named or header % 8:
            raise FrameError(f"header length: wanted {_HEADER.size} and the name, in steps of 8, got {header}")
        wanted = header + count * _POINT[kind]
        if len(data) != wanted:
            raise FrameError(f"wanted {wanted} bytes, got {len(data)}")
        try:
            name = data[_HEADER.size : _HEADER.size + named].decode()
        except UnicodeDecodeError:
            raise FrameError("name: wanted UTF-8") from None
        x, y, z, unit, *place = numbers
        if kind in (_CLOUD, _MAP) and (not all(map(math.isfinite, numbers)) or unit <= 0):
            raise FrameError("origin, unit and pose: wanted numbers, and a unit over 0")
        pose = Pose(*place) if flags & _KNOWS_POSE else None
        return Frame(
            topic, sequence, time_us / 1e6, epoch, robot, name, pose, (x, y, z), unit, bool(flags & _IS_FLAT), count,
            data[header:],
        )

    @property
    def cells(self) -> Any:
        """The points in steps from the origin, a row each: x, y, z, and of a map the age in 0.1 s.

        Unsigned 16-bit integers.
        """
        width = {"cloud": 3, "map": 4}.get(self.topic)
        if width is None:
            raise FrameError(f"topic {self.topic} has no points")
        if numpy is not None:
            return numpy.frombuffer(self.data, dtype="<u2").reshape(-1, width)
        return Rows(_words(self.data), width)

    def xyz(self) -> Any:
        """The points in metres, a row each, in the frame called `name`."""
        return _metres(self.cells, self.origin, self.unit)


class Map:
    """A robot's map as the frames of topic `map` tell it: give them to `take` in their order."""

    def __init__(self) -> None:
        self.epoch: Optional[int] = None
        # What all cells are measured by.
        self.newest: Optional[Frame] = None
        self._blocks: Dict[_Block, Any] = {}

    def take(self, frame: Frame) -> None:
        if frame.topic != "map":
            raise FrameError(f"topic: wanted map, got {frame.topic}")
        if frame.epoch != self.epoch:
            self.epoch = frame.epoch
            self._blocks.clear()
        self.newest = frame
        for block, cells in _by_block(frame):
            if len(cells):
                self._blocks[block] = cells
            else:
                self._blocks.pop(block, None)

    def __len__(self) -> int:
        """How many cells there are."""
        return sum(len(cells) for cells in self._blocks.values())

    def cells(self) -> Any:
        """All cells, as a frame has them."""
        if numpy is not None:
            if not self._blocks:
                return numpy.empty((0, 4), dtype="<u2")
            return numpy.concatenate(list(self._blocks.values()))
        words = array("H")
        for cells in self._blocks.values():
            for cell in cells:
                words.extend(cell)
        return Rows(words, 4)

    def xyz(self) -> Any:
        """The lower corners of all cells, in metres."""
        if self.newest is None:
            return _metres(self.cells(), (0.0, 0.0, 0.0), 1.0)
        return _metres(self.cells(), self.newest.origin, self.newest.unit)


def write_ply(target: Union[str, Path, BinaryIO], points: Iterable[Sequence[float]]) -> int:
    """Writes points in metres as a PLY file, binary; gives how many there were."""
    words = array("f")
    for x, y, z in points:
        words.extend((x, y, z))
    if sys.byteorder == "big":
        words.byteswap()
    count = len(words) // 3
    axes = "".join(f"property float {axis}\n" for axis in "xyz")
    head = f"ply\nformat binary_little_endian 1.0\nelement vertex {count}\n{axes}end_header\n"
    if isinstance(target, (str, Path)):
        with open(target, "wb") as file:
            file.write(head.encode() + words.tobytes())
    else:
        target.write(head.encode() + words.tobytes())
    return count


def _words(data: bytes) -> array[int]:
    words = array("H", data)
    if sys.byteorder == "big":
        words.byteswap()
    return words


class Rows(Sequence[Sequence[float]]):
    """Rows over an array, without a copy of it."""

    def __init__(self, words: Union[array[int], array[float]], width: int) -> None:
        self.buffer = memoryview(words)
        self.width = width

    def __len__(self) -> int:
        return len(self.buffer) // self.width

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        row = index + len(self) if index < 0 else index
        if not 0 <= row < len(self):
            raise IndexError(index)
        return tuple(self.buffer[row * self.width : (row + 1) * self.width])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rows) and (self.width, self.buffer) == (other.width, other.buffer)


def _metres(cells: Any, origin: Tuple[float, float, float], unit: float) -> Any:
    if numpy is not None:
        return numpy.asarray(origin) + cells[:, :3] * unit
    x, y, z = origin
    words = array("d")
    for cell in cells:
        words.extend((x + cell[0] * unit, y + cell[1] * unit, z + cell[2] * unit))
    return Rows(words, 3)


def _by_block(frame: Frame) -> Iterator[Tuple[_Block, Any]]:
    """The cells of a frame by their blocks of 8 x 8 x 8, each of which replaces what was there."""
    if numpy is not None:
        cells = frame.cells
        blocks = cells[:, :3].astype(numpy.uint64) >> 3
        keys = (blocks[:, 0] << 26) | (blocks[:, 1] << 13) | blocks[:, 2]
        order = numpy.argsort(keys, kind="stable")
        ordered, cells = keys[order], cells[order]
        starts = numpy.flatnonzero(numpy.diff(ordered)) + 1
        pieces: List[Any] = numpy.split(cells, starts) if len(cells) else []
        for each in pieces:
            x, y, z = (int(value) >> 3 for value in each[0, :3])
            yield (x, y, z), each[each[:, 3] != _EMPTY]
        return
    changed: Dict[_Block, List[Tuple[int, ...]]] = {}
    for cell in frame.cells:
        block = changed.setdefault((cell[0] >> 3, cell[1] >> 3, cell[2] >> 3), [])
        if cell[3] != _EMPTY:
            block.append(cell)
    yield from changed.items()
