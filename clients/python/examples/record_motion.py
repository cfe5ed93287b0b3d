"""Has a robot learn a motion by hand and play it.

    python record_motion.py NAME [--address HOST:PORT] [--robot NAME] [--seconds N]
"""

from __future__ import annotations

import argparse
import time

import sinew


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("name", help="what the motion is called")
    parser.add_argument("--address", default="127.0.0.1:5556")
    parser.add_argument("--robot", default="g1")
    parser.add_argument("--seconds", type=float, default=5.0)
    arguments = parser.parse_args()
    with sinew.connect(arguments.address) as client:
        robot = client.robot(arguments.robot)
        robot.wait_ready()
        # The arms are stiff again after this block, whatever happens in it.
        with robot.teach.soft():
            print(f"the arms are soft: move them for {arguments.seconds} s", flush=True)
            with robot.teach.recording(arguments.name) as recording:
                time.sleep(arguments.seconds)
        saved = recording.saved
        print(f"saved {saved['name']}: {saved['frames']} frames, {saved['keyframes']} keyframes")
        ended = robot.teach.play_whole(arguments.name)
        print(f"played it: {ended['why']}")


if __name__ == "__main__":
    try:
        main()
    except sinew.SinewError as error:
        raise SystemExit(f"record_motion: {error}")
