# SPDX-License-Identifier: Apache-2.0
"""Small files that take much to be opened or measured, as hostile.py has them: MCF, CVC,
MEM8, MegaContext, archives, and TFRecord. What is a directory has a dict of its files."""

import io
import json
import struct
import tarfile
import zipfile

import shard
from hostile_profiles import zstd
from protobuf import field

# MCF: sections.

def mcf(sections: list[tuple[int, bytes]]) -> bytes:
    body, records, at = bytearray(), bytearray(), 40
    for kind, data in sections:
        records += struct.pack("<IIQQ", kind, 1, at + len(body), len(data))
        body += data + bytes(-len(data) % 8)
    size = at + len(body) + len(records)
    return struct.pack("<IHHIIQQQ", 0x0046434D, 1, 0, 40, len(sections), at + len(body),
                       size, 0) + body + records


def mcf_tensors(tensors: list[tuple[bytes, int, int, int]], dims: list[int]) -> bytes:
    """`tensors`: name, dtype, first of `dims` and their number; all without bytes."""
    names, entries = bytearray(), bytearray()
    for name, dtype, first, rank in tensors:
        entries += struct.pack("<IIIIIIQQ", len(names), len(name), dtype, rank, first, 0, 40, 0)
        names += name
    at = 48 + len(entries)
    return struct.pack("<IIIIQQQQ", 1, 0, len(tensors), len(dims), 48, at,
                       at + 8 * len(dims), len(names)) + entries + struct.pack(
                           f"<{len(dims)}Q", *dims) + names


def mcf_pairs():
    count = 400_000
    head = struct.pack("<II", 1, 0) + bytes(72) + struct.pack("<Q", 88)
    head = head[:72] + struct.pack("<IIQ", count, 0, 88)
    texts_at = 88 + 24 * count
    pairs, texts = [], []
    for i in range(count):
        pairs.append(struct.pack("<QIIQ", texts_at + 10 * i, 3, 0, 0))
        texts.append(struct.pack("<I", 6) + b"%06d" % i)
    return "pairs.mcf", mcf([(1, head + b"".join(pairs) + b"".join(texts))])


def mcf_many_tensors():
    tensors = [(b"%x" % i, 1, 0, 0) for i in range(200_000)]
    return "tensors.mcf", mcf([(3, mcf_tensors(tensors, [])), (4, b"")])


def mcf_shared_dims():
    """Tensors that share their 16,000 dims: sixteen million in all."""
    tensors = [(b"%x" % i, 1, 0, 16_000) for i in range(999)]
    return "dims.mcf", mcf([(3, mcf_tensors(tensors, [0] * 16_000)), (4, b"")])


def mcf_quantised():
    record = struct.pack("<IBBHHHIff", 0, 0x20, 0, 32, 0, 0, 0, 0, 0)
    return "quantised.mcf", mcf([(2, struct.pack("<II", 1, 600_000) + record * 600_000)])


# CVC: a header of JSON.

def cvc(header: str) -> bytes:
    return b"CVCF" + struct.pack("<HHI", 1, 0, len(header)) + header.encode()


def cvc_chunks():
    chunks = ",".join(['{"rows":0}'] * 900_000)
    return "chunks.cvc", cvc('{"num_vectors":0,"dimension":1,"compression":"none",'
                             f'"chunks":[{chunks}]}}')


def cvc_pieces():
    columns = ",".join(f'{{"name":"{i:x}","dimension":1,"dtype":"int8","compression":"none"}}'
                       for i in range(4000))
    pieces = ",".join(f'"{i:x}":1' for i in range(4000))
    chunks = ",".join([f'{{"rows":0,"columns":{{{pieces}}}}}'] * 600)
    return "pieces.cvc", cvc(f'{{"format_type":"columnar","num_vectors":0,"columns":[{columns}],'
                             f'"chunks":[{chunks}]}}')


def cvc_columns():
    columns = ",".join(f'{{"name":"{i}","dimension":1,"dtype":"x","compression":"y"}}'
                       for i in range(65_000))
    return "columns.cvc", cvc(f'{{"format_type":"columnar","num_vectors":0,"chunks":[],'
                              f'"columns":[{columns}]}}')


def cvc_sections():
    sections = ",".join(f'{{"start_index":0,"end_index":0,"metadata":{{"a":{i}}}}}'
                        for i in range(99_000))
    return "sections.cvc", cvc('{"num_vectors":0,"dimension":1,"compression":"none","chunks":[],'
                               f'"sections":[{sections}]}}')


# MEM8.

def mem8(body: bytes, packed: bool = True) -> bytes:
    head = b"MEM8" + struct.pack("<HHII", 0x0100, 1 if packed else 0, 0, 0)
    return head + (zstd(body) if packed else body)


def mem8_zeros():
    return "zeros.mem8", mem8(bytes(64 << 20)[16:])


def mem8_concepts():
    """Sections of 255 concepts each, which share one string."""
    text = b"x" * 8
    strings = struct.pack("<HH", 1, len(text)) + struct.pack("<H", len(text)) + text
    concepts = b"\xff" + bytes(5 * 255)
    section = b"\x02" + struct.pack("<H", len(concepts)) + concepts
    return "concepts.mem8", mem8(strings + section * 4000)


