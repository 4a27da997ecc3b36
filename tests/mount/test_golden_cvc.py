# SPDX-License-Identifier: Apache-2.0
"""Every container of golden/cvc, through a real mount, as its JSON says."""

import errno
import hashlib
import io
import json
import mmap
import os
import pathlib
import random
import struct
import zlib

import numpy
import pytest

from conftest import GOLDEN

ANSWERS = sorted(GOLDEN.glob("cvc/*.json"))
assert ANSWERS, "no golden containers"
DTYPES = {"float32": "f32", "float16": "f16", "int32": "i32", "int64": "i64",
          "int8": "i8", "uint8": "u8"}
CODECS = {"fp16", "int8", "none", "lossless"}


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


def check_described(path: bytes, shown: dict, answer: dict, columnar: bool) -> None:
    """A column in index.json and in its attributes."""
    name = answer["name"].encode(errors="surrogatepass")
    assert bytes.fromhex(shown.get("name_hex", "")) in (b"", name)
    assert "name_hex" in shown or shown["name"] == answer["name"]
    shape = answer["shape"]
    assert shape == [answer["rows"], answer["dimension"]]
    # As the package gives it, where the answer was written down by another.
    scalars = columnar and answer["dimension"] == 1
    assert shown["shape"] == (shape[:1] if scalars else shape)
    assert json.loads(os.getxattr(path, "user.ctxfs.shape")) == shown["shape"]
    assert shown["codec"] == answer["compression"]
    assert shown["stored_dtype"] == answer["dtype"]
    known = answer["decoded_dtype"] in DTYPES
    assert ("dtype" in shown) == known
    assert ("user.ctxfs.dtype" in os.listxattr(path)) == known
    if known:
        assert shown["dtype"] == DTYPES[answer["decoded_dtype"]]
        assert os.getxattr(path, "user.ctxfs.dtype").decode() == shown["dtype"]
    else:
        assert shown["note"] == "the dtype '" + answer["dtype"] + "' is unknown"


def check_column(root: bytes, path: bytes, answer: dict) -> bytes | None:
    """The column's bytes, if all of them can be had."""
    if "sha256_decoded" not in answer and answer["rows"]:
        assert fails(path)
        return None
    data = read(path)
    assert os.stat(path).st_size == len(data)
    if "sha256_decoded" not in answer:
        return data
    assert len(data) == answer["nbytes"]
    assert sha256(data) == answer["sha256_decoded"]
    values = numpy.frombuffer(data, answer["decoded_dtype"])
    if "sha256_as_float32" in answer:
        assert sha256(values.astype("<f4").tobytes()) == answer["sha256_as_float32"]
    name = os.path.relpath(path, root)[8:]
    if b"~" not in name and b"%" not in name:  # views have other names there
        npy = os.path.join(root, b"views/npy", name + b".npy")
        assert numpy.load(os.fsdecode(npy)).tobytes() == data
    return data


def check_stored(path: bytes, chunk: dict, answer: dict) -> None:
    """A column of a chunk as it is stored."""
    if "sha256_stored" not in answer:
        assert chunk["errors"] or "error" in answer
        assert not os.path.exists(path) or fails(path)
        return
    assert sha256(read(path)) == answer["sha256_stored"]
    shown = {name.removeprefix("user.ctxfs."): os.getxattr(path, name).decode()
             for name in os.listxattr(path)}
    assert os.stat(path).st_size == answer["size"] == int(shown["stored_size"])
    codec = answer["compression"]
    assert shown["codec"] == (codec if codec in CODECS else "unknown")
    assert int(shown["offset"]) == chunk["payload_offset"] + answer["offset"]
    checksum = "crc32:" + chunk["crc32"] if "crc32" in chunk else None
    assert shown.get("checksum") == checksum
    if "crc32" in chunk and answer["size"]:
        assert shown["verified"] == "yes"


