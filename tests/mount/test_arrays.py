# SPDX-License-Identifier: Apache-2.0
"""MCF, GGUF, safetensors, ONNX, torch and zip: what is made of golden files here, is large, or
is a link, and the files of all tensors."""

import gzip
import hashlib
import json
import os
import pathlib
import random
import shutil
import struct
import zipfile

import pytest

from conftest import GOLDEN, run, status_kib
from protobuf import varint
from test_golden import ANSWERS, Tree, sha256, tensors_of


def answer_of(folder: str, stem: str) -> dict:
    return json.loads((GOLDEN / folder / f"{stem}.json").read_text())


def test_tensors_beyond_4_gib(tmp_path, mount):
    """Offsets are 64 bits wide: a sparse file with a tensor past 2^32."""
    data = (GOLDEN / "mcf" / "q8.mcf").read_bytes()
    answer = answer_of("mcf", "q8")
    tensor = next(t for t in answer["tensors"] if t["dtype"] == "q8")
    index = next(s for s in answer["sections"] if s["type"] == 3)
    far = 5 << 30
    payload = data[tensor["offset"] : tensor["offset"] + tensor["size"]]
    changed = bytearray(data)
    entries = int.from_bytes(data[index["offset"] + 16 :][:8], "little")
    at = index["offset"] + entries + 40 * tensor["index"] + 24
    assert int.from_bytes(changed[at : at + 8], "little") == tensor["offset"]
    changed[at : at + 8] = far.to_bytes(8, "little")
    changed[24:32] = (far + len(payload)).to_bytes(8, "little")
    container = tmp_path / "far.mcf"
    with open(container, "wb") as file:
        file.write(changed)
        file.seek(far)
        file.write(payload)
    mounted = mount(container)
    assert (mounted / "tensors" / tensor["name"]).read_bytes() == payload
    values = (mounted / "views/dequantized" / tensor["name"]).read_bytes()
    assert sha256(values) == tensor["dequant_f32"]["sha256"]
    assert any("outside the TensorData" in text for text in mounted.warnings())


def test_salvage_of_a_longer_file(tmp_path, mount, refused):
    """A wrong file_size refuses the container; salvage makes it a warning."""
    container = tmp_path / "long.mcf"
    container.write_bytes((GOLDEN / "mcf" / "plain.mcf").read_bytes() + b"more")
    code, text = refused(container)
    assert code == 4 and "byte 24" in text
    mounted = mount(container, "salvage")
    answer = answer_of("mcf", "plain")
    raw = (mounted / "tensors" / "w").read_bytes()
    assert sha256(raw) == answer["tensors"][0]["raw"]["sha256"]
    assert any("file_size" in text for text in mounted.warnings())


def with_config(data: bytes, config: bytes) -> bytes:
    """The container with a section config.json, written over its directory."""
    count = int.from_bytes(data[12:16], "little")
    at = int.from_bytes(data[16:24], "little")
    records = data[at : at + 24 * count]
    record = struct.pack("<IIQQ", 0x100, 1, at, len(config))
    body = data[:at] + config + bytes(-len(config) % 8)
    changed = bytearray(body + records + record)
    changed[12:16] = (count + 1).to_bytes(4, "little")
    changed[16:24] = len(body).to_bytes(8, "little")
    changed[24:32] = len(changed).to_bytes(8, "little")
    return bytes(changed)


@pytest.mark.parametrize("stem", ["embed_int4", "embed_f16_int8", "plain"])
def test_a_weight_without_values_withholds_the_model(stem, tmp_path, mount):
    """`mantle pack --quant-embed` throws the scale away: no loader may see codes."""
    data = (GOLDEN / "mcf" / f"{stem}.mcf").read_bytes()
    answer = answer_of("mcf", stem)
    has_config = any(section["type"] == 0x100 for section in answer["sections"])
    container = tmp_path / "model.mcf"
    container.write_bytes(data if has_config else with_config(data, b'{"a": 1}'))
    mounted = mount(container)
    assert (mounted / "config.json").is_file()
    codes = [t for t in answer["tensors"] if t["dtype_code"] in (0x10, 0x11)]
    assert (mounted / "views" / "hf").exists() == (not codes)
    warned = [text for text in mounted.warnings() if "have no values" in text]
    assert len(warned) == bool(codes)
    assert not codes or f"'{codes[0]['name']}'" in warned[0]
    if codes:
        assert not (mounted / "views" / "model.safetensors").exists()
        note = (mounted / "views" / "model.safetensors.incomplete.txt").read_text()
        assert f"{len(codes)} of {len(answer['tensors'])} tensors have no values" in note
        return
    model = (mounted / "views" / "model.safetensors").read_bytes()
    assert set(tensors_of(model)) == {t["name"] for t in answer["tensors"]}


def metadata_of(data: bytes) -> dict:
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]


def test_model_safetensors(mount):
    """All arrays in one file: quantised ones as F32, metadata as text."""
    answer = answer_of("gguf", "q6_k")
    mounted = mount(GOLDEN / "gguf" / "q6_k.gguf")
    data = (mounted / "views" / "model.safetensors").read_bytes()
    assert metadata_of(data)["general.architecture"] == "llama"
    assert metadata_of(data)["metadata.json"] == (mounted / "metadata.json").read_text()
    assert tensors_of(data) == {name: ("F32", array["f32_sha256"])
                                for name, array in answer["arrays"].items()}


