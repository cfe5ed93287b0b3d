"""Reduces a recording to keyframes with numpy; prints the seconds it took and the error reached.

The file has rows of 13 floats: a time in milliseconds and the positions of twelve joints.
"""

import sys
import time

import numpy as np

path, most = sys.argv[1], int(sys.argv[2])
rows = np.fromfile(path, dtype="<f4").reshape(-1, 13).astype(float)
times, joints = rows[:, 0], rows[:, 1:].T
RESOLUTION = 1e-6
ROUNDING = 1e-9


def fewest(values, error):
    """The fewest samples, first and last among them, whose lines stay within the error."""
    size = len(values)
    lines = np.full(size, size)
    lines[0] = 0
    before = np.zeros(size, dtype=int)
    for start in range(size - 1):
        span = times[start + 1 :] - times[start]
        slope = (values[start + 1 :] - values[start]) / span
        slack = (error + ROUNDING) / span
        steepest = np.minimum.accumulate(slope + slack)
        flattest = np.maximum.accumulate(slope - slack)
        fits = np.ones(size - start - 1, dtype=bool)
        fits[1:] = (flattest[:-1] <= slope[1:]) & (slope[1:] <= steepest[:-1])
        better = np.flatnonzero(fits & (lines[start] + 1 < lines[start + 1 :])) + start + 1
        lines[better] = lines[start] + 1
        before[better] = start
    kept = [size - 1]
    while kept[-1] > 0:
        kept.append(before[kept[-1]])
    return kept[::-1]


def attempt(error):
    """The fewest samples of every joint; none of one that may as well hold its first value.

    Not found when they are too many, which is known as soon as every moving joint would need two.
    """
    moving = [np.abs(values - values[0]).max() > error for values in joints]
    left = most - 2 * sum(moving)
    chosen = []
    for values, moves in zip(joints, moving):
        if left < 0:
            return None
        chosen.append(fewest(values, error) if moves else [])
        left -= max(len(chosen[-1]) - 2, 0)
    return chosen if left >= 0 else None


def error_of(chosen):
    """The largest distance of any value from the lines between samples."""
    lines = [
        np.interp(times, times[kept], values[kept]) if kept else values[0]
        for values, kept in zip(joints, chosen)
    ]
    return max(np.abs(values - line).max() for values, line in zip(joints, lines))


def reduce():
    low, high = 0.0, error_of([[] for _ in joints])
    while high - low > RESOLUTION:
        middle = (low + high) / 2
        if chosen := attempt(middle):
            high = min(middle, error_of(chosen))
        else:
            low = middle
    return high


start = time.perf_counter()
error = reduce()
print(time.perf_counter() - start, error)
