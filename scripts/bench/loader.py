# SPDX-License-Identifier: Apache-2.0
"""Measures np.load of one sample after the other, as a DataLoader's workers do.

scripts/bench.py loader [--build DIR] [--scratch DIR] [--rounds N] [--passes N] [--samples N]:
writes samples as .npy files into a directory and a tar file, mounts each, and lets
two processes load every other sample of a shuffled order, again and again: from the
directory, from its mirror, and from the tar file, with options that let the kernel
ask less. Gives the samples a second of the first pass over a fresh mount and of the
passes after it, and their ratios to the directory itself.
"""

import argparse
import multiprocessing
import os
import pathlib
import random
import tarfile
import tempfile
import time
from collections.abc import Callable

import numpy as np

from . import lib
from .results import RUN

WORKERS = 2
TAR = "samples.tar"
MOUNTS = {"mirror": (False, []),
          "mirror, timeout=3600": (False, ["timeout=3600"]),
          "mirror, revalidate=3600": (False, ["revalidate=3600"]),
          "tar": (True, []),
          "tar, revalidate=0": (True, ["revalidate=0"]),
          "tar, revalidate=3600": (True, ["revalidate=3600"])}


def load_all(paths: list[str]) -> None:
    for path in paths:
        np.load(path)


def read_all(paths: list[str]) -> None:
    """By three system calls each; open() of Python makes further ones."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        os.read(descriptor, 1 << 20)
        os.close(descriptor)


# How samples are read, and their shapes.
SIZES = {"4 KiB, by system calls": (read_all, (992,)),
         "48 KiB, by numpy": (load_all, (3, 64, 64)),
         "588 KiB, by numpy": (load_all, (3, 224, 224))}


def one_pass(folder: pathlib.Path, names: list[str], seed: int, read: Callable) -> float:
    """Samples a second that all workers together read."""
    order = [str(folder / name) for name in names]
    random.Random(seed).shuffle(order)
    with multiprocessing.Pool(WORKERS) as pool:
        pool.map(read, [[]] * WORKERS, 1)  # they have started
        start = time.perf_counter()
        pool.map(read, [order[i::WORKERS] for i in range(WORKERS)], 1)
        return len(order) / (time.perf_counter() - start)


def write_samples(folder: pathlib.Path, count: int, shape: tuple[int, ...]) -> list[str]:
    folder.mkdir()
    chance = np.random.default_rng(1)
    names = [f"{i:06}.npy" for i in range(count)]
    for name in names:
        np.save(folder / name, chance.random(shape, dtype=np.float32))
    with tarfile.open(folder.parent / TAR, "w") as tar:
        for name in names:
            tar.add(folder / name, name)
    return names


def report(what: str, got: list[float], base: list[float]) -> None:
    RUN.add(what, got, "a second")
    RUN.add(f"{what}, beside the files", [a / b for a, b in zip(got, base)], "of plain files")


def measure(tools: lib.Tools, folder: pathlib.Path, names: list[str], size: str,
            options: argparse.Namespace) -> None:
    """Each pass over a mount comes right after one over the directory."""
    point, read = tools.point, SIZES[size][0]
    one_pass(folder, names, 0, read)  # into the page cache
    for what, (packed, more) in MOUNTS.items():
        source = folder.parent / TAR if packed else folder
        samples = point / TAR if packed else point
        first, later = ([], []), ([], [])
        for seed in range(options.rounds):
            with lib.mounted(tools.build, source, point, *more, *options.options):
                for passes, into in ((1, first), (options.passes, later)):
                    for _ in range(passes):
                        for where, rates in ((samples, into[0]), (folder, into[1])):
                            # As in a long pass, each file was last used a while ago.
                            time.sleep(1.1)
                            rates.append(one_pass(where, names, seed, read))
        report(f"{size}, {what}: first pass", *first)
        report(f"{size}, {what}: later", *later)


def main() -> None:
    options = lib.options_of(__doc__, 5)
    options.add_argument("--passes", type=int, default=3)
    options.add_argument("--samples", type=int, default=2000)
    options.add_argument("--options", action="append", default=[])
    chosen = options.parse_args()
    with lib.tools_of(chosen) as tools:
        for size, (_, shape) in SIZES.items():
            with tempfile.TemporaryDirectory(dir=tools.scratch) as folder:
                samples = pathlib.Path(folder) / "samples"
                names = write_samples(samples, chosen.samples, shape)
                measure(tools, samples, names, size, chosen)

