# SPDX-License-Identifier: Apache-2.0
"""Plain and materialised files that are replaced, cut and written to while others read
them: no reader gets a byte that is of another file, another place, or a version other
than the one that its handle has. CTXFS_STRESS_SECONDS says for how long."""

import dataclasses
import errno
import faulthandler
import io
import json
import mmap
import multiprocessing
import os
import pathlib
import random
import signal
import struct
import time

import numpy
import shard
from conftest import alive

SECONDS = float(os.environ.get("CTXFS_STRESS_SECONDS", "6"))
READERS = 6
WRITERS = 2
VERSIONS = 6  # of each container
KIB, MIB = 1 << 10, 1 << 20
# What a reader may get while files are cut, replaced and removed.
ALLOWED = {errno.ENOENT, errno.ENOTDIR, errno.ESTALE, errno.EIO, errno.EISDIR, errno.EINVAL,
           errno.ENODATA, errno.ENODEV}
MOMENT = 1.3  # how long the kernel may believe names and attributes, and some
FORK = multiprocessing.get_context("fork")


def size_of(version: int) -> int:
    """Versions differ in size, and all are large enough to be passed on."""
    return MIB + version * 7 % 5 * 200 * KIB + version % 3 * 8


def words_of(file: int, version: int, size: int, first: int = 0) -> numpy.ndarray:
    """Each word of 8 bytes tells its file, its version and its place."""
    words = numpy.arange(first, first + size // 8, dtype=numpy.uint64)
    return words | numpy.uint64(file << 56 | version << 32)


def body_of(file: int, version: int) -> bytes:
    return words_of(file, version, size_of(version)).tobytes()


def shard_of(file: int, version: int) -> bytes:
    """Decoded as a whole, and verified by its checksum."""
    return shard.build([shard.zstd_entry("packed", body_of(file, version), "-1"),
                        shard.entry("stored", body_of(file, version))])


def safetensors_of(file: int, version: int) -> bytes:
    body = body_of(file, version)
    tensor = {"dtype": "U64", "shape": [len(body) // 8], "data_offsets": [0, len(body)]}
    head = json.dumps({"x": tensor}).encode()
    return struct.pack("<Q", len(head)) + head + body


@dataclasses.dataclass(frozen=True)
class Target:
    """A file of the source, and what readers find of it in a mount."""

    number: int
    name: str
    shown: tuple[str, ...]
    make: object  # (file, version) -> bytes
    kinds: tuple[str, ...]  # what writers do to it, besides replacing it

    @property
    def written_in_place(self) -> bool:
        return "overwrite" in self.kinds


def npy_head(version: int) -> int:
    file = io.BytesIO()
    numpy.lib.format.write_array_header_1_0(
        file, {"descr": "<u8", "fortran_order": False, "shape": (size_of(version) // 8,)})
    return file.tell()


TARGETS = [
    Target(1, "a.shard", ("a.shard/packed", "a.shard/stored"), shard_of,
           ("cut", "append", "rewrite", "touch", "remove", "damage")),
    Target(2, "b.shard", ("b.shard/packed", "b.shard/stored"), shard_of, ("touch",)),
    Target(3, "c.safetensors", ("c.safetensors~dir/views/npy/x.npy",), safetensors_of,
           ("cut", "touch", "remove")),
    # A plain file is as on the file system below: of one version as long as no one
    # writes to it in place.
    Target(4, "d.bin", ("d.bin",), body_of, ("touch", "remove")),
    Target(5, "e.bin", ("e.bin",), body_of, ("cut", "overwrite", "grow", "rewrite")),
]


class Wrong(Exception):
    """A byte that no reader may get."""


# ---- writers


class Writer:
    def __init__(self, folder: pathlib.Path, seed: int, made: dict):
        self.folder = folder
        self.random = random.Random(seed)
        self.made = made
        self.temporary = folder.parent / f"new{seed}"

    def run(self, end: float) -> None:
        while time.monotonic() < end:
            try:
                self.change(self.random.choice(TARGETS))
            except FileNotFoundError:
                pass  # the other writer removed it
            time.sleep(self.random.random() * 0.1)

    def change(self, target: Target) -> None:
        path = self.folder / target.name
        version = self.random.randrange(VERSIONS)
        kind = self.random.choice(("replace",) * 4 + target.kinds)
        getattr(self, kind)(path, target, version)

    def data(self, target: Target, version: int) -> bytes:
        return self.made[target.number, version]

    def replace(self, path, target, version) -> None:
        self.temporary.write_bytes(self.data(target, version))
        os.rename(self.temporary, path)

    def rewrite(self, path, target, version) -> None:
        """Not before its last byte is there does it have its size again."""
        with open(path, "r+b", buffering=0) as file:
            file.truncate(0)
            file.write(self.data(target, version))

    def cut(self, path, target, version) -> None:
        size = self.random.randrange(2 * MIB) if self.random.random() < 0.8 else 0
        os.truncate(path, size // 8 * 8 if target.written_in_place else size)

    def append(self, path, target, version) -> None:
        with open(path, "r+b", buffering=0) as file:
            file.seek(0, os.SEEK_END)
            file.write(b"x" * 10)

    def grow(self, path, target, version) -> None:
        os.truncate(path, path.stat().st_size + self.random.randrange(MIB) // 8 * 8)

    def overwrite(self, path, target, version) -> None:
        """Whole pages at their place, perhaps past the end."""
        first = self.random.randrange(256) * 512
        with open(path, "r+b", buffering=0) as file:
            file.seek(first * 8)
            file.write(words_of(target.number, version, 64 * KIB, first).tobytes())

    def damage(self, path, target, version) -> None:
        """In the frame of the packed entry, which its checksum covers."""
        with open(path, "r+b", buffering=0) as file:
            file.seek(64 + 2 * 48 + len("packedstored") + 100)
            file.write(b"damage")

    def touch(self, path, target, version) -> None:
        os.chmod(path, self.random.choice((0o600, 0o644)))

    def remove(self, path, target, version) -> None:
        os.unlink(path)


# ---- readers


class Reader:
    """Reads files in every way. What it read through one handle has to be of one version."""

    def __init__(self, points: list[pathlib.Path], seed: int, counts):
        self.points = points
        self.random = random.Random(seed)
        self.counts = counts
        self.version = None  # of the handle

    def run(self, end: float) -> None:
        while time.monotonic() < end:
            target = self.random.choice(TARGETS)
            shown = self.random.choice(target.shown)
            path = self.random.choice(self.points) / shown
            look = self.random.choice((self.whole, self.whole, self.pieces, self.mapped, self.load))
            self.version = None
            try:
                look(path, target, shown)
                self.count(look.__name__)
            except OSError as error:
                if error.errno not in ALLOWED:
                    raise Wrong(f"{path}: {error}") from error
                self.count(errno.errorcode[error.errno])
            except ValueError as error:
                # Its size has changed while mmap or numpy looked.
                self.count("ValueError")
                if "size" not in str(error):
                    raise Wrong(f"{path}: {error}") from error

    def count(self, what: str) -> None:
        with self.counts.get_lock():
            self.counts[WHAT.index(what)] += 1

    def check(self, target: Target, shown: str, at: int, data) -> None:
        """`data` was read at byte `at`."""
        skip = 0
        if shown.endswith(".npy"):
            # Its header is as long for all versions here.
            skip = min(max(0, npy_head(0) - at), len(data))
            at = max(0, at - npy_head(0))
        lead = -at % 8
        words = numpy.frombuffer(data, numpy.uint64, max(0, len(data) - skip - lead) // 8,
                                 skip + lead) if len(data) >= skip + lead + 8 else ()
        if len(words) == 0:
            return
        self.check_words(target, shown, (at + lead) // 8, words)

    def check_words(self, target: Target, shown: str, first: int, words) -> None:
        places = words & numpy.uint64(0xFFFFFFFF)
        above = words >> numpy.uint64(32)
        right = ((places == numpy.arange(first, first + len(words), dtype=numpy.uint64))
                 & (above >> numpy.uint64(24) == target.number)
                 & (above & numpy.uint64(0xFFFFFF) < VERSIONS))
        if target.written_in_place:
            right |= words == 0  # it was grown, or is read while it is cut
        elif right.all():
            versions = set(numpy.unique(above & numpy.uint64(0xFFFFFF)).tolist())
            versions |= {self.version} - {None}
            if len(versions) > 1:
                raise Wrong(f"{shown}: versions {versions} at word {first}")
            self.version = versions.pop()
        if not right.all():
            at = int(numpy.argmin(right))
            raise Wrong(f"{shown}: word {first + at} is {int(words[at]):#x}")

    def check_size(self, target: Target, shown: str, size: int) -> None:
        if target.written_in_place or self.version is None:
            return
        expected = size_of(self.version) + (npy_head(self.version) if shown.endswith(".npy") else 0)
        if size != expected:
            raise Wrong(f"{shown}: {size} bytes, not {expected} of {self.version}")

    def whole(self, path, target, shown) -> None:
        with open(path, "rb", buffering=0) as file:
            for _ in range(self.random.randint(1, 3)):
                file.seek(0)
                got = []
                while piece := file.read(self.random.choice((64 * KIB, MIB, 4 * MIB))):
                    got.append(piece)
                data = b"".join(got)
                self.check(target, shown, 0, data)
                self.check_size(target, shown, len(data))

    def pieces(self, path, target, shown) -> None:
        with open(path, "rb", buffering=0) as file:
            for _ in range(self.random.randint(1, 30)):
                at = self.random.randrange(2 * MIB) // 8 * 8
                data = os.pread(file.fileno(), self.random.choice((8, 4096, 300_000)), at)
                self.check(target, shown, at, data)
                if self.random.random() < 0.1:
                    time.sleep(self.random.random() * 0.05)
                if self.random.random() < 0.1:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def mapped(self, path, target, shown) -> None:
        """May end by SIGBUS, where its file was cut."""
        with open(path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                return
            with mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ) as memory:
                for _ in range(self.random.randint(1, 20)):
                    at = self.random.randrange(size) // 8 * 8
                    self.check(target, shown, at, memory[at:at + 40_000])
                self.check(target, shown, 0, memory[:])

    def load(self, path, target, shown) -> None:
        if not shown.endswith(".npy"):
            self.pieces(path, target, shown)
            return
        array = numpy.load(path)
        self.check_words(target, shown, 0, array)
        self.check_size(target, shown, array.nbytes + npy_head(self.version))


WHAT = ["whole", "pieces", "mapped", "load", "SIGBUS", "ValueError"] + sorted(
    errno.errorcode[number] for number in ALLOWED)


def start_reader(points, seed, end, counts, wrong) -> multiprocessing.Process:
    def run():
        faulthandler.disable()  # SIGBUS is no fault
        try:
            Reader(points, seed, counts).run(end)
        except Wrong as error:
            wrong.put(str(error))

    process = FORK.Process(target=run, daemon=True)
    process.start()
    return process


def watch(points, end, counts, wrong) -> None:
    """Keeps READERS processes until the end: one that was killed by SIGBUS is replaced."""
    seed = 1000
    readers = [start_reader(points, seed + i, end, counts, wrong) for i in range(READERS)]
    while readers:
        readers[0].join(0.1)
        for process in [one for one in readers if one.exitcode is not None]:
            readers.remove(process)
            if process.exitcode == -signal.SIGBUS:
                with counts.get_lock():
                    counts[WHAT.index("SIGBUS")] += 1
            elif process.exitcode != 0:
                wrong.put(f"a reader ended with {process.exitcode}")
            if time.monotonic() < end:
                seed += READERS
                readers.append(start_reader(points, seed, end, counts, wrong))
        assert time.monotonic() < end + 60, "a reader hangs"


def drain(wrong) -> list[str]:
    found = []
    while not wrong.empty():
        found.append(wrong.get())
    return found


def check_quiet(points, source, made) -> None:
    """When it is quiet again everything is there and right."""
    for target in TARGETS:
        (source.parent / "last").write_bytes(made[target.number, 1])
        os.rename(source.parent / "last", source / target.name)
    time.sleep(MOMENT)
    reader = Reader(points, 1, None)
    for point in points:
        assert {target.name for target in TARGETS} <= set(os.listdir(point))
        for target in TARGETS:
            for shown in target.shown:
                reader.version = None
                reader.whole(point / shown, target, shown)
                assert reader.version in (1, None), (target, shown)


def test_every_byte_is_of_the_version_that_was_opened(mount, tmp_path):
    assert len({npy_head(version) for version in range(VERSIONS)}) == 1
    source, cache = tmp_path / "source", tmp_path / "cache"
    source.mkdir()
    cache.mkdir(mode=0o700)
    made = {(target.number, version): target.make(target.number, version)
            for target in TARGETS for version in range(VERSIONS)}
    for target in TARGETS:
        (source / target.name).write_bytes(made[target.number, 0])
    # The second decodes into temporary files, and has room for few materialised ones.
    mounts = [mount(source, "materialize=64M", f"cache_dir={cache}", "cache_keep", "cache=64M"),
              mount(source, "materialize=3M", f"cache_dir={cache}", "cache_keep", "cache=1M")]
    points = [mounted.point for mounted in mounts]
    counts, wrong = FORK.Array("Q", len(WHAT)), FORK.Queue()
    end = time.monotonic() + SECONDS
    writers = [FORK.Process(target=Writer(source, seed, made).run, args=(end,), daemon=True)
               for seed in range(WRITERS)]
    for one in writers:
        one.start()
    watch(points, end, counts, wrong)
    for one in writers:
        one.join(60)
    totals = {what: counts[i] for i, what in enumerate(WHAT) if counts[i]}
    stats = [{name: mounted.stats()[name] for name in (
        "materialized_total", "materialized_taken_total", "materialized_opens_total",
        "passthrough_opens_total", "verified_failed_total")} for mounted in mounts]
    print(f"{SECONDS:.0f} s: {totals}")
    print(*stats, sep="\n")
    assert drain(wrong) == []
    assert all(alive(mounted.pid()) for mounted in mounts)
    assert min(totals.get(what, 0) for what in WHAT[:4]) > 0, totals
    assert all(one["materialized_total"] > 0 for one in stats), stats
    check_quiet(points, source, made)
