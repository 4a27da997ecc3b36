#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes golden/conventions, or the folder named: what docs/formats/conventions.md describes, with answers.

Needs python3, python3-numpy and python3-cryptography. Everything is fixed, the
keys and nonces too: the same bytes come out each time. Not by our reader.
"""

import base64
import hashlib
import json
import pathlib
import struct
import sys

import numpy
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "mount"))
from shard import build, entry  # noqa: E402

KEY = bytes(range(32))
DTYPES = {"float32": 1, "float16": 2, "int8": 4, "int64": 7, "uint64": 11, "float64": 12}


def tensor(array) -> bytes:
    array = numpy.asarray(array)
    code = DTYPES[array.dtype.name]
    return struct.pack(
        f"<BBH{array.ndim}Q", code, array.ndim, 0, *array.shape) + array.tobytes()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def lz4_block(data: bytes) -> bytes:
    """Literals alone: a valid lz4 block of any bytes."""
    length, extra = len(data), b""
    if length >= 15:
        rest = length - 15
        extra = b"\xff" * (rest // 255) + bytes([rest % 255])
    return bytes([min(length, 15) << 4]) + extra + data


def zstd_raw(data: bytes) -> bytes:
    """One frame with one raw block, of less than 64 KiB."""
    assert 256 <= len(data) < 65536
    header = struct.pack("<IBH", 0xFD2FB528, 0x60, len(data) - 256)
    return header + struct.pack("<I", len(data) << 3 | 1)[:3] + data


def seal(name: str, plain: bytes, inner: str = "none", info: str | None = None,
         aad: str | None = None) -> tuple[bytes, dict]:
    """An entry's payload, and what its metadata says."""
    salt = hashlib.sha256(b"salt:" + name.encode()).digest()[:16]
    derived = (info if info is not None else "shard-entry:" + name).encode()
    key = HKDF(hashes.SHA256(), 32, salt, derived).derive(KEY)
    nonce = hashlib.sha256(b"nonce:" + name.encode()).digest()[:12]
    packed = {"none": bytes, "zstd": zstd_raw, "lz4": lz4_block}[inner](plain)
    payload = nonce + AESGCM(key).encrypt(nonce, packed, (aad or name).encode())
    said = {"scheme": "aes-256-gcm", "kdf": "hkdf-sha256",
            "salt": base64.b64encode(salt).decode(), "inner_codec": inner,
            "inner_size": len(plain)}
    if info is not None:
        said["info"] = info
    return payload, {"encryption": said}


def metadata(objects: dict) -> bytes:
    return json.dumps({"schema_version": "shard-v2.1", "entry_metadata": {
        name: {"extra": {"ctxfs": said}} for name, said in objects.items()}}).encode()


def write(folder: pathlib.Path, name: str, data: bytes, answer: dict) -> None:
    (folder / name).write_bytes(data)
    answer = {"file": name, "sha256": sha256(data), **answer}
    (folder / (name + ".json")).write_text(json.dumps(answer, indent=1) + "\n")


def encrypted(folder: pathlib.Path) -> None:
    big = bytes(i * 7 & 0xFF for i in range(5000))
    weight = tensor(numpy.arange(12, dtype=numpy.float32).reshape(3, 4))
    plain = {"notes": (b"the plain text\n", "none", None),
             "packed/lz4": (big, "lz4", None), "packed/zstd": (big, "zstd", None),
             "own info": (b"x" * 100, "none", "another purpose"),
             "empty": (b"", "none", None), "weight": (weight, "none", None)}
    entries, said, answers = [], {}, []
    for name, (data, inner, info) in plain.items():
        payload, said[name] = seal(name, data, inner, info)
        if name == "weight":
            entries.append(entry(name, payload, content_type=1))
        else:
            entries.append(entry(name, payload))
        answers.append({"name": name, "size": len(data), "sha256": sha256(data)})
    entries.append(entry("open", b"not encrypted"))
    answers.append({"name": "open", "size": 13, "sha256": sha256(b"not encrypted"),
                    "encrypted": False})
    # Each damaged in its own way, with a container checksum that matches.
    payload, said["tag flipped"] = seal("tag flipped", b"never seen")
    entries.append(entry("tag flipped", payload[:-1] + bytes([payload[-1] ^ 1])))
    payload, said["name swapped"] = seal("name swapped", b"never seen", aad="other")
    entries.append(entry("name swapped", payload))
    payload, said["inner size"] = seal("inner size", big, "lz4")
    said["inner size"]["encryption"]["inner_size"] += 1
    entries.append(entry("inner size", payload))
    said["too short"] = seal("too short", b"")[1]
    entries.append(entry("too short", b"27 bytes are not quite one."))
    for name in ("tag flipped", "name swapped", "inner size", "too short"):
        answers.append({"name": name, "error": "EIO"})
    # Not ours to understand: raw, and a warning.
    entries.append(entry("unknown scheme", b"raw"))
    said["unknown scheme"] = {"encryption": {"scheme": "rot13"}}
    answers.append({"name": "unknown scheme", "size": 3, "sha256": sha256(b"raw"),
                    "encrypted": False, "warning": "unknown scheme"})
    write(folder, "encrypted.mosh", build(entries, metadata=metadata(said)),
          {"key": KEY.hex(), "entries": answers,
           "tensors": {"weight": {"dtype": "f32", "shape": [3, 4],
                                  "sha256": sha256(weight[20:])}}})


