# SPDX-License-Identifier: Apache-2.0
"""Every container of golden/zip, npz and torch, through a real mount, as its
JSON says."""

import errno
import hashlib
import json
import os
import pathlib
import struct

import pytest

from conftest import GOLDEN, run
from golden_json import exact

FORMATS = ("zip", "npz", "torch")
ANSWERS = sorted(p for f in FORMATS for p in GOLDEN.glob(f"{f}/*.json"))
assert ANSWERS, "no golden containers"
WAS_HERE = "ctxfs_was_here"  # what a hostile pickle would make
# numpy has no such types, or views widen them.
NOT_AS_STORED = {"bf16", "c32", "f8_e4m3", "f8_e5m2", "f8_e4m3fnuz",
                 "f8_e5m2fnuz", "f8_e8m0"}


def shown_path(kind: str, path: str) -> bytes:
    """Answers have the paths of tree contract 1."""
    if path.startswith("hex:"):
        return bytes.fromhex(path[4:])
    if kind == "torch" and path.startswith("members/"):
        path = ".ctxfs/raw/" + path.removeprefix("members/")
    elif kind != "torch" and path.startswith("arrays/"):
        path = "views/" + path
    return path.encode()


def array_path(kind: str, name: str) -> bytes:
    return (("tensors/" if kind == "torch" else "views/arrays/") + name).encode()


def read(path) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def error_of(path) -> int:
    with pytest.raises(OSError) as failed:
        read(path)
    return failed.value.errno


def check_file(path: bytes, answer: dict) -> bytes:
    data = read(path)
    assert os.stat(path).st_size == len(data) == answer["size"], path
    assert hashlib.sha256(data).hexdigest() == answer["sha256"], path
    return data


def npy_data(path: bytes) -> bytes:
    data = read(path)
    assert data[:8] == b"\x93NUMPY\x01\x00"
    (length,) = struct.unpack_from("<H", data, 8)
    return data[10 + length :]


def check_array(root: bytes, kind: str, name: str, answer: dict) -> None:
    path = os.path.join(root, array_path(kind, name))
    data = check_file(path, answer)
    assert os.getxattr(path, "user.ctxfs.dtype").decode() == answer["dtype"]
    assert json.loads(os.getxattr(path, "user.ctxfs.shape")) == answer["shape"]
    if answer["dtype"] in NOT_AS_STORED or "~" in name or "%" in name:
        return  # other names among the views, which end in .npy
    npy = os.path.join(root, b"views/npy", name.encode() + b".npy")
    assert npy_data(npy) == data


def sorted_sets(value):
    if isinstance(value, list):
        return [sorted_sets(one) for one in value]
    if not isinstance(value, dict):
        return value
    made = {key: sorted_sets(one) for key, one in value.items()}
    if set(made) == {"$set"}:
        made["$set"].sort(key=json.dumps)
    return made


def check_document(path: bytes, answer) -> None:
    shown = json.loads(read(path))
    assert exact(sorted_sets(shown)) == exact(sorted_sets(answer)), path


def all_files(root: bytes, below: bytes = b"") -> set[bytes]:
    """Files that listings of a directory and those below it show."""
    found = set()
    for entry in os.scandir(os.path.join(root, below)):
        path = os.path.join(below, entry.name)
        if entry.is_dir(follow_symlinks=False):
            found |= all_files(root, path)
        else:
            found.add(path)
    return found


def check_safetensors(root: bytes, kind: str, answer: dict) -> None:
    """Every array that has a name of its own is in the file of all."""
    name = b"model" if kind == "torch" else b"arrays"
    path = os.path.join(root, b"views", name + b".safetensors")
    if not answer.get("arrays"):
        return
    data = read(path)
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    for array, expected in answer["arrays"].items():
        if array not in header:
            # No dtype of safetensors, or a path that is not the array's name.
            assert expected["dtype"] in ("c32", "c128") or "~" in array or "%" in array
            continue
        begin, end = header[array]["data_offsets"]
        part = data[8 + length + begin : 8 + length + end]
        assert hashlib.sha256(part).hexdigest() == expected["sha256"], array


