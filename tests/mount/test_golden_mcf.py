# SPDX-License-Identifier: Apache-2.0
"""Every container of golden/mcf, through a real mount, as its JSON says."""

import errno
import hashlib
import json
import os
import random
import struct

import numpy
import pytest

from conftest import BIN, GOLDEN, run

ANSWERS = sorted(GOLDEN.glob("mcf/*.json"))
assert ANSWERS, "no golden containers"

FILES = {
    0x100: "config.json",
    0x101: "generation_config.json",
    0x102: "tokenizer.json",
    0x103: "tokenizer_config.json",
    0x104: "vocab.json",
    0x105: "merges.txt",
}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def stored_name(tensor: dict) -> bytes:
    if "name_hex" in tensor:
        return bytes.fromhex(tensor["name_hex"])
    return tensor["name"].encode()


def expected_exit(answer: dict, container) -> int:
    if container.read_bytes()[:4] != b"MCF\0":
        return 3
    version = answer["open"]["error"] == "unsupported MCF major version"
    return 5 if version else 4


def values_hash(tensor: dict) -> str | None:
    """Of the values as float32, where somebody knows how to decode them."""
    for kind in ("ieee", "py", "doc"):
        if answer := tensor.get(f"dequant_{kind}_f32"):
            return answer["sha256"]
    reference = tensor.get("dequant_f32", {"ok": False})
    return reference["sha256"] if reference["ok"] else None


def expected_tensors(answer: dict) -> list[dict]:
    """What is readable of the index: names that wrap, the reference misses."""
    index = answer.get("tensor_index", {"ok": False})
    if answer["file"] == "idx_strings_wrap.mcf" or not index["ok"]:
        return []
    return answer["tensors"]


def widened(data: bytes, dtype: str) -> bytes:
    """Floating-point numbers as float32; NaNs keep their bits."""
    if dtype == "f32":
        return data
    words = numpy.frombuffer(data, "<u2").astype("<u4")
    if dtype == "bf16":
        return (words << 16).tobytes()
    values = numpy.frombuffer(data, "<f2").astype("<f4")
    nan = ((words & 0x8000) << 16) | 0x7F800000 | ((words & 0x3FF) << 13)
    return numpy.where(numpy.isnan(values), nan, values.view("<u4")).tobytes()


def check_plain_values(data: bytes, tensor: dict) -> None:
    """What the reference makes of a tensor that is not quantised."""
    reference = tensor.get("dequant_f32", {"ok": False})
    assert reference["ok"] == ("sha256" in reference)
    if tensor["dtype"] not in ("f32", "f16", "bf16") or not reference["ok"]:
        return
    values = widened(data, tensor["dtype"])
    assert len(values) == 4 * reference["count"]
    nan = numpy.isnan(numpy.frombuffer(values, "<f4"))
    assert nan.sum() == reference.get("nan_count", 0)
    assert sha256(values) == reference["sha256"]


def check_tensor(path: bytes, shown: dict, tensor: dict) -> None:
    name = stored_name(tensor)
    assert shown.get("name_hex", name.hex()) == name.hex()
    assert "name_hex" in shown or shown["name"].encode() == name
    assert shown["dtype_code"] == tensor["dtype_code"]
    assert shown["size"] == (tensor["size"] if tensor["raw"]["ok"] else 0)
    assert shown["kind"] == "tensor"
    assert shown["dtype"] == tensor["dtype"]
    assert shown["shape"] == tensor["shape"]
    assert shown["offset"] == tensor["offset"]
    assert shown["stored_size"] == tensor["size"]
    assert os.getxattr(path, "user.ctxfs.dtype") == tensor["dtype"].encode()
    assert json.loads(os.getxattr(path, "user.ctxfs.shape")) == tensor["shape"]
    assert os.getxattr(path, "user.ctxfs.verified") == b"none"
    if not tensor["raw"]["ok"]:
        assert os.stat(path).st_size == 0
        assert shown["note"]
        assert os.getxattr(path, "user.ctxfs.note") == shown["note"].encode()
        with pytest.raises(OSError) as failed:
            os.open(path, os.O_RDONLY)
        assert failed.value.errno == errno.EIO
        # After a read that failed it has the byte, too.
        note = os.getxattr(path, "user.ctxfs.note").decode()
        assert note.startswith("byte ") and note.endswith(shown["note"])
        return
    assert os.stat(path).st_size == tensor["size"]
    with open(path, "rb") as file:
        data = file.read()
    assert sha256(data) == tensor["raw"]["sha256"]
    check_plain_values(data, tensor)
    # Whatever cannot be read as what it says that it is says so.
    assert tensor.get("store_read_raw", {"ok": False})["ok"] or shown.get("note")


def has_xattr(path: bytes, name: str) -> bool:
    return f"user.ctxfs.{name}" in os.listxattr(path)