def deltas(folder: pathlib.Path) -> None:
    rng = numpy.random.default_rng(20)
    base = rng.standard_normal((6, 5)).astype(numpy.float32)
    a = rng.standard_normal((2, 5)).astype(numpy.float32)
    b = rng.standard_normal((6, 2)).astype(numpy.float16)
    rows = rng.standard_normal(6).astype(numpy.float32)
    merged = {
        # In double: what float32 arithmetic in any order comes close to.
        "q.lora_B": base + 8 / 2 * (b.astype(numpy.float64) @ a),
        "q.rows": base.astype(numpy.float64) * rows[:, None],
        "q.factor": base.astype(numpy.float64) * 0.5,
    }
    sparse = base.copy()
    sparse.flat[[0, 7, 29]] = [1, 2, 3]
    merged["q.sparse"] = sparse
    # Merged on merged: halved, then with the positions replaced.
    chained = base * numpy.float32(0.5)
    chained.flat[[0, 7, 29]] = [1, 2, 3]
    merged["q.chained"] = chained
    values = numpy.array([1, 2, 3], dtype=numpy.float32)
    lora = {"kind": "lora", "base": "q.weight", "a": "q.lora_A", "b": "q.lora_B",
            "alpha": 8}
    tensors = {
        "q.weight": base, "q.lora_A": a, "q.lora_B": b, "q.rows": rows,
        "q.factor": numpy.float32(0.5), "q.where": numpy.array([0, 7, 29]),
        "q.sparse": values, "q.chained": values,
        "bad.hash": numpy.float32(2), "bad.shape": numpy.float32([1, 2, 3]),
        "bad.order": values, "bad.where": numpy.array([7, 0, 29]),
        "bad.range": values, "bad.beyond": numpy.array([0, 7, 30]),
        "bad.missing": numpy.float32(2), "bad.kind": numpy.float32(2),
        "cycle.a": numpy.float32(2), "cycle.b": numpy.float32(2),
    }
    payloads = {name: tensor(array) for name, array in tensors.items()}
    hash_of_base = "sha256:" + sha256(payloads["q.weight"])
    says = {
        "q.lora_B": lora,
        "q.rows": {"kind": "scale", "base": "q.weight", "base_hash": hash_of_base},
        "q.factor": {"kind": "scale", "base": "q.weight"},
        "q.sparse": {"kind": "sparse", "base": "q.weight", "indices": "q.where"},
        "q.chained": {"kind": "sparse", "base": "q.factor", "indices": "q.where"},
        "bad.hash": {"kind": "scale", "base": "q.weight",
                     "base_hash": "sha256:" + "00" * 32},
        "bad.shape": {"kind": "scale", "base": "q.weight"},
        "bad.order": {"kind": "sparse", "base": "q.weight", "indices": "bad.where"},
        "bad.range": {"kind": "sparse", "base": "q.weight", "indices": "bad.beyond"},
        "bad.missing": {"kind": "scale", "base": "nobody"},
        "bad.kind": {"kind": "rotate", "base": "q.weight"},
        "cycle.a": {"kind": "scale", "base": "cycle.b"},
        "cycle.b": {"kind": "scale", "base": "cycle.a"},
    }
    # Eight deltas on one another are allowed, nine are not.
    for depth in range(1, 10):
        payloads[f"deep.{depth}"] = tensor(numpy.float32(2))
        says[f"deep.{depth}"] = {
            "kind": "scale", "base": f"deep.{depth - 1}" if depth > 1 else "q.weight"}
        if depth <= 8:
            merged[f"deep.{depth}"] = base.astype(numpy.float64) * 2**depth
    data = build([entry(name, payload, content_type=1)
                  for name, payload in payloads.items()],
                 metadata=metadata({name: {"delta": said} for name, said in says.items()}))
    write(folder, "deltas.mosh", data, {
        "merged": {name: {"shape": [6, 5], "values": array.astype(float).ravel().tolist()}
                   for name, array in merged.items()},
        "eio": ["bad.hash", "bad.order", "bad.range"],
        "missing": ["bad.shape", "bad.missing", "bad.kind", "cycle.a", "cycle.b",
                    "deep.9"]})

    # A base in another file, beside this one or out of bounds.
    payload = tensor(numpy.float32(3))
    beside = {"kind": "scale", "base": "q.weight", "base_file": "deltas.mosh",
              "base_hash": hash_of_base}
    out = {"kind": "scale", "base": "q.weight", "base_file": "../deltas.mosh"}
    absolute = {"kind": "scale", "base": "q.weight", "base_file": "/etc/hostname"}
    gone = {"kind": "scale", "base": "q.weight", "base_file": "gone.mosh"}
    says = {"beside": beside, "outside": out, "absolute": absolute, "gone": gone}
    data = build([entry(name, payload, content_type=1) for name in says],
                 metadata=metadata({name: {"delta": said} for name, said in says.items()}))
    write(folder, "adapter.mosh", data, {
        "merged": {"beside": {"shape": [6, 5], "values":
                              (base.astype(float) * 3).ravel().tolist()}},
        "eio": [], "missing": ["outside", "absolute", "gone"]})


