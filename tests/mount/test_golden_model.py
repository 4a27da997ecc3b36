# SPDX-License-Identifier: Apache-2.0
"""The tensors, graphs and traces of golden/shard-profiles through real mounts."""

import errno
import hashlib
import json
import os
import struct

import pytest

from conftest import GOLDEN
from npy import read_npy, values_of, view_of
from shard import build, entry

ROLES = (0, 1, 3, 6, 7)
ANSWERS = [
    path
    for path in sorted((GOLDEN / "shard-profiles").rglob("*.json"))
    if json.loads(path.read_text()).get("header", {}).get("role") in ROLES
]
assert ANSWERS, "no golden containers"

DTYPES = {
    "float32": "f32", "float16": "f16", "bfloat16": "bf16", "float64": "f64",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def xattr(path, name: str) -> str:
    return os.getxattr(path, "user.ctxfs." + name).decode()


def tensor(code: int, dims: list[int], data: bytes) -> bytes:
    return struct.pack(f"<BBH{len(dims)}Q", code, len(dims), 0, *dims) + data


def check_reference(entry: dict, shown: dict, data: bytes) -> None:
    """What the reference reader says of a tensor: its dtype and its first values."""
    expected = entry["expected"]
    assert expected["name"] == entry["name"]
    assert shown["dtype"] == DTYPES[expected["dtype"]]
    for key in ("dtype_code", "dims", "data_bytes"):
        assert expected[key] == entry["tensor"][key]
    assert expected["data_sha256"] in ("", entry["tensor"]["data_sha256"])
    assert expected.get("data_hex", data.hex()) == data.hex()
    preview = [float(value) for value in expected.get("values_preview", [])]
    values = values_of(data, shown["dtype"])[: len(preview)].tolist()
    assert values == pytest.approx(preview, rel=1e-6)


def check_tensor(mounted, entry: dict, shown: dict, raw: bytes) -> None:
    """The elements of a tensor: a header, these, and bytes that belong to none."""
    path = mounted / "views/tensors" / entry["name"]
    expected = entry["tensor"]
    assert raw[:2] == bytes([expected["dtype_code"], len(expected["dims"])])
    header = 4 + 8 * len(expected["dims"])
    assert len(raw) == header + expected["data_bytes"] + expected["trailing_bytes"]
    assert shown["kind"] == "tensor"
    assert shown["shape"] == expected["dims"]
    assert json.loads(xattr(path, "shape")) == expected["dims"]
    assert xattr(path, "dtype") == shown["dtype"]
    data = path.read_bytes()
    assert len(data) == os.stat(path).st_size
    if data:
        view = view_of(mounted, entry["name"], shown["dtype"])
        assert read_npy(view)[1:] == (expected["dims"], data)
    if expected["data_offset_in_file"] is not None:
        assert int(xattr(path, "offset")) == expected["data_offset_in_file"]
    if entry["name"] == "f64_as_03":  # by the old table of types
        assert xattr(path, "dtype") == "f64"
        assert data == raw[12:]
        # The answer is by the new one, as bf16, and leaves bytes over.
        data = data[: expected["data_bytes"]]
    assert len(data) == expected["data_bytes"]
    assert sha256(data) == expected["data_sha256"]
    if "expected" in entry:
        check_reference(entry, shown, data)


def check_dequantized(mounted, answer: dict) -> None:
    for name, expected in answer.get("dequantized", {}).items():
        path = mounted / "views/dequantized" / name
        data = path.read_bytes()
        assert sha256(data) == expected["f32_le_sha256"]
        assert xattr(path, "dtype") == "f32"
        first = values_of(data, "f32")[: len(expected["first4"])].tolist()
        assert first == pytest.approx(expected["first4"], rel=1e-6)
        assert expected["scales"] in (name + ".scales", name + ".scale")
        assert (mounted / "views/tensors" / expected["scales"]).is_file()
    # The one with scales whose answer does not have them.
    if "role6" not in answer["file"]:
        folder = mounted / "views/dequantized"
        assert folder.exists() == ("dequantized" in answer)
        if folder.exists():
            assert set(os.listdir(folder)) == set(answer["dequantized"])


@pytest.mark.parametrize("answer_file", ANSWERS, ids=lambda p: p.stem)
def test_golden(answer_file, mount):
    answer = json.loads(answer_file.read_text())
    mounted = mount(answer_file.with_suffix(""))
    index = json.loads((mounted / ".ctxfs/index.json").read_text())
    assert [shown["name"] for shown in index] == [e["name"] for e in answer["entries"]]
    for shown, e in zip(index, answer["entries"]):
        raw = (mounted / shown["path"]).read_bytes()
        assert sha256(raw) == e["payload_sha256"]
        if "tensor" in e:
            check_tensor(mounted, e, shown, raw)
            continue
        assert not (mounted / "views/tensors" / e["name"]).is_file()
        assert not (mounted / "views/npy" / (e["name"] + ".npy")).exists()
        assert "dtype" not in shown
    check_dequantized(mounted, answer)
    # A listing shows what a look-up finds, and nothing else.
    for folder, _, files in os.walk(mounted / "views/tensors"):
        for file in files:
            assert os.stat(os.path.join(folder, file))


REASONS = {
    "header": "too short", "dtype": "unknown dtype", "dims": "too short for",
    "overflow": "overflows", "short": "its dimensions require",
}


def test_reasons_stand_in_info_json(mount):
    answer = json.loads((GOLDEN / "shard-profiles/bad_tensors.mosh.json").read_text())
    mounted = mount(GOLDEN / "shard-profiles/bad_tensors.mosh")
    warnings = json.loads((mounted / ".ctxfs/info.json").read_text())["warnings"]
    for e in answer["entries"]:
        said = [w for w in warnings if f"'{e['name']}'" in w]
        assert bool(said) == ("tensor_error" in e) == ("reference_error" in e)
        assert all(REASONS[e["tensor_error"]] in w for w in said)
        assert all(w.startswith(f"byte {e['data_offset']}:") for w in said)


def test_model_json(mount):
    mounted = mount(GOLDEN / "shard-profiles/llama_micro.mosh")
    assert json.loads((mounted / ".ctxfs/model.json").read_text())["architecture"] == "llama"
    assert not (mounted / "views/tensors/__metadata__").exists()


def test_legacy_codes_say_so(mount):
    mounted = mount(GOLDEN / "shard-profiles/synthetic/legacy_dtype_codes.mosh")
    assert "bfloat16" in xattr(mounted / "views/tensors/bf16_as_09", "note")


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
    with pytest.raises(OSError) as failed:
        (mounted / "views/tensors/x").read_bytes()
    assert failed.value.errno == errno.EIO
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
    source = GOLDEN / "shard-profiles" / "llama_micro.mosh"
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
