# SPDX-License-Identifier: Apache-2.0
"""Every container of golden/safetensors, through a real mount, as its JSON says."""

import json

import pytest

from conftest import GOLDEN
from tensor_golden import (
    check_golden,
    check_salvage,
    check_tensors,
    sha256,
    warnings_of,
)

ANSWERS = sorted(GOLDEN.glob("safetensors/*.json"))
assert ANSWERS, "no golden containers"


def check(mounted, answer: dict) -> None:
    check_tensors(mounted, answer)
    header = (mounted / ".ctxfs" / "raw" / "header.json").read_bytes()
    if "header_sha256" in answer:
        assert len(header) == answer["header_bytes"]
        assert sha256(header) == answer["header_sha256"]
    metadata = mounted / "metadata.json"
    assert metadata.exists() == (answer["metadata"] is not None)
    if answer["metadata"] is not None:
        assert json.loads(metadata.read_text()) == answer["metadata"]
    if answer.get("warnings"):
        assert len(warnings_of(mounted)) >= len(answer["warnings"])
    else:
        assert warnings_of(mounted) == []


@pytest.mark.parametrize("answer_file", ANSWERS, ids=lambda p: p.stem)
def test_golden(answer_file, mount, refused):
    check_golden(mount, refused, answer_file, ".safetensors", "safetensors", check)


@pytest.mark.parametrize("answer_file", ANSWERS, ids=lambda p: p.stem)
def test_salvage(answer_file, mount, refused):
    check_salvage(mount, refused, answer_file, ".safetensors", check)


def test_sharded_model_as_one(mount):
    """views/model.safetensors and views/hf of an index."""
    source = GOLDEN / "safetensors" / "sharded" / "model.safetensors.index.json"
    answer = json.loads((GOLDEN / "safetensors" / "sharded.json").read_text())
    mounted = mount(source)
    data = (mounted / "views" / "model.safetensors").read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    assert header.pop("__metadata__")["format"] == "pt"
    assert set(header) == set(answer["arrays"])
    for name, entry in header.items():
        begin, end = (8 + length + at for at in entry["data_offsets"])
        assert sha256(data[begin:end]) == answer["arrays"][name]["sha256"]
    hf = mounted / "views" / "hf"
    config = (source.parent / "config.json").read_bytes()
    assert (hf / "config.json").read_bytes() == config
    assert (hf / "model.safetensors").read_bytes() == data
