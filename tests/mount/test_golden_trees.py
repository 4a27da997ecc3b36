# SPDX-License-Identifier: Apache-2.0
"""Every container of golden/tar and golden/onnx, through a real mount, as its
JSON says. The READMEs there say how an answer is read."""

import errno
import hashlib
import json
import os
import struct

import pytest

from conftest import GOLDEN
from golden_json import exact

ANSWERS = sorted([*GOLDEN.glob("tar/*.json"), *GOLDEN.glob("onnx/*.json")])
assert ANSWERS, "no golden containers"

ARRAYS = {"arrays": b"tensors/", "constants": b"constants/"}


def path_of(answer: str) -> bytes:
    """A path as answers write it: bytes that are no UTF-8 as hex."""
    if answer.startswith("hex:"):
        return bytes.fromhex(answer[4:])
    return answer.encode()


def check_bytes(path: bytes, answer: dict) -> None:
    with open(path, "rb") as file:
        data = file.read()
    assert len(data) == answer["size"] == os.stat(path).st_size
    assert hashlib.sha256(data).hexdigest() == answer["sha256"]


def check_array(path: bytes, answer: dict) -> None:
    check_bytes(path, answer)
    assert os.getxattr(path, "user.ctxfs.dtype").decode() == answer["dtype"]
    assert json.loads(os.getxattr(path, "user.ctxfs.shape")) == answer["shape"]
    assert os.getxattr(path, "user.ctxfs.verified") == b"none"


def check_unreadable(path: bytes) -> None:
    size = os.stat(path).st_size
    with pytest.raises(OSError) as failed:
        with open(path, "rb") as file:
            file.read()
    assert failed.value.errno == errno.EIO
    if size == 0:
        assert os.getxattr(path, "user.ctxfs.note")


def check_samples(path: bytes, answer: list | None) -> None:
    if answer is None:
        assert not os.path.exists(path)
        return
    with open(path, encoding="utf-8") as file:
        samples = [json.loads(line) for line in file]
    for sample in samples:
        for member in sample["members"].values():
            if "path_hex" in member:
                member["path"] = "hex:" + member.pop("path_hex")
    assert exact(samples) == exact(answer)


def files_below(root: bytes) -> set[bytes]:
    found = set()
    for folder, _, files in os.walk(root):
        found |= {os.path.relpath(os.path.join(folder, f), root) for f in files}
    return found


def check_all(mounted, kind: str, answer: dict) -> None:
    root = os.fsencode(mounted.root)
    expected = set()
    for path, file in answer.get("files", {}).items():
        check_bytes(os.path.join(root, path_of(path)), file)
        expected.add(path_of(path))
    for path in answer.get("eio", []):
        check_unreadable(os.path.join(root, path_of(path)))
        expected.add(path_of(path))
    for key, folder in ARRAYS.items():
        for name, array in answer.get(key, {}).items():
            check_array(os.path.join(root, folder + path_of(name)), array)
            expected.add(folder + path_of(name))
    for name, document in answer.get("documents", {}).items():
        shown = json.loads((mounted / name).read_text())
        assert exact(shown) == exact(document)
        expected.add(name.encode())
    for path in answer.get("dirs", []):
        assert os.path.isdir(os.path.join(root, path_of(path)))
    for path in answer.get("absent", []):
        assert not os.path.lexists(os.path.join(root, path_of(path)))
    check_samples(os.path.join(root, b"views/samples.jsonl"), answer.get("samples"))
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    assert info["format"] == kind
    for key in answer.get("warnings", []):
        assert any(f"{key}: " in warning for warning in info["warnings"]), key
    assert files_below(root) == expected


@pytest.mark.parametrize("answer_file", ANSWERS, ids=lambda p: p.stem)
def test_golden(answer_file, mount, refused):
    answer = json.loads(answer_file.read_text())
    container = answer_file.with_suffix("")
    if "refuse" not in answer:
        check_all(mount(container), answer["format"], answer)
        return
    code, text = refused(container)
    assert code == answer["refuse"]["exit"]
    assert container.name in text and "byte " in text
    if answer["refuse"]["why"] != "no_magic":
        assert f"{answer['refuse']['why']}: " in text
    if "salvage" in answer:
        check_all(mount(container, "salvage"), answer["format"], answer["salvage"])


def varint(number: int) -> bytes:
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def test_a_model_beyond_4_gib(tmp_path, mount):
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
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshot"
    blobs.mkdir()
    snapshot.mkdir()
    for name, blob in (("external_one.onnx", "1"), ("external_one.data", "2")):
        (blobs / blob).write_bytes((GOLDEN / "onnx" / name).read_bytes())
        (snapshot / name).symlink_to(f"../blobs/{blob}")
    answer = json.loads((GOLDEN / "onnx" / "external_one.onnx.json").read_text())
    mounted = mount(snapshot / "external_one.onnx")
    for name, array in answer["arrays"].items():
        check_array(os.fsencode(mounted / "tensors" / name), array)


def test_a_mirror_keeps_the_files(tmp_path, mount):
    """tar and onnx open these files themselves: they stay files in a mirror."""
    for name in ("tar/wds.tar", "onnx/mlp.onnx"):
        data = (GOLDEN / name).read_bytes()
        (tmp_path / name.split("/")[1]).write_bytes(data)
    mounted = mount(tmp_path, "flat")
    for name in ("tar/wds.tar", "onnx/mlp.onnx"):
        shown = mounted / name.split("/")[1]
        assert shown.read_bytes() == (GOLDEN / name).read_bytes()
