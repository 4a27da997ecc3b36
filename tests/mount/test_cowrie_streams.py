# SPDX-License-Identifier: Apache-2.0
"""Streams of cowrie values that were made for a test (docs/formats/cowrie.md, section 7)."""

import errno
import gzip
import json
import os
import struct
import zlib

from conftest import error_of

# {"x": a tensor of two int32}
TENSOR = b"SJ\x02\x00\x01\x01x\xd1\x00\x20\x06\x01\x02\x08" + struct.pack("<2i", 42, -7)
FIVE = b"SJ\x02\x00\x00\x45"


def frame(payload: bytes, flags: int = 2, raw: int = 0, meta: bytes = b"") -> bytes:
    data = struct.pack("<4sBBHIIII", b"SJST", 2, flags, 24, 7, len(payload), raw, len(meta))
    data += meta + payload
    return data + (struct.pack("<I", zlib.crc32(data)) if flags & 2 else b"")


def test_41_2_arrays_of_records(mount, tmp_path):
    packed = gzip.compress(TENSOR)
    (tmp_path / "a.sjst").write_bytes(
        frame(TENSOR) + frame(FIVE) + frame(packed, 0x13, len(TENSOR)))
    mounted = mount(tmp_path / "a.sjst")
    assert os.listdir(mounted / "arrays/000001") == []
    for record in ("000000", "000002"):
        assert os.listdir(mounted / "arrays" / record) == ["x"]
        array = mounted / "arrays" / record / "x"
        assert struct.unpack("<2i", array.read_bytes()) == (42, -7)
        assert os.getxattr(array, "user.ctxfs.dtype") == b"i32"
        assert os.getxattr(array, "user.ctxfs.verified") == b"yes"


def test_41_2_a_fault_is_that_of_its_record(mount, tmp_path):
    bad = bytearray(frame(TENSOR))
    bad[-5] ^= 1
    wrong = frame(gzip.compress(FIVE), 0x13, len(FIVE) + 1)
    (tmp_path / "a.sjst").write_bytes(frame(FIVE) + bytes(bad) + wrong + frame(FIVE))
    mounted = mount(tmp_path / "a.sjst")
    assert len(os.listdir(mounted / "records")) == 4
    for record in ("000001", "000002"):
        assert error_of((mounted / f"records/{record}.json").read_bytes) == errno.EIO
        assert os.listdir(mounted / "arrays" / record) == []
    assert mounted.json("records/000003.json") == 5
    lines = [json.loads(one) for one in
             (mounted / "views/records.jsonl").read_text().splitlines()]
    assert lines[0] == lines[3] == 5 and lines[1]["record"] == 1 and "$error" in lines[2]


def test_41_2_what_is_no_stream_is_refused(refused, tmp_path):
    for data, code in ((frame(FIVE)[:-1], 4), (frame(FIVE) + b"x", 4), (b"SJST\x03" + bytes(40), 5),
                       (b"SJST\x01\x00\x00\x00", 3), (struct.pack("<I", 99) + FIVE, 3),
                       (struct.pack("<I", 6) + FIVE + struct.pack("<I", 7) + FIVE, 4)):
        (tmp_path / "a.sjst").write_bytes(data)
        assert refused(tmp_path / "a.sjst")[0] == code, data
