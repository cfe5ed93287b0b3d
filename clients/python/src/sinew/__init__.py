"""A client of the Sinew daemon: watch, drive, teach and map with robots.

    import sinew

    with sinew.connect() as client:
        robot = client.robot("vacuum")
        with robot.drive() as drive:
            drive.run(2.0, linear=0.2)

The same for asyncio is in `sinew.aio`.
"""

from .client import Client, Frames, Subscription, connect
from .drive import Drive, Paused
from .errors import (
    Busy,
    ConnectionLost,
    DockFailed,
    InvalidArgument,
    InvalidJson,
    LinkLost,
    NotConfirmed,
    NotFound,
    NotReady,
    ProtocolError,
    Refused,
    RobotRefused,
    SinewError,
    TimedOut,
    TooLarge,
    Unauthorized,
    Unconfirmed,
    Unsupported,
)
from .frames import Frame, FrameError, Map, Pose, write_ply
from .robot import Component, Robot

__all__ = [
    "Busy",
    "Client",
    "Component",
    "ConnectionLost",
    "DockFailed",
    "Drive",
    "Frame",
    "FrameError",
    "Frames",
    "InvalidArgument",
    "InvalidJson",
    "LinkLost",
    "Map",
    "NotConfirmed",
    "NotFound",
    "NotReady",
    "Paused",
    "Pose",
    "ProtocolError",
    "Refused",
    "Robot",
    "RobotRefused",
    "SinewError",
    "Subscription",
    "TimedOut",
    "TooLarge",
    "Unauthorized",
    "Unconfirmed",
    "Unsupported",
    "connect",
    "write_ply",
]
