# SPDX-License-Identifier: Apache-2.0
"""Reads safetensors, GGUF, zip, tar and packed tar by their usual readers and by a mount.

    scripts/bench.py formats [--build DIR] [--scratch DIR] [--rounds 3] [--scale 1]
                             [--mount-zip PROGRAM]

Makes a virtual environment in the scratch folder with the readers in the
versions below and runs itself there. Files are written once, and are in the
page cache. Each round asks each reader in turn, within one process: only the
ratio means anything. The mount's time includes mounting. What both read is
compared. `--scale 0.1` makes every file a tenth as large. `--mount-zip` names a build of mount-zip, which Debian 12 does not have.
"""

import io
import pathlib
import random
import subprocess
import sys
import tarfile
import time
import zipfile

from . import lib
from .peers import install_ratarmount
from .results import RUN

PINNED = ["gguf==0.19.0", "numpy==2.4.6", "safetensors==0.8.0"]
TENSORS = 10_000
MEMBERS = 1_000_000
MIB = 1 << 20
DEQUANTISED = ("Q4_0", "Q8_0", "Q4_K", "Q6_K", "Q2_K", "Q3_K", "Q5_K", "IQ4_XS",
               "IQ2_XXS", "TQ1_0")


def timed(act) -> tuple[float, object]:
    start = time.perf_counter()
    result = act()
    return time.perf_counter() - start, result


class Bench:
    def __init__(self, tools: lib.Tools, rounds: int, scale: float, mount_zip: str | None):
        self.tools = tools
        self.mount_zip = mount_zip
        self.rounds = rounds
        self.scale = scale

    def file(self, name: str, write) -> pathlib.Path:
        path = self.tools.scratch / name
        if not path.exists():
            partial = path.with_suffix(".partial")
            write(partial)
            partial.rename(path)
        lib.warm(path)
        return path

    def compare(self, what: str, reader: str, path: pathlib.Path, theirs, ours) -> None:
        """`theirs` reads the file, `ours` its mount; both give the same."""
        peer, own = [], []
        for _ in range(self.rounds):
            seconds, wanted = timed(theirs)
            peer.append(seconds)
            with self.tools.ctxfs(path) as mounting:
                seconds, found = timed(lambda: ours(self.tools.point))
            own.append(mounting + seconds)
            if not same(wanted, found):
                raise SystemExit(f"{what}: both readers read something else")
            del wanted, found
        report(what, reader, peer, own)


    def compare_cat(self, what: str, reader: str, path: pathlib.Path, inside: str, theirs) -> None:
        """`theirs` gives the number of bytes that `ctxfs cat` of `inside` writes."""
        peer, own = [], []
        for _ in range(self.rounds):
            seconds, wanted = timed(theirs)
            peer.append(seconds)
            seconds, found = timed(lambda: self.cat(f"{path}//{inside}"))
            own.append(seconds)
            if wanted != found:
                raise SystemExit(f"{what}: {wanted} and {found} bytes")
        report(what, reader, peer, own, "ctxfs cat")

    def cat(self, operand: str) -> int:
        command = [self.tools.build / "ctxfs", "cat", operand]
        buffer, total = bytearray(lib.PIECE), 0
        with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as process:
            while got := process.stdout.readinto(buffer):
                total += got
        if process.returncode != 0:
            raise subprocess.CalledProcessError(process.returncode, command)
        return total

    def compare_null(self, what: str, path: pathlib.Path, inside: str, count: int,
                     size: int) -> None:
        """Reads `count` files of `size` bytes, below `inside` and of null_fs."""
        peer, own = [], []
        for _ in range(self.rounds):
            with self.tools.null_fs(count, size):
                peer.append(timed(lambda: sizes_in(self.tools.point))[0])
            with self.tools.ctxfs(path):
                own.append(timed(lambda: sizes_in(self.tools.point / inside))[0])
        report(f"{what}, beside null_fs", "null_fs", peer, own)


def bench_of(doc: str, name: str, packages: list[str]) -> Bench:
    """Of a benchmark that runs itself again by a Python that has these packages."""
    options = lib.options_of(doc, rounds=5)
    options.add_argument("--scale", type=float, default=1)
    chosen = options.parse_args()
    scratch = lib.scratch_folder(chosen.scratch)
    lib.run_with(packages, name, scratch)
    return Bench(lib.Tools(lib.build_of(chosen.build), scratch), chosen.rounds, chosen.scale, None)


