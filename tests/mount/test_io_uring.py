# SPDX-License-Identifier: Apache-2.0
"""Requests that come by io_uring (docs/mounting.md, -o io_uring)."""
import errno
import hashlib
import os
import pathlib
import random
import signal
import subprocess
import threading

import pytest

import shard
from conftest import (
    GOLDEN, contents, error_of, is_mounted, mount_command, run, sound_containers, wait_until,
)
from test_interrupts import raw_shard

PARAMETER = pathlib.Path("/sys/module/fuse/parameters/enable_uring")
CONTAINER = GOLDEN / "shard" / "entries_1.shard"
FUSE_REFUSED = 7
MIB = 1 << 20


def libfuse_refuses(point) -> bool:
    """Whether libfuse is built without what ctxfs needs of it."""
    done = run(*mount_command(CONTAINER, point, "io_uring=on"))
    run("umount", point)
    return b"io_uring=on: libfuse" in done.stderr


@pytest.fixture
def offered(tmp_path):
    """The kernel offers io_uring to mounts that are made meanwhile."""
    try:
        before = PARAMETER.read_text()
        PARAMETER.write_text("Y")
    except OSError as error:
        pytest.skip(f"the kernel cannot be told to offer io_uring: {error}")
    try:
        if libfuse_refuses(tmp_path / "probe"):
            pytest.skip("libfuse does not let its answers be changed")
        yield
    finally:
        PARAMETER.write_text(before)


@pytest.fixture
def ringed(mount, offered):
    def mounted(source, *options):
        return mount(source, "io_uring=on", *options)

    return mounted


@pytest.fixture
def not_offered():
    if PARAMETER.exists() and PARAMETER.read_text().strip() == "Y":
        if os.geteuid() != 0:
            pytest.skip("the kernel offers io_uring")
        PARAMETER.write_text("N")
        yield
        PARAMETER.write_text("Y")
    else:
        yield


def test_on_is_refused_where_the_kernel_does_not_offer_it(refused, not_offered):
    code, text = refused(CONTAINER, "io_uring=on")
    assert code == FUSE_REFUSED
    if "io_uring=on: libfuse" not in text:
        assert "io_uring=on: the kernel does not offer it" in text and "enable_uring" in text


def test_auto_falls_back(mount, not_offered):
    mounted = mount(CONTAINER, "io_uring=auto")
    assert mounted.stats()["io_uring"] == 0
    assert contents(mounted.root)


@pytest.mark.parametrize(("option", "used"), [
    ((), 0), (("io_uring=off",), 0), (("io_uring=auto",), 1), (("io_uring=on",), 1)])
def test_it_is_used_where_it_is_asked_for(mount, offered, option, used):
    mounted = mount(CONTAINER, *option)
    assert mounted.stats()["io_uring"] == used


def test_all_files_are_the_same(mount, ringed):
    for container in sound_containers()[::9]:
        ring, device = ringed(container), mount(container, "io_uring=off")
        assert contents(ring.root) == contents(device.root), container
        assert [os.stat(ring.root)[i] for i in (0, 3, 6)] == [os.stat(device.root)[i] for i in (0, 3, 6)]


def test_errors_and_attributes_arrive(ringed):
    mounted = ringed(CONTAINER)
    name = next(iter(contents(mounted.root)))
    assert error_of(os.stat, mounted.root / "absent") == errno.ENOENT
    assert error_of(os.stat, mounted.root / ("x" * 300)) == errno.ENAMETOOLONG
    assert os.listxattr(mounted.root / name)
    assert os.statvfs(mounted.root).f_bavail == 0


def random_reads(path, data: bytes, seed: int, wrong: list):
    places = random.Random(seed)
    with open(path, "rb", buffering=0) as file:
        for _ in range(300):
            at = places.randrange(len(data))
            size = places.choice([1, 4096, 100_000, 2 * MIB])
            if os.pread(file.fileno(), size, at) != data[at:at + size]:
                wrong.append((path, at, size))


def test_many_threads_read_right_bytes(ringed, tmp_path):
    bytes_of = {f"e{i}": random.Random(i).randbytes(5 * MIB + i) for i in range(6)}
    path = tmp_path / "many.shard"
    path.write_bytes(shard.build([shard.entry(name, data) for name, data in bytes_of.items()]))
    mounted = ringed(path, "cache=64M")
    wrong: list = []
    threads = [threading.Thread(target=random_reads,
                                args=(mounted.root / f"e{i % 6}", bytes_of[f"e{i % 6}"], i, wrong))
               for i in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert mounted.stats()["reads_total"] > 100


def tasks(pid: int) -> list[dict[str, str]]:
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        lines = (task / "status").read_text().splitlines()
        found.append(dict(line.split(":\t", 1) for line in lines if ":\t" in line))
    return found


def test_its_threads_are_confined_and_alone_on_their_processors(ringed, tmp_path):
    mounted = ringed(raw_shard(tmp_path / "x.shard", {"big": b""}))
    reader = subprocess.Popen(["head", "-c1", mounted / "big"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    assert wait_until(lambda: mounted.stats()["requests_running"] == 1)
    serving = [task for task in tasks(mounted.pid()) if int(task["Pid"]) != mounted.pid()]
    reader.kill()
    reader.wait()
    processors = os.sysconf("SC_NPROCESSORS_CONF")
    alone = [task for task in serving if task["Cpus_allowed_list"].isdigit()]
    if processors > 1:
        assert len(alone) == processors
        assert {task["Cpus_allowed_list"] for task in alone} == {str(i) for i in range(processors)}
    if "nosandbox" not in os.environ.get("CTXFS_MOUNT_OPTIONS", ""):
        assert {task["Seccomp"] for task in serving} == {"2"}


def test_a_long_request_does_not_keep_others(ringed, tmp_path):
    mounted = ringed(raw_shard(tmp_path / "x.shard", {"big": b"", "huge": b""}))
    readers = [subprocess.Popen(["head", "-c1", mounted / name], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL) for name in ("big", "huge")]
    assert wait_until(lambda: mounted.stats()["requests_running"] > 0)
    assert (mounted / "huge").stat().st_size > 0
    for reader in readers:
        reader.kill()
    for reader in readers:
        assert reader.wait(30) == -signal.SIGKILL
    assert wait_until(lambda: mounted.stats()["requests_running"] == 0)


def test_a_mount_ends_while_it_is_read(ringed, tmp_path):
    mounted = ringed(raw_shard(tmp_path / "x.shard", {"big": b""}))
    pid = mounted.pid()
    reader = subprocess.Popen(["head", "-c1", mounted / "big"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    assert wait_until(lambda: mounted.stats()["requests_running"] == 1)
    assert run("umount", "-l", mounted.point).returncode == 0
    reader.kill()
    reader.wait(30)
    assert wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_it(ringed, number):
    mounted = ringed(CONTAINER)
    digest = hashlib.sha256(b"".join(contents(mounted.root).values())).hexdigest()
    pid = mounted.pid()
    os.kill(pid, number)
    assert wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists())
    if number == signal.SIGKILL:
        assert error_of(os.stat, mounted.root / "other") in (errno.ENOTCONN, errno.ECONNABORTED)
        assert run("umount", mounted.point).returncode == 0
    assert wait_until(lambda: not is_mounted(mounted.point))
    again = ringed(CONTAINER)
    assert digest == hashlib.sha256(b"".join(contents(again.root).values())).hexdigest()