def tiles(folder: pathlib.Path) -> None:
    whole = numpy.arange(5 * 7, dtype=numpy.float32).reshape(5, 7)
    entries = []
    for r, rows in enumerate((slice(0, 2), slice(2, 4), slice(4, 5))):
        for c, columns in enumerate((slice(0, 3), slice(3, 6), slice(6, 7))):
            part = numpy.ascontiguousarray(whole[rows, columns])
            entries.append(entry(f"W/{r},{c}", tensor(part), content_type=1))
            if (r, c) != (1, 1):
                entries.append(entry(f"hole/{r},{c}", tensor(part), content_type=1))
            kind = numpy.float64 if (r, c) == (2, 2) else numpy.float32
            entries.append(
                entry(f"mixed/{r},{c}", tensor(part.astype(kind)), content_type=1))
            odd = part if (r, c) != (0, 1) else part[:, :2].copy()
            entries.append(entry(f"odd/{r},{c}", tensor(odd), content_type=1))
    whole16 = whole.astype(numpy.float16)
    entries.append(entry("deep/name/0,0", tensor(whole16), content_type=1))
    entries.append(entry("notes", b"no tile"))
    write(folder, "tiles.gemm", build(entries, role=3), {
        "matrices": {
            "W": {"dtype": "f32", "shape": [5, 7], "sha256": sha256(whole.tobytes())},
            "deep/name": {"dtype": "f16", "shape": [5, 7],
                          "sha256": sha256(whole16.tobytes())}},
        "missing": ["hole", "mixed", "odd"]})


def traces(folder: pathlib.Path) -> None:
    events = {"seq/000010": {"seq": 10, "b": [1, 2]}, "seq/000002": {"seq": 2},
              "seq/000003": {"text": "two\nlines"}}
    entries = [entry("meta/trace", b'{"model": "toy"}', content_type=2)]
    for name, value in events.items():
        entries.append(entry(name, json.dumps(value, indent=1).encode(), content_type=2))
    write(folder, "json.tshard", build(entries, role=7),
          {"events": [events[name] for name in sorted(events)]})


def main() -> int:
    folder = ROOT / "golden" / "conventions"
    if len(sys.argv) > 1:
        folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    encrypted(folder)
    deltas(folder)
    tiles(folder)
    traces(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
