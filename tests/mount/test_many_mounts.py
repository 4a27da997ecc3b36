# SPDX-License-Identifier: Apache-2.0
"""Several mounts at once, bind mounts, and mount namespaces."""

import contextlib
import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

import shard
from conftest import (
    GOLDEN, alive, daemon_of, is_mounted, mount_command, run, wait_until,
)

CONTAINER = GOLDEN / "shard" / "comp_mixed.shard"
# How long the kernel may believe names and attributes, and some.
MOMENT = 1.3


@pytest.fixture
def source(tmp_path):
    """A directory of containers and plain files, none of them damaged."""
    folder = tmp_path / "source"
    (folder / "sub").mkdir(parents=True)
    for i in range(4):
        text = f"entry of {i}\n".encode() * 500
        inner = shard.build([shard.entry("deep", text)], role=16)
        (folder / f"c{i}.shard").write_bytes(shard.build(
            [shard.entry("x", text), shard.entry("in.shard", inner)], role=16))
        (folder / "sub" / f"p{i}.bin").write_bytes(text * 3)
    return folder


def digest(root) -> dict[str, str]:
    """The SHA-256 of every file by its path, but for the mount's own; of a mount
    with list=all."""
    found = {}
    for folder, folders, names in os.walk(root):
        if pathlib.Path(folder) == pathlib.Path(root):
            folders[:] = [name for name in folders if name != ".ctxfs"]
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, root)] = hashlib.sha256(file.read()).hexdigest()
    return found


def test_many_mounts_of_one_directory_at_once(tmp_path, source):
    points = [tmp_path / f"m{i}" for i in range(16)]
    starting = [subprocess.Popen(mount_command(source, p, "list=all")) for p in points]
    try:
        assert [one.wait(timeout=60) for one in starting] == [0] * len(points)
        pids = [daemon_of(point) for point in points]
        assert len(set(pids)) == len(points)
        # All at once, by processes of their own.
        readers = [subprocess.Popen(["find", p, "-type", "f", "-exec", "cat", "{}", "+"],
                                    stdout=subprocess.PIPE) for p in points]
        for one in readers:
            one.communicate(timeout=60)
        assert [one.returncode for one in readers] == [0] * len(points)
        digests = [digest(point) for point in points]
        assert len(digests[0]) > 20
        assert all(one == digests[0] for one in digests)
    finally:
        for point in points:
            run("umount", point)
    assert not any(is_mounted(point) for point in points)
    assert wait_until(lambda: not any(alive(pid) for pid in pids))


def test_mounts_come_and_go_while_others_are_read(tmp_path, source, mount):
    steady = mount(source, "list=all")
    want = digest(steady.point)
    for turn in range(12):
        point = tmp_path / "turn"
        assert run(*mount_command(source, point, "list=all")).returncode == 0
        assert digest(point) == want, turn
        assert run("umount", point).returncode == 0
        assert digest(steady.point) == want, turn


# Bind mounts.


@pytest.fixture
def bind():
    """A function that bind-mounts a directory."""
    made = []

    def bound(what, at, *options):
        at.mkdir(exist_ok=True)
        done = run("mount", "--bind", *options, what, at)
        if done.returncode != 0:
            pytest.skip("no bind mounts here: " + done.stderr.decode())
        made.append(at)
        return at

    yield bound
    for at in reversed(made):
        if is_mounted(at):
            run("umount", "-l", at)


def test_a_bind_mount_of_a_mount(tmp_path, source, mount, bind):
    mounted = mount(source, "list=all")
    want = digest(mounted.point)
    whole = bind(mounted.point, tmp_path / "whole")
    part = bind(mounted.point / "c1.shard" / "views" / "in.shard~dir", tmp_path / "part")
    assert digest(whole) == want
    assert (part / "deep").read_bytes() == b"entry of 1\n" * 500
    # The daemon serves as long as one of them is left, and no longer.
    pid = mounted.pid()
    assert run("umount", mounted.point).returncode == 0
    assert not is_mounted(mounted.point)
    assert digest(whole) == want
    assert run("umount", whole).returncode == 0
    assert (part / "deep").read_bytes() == b"entry of 1\n" * 500
    assert alive(pid)
    assert run("umount", part).returncode == 0
    assert wait_until(lambda: not alive(pid))


def test_a_bind_mount_as_source(tmp_path, source, mount, bind):
    at = bind(source, tmp_path / "bound")
    run("mount", "-o", "remount,bind,ro", at)
    mounted = mount(at, "list=all")
    assert digest(mounted.point) == digest(mount(source, "list=all").point)
    # A change through the other name of the directory shows.
    new = tmp_path / "new"
    new.write_bytes(shard.build([shard.entry("x", b"another")], role=16))
    os.rename(new, source / "c0.shard")
    time.sleep(MOMENT)
    assert (mounted.point / "c0.shard" / "x").read_bytes() == b"another"


def test_what_is_mounted_over_a_source_later_shows(tmp_path, source, mount, bind):
    mounted = mount(source)
    assert (mounted.point / "sub" / "p0.bin").exists()
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(CONTAINER, other / "late.shard")
    (other / "late.txt").write_text("late")
    over = bind(other, source / "sub")
    time.sleep(MOMENT)
    assert set(os.listdir(mounted.point / "sub")) == {"late.shard", "late.txt"}
    assert (mounted.point / "sub" / "late.txt").read_text() == "late"
    assert (mounted.point / "sub" / "late.shard" / ".ctxfs").is_dir()
    # Lazily: a container that is looked at keeps its file open.
    assert run("umount", "-l", over).returncode == 0
    time.sleep(MOMENT)
    assert (mounted.point / "sub" / "p0.bin").exists()


# Mount namespaces.


@contextlib.contextmanager
def namespace(*command):
    """A process in a mount namespace of its own that runs `command` and then
    waits; what is mounted in it shows nowhere else."""
    script = '"$@" && echo ready && exec sleep 1000'
    process = subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh",
         *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        if process.stdout.readline() != b"ready\n":
            process.wait(timeout=10)
            text = process.stderr.read().decode()
            if "unshare" in text:
                pytest.skip("no mount namespaces here: " + text)
            raise AssertionError(text)
        yield process
    finally:
        process.kill()
        process.wait()


def inside(process, *command) -> subprocess.CompletedProcess:
    return run("nsenter", f"--target={process.pid}", "--mount", *command)


def test_a_mount_in_a_namespace_of_its_own(tmp_path, source):
    point = tmp_path / "inner"
    point.mkdir()
    with namespace(*mount_command(source, point)) as process:
        assert not is_mounted(point), "it shows in that namespace alone"
        assert os.listdir(point) == []
        done = inside(process, "cat", point / "c2.shard" / "x")
        assert done.stdout == b"entry of 2\n" * 500
        pid = daemon_of(point)
    # The daemon keeps its namespace, as every FUSE daemon does, until it is told.
    assert alive(pid)
    os.kill(pid, signal.SIGTERM)
    assert wait_until(lambda: not alive(pid))


def test_a_namespace_that_copied_a_mount(source, mount):
    mounted = mount(source)
    pid = mounted.pid()
    with namespace("true") as process:
        assert run("umount", mounted.point).returncode == 0
        done = inside(process, "cat", mounted.point / "c3.shard" / "views" / "in.shard~dir" / "deep")
        assert done.stdout == b"entry of 3\n" * 500
        assert alive(pid), "the copy is still served"
    assert wait_until(lambda: not alive(pid)), "the last copy went with its namespace"
