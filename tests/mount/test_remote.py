# SPDX-License-Identifier: Apache-2.0
"""URLs as SOURCEs: what is read, what that moves and keeps, and the processes of a mount."""

import concurrent.futures
import contextlib
import errno
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import zipfile

import pytest

from conftest import alive, is_helper, mount_command, run, thread_statuses, wait_until
from remote import (  # noqa: F401  fixtures
    CTXFS,
    GRANULE,
    MIB,
    NEEDS_URLS,
    SUPPORTED,
    children_named,
    entries,
    environment,
    fixture_ctxfs,
    fixture_faults,
    fixture_mounted,
    fixture_web,
    injected,
    serving_processes,
    tensors,
    the_only,
    values,
)

pytestmark = NEEDS_URLS


# What is read.


def test_30_7_commands_take_urls(web, ctxfs, tmp_path):
    url = web.url("big.safetensors")
    info = ctxfs("info", url)
    assert info.returncode == 0 and b"safetensors" in info.stdout, info.stderr
    assert {f"t{i}" for i in range(16)} <= {name.removesuffix(".bin") for name in
                                            entries(ctxfs("ls", f"{url}//tensors"))}
    names = entries(ctxfs("ls", f"{url}//tensors"))
    one = next(name for name in names if name.startswith("t5"))
    assert ctxfs("cat", f"{url}//tensors/{one}").stdout == values(5, MIB)
    check = ctxfs("check", url)
    assert b"this format has no checksums" in check.stdout, check
    done = ctxfs("extract", url, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "tensors" / one).read_bytes() == values(5, MIB)


def test_30_7_a_url_can_be_mounted(web, mounted):
    root = mounted(web.url("big.safetensors"))
    names = sorted(os.listdir(root / "tensors"))
    assert len(names) == 16
    one = next(name for name in names if name.startswith("t11"))
    assert (root / "tensors" / one).read_bytes() == values(11, MIB)
    assert web.url("big.safetensors") in pathlib.Path("/proc/mounts").read_text()
    stats = (root.parent / ".ctxfs" / "stats").read_text()
    counters = dict(line.split() for line in stats.splitlines() if line[0] != "#")
    assert int(counters["ctxfs_remote_requests_total"]) >= 2
    assert MIB <= int(counters["ctxfs_remote_received_bytes_total"]) <= 2 * MIB


def test_30_1_files_beside_are_found(web, ctxfs):
    (web.www / "m-00001-of-00002.safetensors").write_bytes(tensors(1, 4096))
    (web.www / "m-00002-of-00002.safetensors").write_bytes(
        tensors(1, 8192).replace(b'"t0"', b'"u0"'))
    (web.www / "m.safetensors.index.json").write_text(json.dumps({
        "metadata": {"total_size": 12288},
        "weight_map": {"t0": "m-00001-of-00002.safetensors",
                       "u0": "m-00002-of-00002.safetensors"}}))
    names = entries(ctxfs("ls", web.url("m.safetensors.index.json//tensors")))
    assert [name[:2] for name in names] == ["t0", "u0"]


# What is moved.


def test_30_4_one_tensor_moves_its_bytes_and_the_index(web, ctxfs, tmp_path):
    url = web.url("big.safetensors")
    one = next(n for n in entries(ctxfs("ls", f"{url}//tensors")) if n.startswith("t9"))
    web.forget()
    done = ctxfs("cat", f"{url}//tensors/{one}", CTXFS_CACHE_DIR=str(tmp_path / "other"))
    assert done.stdout == values(9, MIB)
    assert web.moved() <= 1.05 * MIB + 3 * GRANULE
    assert {status for status, _, _ in web.requests()} == {206}


def test_30_4_info_of_an_archive_reads_its_ends(web, ctxfs):
    path = web.www / "big.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(8):
            archive.writestr(f"m{i}", values(i, MIB))
    web.forget()
    assert ctxfs("info", web.url("big.zip")).returncode == 0
    assert web.moved() <= 4 * GRANULE and len(web.requests()) <= 4
    assert ctxfs("cat", web.url("big.zip//m3")).stdout == values(3, MIB)


