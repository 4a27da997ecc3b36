# SPDX-License-Identifier: Apache-2.0
"""cache= is a promise (issue 15, C13): whatever is read of a mount, in whatever
form, the daemon takes no more than that and 64 MiB, in a memory cgroup where one
can be made. And C12: tables as text are rendered within it, once."""

import concurrent.futures
import contextlib
import os
import pathlib
import struct
import subprocess
import sys

import numpy as np
import pytest

import shard
import tables
from conftest import GOLDEN, ROOT, is_mounted, mount_command, run, wait_until

sys.path.insert(0, str(ROOT / "scripts"))
import memory  # noqa: E402  the cgroup of scripts/memory.py

MIB = 1 << 20
MORE_MIB = 64
READERS = 4


@contextlib.contextmanager
def bounded(source, point, cache_mib: int, *options: str):
    """A mount, in a cgroup of the promised memory; checks it in the end."""
    limit = (cache_mib + MORE_MIB) * MIB
    group = memory.Cgroup.make(limit)
    try:
        command = mount_command(source, point, f"cache={cache_mib}M", "index=16M", "list=all",
                                *options)
        subprocess.run(command, check=True, preexec_fn=group.enter if group else None,
                       timeout=60)
        pid = memory.daemon_of(point)
        yield
        peak = memory.status_mib(pid, "VmHWM")
        assert peak <= limit / MIB, f"{peak:.0f} MiB with cache={cache_mib}M"
        if group:
            assert group.kills() == 0, "the kernel ended the daemon"
    finally:
        run("umount", "-l", point)
        if group:
            wait_until(lambda: not (group.path / "cgroup.procs").read_text(), 30)
            group.remove()


def read_through(path: str, most: int = 24 * MIB) -> int:
    """Reads a file, of a long one the two ends. Damaged files fail."""
    total = 0
    try:
        with open(path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            at = 0
            while at < size:
                if most <= at < size - most:
                    at = size - most
                    file.seek(at)
                got = len(file.read(MIB))
                if got == 0:
                    break
                at += got
                total += got
    except OSError:
        pass
    return total


def read_all(root, most: int = 24 * MIB) -> int:
    """Reads every file below `root` with several readers; of directories of
    numbers, some."""
    total = 0
    with concurrent.futures.ThreadPoolExecutor(READERS) as pool:
        for folder, folders, names in os.walk(root):
            del folders[2000:]
            paths = [os.path.join(folder, name) for name in names[:100]]
            total += sum(pool.map(lambda path: read_through(path, most), paths))
    return total


@pytest.mark.parametrize("folder", sorted(p.name for p in GOLDEN.iterdir() if p.is_dir()))
def test_c13_every_view_of_every_golden_container(tmp_path, folder):
    point = tmp_path / "mnt"
    with bounded(GOLDEN / folder, point, 16):
        assert read_all(point) > 0


def test_c13_and_c12_a_table_of_a_million_rows(tmp_path):
    path, point = tmp_path / "big.cshard", tmp_path / "mnt"
    tables.write(path)
    with bounded(path, point, 64, "flat"):
        views = point / "views"
        sizes = {}
        with concurrent.futures.ThreadPoolExecutor(READERS) as pool:
            names = ("table.csv", "table.jsonl", "table.arrow")
            sizes = dict(zip(names, pool.map(lambda n: (views / n).stat().st_size, names)))
            got = pool.map(lambda n: read_through(str(views / n), 1 << 30), names)
            assert list(got) == list(sizes.values())
        with open(views / "table.csv", encoding="ascii") as file:
            assert sum(1 for _ in file) == 1_000_001
        assert read_all(point) > 0


def test_c13_a_table_of_long_texts(tmp_path):
    """Blocks of rows are bounded by bytes, and not by rows alone."""
    rows, groups = 2000, 3
    texts = [b"%06d" % i + b"x" * 4000 for i in range(rows)]
    chunk = struct.pack("<BI", 0, rows) + b"".join(
        struct.pack("<I", len(text)) + text for text in texts)
    columns = [{"name": f"t{i}", "type": tables.STRING, "nullable": False, "encoding": 0,
                "stats": [{"count": rows, "null_count": 0}] * groups} for i in range(3)]
    entries = [tables.schema(rows, groups, columns)]
    entries += [shard.entry(f"{group}:t{i}", chunk) for i in range(3) for group in range(groups)]
    path, point = tmp_path / "texts.cshard", tmp_path / "mnt"
    path.write_bytes(shard.build(entries, role=8))
    with bounded(path, point, 64, "flat", "max_expansion=0"):
        csv = point / "views" / "table.csv"
        assert csv.stat().st_size == len("t0,t1,t2\n") + rows * groups * 3 * 4007
        assert read_all(point, 1 << 30) > 3 * csv.stat().st_size


@pytest.mark.parametrize("packed", [False, True])
def test_c13_pictures(tmp_path, packed):
    """A frame is 6 MB of pixels and as much PNG, which count."""
    frames = np.random.default_rng(1).integers(0, 255, (8, 1080, 1920, 3), dtype="u1")
    path, point = tmp_path / "frames.npz", tmp_path / "mnt"
    (np.savez_compressed if packed else np.savez)(path, rgb=frames)
    # Deflate keeps places to start from, and the last 32 KiB before each.
    with bounded(path, point, 32, "flat"):
        pictures = point / "views" / "frames" / "rgb"
        assert len(os.listdir(pictures)) == 8
        assert read_all(point) > frames.nbytes


def test_c13_zstd_with_large_windows(tmp_path):
    values = np.random.default_rng(1).integers(0, 255, MIB, dtype="u1")
    data = np.repeat(values, 12).tobytes()
    stored = subprocess.run(["zstd", "-3", "--long=27", "-q", "-c"], input=data,
                            capture_output=True, check=True).stdout
    entries = [shard.entry(f"e{i:02}", data, stored=stored, flags=3) for i in range(12)]
    path, point = tmp_path / "x.shard", tmp_path / "mnt"
    path.write_bytes(shard.build(entries))
    with bounded(path, point, 48, "flat"):
        assert read_all(point) > 12 * len(data)


def produced(point: pathlib.Path) -> float:
    lines = (point / ".ctxfs" / "stats").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines
                if line.startswith("ctxfs_decoded_bytes_total"))


def test_c12_sizes_of_tables_are_asked_for_by_no_listing_and_remembered(mount, tmp_path):
    path = tmp_path / "t.cshard"
    tables.write(path, rows=20_000, groups=2)
    mounted = mount(path, "list=all")
    for command in (["ls", "-R"], ["find"], ["find", "-type", "f"]):
        done = run(command[0], mounted.root, *command[1:])
        assert done.returncode == 0 and b"table.csv" in done.stdout
    assert os.listdir(mounted / "views") and list(os.scandir(mounted / "views"))
    assert produced(mounted.point) == 0, "a listing decodes nothing"
    sizes = [(mounted / "views" / f"table.{kind}").stat().st_size for kind in ("csv", "jsonl")]
    once = produced(mounted.point)
    assert once > sum(sizes)
    mounted.kill()
    run("umount", "-l", mounted.point)
    mounted = mount(path, "list=all")
    csv = mounted / "views" / "table.csv"
    assert csv.stat().st_size == sizes[0]
    once = produced(mounted.point)
    for _ in range(5):
        fd = os.open(csv, os.O_RDONLY)
        assert os.fstat(fd).st_size == sizes[0]
        os.close(fd)
        assert run("ls", "-l", csv).returncode == 0
    assert produced(mounted.point) == once, "measured once"
    assert is_mounted(mounted.point)
