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


def golden(folder: str, name: str) -> Golden:
    """A container as golden/FOLDER.json has it."""
    answer = json.loads((GOLDEN / (folder + ".json")).read_text())[name]
    made = Golden(GOLDEN / folder / name, {}, [])
    for path, facts in answer["files"].items():
        if "sha256" not in facts:
            continue
        made.files[path] = facts["sha256"]
        told = facts.get("xattrs", {})
        dtype, shape = told.get("dtype"), told.get("shape")
        is_array = dtype in (*NUMPY, "bf16") and shape is not None
        if is_array and (path.startswith("views/tensors/") or not path.startswith("views/")):
            made.arrays.append(Array(path, NUMPY.get(dtype), tuple(shape), facts["sha256"]))
    return made


def mcf(name: str) -> Golden:
    return golden("mcf", name + ".mcf")


def cvc(name: str) -> Golden:
    return golden("cvc", name + ".cvc")


def wshard(name: str) -> Golden:
    return golden("wshard", name + ".wshard")


def column_shard(name: str) -> Golden:
    return golden("shard-profiles", name + ".cshard")


def goldens() -> list[Golden]:
    """One of each kind, more where what is stored differs."""
    return [
        mcf("basic"), mcf("hf_sharded"),
        cvc("v1_fp16"), cvc("v1_lossless"), cvc("v2_columns"),
        cvc("v2_none_all_dtypes"),
        wshard("all_dtypes"), wshard("rgb_lz4"), wshard("rgb_zstd"),
        wshard("rgb_none"),
        golden("shard", "comp_mixed.shard"), golden("shard", "names_unicode.shard"),
        golden("shard-profiles", "llama_micro.mosh"), golden("shard-profiles", "train-000.smpl"),
        column_shard("all_encodings"),
        golden("megacontext", "good_fp16"), golden("megacontext", "good_fp32"),
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
    answer = json.loads((GOLDEN / "shard-profiles" / f"{name}.cshard.json").read_text())
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
