"""A wire between two network namespaces, with faults. Python's standard library only.

    wire.py DEVICE NAMESPACE ADDRESS NAMESPACE ADDRESS SEED

Makes a TUN device of this name and address (as 10.77.1.1/30) in each namespace, prints `ready`, and carries
IP packets between them for as long as standard input is open. Lines there change the wire, each answered
by a line when it holds:

    delay MS     each way
    loss P       share of the packets, 0 to 1
    rate BITS    a second each way; 0 for any
    cut, join    while it is cut nothing arrives, nor what was on its way
    count        answered by `count CARRIED LOST`
"""

import collections
import ctypes
import fcntl
import os
import random
import select
import struct
import subprocess
import sys
import time

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TUN = 0x0001
IFF_NO_PI = 0x1000
# What a slow wire keeps back at most, each way; more is lost, as in any router.
MOST_BYTES = 1 << 20


def enter(namespace):
    """Moves this process. Python has a call for it from 3.12 on only."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/run/netns/{namespace}") as there:
        if libc.setns(there.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {namespace}")


def tun(device, namespace, address):
    """A device there. It is where the process was when it opened the file."""
    enter(namespace)
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(file, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TUN | IFF_NO_PI))
    for words in (
        f"address add {address} dev {device}",
        f"link set {device} up mtu 1400 multicast on",
    ):
        subprocess.run(["ip", *words.split()], check=True)
    return file


class Way:
    """One direction: packets leave in the order in which they came."""

    def __init__(self, source, target, seed):
        self.source, self.target = source, target
        self.random = random.Random(seed)
        # When each is due, and the packet.
        self.waiting = collections.deque()
        self.bytes = 0
        self.free_at = 0.0


class Wire:
    def __init__(self, one, other, seed):
        self.ways = [Way(one, other, f"{seed} there"), Way(other, one, f"{seed} back")]
        self.delay, self.loss, self.rate, self.is_cut = 0.0, 0.0, 0.0, False
        self.carried = self.lost = 0

    def take(self, way, now):
        while True:
            try:
                packet = os.read(way.source, 65536)
            except BlockingIOError:
                return
            unlucky = way.random.random() < self.loss
            if self.is_cut or unlucky or way.bytes + len(packet) > MOST_BYTES:
                self.lost += 1
                continue
            sent = max(now, way.free_at)
            if self.rate:
                sent += len(packet) * 8 / self.rate
            way.free_at = sent
            way.waiting.append((sent + self.delay, packet))
            way.bytes += len(packet)

    def give(self, way, now):
        """Passes on what is due; says in how many seconds the next is."""
        while way.waiting:
            due, packet = way.waiting[0]
            if due > now:
                return due - now
            way.waiting.popleft()
            way.bytes -= len(packet)
            try:
                os.write(way.target, packet)
                self.carried += 1
            except OSError:
                # The device takes no more, or is down: lost like any other.
                self.lost += 1
        return None

    def obey(self, line):
        word, *rest = line.split() or [""]
        if word in ("delay", "loss", "rate"):
            value = float(rest[0])
            setattr(self, word, value / 1000 if word == "delay" else value)
        elif word in ("cut", "join"):
            self.is_cut = word == "cut"
            for way in self.ways if self.is_cut else ():
                self.lost += len(way.waiting)
                way.waiting.clear()
                way.bytes, way.free_at = 0, 0.0
        elif word == "count":
            return f"count {self.carried} {self.lost}"
        else:
            return f"unknown: {line}"
        return line

    def run(self):
        commands = b""
        stdin = sys.stdin.fileno()
        while True:
            now = time.monotonic()
            gaps = [gap for way in self.ways if (gap := self.give(way, now)) is not None]
            files = [stdin, *(way.source for way in self.ways)]
            ready, _, _ = select.select(files, [], [], min(gaps, default=None))
            if stdin in ready:
                more = os.read(stdin, 4096)
                if not more:
                    return
                *lines, commands = (commands + more).split(b"\n")
                for line in lines:
                    print(self.obey(line.decode()), flush=True)
            now = time.monotonic()
            for way in self.ways:
                if way.source in ready:
                    self.take(way, now)


def main():
    device, one, one_address, other, other_address, seed = sys.argv[1:]
    wire = Wire(tun(device, one, one_address), tun(device, other, other_address), seed)
    print("ready", flush=True)
    wire.run()


main()
