# SPDX-License-Identifier: Apache-2.0
"""MCAP recordings: what is decoded when, and what a damaged chunk takes with it."""

import json
import os
import struct
import zlib

import pytest

from conftest import BIN, GOLDEN, error_of, run

MAGIC = b"\x89MCAP0\r\n"


def record(opcode: int, content: bytes) -> bytes:
    return bytes([opcode]) + struct.pack("<Q", len(content)) + content


def text(words) -> bytes:
    data = words if isinstance(words, bytes) else words.encode()
    return struct.pack("<I", len(data)) + data


def channel(number: int, topic: str, encoding: str = "json") -> bytes:
    return record(4, struct.pack("<HH", number, 0) + text(topic) + text(encoding) + text(b""))


def message(number: int, time: int, data: bytes) -> bytes:
    return record(5, struct.pack("<HIQQ", number, time, time, time) + data)


def chunk(records: bytes, wrong: int = 0) -> bytes:
    crc = zlib.crc32(records) ^ wrong
    return record(6, struct.pack("<QQQI", 0, 0, len(records), crc) + text("")
                  + struct.pack("<Q", len(records)) + records)


class File:
    """A recording of chunks of one channel, with a summary that is complete."""

    def __init__(self, topic="/t"):
        self.data = MAGIC + record(1, text("") + text("")) + channel(1, topic, "cbor")
        self.topic = topic
        self.indexes, self.messages = [], 0

    def add(self, times: range, size: int, wrong: int = 0, claim: int | None = None) -> None:
        records = b"".join(message(1, time, bytes([time % 256]) * size) for time in times)
        one = chunk(records, wrong)
        count = len(times) if claim is None else claim
        index = record(7, struct.pack("<H", 1) + text(bytes(16 * count)))
        at, behind = len(self.data), len(self.data) + len(one)
        self.data += one + index
        self.indexes.append({"at": at, "length": len(one), "place": behind,
                             "behind": len(index), "size": len(records)})
        self.messages += count

    def whole(self) -> bytes:
        data = self.data + record(15, bytes(4))
        statistics = struct.pack("<QHIIIIQQ", self.messages, 0, 1, 0, 0, len(self.indexes), 0, 0)
        summary = channel(1, self.topic, "cbor") + record(11, statistics + text(b""))
        for one in self.indexes:
            summary += record(8, struct.pack("<QQQQ", 0, 0, one["at"], one["length"])
                              + text(struct.pack("<HQ", 1, one["place"]))
                              + struct.pack("<Q", one["behind"]) + text("")
                              + struct.pack("<QQ", one["size"], one["size"]))
        footer = b"\x02" + struct.pack("<QQQ", 20, len(data), 0)
        return data + summary + footer + struct.pack("<I", zlib.crc32(summary + footer)) + MAGIC


def test_a_listing_decodes_nothing_and_a_stat_one_chunk(mount, tmp_path):
    made = File()
    for first in range(0, 40, 10):
        made.add(range(first, first + 10), 1000)
    (tmp_path / "a.mcap").write_bytes(made.whole())
    mounted = mount(tmp_path / "a.mcap")
    folder = mounted.root / "topics" / "t" / "messages"
    assert os.listdir(folder) == [f"{number:06}.cbor" for number in range(40)]
    assert (mounted.root / "topics" / "t" / "log_time").stat().st_size == 320
    assert mounted.stats()["decoded_bytes_total"] == 0
    one = 10 * (9 + 22 + 1000)
    assert {(folder / f"{number:06}.cbor").stat().st_size for number in range(10)} == {1000}
    assert mounted.stats()["decoded_bytes_total"] == one
    for number in range(10):
        assert (folder / f"{number:06}.cbor").read_bytes() == bytes([number]) * 1000
    assert mounted.stats()["decoded_bytes_total"] == one, "a chunk is decoded once"
    assert not (folder / "000040.cbor").exists()


@pytest.mark.parametrize("wrong", ({"wrong": 1}, {"claim": 601}), ids=("checksum", "index"))
def test_a_bad_chunk_takes_its_messages_alone(mount, tmp_path, wrong):
    made = File()
    for number in range(3):
        made.add(range(600 * number, 600 * number + 600), 8, **wrong if number == 1 else {})
    (tmp_path / "a.mcap").write_bytes(made.whole())
    root = mount(tmp_path / "a.mcap").root / "topics" / "t"
    middle = 601 if "claim" in wrong else 600
    file = os.open(root / "log_time", os.O_RDONLY)
    try:
        for begin, end in ((0, 600), (600 + middle, 1200 + middle)):
            part = os.pread(file, 8 * (end - begin), 8 * begin)
            first = 0 if begin == 0 else 1200
            assert part == struct.pack("<600Q", *range(first, first + 600))
        for at in (600 * 8, (600 + middle) * 8 - 1):
            assert error_of(os.pread, file, 1, at)
    finally:
        os.close(file)
    assert (root / "messages" / "000599.cbor").read_bytes() == bytes([599 % 256]) * 8
    assert error_of((root / "messages" / "000600.cbor").read_bytes)
    last = f"{600 + middle:06}.cbor"
    assert (root / "messages" / last).read_bytes() == bytes([1200 % 256]) * 8


def swap_message_indexes(made: File) -> None:
    first, second = made.indexes
    first["place"], second["place"] = second["place"], first["place"]


LIES = {
    "messages": lambda made: setattr(made, "messages", 2**63),
    "message indexes of each other": swap_message_indexes,
    "one chunk twice": lambda made: made.indexes[1].update(made.indexes[0]),
    "a chunk less": lambda made: made.indexes.pop(),
    "at the last byte": lambda made: made.indexes[0].update(at=2**64 - 1),
    "as long as all": lambda made: made.indexes[0].update(length=2**64 - 9),
    "as much behind": lambda made: made.indexes[0].update(behind=2**64 - 1),
    "into the summary": lambda made: made.indexes[1].update(behind=2**20),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_summary_that_lies_is_not_used(tmp_path, lie):
    made = File()
    for first in (0, 10):
        made.add(range(first, first + 10), 8)
    LIES[lie](made)
    (tmp_path / "a.mcap").write_bytes(made.whole())
    done = run(BIN / "ctxfs", "cat", f"{tmp_path}/a.mcap//.ctxfs/info.json")
    info = json.loads(done.stdout)
    assert (info["walked"], info["messages"]) == (True, 20)
    assert lie == "a chunk less" or "walked: the summary is not used" in str(info["warnings"])
    done = run(BIN / "ctxfs", "cat", f"{tmp_path}/a.mcap//topics/t/log_time")
    assert done.stdout == struct.pack("<20Q", *range(20))


def test_the_checksum_of_the_data_is_checked(tmp_path):
    data = bytearray((GOLDEN / "mcap" / "not_chunked_crc.mcap").read_bytes())
    at = data.index(b'{"i"')
    data[at + 6] ^= 1
    (tmp_path / "a.mcap").write_bytes(data)
    done = run(BIN / "ctxfs", "check", tmp_path / "a.mcap")
    assert done.returncode == 1 and b"data_crc: " in done.stdout + done.stderr


def test_pictures_have_the_extension_of_their_bytes(mount):
    mounted = mount(GOLDEN / "mcap" / "foxglove_png.mcap")
    folder = mounted.root / "views" / "pictures" / "cam"
    assert os.listdir(folder) == [f"{number:06}.png" for number in range(3)]
    assert (folder / "000000.png").read_bytes().startswith(b"\x89PNG")
