"""Drives a robot in a small square, and says where it is after each side.

    python drive.py [--address HOST:PORT] [--robot NAME] [--side SECONDS]
"""

from __future__ import annotations

import argparse
import math

import sinew


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--address", default="127.0.0.1:5556")
    parser.add_argument("--robot", default="vacuum")
    parser.add_argument("--side", type=float, default=2.0, help="seconds that a side takes")
    arguments = parser.parse_args()
    with sinew.connect(arguments.address) as client:
        robot = client.robot(arguments.robot)
        robot.wait_ready()
        # Whatever happens in this block, Ctrl-C too: the robot stands after it.
        with robot.drive() as drive:
            turn = drive.limits["angular"]
            for side in range(4):
                drive.run(arguments.side, linear=drive.limits["linear"] / 3)
                drive.run(math.pi / 2 / turn, angular=turn)
                pose = robot.report()["state"]["pose"]
                print(f"side {side + 1}: x {pose['x']:.2f} m, y {pose['y']:.2f} m, heading {pose['heading']:.2f} rad")


if __name__ == "__main__":
    try:
        main()
    except sinew.SinewError as error:
        raise SystemExit(f"drive: {error}")
    except KeyboardInterrupt:
        raise SystemExit("stopped")