def check_chunks(root: bytes, path: bytes, column: dict, chunks: list) -> set[int]:
    """The column in each chunk; gives the chunks that cannot be read."""
    row = 0
    assert sum(chunk["rows"] for chunk in chunks) == column["rows"]
    row_bytes = os.stat(path).st_size // column["rows"] if column["rows"] else 0
    bad = set()
    for chunk in chunks:
        answer = chunk["columns"][column["name"]]
        folder = b".ctxfs/raw/chunks/%05d" % chunk["index"]
        check_stored(
            os.path.join(root, folder, os.path.relpath(path, root)[8:]), chunk, answer)
        assert ("error" in answer) != ("sha256_decoded" in answer)
        assert "error" in answer or not chunk["errors"]
        assert "error" in answer or answer["decoded_dtype"] == column["decoded_dtype"]
        if "error" in answer:
            bad.add(chunk["index"])
        check_rows(path, row * row_bytes, chunk["rows"] * row_bytes, answer)
        row += chunk["rows"]
        # A size of 0 is that of a column of which nothing is known.
        assert row_bytes or not chunk["rows"] or "error" in answer
    return bad


def check_rows(path: bytes, begin: int, size: int, answer: dict) -> None:
    """The rows of a chunk in its column."""
    if size == 0:
        return
    with open(path, "rb") as file:
        if "error" in answer:
            assert is_eio(file.fileno(), 1, begin)
            assert is_eio(file.fileno(), 1, begin + size - 1)
        else:
            # Every byte, whatever there is in its page.
            data = read_rows(file, begin, size)
            assert sha256(data) == answer["sha256_decoded"]


