# SPDX-License-Identifier: Apache-2.0
"""Measures how mounting and listing grow with the number of entries.

    scripts/bench.py scale [--build DIR] [--scratch DIR] [--rounds N] [--svg FILE]

Shards of 10^3 to 10^7 entries, 1,000 in each folder, and a directory tree of
100,000 containers. --svg draws the medians of the first.
"""

import math
import pathlib
import statistics
import subprocess
import time
from collections.abc import Callable

import numpy as np

import largest

from . import lib
from .results import RUN

PER_FOLDER = 1000
COUNTS = [10**power for power in range(3, 8)]
MOST_LISTED = 10**6  # ls -lR of ten million takes a quarter of an hour
CONTAINERS = 100_000


def write_entries(path: pathlib.Path, count: int) -> None:
    """Entries FFFFF/NNN, in the order of their names."""
    number = largest.digits(count)
    names = np.full((count, 9), ord("/"), dtype=np.uint8)
    names[:, 0:5], names[:, 6:9] = number[:, 0:5], number[:, 5:8]
    largest.write_shard(path, names)


def write_containers(folder: pathlib.Path) -> None:
    """Folders of 1,000 containers of one entry each."""
    one = folder.with_suffix(".shard")
    largest.write_shard(one, largest.digits(1))
    stored = one.read_bytes()
    for i in range(CONTAINERS // PER_FOLDER):
        inner = folder / f"{i:03}"
        inner.mkdir(parents=True)
        for k in range(PER_FOLDER):
            (inner / f"{k:03}.shard").write_bytes(stored)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def lines_of(*command) -> int:
    """Runs a command; the number of lines that it prints."""
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        count = sum(piece.count(b"\n") for piece in iter(lambda: process.stdout.read(1 << 20), b""))
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return count


def find(point: pathlib.Path, expected: int) -> None:
    found = lines_of("find", point)
    if found < expected:
        raise RuntimeError(f"find printed {found} lines of {expected}")


def rss_mib(point: pathlib.Path) -> float:
    return lib.memory_of(lib.daemon_of(point))["VmRSS"] / 1024


def measure_entries(tools: lib.Tools, source: pathlib.Path, count: int) -> dict[str, float]:
    with tools.ctxfs(source) as mounting:
        out = {"mount, s": mounting, "RSS after mount, MiB": rss_mib(tools.point)}
        out["find, s"] = seconds(lambda: find(tools.point, count))
        out["find again, s"] = seconds(lambda: find(tools.point, count))
        out["RSS after find, MiB"] = rss_mib(tools.point)
    if count <= MOST_LISTED:
        with tools.ctxfs(source):
            out["ls -lR, s"] = seconds(lambda: lines_of("ls", "-lR", tools.point))
    return out


def measure_containers(tools: lib.Tools, folder: pathlib.Path) -> dict[str, float]:
    with lib.mounted(tools.build, folder, tools.point) as mounting:
        inner = tools.point / "000"
        out = {"mount, s": mounting}
        out["ls of a folder of 1,000, s"] = seconds(lambda: lines_of("ls", inner))
        out["open and read the first file, s"] = seconds(
            lambda: (inner / "000.shard/00000000").read_bytes())
        out["find, which opens all, s"] = seconds(lambda: find(tools.point, 2 * CONTAINERS))
        out["RSS after find, MiB"] = rss_mib(tools.point)
    return out


def report(what: str, rounds: list[dict[str, float]]) -> dict[str, float]:
    """Adds a row of each measurement, whose name ends in its unit; returns the medians."""
    for name in rounds[0]:
        measured, unit = name.rsplit(", ", 1)
        RUN.add(f"{what}: {measured}", [one[name] for one in rounds], unit)
    return {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}


def all_of_entries(tools: lib.Tools, count: int, rounds: int) -> dict[str, float]:
    source = tools.scratch / f"entries-{count}.shard"
    if not source.exists():
        write_entries(source, count)
    rounds = rounds if count < COUNTS[-1] else 1
    return report(f"{count:,} entries",
                  [measure_entries(tools, source, count) for _ in range(rounds)])


class Plot:
    """Lines over logarithmic axes, as SVG."""

    WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 440, 70, 180, 20, 50
    COLOURS = ("#1b6ca8", "#c0392b", "#2e8b57", "#8e44ad", "#b8860b", "#555555")

    def __init__(self, x: tuple[int, int], y: tuple[int, int]):
        self.x, self.y = x, y  # powers of ten
        self.parts: list[str] = []

    def place(self, x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - self.x[0]) / (self.x[1] - self.x[0])
        up = (math.log10(y) - self.y[0]) / (self.y[1] - self.y[0])
        return (self.LEFT + across * (self.WIDTH - self.LEFT - self.RIGHT),
                self.HEIGHT - self.BOTTOM - up * (self.HEIGHT - self.TOP - self.BOTTOM))

    def text(self, x: float, y: float, text: str, anchor: str, colour: str = "#333") -> None:
        self.parts.append(f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" '
                          f'fill="{colour}">{text}</text>')

    def axes(self, below: str) -> None:
        for power in range(self.x[0], self.x[1] + 1):
            x, low = self.place(10**power, 10**self.y[0])
            self.grid(x, low, x, self.TOP)
            self.text(x, low + 18, f"{10**power:,}", "middle")
        for power in range(self.y[0], self.y[1] + 1):
            x, y = self.place(10**self.x[0], 10**power)
            self.grid(x, y, self.WIDTH - self.RIGHT, y)
            self.text(x - 6, y + 4, f"{10**power:,}" if power >= 0 else f"{10.0**power:g}", "end")
        self.text((self.LEFT + self.WIDTH - self.RIGHT) / 2, self.HEIGHT - 10, below, "middle")

    def grid(self, x1: float, y1: float, x2: float, y2: float) -> None:
        self.parts.append(f'<path d="M{x1:.0f} {y1:.0f}L{x2:.0f} {y2:.0f}" stroke="#ddd"/>')

    def line(self, name: str, points: list[tuple[float, float]]) -> None:
        colour = self.COLOURS[sum("polyline" in part for part in self.parts)]
        places = [self.place(*point) for point in points]
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        self.parts.append(f'<polyline points="{text}" fill="none" stroke="{colour}" '
                          'stroke-width="2"/>')
        self.parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
                       for x, y in places]
        x, y = places[-1]
        self.text(x + 8, y + 4, name, "start", colour)

    def svg(self) -> str:
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.WIDTH}" '
                f'height="{self.HEIGHT}" viewBox="0 0 {self.WIDTH} {self.HEIGHT}" '
                'font-family="sans-serif" font-size="12">'
                '<rect width="100%" height="100%" fill="white"/>'
                + "\n".join(self.parts) + "</svg>\n")


def draw(by_count: dict[int, dict[str, float]]) -> str:
    plot = Plot((3, 7), (-3, 4))
    plot.axes("entries; seconds, and MiB")
    for name in ("mount, s", "find, s", "ls -lR, s", "RSS after find, MiB"):
        plot.line(name, [(count, one[name]) for count, one in by_count.items() if name in one])
    return plot.svg()


def main() -> None:
    options = lib.options_of(__doc__, rounds=3)
    options.add_argument("--svg", type=pathlib.Path)
    args = options.parse_args()
    with lib.tools_of(args) as tools:
        by_count = {count: all_of_entries(tools, count, args.rounds) for count in COUNTS}
        if args.svg:
            args.svg.write_text(draw(by_count), encoding="utf-8")
        folder = tools.scratch / "containers"
        if not folder.exists():
            write_containers(folder)
        report(f"{CONTAINERS:,} containers in {CONTAINERS // PER_FOLDER} folders",
               [measure_containers(tools, folder) for _ in range(args.rounds)])

