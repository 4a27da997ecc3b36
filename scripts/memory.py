#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds a mount to its memory while it decodes much more than that.

memory.py [--seconds N] [--bin DIR] [--dir DIR]: makes a container of 4 GiB of
entries that are known functions of their offsets, some zstd, some lz4, some that
hardly compress; mounts it with a small cache, in a memory cgroup of that cache
and 64 MiB where the machine lets us make one; reads it at random places from
several threads, and compares every byte. Fails if one is wrong, if the daemon
dies, or if its own memory (RssAnon) goes beyond.
"""

import argparse
import contextlib
import ctypes
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

MIB = 1 << 20
CACHE_MIB = 96
MORE_MIB = 64
ENTRIES = 160
ENTRY_BYTES = 26 * MIB
READ_BYTES = 256 * 1024
PAGE = 4096
ROOT = pathlib.Path(__file__).resolve().parents[1]


def values(entry: int, first_page: int, pages: int) -> np.ndarray:
    """`pages` pages of entry `entry` from page `first_page` on, as bytes.

    A page is one 64-bit number again and again; in every eighth entry half of it
    is noise, which hardly compresses.
    """
    number = np.arange(first_page, first_page + pages, dtype=np.uint64)
    number = (number + np.uint64(entry << 32 | 1)) * np.uint64(0x9E3779B97F4A7C15)
    number ^= number >> np.uint64(29)
    words = np.repeat(number[:, None], PAGE // 8, axis=1)
    if entry % 8 == 7:
        noise = words + np.arange(PAGE // 8, dtype=np.uint64)[None, :]
        noise *= np.uint64(0xBF58476D1CE4E5B9)
        noise ^= noise >> np.uint64(31)
        words[:, ::2] = (noise * np.uint64(0x94D049BB133111EB))[:, ::2]
    return np.ascontiguousarray(words).view(np.uint8).reshape(-1)


def crc32c_of():
    """ISA-L's CRC-32C, which is what we are built with."""
    library = ctypes.CDLL("libisal.so.2")
    library.crc32_iscsi.restype = ctypes.c_uint32

    def crc(data: np.ndarray) -> int:
        at = data.ctypes.data_as(ctypes.c_void_p)
        return library.crc32_iscsi(at, data.size, 0xFFFFFFFF) ^ 0xFFFFFFFF

    return crc


def lz4(data: np.ndarray) -> bytes:
    library = ctypes.CDLL("liblz4.so.1")
    room = library.LZ4_compressBound(data.size)
    out = ctypes.create_string_buffer(room)
    at = data.ctypes.data_as(ctypes.c_void_p)
    size = library.LZ4_compress_default(at, out, data.size, room)
    assert size > 0
    return out.raw[:size]


def zstd(data: np.ndarray) -> bytes:
    done = subprocess.run(["zstd", "-1", "-c", "-q"], input=data.tobytes(),
                          capture_output=True, check=True)
    return done.stdout


