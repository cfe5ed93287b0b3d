"""Teaching a robot motions, and having it play them."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, Generator, List, Literal, Optional, cast

from .errors import SinewError, TimedOut

if TYPE_CHECKING:
    from .robot import Robot

# Storing a motion in a robot, and playing one of the library, take their time.
_LONG = 30.0


@dataclass
class Recording:
    """A recording that goes on while its `with` block does."""

    name: str
    # What `record_stop` and `save` replied, once they have.
    stopped: Dict[str, Any] = field(default_factory=lambda: {})
    saved: Dict[str, Any] = field(default_factory=lambda: {})


class Teach:
    """The ops of `Teach`; what each replies is in docs/api.md."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot

    def list(self) -> List[Dict[str, Any]]:
        """The actions that the robot keeps: `id`, `name`, `kind`, `duration_ms`."""
        actions: List[Dict[str, Any]] = self._ask("list")["actions"]
        return actions

    def enter(self) -> Dict[str, Any]:
        """Makes the arms soft. They stay so when this client is gone, for as long as `idle_exit_ms` says."""
        return self._ask("enter")

    def exit(self) -> None:
        """Makes the arms stiff again."""
        self._ask("exit")

    @contextlib.contextmanager
    def soft(self) -> Generator[None, None, None]:
        """Soft arms for a `with` block; stiff again after it, whatever happens in it."""
        self.enter()
        try:
            yield
        finally:
            self.exit()

    def record_start(self, name: Optional[str] = None) -> Dict[str, Any]:
        return self._ask("record_start", name=name)

    def record_stop(self) -> Dict[str, Any]:
        return self._ask("record_stop")

    def save(
        self, name: Optional[str] = None, *, loop: Optional[bool] = None, library: Optional[bool] = None
    ) -> Dict[str, Any]:
        """Stores the recording in the robot and in the library, or only there."""
        return self._ask("save", _LONG, name=name, loop=loop, library=library)

    @contextlib.contextmanager
    def recording(self, name: str, *, library: Optional[bool] = None) -> Generator[Recording, None, None]:
        """Records while the `with` block lasts, then saves; an exception ends the recording unsaved."""
        self.record_start(name)
        recording = Recording(name)
        try:
            yield recording
        except BaseException:
            with contextlib.suppress(SinewError):
                self.record_stop()
            raise
        recording.stopped = self.record_stop()
        recording.saved = self.save(name, library=library)

    def play(
        self,
        name: Optional[str] = None,
        *,
        id: Optional[int] = None,
        frames: Optional[int] = None,
        duration_ms: Optional[int] = None,
        interpolation: Optional[Literal["linear", "cubic", "smooth"]] = None,
        loop: Optional[bool] = None,
        speed: Optional[float] = None,
        library: Optional[bool] = None,
    ) -> Dict[str, Any]:
        """Plays an action by its name or number. One that loops ends with this client."""
        return self._ask(
            "play",
            _LONG,
            name=name,
            id=id,
            frames=frames,
            duration_ms=duration_ms,
            interpolation=interpolation,
            loop=loop,
            speed=speed,
            library=library,
        )

    def play_whole(self, name: str, timeout: float = 120.0, *, library: Optional[bool] = None) -> Dict[str, Any]:
        """Plays an action and waits for its end, which it gives: `whole`, `why`. An exception stops it."""
        end = time.monotonic() + timeout
        with self._robot.events() as events:
            try:
                self.play(name, library=library)
                while True:
                    event = events.next(max(0.0, end - time.monotonic()))
                    if event is None:
                        raise TimedOut(f"{name} was not over after {timeout} s")
                    data: Dict[str, Any] = event["data"]
                    if data.get("event") == "play_ended":
                        return data
            except BaseException:
                with contextlib.suppress(SinewError):
                    self.stop()
                raise

    def stop(self) -> Dict[str, Any]:
        """Ends playback and teaching. Any client may."""
        return self._ask("stop")

    def rename(self, name: str, new_name: str, *, library: Optional[bool] = None) -> Dict[str, Any]:
        return self._ask("rename", name=name, new_name=new_name, library=library)

    def delete(
        self, name: Optional[str] = None, *, id: Optional[int] = None, library: Optional[bool] = None
    ) -> Dict[str, Any]:
        return self._ask("delete", name=name, id=id, library=library)

    def library(self) -> List[Dict[str, Any]]:
        """The motions that the library on the daemon's disk holds."""
        motions: List[Dict[str, Any]] = self._ask("library")["motions"]
        return motions

    def show(self, name: str) -> Dict[str, Any]:
        """A motion of the library, with all its frames."""
        whole = self._ask("show", _LONG, name=name)
        following = whole.pop("next", None)
        while following is not None:
            part = self._ask("show", _LONG, name=name, **{"from": following})
            whole["frames"].extend(part["frames"])
            following = part.get("next")
        return whole

    def load(self, document: Dict[str, Any], *, append: Optional[bool] = None, more: Optional[bool] = None) -> Dict[str, Any]:
        """Puts a motion into the library (`import`), in parts if it is long."""
        return self._ask("import", _LONG, document=document, append=append, more=more)

    def _ask(self, op: str, timeout: Optional[float] = None, **members: Any) -> Dict[str, Any]:
        reply = self._robot.ask({"type": "Teach", "op": op, **members}, timeout)
        # Ops that have nothing to tell reply null.
        return cast(Dict[str, Any], reply) if isinstance(reply, dict) else {}