def report(what: str, reader: str, peer: list[float], own: list[float],
           program: str = "ctxfs") -> None:
    RUN.add(f"{what}, by {reader}", peer, "s")
    RUN.add(f"{what}, by {program}", own, "s")
    RUN.add(what, [a / b for a, b in zip(peer, own, strict=True)], f"of {reader}")


def same(wanted, found) -> bool:
    import numpy

    if isinstance(wanted, numpy.ndarray):
        # Random codes give NaNs, of which numpy has one sign and we another.
        return numpy.array_equal(wanted.ravel(), found, equal_nan=True)
    return wanted == found


def names_in(folder: pathlib.Path) -> int:
    return sum(1 for _ in folder.iterdir())


def sizes_in(folder: pathlib.Path) -> int:
    """Reads every file of a folder, and gives the number of bytes."""
    buffer = memoryview(bytearray(lib.PIECE))
    return lib.read_files(sorted(path for path in folder.iterdir() if path.is_file()),
                          buffer)


def by_mount_zip(bench: Bench, archive: pathlib.Path) -> int:
    point = bench.tools.point
    try:
        subprocess.run([bench.mount_zip, archive, point], check=True)
        return sizes_in(point)
    finally:
        lib.unmount(point)


def safetensors_files(bench: Bench) -> None:
    import numpy
    import safetensors
    import safetensors.numpy

    def many(path):
        tensor = numpy.arange(4, dtype="f4")
        count = int(TENSORS * bench.scale)
        safetensors.numpy.save_file({f"layer.{i:05}.w": tensor for i in range(count)}, path)

    def listed():
        with safetensors.safe_open(path, framework="numpy") as model:
            return len(list(model.keys()))

    def large(path):
        values = numpy.random.default_rng(1)
        parts = {f"layer.{i:03}.w": values.integers(0, 2**32, (4 * MIB,), "u4")
                 for i in range(int(128 * bench.scale) or 1)}
        safetensors.numpy.save_file(parts, path)

    def loaded():
        model = safetensors.numpy.load_file(whole)
        return sum(tensor.nbytes for tensor in model.values())

    path = bench.file("many.safetensors", many)
    bench.compare("list 10,000 tensors", "safetensors", path, listed,
                  lambda mounted: names_in(mounted / "tensors"))
    whole = bench.file("large.safetensors", large)
    bench.compare("read 2 GiB of tensors", "safetensors", whole, loaded,
                  lambda mounted: sizes_in(mounted / "tensors"))


