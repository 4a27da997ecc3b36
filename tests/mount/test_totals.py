# SPDX-License-Identifier: Apache-2.0
"""What a mount of many hostile containers costs in all: memory, descriptors,
threads, and bytes decoded for metadata; and a daemon with little memory."""

import ctypes
import errno
import json
import os
import pathlib
import struct
import subprocess
import sys
import threading
import time

import pytest

import shard
from conftest import ROOT, alive, daemon_of, mount_command, run, wait_until

sys.path.append(str(ROOT / "scripts"))
from memory import Cgroup, status_mib  # noqa: E402

MIB = 1 << 20
CACHE_MIB = 64
# Beside the cache: the program, its threads' stacks and spare blocks, indexes
# of open containers, and listings.
MORE_MIB = 448
THREADS = 16
NAMES = 20_000
ENTRIES = 30_000


def zstd(data: bytes) -> bytes:
    return subprocess.run(["zstd", "-q", "-c", "-9"], input=data, capture_output=True,
                          check=True).stdout


def column_bomb(groups: int, columns: int, rows: int) -> bytes:
    """A table whose chunks of 22 bytes decode to 8 bytes a row."""
    chunk = struct.pack("<BIqqB", 3, rows, 10**17, 1, 0)
    stats = [{"count": rows, "null_count": 0}] * groups
    schema = {"row_count": rows * groups, "row_group_count": groups, "columns": [
        {"name": f"c{c}", "type": 5, "nullable": False, "encoding": 3, "stats": stats}
        for c in range(columns)]}
    entries = [shard.entry("__schema__", json.dumps(schema).encode())]
    entries += [shard.entry(f"{g}:c{c}", chunk)
                for g in range(groups) for c in range(columns)]
    return shard.build(entries, role=8)


def nested_bomb(count: int, size: int) -> bytes:
    """Containers within a container, each a few KiB that decode to `size`."""
    inner = shard.build([shard.entry("z", bytes(size))], role=16)
    packed = zstd(inner)
    checksum = shard.crc32c(inner)
    return shard.build([
        shard.entry(f"b{i:04}.shard", inner, flags=3, stored=packed, checksum=checksum)
        for i in range(count)], role=16)


def many_entries(count: int) -> bytes:
    return shard.build([shard.entry(f"entry {i}", b"") for i in range(count)], role=16)


