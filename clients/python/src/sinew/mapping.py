"""Having a robot make a map, and find its way in one."""

from __future__ import annotations

import os
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Dict, Literal, Optional, Union, cast

if TYPE_CHECKING:
    from .robot import Robot

Format = Literal["pcd", "pcd-ascii", "pcd-compressed", "ply", "pgm", "png"]
# A robot takes its time to store, load or send a map.
_LONG = 60.0


class Mapping:
    """The ops of `Mapping`; what each replies is in docs/api.md."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot

    def start(self) -> Dict[str, Any]:
        """Begins a map. From now on the daemon takes clouds."""
        return self._ask("start")

    def stop(self, name: Optional[str] = None) -> Dict[str, Any]:
        """Ends the map; a robot that can stores it under this name, or the date."""
        return self._ask("stop", name=name)

    def clear(self) -> None:
        """Forgets the map that the daemon makes."""
        self._ask("clear")

    def info(self) -> Dict[str, Any]:
        """How it goes."""
        return self._ask("info")

    def save(self, target: Union[str, Path, BinaryIO], format: Format) -> None:
        """Writes the map that the daemon makes to a file."""
        self._fetch(self._ask("save", format=format)["path"], target)

    def relocate(self, map: str, x: float, y: float, *, z: float = 0.0, yaw: float = 0.0) -> Dict[str, Any]:
        """Loads a map that the robot stores, and says where it is."""
        return self._ask("relocate", map=map, pose={"x": x, "y": y, "z": z, "yaw": yaw})

    def go_to(self, x: float, y: float, *, z: float = 0.0, yaw: float = 0.0, confirm: bool = False) -> Dict[str, Any]:
        """Walks to a place of the map that is loaded. Ends with this client, or a stop; the end is an event."""
        return self._ask("go_to", pose={"x": x, "y": y, "z": z, "yaw": yaw}, confirm=confirm or None)

    def pause(self) -> None:
        """Stands still on the way."""
        self._ask("pause")

    def resume(self) -> None:
        """Walks on."""
        self._ask("resume")

    def close(self) -> None:
        """Ends mapping, or the way, without storing."""
        self._ask("close")

    def download(self, name: str, target: Union[str, Path, BinaryIO, None] = None) -> Dict[str, Any]:
        """Has the daemon fetch a map that the robot stores; with a target, writes it there, too."""
        reply = self._ask("download", name=name)
        if target is not None:
            robot, name = urllib.parse.quote(self._robot.name, safe=""), urllib.parse.quote(name, safe="")
            self._fetch(f"/api/v1/robots/{robot}/maps/{name}", target)
        return reply

    def _fetch(self, path: str, target: Union[str, Path, BinaryIO]) -> None:
        if not isinstance(target, (str, Path)):
            self._robot.client.download(path, target)
            return
        # There whole, or as it was.
        part = Path(f"{target}.part")
        try:
            with open(part, "wb") as file:
                self._robot.client.download(path, file)
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)

    def _ask(self, op: str, **members: Any) -> Dict[str, Any]:
        reply = self._robot.ask({"type": "Mapping", "op": op, **members}, _LONG)
        # Ops that have nothing to tell reply null.
        return cast(Dict[str, Any], reply) if isinstance(reply, dict) else {}
