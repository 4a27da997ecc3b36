# SPDX-License-Identifier: Apache-2.0
"""Mounts of ctxfs within the sources of others (docs/tree.md, section 1).

Two daemons that send each other requests wait for each other for good. A daemon
is stopped here where a request to it would show: whoever sends one hangs.
"""

import contextlib
import ctypes
import os
import signal
import subprocess

import pytest

import shard
from conftest import daemon_of, is_mounted, mount_command, run, stop

CONTAINER = shard.build([shard.entry("hello", b"world")])
SECONDS = 20


def abort(point) -> None:
    """Ends all requests to a mount, so that a test that hangs can fail.

    umount(8) would ask the mount for its attributes first.
    """
    force, detach = 1, 2
    for flags in (force, detach):
        ctypes.CDLL(None).umount2(os.fsencode(point), flags)


class Mounts:
    def __init__(self):
        self.points = []
        self.bound = []
        self.stopped = []

    def mount(self, source, point, *options):
        point.mkdir(exist_ok=True)
        self.points.append(point)
        done = run(*mount_command(source, point, *options))
        assert done.returncode == 0, done.stderr.decode()
        return point

    def bind(self, what, where):
        done = run("mount", "--bind", what, where)
        assert done.returncode == 0, done.stderr.decode()
        self.bound.append(where)

    def stop(self, point):
        """The daemon of `point` answers no more."""
        pid = daemon_of(point)
        stop(pid)
        self.stopped.append(pid)

    def ask(self, *command, stdin=None) -> str:
        """What a command prints, which may not take longer than SECONDS."""
        with subprocess.Popen(
            [str(word) for word in command], stdin=stdin, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        ) as asked:
            try:
                return asked.communicate(timeout=SECONDS)[0]
            except subprocess.TimeoutExpired:
                for point in self.points:
                    abort(point)
                pytest.fail(f"{command} hangs")

    def end(self):
        for point in reversed(self.bound):
            run("umount", "-l", point)
        for point in reversed(self.points):
            if is_mounted(point):
                abort(point)
        for pid in self.stopped:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGCONT)


@pytest.fixture
def mounts():
    if os.geteuid() != 0:
        pytest.skip("needs root to abort what hangs")
    made = Mounts()
    yield made
    made.end()


@pytest.fixture
def home(tmp_path):
    """A directory with a container, a file, and a sub-directory."""
    at = tmp_path / "home"
    (at / "sub").mkdir(parents=True)
    (at / "a.shard").write_bytes(CONTAINER)
    (at / "sub" / "file").write_text("f")
    return at


def test_a_source_mounted_twice_within_itself(mounts, home):
    one = mounts.mount(home, home / "v1")
    two = mounts.mount(home, home / "v2")
    for point in (one, two):
        assert set(mounts.ask("ls", point).split()) == {"a.shard", "sub"}
        found = mounts.ask("find", point)
        assert f"{point}/sub/file" in found
        assert "/v1/v" not in found and "/v2/v" not in found
        assert mounts.ask("ls", point / "v1") == ""
        assert mounts.ask("ls", point / "v2") == ""


def test_two_sources_mounted_in_each_other(mounts, tmp_path):
    x, y = tmp_path / "x", tmp_path / "y"
    for at in (x, y):
        at.mkdir()
        (at / "a.shard").write_bytes(CONTAINER)
    mounts.mount(x, y / "a")
    mounts.mount(y, x / "b")
    assert mounts.ask("ls", y / "a").split() == ["a.shard"]
    assert mounts.ask("ls", x / "b").split() == ["a.shard"]
    assert "hello" in mounts.ask("find", y / "a", x / "b")


def test_no_request_reaches_another_mount(mounts, home, tmp_path):
    """Not by listing, not by name, not through a link, a bind mount or a file."""
    other = mounts.mount(home, home / "v2")
    elsewhere = mounts.mount(home, tmp_path / "elsewhere")
    (home / "link").symlink_to("v2")
    (home / "deep").symlink_to("v2/sub")
    (home / "away").symlink_to(elsewhere / "sub" / "file")
    (home / "round").symlink_to("v2/../sub/file")
    (home / "bound").mkdir()
    (home / "bound-file").touch()
    mounts.bind(elsewhere / "sub", home / "bound")
    mounts.bind(elsewhere / "sub" / "file", home / "bound-file")
    point = mounts.mount(home, tmp_path / "mnt")
    mounts.stop(other)
    mounts.stop(elsewhere)
    assert set(mounts.ask("ls", point).split()) == {"a.shard", "sub"}
    found = mounts.ask("find", point)
    assert f"{point}/sub/file" in found and "hello" in found
    hidden = ("v2", "v2/sub", "link", "link/sub", "deep", "deep/file", "away", "round",
              "bound", "bound/file", "bound-file")
    for name in hidden:
        assert mounts.ask("stat", "-c", "%F", point / name) == "", name
    assert mounts.ask("cat", point / "sub" / "file") == "f"


def test_a_mount_that_covers_an_open_container(mounts, home, tmp_path):
    """A container is compared with what its path leads to: now into a mount."""
    inner = home / "inner"
    inner.mkdir()
    (inner / "c.shard").write_bytes(CONTAINER)
    point = mounts.mount(home, tmp_path / "mnt")
    with open(point / "inner" / "c.shard" / "hello", "rb", buffering=0) as file:
        other = mounts.mount(home / "sub", inner, "nonempty")
        mounts.stop(other)
        mounts.ask("sleep", "1.2")  # the path is looked at once a second
        assert mounts.ask("cat", stdin=file) == "world"
    assert set(mounts.ask("ls", point).split()) == {"a.shard", "sub"}


def test_a_source_on_a_mount_of_ctxfs_works(mounts, home, tmp_path):
    first = mounts.mount(home, tmp_path / "first")
    second = mounts.mount(first / "sub", tmp_path / "second")
    assert mounts.ask("cat", second / "file") == "f"
    third = mounts.mount(first, tmp_path / "third")
    assert mounts.ask("cat", third / "a.shard" / "hello") == "world"
