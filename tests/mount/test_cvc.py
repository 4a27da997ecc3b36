# SPDX-License-Identifier: Apache-2.0
"""Damaged, cut and long CVC files."""

import errno
import io
import json
import mmap
import os
import random
import struct
import zlib

import numpy
import pytest

from conftest import GOLDEN


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
