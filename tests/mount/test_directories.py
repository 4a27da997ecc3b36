# SPDX-License-Identifier: Apache-2.0
"""Directories as sources (docs/tree.md, section 1)."""
import json
import os
import shutil
import socket
import subprocess
import time

import pytest

from conftest import BIN, GOLDEN, daemon_of, error_of, is_mounted, run, status_kib, wait_until

MOUNT = BIN / "mount.ctxfs"
GOOD = GOLDEN / "shard" / "entries_1.shard"
OTHER = GOLDEN / "shard" / "names_unicode.shard"
DAMAGED = GOLDEN / "shard" / "bad_truncated_index.shard"
MODEL = next((GOLDEN / "mcf").rglob("*.mcf"))
# How long what is told of a directory may be believed, and some.
MOMENT = 1.3


@pytest.fixture
def mount_all(tmp_path):
    """Mounts sources and gives the mount point."""
    points = []

    def mounted(*sources, options=()):
        point = tmp_path.parent / f"{tmp_path.name}-mnt{len(points)}"
        points.append(point)
        done = run(MOUNT, *sources, point, *options)
        assert done.returncode == 0, done.stderr.decode()
        return point

    yield mounted
    for point in points:
        if is_mounted(point):
            run("umount", "-l", point)


def names(directory) -> set[str]:
    return set(os.listdir(directory))


def test_a_directory_is_mirrored(mount_all, tmp_path):
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    shutil.copy(GOOD, tmp_path / "a.shard")
    shutil.copy(MODEL, tmp_path / "sub" / "hash-name-without-extension")
    (tmp_path / "sub" / "notes.txt").write_text("plain")
    (tmp_path / "sub" / "deep" / "empty").touch()
    point = mount_all(tmp_path)
    assert names(point) == {"a.shard", "sub"}
    assert names(point / "sub") == {"hash-name-without-extension", "notes.txt", "deep"}
    assert (point / "sub" / "notes.txt").read_text() == "plain"
    assert (point / "sub" / "deep" / "empty").read_bytes() == b""
    assert (point / "a.shard" / ".ctxfs" / "container").read_bytes() == GOOD.read_bytes()
    info = json.loads(
        (point / "sub" / "hash-name-without-extension" / ".ctxfs" / "info.json").read_text()
    )
    assert info["format"] == "mcf"
    assert (point / "sub" / "notes.txt").stat().st_mode & 0o777 == 0o444 & ~0o022
    assert "open_containers 2" in (point / ".ctxfs" / "stats").read_text()


def test_one_damaged_container_hides_no_other(mount_all, tmp_path):
    shutil.copy(GOOD, tmp_path / "good.shard")
    shutil.copy(DAMAGED, tmp_path / "bad.shard")
    (tmp_path / "empty.shard").touch()
    point = mount_all(tmp_path)
    assert names(point) == {"good.shard", "bad.shard", "empty.shard"}
    assert names(point / "bad.shard") == set()
    info = json.loads((point / "bad.shard" / ".ctxfs" / "info.json").read_text())
    assert "byte" in json.dumps(info), "the reason and where it is"
    assert (point / "bad.shard" / ".ctxfs" / "container").read_bytes() == DAMAGED.read_bytes()
    assert (point / "empty.shard").read_bytes() == b""
    assert names(point / "good.shard") == {"only"}


