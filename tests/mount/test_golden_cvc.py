# SPDX-License-Identifier: Apache-2.0
"""Every container of golden/cvc, through a real mount, as its JSON says."""

import errno
import hashlib
import json
import os
import random
import struct

import numpy
import pytest

from conftest import GOLDEN

ANSWERS = sorted(GOLDEN.glob("cvc/*.json"))
assert ANSWERS, "no golden containers"
DTYPES = {"float32": "f32", "float16": "f16", "int32": "i32", "int64": "i64",
          "int8": "i8", "uint8": "u8"}


def expected_exit(reader: dict, container) -> int:
    if container.read_bytes()[:4] != b"CVCF":
        return 3
    codes = {"unsupported_version": 5, "header_too_deep": 8}
    return codes.get(reader["code"], 4)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read(path) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def fails(path) -> bool:
    with pytest.raises(OSError) as failed:
        read(path)
    return failed.value.errno == errno.EIO


def shown_path(entry: dict) -> bytes:
    if "path_hex" in entry:
        return bytes.fromhex(entry["path_hex"])
    return entry["path"].encode()


def check_column(path: bytes, shown: dict, answer: dict) -> bytes | None:
    """The column's bytes, if all of them can be had."""
    assert shown["shape"] == [answer["rows"], answer["dimension"]]
    assert shown["codec"] == answer["compression"]
    assert shown["stored_dtype"] == answer["dtype"]
    shape = os.getxattr(path, "user.ctxfs.shape")
    assert json.loads(shape) == shown["shape"]
    assert os.getxattr(path, "user.ctxfs.dtype").decode() == shown["dtype"]
    if "sha256_decoded" not in answer and answer["rows"]:
        assert fails(path)
        return None
    assert shown["dtype"] == DTYPES[answer["decoded_dtype"]]
    data = read(path)
    assert os.stat(path).st_size == len(data)
    if "sha256_decoded" in answer:
        assert len(data) == answer["nbytes"]
        assert sha256(data) == answer["sha256_decoded"]
        dtype = numpy.dtype(answer["decoded_dtype"])
        assert numpy.fromfile(path, dtype).size * dtype.itemsize == len(data)
    return data


def check_chunks(root: bytes, path: bytes, name: str, chunks: list) -> None:
    row = 0
    rows = sum(chunk["rows"] for chunk in chunks)
    row_bytes = os.stat(path).st_size // rows if rows else 0
    for chunk in chunks:
        answer = chunk["columns"][name]
        stored = os.path.join(
            root, b"chunks/%05d" % chunk["index"], os.path.relpath(path, root)[8:]
        )
        if "sha256_stored" in answer:
            assert sha256(read(stored)) == answer["sha256_stored"]
            verified = b"yes" if "crc32" in chunk and answer["size"] else None
            assert verified is None or os.getxattr(
                stored, "user.ctxfs.verified") == verified
        elif chunk["errors"] and os.path.exists(stored):
            assert fails(stored)
        if row_bytes == 0:
            continue
        with open(path, "rb") as file:
            file.seek(row * row_bytes)
            if "error" in answer:
                with pytest.raises(OSError) as failed:
                    os.pread(file.fileno(), 1, row * row_bytes)
                assert failed.value.errno == errno.EIO
            elif "sha256_decoded" in answer:
                data = read_rows(file, row * row_bytes, chunk["rows"] * row_bytes)
                # The kernel reads whole pages, and a page of a bad neighbour
                # cannot be had: only a chunk between sound ones is certain.
                if data is not None:
                    assert sha256(data) == answer["sha256_decoded"]
        row += chunk["rows"]


