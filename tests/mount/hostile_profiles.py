# SPDX-License-Identifier: Apache-2.0
"""Small files that take much to be opened or measured, as hostile.py has them: profiles of
Shard v2, cowrie values and graphs."""

import json
import struct
import subprocess

import shard
from protobuf import varint


def zstd(data: bytes) -> bytes:
    return subprocess.run(["zstd", "-3", "-q", "-c"], input=data, check=True,
                          stdout=subprocess.PIPE).stdout


# Cowrie: values in a frame, packed to almost nothing.

def cowrie(value: bytes, names: list[bytes] = (), packed: bool = True) -> bytes:
    plain = varint(len(names)) + b"".join(varint(len(name)) + name for name in names) + value
    if not packed:
        return b"SJ\x02\x00" + plain
    return b"SJ\x02\x05" + varint(len(plain)) + zstd(plain)


def cowrie_tensor():
    """A tensor of zeros, whose text in Base64 is a third larger."""
    count = 120_000_000
    tensor = b"\x20\x08\x01" + varint(count) + varint(count) + bytes(count)
    return "tensor.cowrie", cowrie(tensor)


def cowrie_nulls():
    return "nulls.cowrie", cowrie(b"\x06" + varint(3_900_000) + bytes(3_900_000))


def cowrie_objects():
    """Objects with the same long name."""
    name = b"n" * 200
    value = b"\x06" + varint(1_200_000) + b"\xd1\x00\x00" * 1_200_000
    return "objects.cowrie", cowrie(value, [name])


def cowrie_bits():
    return "bits.cowrie", cowrie(b"\x24" + varint(3_900_000) + bytes(487_500))


def cowrie_names():
    return "names.cowrie", cowrie(b"\x00", [b""] * 1_000_000)


def cowrie_graph():
    edge = b"\x01a\x01b\x00\x00"
    value = b"\x39" + varint(0) + varint(700_000) + edge * 700_000 + varint(0)
    return "graph.cowrie", cowrie(value)


# Graphs in sections.

def sjgn(sections: list[tuple[int, bytes, bytes]]) -> bytes:
    out = bytearray(b"SJGN\x01\x00" + varint(len(sections)))
    for kind, name, body in sections:
        out += varint(kind) + varint(len(name)) + name + struct.pack("<Q", len(body)) + body
    return bytes(out)


def sjgn_zeros():
    """256 MiB of zeros in a section that is not read."""
    plain = sjgn([(9, b"z", bytes(250_000_000))])
    return "zeros.sjgz", b"SJGZ" + struct.pack("<I", len(plain)) + zstd(plain)


def sjgn_sections():
    body = b"\0" + b"\0" * 3
    return "sections.sjgn", sjgn([(4, b"n%d" % i, body) for i in range(60_000)])


def sjgn_events():
    event = cowrie(b"\xd3\x00\x40\x01\x05\x01i\x02\x40", [b"k", b"id", b"op"], packed=False)
    body = b"SJGS\x01\x00\x00\x00" + (struct.pack("<I", len(event)) + event) * 300_000
    return "events.sjgn", sjgn([(1, b"nodes", body + bytes(4))])


# Profiles of Shard v2.

def compressed(name: str, data: bytes, **fields):
    return shard.entry(name, data, flags=3, stored=zstd(data), **fields)


def wshard_channels():
    channels = json.dumps({"channels": [{"id": f"{i}", "dtype": "f32", "shape": [1, 1, 1]}
                                        for i in range(230_000)]})
    return "channels.wshard", shard.build([compressed("meta/channels", channels.encode())],
                                          role=5)


def wshard_lanes():
    return "lanes.wshard", shard.build(
        [shard.entry(f"signal/{i}", b"") for i in range(150_000)], role=5)


def chunks_manifest():
    chunks = json.dumps({"chunks": [{"chunk_index": i, "uri": f"../{i}"}
                                    for i in range(300_000)]})
    return "chunks.manifest", shard.build([compressed("meta/manifest", chunks.encode())],
                                          role=4)