def check_failures(root: bytes, kind: str, answer: dict) -> set[bytes]:
    """Files that fail to be read; gives their paths."""
    unreadable = {shown_path(kind, path) for path in answer.get("eio", [])}
    locked = {shown_path(kind, path) for path in answer.get("eacces", [])}
    for path in unreadable:
        assert error_of(os.path.join(root, path)) == errno.EIO, path
    for path in locked:
        path = os.path.join(root, path)
        assert os.stat(path).st_mode & 0o777 == 0
        assert error_of(path) == errno.EACCES
    return unreadable | locked


def check_names(root: bytes, kind: str, answer: dict) -> None:
    """Directories that are there, and files and directories that are not."""
    for path in answer.get("dirs", []):
        assert os.path.isdir(os.path.join(root, path.encode()))
    for path in answer.get("absent", []):
        assert not os.path.lexists(os.path.join(root, path.encode()))
    for name, reason in answer.get("no_array", {}).items():
        path = os.path.join(root, array_path(kind, name))
        assert not os.path.lexists(path), reason


def check_info(root: bytes, kind: str, answer: dict) -> None:
    info = json.loads(read(os.path.join(root, b".ctxfs/info.json")))
    assert info["format"] == kind
    text = "\n".join(info["warnings"])
    for warning in answer.get("warnings", []):
        assert warning in text


def check_content(mounted, kind: str, answer: dict) -> None:
    root = os.fsencode(mounted.root)
    expected = check_failures(root, kind, answer)
    for path, file in answer.get("files", {}).items():
        check_file(os.path.join(root, shown_path(kind, path)), file)
        expected.add(shown_path(kind, path))
    for name, array in answer.get("arrays", {}).items():
        check_array(root, kind, name, array)
        expected.add(array_path(kind, name))
    for path, document in answer.get("documents", {}).items():
        check_document(os.path.join(root, path.encode()), document)
        expected.add(path.encode())
    check_names(root, kind, answer)
    shown = all_files(root)
    # Of the format's own, and not in listings of the root.
    for folder in (b".ctxfs/raw", b"views/arrays"):
        if os.path.isdir(os.path.join(root, folder)):
            shown |= all_files(root, folder)
    assert shown == expected
    if not answer.get("eio"):
        check_safetensors(root, kind, answer)
    check_info(root, kind, answer)


def check_refusal(refused, container: pathlib.Path, expected: dict) -> None:
    code, text = refused(container)
    assert code == expected["exit"], text
    if expected["why"] != "no_magic":
        # The names of some containers have the word.
        assert expected["why"] in text.replace(container.name, "")


@pytest.mark.parametrize(
    "answer_file", ANSWERS, ids=lambda p: f"{p.parent.name}-{p.stem}"
)
def test_golden(answer_file, mount, refused, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    answer = json.loads(answer_file.read_text())
    container = answer_file.with_suffix("")
    if "refuse" in answer:
        check_refusal(refused, container, answer["refuse"])
    else:
        check_content(mount(container), answer["format"], answer)
    if "salvage" in answer:
        salvaged = mount(container, "salvage")
        check_content(salvaged, answer["format"], answer["salvage"])
    assert not pathlib.Path(WAS_HERE).exists()


def test_the_globals_of_a_pickle_are_listed(mount, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mounted = mount(GOLDEN / "torch" / "evil_mixed.pt")
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    names = {one["name"]: one["safe"] for one in info["globals"]}
    assert names["posix.system"] is False
    assert names["builtins.eval"] is False
    assert names["torch._utils._rebuild_tensor_v2"] is True
    assert info["unsafe_globals"] == list(names.values()).count(False)
    for path in all_files(os.fsencode(mounted.root)):
        read(os.path.join(os.fsencode(mounted.root), path))
    assert not list(tmp_path.glob(WAS_HERE))


def test_a_large_member_is_read_from_anywhere(mount, tmp_path):
    """A deflate member that is decoded in parts: 300 MB with cache=32M."""
    import random
    import zipfile

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
    status = pathlib.Path(f"/proc/{mounted.pid()}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    assert int(peak.split()[1]) < 200_000  # kB
