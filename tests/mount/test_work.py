# SPDX-License-Identifier: Apache-2.0
"""What a request may cost: little for little files, whatever they claim, and
each chunk of a table decoded about once while the table is read."""

import errno
import json
import os
import random
import struct
import subprocess

import pytest

import shard
from conftest import BIN, error_of, is_mounted, run, wait_until

ROWS = 1 << 25  # the most that a chunk's few bytes may stand for


def series(rows: int, first: int, step: int) -> bytes:
    """A chunk of int64, first + row * step: 22 bytes."""
    return struct.pack("<BIqqB", 3, rows, first, step, 0)


def runs(rows: int, value: int) -> bytes:
    """A chunk of equal booleans."""
    length, uvarint = rows, b""
    while length > 127:
        uvarint += bytes([length & 127 | 128])
        length >>= 7
    return struct.pack("<BI", 2, rows) + b"\1" + uvarint + bytes([length, value])


def table(columns: dict[str, tuple[int, list[bytes]]], rows: int, extra=b"", pack=None):
    """A ColumnShard: of each column its type's number and its chunks."""
    groups = len(next(iter(columns.values()))[1])
    schema = {
        "row_count": rows * groups,
        "row_group_count": groups,
        "columns": [
            {
                "name": name,
                "type": number,
                "nullable": False,
                "encoding": chunks[0][0],
                "stats": [{"count": rows, "null_count": 0}] * groups,
            }
            for name, (number, chunks) in columns.items()
        ],
    }
    entries = [shard.entry("__schema__", json.dumps(schema).encode())]
    for name, (_, chunks) in columns.items():
        for group, chunk in enumerate(chunks):
            how = {} if pack is None else {"stored": pack(chunk), "flags": 3}
            entries.append(shard.entry(f"{group}:{name}", chunk, **how))
    if extra:
        entries.append(shard.entry("extra", extra))
    return shard.build(entries, role=8)


def bomb(tmp_path, groups=4):
    """The issue's bomb: two columns of 2^27 rows in 1.3 KB."""
    columns = {
        f"c{i}": (5, [series(ROWS, 10**17 + i, 1)] * groups) for i in range(2)
    }
    columns["flag"] = (1, [runs(ROWS, 1)] * groups)
    path = tmp_path / "bomb.cshard"
    path.write_bytes(table(columns, ROWS))
    assert path.stat().st_size < 2000
    return path


def produced(mounted) -> float:
    return mounted.stats()["decoded_bytes_total"]


def test_a_table_of_few_bytes_costs_little(mount, tmp_path):
    mounted = mount(bomb(tmp_path))
    listed = run("ls", "-lR", mounted / "views")
    assert listed.returncode == 0 and b"table.csv" in listed.stdout
    for name in ("table.csv", "table.jsonl"):
        assert os.stat(mounted / "views" / name).st_size == 0
        assert error_of((mounted / "views" / name).read_bytes) == errno.EFBIG
    assert produced(mounted) < 1 << 20


def test_why_a_table_is_not_rendered_is_logged(mount, tmp_path):
    log = tmp_path / "log"
    path = bomb(tmp_path)
    point = tmp_path / "mnt"
    with open(log, "wb") as file:
        daemon = subprocess.Popen(
            [BIN / "mount.ctxfs", "-f", path, point], stderr=file
        )
        try:
            assert wait_until(lambda: is_mounted(point))
            csv = point / path.name / "views" / "table.csv"
            assert error_of(csv.read_bytes) == errno.EFBIG
        finally:
            run("umount", point)
            daemon.wait(10)
    text = log.read_text()
    # The file, what it claims, and the limit.
    assert "views/table.csv" in text
    needs = int(text.split("needs ")[1].split()[0])
    assert 2**27 * 6 <= needs < 2**27 * 6 + 4096, "each row has 6 bytes at least"
    assert f"a file of {path.stat().st_size} bytes" in text
    assert "max_expansion" in text


def test_columns_of_few_bytes_are_computed(mount, tmp_path):
    mounted = mount(bomb(tmp_path))
    column = mounted / "columns" / "c1"
    assert column.stat().st_size == 8 * 4 * ROWS
    with open(column, "rb") as file:
        for group in range(4):
            for row in (0, 1, 4095, ROWS - 1):
                file.seek(8 * (group * ROWS + row))
                (value,) = struct.unpack("<q", file.read(8))
                assert value == 10**17 + 1 + row
    with open(mounted / "columns" / "flag", "rb") as file:
        for at in (0, ROWS - 3, 4 * ROWS - 100):
            file.seek(at)
            assert file.read(100) == bytes([1]) * 100
    assert produced(mounted) < 1 << 20


