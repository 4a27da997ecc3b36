#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the same CVC file by `decompressed.load_cvc` and through a mount.

    scripts/bench_cvc.py [--bin DIR] [--scratch DIR] [--mb 256] [--rounds 5]

Makes a virtual environment in the scratch folder with the package and numpy in
the versions below, writes a file of each compression with the package, and
times both readers in turn, within one run: only the ratio means anything. Each
round is a new process with the container in the page cache; the mount's round
includes mounting. Both end with the vectors as one array in memory, and the
arrays are compared. Prints a table in Markdown.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PINNED = ["decompressed==2.1.1", "numpy==2.2.6"]
DIMENSION = 768

PACK = """
import sys, numpy, decompressed
path, codec, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
vectors = numpy.random.default_rng(1).standard_normal((rows, %d), "float32")
decompressed.pack_cvc(vectors, path, compression=codec, chunk_size=25000)
""" % DIMENSION

# Seconds from before the first byte is asked for to the array in memory.
LOAD = """
import sys, time, zlib, numpy, decompressed
start = time.perf_counter()
vectors = decompressed.load_cvc(sys.argv[1])
print(time.perf_counter() - start, zlib.crc32(vectors), vectors.nbytes)
"""
MOUNTED = """
import pathlib, subprocess, sys, time, zlib, numpy
container, command, point = sys.argv[1:]
start = time.perf_counter()
subprocess.run([command, container, point, "-o", "flat"], check=True)
vectors = numpy.fromfile(pathlib.Path(point) / "columns/vectors", "<f4")
end = time.perf_counter()
print(end - start, zlib.crc32(vectors), vectors.nbytes)
subprocess.run(["umount", point], check=True)
"""


def environment(scratch: pathlib.Path) -> pathlib.Path:
    python = scratch / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", scratch / "venv"], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", *PINNED], check=True)
    return python


def run(python: pathlib.Path, program: str, *args) -> tuple[float, int, int]:
    """Seconds, a checksum of the array, and its bytes."""
    command = [python, "-c", program, *args]
    out = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, checksum, size = out.stdout.split()[-3:]
    return float(seconds), int(checksum), int(size)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release")
    options.add_argument("--scratch", type=pathlib.Path)
    options.add_argument("--mb", type=int, default=256)
    options.add_argument("--rounds", type=int, default=5)
    chosen = options.parse_args()
    scratch = chosen.scratch or pathlib.Path(tempfile.mkdtemp(prefix="bench_cvc"))
    scratch.mkdir(parents=True, exist_ok=True)
    python = environment(scratch)
    point = scratch / "mnt"
    point.mkdir(exist_ok=True)
    print(f"{', '.join(PINNED)}; median of {chosen.rounds} rounds (least to most)\n")
    print("| compression | stored | load_cvc | mount and read | times as fast |")
    print("|---|---|---|---|---|")
    for codec, stored in (("fp16", 2), ("int8", 1)):
        file = scratch / f"{codec}.cvc"
        rows = chosen.mb * 1_000_000 // (DIMENSION * stored)
        subprocess.run([python, "-c", PACK, file, codec, str(rows)], check=True)
        times: dict[str, list[float]] = {"peer": [], "ours": []}
        for _ in range(chosen.rounds):
            peer = run(python, LOAD, file)
            ours = run(python, MOUNTED, file, chosen.bin / "mount.ctxfs", point)
            if peer[1:] != ours[1:]:
                print(f"{codec}: the arrays differ", file=sys.stderr)
                return 1
            times["peer"].append(peer[0])
            times["ours"].append(ours[0])
        cells = [
            f"{peer[2] / 1e6 / statistics.median(t):.0f} MB/s "
            f"({min(t):.2f} to {max(t):.2f} s)"
            for t in times.values()
        ]
        ratio = statistics.median(times["peer"]) / statistics.median(times["ours"])
        size = file.stat().st_size / 1e6
        print(f"| {codec} | {size:.0f} MB | {cells[0]} | {cells[1]} | {ratio:.1f} |",
              flush=True)
        file.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
