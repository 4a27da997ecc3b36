# SPDX-License-Identifier: Apache-2.0
"""What is in the golden containers, as their answers have it and in one form.

A Golden names one container of each kind: its files with their SHA-256, and
those of them that are arrays with dtype and shape.
"""

import dataclasses
import json
import pathlib

import numpy

from mounting import GOLDEN

NUMPY = {
    "bool": "|b1", "i8": "|i1", "u8": "|u1", "i16": "<i2", "u16": "<u2",
    "i32": "<i4", "u32": "<u4", "i64": "<i8", "u64": "<u8", "f16": "<f2",
    "f32": "<f4", "f64": "<f8",
}


@dataclasses.dataclass(frozen=True)
class Array:
    path: str
    dtype: str | None  # numpy's; None where numpy has none (bf16)
    shape: tuple[int, ...]
    sha256: str


@dataclasses.dataclass
class Golden:
    container: pathlib.Path
    files: dict[str, str]  # path: SHA-256
    arrays: list[Array]

    @property
    def name(self) -> str:
        return self.container.name


def _load(path: pathlib.Path) -> dict:
    return json.loads(path.read_text())


def mcf(name: str) -> Golden:
    answer = _load(GOLDEN / "mcf" / f"{name}.json")
    made = Golden(GOLDEN / "mcf" / f"{name}.mcf", {}, [])
    for tensor in answer["tensors"]:
        path = "tensors/" + tensor["name"]
        made.files[path] = tensor["raw"]["sha256"]
        dtype = NUMPY.get(tensor["dtype"])
        if dtype or tensor["dtype"] == "bf16":
            made.arrays.append(
                Array(path, dtype, tuple(tensor["shape"]), made.files[path])
            )
    return made


def cvc(name: str) -> Golden:
    answer = _load(GOLDEN / "cvc" / f"{name}.json")
    made = Golden(GOLDEN / "cvc" / f"{name}.cvc", {}, [])
    for column in answer["reader"]["columns"]:
        path = "columns/" + column["name"]
        digest = column["sha256_decoded"]
        made.files[path] = digest
        dtype = numpy.dtype(column["decoded_dtype"]).newbyteorder("<").str
        shape = tuple(column["shape"])
        # As the package gives it, where the answer was written down by another.
        if answer["reader"]["layout"]["format_type"] == "columnar" and shape[1] == 1:
            shape = shape[:1]
        made.arrays.append(Array(path, dtype, shape, digest))
    return made


def wshard(name: str) -> Golden:
    answer = _load(GOLDEN / "wshard" / f"{name}.json")
    made = Golden(GOLDEN / "wshard" / f"{name}.wshard", {}, [])
    for entry in answer["entries"]:
        made.files[entry["name"]] = entry["sha256"]
        if entry.get("dtype") in NUMPY and "shape" in entry:
            made.arrays.append(Array(
                entry["name"], NUMPY[entry["dtype"]], tuple(entry["shape"]),
                entry["sha256"],
            ))
    return made


def shard(name: str) -> Golden:
    answer = _load(GOLDEN / "shard" / f"{name}.shard.json")
    files = {e["name"]: e["decoded_sha256"] for e in answer["entries"]}
    return Golden(GOLDEN / "shard" / f"{name}.shard", files, [])


def model_shard(name: str) -> Golden:
    answer = _load(GOLDEN / "shard-profiles" / f"{name}.mosh.json")
    made = Golden(GOLDEN / "shard-profiles" / f"{name}.mosh", {}, [])
    for entry in answer["entries"]:
        if (tensor := entry.get("expected")) is None:
            continue
        path = "views/tensors/" + entry["name"]
        made.files[path] = tensor["data_sha256"]
        try:
            dtype = numpy.dtype(tensor["dtype"]).newbyteorder("<").str
        except TypeError:
            continue
        made.arrays.append(
            Array(path, dtype, tuple(tensor["dims"]), tensor["data_sha256"])
        )
    return made


def sample_shard(name: str) -> Golden:
    answer = _load(GOLDEN / "shard-profiles" / f"{name}.smpl.json")
    files = {
        e["name"]: e["payload_sha256"]
        for e in answer["entries"] if e["flags"] == 0
    }
    return Golden(GOLDEN / "shard-profiles" / f"{name}.smpl", files, [])


def column_shard(name: str) -> Golden:
    answer = _load(GOLDEN / "shard-profiles" / f"{name}.cshard.json")
    files = {}
    for entry in answer["entries"]:
        group, colon, column = entry["name"].partition(":")
        path = f"row_groups/{group}/{column}" if colon else entry["name"]
        path = f".ctxfs/raw/{path}"
        files[path] = entry["payload_sha256"]
    return Golden(GOLDEN / "shard-profiles" / f"{name}.cshard", files, [])


def megacontext(name: str) -> Golden:
    answer = _load(GOLDEN / "megacontext" / f"{name}.json")
    made = Golden(GOLDEN / "megacontext" / name, {}, [])
    for file, level in answer["levels"].items():
        number = int(file.removeprefix("LOD").removesuffix(".ctx"))
        path = f"LOD{number}/" + ("gists" if number else "tokens")
        digest = level["payload_sha256"]
        made.files[path] = digest
        dtype = {"uint32": "<u4", "fp16": "<f2", "fp32": "<f4"}.get(level["dtype"])
        made.arrays.append(Array(path, dtype, tuple(level["shape"]), digest))
    return made


def goldens() -> list[Golden]:
    """One of each kind, more where what is stored differs."""
    return [
        mcf("basic"), mcf("hf_sharded"),
        cvc("v1_fp16"), cvc("v1_lossless"), cvc("v2_columns"),
        cvc("v2_none_all_dtypes"),
        wshard("all_dtypes"), wshard("rgb_lz4"), wshard("rgb_zstd"),
        wshard("rgb_none"),
        shard("comp_mixed"), shard("names_unicode"),
        model_shard("llama_micro"), sample_shard("train-000"),
        column_shard("all_encodings"),
        megacontext("good_fp16"), megacontext("good_fp32"),
    ]


def of(kind) -> str:
    """For pytest's ids."""
    return kind.name


def view_name(path: str) -> str:
    """An array's path without the directory that says nothing of it."""
    for directory in ("columns/", "views/tensors/", "tensors/"):
        path = path.removeprefix(directory)
    return path


def table(name: str) -> dict[str, list]:
    """A golden ColumnShard's columns as Python values, None for null.

    uuids are hex; halves are numbers of their bits' value; the column whose
    values the reference writer lost is zeros.
    """
    answer = _load(GOLDEN / "shard-profiles" / f"{name}.cshard.json")
    columns = {}
    for column in answer["expected"]["columns"]:
        kind, values = column["type"], column["values"] or []
        if column["name"] == "u32_lost":
            values = ["0"] * len(values)
        columns[column["name"]] = [_value(kind, value) for value in values]
    return columns


def _value(kind: int, value):
    if value is None or kind in (1, 13, 14, 16):
        return value
    if kind == 10:
        return float(numpy.uint16(int(value)).view(numpy.float16))
    if kind == 17:
        return float(numpy.uint32(int(value) << 16).view(numpy.float32))
    if kind == 11:
        return float(numpy.uint32(int(value["f32_bits"], 16)).view(numpy.float32))
    if kind == 12:
        return float(numpy.uint64(int(value["f64_bits"], 16)).view(numpy.float64))
    return int(value)
