# SPDX-License-Identifier: Apache-2.0
"""Measures np.load of a GiB of float32 through views/npy.

    scripts/bench.py load [--build DIR] [--scratch DIR] [--rounds N] [--mib N]

The array is a tensor of a safetensors file, and the vectors of a CVC of four chunks,
stored as they are, with a CRC-32 each. Each is loaded three times from a fresh mount,
and again with -o materialize=, where the second load waits until the first was written.
"page cache" is by how many times the array that grew since the mount.
The yardsticks, in the same round, are the same .npy on disk, and np.fromfile of as many
bytes of null_fs, which a FUSE server answers from its memory. All files are in the page
cache. Every load is a new process, which times np.load alone.
"""

import collections
import itertools
import json
import os
import pathlib
import struct
import subprocess
import sys
import zlib

import numpy as np

from . import lib
from .results import RUN

COLUMNS = 1 << 10  # of float32: 256 rows are a MiB
CHUNKS = 4
LOADS = ("first", "second", "third")
DISK = ("disk", "")
NULL = "null_fs"

LOAD = """
import sys, time, numpy
start = time.perf_counter()
read = numpy.load if sys.argv[1].endswith(".npy") else numpy.fromfile
array = read(sys.argv[1])
print(time.perf_counter() - start, array.nbytes)
"""


def load(path: pathlib.Path) -> float:
    command = [sys.executable, "-c", LOAD, str(path)]
    words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    if int(words[1]) < path.stat().st_size - 4096:
        raise RuntimeError(f"{path} has {words[1]} bytes")
    return float(words[0])


def cached() -> int:
    """Bytes of files in memory."""
    words = pathlib.Path("/proc/meminfo").read_text().split()
    return int(words[words.index("Cached:") + 1]) << 10


def is_written(point: pathlib.Path) -> bool:
    return "\nctxfs_materialized_files 1\n" in (point / ".ctxfs/stats").read_text()


def write_safetensors(path: pathlib.Path, array: np.ndarray) -> None:
    entry = {"dtype": "F32", "shape": array.shape, "data_offsets": [0, array.nbytes]}
    head = json.dumps({"vectors": entry}).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        array.tofile(file)


def write_cvc(path: pathlib.Path, array: np.ndarray) -> None:
    """Version 2.0, one column without compression; see docs/formats/cvc.md."""
    pieces = np.split(array, CHUNKS)
    column = {"name": "vectors", "dimension": COLUMNS, "dtype": "float32",
              "compression": "none"}
    chunks = [{"rows": len(piece),
               "columns": {"vectors": {"offset": 0, "size": piece.nbytes,
                                       "compression": "none"}}} for piece in pieces]
    head = json.dumps({"format_type": "columnar", "num_vectors": len(array),
                       "columns": [column], "chunks": chunks}).encode()
    with open(path, "wb") as file:
        file.write(b"CVCF" + struct.pack("<HHI", 2, 0, len(head)) + head)
        for piece in pieces:
            file.write(struct.pack("<II", piece.nbytes, zlib.crc32(piece)))
            piece.tofile(file)


def write_sources(scratch: pathlib.Path, mib: int) -> dict[str, pathlib.Path]:
    array = np.random.default_rng(1).random((mib * 256, COLUMNS), dtype=np.float32)
    paths = {kind: scratch / f"array.{kind}" for kind in ("npy", "safetensors", "cvc")}
    np.save(paths["npy"], array)
    write_safetensors(paths["safetensors"], array)
    write_cvc(paths["cvc"], array)
    return paths


def measure(tools: lib.Tools, paths: dict[str, pathlib.Path],
            taken: dict[tuple[str, str], list[float]],
            grown: dict[tuple[str, str], list[float]], materialize: list[list[str]]) -> None:
    """Appends the seconds of one round, and the growth of the page cache."""
    for path in paths.values():
        lib.warm(path)
    taken[DISK].append(load(paths["npy"]))
    with tools.null_fs(1, paths["npy"].stat().st_size):
        for which in LOADS:
            taken[NULL, which].append(load(tools.point / "e0000000"))
    for kind, options in itertools.product(("safetensors", "cvc"), materialize):
        what = ", ".join([kind, *options])
        with tools.ctxfs(paths[kind], *options):
            view = next((tools.point / "views/npy").rglob("vectors.npy"))
            before = cached()
            for which in LOADS:
                taken[what, which].append(load(view))
                if options:
                    lib.wait_until(lambda: is_written(tools.point), 60)
                    os.sync()  # what is being written to the disk is read slowly
                grown[what, which].append((cached() - before) / view.stat().st_size)


def main() -> None:
    options = lib.options_of(__doc__, rounds=5)
    options.add_argument("--mib", type=int, default=1024)
    options.add_argument("--no-materialize", action="store_true",
                         help="without passthrough (Debian 12) stored files are not materialised")
    chosen = options.parse_args()
    taken: dict[tuple[str, str], list[float]] = collections.defaultdict(list)
    grown: dict[tuple[str, str], list[float]] = collections.defaultdict(list)
    with lib.tools_of(chosen) as tools:
        paths = write_sources(tools.scratch, chosen.mib)
        for _ in range(chosen.rounds):
            measure(tools, paths, taken, grown,
                    [[]] if chosen.no_materialize else [[], ["materialize=4G"]])
    disk = taken.pop(DISK)
    RUN.add("from the disk", disk, "s")
    for key, seconds in taken.items():
        what = ", ".join(key)
        RUN.add(what, seconds, "s")
        RUN.add(f"{what}, beside the disk", [a / b for a, b in zip(disk, seconds)],
                "of the file on disk", 0.5)
        if key in grown:
            RUN.add(f"{what}, page cache", grown[key], "times the array")