def read_rows(file, offset: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = os.pread(file.fileno(), size - len(data), offset + len(data))
        assert part
        data += part
    return data


def check_sections(root: bytes, sections: list, columns: list, decoded: list):
    expected: dict[str, bytes] = {}
    for section in sections:
        rows = slice(section["start_index"], section["end_index"])
        for column, data in zip(columns, decoded):
            assert rows.start <= rows.stop <= column["rows"]
            size = len(data) // column["rows"]
            part = data[rows.start * size : rows.stop * size]
            assert sha256(part) == section["columns"][column["name"]]
            for key, value in section["metadata"].items():
                text = value if isinstance(value, str) else json.dumps(value)
                path = f"views/sections/{key}={text}/{column['name']}"
                expected[path] = expected.get(path, b"") + part
    for path, data in expected.items():
        assert read(os.path.join(root, os.fsencode(path))) == data
    folder = pathlib.Path(os.fsdecode(root)) / "views/sections"
    shown = {str(path.relative_to(folder)) for path in folder.rglob("*")
             if path.is_file()}
    assert shown == {path.removeprefix("views/sections/") for path in expected}


def check_end(info: dict, reader: dict) -> None:
    """Where the chunks end, of a file in which all are found one after another."""
    layout = reader["layout"]
    if reader["verdict"] != "accept" or layout["mmap_offsets"]:
        return
    end, trailing = layout["end_of_chunks"], layout["trailing_bytes"]
    assert end + trailing == info["container_size"]
    said = [text for text in info["warnings"] if "bytes follow the last chunk" in text]
    text = f"byte {end}: {trailing} bytes follow the last chunk"
    assert said == ([text] if trailing and reader["chunks"] else [])


def check_info(mounted, container, reader: dict) -> None:
    """What info.json and the documents have of the header."""
    layout = reader["layout"]
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    assert info["format"] == "cvc"
    assert info["version"] == "%d.%d" % tuple(layout["version"])
    assert info["layout"] == layout["format_type"]
    assert info["chunks_by_file_offset"] is layout["mmap_offsets"]
    assert info["rows"] == layout["num_vectors"]
    assert info["header_size"] == layout["header_len"]
    assert (info["parts_unreadable"] > 0) <= (reader["verdict"] != "accept")
    check_end(info, reader)
    if isinstance(reader["chunks"], list):
        assert info["chunks"] == len(reader["chunks"])
    start = layout["json_offset"]
    whole = container.read_bytes()
    header = whole[start : start + layout["header_len"]]
    assert (mounted / "header.json").read_bytes() == header
    assert (mounted / ".ctxfs" / "container").read_bytes() == whole
    if isinstance(reader["chunks"], list):
        check_payloads(whole, reader["chunks"], layout["chunk_prefix"])


def check_payloads(whole: bytes, chunks: list, prefix: int) -> None:
    """Where the chunks are, of those that are there."""
    for chunk in chunks:
        if "sha256_stored" in chunk:
            begin = chunk["payload_offset"]
            assert begin - chunk["prefix_offset"] == prefix
            payload = whole[begin : begin + chunk["size"]]
            assert len(payload) == chunk["size"]
            assert sha256(payload) == chunk["sha256_stored"]


def check_columns(mounted, reader: dict) -> None:
    root = os.fsencode(mounted.root)
    columnar = reader["layout"]["format_type"] == "columnar"
    index = json.loads((mounted / ".ctxfs" / "index.json").read_text())
    assert len(index) == len(reader["columns"])
    decoded, bad = [], set()
    for shown, answer in zip(index, reader["columns"]):
        path = os.path.join(root, shown_path(shown))
        check_described(path, shown, answer, columnar)
        decoded.append(check_column(root, path, answer))
        if isinstance(reader["chunks"], list):
            bad |= check_chunks(root, path, answer, reader["chunks"])
    if isinstance(reader["chunks"], list):
        assert sorted(bad) == reader.get("bad_chunks", [])
        for chunk in reader["chunks"]:
            assert chunk["ok"] is (chunk["index"] not in bad)
        assert reader["verdict"] in (("partial", "either") if bad else
                                     ("accept", "either"))
    complete = sum("sha256_decoded" in answer for answer in reader["columns"])
    arrays = [path for path in (mounted / "views/npy").rglob("*") if path.is_file()]
    assert len(arrays) >= complete
    check_sections(root, reader.get("sections", []), reader["columns"], decoded)


@pytest.mark.parametrize("answer_file", ANSWERS, ids=lambda p: p.stem)
def test_golden(answer_file, mount, refused):
    answer = json.loads(answer_file.read_text())
    reader = answer["reader"]
    container = answer_file.parent / answer["file"]
    assert container.stat().st_size == answer["size"]
    assert sha256(container.read_bytes()) == answer["sha256"]
    refusable = reader["verdict"] == "either" and "columns" not in reader
    if reader["verdict"] == "reject" or refusable:
        code, text = refused(container)
        assert code == expected_exit(reader, container)
        assert container.name in text
        assert "byte " in text
        return
    mounted = mount(container)
    check_info(mounted, container, reader)
    check_columns(mounted, reader)


def three_chunks(rows: int, dimension: int, bad: int) -> tuple[bytes, numpy.ndarray]:
    """A v1 file of three chunks of halves, of which one has a wrong checksum,
    and its values."""
    values = numpy.arange(3 * rows * dimension, dtype="<f2").reshape(-1, dimension)
    header = json.dumps({
        "num_vectors": 3 * rows, "dimension": dimension, "compression": "fp16",
        "chunks": [{"rows": rows, "compression": "fp16"}] * 3,
    }).encode()
    made = b"CVCF" + struct.pack("<HHI", 1, 0, len(header)) + header
    for i, part in enumerate(numpy.split(values, 3)):
        payload = part.tobytes()
        wrong = 1 if i == bad else 0
        made += struct.pack("<II", len(payload), zlib.crc32(payload) ^ wrong) + payload
    return made, values.astype("<f4")


def is_eio(descriptor: int, size: int, at: int) -> bool:
    try:
        os.pread(descriptor, size, at)
    except OSError as error:
        return error.errno == errno.EIO
    return False


def check_exactly(path, start: int, stop: int, expected: bytes) -> None:
    """Exactly the bytes from start to stop of a file are unreadable, alone and
    with others, and no read is short."""
    with open(path, "rb") as file:
        descriptor = file.fileno()
        assert os.fstat(descriptor).st_size == len(expected)
        assert os.pread(descriptor, start, 0) == expected[:start]
        assert os.pread(descriptor, len(expected), stop) == expected[stop:]
        for at in (start - 1, stop, 0, len(expected) - 1):
            assert os.pread(descriptor, 1, at) == expected[at : at + 1]
        for at in (start, stop - 1, (start + stop) // 2):
            assert is_eio(descriptor, 1, at)
        assert is_eio(descriptor, 2, start - 1)
        assert is_eio(descriptor, 2, stop - 1)
        assert is_eio(descriptor, len(expected), 0)


@pytest.mark.parametrize("rows", (3, 700), ids=("a_page", "many_pages"))
def test_exactly_the_bad_bytes_are_lost(rows, mount, tmp_path):
    """Of the column, and of views made of it, also where sound rows share a
    page with bad ones."""
    container = tmp_path / "damaged.cvc"
    made, values = three_chunks(rows, 6, bad=1)
    container.write_bytes(made)
    mounted = mount(container)
    data = values.tobytes()
    start, stop = len(data) // 3, 2 * len(data) // 3
    column = mounted / "columns" / "vectors"
    check_exactly(column, start, stop, data)
    check_exactly(column, start, stop, data)
    views = mounted / "views"
    npy = io.BytesIO()
    numpy.save(npy, values)
    head = len(npy.getvalue()) - len(data)
    check_exactly(views / "npy" / "vectors.npy", head + start, head + stop,
                  npy.getvalue())
    prefixed = numpy.empty((3 * rows, 7), "<f4")
    prefixed[:, 1:] = values
    prefixed[:, :1].view("<i4")[:] = 6
    # The prefix of the first bad row is readable, and so are sound rows.
    vecs = prefixed.tobytes()
    with open(views / "fvecs" / "vectors.fvecs", "rb") as file:
        third = len(vecs) // 3
        assert os.pread(file.fileno(), third, 0) == vecs[:third]
        assert os.pread(file.fileno(), third, 2 * third) == vecs[2 * third :]
        assert is_eio(file.fileno(), 24, third + 4)
    # Before and after the values is what was computed.
    for name in ("vectors.safetensors", "table.arrow"):
        path = views / name
        size = path.stat().st_size
        with open(path, "rb") as file:
            whole = [os.pread(file.fileno(), 8, at) if not is_eio(
                file.fileno(), 8, at) else None for at in range(0, size, 8)]
        bad = [i for i, part in enumerate(whole) if part is None]
        assert len(bad) == (stop - start) // 8
        assert bad == list(range(bad[0], bad[0] + len(bad)))
        assert b"".join(whole[bad[0] - start // 8 : bad[0]]) == data[:start]


def test_a_damaged_column_can_be_mapped(mount, tmp_path):
    """Shared and private; its sound pages."""
    container = tmp_path / "damaged.cvc"
    made, values = three_chunks(4096, 1, bad=1)
    container.write_bytes(made)
    column = mount(container) / "columns" / "vectors"
    for _ in range(2):
        with open(column, "rb") as file:
            for kind in (mmap.MAP_SHARED, mmap.MAP_PRIVATE):
                with mmap.mmap(file.fileno(), 0, flags=kind, prot=mmap.PROT_READ) as whole:
                    assert whole[:16384] == values[:4096].tobytes()
                    assert whole[32768:] == values[8192:].tobytes()


def test_a_cut_file_keeps_its_views(mount, tmp_path):
    container = tmp_path / "cut.cvc"
    made, values = three_chunks(5, 6, bad=-1)
    container.write_bytes(made[:-1])
    mounted = mount(container)
    assert {"npy", "fvecs", "table.arrow", "vectors.safetensors"} <= set(
        os.listdir(mounted / "views"))
    npy = io.BytesIO()
    numpy.save(npy, values)
    with open(mounted / "views" / "npy" / "vectors.npy", "rb") as file:
        sound = len(npy.getvalue()) - 120
        assert os.pread(file.fileno(), sound, 0) == npy.getvalue()[:sound]
        assert is_eio(file.fileno(), sound + 1, 0)
        assert is_eio(file.fileno(), 1, sound)


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
    assert len(os.listdir(mounted / ".ctxfs/raw/chunks")) == 100_000
    last = mounted / ".ctxfs/raw/chunks" / "99999" / "vectors"
    assert last.read_bytes() == struct.pack("<2e", 1.5, -2)
