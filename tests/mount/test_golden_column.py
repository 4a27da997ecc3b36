# SPDX-License-Identifier: Apache-2.0
"""Every ColumnShard of golden/shard-profiles through a real mount."""

import errno
import hashlib
import json
import os
import struct

import numpy as np
import pytest

from conftest import GOLDEN
from npy import read_npy, view_of
from shard import build, entry

ANSWERS = sorted(GOLDEN.glob("shard-profiles/*.cshard.json"))
assert ANSWERS, "no golden containers"

# Type number: struct code of a value, dtype.
INTEGERS = {
    2: ("b", "i8"), 3: ("h", "i16"), 4: ("i", "i32"), 5: ("q", "i64"),
    6: ("B", "u8"), 7: ("H", "u16"), 8: ("I", "u32"), 9: ("Q", "u64"),
    10: ("H", "f16"), 15: ("q", "i64"), 17: ("H", "bf16"),
}
FLOATS = {11: (4, "f32"), 12: (8, "f64")}


def values_of(data: bytes, kind: int, per_row: int = 1) -> list:
    """A column's rows in the notation of the answers."""
    if kind in (13, 14):
        return [json.loads(line) for line in data.split(b"\n")[:-1]]
    if kind == 1:
        assert set(data) <= {0, 1}
        return [bool(b) for b in data]
    if kind == 16:
        return [data[i : i + 16].hex() for i in range(0, len(data), 16)]
    if kind in INTEGERS:
        code = INTEGERS[kind][0]
        return [str(v) for (v,) in struct.iter_unpack("<" + code, data)]
    width, name = FLOATS[kind]
    bits = [
        {f"{name}_bits": data[i : i + width][::-1].hex()}
        for i in range(0, len(data), width)
    ]
    if per_row == 1:
        return bits
    return [bits[i : i + per_row] for i in range(0, len(bits), per_row)]


def without_text(value):
    if isinstance(value, list):
        return [without_text(v) for v in value]
    if isinstance(value, dict):
        return {k: v for k, v in value.items() if k != "text"}
    return value


