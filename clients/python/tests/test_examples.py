"""The examples, as a reader would run them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import PACKAGE, Daemon

EXAMPLES = PACKAGE / "examples"


def run(name: str, daemon: Daemon, *arguments: str) -> str:
    command = [sys.executable, str(EXAMPLES / name), *arguments, "--address", daemon.lines]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_drive_goes_round_a_square(free: Daemon) -> None:
    lines = run("drive.py", free, "--side", "0.5").splitlines()
    assert [line.split(":")[0] for line in lines] == ["side 1", "side 2", "side 3", "side 4"]
    places = [line.split("x ")[1] for line in lines]
    assert len(set(places)) == 4, lines


def test_watch_tells_of_all_robots(daemon: Daemon) -> None:
    lines = run("watch.py", daemon, "--seconds", "1.5").splitlines()
    assert {line.split(":")[0] for line in lines} == {"vacuum", "g1"}
    assert any("ready, controls: free" in line for line in lines)


def test_a_motion_is_recorded_and_played(daemon: Daemon) -> None:
    lines = run("record_motion.py", daemon, "hello", "--seconds", "1").splitlines()
    assert lines[1].startswith("saved hello: ") and lines[2].startswith("played it: ")


def test_a_cloud_is_saved(daemon: Daemon, tmp_path: Path) -> None:
    file = tmp_path / "cloud.ply"
    (line,) = run("cloud_to_ply.py", daemon, str(file), "--clouds", "3").splitlines()
    count = int(line.split(" ")[0])
    head, _, body = file.read_bytes().partition(b"end_header\n")
    assert count > 300 and f"element vertex {count}".encode() in head and len(body) == 12 * count


def test_all_of_them_are_tried() -> None:
    tried = {"drive.py", "watch.py", "record_motion.py", "cloud_to_ply.py"}
    assert {file.name for file in EXAMPLES.glob("*.py")} == tried