def test_30_4_random_reads_fetch_little(web, mounted):
    path = web.www / "long.safetensors"
    path.write_bytes(tensors(1, 32 * MIB))
    root = mounted(web.url("long.safetensors"))
    chance = random.Random(30)
    web.forget()
    with open(root / "tensors" / "t0", "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        for _ in range(40):
            at = chance.randrange(32 * MIB - 4096)
            data = os.pread(file.fileno(), 4096, at)
            assert data == (values(0, MIB)[at % MIB:] + values(0, MIB))[:4096]
    assert web.moved() <= 1.5 * 40 * GRANULE


# What the cache keeps.


def test_30_5_the_cache_serves_the_next_process(web, ctxfs):
    url = web.url("big.safetensors")
    names = entries(ctxfs("ls", f"{url}//tensors"))
    read = [f"{url}//tensors/{name}" for name in names]
    first = ctxfs("cat", *read).stdout
    web.forget()
    assert ctxfs("cat", *read).stdout == first
    assert web.moved() <= len(names) * GRANULE  # each opens it anew


def test_30_5_a_damaged_cache_serves_no_wrong_byte(web, ctxfs, tmp_path):
    url = web.url("big.safetensors")
    name = next(n for n in entries(ctxfs("ls", f"{url}//tensors")) if n.startswith("t2"))
    ctxfs("cat", f"{url}//tensors/{name}")
    files = [f for f in (tmp_path / "cache" / "ctxfs").rglob("*-*") if f.is_file()]
    assert files
    for file in files:
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    assert ctxfs("cat", f"{url}//tensors/{name}").stdout == values(2, MIB)
    assert (tmp_path / "cache" / "ctxfs").stat().st_mode & 0o777 == 0o700


def descriptors_of_the_cache(point) -> list[str]:
    """The files of the cache that the serving process has open."""
    links = []
    for pid in serving_processes(point):
        for one in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                links.append(os.readlink(one))
    return [link for link in links if "/cache/ctxfs/" in link]


def test_30_5_a_mount_reads_files_of_the_cache_that_others_spoil(web, ctxfs, mounted, tmp_path):
    url = web.url("big.safetensors")
    assert ctxfs("cache", "warm", url).returncode == 0
    web.forget()
    root = mounted(url)
    paths = {int(name[1:].split(".")[0]): root / "tensors" / name
             for name in os.listdir(root / "tensors") if name.startswith("t")}
    assert paths[0].read_bytes() == values(0, MIB)
    if os.geteuid() == 0:
        assert 1 <= len(descriptors_of_the_cache(root.parent)) <= 64
    files = sorted(f for f in (tmp_path / "cache" / "ctxfs").rglob("*-*")
                   if f.is_file() and f.stat().st_size > 8 * GRANULE)
    assert len(files) >= 3
    for i, file in enumerate(files):
        if i % 3 == 0:
            os.truncate(file, file.stat().st_size // 2)
        elif i % 3 == 1:
            file.unlink()
        else:
            with open(file, "r+b") as damaged:
                damaged.seek(-5 * GRANULE, os.SEEK_END)
                damaged.write(b"damage")
    for number, path in sorted(paths.items()):
        assert path.read_bytes() == values(number, MIB), number
    assert web.moved() > GRANULE  # what was lost came again
    if os.geteuid() == 0:
        assert len(descriptors_of_the_cache(root.parent)) <= 64


def test_30_5_an_object_that_was_replaced_is_not_served_from_the_cache(web, ctxfs):
    path = web.www / "replaced.safetensors"
    path.write_bytes(tensors(1, MIB))
    url = web.url("replaced.safetensors")
    name = entries(ctxfs("ls", f"{url}//tensors"))[0]
    assert ctxfs("cat", f"{url}//tensors/{name}").stdout == values(0, MIB)
    data = tensors(1, MIB)
    path.write_bytes(data[:-MIB] + values(77, MIB))
    os.utime(path, (1, 1))
    assert ctxfs("cat", f"{url}//tensors/{name}").stdout == values(77, MIB)


def test_30_5_a_full_disk_keeps_nothing_and_loses_nothing(web, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    small = tmp_path / "small"
    small.mkdir()
    done = run("unshare", "-m", "bash", "-c",
               f"mount -t tmpfs -o size=1m,mode=700 none {small} && "
               f"{CTXFS} cat {web.url('big.safetensors')}//tensors/t7 && "
               f"{CTXFS} cat {web.url('big.safetensors')}//tensors/t8",
               env=environment(tmp_path, CTXFS_CACHE_DIR=str(small)))
    assert done.returncode == 0, done.stderr
    assert done.stdout == values(7, MIB) + values(8, MIB)


def test_30_5_a_killed_process_leaves_a_sound_cache(web, ctxfs, tmp_path):
    url = web.url("big.safetensors")
    for delay in (0.02, 0.05, 0.08, 0.12, 0.2):
        with subprocess.Popen([CTXFS, "check", url], env=environment(tmp_path),
                              stdout=subprocess.DEVNULL) as process:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(delay)
                raise subprocess.TimeoutExpired("it was faster", delay)
            process.kill()
    for number in range(0, 16, 3):
        assert ctxfs("cat", f"{url}//tensors/t{number}").stdout == values(number, MIB)


# The processes of a mount.


def test_30_3_the_fetcher_comes_back(web, mounted):
    root = mounted(web.url("big.safetensors"))
    point = root.parent
    killed = set()
    for name in sorted(os.listdir(root / "tensors")):
        fetcher = the_only("ctxfs-fetcher", point, killed)
        killed.add(fetcher)
        with open(root / "tensors" / name, "rb") as file:
            start = file.read(4096)
            os.kill(fetcher, signal.SIGKILL)
            assert start + file.read() == values(int(name[1:].split(".")[0]), MIB)
    assert len(killed) == 16


@pytest.mark.parametrize("victim", ("ctxfs-fetcher", "ctxfs-keeper", "ctxfs-standby"))
def test_30_3_three_kills_in_a_row_lose_nothing(web, mounted, victim):
    (web.www / "mid.safetensors").write_bytes(tensors(4, 4 * MIB))
    root = mounted(web.url("mid.safetensors"))
    point = root.parent
    killed = set()
    for number in range(4):
        with open(root / "tensors" / f"t{number}", "rb") as file:
            start = file.read(4096)
            for _ in range(3):
                pid = the_only(victim, point, killed)
                killed.add(pid)
                os.kill(pid, signal.SIGKILL)
            assert start + file.read() == values(number, 4 * MIB)
    assert len(killed) == 12
    names = ("ctxfs-fetcher", "ctxfs-keeper", "ctxfs-standby")
    # One of each is there again, and not two fetchers.
    assert wait_until(lambda: [len(set(children_named(name, point)) - killed)
                               for name in names] == [1, 1, 1])


def test_30_3_a_read_outlives_the_keeper_it_waits_for(faults, mounted):
    """The fetcher that has the request is killed with its keeper."""
    root = mounted(faults.url("held", "m.safetensors"), CTXFS_REMOTE_TIMEOUT="60")
    point = root.parent
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        before = len(faults.seen)
        read = pool.submit((root / "tensors" / "t1").read_bytes)
        assert wait_until(lambda: len(faults.seen) > before)
        keeper = the_only("ctxfs-keeper", point)
        os.kill(keeper, signal.SIGKILL)
        assert wait_until(lambda: set(children_named("ctxfs-keeper", point)) - {keeper})
        faults.released.set()
        assert read.result(60) == values(1, MIB)


def test_30_3_all_processes_end_with_the_mount(web, mounted):
    root = mounted(web.url("big.safetensors"))
    names = ("ctxfs-fetcher", "ctxfs-keeper", "ctxfs-standby")

    def processes():
        return [pid for name in names for pid in children_named(name, root.parent)]

    assert wait_until(lambda: len(processes()) == 3)
    processes = processes()
    assert run("umount", root.parent).returncode == 0
    assert wait_until(lambda: not any(map(alive, processes)))


def test_30_3_the_fetcher_and_the_keepers_have_few_privileges(web, mounted):
    """By what the kernel says of each."""
    root = mounted(web.url("big.safetensors"))
    names = ("ctxfs-fetcher", "ctxfs-keeper", "ctxfs-standby")
    assert wait_until(lambda: all(children_named(name, root.parent) for name in names))
    (root / "tensors" / sorted(os.listdir(root / "tensors"))[0]).read_bytes()
    for name in names:
        pid = the_only(name, root.parent)
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        assert "NoNewPrivs:\t1" in status and "CapEff:\t0000000000000000" in status
    fetcher = the_only("ctxfs-fetcher", root.parent)
    assert "Seccomp:\t2" in pathlib.Path(f"/proc/{fetcher}/status").read_text()


needs_probes = pytest.mark.skipif(not SUPPORTED or os.geteuid() != 0,
                                  reason="needs root, and x86-64")


@needs_probes
def test_30_3_a_probe_of_serving_threads_makes_no_socket(web, mounted):
    """Calls that each thread of a mount makes in earnest, not by what its filter says."""
    root = mounted(web.url("big.safetensors"))
    (root / "tensors" / "t0").read_bytes()
    (server,) = serving_processes(root.parent)
    threads = [int(status.split("\nPid:\t")[1].split()[0])
               for status in thread_statuses(server)[1:] if not is_helper(status)]
    assert threads
    for thread in threads:
        for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):
            assert injected(thread, "socket", family, socket.SOCK_STREAM, 0) == -errno.EPERM
        assert injected(thread, "open", b"/etc/passwd", os.O_RDONLY, 0) == -errno.EACCES
    assert (root / "tensors" / "t1").read_bytes() == values(1, MIB)  # they go on


@needs_probes
@pytest.mark.parametrize("what", ("info", "mount"))
def test_30_3_a_probe_of_what_opens_a_container_makes_no_socket(what, fuse, faults, tmp_path):
    """The header takes two requests, of which the second is answered after the probe."""
    faults.objects["wide.safetensors"] = tensors(1500, 32)
    url, point = faults.url("held", "wide.safetensors"), tmp_path / "mnt"
    words = {"info": [CTXFS, "info", url], "mount": mount_command(url, point, flags=["-f"])}[what]
    env = environment(tmp_path, CTXFS_REMOTE_TIMEOUT="60")
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE) as opening:
        try:
            assert wait_until(lambda: len(faults.seen) > 1)
            threads = sorted(map(int, os.listdir(f"/proc/{opening.pid}/task")))
            if what == "mount":
                threads.remove(opening.pid)  # waits for the one that opens
            assert threads
            for thread in threads:
                assert injected(thread, "socket", socket.AF_INET, socket.SOCK_DGRAM,
                                0) == -errno.EPERM
                assert injected(thread, "open", b"/etc/passwd", os.O_RDONLY, 0) == -errno.EACCES
        finally:
            faults.released.set()
            if what == "mount":
                assert wait_until(lambda: run("umount", point).returncode == 0)
        assert opening.wait(60) == 0


@needs_probes
def test_30_3_a_probe_of_the_fetcher_opens_no_file_outside_the_cache(web, mounted, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("s")
    root = mounted(web.url("big.safetensors"))
    (root / "tensors" / "t0").read_bytes()
    fetcher = the_only("ctxfs-fetcher", root.parent)
    inside = next(f for f in (tmp_path / "cache" / "ctxfs").rglob("*-*") if f.is_file())

    def opened(path, flags=os.O_RDONLY) -> int:
        number = injected(fetcher, "open", os.fsencode(path), flags, 0o600)
        if number >= 0:
            assert injected(fetcher, "close", number) == 0
        return number

    assert opened(inside) >= 0  # the probe can succeed
    for path in (secret, "/etc/passwd", "/proc/self/environ", web.top / "key.pem", "/dev/fuse"):
        assert opened(path) == -errno.EACCES, path
    assert opened(tmp_path / "new", os.O_WRONLY | os.O_CREAT) == -errno.EACCES
    assert injected(fetcher, "execve", b"/bin/true", 0, 0) == -errno.EPERM
    assert (root / "tensors" / "t1").read_bytes() == values(1, MIB)
