"""Tells what a map of ROS's map_server says is taken and free, as JSON."""

import json, re, sys
import numpy
text = open(sys.argv[1]).read()
entry = dict(line.split(": ", 1) for line in text.splitlines())
data = open(json.loads(entry["image"]), "rb").read()
lines = re.sub(rb"#[^\n]*\n", b"", data[:200])
match = re.match(rb"P5\s+(\d+)\s+(\d+)\s+255\s", lines)
width, height = int(match[1]), int(match[2])
grey = numpy.frombuffer(data[-width * height:], numpy.uint8).reshape(height, width)
occupied = (255 - grey) / 255 > float(entry["occupied_thresh"])
free = (255 - grey) / 255 < float(entry["free_thresh"])
x, y, yaw = json.loads(entry["origin"])
step = float(entry["resolution"])
place = lambda mask: [[round(x + step * column, 6), round(y + step * (height - 1 - row), 6)]
                      for row, column in numpy.argwhere(mask).tolist()]
print(json.dumps({"occupied": place(occupied), "free": place(free), "mode": entry["mode"]}))
