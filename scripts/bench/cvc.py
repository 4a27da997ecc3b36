# SPDX-License-Identifier: Apache-2.0
"""Reads the same CVC file by `decompressed.load_cvc` and through a mount.

    scripts/bench.py cvc [--build DIR] [--scratch DIR] [--mb 256] [--rounds 5]

Makes a virtual environment in the scratch folder with the package and numpy in
the versions below, writes a file of each compression with the package, and
times both readers in turn, within one run: only the ratio means anything. Each
round is a new process with the container in the page cache; the mount's round
includes mounting. Both end with the vectors as one array in memory, and the
arrays are compared.
"""

import pathlib
import subprocess
import sys

from . import lib
from .results import RUN

PINNED = ["decompressed==2.1.1", "numpy==2.2.6"]
DIMENSION = 768

PACK = """
import sys, numpy, decompressed
path, codec, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
vectors = numpy.random.default_rng(1).standard_normal((rows, %d), "float32")
decompressed.pack_cvc(vectors, path, compression=codec, chunk_size=25000)
""" % DIMENSION

CPU = """
import resource
def cpu(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime
"""

# Seconds from before the first byte is asked for to the array in memory, and
# the processor's seconds, those of the daemon with them.
LOAD = CPU + """
import sys, time, zlib, numpy, decompressed
start, before = time.perf_counter(), cpu(resource.RUSAGE_SELF)
vectors = decompressed.load_cvc(sys.argv[1])
end, after = time.perf_counter(), cpu(resource.RUSAGE_SELF)
print(end - start, after - before, zlib.crc32(vectors), vectors.nbytes)
"""
MOUNTED = CPU + """
import pathlib, subprocess, sys, time, zlib, numpy
container, command, point = sys.argv[1:]
start, before = time.perf_counter(), cpu(resource.RUSAGE_SELF)
daemon = subprocess.Popen([command, "-f", container, point, "-o", "flat"])
file = pathlib.Path(point) / "columns/vectors"
while not file.exists():
    time.sleep(0.001)
vectors = numpy.fromfile(file, "<f4")
end, after = time.perf_counter(), cpu(resource.RUSAGE_SELF)
subprocess.run(["umount", point], check=True)
daemon.wait()
used = after - before + cpu(resource.RUSAGE_CHILDREN)
print(end - start, used, zlib.crc32(vectors), vectors.nbytes)
"""


def run(python: pathlib.Path, program: str, *args) -> tuple[list[float], list[str]]:
    """Seconds and processor's seconds; a checksum of the array and its bytes."""
    command = [python, "-c", program, *args]
    out = subprocess.run(command, check=True, capture_output=True, text=True)
    words = out.stdout.split()[-4:]
    return [float(word) for word in words[:2]], words[2:]


def main() -> int:
    options = lib.options_of(__doc__, rounds=5)
    options.add_argument("--mb", type=int, default=256)
    chosen = options.parse_args()
    scratch = lib.scratch_folder(chosen.scratch)
    python = lib.python_with(PINNED, scratch / "venv")
    point = scratch / "mnt"
    point.mkdir(exist_ok=True)
    build = lib.build_of(chosen.build)
    RUN.machine["packages"] = ", ".join(PINNED)
    for codec, stored in (("fp16", 2), ("int8", 1)):
        file = scratch / f"{codec}.cvc"
        rows = chosen.mb * 1_000_000 // (DIMENSION * stored)
        subprocess.run([python, "-c", PACK, file, codec, str(rows)], check=True)
        rounds: list[tuple] = []
        for _ in range(chosen.rounds):
            peer, array = run(python, LOAD, file)
            ours, same = run(python, MOUNTED, file, build / "mount.ctxfs", point)
            if array != same:
                print(f"{codec}: the arrays differ", file=sys.stderr)
                return 1
            rounds.append((*peer, *ours))
        peer, peer_cpu, ours, ours_cpu = zip(*rounds)
        megabytes = int(array[1]) / 1e6
        for who, wall, used in (("load_cvc", peer, peer_cpu), ("mount and read", ours, ours_cpu)):
            RUN.add(f"{codec}, {who}", [megabytes / one for one in wall], "MB/s")
            RUN.add(f"{codec}, {who}, processor time", list(used), "s")
        RUN.add(codec, [a / b for a, b in zip(peer, ours)], "of load_cvc")
        file.unlink()
    return 0

