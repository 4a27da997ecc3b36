# SPDX-License-Identifier: Apache-2.0
"""Writes models: safetensors, sharded ones, and GGUF in one or several files."""

import json
import pathlib
import struct

import numpy

SAFETENSORS = {"float32": "F32", "float16": "F16", "int32": "I32", "uint16": "BF16"}
# Types of GGUF and of its metadata.
GGUF = {"float32": 0, "float16": 1, "q8_0": 8, "uint16": 30}
UINT16, UINT32, INT32, STRING = 2, 4, 5, 8
ALIGNMENT = 32


def safetensors(path, arrays, metadata=None) -> pathlib.Path:
    """A file of arrays; those of uint16 are bfloat16."""
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, array in arrays.items():
        header[name] = {"dtype": SAFETENSORS[array.dtype.name], "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def shards(folder, arrays, count) -> pathlib.Path:
    """A model of `count` files; returns its index."""
    folder.mkdir(parents=True, exist_ok=True)
    names, weights = list(arrays), {}
    for i in range(count):
        file = f"model-{i + 1:05}-of-{count:05}.safetensors"
        some = names[i::count]
        safetensors(folder / file, {name: arrays[name] for name in some}, {"format": "pt"})
        weights.update(dict.fromkeys(some, file))
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": weights}))
    return index


def quantise(array) -> tuple[str, tuple, bytes]:
    """The blocks of q8_0: a float16 and 32 codes each."""
    blocks = array.astype("f4").reshape(-1, 32)
    scale = (numpy.abs(blocks).max(axis=1) / 127).astype("f2")
    codes = numpy.rint(blocks / numpy.where(scale == 0, 1, scale).astype("f4")[:, None])
    made = numpy.zeros(len(blocks), numpy.dtype([("d", "<f2"), ("q", "i1", 32)]))
    made["d"], made["q"] = scale, codes.astype("i1")
    return "q8_0", array.shape, made.tobytes()


def _text(text) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _pair(key, kind, value) -> bytes:
    form = {UINT16: "<H", UINT32: "<I", INT32: "<i"}
    stored = _text(value) if kind == STRING else struct.pack(form[kind], value)
    return _text(key) + struct.pack("<I", kind) + stored


def gguf(path, tensors, pairs=()) -> pathlib.Path:
    """A file of arrays, or of what quantise makes of them; `pairs` are (key, type, value)."""
    stored = {name: (one.dtype.name, one.shape, one.tobytes())
              if isinstance(one, numpy.ndarray) else one for name, one in tensors.items()}
    head = struct.pack("<IIQQ", 0x46554747, 3, len(stored), len(pairs))
    head += b"".join(_pair(*pair) for pair in pairs)
    data = b""
    for name, (dtype, shape, content) in stored.items():
        data += bytes(-len(data) % ALIGNMENT)
        head += _text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        head += struct.pack("<IQ", GGUF[dtype], len(data))
        data += content
    data += bytes(-len(data) % ALIGNMENT)
    path.write_bytes(head + bytes(-len(head) % ALIGNMENT) + data)
    return path


def gguf_split(folder, tensors, count, pairs=()) -> pathlib.Path:
    """A model of `count` files; returns the first."""
    folder.mkdir(parents=True, exist_ok=True)
    names = list(tensors)
    for i in range(count):
        own = [("split.no", UINT16, i), ("split.count", UINT16, count),
               ("split.tensors.count", INT32, len(names))]
        gguf(folder / f"model-{i + 1:05}-of-{count:05}.gguf",
             {name: tensors[name] for name in names[i::count]},
             [*(pairs if i == 0 else ()), *own])
    return folder / f"model-00001-of-{count:05}.gguf"