def gguf_files(bench: Bench) -> None:
    import gguf
    import numpy

    def many(path):
        writer = gguf.GGUFWriter(path, "llama")
        for i in range(int(TENSORS * bench.scale)):
            writer.add_tensor(f"blk.{i:05}.weight", numpy.arange(4, dtype="f4"))
        finish(writer)

    def finish(writer):
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    def quantised(path):
        values = numpy.random.default_rng(2)
        writer = gguf.GGUFWriter(path, "llama")
        for name in DEQUANTISED:
            kind = gguf.GGMLQuantizationType[name]
            elements, size = gguf.GGML_QUANT_SIZES[kind]
            rows = int(8192 * bench.scale) or 1
            codes = values.integers(0, 256, (rows, 2048 // elements * size), "u1")
            writer.add_tensor(name, codes, raw_dtype=kind)
        finish(writer)

    path = bench.file("many.gguf", many)
    bench.compare("list 10,000 tensors", "gguf", path,
                  lambda: len(gguf.GGUFReader(path).tensors),
                  lambda mounted: names_in(mounted / "tensors"))
    codes = bench.file("quantised.gguf", quantised)
    numpy.seterr(all="ignore")  # random scales overflow
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(codes).tensors}
    for name in DEQUANTISED:
        tensor = tensors[name]
        bench.compare(
            f"dequantise {name}, 64 MiB", "gguf", codes,
            lambda tensor=tensor: gguf.quants.dequantize(tensor.data, tensor.tensor_type),
            lambda mounted, name=name: numpy.fromfile(
                mounted / "views" / "dequantized" / name, "<f4"))


def archives(bench: Bench) -> None:
    import numpy

    def deflated(path):
        words = numpy.random.default_rng(3).integers(0, 5000, 8 * MIB // 2).astype("<u2")
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for i in range(int(32 * bench.scale) or 1):
                archive.writestr(f"part{i:02}", numpy.roll(words, i).tobytes())

    def inflated():
        with zipfile.ZipFile(packed) as archive:
            return sum(len(archive.read(name)) for name in archive.namelist())

    def members(path):
        with open(path, "wb", buffering=lib.PIECE) as file:
            for i in range(int(MEMBERS * bench.scale)):
                member = tarfile.TarInfo(f"{i // 1000:04}/{i:07}")
                file.write(member.tobuf(tarfile.USTAR_FORMAT))
            file.write(bytes(1024))

    def listed():
        out = subprocess.run(["tar", "-tf", path], check=True, capture_output=True)
        return out.stdout.count(b"\n")

    def found(mounted):
        out = subprocess.run(["find", mounted, "-type", "f"], check=True,
                             capture_output=True)
        return out.stdout.count(b"\n")

    packed = bench.file("deflated.zip", deflated)
    bench.compare("inflate 256 MiB", "zipfile (zlib)", packed, inflated,
                  sizes_in)
    if bench.mount_zip:
        bench.compare("inflate 256 MiB", "mount-zip", packed,
                      lambda: by_mount_zip(bench, packed), sizes_in)
    path = bench.file("members.tar", members)
    bench.compare("list 1,000,000 members", "tar -t", path, listed, found)


PACKERS = {"gz": ["gzip", "-6"], "zst": ["zstd", "-q", "-3"], "bz2": ["bzip2"]}


def packed_archives(bench: Bench) -> None:
    """Archives that are compressed as a whole: the first list of one, and then members
    anywhere in it, by a mount of ratarmount and by ours."""
    import numpy

    members = int(4000 * bench.scale)
    words = numpy.random.default_rng(4).integers(0, 5000, 64 * 1024).astype("<u2").tobytes()

    def archive(path):
        with tarfile.open(path, "w") as file:
            for i in range(members):
                member = tarfile.TarInfo(f"{i // 100:03}/{i:05}")
                member.size = len(words)
                file.addfile(member, io.BytesIO(words[i:] + words[:i]))

    def packed(suffix):
        def write(path):
            with open(path, "wb") as file:
                subprocess.run([*PACKERS[suffix], "-c", plain], stdout=file, check=True)
        return bench.file(f"packed.tar.{suffix}", write)

    def listed(mounted):
        out = subprocess.run(["find", mounted, "-type", "f"], check=True, capture_output=True)
        return out.stdout.count(b"\n")

    def some(mounted):
        chosen = random.Random(5).sample(range(members), min(members, 100))
        [top] = [mounted] if (mounted / "000").is_dir() else mounted.iterdir()
        return sum(sum((top / f"{i // 100:03}" / f"{i:05}").read_bytes()[:64]) for i in chosen)

    plain = bench.file("packed.tar", archive)
    size = plain.stat().st_size // MIB
    for suffix, command in PACKERS.items():
        path = packed(suffix)

        def unpacked(path=path, command=command):
            done = subprocess.run(["sh", "-c", '"$1" -dc "$2" | tar -t', "sh", command[0], path],
                                  check=True, capture_output=True)
            return done.stdout.count(b"\n")

        bench.compare(f"list a .tar.{suffix} of {size} MiB", f"{command[0]} -dc, tar -t", path,
                      unpacked, listed)
    program, missing = install_ratarmount(bench.tools.scratch / "venv-peers")
    if missing:
        print(f"bench.py: ratarmount: {missing}", file=sys.stderr)
        return
    for suffix in PACKERS:
        random_members(bench, packed(suffix), program, some)


def random_members(bench: Bench, path: pathlib.Path, program: pathlib.Path, some) -> None:
    """100 members anywhere in an archive, after it was mounted and listed."""
    peer, own = [], []
    point = bench.tools.point
    for _ in range(bench.rounds):
        subprocess.run([program, "--index-file", ":memory:", path, point], check=True,
                       capture_output=True)
        try:
            seconds, wanted = timed(lambda: some(point))
        finally:
            lib.unmount(point)
        peer.append(seconds)
        with bench.tools.ctxfs(path):
            seconds, found = timed(lambda: some(point))
        own.append(seconds)
        if wanted != found:
            raise SystemExit(f"{path.name}: both readers read something else")
    report(f"100 members of {path.name}", "ratarmount", peer, own)


def main() -> int:
    options = lib.options_of(__doc__, rounds=3)
    options.add_argument("--scale", type=float, default=1)
    options.add_argument("--mount-zip")
    chosen = options.parse_args()
    scratch = lib.scratch_folder(chosen.scratch)
    lib.run_with(PINNED, "formats", scratch)
    bench = Bench(lib.Tools(lib.build_of(chosen.build), scratch), chosen.rounds, chosen.scale,
                  chosen.mount_zip)
    for measure in (safetensors_files, gguf_files, archives, packed_archives):
        measure(bench)
    return 0

