# SPDX-License-Identifier: Apache-2.0
"""Writes large ColumnShards (docs/formats/columnshard.md), by the format page."""

import json
import struct
import subprocess

import numpy as np

import shard
from protobuf import varint

BOOL, INT32, INT64, FLOAT32, FLOAT64, STRING = 1, 4, 5, 11, 12, 13
PLAIN, DICTIONARY, RUNS = 0, 1, 2


def _plain(coding: int, values: np.ndarray) -> bytes:
    return struct.pack("<BI", coding, len(values)) + values.tobytes()


def _runs(rows: int, length: int) -> bytes:
    runs = b"".join(varint(min(length, rows - at)) + bytes([at // length % 2])
                    for at in range(0, rows, length))
    return struct.pack("<BI", RUNS, rows) + b"\1" + runs


def _strings(texts: list[bytes]) -> bytes:
    """A plain chunk of texts."""
    return struct.pack("<BI", PLAIN, len(texts)) + b"".join(
        struct.pack("<I", len(text)) + text for text in texts)


def _dictionary(words: list[bytes], indices: np.ndarray) -> bytes:
    return (struct.pack("<BII", DICTIONARY, len(indices), len(words))
            + b"".join(struct.pack("<I", len(word)) + word for word in words)
            + indices.astype("<u1").tobytes())


def _chunks(rows: int, first: int, chance: np.random.Generator) -> dict[str, tuple[int, int, bytes]]:
    """Twelve columns of some rows: type, coding and chunk of each."""
    number = np.arange(first, first + rows)
    chunks = {
        "id": (INT64, PLAIN, _plain(PLAIN, number.astype("<i8"))),
        "seconds": (INT64, PLAIN, _plain(PLAIN, (number * 1000 + 7).astype("<i8"))),
        "count": (INT32, PLAIN, _plain(PLAIN, chance.integers(0, 1000, rows).astype("<i4"))),
        "flag": (BOOL, RUNS, _runs(rows, 97)),
        "text": (STRING, PLAIN, _strings([b"row %d" % n for n in number])),
        "word": (STRING, DICTIONARY, _dictionary(
            [b"alpha", b'say "b"', b"gamma, delta", b""], number % 4)),
    }
    for i in range(3):
        values = chance.standard_normal(rows)
        chunks[f"d{i}"] = (FLOAT64, PLAIN, _plain(PLAIN, values.astype("<f8")))
        chunks[f"f{i}"] = (FLOAT32, PLAIN, _plain(PLAIN, values.astype("<f4")))
    return chunks


def schema(rows: int, groups: int, columns: list[dict]) -> shard.Entry:
    """The entry that describes a table of row groups of `rows` rows each."""
    text = json.dumps({"row_count": rows * groups, "row_group_count": groups,
                       "columns": columns})
    return shard.entry("__schema__", text.encode())


def write(path, rows: int = 1_000_000, groups: int = 10, compressed: bool = True) -> None:
    """A table of `rows` rows and 12 columns in row groups, with zstd or raw."""
    chance = np.random.default_rng(1)
    part = rows // groups
    entries, columns = [], {}
    for group in range(groups):
        for name, (number, coding, chunk) in _chunks(part, group * part, chance).items():
            columns[name] = (number, coding)
            how = {}
            if compressed:
                stored = subprocess.run(["zstd", "-1", "-q", "-c"], input=chunk,
                                        capture_output=True, check=True).stdout
                how = {"stored": stored, "flags": 3}
            entries.append(shard.entry(f"{group}:{name}", chunk, **how))
    described = [
        {"name": name, "type": number, "nullable": False, "encoding": coding,
         "stats": [{"count": part, "null_count": 0}] * groups}
        for name, (number, coding) in columns.items()
    ]
    entries.insert(0, schema(part, groups, described))
    path.write_bytes(shard.build(entries, role=8))