def read_rows(file, offset: int, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        try:
            part = os.pread(file.fileno(), size - len(data), offset + len(data))
        except OSError as error:
            assert error.errno == errno.EIO
            return None
        data += part
    return data


def check_sections(root: bytes, sections: list, columns: list, decoded: list):
    expected: dict[str, bytes] = {}
    for section in sections:
        rows = slice(section["start_index"], section["end_index"])
        for column, data in zip(columns, decoded):
            size = len(data) // column["rows"]
            part = data[rows.start * size : rows.stop * size]
            assert sha256(part) == section["columns"][column["name"]]
            for key, value in section["metadata"].items():
                text = value if isinstance(value, str) else json.dumps(value)
                path = f"sections/{key}={text}/{column['name']}"
                expected[path] = expected.get(path, b"") + part
    for path, data in expected.items():
        assert read(os.path.join(root, os.fsencode(path))) == data


@pytest.mark.parametrize("answer_file", ANSWERS, ids=lambda p: p.stem)
def test_golden(answer_file, mount, refused):
    reader = json.loads(answer_file.read_text())["reader"]
    container = answer_file.with_suffix(".cvc")
    refusable = reader["verdict"] == "either" and "columns" not in reader
    if reader["verdict"] == "reject" or refusable:
        code, text = refused(container)
        assert code == expected_exit(reader, container)
        assert container.name in text
        assert "byte " in text
        return
    mounted = mount(container)
    root = os.fsencode(mounted.root)
    layout = reader["layout"]
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    assert info["format"] == "cvc"
    assert info["version"] == "%d.%d" % tuple(layout["version"])
    assert info["rows"] == layout["num_vectors"]
    assert (info["parts_unreadable"] > 0) <= (reader["verdict"] != "accept")
    start = layout["json_offset"]
    header = container.read_bytes()[start : start + layout["header_len"]]
    assert (mounted / "header.json").read_bytes() == header
    assert (mounted / ".ctxfs" / "container").read_bytes() == container.read_bytes()

    index = json.loads((mounted / ".ctxfs" / "index.json").read_text())
    assert len(index) == len(reader["columns"])
    decoded = []
    for shown, answer in zip(index, reader["columns"]):
        path = os.path.join(root, shown_path(shown))
        name = answer["name"].encode(errors="surrogatepass")
        assert bytes.fromhex(shown.get("name_hex", "")) in (b"", name)
        assert "name_hex" in shown or shown["name"] == answer["name"]
        decoded.append(check_column(path, shown, answer))
        if isinstance(reader["chunks"], list):
            check_chunks(root, path, answer["name"], reader["chunks"])
    if reader.get("sections"):
        check_sections(root, reader["sections"], reader["columns"], decoded)


def test_windows(mount):
    """Odd windows of a column of many chunks are those of the whole."""
    mounted = mount(GOLDEN / "cvc" / "v1_lossless_widths_6_5_4_1.cvc")
    whole = (mounted / "columns" / "vectors").read_bytes()
    rng = random.Random(1)
    with open(mounted / "columns" / "vectors", "rb") as file:
        for _ in range(200):
            at = rng.randrange(len(whole))
            size = rng.randrange(1, 600)
            assert os.pread(file.fileno(), size, at) == whole[at : at + size]


def many_chunks(count: int) -> bytes:
    """A v0 file of `count` chunks of one vector of two halves each."""
    header = json.dumps({
        "num_vectors": count, "dimension": 2, "compression": "fp16",
        "chunks": [{"rows": 1, "compression": "fp16"}] * count,
    }).encode()
    chunk = struct.pack("<I2e", 4, 1.5, -2)
    return b"CVCF" + struct.pack("<I", len(header)) + header + chunk * count


def test_a_hundred_thousand_chunks(mount, tmp_path):
    file = tmp_path / "many.cvc"
    file.write_bytes(many_chunks(100_000))
    mounted = mount(file)
    column = numpy.fromfile(mounted / "columns" / "vectors", "<f4")
    assert column.shape == (200_000,)
    assert (column.reshape(-1, 2) == [1.5, -2]).all()
    assert len(os.listdir(mounted / "chunks")) == 100_000
    last = mounted / "chunks" / "99999" / "vectors"
    assert last.read_bytes() == struct.pack("<2e", 1.5, -2)