def manifest_files():
    listed = json.dumps({"manifest": {"files": [{"uri": f"x/{i}"} for i in range(100_000)]}})
    return "files.umsh", shard.build([shard.entry("a", b"a")], role=4,
                                     metadata=listed.encode())


def deltas():
    tensor = b"\x01\x00\x00\x00" + bytes(4)
    count = 60_000
    described = {f"{i}": {"extra": {"ctxfs": {"delta": {
        "kind": "lora", "base": f"{i + 1}", "a": f"{i + 2}"}}}} for i in range(count)}
    return "deltas.mosh", shard.build(
        [shard.entry(f"{i}", tensor, content_type=1) for i in range(count)],
        metadata=json.dumps({"entry_metadata": described}).encode())


def seals():
    seal = {"scheme": "aes-256-gcm", "kdf": "hkdf-sha256", "salt": "A" * 86 + "==",
            "inner_codec": "none"}
    count = 60_000
    described = {f"{i}": {"extra": {"ctxfs": {"encryption": seal}}} for i in range(count)}
    return "seals.mosh", shard.build(
        [shard.entry(f"{i}", bytes(40)) for i in range(count)],
        metadata=json.dumps({"entry_metadata": described}).encode())


def scales():
    return "scales.mosh", shard.build(
        [shard.entry(f"{i}{end}", b"\x04\x00\x00\x00\x00") for i in range(60_000)
         for end in ("", ".scales")])


def tiles():
    return "tiles.gemm", shard.build(
        [shard.entry(f"{i}/0,0", b"\x01\x02\x00\x00" + bytes(16)) for i in range(65_000)],
        role=3)


def samples():
    return "samples.smpl", shard.build(
        [shard.entry(f"{i}", b"{}", content_type=2) for i in range(120_000)], role=2)


def sample_text():
    """One sample of many values, and one that is a text of 100 MB."""
    values = b"[" + b"{}," * 3_000_000 + b"{}]"
    text = b'"' + b"\\n" * 40_000_000 + b'"'
    return "text.smpl", shard.build(
        [compressed("0", values, content_type=2), compressed("1", text, content_type=2)],
        role=2)


def events():
    return "events.tshard", shard.build(
        [shard.entry(f"event/{i:06}", b"[]", content_type=2) for i in range(120_000)], role=7)


def graph_entries():
    """Graphs that are rendered when they are measured, one after the other."""
    value = cowrie_nulls()[1]
    return "graphs.gshard", shard.build(
        [shard.entry(f"{i}", value, content_type=3) for i in range(16)], role=6)


def column_chunks():
    """Rows that take no bytes: a delta of no bits, 32 million to a chunk."""
    rows = 1 << 25
    chunk = b"\x02" + struct.pack("<I", rows) + struct.pack("<QQB", 0, 0, 0)
    described = [{"name": f"c{i}", "type": 5, "nullable": False,
                  "stats": [{"count": rows}]} for i in range(64)]
    schema = json.dumps({"row_count": rows, "row_group_count": 1, "row_group_size": rows,
                         "columns": described})
    return "rows.cshard", shard.build(
        [shard.entry(f"0:c{i}", chunk) for i in range(64)]
        + [shard.entry("__schema__", schema.encode())], role=8)


def column_texts():
    """Texts of a dictionary of one, and as many rows as a group may have."""
    rows = 1 << 22
    chunk = b"\x01" + struct.pack("<I", rows) + struct.pack("<I", 0) * rows
    schema = json.dumps({"row_count": rows, "row_group_count": 1, "row_group_size": rows,
                         "columns": [{"name": "t", "type": 13, "nullable": False,
                                      "stats": [{"count": rows}]}]})
    return "texts.cshard", shard.build(
        [compressed("0:t", chunk), shard.entry("__schema__", schema.encode())], role=8)


FILES = [
    cowrie_tensor, cowrie_nulls, cowrie_objects, cowrie_bits, cowrie_names, cowrie_graph,
    sjgn_zeros, sjgn_sections, sjgn_events, wshard_channels, wshard_lanes,
    chunks_manifest, manifest_files, deltas, seals, scales, tiles, samples, sample_text,
    events, graph_entries, column_chunks, column_texts,
]