def taken_names(count: int) -> bytes:
    """Entries that have the names which others would be given."""
    entries = [shard.entry("x.mcf", b"")] * 300
    entries += [shard.entry("x.mcf~dir", b"")]
    entries += [shard.entry(f"x~{n}.mcf~dir", b"") for n in range(2, count)]
    return shard.build(entries)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A directory of containers and names that cost much, few bytes each."""
    folder = tmp_path_factory.mktemp("hostile")
    for i in range(4):
        (folder / f"column{i}.cshard").write_bytes(column_bomb(2, 2, 1 << (22 + i)))
    for i in range(4):
        (folder / f"nested{i}.shard").write_bytes(nested_bomb(20, 32 * MIB))
    for i in range(3):
        (folder / f"entries{i}.shard").write_bytes(many_entries(ENTRIES))
    (folder / "taken.shard").write_bytes(taken_names(20_000))
    small = shard.build([shard.entry("x", b"small")], role=16)
    (folder / "small").mkdir()
    for i in range(700):
        (folder / "small" / f"{i:04}.shard").write_bytes(small)
    names = folder / "names"
    names.mkdir()
    (names / "first").write_bytes(b"plain")
    for i in range(NAMES):
        os.link(names / "first", names / (f"{i:06}" + "n" * 240))
    return folder


class Watch(threading.Thread):
    """The most that a process has of what can run out."""

    def __init__(self, pid: int):
        super().__init__(daemon=True)
        self.pid = pid
        self.ended = threading.Event()
        self.memory = self.descriptors = self.threads = 0.0

    def run(self) -> None:
        while not self.ended.wait(0.02):
            try:
                self.memory = max(self.memory, status_mib(self.pid, "RssAnon"))
                proc = pathlib.Path("/proc") / str(self.pid)
                self.descriptors = max(self.descriptors, len(os.listdir(proc / "fd")))
                self.threads = max(self.threads, len(os.listdir(proc / "task")))
            except (OSError, LookupError):
                return

    def processor_seconds(self) -> float:
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rsplit(")")[-1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def limited(tmp_path):
    """Mounts in a memory cgroup, where the machine lets us make one."""
    point = tmp_path / "mnt"
    group = Cgroup.make((CACHE_MIB + MORE_MIB) * MIB)

    def mounted(source, *options):
        done = subprocess.run(
            mount_command(source, point, *options), capture_output=True, timeout=30,
            preexec_fn=group.enter if group else None)
        assert done.returncode == 0, done.stderr.decode()
        return point, group

    yield mounted
    run("umount", "-l", point)
    if group:
        group.remove()


def test_metadata_of_a_hostile_tree(limited, hostile):
    point, group = limited(hostile, f"cache={CACHE_MIB}M", f"threads={THREADS}")
    watch = Watch(daemon_of(point))
    watch.start()
    # Directories that stay open, each after a name of it was read.
    handles = [os.open(point / "names", os.O_RDONLY | os.O_DIRECTORY) for _ in range(40)]
    for descriptor in handles:
        with os.scandir(descriptor) as names:
            next(names)
    walks = [subprocess.Popen(["find", point, "-ls"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) for _ in range(3)]
    lines = [len(walk.communicate(timeout=400)[0].splitlines()) for walk in walks]
    watch.ended.set()
    watch.join()
    for descriptor in handles:
        os.close(descriptor)
    assert alive(watch.pid)
    stats = dict(line.split() for line in
                 (point / ".ctxfs" / "stats").read_text().splitlines() if line[0] != "#")
    decoded = float(stats["ctxfs_decoded_bytes_total"])
    # entries{0,1,2}, nested, taken and names, each a name and more.
    assert min(lines) > 3 * ENTRIES + NAMES * 2
    seconds = watch.processor_seconds()
    print(f"{sum(lines)} names listed by find: {1e6 * seconds / sum(lines):.0f} us of "
          f"processor time each, {decoded / MIB:.0f} MiB decoded; at the most "
          f"{watch.memory:.0f} MiB, {watch.descriptors:.0f} descriptors, "
          f"{watch.threads:.0f} threads")
    assert watch.memory < CACHE_MIB + MORE_MIB
    if group:
        assert group.kills() == 0
    # Each open container has one; the device and its clones, one a thread.
    assert watch.descriptors < 512 + 2 * THREADS + 64
    # Those that take requests, at most twice as many that work on them
    # (PoolThreads), and those of which there is one or two.
    assert watch.threads <= THREADS + 2 * THREADS + 8
    # Of 80 containers within containers each may be decoded by each walk.
    assert decoded < 3 * 80 * 32 * MIB + 64 * (16 * MIB + 1024 * 4096)


def test_a_daemon_with_little_address_space(mount, tmp_path):
    """What does not fit fails alone, with an error; the daemon goes on."""
    size = 700 * MIB
    big = zstd(bytes(size))
    libisal = ctypes.CDLL("libisal.so.2").crc32_iscsi
    libisal.restype = ctypes.c_uint32
    checksum = libisal(bytes(size), size, ctypes.c_uint32(0xFFFFFFFF)) ^ 0xFFFFFFFF
    text = b"entry that fits\n" * 1000
    entries = [
        shard.Entry(b"big", b"", flags=3, stored=big, checksum=checksum),
        shard.entry("fits", text, flags=3, stored=zstd(text)),
    ]
    container = bytearray(shard.build(entries, role=16))
    struct.pack_into("<Q", container, 64 + 32, size)  # decoded size of the first
    (tmp_path / "a.shard").write_bytes(container)
    little = {"before": ["prlimit", f"--as={600 * MIB}", "--"]}
    options = [f"cache={CACHE_MIB}M", "threads=4", "max_expansion=0"]
    mounted = mount(tmp_path / "a.shard", *options, "cache_dir_size=1M", **little)
    assert (mounted / "fits").read_bytes() == text
    assert (mounted / "big").stat().st_size == size
    for _ in range(3):
        with pytest.raises(OSError) as failed:
            (mounted / "big").read_bytes()
        assert failed.value.errno == errno.ENOSPC  # the store is too small for it
        os.posix_fadvise(os.open(mounted / "fits", os.O_RDONLY), 0, 0,
                         os.POSIX_FADV_DONTNEED)
        assert (mounted / "fits").read_bytes() == text
    assert alive(mounted.pid())
    # In a temporary file it needs no address space.
    spilling = mount(tmp_path / "a.shard", *options, **little)
    assert (spilling / "big").read_bytes() == bytes(size)


def test_the_cache_is_an_eighth_of_the_memory_that_the_mount_may_have(tmp_path, hostile):
    point, group = tmp_path / "mnt", Cgroup.make(1024 * MIB)
    if group is None:
        pytest.skip("no memory cgroup can be made here")
    try:
        done = subprocess.run(mount_command(hostile, point), timeout=30,
                              preexec_fn=group.enter, check=True)
        assert done.returncode == 0
        text = (point / ".ctxfs" / "stats").read_text()
        assert f"ctxfs_cache_limit_bytes {128 * MIB}\n" in text
    finally:
        run("umount", "-l", point)
        group.remove()


def test_a_mount_with_too_little_address_space_says_so(tmp_path, hostile):
    """It is refused, and leaves nothing; with enough it serves."""
    point = tmp_path / "mnt"
    for mib, cache in ((8, ()), (64, ()), (128, ()), (512, ("cache=512M",))):
        done = run("prlimit", f"--as={mib * MIB}", "--",
                   *mount_command(hostile, point, "threads=4", *cache))
        assert done.returncode != 0
        assert done.stderr, f"no reason with {mib} MiB"
        assert b"address space" in done.stderr or mib == 8, done.stderr
        assert wait_until(lambda: not os.path.ismount(point))
    assert run("prlimit", f"--as={1024 * MIB}", "--",
               *mount_command(hostile, point, "threads=4")).returncode == 0
    assert (point / "names" / "first").read_bytes() == b"plain"
    assert alive(daemon_of(point))
    assert run("umount", point).returncode == 0
    assert wait_until(lambda: not os.path.ismount(point))
