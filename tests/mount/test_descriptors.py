# SPDX-License-Identifier: Apache-2.0
"""A daemon that runs out of file descriptors (docs/tree.md, section 8)."""

import contextlib
import errno
import os
import pathlib
import resource
import stat
import subprocess
import time

import pytest

import shard
from conftest import alive, daemon_of, is_mounted, mount_command, run

FILES = 1100
CONTAINERS = 40
CONTAINER = shard.build([shard.entry("hello", b"world")])


@pytest.fixture
def source(tmp_path):
    at = tmp_path / "in"
    at.mkdir()
    for i in range(FILES):
        (at / f"p{i:04}").write_bytes(b"plain")
    for i in range(CONTAINERS):
        (at / f"c{i:02}.shard").write_bytes(CONTAINER)
    return at


@pytest.fixture
def limited(tmp_path):
    """Mounts with limits on the daemon's descriptors."""
    point = tmp_path / "mnt"
    before = resource.getrlimit(resource.RLIMIT_NOFILE)

    def mounted(source, soft, hard):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(before[1], 20_000), before[1]))
        done = subprocess.run(
            mount_command(source, point), capture_output=True, timeout=30,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)),
        )
        assert done.returncode == 0, done.stderr
        return point

    yield mounted
    if is_mounted(point):
        run("umount", "-l", point)
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def open_all(point, stack) -> tuple[int, set[int]]:
    """Opens every plain file; how many could be, and why others could not."""
    opened, errors = 0, set()
    for i in range(FILES):
        try:
            stack.callback(os.close, os.open(point / f"p{i:04}", os.O_RDONLY))
            opened += 1
        except OSError as error:
            errors.add(error.errno)
    return opened, errors


def test_a_limit_that_is_reached_changes_no_type(limited, source):
    point = limited(source, 1024, 1024)
    pid = daemon_of(point)
    with contextlib.ExitStack() as stack:
        opened, errors = open_all(point, stack)
        assert 512 <= opened < 1024
        assert errors == {errno.EMFILE}
        time.sleep(1.2)  # what the kernel was told of names is forgotten
        for i in range(CONTAINERS):
            path = point / f"c{i:02}.shard"
            assert stat.S_ISDIR(path.stat().st_mode), path
            assert (path / "hello").read_bytes() == b"world"
        listed = {e.name: e.is_dir(follow_symlinks=False) for e in os.scandir(point)}
        assert len(listed) == FILES + CONTAINERS
        assert all(listed[f"c{i:02}.shard"] for i in range(CONTAINERS))
        assert os.stat(point / "p1099").st_size == 5
    assert alive(pid)
    with contextlib.ExitStack() as stack:
        assert open_all(point, stack)[0] == opened, "all were given back"


def test_containers_give_way_to_open_files(limited, source):
    point = limited(source, 256, 256)
    for i in range(CONTAINERS):
        assert (point / f"c{i:02}.shard" / "hello").read_bytes() == b"world"
    with contextlib.ExitStack() as stack:
        opened, errors = open_all(point, stack)
        assert opened >= 128 - 1 and errors == {errno.EMFILE}
        assert "open_containers 0" in (point / ".ctxfs" / "stats").read_text()
        for i in range(CONTAINERS):
            assert (point / f"c{i:02}.shard" / "hello").read_bytes() == b"world"


def test_the_soft_limit_is_raised_to_the_hard_one(limited, source):
    point = limited(source, 64, 4096)
    limits = pathlib.Path(f"/proc/{daemon_of(point)}/limits").read_text()
    line = next(l for l in limits.splitlines() if l.startswith("Max open files"))
    assert line.split()[3:5] == ["4096", "4096"]
    with contextlib.ExitStack() as stack:
        assert open_all(point, stack) == (FILES, set())
        assert (point / "c00.shard" / "hello").read_bytes() == b"world"
