# SPDX-License-Identifier: Apache-2.0
"""Containers as mappings of files."""

import errno
import hashlib
import io
import json
import os
import pickle
import shutil
import tarfile

import numpy as np
import pytest

import ctxfs
from conftest import GOLDEN

SIZE = 64  # bytes of action/ctrl: f32 [8, 2]
PATH = "action/ctrl"
HUB = GOLDEN.parent / "tests" / "mount" / "hub"


@pytest.fixture
def container(episode):
    with ctxfs.open(episode) as c:
        yield c


def test_a_container_is_a_mapping_of_paths(container):
    paths = list(container)
    assert PATH in paths and len(container) == len(paths) == len(set(paths))
    assert PATH in container and "/action/ctrl/" in container and os.fsencode(PATH) in container
    assert "action" not in container and "absent" not in container and 7 not in container
    assert container.get("absent") is None
    assert {path: entry.size for path, entry in container.items()}[PATH] == SIZE
    walked = [os.path.join(top, name) for top, _, names in container.walk() for name in names]
    assert walked == paths
    assert container.listdir("action") == ["ctrl"]
    assert [top for top, *_ in container.walk("action")] == ["action"]
    assert container.stat(PATH)[:2] == ("file", SIZE) and container.stat("").kind == "directory"
    assert container.stat(PATH).mtime > 0
    assert container == container and len({container, container}) == 1


def test_unlisted_files_are_found_by_their_paths(container):
    assert not any(path.startswith(("views/", ".ctxfs/")) for path in container)
    assert f"views/npy/{PATH}.npy" in container
    shown = np.lib.format.read_array(container[f"views/npy/{PATH}.npy"])
    assert shown.tobytes() == container[PATH].read()
    assert container.info["format"] == "shard"


def test_an_entry_is_a_file(container):
    with container[PATH] as entry:
        assert (entry.size, entry.name, entry.closed) == (SIZE, PATH, False)
        assert entry.readable() and entry.seekable() and not entry.writable()
        data = entry.read()
        assert len(data) == SIZE and entry.read() == b"" and entry.tell() == SIZE
        assert entry.seek(-8, io.SEEK_END) == SIZE - 8 and entry.read(100) == data[-8:]
        assert entry.seek(8) == 8 and entry.read(8) == data[8:16]
        assert entry.seek(4, io.SEEK_CUR) == 20 and entry.read(0) == b""
        assert entry.seek(1000) == 1000 and entry.read() == b""
        buffer = bytearray(16)
        entry.seek(SIZE - 8)
        assert entry.readinto(buffer) == 8 and buffer[:8] == data[-8:]
        assert entry.pread(4, 4) == data[4:8] and entry.pread(-1, 60) == data[60:]
        entry.seek(0)
        assert io.BufferedReader(entry).read(5) == data[:5]
    for use in (entry.read, entry.tell, lambda: entry.readinto(buffer), lambda: entry.size):
        with pytest.raises(ValueError):
            use()


def test_bad_positions_and_buffers_are_refused(container):
    entry = container[PATH]
    for use in (lambda: entry.seek(-1), lambda: entry.seek(0, 9), lambda: entry.pread(1, -1)):
        with pytest.raises(ValueError):
            use()
    with pytest.raises((TypeError, BufferError)):
        entry.readinto(b"read-only")
    assert entry.seek(2**70) == 2**70 and entry.read() == b""


def test_an_entry_says_what_the_container_says(container):
    entry = container[PATH]
    assert (entry.dtype, entry.shape) == ("f32", (8, 2))
    assert entry.checksum.startswith("crc32c:") and entry.verified == "no"
    entry.verify()
    assert entry.verified == "yes"
    assert {"dtype", "shape", "codec"} <= entry.attributes.keys()
    info = container[".ctxfs/info.json"]
    assert (info.dtype, info.shape, info.checksum, info.verified) == (None,) * 4


def test_errors_say_what_is_wrong_and_where(damaged):
    with ctxfs.open(damaged) as c:
        entry = c["meta/episode"]
        for use in (entry.read, entry.verify, lambda: entry.readinto(bytearray(8))):
            with pytest.raises(ctxfs.ChecksumError) as failed:
                use()
            error = failed.value
            assert isinstance(error, (ctxfs.CorruptError, OSError)) and error.errno == errno.EIO
            assert (error.code, error.entry, error.offset) == ("checksum", "meta/episode", 736)
            assert error.filename == str(damaged) and str(damaged) in str(error)
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)
        assert (again.code, again.entry, again.offset) == (error.code, error.entry, error.offset)
        faults = c.check()
        assert ("meta/episode", "checksum") in [(fault.entry, fault.code) for fault in faults]
        assert {(fault.offset, fault.filename) for fault in faults} == {(736, str(damaged))}
        assert entry.verified == "failed"
    with ctxfs.open(damaged, verify=False) as c:
        assert len(c["meta/episode"].read()) == 109


