# SPDX-License-Identifier: Apache-2.0
"""-o timeout=: for how long names and attributes of a mirrored directory are
believed, and how changes show before that (issue 15, C14)."""

import os
import shutil
import subprocess
import time

import numpy as np
import pytest

import shard
from conftest import GOLDEN, mount_command, run, wait_until

CONTAINER = GOLDEN / "shard" / "comp_mixed.shard"
LONG = "timeout=3600"
SOON = 5  # seconds; far below that timeout


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    (folder / "sub").mkdir(parents=True)
    (folder / "plain").write_bytes(b"old")
    (folder / "sub" / "file").write_bytes(b"old")
    shutil.copy(CONTAINER, folder / "c.shard")
    return folder


def test_c14_a_static_mirror_is_not_looked_up_again(source, tmp_path):
    """No name and no path is looked up for a file that was open before."""
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    np.save(source / "a.npy", np.arange(1000))
    trace, point = tmp_path / "trace", tmp_path / "mnt"
    daemon = subprocess.Popen(
        ["strace", "-f", "-qq", "-e", "trace=open,openat,openat2,readlink,statx,pread64,inotify_add_watch",
         "-o", trace, *mount_command(source, point, LONG, flags=["-f"])])
    try:
        assert wait_until((point / "a.npy").exists, 30)
        np.load(point / "a.npy")
        time.sleep(1.5)  # what is believed for a second is forgotten
        before = trace.read_text()
        for _ in range(20):
            assert np.load(point / "a.npy").sum() == 499500
        after = trace.read_text()
        assert "inotify_add_watch" in before and "EPERM" not in after
        # A second after it was found, a kept file's path is looked at once.
        more = after.removeprefix(before).splitlines()
        assert len(more) <= 8, more
    finally:
        run("umount", "-l", point)
        daemon.wait(timeout=60)


def test_c14_changes_show_at_once_where_they_are_watched(mount, source):
    point = mount(source, LONG).point
    plain, new = point / "plain", point / "new"
    assert plain.read_bytes() == b"old" and not new.exists()
    assert (point / "sub" / "file").read_bytes() == b"old"
    times = os.stat(point / "sub").st_mtime_ns

    (source / "new").write_bytes(b"new")
    assert wait_until(new.exists, SOON), "a name that was looked up in vain"
    (source / "sub" / "new").write_bytes(b"new")
    assert wait_until(lambda: os.stat(point / "sub").st_mtime_ns != times, SOON)
    (source / "plain").write_bytes(b"longer")
    assert wait_until(lambda: plain.stat().st_size == 6, SOON)
    assert plain.read_bytes() == b"longer"
    (source / "other").write_bytes(b"replaced")
    os.replace(source / "other", source / "plain")
    assert wait_until(lambda: plain.stat().st_size == 8, SOON)
    assert plain.read_bytes() == b"replaced"
    os.remove(source / "plain")
    assert wait_until(lambda: not plain.exists(), SOON)
    os.rename(source / "sub", source / "moved")
    assert wait_until(lambda: not (point / "sub").exists(), SOON)
    assert (point / "moved" / "file").read_bytes() == b"old"
    (source / "moved" / "file").write_bytes(b"after the move")
    assert wait_until(
        lambda: (point / "moved" / "file").stat().st_size == 14, SOON)


def test_c14_a_replaced_container_is_another_one_at_once(mount, source):
    point = mount(source, LONG).point
    inode = os.stat(point / "c.shard").st_ino
    assert len(os.listdir(point / "c.shard")) > 0
    (source / "made").write_bytes(shard.build([shard.entry("only", b"x")]))
    os.replace(source / "made", source / "c.shard")
    assert wait_until(lambda: os.stat(point / "c.shard").st_ino != inode, SOON)
    assert os.listdir(point / "c.shard") == ["only"]
    (source / "c.shard").write_bytes(b"a plain file now")
    assert wait_until((point / "c.shard").is_file, SOON)


def test_c14_an_open_plain_file_that_changes_reads_as_it_is_then(mount, source):
    point = mount(source, LONG).point
    (source / "big").write_bytes(b"a" * (4 << 20))
    with open(point / "big", "rb", buffering=0) as first:
        assert first.read(4096) == b"a" * 4096
        (source / "big").write_bytes(b"b" * (4 << 20))
        first.seek(3 << 20)
        assert first.read(4096) == b"b" * 4096
    assert wait_until(lambda: (point / "big").read_bytes()[:1] == b"b", SOON)


def test_c14_what_is_not_watched_is_believed_for_the_timeout(mount, tmp_path):
    """A link's target lies in a directory that nobody has looked into."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    (target / "file").write_bytes(b"old")
    (source / "link").symlink_to(target / "file")
    point = mount(source, "timeout=3").point
    assert (point / "link").stat().st_size == 3
    start = time.monotonic()
    (target / "file").write_bytes(b"longer")
    assert wait_until(lambda: (point / "link").stat().st_size == 6, 10)
    assert time.monotonic() - start < 3 + 2


def test_c14_without_the_option_changes_show_within_a_second(mount, source):
    for options in ([], ["timeout=0"], ["timeout=1"]):
        mounted = mount(source, *options)
        (source / "grows").write_bytes(b"1")
        assert wait_until(lambda: (mounted.point / "grows").exists(), 2)
        (source / "grows").write_bytes(b"22")
        assert wait_until(lambda: (mounted.point / "grows").stat().st_size == 2, 2)
        os.remove(source / "grows")
        assert wait_until(lambda: not (mounted.point / "grows").exists(), 2)
        links = os.listdir(f"/proc/{mounted.pid()}/fd")
        assert not any("inotify" in os.readlink(f"/proc/{mounted.pid()}/fd/{fd}")
                       for fd in links if os.path.lexists(f"/proc/{mounted.pid()}/fd/{fd}"))


def test_c14_many_changes_at_once_neither_block_nor_end_the_mount(mount, source):
    point = mount(source, LONG).point
    for i in range(2000):
        (source / f"f{i}").write_bytes(b"x")
    assert len([n for n in os.listdir(point) if n.startswith("f")]) == 2000
    for i in range(2000):
        assert (point / f"f{i}").stat().st_size == 1
    for i in range(2000):
        (source / f"f{i}").write_bytes(b"xyz")
    assert wait_until(
        lambda: all((point / f"f{i}").stat().st_size == 3 for i in range(2000)), 20)
    for i in range(2000):
        os.remove(source / f"f{i}")
    assert wait_until(
        lambda: not any((point / f"f{i}").exists() for i in range(2000)), 20)


def test_c14_few_descriptors_serve_a_static_mirror(mount, source):
    """Files that are kept open are closed for those that need a descriptor."""
    for i in range(300):
        (source / f"f{i}").write_bytes(str(i).encode())
    point = mount(source, LONG, before=["prlimit", "--nofile=128"]).point
    for _ in range(2):
        for i in range(300):
            assert (point / f"f{i}").read_bytes() == str(i).encode()
        assert os.listdir(point / "c.shard")
