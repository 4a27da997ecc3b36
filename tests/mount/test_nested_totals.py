# SPDX-License-Identifier: Apache-2.0
"""What a whole tree of containers within containers may take together."""

import contextlib
import ctypes
import os
import pathlib
import struct
import subprocess
import threading
import time

import pytest
from shard import Entry, build, entry

MIB = 1 << 20
ZSTD = 0x0003  # compressed, by zstd
# Besides cache= and index=: one container that is being decoded and one that
# others are made of (limits::kNestedBytes each), 32 MiB of spare blocks, and
# the program itself.
BESIDES = (64 + 64 + 32 + 40) * MIB

_zstd = ctypes.CDLL("libzstd.so.1")
_zstd.ZSTD_compress.restype = ctypes.c_size_t
_isal = ctypes.CDLL("libisal.so.2")
_isal.crc32_iscsi.restype = ctypes.c_uint32
_isal.crc32_iscsi.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_uint32]


def crc32c(data: bytes) -> int:
    return _isal.crc32_iscsi(data, len(data), 0xFFFFFFFF) ^ 0xFFFFFFFF


def compress(data: bytes) -> bytes:
    room = ctypes.create_string_buffer(len(data) + 65536)
    size = _zstd.ZSTD_compress(
        room, ctypes.c_size_t(len(room)), data, ctypes.c_size_t(len(data)), 3)
    return room.raw[:size]


def zstd_entry(name: str, data: bytes, stored: bytes, checksum: int) -> Entry:
    return entry(name, data, flags=ZSTD, stored=stored, checksum=checksum)


def nest(path: pathlib.Path, inner: bytes, count: int) -> pathlib.Path:
    """A container with `inner` in it `count` times, compressed."""
    stored, checksum = compress(inner), crc32c(inner)
    path.write_bytes(build(
        [zstd_entry(f"b{i:04}.shard", inner, stored, checksum) for i in range(count)]))
    assert path.stat().st_size < len(inner), "a bomb is small"
    return path


def rss_anon(pid: int) -> int:
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the daemon is gone")


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
    return build([entry("z", zeros, checksum=crc32c(zeros))])


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
    small = compress(text)
    padding = os.urandom(8 * MIB)
    inner = build(
        [entry("padding", padding, checksum=crc32c(padding))]
        + [zstd_entry(f"e{i:03}", text, small, crc32c(text)) for i in range(400)])
    source = tmp_path / "x.shard"
    source.write_bytes(build(
        [zstd_entry("in.shard", inner, compress(inner), crc32c(inner))]))
    mounted = mount(source, "cache=1M,threads=1")
    for i in range(400):
        assert (mounted / "views" / "in.shard~dir" / f"e{i:03}").read_bytes() == text
    assert mounted.stats()["decoded_bytes_total"] <= 3 * len(inner) + 400 * len(text)
