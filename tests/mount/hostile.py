# SPDX-License-Identifier: Apache-2.0
"""Small files that take much to be opened: the most that we know of each format. Each
function returns a name and the bytes."""

import bz2
import gzip
import io
import json
import lzma
import struct
import subprocess
import tarfile
import zipfile

import shard
from protobuf import field


def zipped(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method, compresslevel=6) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return out.getvalue()


# PyTorch: pickles that say much in few bytes, stored as torch does.

def checkpoint(pickle: bytes, method: int = zipfile.ZIP_STORED) -> bytes:
    return zipped(("archive/data.pkl", b"\x80\x02" + pickle), ("archive/version", b"3\n"),
                  method=method)


def text(value: bytes) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value


def torch_nones():
    return "nones.pt", checkpoint(b"](" + b"N" * 6_000_000 + b"e.")


def torch_lists():
    return "lists.pt", checkpoint(b"](" + b"]" * 6_000_000 + b"e.")


def torch_compressed():
    return "inflated.pt", checkpoint(b"](" + b"]" * 15_000_000 + b"e.", zipfile.ZIP_DEFLATED)


def torch_texts():
    return "texts.pt", checkpoint(b"](" + text(b"a" * 1000) * 60_000 + b"e.")


def torch_entries():
    return "entries.pt", checkpoint(b"}(" + (text(b"k") + b"N") * 1_500_000 + b"u.")


def torch_calls():
    return "calls.pt", checkpoint(b"cos\nsystem\n" + b")R" * 1_200_000 + b".")


def torch_marks():
    return "marks.pt", checkpoint(b"(" * 6_000_000 + b".")


def torch_globals():
    names = b"".join(b"cm%d\nn%d\n" % (i, i) for i in range(300_000))
    return "globals.pt", checkpoint(b"](" + names + b"e.")


def torch_names():
    """The names of torch_globals as texts, which import nothing."""
    names = b"".join(text(b"m%d" % i) + text(b"n%d" % i) for i in range(300_000))
    return "names.pt", checkpoint(b"](" + names + b"e.")


def torch_keys():
    keys = b"".join(b"J" + struct.pack("<i", i) + b"N" for i in range(450_000))
    return "keys.pt", checkpoint(b"}(" + keys + b"u.")


def torch_bytes():
    return "bytes.pt", checkpoint(b"B" + struct.pack("<I", 20_000_000) + bytes(20_000_000) + b".")


# ONNX: messages of protobuf.

def model(graph: bytes) -> bytes:
    return field(1, 8) + field(2, b"p") + field(7, graph) + field(8, field(2, 17))


def onnx_dims():
    tensor = field(1, b"\1" * 15_000_000) + field(2, 2) + field(8, b"a") + field(9, b"x")
    return "dims.onnx", model(field(5, tensor))


def onnx_operators():
    return "operators.onnx", model(b"".join(
        field(1, field(4, b"op%d" % i)) for i in range(200_000)))


def onnx_tensors():
    return "tensors.onnx", model(b"".join(
        field(5, field(2, 6) + field(8, b"s%d" % i) + field(1, 1) + field(5, 7))
        for i in range(150_000)))


def onnx_strings():
    tensor = field(2, 8) + field(8, b"s") + field(1, 2_000_000) + field(6, b"\1") * 2_000_000
    return "strings.onnx", model(field(5, tensor))


def onnx_sparse():
    """Sparse tensors of two bytes each, between which no field is read."""
    return "sparse.onnx", model(field(15, b"") * 490_000)


def onnx_prefixes():
    """A node with a long name, before which each tensor of its subgraph has a path."""
    subgraph = field(6, field(5, b"") * 4000)
    return "prefixes.onnx", model(field(1, field(3, b"n" * 65_536) + field(5, subgraph)))


# safetensors and GGUF.

def safetensors(header: bytes, data: bytes = b"") -> bytes:
    return struct.pack("<Q", len(header)) + header + data


def safetensors_tensors():
    header = json.dumps({f"t{i}": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}
                         for i in range(150_000)})
    return "tensors.safetensors", safetensors(header.encode())


def safetensors_metadata():
    header = json.dumps({"__metadata__": {f"k{i}": "\1" * 20 for i in range(150_000)}})
    return "metadata.safetensors", safetensors(header.encode())


def safetensors_dims():
    header = b'{"a":{"dtype":"U8","shape":[' + b"1," * 5_000_000 + b'4],"data_offsets":[0,4]}}'
    return "dims.safetensors", safetensors(header, b"abcd")


