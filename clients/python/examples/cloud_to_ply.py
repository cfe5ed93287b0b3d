"""Saves a robot's newest cloud of points as a PLY file.

    python cloud_to_ply.py FILE.ply [--address HOST:PORT] [--robot NAME] [--clouds N]
"""

from __future__ import annotations

import argparse
from typing import Any, List

import sinew


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("file")
    parser.add_argument("--address", default="127.0.0.1:5556")
    parser.add_argument("--robot", default="g1")
    parser.add_argument("--clouds", type=int, default=1, help="how many clouds to put together")
    arguments = parser.parse_args()
    with sinew.connect(arguments.address) as client:
        robot = client.robot(arguments.robot)
        robot.wait_ready()
        # A G1 gives clouds while it makes a map.
        if not robot.mapping.info()["mapping"]:
            robot.mapping.start()
        points: List[Any] = []
        with robot.clouds(timeout=10) as clouds:
            for number, cloud in enumerate(clouds, 1):
                points.extend(cloud.xyz())
                if number == arguments.clouds:
                    break
        print(f"{sinew.write_ply(arguments.file, points)} points in {arguments.file}")


if __name__ == "__main__":
    try:
        main()
    except sinew.SinewError as error:
        raise SystemExit(f"cloud_to_ply: {error}")
