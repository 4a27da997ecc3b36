# SPDX-License-Identifier: Apache-2.0
"""Many handles on one large mirrored directory."""

import os
import time

import pytest

from conftest import daemon_of, is_mounted, mount_command, run, status_kib, wait_until

NAMES = 30_000
HANDLES = 20


def memory(pid: int) -> int:
    """Bytes of the daemon that no file backs."""
    return status_kib(pid, "RssAnon") * 1024


@pytest.fixture
def large(tmp_path):
    """A mounted directory of NAMES long names."""
    source, point = tmp_path / "in", tmp_path / "mnt"
    source.mkdir()
    for i in range(NAMES):
        os.close(os.open(source / f"{i:06}{'x' * 240}", os.O_CREAT | os.O_WRONLY))
    done = run(*mount_command(source, point))
    assert done.returncode == 0, done.stderr
    yield source, point
    if is_mounted(point):
        run("umount", "-l", point)


def open_and_begin(point) -> int:
    """A handle whose first names have been read."""
    handle = os.open(point, os.O_RDONLY | os.O_DIRECTORY)
    with os.scandir(handle) as names:
        next(names)
    return handle


def test_handles_of_a_directory_share_one_listing(large):
    _, point = large
    pid = daemon_of(point)
    os.close(open_and_begin(point))
    before = memory(pid)
    handles = [open_and_begin(point)]
    one = memory(pid) - before
    for i in range(1, HANDLES):
        if i % 10 == 0:
            time.sleep(1.1)  # a listing is taken anew each second
        handles.append(open_and_begin(point))
    # A second listing is held while it is compared with the first.
    assert memory(pid) - before < 3 * max(one, NAMES * 256)
    for handle in handles:
        os.close(handle)
    # The heaps of the daemon's threads may keep some of it, but no listing.
    assert wait_until(lambda: memory(pid) - before < max(one, NAMES * 256))


def test_a_handle_keeps_its_listing_while_others_see_a_new_one(large):
    source, point = large
    old = open_and_begin(point)
    (source / "new").touch()
    os.unlink(source / f"{0:06}{'x' * 240}")
    with os.scandir(old) as names:
        assert len([name for name in names]) == NAMES, "from the start, again"
    assert len(os.listdir(point)) == NAMES
    os.close(old)
