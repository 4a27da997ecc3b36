# SPDX-License-Identifier: Apache-2.0
"""Compares two builds of ctxfs, such as those of before and after a change.

    scripts/bench.py builds OLD NEW [--scratch DIR] [--rounds N]

OLD and NEW are folders of programs of the preset bench. In each round both take
every measurement in turn, on a fresh mount, the container in the page cache; who
begins alternates. The ratio of a round is OLD / NEW of the seconds (or KiB): above
1, the new build is better.
"""

import argparse
import json
import pathlib
import struct
import subprocess
import time
import zipfile

from . import lib, random, results
from .results import RUN

MIB = 1 << 20
NAMES = 200_000
TENSORS = 2000


def write_safetensors(path: pathlib.Path) -> None:
    """TENSORS tensors of one float32 each."""
    header = json.dumps({
        f"model.layers.{i}.self_attn.q_proj.weight":
            {"dtype": "F32", "shape": [1], "data_offsets": [4 * i, 4 * i + 4]}
        for i in range(TENSORS)
    }).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(4 * TENSORS))


def write_zip(path: pathlib.Path, frames: pathlib.Path) -> None:
    """A deflated member of 256 MiB."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        with file.open("member", "w") as member, open(frames, "rb") as data:
            for _ in range(256):
                member.write(data.read(MIB))


class Containers:
    """What is read, written once into the scratch folder."""

    def __init__(self, tools: lib.Tools):
        self.stored = tools.make_shard("stored", 32, lib.ENTRY_BYTES, "none")
        self.zstd = tools.make_shard("zstd", 32, lib.ENTRY_BYTES, "zstd")
        self.one = tools.make_shard("one", 1, 1 << 30, "none")
        self.names = tools.make_shard("many", NAMES, 16, "none")
        self.safetensors = tools.scratch / "many.safetensors"
        self.zip = tools.scratch / "large.zip"
        write_safetensors(self.safetensors)
        if not self.zip.exists():
            write_zip(self.zip, self.stored)
        for path in vars(self).values():
            lib.warm(path)


class Build:
    """One of the two, and what it was measured to take, by name."""

    def __init__(self, folder: pathlib.Path, scratch: pathlib.Path):
        self.tools = lib.Tools(folder.resolve(), scratch)
        self.values: dict[str, list[float]] = {}

    def add(self, name: str, value: float) -> None:
        self.values.setdefault(name, []).append(value)

    def reads(self, name: str, container: pathlib.Path, reader: lib.Reader) -> None:
        with self.tools.ctxfs(container):
            paths = self.tools.entries()
            self.add(f"{name}, first read", reader.sequential(paths))
            self.add(f"{name}, second read", reader.sequential(paths))
            memory = lib.memory_of(lib.daemon_of(self.tools.point))
            self.add(f"{name}, peak RSS", memory["VmHWM"])

    def preads(self, name: str, container: pathlib.Path) -> None:
        with self.tools.ctxfs(container):
            [path] = self.tools.entries()
            with open(path, "rb", buffering=0) as file:
                file.read(1)  # verifies
            self.add(name, random.preads(path, random.offsets(path.stat().st_size, 1)))

    def listing(self, container: pathlib.Path) -> None:
        with self.tools.ctxfs(container) as seconds:
            self.add("mount of 200,000 entries", seconds)
            find = f"find {self.tools.point} | wc -l"
            self.add("find, first", lib.run_timed(find))
            memory = lib.memory_of(lib.daemon_of(self.tools.point))
            self.add("RSS after find", memory["VmRSS"])
            self.add("find again", lib.run_timed(find))

    def command(self, name: str, *words: str | pathlib.Path) -> None:
        start = time.perf_counter()
        for _ in range(20):
            subprocess.run([self.tools.build / "ctxfs", *words], check=True,
                           stdout=subprocess.DEVNULL)
        self.add(name, time.perf_counter() - start)

    def round(self, read: Containers, reader: lib.Reader) -> None:
        self.reads("stored", read.stored, reader)
        self.reads("zstd", read.zstd, reader)
        self.reads("deflate, 256 MiB of a zip", read.zip, reader)
        self.preads("20,000 preads of 4 KiB, stored", read.one)
        self.listing(read.names)
        self.command("20 times info of 2,000 tensors", "info", read.safetensors)


def report(old: Build, new: Build) -> None:
    for name, before in old.values.items():
        after = new.values[name]
        scale, unit = (1 / 1024, "MiB") if "RSS" in name else (1, "s")
        RUN.add(f"{name}, old", [value * scale for value in before], unit)
        RUN.add(f"{name}, new", [value * scale for value in after], unit)
        RUN.add(name, [a / b for a, b in zip(before, after, strict=True)], "old / new", 0.97)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("old", type=pathlib.Path)
    options.add_argument("new", type=pathlib.Path)
    options.add_argument("--scratch", type=pathlib.Path)
    options.add_argument("--rounds", type=int, default=5)
    args = options.parse_args()
    scratch = lib.scratch_folder(args.scratch)
    old, new = Build(args.old, scratch), Build(args.new, scratch)
    for which, build in (("old", old), ("new", new)):
        RUN.machine[which] = results.command_output(str(build.tools.build / "ctxfs"), "--version")
    read, reader = Containers(new.tools), lib.Reader()
    for number in range(args.rounds):
        for build in (old, new) if number % 2 == 0 else (new, old):
            build.round(read, reader)
    report(old, new)
    return 0
