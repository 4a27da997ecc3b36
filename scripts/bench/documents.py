# SPDX-License-Identifier: Apache-2.0
"""Measures what generated files add to listing many small containers.

    scripts/bench.py documents [--build DIR] [--scratch DIR] [--rounds N] [--count N]

Trees of small containers of two formats that have generated files (JSON made of
sections), and trees of the same containers without those: the types of their
sections are made unknown, so that nothing is made of them. `find -size`, `ls -l`
and `du` of both, on fresh mounts that take turns. Prints the ratios of seconds,
and of the processor time of daemon and reader. What listing eight more files
costs, of which none is generated, is the ratio of Shards of 10 and 2 entries.
"""

import argparse
import json
import os
import pathlib
import struct
import subprocess
import sys
import time
import zlib

from . import lib
from .results import RUN

sys.path.insert(0, str(lib.ROOT / "tests" / "mount"))
import shard  # noqa: E402

GOLDEN = lib.ROOT / "golden"
COMMANDS = {
    "find -size": ["find", ".", "-size", "+0"],
    "ls -lR": ["ls", "-lR", "."],
    "du": ["du", "-s", "--apparent-size", "."],
}
PER_FOLDER = 100


def copies(folder: pathlib.Path, source: pathlib.Path, count: int) -> pathlib.Path:
    """`count` copies of a container, 100 in each folder."""
    stored = source.read_bytes()
    for i in range(count):
        below = folder / f"{i // PER_FOLDER:03}"
        below.mkdir(parents=True, exist_ok=True)
        (below / f"{i:05}{source.suffix}").write_bytes(stored)
    return folder


def mcf_without(tools: lib.Tools, source: pathlib.Path) -> bytes:
    """Without ModelInfo and QuantInfo (docs/formats/mcf.md, section 3)."""
    data = bytearray(source.read_bytes())
    (count,), (directory,) = struct.unpack_from("<I", data, 12), struct.unpack_from("<Q", data, 16)
    for at in range(directory, directory + 24 * count, 24):
        (kind,) = struct.unpack_from("<I", data, at)
        if kind in (1, 2):
            struct.pack_into("<I", data, at, 0x900 + kind)
    return bytes(data)


def mem8_without(tools: lib.Tools, source: pathlib.Path) -> bytes:
    """Without sections of a known type (docs/formats/mem8.md, sections 2 and 3)."""
    data = bytearray(source.read_bytes())
    index = subprocess.run([tools.build / "ctxfs", "cat", f"{source}//.ctxfs/index.json"],
                           check=True, capture_output=True).stdout
    for section in json.loads(index):
        data[section["offset"] - 3] = 0x40  # the type is before the length
    struct.pack_into("<I", data, 8, zlib.crc32(data[12:]))
    return bytes(data)


def shard_of(count: int) -> bytes:
    return shard.build([shard.entry(f"{i}.json", b"{}") for i in range(count)])


def shard_without(tools: lib.Tools, source: pathlib.Path) -> bytes:
    return shard_of(2)


KINDS = {
    "MCF, 2 of 15 files": (GOLDEN / "mcf" / "basic.mcf", mcf_without),
    "MEM8, 8 of 10 files": (GOLDEN / "mem8" / "full.mem8", mem8_without),
    "Shard, none of 10 files, and of 2": (pathlib.Path("ten.shard"), shard_without),
}


def measure(tools: lib.Tools, tree: pathlib.Path, command: list[str]) -> tuple[float, float]:
    """Seconds, and processor seconds of the daemon and the command."""
    with lib.mounted(tools.build, tree, tools.point):
        daemon = lib.daemon_of(tools.point)
        before, children = lib.cpu_of(daemon), sum(os.times()[2:4])
        start = time.perf_counter()
        subprocess.run(command, cwd=tools.point, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - start
        used = lib.cpu_of(daemon) - before + sum(os.times()[2:4]) - children
    return seconds, used


def compare(tools: lib.Tools, name: str, args: argparse.Namespace) -> None:
    source, without = KINDS[name]
    if not source.is_absolute():
        source = tools.scratch / source
        source.write_bytes(shard_of(10))
    folder = tools.scratch / f"{source.name}.trees"
    stripped = folder.with_suffix(".without" + source.suffix)
    stripped.write_bytes(without(tools, source))
    trees = [copies(folder / "with", source, args.count),
             copies(folder / "without", stripped, args.count)]
    for command, words in COMMANDS.items():
        rounds = [[measure(tools, tree, words) for tree in trees] for _ in range(args.rounds)]
        RUN.add(f"{name}, {command}", [made[0] for made, _ in rounds], "s")
        for which, what in enumerate(("seconds", "processor time")):
            RUN.add(f"{name}, {command}, {what}",
                    [plain[which] / made[which] for made, plain in rounds],
                    "of the tree without")


def main() -> None:
    options = lib.options_of(__doc__, rounds=3)
    options.add_argument("--count", type=int, default=10_000, help="containers in each tree")
    args = options.parse_args()
    with lib.tools_of(args) as tools:
        for name in KINDS:
            compare(tools, name, args)

