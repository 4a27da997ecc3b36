# SPDX-License-Identifier: Apache-2.0
"""What the tests of golden/safetensors and golden/gguf share: one form of answers."""

import errno
import hashlib
import json
import os
import pathlib

import pytest


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def container_of(answer_file, answer: dict, extension: str) -> pathlib.Path:
    if "source" in answer:
        return answer_file.parent / answer["source"]
    return answer_file.with_suffix(extension)


def check_refusal(refused, container, expected: dict, *options) -> bool:
    """Whether the answer says that a mount is refused; checks that it is."""
    if expected["exit"] == 0:
        return False
    code, text = refused(container, *options)
    assert code == expected["exit"], text
    assert container.name in text and "byte " in text
    return True


def warnings_of(mounted) -> list[str]:
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    return info["warnings"]


def keys_of(answer: dict) -> list[str]:
    """The keys in `arrays`, in index order: a name that was there is `#N`."""
    keys = []
    for name in answer["order"]:
        keys.append(name if name not in keys else f"#{len(keys)}")
    return keys


def path_of(mounted, folder: str, array: dict, suffix: str = "") -> bytes:
    if "path_hex" in array:
        below = bytes.fromhex(array["path_hex"])
    else:
        below = array["path"].encode()
    root = os.fsencode(mounted.root)
    return os.path.join(root, folder.encode(), below) + suffix.encode()


def read(path: bytes) -> bytes:
    # Paths of 300 components are longer than open(2) takes at once.
    here = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        parts = path.strip(b"/").split(b"/")
        for part in parts[:-1]:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
            os.close(here)
            here = below
        file = os.open(parts[-1], os.O_RDONLY, dir_fd=here)
        with open(file, "rb") as stream:
            data = stream.read()
            assert os.fstat(stream.fileno()).st_size == len(data)
            return data
    finally:
        os.close(here)


def check_golden(mount, refused, answer_file, extension: str, kind: str, check):
    """Mounts the answer's container; `check` is given the mount and the answer."""
    answer = json.loads(answer_file.read_text())
    container = container_of(answer_file, answer, extension)
    if check_refusal(refused, container, answer["open"]):
        return
    mounted = mount(container)
    check(mounted, answer)
    check_mount(mounted, answer, kind)


def check_salvage(mount, refused, answer_file, extension: str, check):
    """The same with -o salvage, if the answer has a part for that."""
    answer = json.loads(answer_file.read_text())
    if "salvage" not in answer:
        return
    container = container_of(answer_file, answer, extension)
    if check_refusal(refused, container, answer["salvage"], "salvage"):
        return
    check(mount(container, "salvage"), answer["salvage"])


def check_tensors(mounted, answer: dict) -> None:
    """Bytes, sizes and attributes of all tensors, and that there are no others."""
    index = json.loads((mounted / ".ctxfs" / "index.json").read_text())
    keys = keys_of(answer)
    assert len(index) == len(keys)
    for key, shown in zip(keys, index):
        array = answer["arrays"][key]
        path = path_of(mounted, "tensors", array)
        if "path" in array:
            assert shown["path"] == "tensors/" + array["path"]
        assert shown["size"] == array["size"], key
        if "sha256" not in array:
            with pytest.raises(OSError) as failed:
                os.open(path, os.O_RDONLY)
            assert failed.value.errno == errno.EIO
            assert os.stat(path).st_size == 0
            assert os.getxattr(path, "user.ctxfs.note")
            continue
        assert shown["dtype"] == array["dtype"]
        assert shown["shape"] == array["shape"]
        assert shown["offset"] == array["offset"]
        assert sha256(read(path)) == array["sha256"], key
        if len(path) < 4000:
            assert os.getxattr(path, "user.ctxfs.verified") == b"none"
            dtype = os.getxattr(path, "user.ctxfs.dtype")
            assert dtype == array["dtype"].encode()


def check_mount(mounted, answer: dict, kind: str) -> None:
    """The values that views have: npy of everything with an answer for it."""
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    assert info["format"] == answer["format"]
    assert info["format"].startswith(kind)
    for key, array in answer["arrays"].items():
        if "f32_sha256" not in array or "path_hex" in array:
            continue
        data = read(path_of(mounted, "views/npy", array, ".npy"))
        header = 10 + int.from_bytes(data[8:10], "little")
        assert b"'<f4'" in data[:header], key
        assert sha256(data[header:]) == array["f32_sha256"], key
