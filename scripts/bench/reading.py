# SPDX-License-Identifier: Apache-2.0
"""Reads whole entries through a mount, and what cannot be beaten at that.

    scripts/bench.py reading [--build DIR] [--scratch DIR] [--rounds N] [--entries N]

Yardsticks: (a) null_fs, a FUSE server with nothing behind it; (b) plain files
of the same bytes; (c) the zstd command on the same frames. Everything is
measured in turn in every round, on a fresh mount, the container in the page
cache.
"""

import pathlib
import shutil

from . import lib
from .results import RUN


def read_twice(tools: lib.Tools, reader: lib.Reader, name: str, out: lib.Samples) -> None:
    paths = tools.entries()
    pid = lib.daemon_of(tools.point)
    before = lib.cpu_of(pid)
    first = reader.sequential(paths)
    out.add(f"{name} CPU", lib.cpu_of(pid) - before)
    second = reader.sequential(paths)
    out.add(f"{name} first", first)
    out.add(f"{name} second", second)
    out.add(f"{name} both", first + second)


class Reads:
    """Sequential and parallel reads of the same bytes in every guise."""

    def __init__(self, tools: lib.Tools, count: int):
        self.tools = tools
        self.count = count
        self.reader = lib.Reader()
        self.out = lib.Samples()
        self.containers = {
            "stored": tools.make_shard("stored", count, lib.ENTRY_BYTES, "none"),
            "zstd": tools.make_shard("zstd", count, lib.ENTRY_BYTES, "zstd"),
        }
        self.plain = self.copy_out()
        frames = tools.scratch / "frames"
        self.frames = lib.split_frames(self.containers["zstd"], frames)
        for path in [*self.containers.values(), *self.plain, *self.frames]:
            lib.warm(pathlib.Path(path))

    def copy_out(self) -> list[pathlib.Path]:
        folder = self.tools.scratch / "plain"
        folder.mkdir(exist_ok=True)
        paths = []
        with self.tools.ctxfs(self.containers["stored"]):
            for i, path in enumerate(self.tools.entries()):
                paths.append(folder / f"{i:03}")
                shutil.copyfile(path, paths[-1])
        return paths

    def round(self) -> None:
        tools, reader, out = self.tools, self.reader, self.out
        with tools.null_fs(self.count, lib.ENTRY_BYTES):
            read_twice(tools, reader, "null_fs", out)
        for name, container in self.containers.items():
            with tools.ctxfs(container):
                read_twice(tools, reader, name, out)
                pid = lib.daemon_of(tools.point)
                out.add(f"{name} RSS", lib.memory_of(pid)["VmHWM"])
        with tools.ctxfs(self.containers["zstd"], "verify=off"):
            out.add("zstd verify=off first", reader.sequential(tools.entries()))
        with tools.ctxfs(self.containers["stored"], "verify=off"):
            out.add("stored verify=off first", reader.sequential(tools.entries()))
        out.add("plain", reader.sequential(self.plain))
        out.add("zstd -dc pipe", reader.pipe(["zstd", "-dcq", *self.frames]))
        files = " ".join(self.frames)
        out.add("zstd -dc null", lib.run_timed(f"zstd -dcq {files}"))
        self.parallel_round()
        self.cat_round()

    def parallel_round(self) -> None:
        tools, reader, out = self.tools, self.reader, self.out
        with tools.null_fs(self.count, lib.ENTRY_BYTES):
            out.add("null_fs 2 readers", reader.parallel(tools.entries()))
        for name, container in self.containers.items():
            with tools.ctxfs(container):
                out.add(f"{name} 2 readers", reader.parallel(tools.entries()))

    def cat_round(self) -> None:
        tools, out = self.tools, self.out
        cat = f"find {tools.point} -type f -print0"
        cat += " | sort -z | xargs -0 cat | cat >/dev/null"
        with tools.null_fs(self.count, lib.ENTRY_BYTES):
            out.add("null_fs cat", lib.run_timed(cat))
        for name, container in self.containers.items():
            with tools.ctxfs(container):
                out.add(f"{name} cat", lib.run_timed(cat))


# Of each row: its name, whose seconds are divided by whose, and the aim.
RATIOS = [
    ("stored, first and second read", "null_fs both", "stored both", "of null_fs", 0.9),
    ("stored, first read", "null_fs first", "stored first", "of null_fs", None),
    ("stored, second read", "null_fs second", "stored second", "of null_fs", None),
    ("stored, first read, verify=off", "null_fs first", "stored verify=off first",
     "of null_fs", None),
    ("stored, second read, beside plain files", "plain", "stored second",
     "of plain files", None),
    ("zstd, first read", "zstd -dc pipe", "zstd first", "of zstd -dc to a pipe", 0.9),
    ("zstd, first read, beside /dev/null", "zstd -dc null", "zstd first",
     "of zstd -dc to /dev/null", None),
    ("zstd, first read, verify=off", "zstd -dc pipe", "zstd verify=off first",
     "of zstd -dc to a pipe", None),
    ("stored, two readers", "null_fs 2 readers", "stored 2 readers", "of null_fs", None),
    ("zstd, two readers", "zstd first", "zstd 2 readers", "of one reader", None),
    ("stored, by cat", "null_fs cat", "stored cat", "of null_fs", None),
]


def report(reads: Reads) -> None:
    out = reads.out
    for row, above, below, unit, aim in RATIOS:
        RUN.add(row, out.ratio(above, below), unit, aim)
    total = reads.count * lib.ENTRY_BYTES / 1e9
    for name, values in out.values.items():
        if name.endswith("CPU"):
            RUN.add(f"processor time of the daemon, {name[:-4]}, first read", values, "s")
        elif name.endswith("RSS"):
            RUN.add(f"peak RSS, {name[:-4]}", [v / 1024 for v in values], "MiB")
        else:
            scale = 2 * total if name.endswith("both") else total
            RUN.add(f"rate, {name}", [scale / v for v in values], "GB/s")


def main() -> None:
    options = lib.options_of(__doc__, 5)
    options.add_argument("--entries", type=int, default=32, help="of 16 MiB")
    chosen = options.parse_args()
    with lib.tools_of(chosen) as tools:
        reads = Reads(tools, chosen.entries)
        for _ in range(chosen.rounds):
            reads.round()
        report(reads)