def test_changes_show_within_a_moment(mount_all, tmp_path):
    (tmp_path / "sub").mkdir()
    shutil.copy(GOOD, tmp_path / "x.shard")
    point = mount_all(tmp_path)
    before = names(point / "x.shard")
    assert names(point / "sub") == set()
    with pytest.raises(FileNotFoundError):
        (point / "sub" / "late.txt").stat()
    shutil.copy(MODEL, tmp_path / "sub" / "late.mcf")
    (tmp_path / "sub" / "late.txt").write_text("late")
    time.sleep(MOMENT)
    assert names(point / "sub") == {"late.mcf", "late.txt"}
    assert (point / "sub" / "late.txt").read_text() == "late"
    assert (point / "sub" / "late.mcf" / ".ctxfs").is_dir()

    # Replaced by another container; and then by what is none.
    shutil.copy(OTHER, tmp_path / "new")
    os.rename(tmp_path / "new", tmp_path / "x.shard")
    time.sleep(MOMENT)
    assert (point / "x.shard" / ".ctxfs" / "container").read_bytes() == OTHER.read_bytes()
    assert names(point / "x.shard") != before
    (tmp_path / "x.shard").write_text("no container")
    time.sleep(MOMENT)
    assert (point / "x.shard").read_text() == "no container"
    with open(tmp_path / "x.shard", "a") as file:
        file.write(", and longer")
    time.sleep(MOMENT)
    assert (point / "x.shard").read_text() == "no container, and longer"
    os.unlink(tmp_path / "x.shard")
    time.sleep(MOMENT)
    assert "x.shard" not in names(point)
    assert not (point / "x.shard").exists()


def test_a_handle_outlives_its_container_but_serves_nothing_else(mount_all, tmp_path):
    shutil.copy(GOOD, tmp_path / "x.shard")
    point = mount_all(tmp_path)
    entry = next(p for p in (point / "x.shard").rglob("*") if p.is_file() and ".ctxfs" not in p.parts)
    with open(entry, "rb") as file:
        shutil.copy(OTHER, tmp_path / "new")
        os.rename(tmp_path / "new", tmp_path / "x.shard")
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        assert error_of(file.read) == 116  # ESTALE
    time.sleep(MOMENT)
    assert (point / "x.shard" / ".ctxfs" / "container").read_bytes() == OTHER.read_bytes()


def test_the_layout_of_download_caches(mount_all, tmp_path):
    repository = tmp_path / "models--org--name"
    (repository / "blobs").mkdir(parents=True)
    snapshot = repository / "snapshots" / "0123abcd"
    snapshot.mkdir(parents=True)
    shutil.copy(MODEL, repository / "blobs" / "e3b0c442")
    (repository / "blobs" / "5feceb66").write_text('{"a": 1}')
    (snapshot / "model.mcf").symlink_to("../../blobs/e3b0c442")
    (snapshot / "config.json").symlink_to("../../blobs/5feceb66")
    (snapshot / "gone").symlink_to("../../blobs/missing")
    point = mount_all(repository)
    shown = point / "snapshots" / "0123abcd"
    assert names(shown) == {"model.mcf", "config.json"}
    assert (shown / "config.json").read_text() == '{"a": 1}'
    assert not (shown / "config.json").is_symlink()
    container = (shown / "model.mcf" / ".ctxfs" / "container").read_bytes()
    assert container == MODEL.read_bytes()
    assert names(point / "blobs") == {"e3b0c442", "5feceb66"}


def test_what_is_no_file_is_not_there(mount_all, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(tmp_path / "socket"))
    os.mknod(tmp_path / "device", 0o600 | 0o020000, os.makedev(1, 3))
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "fifo-link").symlink_to("fifo")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "up").symlink_to("..")
    (tmp_path / "sub" / "here").symlink_to(".")
    (tmp_path / "file").write_text("f")
    point = mount_all(tmp_path)
    assert names(point) == {"sub", "file"}
    for gone in ("fifo", "socket", "device", "self", "fifo-link", "sub/up"):
        assert not (point / gone).exists()
    found = subprocess.run(
        ["find", str(point)], capture_output=True, timeout=20, check=True, text=True
    ).stdout.split()
    assert len(found) == 3, found
    server.close()


def test_links_out_of_the_source(mount_all, tmp_path):
    inside = tmp_path / "in"
    inside.mkdir()
    (tmp_path / "secret").write_text("s")
    (inside / "out").symlink_to(tmp_path / "secret")
    (inside / "file").write_text("f")
    (inside / "absolute").symlink_to(inside / "file")
    assert names(mount_all(inside)) == {"out", "file", "absolute"}
    others = mount_all(inside, options=("-o", "allow_other"))
    assert names(others) == {"file", "absolute"}
    assert not (others / "out").exists()
    assert (others / "absolute").read_text() == "f"