def digest(values: list) -> str:
    lines = (
        "\\N" if v is None else json.dumps(v, ensure_ascii=False) for v in values
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def as_doubles(value):
    """JSON as JavaScript reads it, whose integers are doubles."""
    if isinstance(value, list):
        return [as_doubles(v) for v in value]
    if isinstance(value, dict):
        return {k: as_doubles(v) for k, v in value.items()}
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if is_number else value


def check_texts(values: list) -> None:
    """The decimal notation of a value has its bits."""
    for value in values:
        if isinstance(value, list):
            check_texts(value)
        elif isinstance(value, dict) and "text" in value:
            size = 4 if "f32_bits" in value else 8
            bits = bytes.fromhex(value[f"f{8 * size}_bits"])
            shown, = struct.unpack(">f" if size == 4 else ">d", bits)
            said = np.dtype(f"f{size}").type(value["text"])
            assert said == shown or np.isnan(said) and np.isnan(shown)


TYPE_NAMES = {
    1: "bool", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "uint8", 7: "uint16",
    8: "uint32", 9: "uint64", 10: "float16", 11: "float32", 12: "float64",
    13: "string", 15: "datetime", 16: "uuid", 17: "bfloat16",
}


def check_schema(shown: dict, answer: dict) -> None:
    assert shown == answer["schema"]
    expected = answer["expected"]
    assert as_doubles(shown) == as_doubles(expected["schema_as_read"])
    assert shown["row_group_size"] == expected["row_group_size"]
    for column, said in zip(shown["columns"], expected["columns"], strict=True):
        assert column["name"] == said["name"]
        assert column["type"] == said["type"]
        assert column["nullable"] == said["nullable"]
        assert column["encoding"] == said["declared_encoding"]
        assert TYPE_NAMES[said["type"]] == said["type_name"]


def check_npy(mounted, name: str, dtype: str, shape: list, data: bytes) -> None:
    """The view has the column's shape, and its bytes."""
    assert read_npy(view_of(mounted, name, dtype))[1:] == (shape, data)


def dtype_of(kind: int) -> bytes:
    if kind == 1:
        return b"bool"
    if kind == 16:
        return b"u8"
    return (INTEGERS | FLOATS)[kind][1].encode()


def check_column(mounted, column: dict, rows: int, digests: dict) -> None:
    path = mounted / "columns" / column["name"]
    kind = column["type"]
    data = path.read_bytes()
    assert os.stat(path).st_size == len(data)
    per_row = 1
    if kind not in (13, 14):
        assert os.getxattr(path, "user.ctxfs.dtype") == dtype_of(kind)
        shape = json.loads(os.getxattr(path, "user.ctxfs.shape"))
        assert shape[0] == rows
        if kind == 16:
            assert shape[1:] == [16]
        elif len(shape) == 2:
            per_row = shape[1]
        check_npy(mounted, column["name"], dtype_of(kind).decode(), shape, data)
    values = values_of(data, kind, per_row)
    valid_path = mounted / "columns" / (column["name"] + ".valid")
    assert valid_path.exists() == column["nullable"]
    if column["nullable"]:
        valid = valid_path.read_bytes()
        assert set(valid) <= {0, 1} and len(valid) == rows
        check_npy(mounted, column["name"] + ".valid", "bool", [rows], valid)
        values = [v if ok else None for v, ok in zip(values, valid)]
    assert len(values) == rows
    check_texts(column["values"] or [])
    expected = without_text(column["values"] or [])
    if column["name"] == "u32_lost":
        # `values` is what the writer was given; the digest is of what it stored.
        assert b"zeros" in os.getxattr(path, "user.ctxfs.note")
        expected = ["0"] * rows
    if len(expected) == rows:
        assert values == expected
    elif expected:  # the first of many, and the last
        few = len(expected) // 2
        assert values[:few] + values[-few:] == expected
    assert digest(values) == digests[column["name"]]


@pytest.mark.parametrize("answer_file", ANSWERS, ids=lambda p: p.stem)
def test_golden(answer_file, mount):
    answer = json.loads(answer_file.read_text())
    container = answer_file.with_suffix("")
    assert hashlib.sha256(container.read_bytes()).hexdigest() == answer["sha256"]
    mounted = mount(container)
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    assert info["role_name"] == "ColumnShard"
    assert info["warnings"] == []
    assert info["rows"] == answer["expected"]["rows"]

    check_schema(json.loads((mounted / "schema.json").read_text()), answer)
    names = set()
    for column in answer["expected"]["columns"]:
        check_column(mounted, column, info["rows"], answer["column_value_sha256"])
        names |= {column["name"]}
        names |= {column["name"] + ".valid"} if column["nullable"] else set()
    found = {
        os.path.relpath(os.path.join(folder, file), mounted / "columns")
        for folder, _, files in os.walk(mounted / "columns")
        for file in files
    }
    assert found == names

    index = json.loads((mounted / ".ctxfs" / "index.json").read_text())
    assert [e["name"] for e in index] == [e["name"] for e in answer["entries"]]
    for shown, entry in zip(index, answer["entries"]):
        group, colon, column = entry["name"].partition(":")
        below = f"row_groups/{group}/{column}" if colon else entry["name"]
        expected = f".ctxfs/raw/{below}"
        assert shown["path"] == expected
        path = mounted / expected
        assert hashlib.sha256(path.read_bytes()).hexdigest() == entry["payload_sha256"]
        assert os.getxattr(path, "user.ctxfs.verified") == b"yes"
        if colon:
            stored = os.getxattr(path, "user.ctxfs.name").decode()
            assert stored == entry["name"]


def test_listing_decodes_nothing(mount):
    mounted = mount(GOLDEN / "shard-profiles" / "all_encodings.cshard")
    before = mounted.stats()["decoded_bytes_total"]
    for name in ("f64_bss", "id", "uuid", "bool_rle", "u8.valid"):
        os.stat(mounted / "columns" / name)
    assert os.listdir(mounted / "columns")
    assert mounted.stats()["decoded_bytes_total"] == before


def test_a_damaged_chunk_takes_its_column_alone(mount, tmp_path):
    answer = json.loads((GOLDEN / "shard-profiles/all_encodings.cshard.json").read_text())
    data = bytearray((GOLDEN / "shard-profiles/all_encodings.cshard").read_bytes())
    for entry in answer["entries"]:
        if entry["name"] == "1:u16":
            data[entry["data_offset"] + 9] ^= 1
    damaged = tmp_path / "damaged.cshard"
    damaged.write_bytes(data)
    mounted = mount(damaged)
    with pytest.raises(OSError) as failed:
        (mounted / "columns" / "u16").read_bytes()
    assert failed.value.errno == errno.EIO
    assert (mounted / "columns" / "i16").read_bytes()
    assert os.getxattr(mounted / "columns" / "u16", "user.ctxfs.verified") == b"failed"


def test_random_windows(mount):
    """Any window of a column is what the whole has there."""
    mounted = mount(GOLDEN / "shard-profiles" / "all_encodings.cshard")
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
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    assert any("__schema__" in warning for warning in info["warnings"])
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
    warnings = json.loads((mounted / ".ctxfs" / "info.json").read_text())["warnings"]
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
    with pytest.raises(OSError) as failed:
        (mounted / "columns" / "few").read_bytes()
    assert failed.value.errno == errno.EIO
    text = (mounted / ".ctxfs" / "info.json").read_text()
    for name in ("run", "flat", "wide", "strange"):
        assert f"'{name}'" in text