def counted(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def gguf(pairs: list[bytes], tensors: list[bytes] = ()) -> bytes:
    return (b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs)) + b"".join(pairs)
            + b"".join(tensors) + bytes(64))


def gguf_pairs():
    return "pairs.gguf", gguf([counted(b"k%d" % i) + struct.pack("<I", 0) + b"x"
                               for i in range(300_000)])


def gguf_tensors():
    one = struct.pack("<IQIQ", 1, 4, 0, 0)
    return "tensors.gguf", gguf([], [counted(b"t%d" % i) + one for i in range(200_000)])


def gguf_tokens():
    tokens = struct.pack("<IQ", 8, 300_000) + counted(b"\1" * 40) * 300_000
    model_pair = counted(b"tokenizer.ggml.model") + struct.pack("<I", 8) + counted(b"gpt2")
    return "tokens.gguf", gguf(
        [model_pair, counted(b"tokenizer.ggml.tokens") + struct.pack("<I", 9) + tokens])


# Archives.

def zip_members():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for i in range(60_000):
            archive.writestr(zipfile.ZipInfo(f"{i}"), b"")
    return "members.zip", out.getvalue()


def zip_methods():
    """One warning for each method."""
    data = bytearray(zip_members()[1])
    at = struct.unpack("<I", data[-6:-2])[0]  # the directory
    for method in range(1000, 61_000):
        struct.pack_into("<H", data, at + 10, method)
        at += 46 + struct.unpack_from("<H", data, at + 28)[0]
    return "methods.zip", bytes(data)


def tar_links():
    """Hard links to a symbolic link, each of which has its target of a megabyte."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for i in range(200):
            link = tarfile.TarInfo(f"{i}")
            link.type = tarfile.SYMTYPE if i == 0 else tarfile.LNKTYPE
            link.linkname = "a" * 1_000_000 if i == 0 else "0"
            archive.addfile(link)
    return "links.tar", out.getvalue()


def tar_members():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for i in range(20_000):
            archive.addfile(tarfile.TarInfo(f"{i}"))
    return "members.tar", out.getvalue()


# Shards, whose entries are containers again, and their profiles.

def shard_entries():
    return "entries.shard", shard.build([shard.entry(f"{i}", b"") for i in range(200_000)])


def shard_of_models():
    """Sixteen times 15,000,000 dimensions in 9 KB, as they are found nested."""
    data = onnx_dims()[1]
    stored = subprocess.run(["zstd", "-3", "-q", "-c"], input=data, check=True,
                            stdout=subprocess.PIPE).stdout
    return "models.shard", shard.build(
        [shard.entry(f"d{i}.onnx", data, flags=3, stored=stored) for i in range(16)])


def shard_metadata():
    deep = json.dumps([{} for _ in range(3_000_000)]).encode()
    return "metadata.shard", shard.build([shard.entry("a", b"a")], metadata=deep)


def column_shard():
    schema = json.dumps({"columns": [{"name": f"c{i}", "type": "i64"} for i in range(100_000)]})
    return "columns.cshard", shard.build([shard.entry("schema", schema.encode())], role=8)


# Files that are compressed as a whole.

def small_tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a"))
    return out.getvalue()


def packed_members():
    return "members.tar.gz", gzip.compress(small_tar()) + gzip.compress(b"") * 200_000


def packed_frames():
    return "frames.tar.zst", zstandard(small_tar()) + b"\x50\x2a\x4d\x18\0\0\0\0" * 500_000


def packed_dictionary():
    return "dictionary.tar.xz", lzma.compress(small_tar(), preset=9)


def packed_zeros():
    return "zeros.tar.bz2", bz2.compress(small_tar() + bytes(40_000_000))


def zstandard(data: bytes) -> bytes:
    return subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout


FILES = [
    torch_nones, torch_lists, torch_compressed, torch_texts, torch_entries, torch_calls,
    torch_marks, torch_globals, onnx_dims, onnx_operators, onnx_tensors, onnx_strings,
    onnx_sparse, onnx_prefixes,
    safetensors_tensors, safetensors_metadata, safetensors_dims, gguf_pairs, gguf_tensors,
    gguf_tokens, zip_members, tar_members, shard_entries, shard_of_models, shard_metadata,
    column_shard, torch_keys, torch_bytes, zip_methods, tar_links,
    packed_members, packed_frames, packed_dictionary, packed_zeros,
]
