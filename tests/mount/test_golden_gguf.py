# SPDX-License-Identifier: Apache-2.0
"""Every container of golden/gguf, through a real mount, as its JSON says."""

import hashlib
import json
import os
import random

import pytest

from conftest import GOLDEN
from golden_json import exact
from tensor_golden import (
    check_golden,
    check_info,
    check_salvage,
    check_tensors,
    check_unreadable,
    check_warnings,
    path_of,
    read,
    sha256,
)

ANSWERS = [p for p in sorted(GOLDEN.glob("gguf/*.json")) if p.stem != "grids"]
assert ANSWERS, "no golden containers"
PLAIN = {"f32", "f16", "bf16", "f64", "i8", "i16", "i32", "i64"}
# What the warning of a key says.
PHRASES = {
    "alignment": "general.alignment is not",
    "big-endian-quant": "in a big-endian file is undefined",
    "dims": "dimension",
    "key-duplicate": "occurred before",
    "key-empty": "has an empty key",
    "misaligned": "is misaligned",
    "name-duplicate": "has the name of",
    "not-packed": "not packed",
    "overflow": "an overflow",
    "overlap": "overlap other tensors",
    "row": "not a multiple of the block",
    "split-bad": "cannot be read",
    "split-mismatch": "does not match",
    "split-missing": "is missing",
    "split-tensors-count": "split.tensors.count is",
    "trailing-bytes": "trailing bytes",
    "truncated": "runs past the end",
    "unknown-type": "of an unknown type",
}


def same_types(shown, expected) -> bool:
    """Whether values are of the same types, all the way down: 1.0 is not 1."""
    if isinstance(expected, list):
        return all(map(same_types, shown, expected))
    return type(shown) is type(expected)


def check_metadata(mounted, answer: dict) -> None:
    shown = json.loads((mounted / "metadata.json").read_text())
    assert list(shown) == list(answer["metadata"])
    for key, wanted in answer["metadata"].items():
        pair = shown[key]
        assert pair["type"] == wanted["type"]
        assert pair.get("items") == wanted.get("items")
        assert pair.get("key_hex") == wanted.get("key_hex")
        if "value" in wanted:
            assert exact(pair["value"]) == exact(wanted["value"])
            assert same_types(pair["value"], wanted["value"])
            continue
        assert len(pair["value"]) == wanted["count"]
        assert exact(pair["value"][:3]) == exact(wanted["first"])
        assert exact(pair["value"][-3:]) == exact(wanted["last"])
        text = json.dumps(pair["value"], separators=(",", ":"))
        assert hashlib.sha256(text.encode()).hexdigest() == wanted["value_sha256"]


def check_values(mounted, answer: dict) -> None:
    chance = random.Random(7)
    for key, array in answer["arrays"].items():
        if array.get("dtype") in PLAIN:
            continue
        path = path_of(mounted, "views/dequantized", array)
        assert os.path.exists(path) == ("f32_sha256" in array), key
        if "f32_sha256" not in array:
            continue
        data = read(path)
        assert sha256(data) == array["f32_sha256"], key
        assert os.getxattr(path, "user.ctxfs.dtype") == b"f32"
        shown = {name.rpartition(".")[2] for name in os.listxattr(path)}
        assert not shown & {"codec", "stored_size", "offset", "checksum"}
        with open(path, "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            for _ in range(5):
                at = chance.randrange(len(data))
                length = chance.randrange(1, len(data) + 1)
                window = os.pread(file.fileno(), length, at)
                assert window == data[at : at + length]


def check(mounted, answer: dict, kind: str) -> None:
    check_info(mounted, answer, kind, "version", "endian", "alignment", "data_offset")
    check_tensors(mounted, answer)
    check_metadata(mounted, answer)
    check_values(mounted, answer)
    check_warnings(mounted, answer, PHRASES)


@pytest.mark.parametrize("answer_file", ANSWERS, ids=lambda p: p.stem)
def test_golden(answer_file, mount, refused):
    check_golden(mount, refused, answer_file, ".gguf", check)


@pytest.mark.parametrize(
    "answer_file", [p for p in ANSWERS if p.stem != "split_cut"], ids=lambda p: p.stem)
def test_salvage(answer_file, mount, refused):
    check_salvage(mount, refused, answer_file, ".gguf", check)


def test_salvage_of_a_part(mount):
    """The part that is cut opens, which it does not without the option."""
    answer = json.loads((GOLDEN / "gguf" / "split_cut.json").read_text())
    mounted = mount(GOLDEN / "gguf" / answer["source"], "salvage")
    index = json.loads((mounted / ".ctxfs" / "index.json").read_text())
    assert [entry["name"] for entry in index] == [*answer["order"], "blk.4.w"]
    for array in answer["arrays"].values():
        assert sha256(read(path_of(mounted, "tensors", array))) == array["sha256"]
    check_unreadable(os.fsencode(mounted / "tensors/blk.4.w"))


def test_model_safetensors(mount):
    """All arrays in one file: quantised ones as F32, metadata as text."""
    answer = json.loads((GOLDEN / "gguf" / "q6_k.json").read_text())
    mounted = mount(GOLDEN / "gguf" / "q6_k.gguf")
    data = (mounted / "views" / "model.safetensors").read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__")
    assert metadata["general.architecture"] == "llama"
    text = (mounted / "metadata.json").read_text()
    assert metadata["metadata.json"] == text
    assert set(header) == set(answer["arrays"])
    for name, entry in header.items():
        assert entry["dtype"] == "F32"
        begin, end = (8 + length + at for at in entry["data_offsets"])
        assert sha256(data[begin:end]) == answer["arrays"][name]["f32_sha256"]
