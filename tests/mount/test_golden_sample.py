# SPDX-License-Identifier: Apache-2.0
"""Every SampleShard of golden/shard-profiles through a real mount."""

import errno
import hashlib
import json
import os

import pytest

from conftest import GOLDEN
from shard import build, entry

ANSWERS = sorted(GOLDEN.glob("shard-profiles/*.smpl.json"))
assert ANSWERS, "no golden containers"


@pytest.mark.parametrize("answer_file", ANSWERS, ids=lambda p: p.stem)
def test_golden(answer_file, mount):
    answer = json.loads(answer_file.read_text())
    container = answer_file.with_suffix("")
    assert hashlib.sha256(container.read_bytes()).hexdigest() == answer["sha256"]
    mounted = mount(container)
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    assert info["role_name"] == "SampleShard"

    index = json.loads((mounted / ".ctxfs" / "index.json").read_text())
    assert [e["name"] for e in index] == [e["name"] for e in answer["entries"]]
    for shown, entry in zip(index, answer["entries"]):
        path = mounted / shown["path"]
        data = path.read_bytes()
        assert hashlib.sha256(data).hexdigest() == entry["payload_sha256"]
        assert os.getxattr(path, "user.ctxfs.verified") == b"yes"
        kind = "crc32c" if entry["crc32c_ok"] else "crc32"
        checksum = os.getxattr(path, "user.ctxfs.checksum").decode()
        assert checksum == f"{kind}:{entry['checksum']}"
        if not entry["crc32c_ok"]:
            assert b"CRC-32 (IEEE)" in os.getxattr(path, "user.ctxfs.note")

    shown = 0
    for sample in answer["samples"]:
        if "value" not in sample:
            continue  # the reference cannot read it
        path = mounted / "views" / "json" / (sample["entry"] + ".json")
        assert json.loads(path.read_text()) == sample["value"]
        assert os.stat(path).st_size == len(path.read_bytes())
        shown += 1
    lines = (mounted / "views" / "samples.jsonl").read_text().splitlines()
    values = [json.loads(line) for line in lines]
    in_order = [s["value"] for s in answer["samples"] if "value" in s]
    assert values[: len(in_order)] == in_order or not shown

    metadata = answer["metadata_section"] or {}
    data_set = mounted / ".ctxfs" / "dataset.json"
    assert data_set.exists() == ("sample_shard" in metadata)
    if data_set.exists():
        assert json.loads(data_set.read_text()) == metadata["sample_shard"]


def test_the_first_writers_checksums(mount):
    mounted = mount(GOLDEN / "shard-profiles" / "legacy_crc32_hash.smpl")
    lines = (mounted / "views" / "samples.jsonl").read_text().splitlines()
    assert len(lines) == 5
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    assert any("CRC-32 (IEEE)" in warning for warning in info["warnings"])
    assert json.loads((mounted / "views" / "json" / "2~2.json").read_text())


def test_what_reading_finds_cuts_no_json_off(mount):
    """info.json grows after its size was asked for; index.json stays as it is."""
    mounted = mount(GOLDEN / "shard-profiles" / "legacy_crc32_hash.smpl")
    about = mounted / ".ctxfs"
    size = (about / "info.json").stat().st_size
    index = (about / "index.json").read_bytes()
    (mounted / "views" / "samples.jsonl").read_bytes()
    text = (about / "info.json").read_text()
    assert len(text) > size, "a warning was added"
    assert json.loads(text)["warnings"]
    assert (about / "index.json").stat().st_size == len(index)
    with open(about / "index.json", "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        assert file.read() == index


def test_samples_by_any_name(mount):
    mounted = mount(GOLDEN / "shard-profiles" / "legacy_json.smpl")
    names = {
        os.path.relpath(os.path.join(folder, file), mounted / "views" / "json")
        for folder, _, files in os.walk(mounted / "views" / "json")
        for file in files
    }
    assert names == {"1.json", "2.json", "3.json", "007.json", "sample/000007.json"}
    assert json.loads((mounted / "views" / "json" / "007.json").read_text()) == "leading zeros"


def test_stored_json_is_passed_through(mount):
    mounted = mount(GOLDEN / "shard-profiles" / "legacy_json.smpl")
    lines = (mounted / "views" / "samples.jsonl").read_bytes().splitlines()
    for name in ("1", "2", "3"):
        stored = (mounted / name).read_bytes()
        assert (mounted / "views" / "json" / f"{name}.json").read_bytes() == stored
        assert stored in lines


def test_what_a_parser_would_change(mount, tmp_path):
    """Digits, keys and escapes stay; what cannot be shown is a line of its own."""
    stored = [
        b'{"n": 123456789012345678901234567890, "b": 1, "a": 1, "a": 2}',
        b"[1e400, 0.1, -0]", b'"\\ud800"', b'{\n "x": [1,\n  2]\n}\n', b"[1, 2", b"7",
    ]
    container = tmp_path / "odd.smpl"
    entries = [entry(str(i), data) for i, data in enumerate(stored)]
    container.write_bytes(build(entries, role=2))
    mounted = mount(container)
    for i, data in enumerate(stored):
        path = mounted / "views" / "json" / f"{i}.json"
        if i == 4:
            with pytest.raises(OSError):
                path.read_bytes()
        else:
            assert path.read_bytes() == data
    lines = (mounted / "views" / "samples.jsonl").read_bytes().split(b"\n")
    assert lines[:4] == stored[:3] + [b'{ "x": [1,  2]}']
    error = json.loads(lines[4])
    assert error["entry"] == "4" and error["$error"]
    assert lines[5:] == [b"7", b""]


def test_a_damaged_sample_fails_alone(mount, tmp_path):
    source = GOLDEN / "shard-profiles" / "golden_inputs.smpl"
    answer = json.loads((GOLDEN / "shard-profiles/golden_inputs.smpl.json").read_text())
    data = bytearray(source.read_bytes())
    data[answer["entries"][0]["data_offset"]] ^= 1
    damaged = tmp_path / "damaged.smpl"
    damaged.write_bytes(data)
    mounted = mount(damaged)
    name = answer["entries"][0]["name"]
    for path in (mounted / name, mounted / "views" / "json" / f"{name}.json"):
        with pytest.raises(OSError) as failed:
            path.read_bytes()
        assert failed.value.errno == errno.EIO
    other = answer["entries"][1]["name"]
    assert (mounted / "views" / "json" / f"{other}.json").read_bytes()
    assert len(os.listdir(mounted / "views" / "json")) == len(answer["entries"])
    lines = (mounted / "views" / "samples.jsonl").read_text().splitlines()
    assert len(lines) == len(answer["samples"])
    values = [json.loads(line) for line in lines]
    bad = [v for v in values if isinstance(v, dict) and "$error" in v]
    assert [v["entry"] for v in bad] == [name]