def check_values(path: bytes, tensor: dict, truth_folder) -> None:
    with open(path, "rb") as file:
        data = file.read()
    assert os.stat(path).st_size == len(data)
    assert os.getxattr(path, "user.ctxfs.dtype") == b"f32"
    shape = json.loads(os.getxattr(path, "user.ctxfs.shape"))
    assert shape == tensor["shape"]
    for stored in ("codec", "stored_size", "offset", "checksum"):
        assert not has_xattr(path, stored)
    words = numpy.frombuffer(data, "<u4")
    assert words.size == numpy.prod(shape, dtype=int)
    nan = numpy.isnan(words.view("<f4"))
    assert nan.sum() == tensor.get("dequant_f32", {}).get("nan_count", 0)
    assert (words[nan] == 0x7FC00000).all()

    reference = tensor.get("dequant_f32", {})
    assert reference.get("count", words.size) == words.size
    if "file" in reference and "dequant_ieee_f32" not in tensor:
        truth = numpy.fromfile(truth_folder / reference["file"], "<u4")
        assert (words[~nan] == truth[~nan]).all()
        assert (numpy.isnan(truth.view("<f4")) == nan).all()
    # The reference's NaNs are its processor's; of k4 there are two kinds.
    if tensor["dtype"] != "k4" or not nan.any():
        as_theirs = numpy.where(nan, 0xFFC00000, words).astype("<u4")
        assert sha256(as_theirs.tobytes()) == values_hash(tensor)
    documented = tensor.get("dequant_doc_f32", {}).get("values", [])
    assert words.view("<f4")[: len(documented)].tolist() == documented

    # Any window, at any byte, is what the whole has there.
    chance = random.Random(7)
    with open(path, "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        for _ in range(20):
            at = chance.randrange(len(data))
            length = chance.randrange(1, len(data) + 1)
            assert os.pread(file.fileno(), length, at) == data[at : at + length]


def paths_of(index: list[dict]) -> list[bytes]:
    return [
        bytes.fromhex(e["path_hex"]) if "path_hex" in e else e["path"].encode()
        for e in index
    ]


def files_below(root: bytes, folder: bytes) -> set[bytes]:
    return {
        os.path.relpath(os.path.join(above, file), root)
        for above, _, files in os.walk(os.path.join(root, folder))
        for file in files
    }


def check_sections(mounted, answer: dict) -> set[bytes]:
    """The sections and the model's files; gives their paths."""
    seen, shown = {}, set()
    for section in answer["sections"]:
        kind = section["type"]
        seen[kind] = seen.get(kind, 0) + 1
        mark = "" if seen[kind] == 1 else f"~{seen[kind]}"
        path = f".ctxfs/raw/sections/0x{kind:04x}{mark}.bin"
        data = (mounted / path).read_bytes()
        assert len(data) == section["size"]
        assert sha256(data) == section["sha256"]
        offset = os.getxattr(mounted / path, "user.ctxfs.offset")
        assert offset == b"%d" % section["offset"]
        shown.add(path.encode())
        if kind in FILES and mark == "":
            assert (mounted / FILES[kind]).read_bytes() == data
            shown.add(FILES[kind].encode())
    return shown


def check_json(mounted, answer: dict, warnings: str) -> set[bytes]:
    """model_info.json and quant_info.json; gives their paths."""
    shown = set()
    for key in ("model_info", "quant_info"):
        expected = answer.get(key, {"ok": False})
        path = f"{key}.json"
        assert (mounted / path).exists() == expected["ok"]
        if not expected["ok"]:
            assert key not in answer or f"no {path}" in warnings
            continue
        shown.add(path.encode())
        said = json.loads((mounted / path).read_text())
        for name, value in expected.items():
            if name == "records":
                assert len(said[name]) == len(value)
                for mine, theirs in zip(said[name], value):
                    assert {k: mine[k] for k in theirs} == theirs
            elif name != "ok":
                assert said[name] == value
    return shown


def check_info(info: dict, answer: dict) -> None:
    """The header and the directory of sections."""
    header = answer["header"]
    assert info["format"] == "mcf"
    assert info["version"] == header["major"]
    assert info["minor_version"] == header["minor"]
    assert info["container_size"] == header["file_size"]
    for key in ("flags", "header_size", "section_dir_offset"):
        assert info[key] == header[key], key
    sections = [{k: v for k, v in section.items() if k != "sha256"}
                for section in answer["sections"]]
    assert info["sections"] == sections
    assert len(sections) == header["section_count"]
    tensors = expected_tensors(answer)
    assert info["entries"] == len(tensors)
    without = "tensor_index" in answer and not tensors
    assert not without or "no tensors" in "\n".join(info["warnings"])


@pytest.mark.parametrize("answer_file", ANSWERS, ids=lambda p: p.stem)
def test_golden(answer_file, mount, refused):
    answer = json.loads(answer_file.read_text())
    container = answer_file.with_suffix(".mcf")
    assert answer["file"] == container.name
    assert answer["size"] == container.stat().st_size
    assert answer["sha256"] == sha256(container.read_bytes())
    assert answer["kind"] in ("ok", "degraded", "open_error")
    assert answer["open"]["ok"] == (answer["kind"] != "open_error")
    if answer["kind"] == "open_error":
        code, text = refused(container)
        assert code == expected_exit(answer, container)
        assert container.name in text and "byte " in text
        return
    mounted = mount(container)
    tensors = expected_tensors(answer)
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    check_info(info, answer)
    index = json.loads((mounted / ".ctxfs" / "index.json").read_text())
    assert len(index) == len(tensors)

    root = os.fsencode(mounted.root)
    paths = paths_of(index)
    assert len(set(paths)) == len(paths)
    bad = 0
    for path, shown, tensor in zip(paths, index, tensors):
        assert path.startswith(b"tensors/")
        check_tensor(os.path.join(root, path), shown, tensor)
        bad += not tensor["raw"]["ok"]
    assert info["entries_unreadable"] == bad
    assert bad <= len(info["warnings"])

    expected = set(paths) | check_sections(mounted, answer)
    expected |= check_json(mounted, answer, "\n".join(info["warnings"]))
    for tensor in tensors:
        if tensor["dtype_code"] >= 0x10 and values_hash(tensor):
            path = b"views/dequantized/" + stored_name(tensor)
            check_values(os.path.join(root, path), tensor, GOLDEN / "mcf")
            expected.add(path)
    if tensors:
        expected.add(b"tensors.json")
        said = json.loads((mounted / "tensors.json").read_text())
        assert said["count"] == answer["tensor_index"]["count"]
        assert said["flags"] == answer["tensor_index"]["flags"]
        for mine, theirs in zip(said["tensors"], tensors):
            for key in ("index", "dtype", "dtype_code", "shape", "offset", "size"):
                assert mine[key] == theirs[key]
            assert stored_name(mine) == stored_name(theirs)

    # Unlisted directories are not in a listing of the root, and list themselves.
    unlisted = (b"views/dequantized", b".ctxfs/raw")
    primary = {p for p in expected if not p.startswith((b"views/", b".ctxfs/"))}
    assert files_below(root, b"") == primary
    for folder in unlisted:
        below = {p for p in expected if p.startswith(folder + b"/")}
        assert files_below(root, folder) == below


@pytest.mark.parametrize("answer_file", ANSWERS, ids=lambda p: p.stem)
def test_salvage_opens_what_opens(answer_file):
    """Its files are read by test_golden_windows."""
    done = run(BIN / "ctxfs", "ls", "--salvage", answer_file.with_suffix(".mcf"))
    refused = json.loads(answer_file.read_text())["kind"] == "open_error"
    assert done.returncode == 0 or refused


def test_tensors_beyond_4_gib(tmp_path, mount):
    """Offsets are 64 bits wide: a sparse file with a tensor past 2^32."""
    data = (GOLDEN / "mcf" / "q8.mcf").read_bytes()
    answer = json.loads((GOLDEN / "mcf" / "q8.json").read_text())
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
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    assert any("outside the TensorData" in text for text in info["warnings"])


def test_salvage_of_a_longer_file(tmp_path, mount, refused):
    """A wrong file_size refuses the container; salvage makes it a warning."""
    container = tmp_path / "long.mcf"
    container.write_bytes((GOLDEN / "mcf" / "plain.mcf").read_bytes() + b"more")
    code, text = refused(container)
    assert code == 4 and "byte 24" in text
    mounted = mount(container, "salvage")
    answer = json.loads((GOLDEN / "mcf" / "plain.json").read_text())
    raw = (mounted / "tensors" / "w").read_bytes()
    assert sha256(raw) == answer["tensors"][0]["raw"]["sha256"]
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    assert any("file_size" in text for text in info["warnings"])


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
    answer = json.loads((GOLDEN / "mcf" / f"{stem}.json").read_text())
    has_config = any(section["type"] == 0x100 for section in answer["sections"])
    container = tmp_path / "model.mcf"
    container.write_bytes(data if has_config else with_config(data, b'{"a": 1}'))
    mounted = mount(container)
    assert (mounted / "config.json").is_file()
    codes = [t for t in answer["tensors"] if t["dtype_code"] in (0x10, 0x11)]
    assert (mounted / "views" / "hf").exists() == (not codes)
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    warned = [text for text in info["warnings"] if "have no values" in text]
    assert len(warned) == bool(codes)
    assert not codes or f"'{codes[0]['name']}'" in warned[0]
    if len(codes) == len(answer["tensors"]):
        assert not (mounted / "views" / "model.safetensors").exists()
        return
    model = (mounted / "views" / "model.safetensors").read_bytes()
    header = json.loads(model[8 : 8 + int.from_bytes(model[:8], "little")])
    names = {t["name"] for t in answer["tensors"]} - {t["name"] for t in codes}
    assert set(header) - {"__metadata__"} == names
