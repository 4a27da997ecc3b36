# SPDX-License-Identifier: Apache-2.0
"""ModelShards, SampleShards and manifests that are made here: names, scales, damage, and
what lies beside them."""

import errno
import json
import os
import shutil
import struct

import pytest

from conftest import GOLDEN, error_of
from shard import build, entry

FOLDER = GOLDEN / "shard-profiles"


def tensor(code: int, dims: list[int], data: bytes) -> bytes:
    return struct.pack(f"<BBH{len(dims)}Q", code, len(dims), 0, *dims) + data


def test_scale_names_and_shapes(mount, tmp_path):
    """The three names, one scale or one a row, and what does not fit."""
    weights = tensor(4, [2, 3], bytes([1, 2, 3, 255, 254, 253]))
    two = tensor(1, [2], struct.pack("<2f", 0.5, 2))
    entries = [
        entry("a", weights), entry("a.scales", two),
        entry("b", weights), entry("b.scale", tensor(1, [], struct.pack("<f", 3))),
        entry("c.weight", weights), entry("c.scales", tensor(2, [2], b"\0\x38\0\x40")),
        entry("d", weights), entry("d.scales", tensor(1, [3], bytes(12))),
        entry("e", weights), entry("e.scales", tensor(7, [2], bytes(16))),
        entry("f", tensor(1, [1], bytes(4))), entry("f.scale", two),
    ]
    (tmp_path / "m.mosh").write_bytes(build(entries))
    mounted = mount(tmp_path / "m.mosh")
    rows = struct.pack("<6f", 0.5, 1, 1.5, -2, -4, -6)
    assert sorted(os.listdir(mounted / "views/dequantized")) == ["a", "b", "c.weight"]
    assert (mounted / "views/dequantized/a").read_bytes() == rows
    assert (mounted / "views/dequantized/c.weight").read_bytes() == rows
    assert (mounted / "views/dequantized/b").read_bytes() == struct.pack(
        "<6f", 3, 6, 9, -3, -6, -9)


def test_entries_keep_their_names_from_ours(mount, tmp_path):
    (tmp_path / "m.mosh").write_bytes(
        build([entry("tensors/x", tensor(1, [1], b"abcd")), entry("model.json", b"mine"),
               entry("__metadata__", b"{}")]))
    mounted = mount(tmp_path / "m.mosh")
    assert (mounted / "views/tensors/tensors/x").read_bytes() == b"abcd"
    assert (mounted / "model.json").read_bytes() == b"mine"
    assert (mounted / ".ctxfs/model.json").read_bytes() == b"{}"
    assert sorted(os.listdir(mounted.root)) == ["__metadata__", "model.json", "tensors"]


def test_a_damaged_entrys_tensor_is_eio(mount, tmp_path):
    good = tensor(1, [2], b"abcdefgh")
    whole = bytearray(build([entry("good", good), entry("x", good)]))
    whole[-1] ^= 1
    (tmp_path / "m.mosh").write_bytes(whole)
    mounted = mount(tmp_path / "m.mosh")
    assert os.stat(mounted / "views/tensors/x").st_size == 8
    assert error_of((mounted / "views/tensors/x").read_bytes) == errno.EIO
    assert (mounted / "views/tensors/good").read_bytes() == b"abcdefgh"


def safetensors_of(path) -> dict:
    """Dtype, shape and bytes of every tensor, by name."""
    data = path.read_bytes()
    at = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:at])
    del header["__metadata__"]
    return {
        name: (t["dtype"], t["shape"], data[at + t["data_offsets"][0] : at + t["data_offsets"][1]])
        for name, t in header.items()
    }


def test_a_model_with_its_files_is_a_directory_for_loaders(mount, tmp_path):
    """views/hf of entries called config.json, tokenizer.json, ..."""
    source = FOLDER / "llama_micro.mosh"
    plain = mount(source)
    assert not (plain / "views" / "hf").exists()
    index = json.loads((plain / ".ctxfs" / "index.json").read_text())
    files = {
        "config.json": b'{"model_type": "llama"}', "tokenizer.json": b"{}",
        "tokenizer_config.json": b'{"a": 1}', "merges.txt": b"a b\n",
    }
    tensors = [
        entry(e["name"], (plain / e["path"]).read_bytes(), content_type=1)
        for e in index if e["name"] != "__metadata__"
    ]
    container = tmp_path / "model.mosh"
    container.write_bytes(build(tensors + [entry(*file) for file in files.items()]))
    mounted = mount(container)
    hf = mounted / "views" / "hf"
    assert set(os.listdir(hf)) == {*files, "model.safetensors"}
    for name, data in files.items():
        assert (hf / name).read_bytes() == data
    weights = safetensors_of(hf / "model.safetensors")
    scales = {e["name"] for e in index if e["name"].endswith((".scales", ".scale"))}
    assert scales
    assert set(weights) == {t.name.decode() for t in tensors} - scales
    for folder in ("views/dequantized", "views/tensors"):
        for name in os.listdir(mounted / folder):
            if name not in weights:
                continue
            dtype, _, data = weights[name]
            if folder == "views/dequantized" or not (mounted / "views/dequantized" / name).exists():
                assert data == (mounted / folder / name).read_bytes()
                assert folder == "views/tensors" or dtype == "F32"

    # The same with a weight that is cut short.
    tensors[0].data = tensors[0].data[:-1]
    container = tmp_path / "cut.mosh"
    container.write_bytes(build(tensors + [entry(*file) for file in files.items()]))
    mounted = mount(container)
    assert not (mounted / "views" / "hf").exists()
    warnings = json.loads((mounted / ".ctxfs" / "info.json").read_text())["warnings"]
    assert any("no views/hf" in text for text in warnings)