def make_container(path: pathlib.Path) -> None:
    """A Shard v2 (docs/formats/shard.md) of ENTRIES compressed entries with checksums."""
    crc = crc32c_of()
    names = [f"e{i:03}".encode() for i in range(ENTRIES)]
    strings = 64 + 48 * ENTRIES
    start = strings + 4 * ENTRIES
    index, at = b"", start
    with open(path, "wb") as file:
        file.seek(start)
        for i in range(ENTRIES):
            data = values(i, 0, ENTRY_BYTES // PAGE)
            stored = zstd(data) if i % 2 else lz4(data)
            index += struct.pack("<QIHHQQQIHH", 0, 4 * i, 4, 3 if i % 2 else 5, at,
                                 len(stored), ENTRY_BYTES, crc(data), 0, 0)
            file.write(stored)
            at += len(stored)
        file.seek(0)
        file.write(struct.pack("<4sBBHBBHIQQQQ16x", b"SHRD", 2, 2, 0xA2, 0, 0, 48,
                               ENTRIES, strings, start, 0, at))
        file.write(index + b"".join(names))


class Cgroup:
    """A memory cgroup of `limit` bytes, version 2 or 1; None from make() where
    there can be none."""

    def __init__(self, path: pathlib.Path, limit_file: str, peak_file: str):
        self.path = path
        self.limit_file = limit_file
        self.peak_file = peak_file

    @staticmethod
    def make(limit: int):
        name = f"ctxfs-memory-{os.getpid()}"
        two, one = pathlib.Path("/sys/fs/cgroup"), pathlib.Path("/sys/fs/cgroup/memory")
        with contextlib.suppress(OSError):
            if "memory" in (two / "cgroup.subtree_control").read_text().split():
                group = Cgroup(two / name, "memory.max", "memory.peak")
                group.path.mkdir()
                return group._limited(limit)
        with contextlib.suppress(OSError):
            if (one / "memory.limit_in_bytes").exists():
                group = Cgroup(one / name, "memory.limit_in_bytes",
                               "memory.max_usage_in_bytes")
                group.path.mkdir()
                return group._limited(limit)
        return None

    def _limited(self, limit: int):
        (self.path / self.limit_file).write_text(str(limit))
        return self

    def enter(self) -> None:
        """Puts the calling process in."""
        (self.path / "cgroup.procs").write_text("0")

    def peak_mib(self) -> float:
        with contextlib.suppress(OSError):
            return int((self.path / self.peak_file).read_text()) / MIB
        return 0.0

    def kills(self) -> int:
        """How often memory ran out in it."""
        for file in ("memory.events", "memory.oom_control"):
            with contextlib.suppress(OSError):
                lines = (self.path / file).read_text().splitlines()
                return int(dict(line.split() for line in lines)["oom_kill"])
        return 0

    def remove(self) -> None:
        for _ in range(100):
            with contextlib.suppress(OSError):
                self.path.rmdir()
                return
            time.sleep(0.1)


def status_mib(pid: int, field: str) -> float:
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise LookupError(field)


def daemon_of(point: pathlib.Path) -> int:
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit():
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if b"ctxfs" in words[0] and os.fsencode(point) in words:
                    return int(entry.name)
    raise LookupError(f"nothing serves {point}")


def read_on(root: pathlib.Path, until: float, seed: int, result: dict) -> None:
    """Random reads until then; counts the bytes and keeps what was wrong."""
    chance = random.Random(seed)
    while time.monotonic() < until and not result["wrong"]:
        entry = chance.randrange(ENTRIES)
        try:
            descriptor = os.open(root / f"e{entry:03}", os.O_RDONLY)
            try:
                for _ in range(4):
                    page = chance.randrange((ENTRY_BYTES - READ_BYTES) // PAGE + 1)
                    # Else the kernel would answer, and not the daemon.
                    os.posix_fadvise(descriptor, page * PAGE, READ_BYTES,
                                     os.POSIX_FADV_DONTNEED)
                    got = os.pread(descriptor, READ_BYTES, page * PAGE)
                    want = values(entry, page, READ_BYTES // PAGE)
                    if got != want.tobytes():
                        result["wrong"].append(
                            f"entry {entry}, page {page}: {len(got)} bytes")
                    result["bytes"] += len(got)
            finally:
                os.close(descriptor)
        except OSError as error:
            result["wrong"].append(str(error))


def run(container, point, seconds: float, binary: pathlib.Path) -> bool:
    limit = (CACHE_MIB + MORE_MIB) * MIB
    group = Cgroup.make(limit)
    if group is None:
        print("no memory cgroup can be made here: RssAnon is watched instead")
    subprocess.run(
        [binary / "mount.ctxfs", container, point, "-o", f"cache={CACHE_MIB}M"],
        check=True, preexec_fn=group.enter if group else None)
    peak = 0.0
    results = [{"bytes": 0, "wrong": []} for _ in range(6)]
    try:
        pid = daemon_of(point)
        until = time.monotonic() + seconds
        readers = [
            threading.Thread(target=read_on,
                             args=(point / container.name, until, i, results[i]))
            for i in range(len(results))]
        for reader in readers:
            reader.start()
        while any(reader.is_alive() for reader in readers):
            with contextlib.suppress(OSError, LookupError):
                peak = max(peak, status_mib(pid, "RssAnon"))
            time.sleep(0.05)
        stats = dict(line.split() for line in
                     (point / ".ctxfs" / "stats").read_text().splitlines()
                     if not line.startswith("#"))
        whole = status_mib(pid, "VmHWM")
    except (OSError, LookupError) as error:
        print(f"the daemon is gone: {error}")
        stats, whole = {}, 0.0
    finally:
        subprocess.run(["umount", "-l", point], check=False)
        if group:
            print(f"cgroup of {limit // MIB} MiB: peak {group.peak_mib():.0f} MiB with "
                  f"the page cache, {group.kills()} kills")
            killed = group.kills() > 0
            group.remove()
        else:
            killed = False
    read = sum(result["bytes"] for result in results)
    wrong = [text for result in results for text in result["wrong"]]
    decoded = float(stats.get("ctxfs_decoded_bytes_total", 0))
    print(f"{read / MIB:.0f} MiB read and compared, {decoded / (1 << 30):.1f} GiB decoded, "
          f"in {seconds:.0f} s; peak RssAnon {peak:.0f} MiB, VmHWM {whole:.0f} MiB, of "
          f"{CACHE_MIB} MiB cache and {MORE_MIB} MiB; wrong: {wrong[:3] or 'nothing'}")
    return bool(stats) and not wrong and not killed and peak <= limit / MIB


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "dev")
    parser.add_argument("--dir", type=pathlib.Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        container = pathlib.Path(folder) / "big.shard"
        make_container(container)
        print(f"{ENTRIES * ENTRY_BYTES / (1 << 30):.1f} GiB of entries in "
              f"{container.stat().st_size / MIB:.0f} MiB")
        good = run(container, pathlib.Path(folder) / "m", options.seconds, options.bin)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