def test_a_missing_path_is_a_key_error_and_a_missing_file(container, tmp_path):
    for use in (lambda: container["absent"], lambda: container["action"],
                lambda: container.stat("a/b"), lambda: container.listdir(PATH),
                lambda: ctxfs.open(tmp_path / "absent")):
        with pytest.raises(ctxfs.NotFoundError) as failed:
            use()
        assert isinstance(failed.value, (KeyError, FileNotFoundError))
        assert failed.value.code == "not_found" and failed.value.errno == errno.ENOENT
    with pytest.raises(ValueError):
        container["nul\0"]


def test_what_is_no_container_is_refused(tmp_path):
    (tmp_path / "text").write_text("text")
    with pytest.raises(ctxfs.NotContainerError) as failed:
        ctxfs.open(tmp_path / "text")
    assert failed.value.filename == str(tmp_path / "text")


def test_links_lead_to_files_and_are_no_keys():
    with ctxfs.open(GOLDEN / "tar" / "symlinks.tar") as c:
        assert "to_file" not in list(c) and "to_file" in c and "loop1" not in c
        assert c.stat("to_file").kind == "link" and c.readlink("to_file") == "dir/file"
        assert c["to_file"].read() == c["dir/file"].read()
        with pytest.raises(ctxfs.NotFoundError):
            c["loop1"]


def test_a_directory_shows_containers_as_directories(episode, tmp_path):
    shutil.copy(episode, tmp_path / "a.wshard")
    with ctxfs.open(tmp_path) as c:
        assert c.listdir() == ["a.wshard"] and c.stat("a.wshard").kind == "directory"
        assert c[f"a.wshard/{PATH}"].size == SIZE
        assert c.arrays_of("a.wshard")[PATH].shape == (8, 2)
        with pytest.raises(ctxfs.NotContainerError):
            c.arrays


def test_a_changed_file_is_stale(episode, tmp_path):
    path = tmp_path / "a.wshard"
    shutil.copy(episode, path)
    with ctxfs.open(path) as c:
        entry = c[PATH]
        path.write_bytes(path.read_bytes() + b"more")
        with pytest.raises(ctxfs.StaleError):
            entry.read()


def test_salvage_shows_what_is_left():
    cut = GOLDEN / "wshard" / "corrupt" / "cut_01008.wshard"
    with pytest.raises(ctxfs.CorruptError) as failed:
        ctxfs.open(cut)
    assert failed.value.offset == 40 and failed.value.entry == ""
    with ctxfs.open(cut, salvage=True) as c:
        assert len(c) > 0 and c.check()


def test_a_file_is_read_at_once(episode, damaged):
    with ctxfs.open(episode) as c:
        for path in c:
            assert c.read_bytes(path) == c[path].read(), path
        with pytest.raises(ctxfs.NotFoundError):
            c.read_bytes("absent")
        with pytest.raises(ctxfs.NotFoundError, match="is a directory"):
            c.read_bytes("action")
        with c["views/overview.html"] as page:
            assert c.read_bytes(page.name) == page.read()
    with pytest.raises(ValueError):
        c.read_bytes("action/ctrl")
    with ctxfs.open(damaged) as c, pytest.raises(ctxfs.ChecksumError) as failed:
        c.read_bytes("meta/episode")
    assert failed.value.entry == "meta/episode"


def test_a_large_file_is_read_at_once(tmp_path):
    path = tmp_path / "x.tar"
    data = bytes(range(256)) * 12288  # 3 MiB
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo("x")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    with ctxfs.open(path) as c:
        assert c.read_bytes("x") == data


@pytest.mark.parametrize("name", ["shared_mixed", "shared_gguf_split", "shared_onnx_external"])
def test_41_1_a_model_of_a_shared_cache_opens_by_its_path(tmp_path, name):
    answers = json.loads((HUB / f"{name}.json").read_text())
    with tarfile.open(HUB / f"{name}.tar") as archive:
        archive.extractall(tmp_path)
    for path, wanted in answers["inside"].items():
        shown, _, inner = path.partition("~dir/")
        organisation, model, below = shown.split("/", 2)
        repository = tmp_path / "hub" / f"models--{organisation}--{model}"
        with ctxfs.open(repository / "snapshots" / below) as c:
            assert hashlib.sha256(c[inner].read()).hexdigest() == wanted["sha256"]
        with ctxfs.open(tmp_path / "hub") as c:
            assert hashlib.sha256(c[path].read()).hexdigest() == wanted["sha256"]