def test_a_mount_within_its_source_does_not_show_itself(tmp_path):
    shutil.copy(GOOD, tmp_path / "a.shard")
    (tmp_path / "sub").mkdir()
    point = tmp_path / "sub" / "mnt"
    point.mkdir()
    done = run(MOUNT, tmp_path, point)
    assert done.returncode == 0, done.stderr
    try:
        listed = subprocess.run(
            ["find", str(point), "-maxdepth", "2"],
            capture_output=True, timeout=20, check=True, text=True,
        ).stdout
        assert "a.shard" in listed and "/mnt/sub/mnt" not in listed
    finally:
        run("umount", "-l", point)


def test_several_sources(mount_all, tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two" / "data").mkdir(parents=True)
    (tmp_path / "two" / "data" / "t").write_text("t")
    shutil.copy(GOOD, tmp_path / "one" / "x.shard")
    shutil.copy(OTHER, tmp_path / "two" / "x.shard")
    point = mount_all(
        tmp_path / "one" / "x.shard", tmp_path / "two" / "x.shard", tmp_path / "two" / "data"
    )
    assert names(point) == {"x.shard", "x~2.shard", "data"}
    assert (point / "x~2.shard" / ".ctxfs" / "container").read_bytes() == OTHER.read_bytes()
    assert (point / "data" / "t").read_text() == "t"
    done = run(MOUNT, GOOD, tmp_path / "two" / "data" / "t", tmp_path / "m")
    assert done.returncode == 3 and b"data/t" in done.stderr


def test_ours_hides_nothing(mount_all, tmp_path):
    (tmp_path / ".ctxfs").mkdir()
    (tmp_path / ".ctxfs" / "theirs").write_text("t")
    point = mount_all(tmp_path)
    assert names(point) == {".ctxfs"}
    assert (point / ".ctxfs" / "theirs").read_text() == "t"
    assert "reads_total" in (point / ".ctxfs~2" / "stats").read_text()


def test_what_the_daemon_may_not_read_is_one_file_less(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "locked").write_text("l")
    (tmp_path / "in" / "locked").chmod(0)
    (tmp_path / "in" / "open").write_text("o")
    point = tmp_path / "mnt"
    # Root without the right to pass over permissions.
    drop = "--bounding-set=-dac_override,-dac_read_search"
    done = run("setpriv", drop, MOUNT, tmp_path / "in", point)
    assert done.returncode == 0, done.stderr
    try:
        assert (point / "open").read_text() == "o"
        with pytest.raises(OSError):
            (point / "locked").read_text()
        assert names(point) == {"locked", "open"}
    finally:
        run("umount", "-l", point)


def test_ten_thousand_containers(mount_all, tmp_path):
    count = 10_000
    data = GOOD.read_bytes()
    for i in range(count):
        (tmp_path / f"{i:05}.shard").write_bytes(data)
    point = mount_all(tmp_path)
    listed = names(point)
    assert len(listed) == count
    # Nothing is opened by a listing; at most 512 stay open.
    assert "open_containers 0" in (point / ".ctxfs" / "stats").read_text()
    for i in range(0, count, 7):
        assert names(point / f"{i:05}.shard") == {"only"}
    stats = (point / ".ctxfs" / "stats").read_text()
    assert "open_containers 512" in stats
    first = point / "00000.shard" / ".ctxfs" / "container"
    assert first.read_bytes() == data, "opened again"
    assert status_kib(daemon_of(point), "VmRSS") < 100 * 1024


def test_unmounts_cleanly(mount_all, tmp_path):
    shutil.copy(GOOD, tmp_path / "a.shard")
    point = mount_all(tmp_path)
    assert names(point / "a.shard")
    assert run("umount", point).returncode == 0
    assert wait_until(lambda: not is_mounted(point))
