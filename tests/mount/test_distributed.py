# SPDX-License-Identifier: Apache-2.0
"""Distributed checkpoints of PyTorch in folders: one container, whose files stay files."""

import json
import os
import shutil

import pytest

from conftest import BIN, GOLDEN, contents, run

CTXFS = BIN / "ctxfs"
SOUND = GOLDEN / "torch-distributed" / "sound"
FILES = {".metadata", "__0_0.distcp", "__1_0.distcp"}


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(SOUND, tmp_path / "top" / "step")


def check(*sources) -> tuple[int, dict]:
    done = run(CTXFS, "check", "--json", *sources)
    return done.returncode, {one["source"]: one for one in json.loads(done.stdout)}


def test_a_folder_is_a_container_beside_itself(mount, folder):
    point = mount(folder.parent).point
    assert os.listdir(point) == ["step"]
    assert set(os.listdir(point / "step")) == FILES
    for name in FILES:
        assert (point / "step" / name).read_bytes() == (folder / name).read_bytes()
    inside = point / "step~dir"
    assert set(os.listdir(inside)) == {"tensors", "value.json"}
    assert set(os.listdir(inside / "tensors")) == {"a", "b", "c"}
    assert contents(point / "step" / ".metadata~dir") == contents(inside)
    assert (inside / ".ctxfs" / "container").read_bytes() == (folder / ".metadata").read_bytes()
    # The files are parts of it, and no containers of their own.
    assert not (point / "step" / "__0_0.distcp~dir").exists()
    (folder / ".metadata").unlink()
    alone = mount(folder).point
    assert (alone / "__0_0.distcp~dir" / "tensors").is_dir()
    assert not (alone / ".metadata~dir").exists()


def test_a_check_of_the_folder_is_that_of_the_container(folder):
    code, reports = check(folder)
    assert code == 0 and list(reports) == [str(folder / ".metadata")]
    assert reports[str(folder / ".metadata")]["outcome"] == "clean"
    file = folder / "__1_0.distcp"
    data = bytearray(file.read_bytes())
    data[data.index(b"\0\0\xc0\x40\0\0\xe0\x40")] ^= 1  # 6.0, 7.0
    file.write_bytes(data)
    code, reports = check(folder.parent)
    [fault] = reports[str(folder / ".metadata")]["faults"]
    assert code == 1 and fault["path"] == "tensors/a" and "__1_0.distcp" not in fault["path"]
    # What is named is opened as what it is: archives in a row.
    code, reports = check(folder / "__0_0.distcp")
    assert code == 2 and reports[str(folder / "__0_0.distcp")]["outcome"] == "partial"


def test_a_piece_is_verified_once_and_says_so(mount):
    top = mount(SOUND / ".metadata", "flat").point / "tensors"
    assert os.getxattr(top / "b", "user.ctxfs.verified") == b"no"
    (top / "b").read_bytes()
    assert os.getxattr(top / "b", "user.ctxfs.verified") == b"yes"
    assert os.getxattr(top / "a", "user.ctxfs.verified") == b"no"
    broken = mount(GOLDEN / "torch-distributed" / "flipped" / ".metadata", "flat").point
    with pytest.raises(OSError):
        (broken / "tensors" / "a").read_bytes()
    assert os.getxattr(broken / "tensors" / "a", "user.ctxfs.verified") == b"failed"
    note = os.getxattr(broken / "tensors" / "a", "user.ctxfs.note").decode()
    assert "crc32" in note.lower() or "checksum" in note.lower()


def test_nothing_of_a_pickle_is_run(tmp_path):
    shutil.copytree(GOLDEN / "torch-distributed" / "evil", tmp_path / "evil")
    done = run(CTXFS, "info", "--json", tmp_path / "evil", cwd=tmp_path)
    [info] = json.loads(done.stdout)
    facts = {fact["key"]: fact["value"] for fact in info["facts"]}
    assert facts["unsafe_globals"] == 1 and facts["global.posix.system"] == "unsafe"
    run(CTXFS, "check", tmp_path / "evil", cwd=tmp_path)
    assert not list(tmp_path.rglob("ctxfs_was_here"))


def test_a_changed_file_is_stale(mount, folder):
    point = mount(folder / ".metadata", "flat").point
    whole = (point / "value.json").read_bytes()
    assert json.loads(whole) == {"epoch": 7}
    with open(folder / "__1_0.distcp", "r+b") as file:
        file.write(b"changed!")
    with pytest.raises(OSError) as failed:
        (point / "tensors" / "a").read_bytes()
    assert failed.value.errno == 116  # ESTALE


def patch_types(folder, old: bytes, new: bytes) -> None:
    index = (folder / ".metadata").read_bytes()
    assert old in index and len(old) == len(new)
    (folder / ".metadata").write_bytes(index.replace(old, new))


def test_41_9_a_tensor_of_one_chunk_and_an_unknown_dtype_is_bytes(mount, folder):
    whole = contents(mount(SOUND / ".metadata", "flat").point)
    patch_types(folder, b"int64", b"int99")
    top = mount(folder / ".metadata", "flat").point
    assert contents(top) == whole
    path = top / "tensors" / "c"
    assert os.getxattr(path, "user.ctxfs.dtype") == b"u8"
    assert json.loads(os.getxattr(path, "user.ctxfs.shape")) == [40]
    assert b"torch.int99 is unknown" in os.getxattr(path, "user.ctxfs.note")
    code, reports = check(folder)
    assert code == 0 and reports[str(folder / ".metadata")]["outcome"] == "clean"


def test_41_9_chunks_of_an_unknown_dtype_leave_the_rest_readable(mount, folder):
    whole = contents(mount(SOUND / ".metadata", "flat").point)
    patch_types(folder, b"float32", b"float99")
    top = mount(folder / ".metadata", "flat").point
    for name in "ab":
        path = top / "tensors" / name
        assert path.stat().st_size == 0
        with pytest.raises(OSError):
            path.read_bytes()
        note = os.getxattr(path, "user.ctxfs.note").decode()
        assert note == f"tensor '{name}': its 2 chunks cannot be joined: its dtype torch.float99 is unknown"
    for path in ("tensors/c", "value.json"):
        assert (top / path).read_bytes() == whole[path]
    code, reports = check(folder)
    assert code == 2 and reports[str(folder / ".metadata")]["outcome"] == "unchecked"
