"""Decodes a SLAM body with numpy and prints bytes written per second, best of many turns."""

import sys
import time

import numpy as np

reading, path = sys.argv[1:]
body = open(path, "rb").read()
origin = np.array([-4.8, -1.9, -0.7], dtype=np.float32)


def documented():
    return np.frombuffer(body, dtype="<i2").reshape(-1, 6)[:, :3].astype(np.float32) / 1000.0


def packed():
    return np.frombuffer(body, dtype="<u2").reshape(-1, 3).astype(np.float32) / 1000.0 + origin


decode = {"documented": documented, "packed": packed}[reading]
best = float("inf")
repeats = max(1, 4_000_000 // len(body))
for _ in range(25):
    start = time.perf_counter()
    for _ in range(repeats):
        decode()
    best = min(best, (time.perf_counter() - start) / repeats)
print(decode().nbytes / best)
