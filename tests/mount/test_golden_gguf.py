# SPDX-License-Identifier: Apache-2.0
"""Every container of golden/gguf, through a real mount, as its JSON says."""

import hashlib
import json
import os
import random

import pytest

from conftest import GOLDEN
from tensor_golden import (
    check_golden,
    check_salvage,
    check_tensors,
    path_of,
    read,
    sha256,
    warnings_of,
)

ANSWERS = [p for p in sorted(GOLDEN.glob("gguf/*.json")) if p.stem != "grids"]
assert ANSWERS, "no golden containers"
PLAIN = {"f32", "f16", "bf16", "f64", "i8", "i16", "i32", "i64"}


def check_metadata(mounted, answer: dict) -> None:
    shown = json.loads((mounted / "metadata.json").read_text())
    assert list(shown) == list(answer["metadata"])
    for key, wanted in answer["metadata"].items():
        pair = shown[key]
        assert pair["type"] == wanted["type"]
        assert pair.get("items") == wanted.get("items")
        assert pair.get("key_hex") == wanted.get("key_hex")
        if "value" in wanted:
            assert pair["value"] == wanted["value"]
            assert type(pair["value"]) is type(wanted["value"])
            continue
        assert len(pair["value"]) == wanted["count"]
        assert pair["value"][:3] == wanted["first"]
        assert pair["value"][-3:] == wanted["last"]
        text = json.dumps(pair["value"], separators=(",", ":"))
        assert hashlib.sha256(text.encode()).hexdigest() == wanted["value_sha256"]


def check_values(mounted, answer: dict) -> None:
    chance = random.Random(7)
    for key, array in answer["arrays"].items():
        if "path_hex" in array or array.get("dtype") in PLAIN:
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


def check(mounted, answer: dict) -> None:
    check_tensors(mounted, answer)
    check_metadata(mounted, answer)
    check_values(mounted, answer)
    if answer["warnings"]:
        assert len(warnings_of(mounted)) >= len(answer["warnings"])
    else:
        assert warnings_of(mounted) == []


@pytest.mark.parametrize("answer_file", ANSWERS, ids=lambda p: p.stem)
def test_golden(answer_file, mount, refused):
    check_golden(mount, refused, answer_file, ".gguf", "gguf", check)


@pytest.mark.parametrize("answer_file", ANSWERS, ids=lambda p: p.stem)
def test_salvage(answer_file, mount, refused):
    check_salvage(mount, refused, answer_file, ".gguf", check)


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
