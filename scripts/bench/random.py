# SPDX-License-Identifier: Apache-2.0
"""Measures random access through a mount: preads of 4 KiB and faults of mmap.

    scripts/bench.py random [--build DIR] [--scratch DIR] [--rounds N]

Files of a GiB on fresh mounts, opened and verified before: a stored entry, a zstd
entry (decoded to a temporary file, since it is larger than cache=), one of 256 MiB
(in memory), and quantised tensors of GGUF and MCF as float32. The yardstick is null_fs,
a FUSE server with nothing behind it, in the same round. Served and read are the
bytes that left the daemon and the container, per byte wanted.
"""

import mmap
import os
import pathlib
import random
import re
import struct
import time
from collections.abc import Callable, Iterator

from . import lib
from .results import RUN

GIB = 1 << 30
PAGE = 4096
READS = 20_000
ROWS = 8192  # of the quantised tensor, and as many columns: 256 MiB of float32
NULL = "null_fs"


def offsets(size: int, seed: int) -> list[int]:
    """Different pages, in random order: none is in the page cache before."""
    return [page * PAGE for page in random.Random(seed).sample(range(size // PAGE), READS)]


def preads(path: pathlib.Path, places: list[int]) -> float:
    with open(path, "rb", buffering=0) as file:
        start = time.perf_counter()
        for at in places:
            if len(os.pread(file.fileno(), PAGE, at)) != PAGE:
                raise RuntimeError("a read was short")
        return time.perf_counter() - start


def faults(path: pathlib.Path, places: list[int]) -> float:
    with open(path, "rb") as file:
        view = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        view.madvise(mmap.MADV_RANDOM)
        total = 0
        start = time.perf_counter()
        for at in places:
            total += view[at]
        taken = time.perf_counter() - start
        view.close()
        return taken


def write_gguf(path: pathlib.Path) -> None:
    """A GGUF of one Q8_0 tensor "w": per 32 values a float16 scale and 32 bytes."""
    name = b"w"
    head = struct.pack("<4sIQQ", b"GGUF", 3, 1, 0)
    head += struct.pack("<Q", len(name)) + name
    head += struct.pack("<IQQIQ", 2, ROWS, ROWS, 8, 0)
    head += bytes(-len(head) % 32)
    block = struct.pack("<e", 0.5) + random.Random(1).randbytes(32)
    path.write_bytes(head + block * (ROWS * ROWS // 32))


def write_mcf(path: pathlib.Path) -> None:
    """An MCF of one q8 tensor "w": all float16 scales, then all codes."""
    scales = struct.pack("<e", 0.5) * (ROWS * ROWS // 32)
    codes = random.Random(1).randbytes(ROWS) * ROWS
    header, index, data = 40, 64, PAGE
    directory = data + len(scales) + len(codes)
    entry = struct.pack("<6I2Q", 0, 1, 0x20, 2, 0, 0, data, directory - data)
    table = struct.pack("<4I4Q", 1, 0, 1, 2, 48, 88, 104, 1) + entry
    table += struct.pack("<2Q", ROWS, ROWS) + b"w"
    sections = [(3, index, len(table)), (4, data, directory - data)]
    head = struct.pack("<4sHHIIQQQ", b"MCF", 1, 0, header, len(sections), directory,
                       directory + 24 * len(sections), 0)
    with open(path, "wb") as file:
        file.write((head + bytes(index - header) + table).ljust(data, b"\0"))
        file.write(scales + codes)
        for kind, offset, size in sections:
            file.write(struct.pack("<IIQQ", kind, 1, offset, size))


class Counters:
    """The mount's own counters, as differences."""

    NAMES = ("read_bytes_total", "container_bytes_total")

    def __init__(self, point: pathlib.Path):
        self.path = point / ".ctxfs/stats"
        self.before = self.now()

    def now(self) -> list[float]:
        if not self.path.exists():
            return [0.0, 0.0]
        text = self.path.read_text()
        found = [re.search(rf"^ctxfs_{name} (\S+)$", text, re.MULTILINE) for name in self.NAMES]
        return [float(one[1]) if one else 0.0 for one in found]

    def per_byte(self, wanted: int) -> list[float]:
        return [(b - a) / wanted for a, b in zip(self.before, self.now(), strict=True)]


class Bench:
    def __init__(self, tools: lib.Tools):
        self.tools = tools
        self.seconds: dict[tuple[str, str], list[float]] = {}
        self.factors: dict[tuple[str, str], list[float]] = {}
        gguf, mcf = (tools.scratch / f"quantised.{kind}" for kind in ("gguf", "mcf"))
        write_gguf(gguf)
        write_mcf(mcf)
        self.sources = {
            "stored entry, 1 GiB": (tools.make_shard("one", 1, GIB, "none"), None),
            "zstd entry, 1 GiB, in a temporary file": (
                tools.make_shard("one", 1, GIB - PAGE, "zstd"), None),
            "zstd entry, 256 MiB, in memory": (
                tools.make_shard("one", 1, GIB // 4, "zstd"), None),
            "Q8_0 of GGUF as float32, 256 MiB": (gguf, "views/dequantized/w"),
            "q8 of MCF as float32, 256 MiB": (mcf, "views/dequantized/w"),
        }
        for source, _ in self.sources.values():
            lib.warm(source)

    def mounts(self) -> Iterator[tuple[str, Callable, str | None]]:
        yield NULL, lambda: self.tools.null_fs(1, GIB), None
        for name, (source, path) in self.sources.items():
            yield name, lambda source=source: self.tools.ctxfs(source), path

    def round(self, number: int) -> None:
        for how in (preads, faults):
            for name, mount, path in self.mounts():
                with mount():
                    file = self.tools.point / path if path else self.tools.entries()[0]
                    with open(file, "rb", buffering=0) as one:
                        one.read(1)  # verifies and decodes
                    places = offsets(file.stat().st_size, number)
                    counters = Counters(self.tools.point)
                    taken = how(file, places)
                    self.seconds.setdefault((how.__name__, name), []).append(taken)
                    self.factors[how.__name__, name] = counters.per_byte(READS * PAGE)

    def report(self) -> None:
        for (how, name), taken in self.seconds.items():
            RUN.add(f"{how}, {name}", [READS / one for one in taken], "a second")
            if name == NULL:
                continue
            null = self.seconds[how, NULL]
            RUN.add(f"{how}, {name}, beside null_fs",
                    [a / b for a, b in zip(null, taken, strict=True)], "of null_fs")
            served, read = self.factors[how, name]
            RUN.add(f"{how}, {name}, bytes served", [served], "bytes moved per byte")
            RUN.add(f"{how}, {name}, bytes read", [read], "bytes moved per byte")


def main() -> None:
    chosen = lib.options_of(__doc__, rounds=5).parse_args()
    with lib.tools_of(chosen) as tools:
        bench = Bench(tools)
        for number in range(chosen.rounds):
            bench.round(number)
        bench.report()

