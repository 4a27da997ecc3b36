#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures np.load of one sample after the other, as a DataLoader's workers do.

bench_loader.py [--rounds N] [--passes N] [--samples N] [--build DIR]:
writes samples as .npy files into a directory, mounts it, and lets two processes
load every other sample of a shuffled order, again and again: from the directory,
from its mirror, and from its mirror with -o timeout=3600. Prints the samples a
second of the first pass over a fresh mount and of the passes after it, as ratios
to the directory itself.
"""

import argparse
import multiprocessing
import pathlib
import random
import statistics
import tempfile
import time

import bench_lib as lib
import numpy as np

WORKERS = 2
SHAPES = {"48 KiB": (3, 64, 64), "588 KiB": (3, 224, 224)}


def load_all(paths: list[str]) -> None:
    for path in paths:
        np.load(path)


def one_pass(folder: pathlib.Path, names: list[str], seed: int) -> float:
    """Samples a second that all workers together load."""
    order = [str(folder / name) for name in names]
    random.Random(seed).shuffle(order)
    with multiprocessing.Pool(WORKERS) as pool:
        pool.map(load_all, [[]] * WORKERS, 1)  # they have started
        start = time.perf_counter()
        pool.map(load_all, [order[i::WORKERS] for i in range(WORKERS)], 1)
        return len(order) / (time.perf_counter() - start)


def write_samples(folder: pathlib.Path, count: int, shape: tuple[int, ...]) -> list[str]:
    folder.mkdir()
    chance = np.random.default_rng(1)
    names = [f"{i:06}.npy" for i in range(count)]
    for name in names:
        np.save(folder / name, chance.random(shape, dtype=np.float32))
    return names


def show(what: str, got: list[float], base: list[float]) -> None:
    ratios = [a / b for a, b in zip(got, base)]
    print(f"  {what:34} {statistics.median(got):9.0f} a second  "
          f"{statistics.median(ratios):5.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def measure(folder: pathlib.Path, names: list[str], options: argparse.Namespace) -> None:
    """Each pass over a mount comes right after one over the directory."""
    point = folder.parent / "mnt"
    one_pass(folder, names, 0)  # into the page cache
    mounts = {"mirror": [], "mirror, timeout=3600": ["timeout=3600"]}
    for what, more in mounts.items():
        first, later = ([], []), ([], [])
        for seed in range(options.rounds):
            with lib.mounted(options.build, folder, point, *more, *options.options):
                for passes, into in ((1, first), (options.passes, later)):
                    for _ in range(passes):
                        for where, rates in ((point, into[0]), (folder, into[1])):
                            # As in a long pass, each file was last used a while ago.
                            time.sleep(1.1)
                            rates.append(one_pass(where, names, seed))
        show(f"{what}: first pass", *first)
        show(f"{what}: later", *later)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--build", type=pathlib.Path, default=lib.ROOT / "build" / "release")
    parser.add_argument("--options", action="append", default=[])
    options = parser.parse_args()
    for size, shape in SHAPES.items():
        with tempfile.TemporaryDirectory() as folder:
            samples = pathlib.Path(folder) / "samples"
            names = write_samples(samples, options.samples, shape)
            print(f"{options.samples} samples of {size}, {WORKERS} processes:")
            measure(samples, names, options)


if __name__ == "__main__":
    main()