def test_sharded_model_as_one(mount):
    """views/model.safetensors and views/hf of an index."""
    source = GOLDEN / "safetensors" / "sharded" / "model.safetensors.index.json"
    answer = answer_of("safetensors", "sharded")
    mounted = mount(source)
    data = (mounted / "views" / "model.safetensors").read_bytes()
    assert metadata_of(data)["format"] == "pt"
    assert {name: digest for name, (_, digest) in tensors_of(data).items()} == {
        name: array["sha256"] for name, array in answer["arrays"].items()}
    hf = mounted / "views" / "hf"
    config = (source.parent / "config.json").read_bytes()
    assert (hf / "config.json").read_bytes() == config
    assert (hf / "model.safetensors").read_bytes() == data


@pytest.mark.parametrize("name", ["model.safetensors", "model.safetensors.gz"])
def test_a_model_in_one_file_is_one_for_from_pretrained(mount, tmp_path, name):
    """views/hf of a file that loaders look for by its name, beside its config.json."""
    data = (GOLDEN / "safetensors" / "llama.safetensors").read_bytes()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    (tmp_path / "tokenizer.json").write_text('{"version": "1.0"}')
    hf = mount(tmp_path / name) / "views" / "hf"
    assert {path.name for path in hf.iterdir()} == {
        "config.json", "tokenizer.json", "model.safetensors"}
    assert (hf / "config.json").read_text() == '{"model_type": "llama"}'
    assert tensors_of((hf / "model.safetensors").read_bytes()) == tensors_of(data)


@pytest.mark.parametrize("name", ["adapter_model.safetensors", "model-00001-of-00002.safetensors"])
def test_a_part_of_a_model_is_none_for_from_pretrained(mount, tmp_path, name):
    shutil.copy(GOLDEN / "safetensors" / "llama.safetensors", tmp_path / name)
    (tmp_path / "config.json").write_text("{}")
    assert not (mount(tmp_path / name) / "views" / "hf").exists()


def test_an_onnx_model_beyond_4_gib(tmp_path, mount):
    """protobuf ends at 2 GiB; lengths have 64 bits here. A sparse file whose
    last initializer is what ftruncate made."""
    size = 5 << 30
    tensor = b"\x08" + varint(size // 4) + b"\x10\x01\x42\x01w\x4a" + varint(size)
    initializer = b"\x2a" + varint(len(tensor) + size) + tensor
    graph = b"\x3a" + varint(len(initializer) + size) + initializer
    container = tmp_path / "large.onnx"
    head = b"\x08\x0a" + graph
    with open(container, "wb") as file:
        file.write(head)
        file.truncate(len(head) + size)
        file.seek(len(head) + size - 4)
        file.write(struct.pack("<f", 2.5))
    mounted = mount(container)
    path = mounted / "tensors" / "w"
    assert path.stat().st_size == size
    with open(path, "rb") as file:
        file.seek(size - 4)
        assert struct.unpack("<f", file.read()) == (2.5,)


def test_external_data_of_a_linked_model(tmp_path, mount):
    """Download caches: the model and its data are links into another directory;
    the data is found by the name beside the link."""
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "main"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    for name, blob in (("external_one.onnx", "1"), ("external_one.data", "2")):
        (blobs / blob).write_bytes((GOLDEN / "onnx" / name).read_bytes())
        (snapshot / name).symlink_to(f"../../blobs/{blob}")
    mounted = mount(snapshot / "external_one.onnx")
    Tree(os.fsencode(mounted.root), ANSWERS["onnx"]["external_one.onnx"]).check()


def test_a_mirror_keeps_the_files(tmp_path, mount):
    """tar and onnx open these files themselves: they stay files in a mirror."""
    for name in ("tar/wds.tar", "onnx/mlp.onnx"):
        data = (GOLDEN / name).read_bytes()
        (tmp_path / name.split("/")[1]).write_bytes(data)
    mounted = mount(tmp_path, "flat")
    for name in ("tar/wds.tar", "onnx/mlp.onnx"):
        shown = mounted / name.split("/")[1]
        assert shown.read_bytes() == (GOLDEN / name).read_bytes()


def test_the_globals_of_a_pickle_are_listed(mount, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mounted = mount(GOLDEN / "torch" / "evil_mixed.pt")
    info = mounted.json(".ctxfs/info.json")
    names = {one["name"]: one["safe"] for one in info["globals"]}
    assert names["posix.system"] is False
    assert names["builtins.eval"] is False
    assert names["torch._utils._rebuild_tensor_v2"] is True
    assert info["unsafe_globals"] == list(names.values()).count(False)
    for above, _, names in os.walk(mounted.root):
        for name in names:
            pathlib.Path(above, name).read_bytes()
    assert not list(tmp_path.glob("ctxfs_was_here"))


def test_a_large_member_is_read_from_anywhere(mount, tmp_path):
    """A deflate member that is decoded in parts: 300 MB with cache=32M."""
    rng = random.Random(3)
    line = [bytes(rng.randrange(97, 110) for _ in range(1000)) for _ in range(64)]
    archive = tmp_path / "large.zip"
    digest = hashlib.sha256()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
        with out.open("data", "w", force_zip64=True) as member:
            for i in range(300_000):
                text = b"%08d" % i + line[i % 64][:992]
                digest.update(text)
                member.write(text)
    mounted = mount(archive, "cache=32M")
    path = mounted / "data"
    assert path.stat().st_size == 300_000_000
    with open(path, "rb") as file:
        for i in [299_999, 0, 150_000, 7, 200_001, 200_002]:
            assert os.pread(file.fileno(), 1000, i * 1000) == (
                b"%08d" % i + line[i % 64][:992]
            )
    done = run("sha256sum", path)
    assert done.stdout.split()[0].decode() == digest.hexdigest()
    assert status_kib(mounted.pid(), "VmHWM") < 200_000
