# SPDX-License-Identifier: Apache-2.0
"""Compares mounts with the answers of golden/safetensors and golden/gguf, which
have one form."""

import errno
import hashlib
import json
import os
import pathlib

import pytest

from golden_json import exact


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def container_of(answer_file, answer: dict, extension: str) -> pathlib.Path:
    if "source" in answer:
        return answer_file.parent / answer["source"]
    container = answer_file.with_suffix(extension)
    assert container.name == answer["file"]
    return container


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


def check_golden(mount, refused, answer_file, extension: str, check):
    """Mounts the answer's container; `check` is given the mount and the answer."""
    answer = json.loads(answer_file.read_text())
    container = container_of(answer_file, answer, extension)
    if check_refusal(refused, container, answer["open"]):
        return
    check(mount(container), answer, answer["format"])


def check_salvage(mount, refused, answer_file, extension: str, check):
    """The same with -o salvage: as the answer's part for that says, and without
    one as without the option."""
    answer = json.loads(answer_file.read_text())
    container = container_of(answer_file, answer, extension)
    salvaged = answer.get("salvage", answer)
    expected = answer.get("salvage", answer["open"])
    if check_refusal(refused, container, expected, "salvage"):
        return
    check(mount(container, "salvage"), salvaged, answer["format"])


def check_tensors(mounted, answer: dict) -> None:
    """Bytes, sizes and attributes of all tensors, and that there are no others."""
    index = json.loads((mounted / ".ctxfs" / "index.json").read_text())
    keys = keys_of(answer)
    assert len(index) == len(keys) == len(answer["arrays"])
    for key, shown in zip(keys, index):
        array = answer["arrays"][key]
        check_described(shown, key, array)
        path = path_of(mounted, "tensors", array)
        if "sha256" in array:
            check_readable(path, array)
        else:
            check_unreadable(path)
    check_unreadable_names(mounted, answer)
    for array in answer["arrays"].values():
        if "f32_sha256" in array:
            check_npy(path_of(mounted, "views/npy", array, ".npy"), array)


def bytes_of(value: dict, key: str, default: str) -> bytes:
    """A text that is in hex as well, or instead, where it is no UTF-8."""
    if key + "_hex" in value:
        return bytes.fromhex(value[key + "_hex"])
    return value.get(key, default).encode()


def check_described(shown: dict, key: str, array: dict) -> None:
    """A tensor in index.json."""
    assert bytes_of(shown, "name", "") == bytes_of(array, "name", key)
    assert bytes_of(shown, "path", "") == b"tensors/" + bytes_of(array, "path", "")
    assert shown["size"] == array["size"]
    assert "sha256" not in array or {"dtype", "shape", "offset"} <= set(array)
    for fact in ("dtype", "shape", "offset", "file"):
        assert fact not in array or shown[fact] == array[fact], key


def check_readable(path: bytes, array: dict) -> None:
    assert sha256(read(path)) == array["sha256"]
    if len(path) < 4000:
        assert os.getxattr(path, "user.ctxfs.verified") == b"none"
        dtype = os.getxattr(path, "user.ctxfs.dtype")
        assert dtype == array["dtype"].encode()
        shape = os.getxattr(path, "user.ctxfs.shape")
        assert json.loads(shape) == array["shape"]


def check_unreadable(path: bytes) -> None:
    with pytest.raises(OSError) as failed:
        os.open(path, os.O_RDONLY)
    assert failed.value.errno == errno.EIO
    assert os.stat(path).st_size == 0
    assert os.getxattr(path, "user.ctxfs.note")


def check_unreadable_names(mounted, answer: dict) -> None:
    """`eio` has those of the tensors without a digest; each answer has a file's
    path or a tensor's name."""
    unreadable = {name for name, array in answer["arrays"].items()
                  if "sha256" not in array}
    names = [name.removeprefix("tensors/") for name in answer.get("eio", [])]
    assert set(names) == unreadable and len(names) == len(unreadable)
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    assert info["entries_unreadable"] == len(unreadable)


def check_npy(path: bytes, array: dict) -> None:
    """Elements of a view in .npy: float32 of whatever is stored."""
    data = read(path)
    header = 10 + int.from_bytes(data[8:10], "little")
    assert b"'<f4'" in data[:header]
    assert sha256(data[header:]) == array["f32_sha256"]


def check_warnings(mounted, answer: dict, phrases: dict[str, str]) -> None:
    """Each key of the answer has a warning with its phrase; no keys, no warnings."""
    shown = warnings_of(mounted)
    keys = answer.get("warnings", [])
    for key in keys:
        assert any(phrases[key] in warning for warning in shown), key
    assert keys or shown == []


def check_info(mounted, answer: dict, kind: str, *keys: str) -> None:
    """The format, and other keys that info.json and the answer have."""
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    assert info["format"] == kind
    for key in keys:
        assert exact(info[key]) == exact(answer[key])
