# SPDX-License-Identifier: Apache-2.0
"""Measures plain files of a mirrored directory against the files themselves.

    scripts/bench.py plain [--build DIR] [--scratch DIR] [--rounds N] [--mib N]

A safetensors file, which stays a file in a mirror, is read from end to end twice, by
preads and faults of mmap of 4 KiB at random, opened and closed again and again, and
loaded by safetensors.numpy if that is installed; through a mount as it is, and through
one with -o passthrough=off. The yardstick, in the same round, is the file below, which
is in the page cache. "page cache" is by how many times the file that grew since the
mount.
"""

import argparse
import collections
import os
import pathlib
import random
import time
from collections.abc import Callable

import numpy as np

from . import lib
from .load import cached, write_safetensors
from .random import PAGE, faults, preads
from .results import RUN

READS = 20_000
OPENS = 4_000
MODES = {"passthrough": [], "no passthrough": ["passthrough=off"]}


def opens(path: pathlib.Path) -> float:
    """Seconds of all opens but the first."""
    held = os.open(path, os.O_RDONLY)
    start = time.perf_counter()
    for _ in range(OPENS):
        os.close(os.open(path, os.O_RDONLY))
    taken = time.perf_counter() - start
    os.close(held)
    return taken


def tasks(size: int) -> dict[str, Callable[[pathlib.Path], float]]:
    reader = lib.Reader()
    places = [random.Random(1).randrange(size // PAGE) * PAGE for _ in range(READS)]
    found = {"stream": lambda path: reader.sequential([path]),
             "stream again": lambda path: reader.sequential([path]),
             "preads of 4 KiB": lambda path: preads(path, places),
             "faults of mmap": lambda path: faults(path, places),
             "opens": opens}
    try:
        from safetensors.numpy import load_file
    except ImportError:
        return found

    def load(path: pathlib.Path) -> float:
        start = time.perf_counter()
        if load_file(path)["vectors"].nbytes < size - PAGE:
            raise RuntimeError("bytes are missing")
        return time.perf_counter() - start

    return found | {"safetensors load_file": load}


def measure(tools: lib.Tools, chosen: argparse.Namespace) -> None:
    folder = tools.scratch / "plain"
    folder.mkdir(exist_ok=True)
    source = folder / "model.safetensors"
    write_safetensors(source, np.random.default_rng(1).random(
        (chosen.mib * 256, 1024), dtype=np.float32))
    work = tasks(source.stat().st_size)
    ratios: dict[tuple[str, str], list[float]] = collections.defaultdict(list)
    grown: dict[tuple[str, str], list[float]] = collections.defaultdict(list)
    for _ in range(chosen.rounds):
        for mode, more in MODES.items():
            lib.warm(source)
            with lib.mounted(tools.build, folder, tools.point, *more):
                before = cached()
                for what, run in work.items():
                    through = run(tools.point / source.name)
                    ratios[what, mode].append(run(source) / through)
                    grown[what, mode].append((cached() - before) / source.stat().st_size)
    for key, values in ratios.items():
        RUN.add(", ".join(key), values, "of the file below")
        RUN.add(", ".join(key) + ", page cache", grown[key], "times the file")


def main() -> None:
    options = lib.options_of(__doc__, rounds=5)
    options.add_argument("--mib", type=int, default=256)
    chosen = options.parse_args()
    with lib.tools_of(chosen) as tools:
        measure(tools, chosen)
