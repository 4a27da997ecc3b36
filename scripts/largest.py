#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mounts containers as large as the limits allow, and says what they cost.

largest.py [--entries N] [--bin DIR] [--dir DIR] [CASE...]: writes a container of
each case (up to 700 MB, removed again), mounts it, lists it, looks names up, and
prints the daemon's greatest memory (VmHWM), in bytes an entry too. Fails if that
was more than 2 GiB, if a name is missing, or if a mount neither works nor is
refused for a limit (exit code 8).
"""

import argparse
import contextlib
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
MOST = 2 << 30
RECORD = np.dtype([("hash", "<u8"), ("name", "<u4"), ("length", "<u2"), ("flags", "<u2"),
                   ("offset", "<u8"), ("stored", "<u8"), ("size", "<u8"), ("crc", "<u4"),
                   ("type", "<u2"), ("tags", "<u2")])


def digits(count: int, width: int = 8) -> np.ndarray:
    """0, 1, ... in decimal, a row each."""
    rest = np.arange(count, dtype=np.uint32)
    rows = np.empty((count, width), dtype=np.uint8)
    for i in range(width - 1, -1, -1):
        rows[:, i] = 48 + rest % 10
        rest //= 10
    return rows


def write_shard(path, names: np.ndarray, role=0, content_type=0, metadata=b"",
                length=None, name_at=None, stored=1) -> None:
    """A Shard v2 (docs/formats/shard.md) whose entries are `stored` zeros each, in a hole of
    the file, without checksums.

    `names` has a row for each entry, unless `name_at` tells where its name is in
    them and `length` how long it is.
    """
    text = names.tobytes()
    count = len(names) if name_at is None else len(name_at)
    strings = 64 + 48 * count
    data = strings + len(text)
    end = data + stored * count
    records = np.zeros(count, dtype=RECORD)
    numbers = np.arange(count, dtype=np.uint64)
    width = names.shape[1] if name_at is None else 0
    records["name"] = numbers * np.uint64(width) if name_at is None else name_at
    records["length"] = width if length is None else length
    records["offset"] = np.uint64(data) + numbers * np.uint64(stored)
    records["stored"] = records["size"] = stored
    records["type"] = content_type
    with open(path, "wb") as file:
        file.write(struct.pack("<4sBBHBBHIQQQQ16x", b"SHRD", 2, role, 0, 0, 0, 48, count,
                               strings, data, end if metadata else 0, end + len(metadata)))
        file.write(records.tobytes())
        file.write(text)
        file.truncate(end)
        file.seek(end)
        file.write(metadata)


def flat(path, entries):
    """Names of eight digits in one directory."""
    write_shard(path, digits(entries))
    return ["00000000", f"{entries - 1:08}"], entries


def tensors(path, entries):
    """A ModelShard of what may be tensors: views/tensors/ has each name again."""
    write_shard(path, digits(entries), role=1, content_type=1, stored=8)
    return [f"{entries - 1:08}"], None


def scales(path, entries):
    """A ModelShard of tensors and their scales, N and N.scale."""
    half = entries // 2
    number = digits(half, 7)
    suffix = np.frombuffer(b".scale", dtype=np.uint8)
    names = np.hstack([number, np.broadcast_to(suffix, (half, 6))])
    at = np.repeat(np.arange(half, dtype=np.uint32) * 13, 2)
    length = np.tile(np.array([7, 13], dtype=np.uint16), half)
    write_shard(path, names, role=1, name_at=at, length=length, stored=8)
    return [f"{half - 1:07}", f"{half - 1:07}.scale"], None


def tiles(path, entries):
    """A GemmShard of one matrix of many tiles."""
    rows = digits(entries)
    names = np.full((entries, 10), ord(","), dtype=np.uint8)
    names[:, 0], names[:, 1] = ord("m"), ord("/")
    # 1000 to 9999 rows and columns, since numbers have no leading zeros: of tiles
    # that are in one place the first counts.
    names[:, 2:6], names[:, 7:10] = rows[:, 0:4], rows[:, 4:7]
    names[:, 2] = np.maximum(names[:, 2], ord("1"))
    names[:, 7] = np.maximum(names[:, 7], ord("1"))
    write_shard(path, names, role=3, stored=8)
    return [], None


def matrices(path, entries):
    """A GemmShard of as many matrices of one tile."""
    zero = np.frombuffer(b"/0,0", dtype=np.uint8)
    names = np.hstack([digits(entries, 6), np.broadcast_to(zero, (entries, 4))])
    letters = np.arange(entries) // 1_000_000
    names[:, 0] += (letters * 10).astype(np.uint8)
    write_shard(path, names, role=3, stored=8)
    return [], None


def samples(path, entries):
    """A SampleShard: views/json/ has each name again."""
    write_shard(path, digits(entries), role=2, content_type=2)
    return [f"{entries - 1:08}"], None


def episode(path, entries):
    """Entries of a WShard that are no lanes."""
    write_shard(path, digits(entries), role=5)
    return [f"{entries - 1:08}"], None


def columns(path, entries):
    """A ColumnShard without a schema."""
    write_shard(path, digits(entries), role=8)
    return [f"{entries - 1:08}"], None


def deep(path, entries):
    """Every entry in a directory of its own, four levels down."""
    names = np.full((entries, 9), ord("/"), dtype=np.uint8)
    number = np.arange(entries)
    for i, scale in ((0, 10**6), (2, 10**4), (4, 100), (6, 1)):
        names[:, i] = 128 + number // scale % 100  # no UTF-8, so one byte each
    names[:, 8] = ord("x")
    write_shard(path, names)
    return [], None


def dozens(path, entries):
    """Every name a hundred times."""
    part = (entries + 99) // 100
    at = np.tile(np.arange(part, dtype=np.uint32) * 8, 100)
    write_shard(path, digits(part), name_at=at, length=8)
    return ["00000000", "00000000~100"], 100 * part


def ladders(path, entries):
    """Few entries, each in 250 directories of its own: as many as there can be."""
    count = min(entries, 200_000)
    names = np.full((count, 508), ord("/"), dtype=np.uint8)
    names[:, 0::2] = ord("a")
    names[:, 0:16:2] = digits(count)
    write_shard(path, names)
    return [], None


def pairs(path, entries):
    """Every name twice."""
    half = (entries + 1) // 2
    at = np.repeat(np.arange(half, dtype=np.uint32) * 8, 2)
    write_shard(path, digits(half), name_at=at, length=8)
    return [f"{half - 1:08}", f"{half - 1:08}~2"], 2 * half


def equal(path, entries):
    """One name for all."""
    at = np.zeros(entries, dtype=np.uint32)
    write_shard(path, digits(1), name_at=at, length=8)
    return ["00000000", f"00000000~{entries}"], entries


def backwards(path, entries):
    """Data laid out in the other order, so that it has to be sorted."""
    write_shard(path, digits(entries))
    with open(path, "r+b") as file:
        file.seek(64)
        records = np.frombuffer(file.read(48 * entries), dtype=RECORD).copy()
        records["offset"] = records["offset"][::-1]
        file.seek(64)
        file.write(records.tobytes())
    return [f"{entries - 1:08}"], entries


def metadata(path, entries):
    """100 MiB of metadata that names conventions of more entries than are kept."""
    text = [b'{"entry_metadata":{']
    size, n = 0, 0
    while size < (100 << 20) - 1000:
        one = b'"%08d":{"extra":{"ctxfs":{"delta":{"a":0,"b":0}}}},' % n
        text.append(one)
        size += len(one)
        n += 1
    text.append(b'"":0}}')
    write_shard(path, digits(min(entries, 1000)), metadata=b"".join(text))
    return [], None


def zeros(path, entries):
    """100 MiB of metadata that is an array of numbers."""
    write_shard(path, digits(min(entries, 1000)),
                metadata=b'{"x":[0' + b",0" * ((100 << 20) // 2 - 10) + b"]}")
    return ["00000999"], None


def vectors(path, entries):
    """A CVC of a million chunks of two columns each: .ctxfs/raw/chunks/, and a row in each."""
    count = min(entries // 10, 1_000_000)
    column = {"dimension": 1, "dtype": "float32", "compression": "fp16"}
    header = {
        "format_type": "columnar", "num_vectors": count, "num_columns": 2,
        "columns": [{"name": name, **column} for name in "ab"], "chunks": [],
    }
    chunk = b'{"rows":1,"columns":{"a":{"offset":0,"size":2},"b":{"offset":2,"size":2}}}'
    text = json.dumps(header)[:-2].encode() + b",".join([chunk] * count) + b"]}"
    chunks = np.zeros(count, dtype=[("size", "<u4"), ("crc", "<u4"), ("data", "<u4")])
    chunks["size"], chunks["crc"] = 4, zlib.crc32(bytes(4))
    with open(path, "wb") as file:
        file.write(struct.pack("<4sHHI", b"CVCF", 2, 0, len(text)) + text)
        file.write(chunks.tobytes())
    return ["columns/a", "columns/b", f".ctxfs/raw/chunks/{count - 1:05}/a"], None


CASES = {case.__name__: case for case in (
    flat, tensors, scales, tiles, matrices, samples, episode, columns, deep, ladders,
    pairs, dozens, equal, backwards, metadata, zeros, vectors)}


def peak(pid: int) -> int:
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise LookupError("VmHWM")


def mount(container, point, binary, look) -> tuple[int, int, str]:
    """Exit code, greatest memory, and what was wrong. In the foreground, since the
    memory of one that is refused is gone with it."""
    log = container.with_suffix(".log")
    with open(log, "wb") as text:
        daemon = subprocess.Popen(
            [binary / "mount.ctxfs", container, point, "-f", "-o", "flat"], stderr=text)
        try:
            # wait4 tells of one that ends; of one that serves, /proc does.
            while True:
                ended, status, usage = os.wait4(daemon.pid, os.WNOHANG)
                if ended:
                    daemon.returncode = os.waitstatus_to_exitcode(status)
                    return daemon.returncode, usage.ru_maxrss * 1024, log.read_text()
                if os.path.ismount(point):
                    break
                time.sleep(0.05)
            wrong = look(point)
            most = peak(daemon.pid)
        finally:
            with contextlib.suppress(ProcessLookupError):
                if daemon.returncode is None:
                    subprocess.run(["umount", point], check=False)
                    daemon.wait()
    return daemon.returncode, most, wrong


def run(case, entries: int, folder: pathlib.Path, binary: pathlib.Path) -> bool:
    container, point = folder / "container", folder / "m"
    point.mkdir(exist_ok=True)
    names, listed = case(container, entries)

    def look(at) -> str:
        for name in names:
            if not (at / name).exists():
                return f"no {name}"
        if names and (at / (names[-1] + "x")).exists():
            return "a name that is not there"
        # What parses the metadata as a whole.
        json.loads((at / ".ctxfs" / "info.json").read_text())
        if listed is not None:
            with os.scandir(at) as found:
                seen = sum(1 for _ in found)
            if seen != listed:
                return f"{seen} of {listed} names"
        return ""

    start = time.monotonic()
    code, most, wrong = mount(container, point, binary, look)
    took = time.monotonic() - start
    size = container.stat().st_size
    container.unlink()
    how = "works" if code == 0 else "refused: " + wrong.strip()[-90:]
    print(f"{case.__name__:10} {size >> 20:5} MiB  {most / (1 << 20):6.0f} MiB  "
          f"{most / entries:5.0f} B/entry  {took:5.1f} s  {how}", flush=True)
    # Fewer entries are to take less, but for what is as large for any number.
    share = 1 if case in (metadata, zeros, ladders) else entries / 10_000_000
    allowed = min(MOST, MOST * share + (32 << 20))
    return most <= allowed and (code == 8 or code == 0 and not wrong)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=10_000_000)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "dev")
    parser.add_argument("--dir", type=pathlib.Path, default=None)
    parser.add_argument("cases", nargs="*", choices=[[], *CASES])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        good = [run(CASES[name], options.entries, pathlib.Path(folder), options.bin)
                for name in options.cases or CASES]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