def test_views_of_a_bomb_are_streamed(mount, tmp_path):
    mounted = mount(bomb(tmp_path))
    with open(mounted / "views" / "npy" / "c0.npy", "rb") as file:
        file.seek(-8, os.SEEK_END)
        assert struct.unpack("<q", file.read())[0] == 10**17 + ROWS - 1
    arrow = mounted / "views" / "table.arrow"
    assert arrow.stat().st_size > 2 * 8 * 4 * ROWS
    with open(arrow, "rb") as file:
        assert file.read(6) == b"ARROW1"
        file.seek(-6, os.SEEK_END)
        assert file.read(6) == b"ARROW1"
    assert produced(mounted) < 1 << 20


def test_the_bound_grows_with_the_file_and_can_be_set(mount, tmp_path):
    # For each row 8 bytes are computed and 2 rendered: 100 MB from 22 bytes.
    rows = 10_000_000
    path = tmp_path / "x.cshard"
    path.write_bytes(table({"c": (5, [series(rows, 7, 0)])}, rows))
    view = "views/table.csv"
    assert error_of((mount(path) / view).read_bytes) == errno.EFBIG
    assert (mount(path, "max_expansion=300000") / view).stat().st_size == 2 * rows + 2
    assert (mount(path, "max_expansion=0") / view).stat().st_size == 2 * rows + 2
    # The same table in a file of 300 KB.
    path.write_bytes(
        table({"c": (5, [series(rows, 7, 0)])}, rows, extra=random.randbytes(300_000))
    )
    assert (mount(path) / view).stat().st_size == 2 * rows + 2


def test_a_refusal_is_remembered(mount, tmp_path):
    # Decoded before it turns out that the text is too long: once.
    rows = 200_000
    values = [struct.pack("<BI", 0, rows) + bytes(8 * rows)]
    path = tmp_path / "x.cshard"
    pack = lambda chunk: run("zstd", "-c", input=chunk).stdout
    path.write_bytes(table({f"c{i}": (5, values) for i in range(20)}, rows, pack=pack))
    mounted = mount(path, "max_expansion=1")
    view = mounted / "views" / "table.csv"
    assert error_of(view.read_bytes) == errno.EFBIG
    before = produced(mounted)
    for _ in range(5):
        assert error_of(view.read_bytes) == errno.EFBIG
        assert os.stat(view).st_size == 0
    assert produced(mounted) == before


@pytest.fixture
def wide(tmp_path):
    """A table of compressed chunks, and the bytes of all its values."""
    rows, columns = 400_000, 4
    values = random.Random(1).randbytes(1000) * (8 * rows // 1000)
    chunk = struct.pack("<BI", 0, rows) + values
    pack = lambda chunk: run("zstd", "-1", "-c", input=chunk).stdout
    path = tmp_path / "wide.cshard"
    path.write_bytes(table({f"c{i}": (5, [chunk]) for i in range(columns)}, rows, pack=pack))
    return path, columns * len(values)


def test_each_chunk_of_a_table_is_decoded_once(mount, wide):
    path, total = wide
    mounted = mount(path, "max_expansion=0", "cache=256M")
    size = (mounted / "views" / "table.csv").stat().st_size
    # The values, and the text, which is kept as it is measured.
    assert produced(mounted) < 1.2 * total + size
    before = produced(mounted)
    text = (mounted / "views" / "table.csv").read_bytes()
    assert len(text) == size
    assert produced(mounted) - before < 1.2 * total + size


def test_chunks_that_do_not_fit_are_decoded_few_times(mount, wide):
    # The four chunks of 3.2 MB take 26 MB to be decoded. Every part of the rows
    # needs all of them anew, but the parts are as large as the cache allows: 13
    # of 32,768 rows, and not 98 of 4096.
    path, total = wide
    mounted = mount(path, "max_expansion=0", "cache=16M")
    view = mounted / "views" / "table.csv"
    size = view.stat().st_size
    measured = produced(mounted)
    assert measured < 14 * total + size
    assert len(view.read_bytes()) == size
    assert produced(mounted) - measured < 14 * total + size
