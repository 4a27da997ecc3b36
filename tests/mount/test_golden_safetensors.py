# SPDX-License-Identifier: Apache-2.0
"""Every container of golden/safetensors, through a real mount, as its JSON says."""

import json

import pytest

from conftest import GOLDEN
from golden_json import exact
from tensor_golden import (
    check_golden,
    check_info,
    check_salvage,
    check_tensors,
    check_warnings,
    sha256,
)

ANSWERS = sorted(GOLDEN.glob("safetensors/*.json"))
assert ANSWERS, "no golden containers"
# What the warning of a key says.
PHRASES = {
    "begin-end": "end before they begin",
    "bits": "are not whole bytes",
    "duplicate": "has the name of tensor",
    "entry": "the entry of ",
    "hole": "leaves a hole",
    "index-bad-file": "cannot be read",
    "index-missing-file": "is missing",
    "index-missing-tensor": "has no tensor",
    "index-outside": "is outside the folder",
    "index-unlisted": "is not in the index",
    "metadata": "__metadata__",
    "overflow": "an overflow",
    "overlap": "overlaps the tensor before it",
    "size": "bytes that its type and shape need",
    "trailing": "trailing bytes",
    "truncated": "run past the end of the data",
    "unknown-dtype": "has the unknown dtype",
}


def check(mounted, answer: dict, kind: str) -> None:
    one_file = kind == "safetensors"
    check_info(mounted, answer, kind, *(["data_offset"] if one_file else []))
    check_tensors(mounted, answer)
    check_warnings(mounted, answer, PHRASES)
    header = (mounted / ".ctxfs" / "raw" / "header.json").read_bytes()
    if one_file:
        assert len(header) == answer["header_bytes"]
        assert sha256(header) == answer["header_sha256"]
    metadata = mounted / "metadata.json"
    assert metadata.exists() == (answer["metadata"] is not None)
    if answer["metadata"] is not None:
        assert exact(json.loads(metadata.read_text())) == exact(answer["metadata"])


@pytest.mark.parametrize("answer_file", ANSWERS, ids=lambda p: p.stem)
def test_golden(answer_file, mount, refused):
    check_golden(mount, refused, answer_file, ".safetensors", check)


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
