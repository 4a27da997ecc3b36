# SPDX-License-Identifier: Apache-2.0
"""Columns of ColumnShards: what reading one does, damage, vectors, and bombs."""

import errno
import json
import os
import struct

import numpy as np

from conftest import GOLDEN, error_of
from shard import build, entry

ENCODINGS = GOLDEN / "shard-profiles/all_encodings.cshard"


def test_listing_decodes_nothing(mount):
    mounted = mount(ENCODINGS)
    before = mounted.stats()["decoded_bytes_total"]
    for name in ("f64_bss", "id", "uuid", "bool_rle", "u8.valid"):
        os.stat(mounted / "columns" / name)
    assert os.listdir(mounted / "columns")
    assert mounted.stats()["decoded_bytes_total"] == before


def test_a_damaged_chunk_takes_its_column_alone(mount, tmp_path):
    data = bytearray(ENCODINGS.read_bytes())
    [found] = [one for one in mount(ENCODINGS).json(".ctxfs/index.json") if one["name"] == "1:u16"]
    data[found["offset"] + 9] ^= 1
    damaged = tmp_path / "damaged.cshard"
    damaged.write_bytes(data)
    mounted = mount(damaged)
    assert error_of((mounted / "columns" / "u16").read_bytes) == errno.EIO
    assert (mounted / "columns" / "i16").read_bytes()
    assert os.getxattr(mounted / "columns" / "u16", "user.ctxfs.verified") == b"failed"


def test_random_windows(mount):
    """Any window of a column is what the whole has there."""
    mounted = mount(ENCODINGS)
    for name in ("f32_bss", "f64_bss", "f32_plain", "id", "uuid"):
        path = mounted / "columns" / name
        whole = path.read_bytes()
        with open(path, "rb") as file:
            for at in range(0, len(whole), 7):
                assert os.pread(file.fileno(), 13, at) == whole[at : at + 13]


def test_without_a_schema(mount, tmp_path):
    """The columns are gone, the chunks are not."""
    source = GOLDEN / "shard-profiles" / "one_row_groups.cshard"
    data = source.read_bytes().replace(b"__schema__", b"__scheme__")
    copy = tmp_path / "copy.cshard"
    copy.write_bytes(data)
    mounted = mount(copy)
    assert any("__schema__" in warning for warning in mounted.warnings())
    assert not (mounted / "columns").exists()
    assert len((mounted / ".ctxfs/raw/row_groups" / "2" / "x").read_bytes()) == 22


def table(columns: list[dict], chunks: dict[str, bytes]) -> bytes:
    """A ColumnShard of one row group."""
    rows = columns[0]["stats"][0]["count"]
    schema = {
        "version": 1, "row_count": rows, "row_group_size": rows,
        "row_group_count": 1, "columns": columns,
    }
    entries = [entry(f"0:{name}", data) for name, data in chunks.items()]
    entries.append(entry("__schema__", json.dumps(schema).encode()))
    return build(entries, role=8)


def column(name: str, kind: int, rows: int, nulls: int | None = None) -> dict:
    return {
        "name": name, "type": kind, "nullable": nulls is not None, "encoding": 0,
        "stats": [{"count": rows, "null_count": nulls or 0}],
    }


def chunk(coding: int, rows: int, data: bytes, valid: bytes = b"") -> bytes:
    return struct.pack("<BI", coding, rows) + valid + data


def test_embeddings(mount, tmp_path):
    """The dimension is worked out, with nulls and without, split or not."""
    values = np.arange(12, dtype="<f4").reshape(3, 4)
    data = values.tobytes()
    planes = values.reshape(-1).view("u1").reshape(-1, 4).T.tobytes()
    holed = np.concatenate([values[0], [0], values[2]]).astype("<f4")
    holed_planes = holed.view("u1").reshape(-1, 4).T.tobytes()
    source = tmp_path / "vectors.cshard"
    source.write_bytes(table(
        [column("plain", 11, 3), column("split", 11, 3),
         column("holed", 11, 3, 1), column("holed_split", 11, 3, 1),
         column("odd", 11, 3), column("short", 11, 3)],
        {
            "plain": chunk(0, 3, data),
            "split": chunk(4, 3, planes),
            "holed": chunk(0, 3, holed.tobytes(), b"\x05"),
            "holed_split": chunk(4, 3, holed_planes, b"\x05"),
            "odd": chunk(0, 3, data[:-4]),
            "short": chunk(0, 3, b"\0" * 8),
        },
    ))
    mounted = mount(source)
    expected = values.copy()
    for name in ("plain", "split", "holed", "holed_split"):
        path = mounted / "columns" / name
        assert json.loads(os.getxattr(path, "user.ctxfs.shape")) == [3, 4]
        expected[1] = 0 if "holed" in name else values[1]
        got = np.frombuffer(path.read_bytes(), "<f4").reshape(3, 4)
        assert (got == expected).all(), name
    assert (mounted / "columns" / "holed.valid").read_bytes() == b"\1\0\1"
    assert not (mounted / "columns" / "odd").exists()
    assert not (mounted / "columns" / "short").exists()
    warnings = mounted.warnings()
    assert len(warnings) == 2
    assert "'odd'" in warnings[0] and "'short'" in warnings[1]


def test_bombs_and_lies(mount, tmp_path):
    """Rows that nothing stores are refused, and a chunk is held to its schema."""
    many = 2**32 - 1
    run = b"\x01\xff\xff\xff\xff\x0f\x01"
    flat = struct.pack("<qqB", 7, 0, 0)
    source = tmp_path / "bombs.cshard"
    source.write_bytes(table(
        [column("run", 1, many), column("flat", 5, many), column("few", 5, 2),
         column("wide", 12, many), column("ok", 1, 3), column("strange", 99, 3)],
        {
            "run": chunk(2, many, run), "flat": chunk(3, many, flat),
            "few": chunk(3, 3, flat), "wide": chunk(0, many, b"\0" * 8),
            "ok": chunk(2, 3, run), "strange": chunk(0, 3, b"abc"),
        },
    ))
    mounted = mount(source)
    assert sorted(os.listdir(mounted / "columns")) == ["few", "ok"]
    assert (mounted / "columns" / "ok").read_bytes() == b"\1\1\1"
    assert error_of((mounted / "columns" / "few").read_bytes) == errno.EIO
    text = (mounted / ".ctxfs" / "info.json").read_text()
    for name in ("run", "flat", "wide", "strange"):
        assert f"'{name}'" in text
