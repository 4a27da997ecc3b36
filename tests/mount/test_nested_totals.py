# SPDX-License-Identifier: Apache-2.0
"""What a whole tree of containers within containers may take together."""

import contextlib
import dataclasses
import os
import pathlib
import struct
import subprocess
import threading
import time

import pytest
from conftest import status_kib
from shard import build, crc32c, entry, zstd_entry

MIB = 1 << 20
# Besides cache= and index=: one container that is being decoded and one that
# others are made of (limits::kNestedBytes each), 32 MiB of spare blocks, and
# the program itself.
BESIDES = (64 + 64 + 32 + 40) * MIB

def nest(path: pathlib.Path, inner: bytes, count: int) -> pathlib.Path:
    """A container with `inner` in it `count` times, compressed."""
    one = zstd_entry("", inner, checksum=crc32c(inner))
    path.write_bytes(build(
        [dataclasses.replace(one, name=b"b%04d.shard" % i) for i in range(count)]))
    assert path.stat().st_size < len(inner), "a bomb is small"
    return path


def rss_anon(pid: int) -> int:
    return status_kib(pid, "RssAnon") * 1024


@contextlib.contextmanager
def peak_of(pid: int):
    """The most that RssAnon is seen to be, in a list of one."""
    peak, done = [rss_anon(pid)], threading.Event()

    def watch():
        while not done.is_set():
            peak[0] = max(peak[0], rss_anon(pid))
            time.sleep(0.005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()


def find(*args) -> list[str]:
    return subprocess.run(
        ["find", *map(str, args)], check=True, capture_output=True, text=True,
        timeout=120).stdout.splitlines()


@pytest.fixture(scope="module")
def bomb() -> bytes:
    zeros = bytes(63 * MIB)
    return build([entry("z", zeros)])


COUNT = 16


def test_containers_that_are_decoded_count_against_the_cache(mount, tmp_path, bomb):
    mounted = mount(nest(tmp_path / "x.shard", bomb, COUNT), "cache=64M", "max_expansion=0",
                    "list=all")
    with peak_of(mounted.pid()) as peak:
        found = find(mounted.root, "-maxdepth", "4")
    assert sum(name.endswith("~dir/z") for name in found) == COUNT
    assert peak[0] < 64 * MIB + BESIDES, "kept, all would take 1 GiB"
    # Each was decoded to be told from others, and perhaps again to be opened.
    assert mounted.stats()["decoded_bytes_total"] <= 2 * COUNT * len(bomb)


def test_open_files_keep_no_container_decoded(mount, tmp_path, bomb):
    mounted = mount(nest(tmp_path / "x.shard", bomb, COUNT), "cache=64M", "max_expansion=0")
    files = []
    with peak_of(mounted.pid()) as peak:
        for i in range(COUNT):
            files.append(open(mounted / "views" / f"b{i:04}.shard~dir" / "z", "rb", buffering=0))
            assert files[-1].read(1) == b"\0"
        for file in files:
            assert os.pread(file.fileno(), 1, 62 * MIB) == b"\0"
    for file in files:
        file.close()
    assert peak[0] < 64 * MIB + BESIDES


def test_indexes_of_open_containers_count_against_their_budget(mount, tmp_path):
    entries = 200_000
    at = 64 + 48 * entries
    data = at + 7 * entries
    index = b"".join(
        struct.pack("<QIHHQQQIHH", 0, 7 * i, 7, 0, data, 0, 0, 0, 0, 0)
        for i in range(entries))
    names = b"".join(b"%07d" % i for i in range(entries))
    header = struct.pack(
        "<4sBBHBBHIQQQQ16x", b"SHRD", 2, 16, 0x0082, 0, 0, 48, entries, at,
        data, 0, data)
    source = nest(tmp_path / "x.shard", header + index + names, 30)
    mounted = mount(source, "cache=64M,index=64M", "max_expansion=0")
    last = f"{entries - 1:07}"
    with peak_of(mounted.pid()) as peak:
        for _ in range(2):
            for i in range(30):
                inner = mounted / "views" / f"b{i:04}.shard~dir"
                assert (inner / last).stat().st_size == 0
                assert not (inner / "none").exists()
    # One more is open while it is in use: about 20 MiB.
    assert peak[0] < (64 + 64 + 20) * MIB + BESIDES, "all would take 600 MiB"


def test_reading_all_of_a_container_decodes_it_once(mount, tmp_path):
    text = b"some text " * 100
    small = zstd_entry("", text, checksum=crc32c(text))
    padding = os.urandom(8 * MIB)
    inner = build(
        [entry("padding", padding)]
        + [dataclasses.replace(small, name=b"e%03d" % i) for i in range(400)])
    source = tmp_path / "x.shard"
    source.write_bytes(build([zstd_entry("in.shard", inner)]))
    mounted = mount(source, "cache=1M,threads=1")
    for i in range(400):
        assert (mounted / "views" / "in.shard~dir" / f"e{i:03}").read_bytes() == text
    assert mounted.stats()["decoded_bytes_total"] <= 3 * len(inner) + 400 * len(text)
