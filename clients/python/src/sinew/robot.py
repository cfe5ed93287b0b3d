"""A robot of the blocking client: what it is, what it can be asked."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, Optional, cast

from . import api
from .drive import Drive
from .errors import DockFailed, SinewError, TimedOut
from .mapping import Mapping
from .teach import Teach

if TYPE_CHECKING:
    from .client import Client, Frames, Subscription


class Robot:
    """One robot of a daemon, by its name."""

    def __init__(self, client: Client, name: str) -> None:
        self.client = client
        self.name = name
        self.teach = Teach(self)
        self.mapping = Mapping(self)

    def __repr__(self) -> str:
        return f"<robot {self.name}>"

    def report(self) -> api.RobotReport:
        """What there is to tell about it now."""
        for report in self.client.robots():
            if report["name"] == self.name:
                return report
        raise SinewError(f"the daemon has no robot {self.name} any more")

    def wait_ready(self, timeout: float = 30.0) -> api.RobotReport:
        """Waits until it can be reached and has booted."""
        end = time.monotonic() + timeout
        with self.subscribe("state") as subscription:
            while True:
                event = subscription.next(max(0.0, end - time.monotonic()))
                if event is None:
                    raise TimedOut(f"{self.name} was not ready after {timeout} s")
                report: api.RobotReport = event["data"]
                if report["link"]["state"] == "ready":
                    return report

    def ask(self, command: Dict[str, Any], timeout: Optional[float] = None) -> Any:
        """Sends it any command and gives the `data` of the reply; members that are None are left out."""
        return self.client.request(cast(api.StopCommand, {**command, "robot": self.name}), timeout)

    def stop(self) -> None:
        """Stops it, whatever it does and whichever client drives it. It stays stopped until `enable`."""
        self.client.stop(self.name)

    def enable(self) -> None:
        """Allows its wheels to turn again after a stop, also of another client."""
        self.component("drive").enable()

    def take_control(self, name: Optional[str] = None) -> Optional[str]:
        """Takes the controls, and ends what their holder set moving; gives who that was."""
        taken: api.Taken = self.ask({"type": "TakeControl", "name": name})
        return taken["from"]

    def drive(self, *, take: bool = False, enable: bool = True, hold: Optional[float] = None) -> Drive:
        """The wheels, for a `with` block, at whose end the robot stands: see Drive."""
        return Drive(self, take, enable, hold)

    def component(self, name: str) -> Component:
        """A part that can be switched, as `vacuum`, `main_brush`, `led`."""
        return Component(self, name)

    def boot(self) -> None:
        """Runs the boot sequence again."""
        self.ask({"type": "Boot"})

    def dock(self, timeout: float = 300.0, on_phase: Optional[Callable[[str], object]] = None) -> None:
        """Has it return to its dock and waits until it charges; `on_phase` is told how far it is.

        A stop from before is cleared. An exception, as by Ctrl-C or after the time, stops it.
        """
        end = time.monotonic() + timeout
        with self.events() as events:
            self.enable()
            try:
                self.ask({"type": "Dock"})
                while True:
                    event = events.next(max(0.0, end - time.monotonic()))
                    if event is None:
                        raise TimedOut(f"{self.name} was not on its dock after {timeout} s")
                    data = event["data"]
                    if data.get("event") != "dock":
                        continue
                    if data.get("dock") == "arrived":
                        return
                    if data.get("dock") == "gave_up":
                        raise DockFailed(f"{self.name} gave up: {data.get('reason')}")
                    if on_phase is not None:
                        on_phase(str(data.get("phase")))
            except DockFailed:
                raise
            except BaseException:
                with contextlib.suppress(SinewError):
                    self.stop()
                raise

    def states(self, *, max_hz: Optional[float] = None, timeout: Optional[float] = None) -> Iterator[api.RobotReport]:
        """What there is to tell about it, whenever that changes."""
        with self.subscribe("state", max_hz=max_hz, timeout=timeout) as subscription:
            for event in subscription:
                yield event["data"]

    def events(self, *, timeout: Optional[float] = None) -> Subscription:
        """What happens to it."""
        return self.subscribe("events", timeout=timeout)

    def readings(
        self, group: str, *, max_hz: Optional[float] = None, timeout: Optional[float] = None
    ) -> Iterator[Dict[str, Any]]:
        """The values of a sensor group (`report()["sensors"]` has their names), without their types."""
        with self.subscribe(f"sensors/{group}", max_hz=max_hz, timeout=timeout) as subscription:
            for event in subscription:
                yield {name: plain(value) for name, value in event["data"].get("values", {}).items()}

    def subscribe(self, *topics: str, max_hz: Optional[float] = None, timeout: Optional[float] = None) -> Subscription:
        """Topics of this robot: see Client.subscribe."""
        return self.client.subscribe(topics, robot=self.name, max_hz=max_hz, timeout=timeout)

    def clouds(self, *, max_hz: Optional[float] = None, timeout: Optional[float] = None) -> Frames:
        """Its clouds of points, the newest one each time."""
        return self.client.frames("cloud", self.name, max_hz=max_hz, timeout=timeout)

    def map_frames(self, *, max_hz: Optional[float] = None, timeout: Optional[float] = None) -> Frames:
        """Its map as it grows: all of it, then what changes; for `frames.Map`."""
        return self.client.frames("map", self.name, max_hz=max_hz, timeout=timeout)


class Component:
    """A part of a robot that can be switched; what each takes is in docs/api.md."""

    def __init__(self, robot: Robot, name: str) -> None:
        self._robot = robot
        self.name = name

    def enable(self, *, confirm: bool = False, **config: float) -> None:
        self._do("Enable", config, confirm)

    def disable(self, *, confirm: bool = False) -> None:
        self._do("Disable", {}, confirm)

    def reset(self, *, confirm: bool = False) -> None:
        self._do("Reset", {}, confirm)

    def configure(self, *, confirm: bool = False, **config: float) -> None:
        """Sets its values, as `component("vacuum").configure(speed=60)`."""
        self._do("Configure", config, confirm)

    def _do(self, verb: str, config: Dict[str, float], confirm: bool) -> None:
        self._robot.ask(component(self.name, verb, config, confirm))


def component(name: str, verb: str, config: Dict[str, float], confirm: bool = False) -> Dict[str, Any]:
    """The command that switches a component."""
    action: Dict[str, Any] = {"type": verb}
    if config:
        action["config"] = dict(config)
    return {"type": "ComponentControl", "id": name, "action": action, "confirm": confirm or None}


def plain(value: Any) -> Any:
    """A value without its type: `{"U8": 75}` is 75."""
    if isinstance(value, dict):
        values = list(cast(Dict[str, Any], value).values())
        if len(values) == 1:
            return values[0]
    return cast(Any, value)