def mem8_sections():
    section = b"\x05" + struct.pack("<H", 0)
    return "sections.mem8", mem8(bytes(4) + section * 4096, packed=False)


def mem8_members():
    """An archive whose members have paths of 900 bytes and no bytes. In a mirror it would be
    a file, as it is a frame of zstd: a Shard's entry is examined for what is in its frame."""
    count = 60_000
    table = b"".join(struct.pack("<H", 900) + b"%0900d" % i + bytes(8) for i in range(count))
    plain = b"M8AR" + struct.pack("<HHII", 0x0100, count, 0, 0) + bytes(16) + table
    return "members.shard", shard.build(
        [shard.entry("members.m8a", plain, flags=3, stored=zstd(plain))])


# MegaContext.

def level(entries: int) -> bytes:
    return (b"TCCM" + struct.pack("<HHHHHQ", 1, 0, 1, 1, 0, entries)).ljust(64, b"\0")


def megacontext_tree():
    """A block for each token, and metadata of many values. A directory."""
    metadata = json.dumps({"levels": {f"LOD{i}": {} for i in range(90_000)}})
    return "tree", {"LOD0.ctx": level(500_000) + bytes(2_000_000),
                    "metadata.json": metadata.encode()}


# Archives.

def npy(header: bytes) -> bytes:
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header


def npz_arrays():
    out = io.BytesIO()
    array = npy(b"{'descr':'|u1','fortran_order':False,'shape':(0,)}\n")
    with zipfile.ZipFile(out, "w") as archive:
        for i in range(40_000):
            archive.writestr(zipfile.ZipInfo(f"{i}.npy"), array)
    return "arrays.npz", out.getvalue()


def npz_header():
    header = b"{'descr':[" + b"('a','|u1')," * 80_000 + b"],'fortran_order':False,'shape':(0,)}"
    member = b"\x93NUMPY\2\0" + struct.pack("<I", len(header)) + header
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(200):
            archive.writestr(f"{i}.npy", member)
    return "header.npz", out.getvalue()


def tar_of(names: list[str]) -> bytes:
    """Empty members; made by hand, as tarfile takes seconds for so many."""
    member = bytearray(tarfile.TarInfo("x").tobuf(tarfile.USTAR_FORMAT))
    blocks = []
    for name in names:
        member[0:100] = name.encode().ljust(100, b"\0")
        member[148:156] = b" " * 8
        member[148:156] = b"%06o\0 " % sum(member)
        blocks.append(bytes(member))
    return b"".join(blocks) + bytes(1024)


def tar_samples():
    names = [f"{i}.{end}" for i in range(20_000) for end in ("jpg", "cls", "json")]
    return "samples.tar", tar_of(names)


def tar_in_zip():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(4):
            archive.writestr(f"{i}.tar", tar_of([f"{i}/{k}" for k in range(60_000)]))
    return "nested.zip", out.getvalue()


def tar_pax():
    """A member behind sixteen extended headers of a megabyte, again and again."""
    out = io.BytesIO()
    record = b"1000000 comment=" + b"x" * (1_000_000 - 17) + b"\n"
    head = tarfile.TarInfo("pax")
    head.type, head.size = tarfile.XHDTYPE, len(record)
    one = head.tobuf(tarfile.USTAR_FORMAT) + record + bytes(-len(record) % 512)
    for _ in range(15):
        out.write(one)
    out.write(tar_of(["a"]))
    return "pax.tar", out.getvalue()


# TFRecord: records of tf.train.Example and SequenceExample.

def record(data: bytes) -> bytes:
    def masked(covered: bytes) -> bytes:
        crc = shard.crc32c(covered)
        return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)

    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def feature(key: bytes, value: bytes) -> bytes:
    return field(1, field(1, key) + field(2, value))


def tfrecord_keys():
    one = field(3, field(1, b"\1"))
    return "keys.tfrecord", record(field(1, b"".join(feature(b"%d" % i, one)
                                                     for i in range(100_000))))


def tfrecord_values():
    return "values.tfrecord", record(field(1, feature(b"k", field(1, b"\x0a\0" * 1_000_000))))


def tfrecord_steps():
    """Feature lists of many steps: without a kind, and of one number each."""
    step = field(1, field(3, field(1, b"\1")))
    lists = feature(b"a", b"\x0a\0" * 1_000_000) + feature(b"b", step * 200_000)
    return "steps.tfrecord", record(field(2, lists))


def tfrecord_lists():
    """A list of numbers in a million messages."""
    return "lists.tfrecord", record(field(1, feature(b"v", field(3, b"\x08\1") * 1_000_000)))


def tfrecord_records():
    return "records.tfrecord", record(b"") * 500_000 + record(field(1, feature(b"k", b"")))


FILES = [
    mcf_pairs, mcf_many_tensors, mcf_shared_dims, mcf_quantised, cvc_chunks, cvc_pieces,
    cvc_columns, cvc_sections, mem8_zeros, mem8_concepts, mem8_sections, mem8_members,
    megacontext_tree, npz_arrays, npz_header, tar_samples, tar_in_zip, tar_pax,
    tfrecord_keys, tfrecord_values, tfrecord_steps, tfrecord_lists, tfrecord_records,
]