@pytest.mark.parametrize("role", [0, 1, 6])
def test_without_tensors_there_is_no_directory_of_them(mount, tmp_path, role):
    """Neither at the top nor below: directories of ours are never empty."""
    (tmp_path / "none").write_bytes(build([entry("a", b"text"), entry("b/c", b"text")], role=role))
    mounted = mount(tmp_path / "none")
    assert not (mounted / "views/tensors").exists()
    assert not (mounted / "tensors").exists()
    (tmp_path / "one").write_bytes(
        build([entry("a/b", b"text"), entry("c/d", tensor(1, [1], b"abcd"))], role=role))
    mounted = mount(tmp_path / "one")
    assert os.listdir(mounted / "views/tensors") == ["c"]
    assert not (mounted / "views/tensors/a").exists()


def test_what_reading_finds_cuts_no_json_off(mount):
    """info.json grows after its size was asked for; index.json stays as it is."""
    mounted = mount(FOLDER / "legacy_crc32_hash.smpl")
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


def test_stored_json_is_passed_through(mount):
    mounted = mount(FOLDER / "legacy_json.smpl")
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
    source = FOLDER / "golden_inputs.smpl"
    answer = json.loads((FOLDER / "golden_inputs.smpl.json").read_text())
    data = bytearray(source.read_bytes())
    data[answer["entries"][0]["data_offset"]] ^= 1
    damaged = tmp_path / "damaged.smpl"
    damaged.write_bytes(data)
    mounted = mount(damaged)
    name = answer["entries"][0]["name"]
    for path in (mounted / name, mounted / "views" / "json" / f"{name}.json"):
        assert error_of(path.read_bytes) == errno.EIO
    other = answer["entries"][1]["name"]
    assert (mounted / "views" / "json" / f"{other}.json").read_bytes()
    assert len(os.listdir(mounted / "views" / "json")) == len(answer["entries"])
    lines = (mounted / "views" / "samples.jsonl").read_text().splitlines()
    assert len(lines) == len(answer["samples"])
    values = [json.loads(line) for line in lines]
    bad = [v for v in values if isinstance(v, dict) and "$error" in v]
    assert [v["entry"] for v in bad] == [name]


def listing(mounted) -> list[dict]:
    return json.loads((mounted / ".ctxfs" / "manifest.json").read_text())


def test_what_is_beside_it(mount, tmp_path):
    answer = json.loads((FOLDER / "dataset.manifest.json").read_text())
    for name in ("dataset.manifest", "train-000.smpl", "train-001.smpl"):
        shutil.copy(FOLDER / name, tmp_path)
    (tmp_path / "bad-hash.smpl").write_bytes(b"plain bytes")
    (tmp_path.parent / "outside.smpl").write_bytes(b"not to be seen")
    mounted = mount(tmp_path / "dataset.manifest")
    shown = listing(mounted)
    for reference, expected in zip(shown, answer["expected"]["files"]):
        assert expected.items() <= reference.items()
    assert len(shown) == len(answer["expected"]["files"])
    assert [r["present"] for r in shown] == [True, True, False, False, False, True]
    assert [r["verified"] for r in shown] == ["no", "no", "no", "none", "none", "no"]
    parts = mounted / "parts"
    assert sorted(os.listdir(parts)) == [
        "bad-hash.smpl", "train-000.smpl", "train-001.smpl",
    ]
    assert (parts / "bad-hash.smpl").read_bytes() == b"plain bytes"
    sample = json.loads((FOLDER / "train-000.smpl.json").read_text())["samples"][7]
    path = parts / "train-000.smpl" / "views" / "json" / "7.json"
    assert json.loads(path.read_text()) == sample["value"]

    verdicts = json.loads((mounted / ".ctxfs" / "sha256.json").read_text())
    words = [v["verified"] for v in verdicts]
    assert words == ["yes", "yes", "absent", "absent", "absent", "failed"]
    after = [r["verified"] for r in listing(mounted)]
    assert after == ["yes", "yes", "no", "none", "none", "failed"]


def test_nothing_there(mount, tmp_path):
    shutil.copy(FOLDER / "model.manifest", tmp_path)
    mounted = mount(tmp_path / "model.manifest")
    assert not (mounted / "parts").exists()
    assert [r["present"] for r in listing(mounted)] == [False, False]


def test_links_do_not_lead_out(mount, tmp_path):
    shutil.copy(FOLDER / "dataset.manifest", tmp_path)
    os.symlink("/etc/passwd", tmp_path / "train-000.smpl")
    mounted = mount(tmp_path / "dataset.manifest")
    assert not (mounted / "parts").exists()


def test_a_manifest_of_itself_ends(mount, tmp_path):
    """Containers within containers are cut at a depth, and so are cycles."""
    shutil.copy(FOLDER / "dataset.manifest", tmp_path / "train-000.smpl")
    mounted = mount(tmp_path / "train-000.smpl")
    depth = 0
    here = mounted.root
    while (here / "parts" / "train-000.smpl").exists():
        here = here / "parts" / "train-000.smpl"
        depth += 1
        assert depth <= 9
    info = json.loads((here / ".ctxfs" / "info.json").read_text())
    assert "end here" in json.dumps(info)
