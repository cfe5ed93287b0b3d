"""Prints what happens to all robots, a line each, until Ctrl-C or for some seconds.

    python watch.py [--address HOST:PORT] [--seconds N]
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import sinew


def described(event: Any) -> str:
    if event["topic"] != "state":
        return str(event["data"])
    report = event["data"]
    holder = report["holder"] or "free"
    return f"{report['link']['state']}, controls: {holder}, stopped by: {report['stopped_by']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--address", default="127.0.0.1:5556")
    parser.add_argument("--seconds", type=float)
    arguments = parser.parse_args()
    end = None if arguments.seconds is None else time.monotonic() + arguments.seconds
    with sinew.connect(arguments.address) as client:
        with client.subscribe(["state", "events"], max_hz=1) as subscription:
            while end is None or time.monotonic() < end:
                event = subscription.next(None if end is None else max(0.0, end - time.monotonic()))
                if event is not None:
                    print(f"{event['robot']}: {described(event)}", flush=True)
            if subscription.lost:
                print(f"{subscription.lost} messages were lost: this program reads too slowly")


if __name__ == "__main__":
    try:
        main()
    except sinew.SinewError as error:
        raise SystemExit(f"watch: {error}")
    except KeyboardInterrupt:
        pass
