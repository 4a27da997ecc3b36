# SPDX-License-Identifier: Apache-2.0
"""Writes small Shard v2 containers, and reads headers and records of any, by the
format page and not by our reader."""

import ctypes
import dataclasses
import functools
import struct
import subprocess

TABLE = []
for _byte in range(256):
    _crc = _byte
    for _ in range(8):
        _crc = _crc >> 1 ^ (0x82F63B78 if _crc & 1 else 0)
    TABLE.append(_crc)


@functools.cache
def _isal():
    """ISA-L, for what would take seconds here; None where it is not."""
    try:
        function = ctypes.CDLL("libisal.so.2").crc32_iscsi
    except (OSError, AttributeError):
        return None
    function.restype = ctypes.c_uint32
    function.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_uint32]
    return function


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    if len(data) > 1 << 16 and _isal():
        return _isal()(data, len(data), crc) ^ 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


@dataclasses.dataclass
class Entry:
    """An entry stored raw, unless `stored`, `flags` and `checksum` differ."""

    name: bytes
    data: bytes
    flags: int = 0
    stored: bytes | None = None
    checksum: int | None = None
    content_type: int = 0

    def payload(self) -> bytes:
        return self.data if self.stored is None else self.stored

    def crc(self) -> int:
        return crc32c(self.data) if self.checksum is None else self.checksum


def entry(name: str | bytes, data: bytes, **fields) -> Entry:
    return Entry(name.encode() if isinstance(name, str) else name, data, **fields)


def zstd_entry(name: str | bytes, data: bytes, *options: str, **fields) -> Entry:
    """One that the program compresses, with checksum unless `options` say otherwise."""
    done = subprocess.run(["zstd", "-q", "-c", *options], input=data, capture_output=True,
                          check=True)
    return entry(name, data, flags=3, stored=done.stdout, **fields)


def build(entries: list[Entry], role: int = 1, metadata: bytes = b"") -> bytes:
    """A packed container with checksums; role 1 is ModelShard."""
    names = b"".join(e.name for e in entries)
    strings_at = 64 + 48 * len(entries)
    data_at = strings_at + len(names)
    index, data, name_at = bytearray(), bytearray(), 0
    for e in entries:
        stored = e.payload()
        index += struct.pack(
            "<QIHHQQQIHH", 0, name_at, len(e.name), e.flags, data_at + len(data),
            len(stored), len(e.data), e.crc(), e.content_type, 0,
        )
        name_at += len(e.name)
        data += stored
    schema_at = data_at + len(data) if metadata else 0
    total = data_at + len(data) + len(metadata)
    header = struct.pack(
        "<4sBBHBBHIQQQQ16x", b"SHRD", 2, role, 0x00A2, 0, 0, 48, len(entries),
        strings_at, data_at, schema_at, total,
    )
    return header + index + names + data + metadata


HEADER = struct.Struct("<4sBBHBBHIQQQQ")
FIELDS = (
    "magic", "version", "role", "flags", "alignment", "compression_default",
    "index_entry_size", "entry_count", "string_table_offset", "data_section_offset",
    "schema_offset", "total_file_size",
)


def header_of(container: bytes) -> dict:
    """The header as the answers of golden/ have it, without the magic number."""
    header = dict(zip(FIELDS, HEADER.unpack_from(container)))
    del header["magic"]
    return header


RECORD = struct.Struct("<QIHHQQQIHH")


def record_of(container: bytes, entry: int) -> dict:
    """The record of an entry in the index, by the names in the answers of golden/shard."""
    fields = RECORD.unpack_from(container, 64 + 48 * entry)
    return {
        "name_hash": f"{fields[0]:016x}", "flags": fields[3], "data_offset": fields[4],
        "stored_size": fields[5], "original_size": fields[6],
        "crc32c": f"{fields[7]:08x}", "content_type": fields[8], "tag_bits": fields[9],
    }


def name_hash_of(container: bytes, entry: int) -> str:
    return record_of(container, entry)["name_hash"]
