# SPDX-License-Identifier: Apache-2.0
"""The mount through interfaces of the kernel that others use: statx, inotify,
io_uring and fio's verification, file handles, times that are far away."""

import ctypes
import errno
import os
import shutil
import signal
import time
import zipfile

import pytest

import shard
from conftest import GOLDEN, run, stop, wait_until
from kernel_calls import (
    AT_STATX_DONT_SYNC, AT_STATX_FORCE_SYNC, STATX_BTIME, FileHandle, Inotify, statx,
)

CONTAINER = GOLDEN / "shard" / "comp_mixed.shard"
MIB = 1 << 20
# How long the kernel may believe names and attributes, and some.
MOMENT = 1.3


def files_below(root):
    for folder, _, names in os.walk(root):
        yield from (os.path.join(folder, name) for name in names)


@pytest.mark.parametrize("flags", [0, AT_STATX_FORCE_SYNC, AT_STATX_DONT_SYNC])
def test_statx_says_what_stat_says(mount, flags):
    mounted = mount(CONTAINER, "list=all")
    seen = 0
    for path in files_below(mounted.root):
        plain, extended = os.stat(path), statx(path, flags)
        for field in ("st_ino", "st_size", "st_blocks", "st_mode", "st_nlink",
                      "st_uid", "st_gid", "st_blksize", "st_mtime_ns"):
            assert extended[field] == getattr(plain, field), (path, field)
        assert not extended["mask"] & STATX_BTIME, "no time of birth is known"
        seen += 1
    assert seen > 5


def test_inotify_sees_readers_of_the_mount_and_not_changes_of_the_source(mount, tmp_path):
    """As for other network file systems: what a mirrored directory gains shows
    in a listing, and is no event."""
    source = tmp_path / "source"
    source.mkdir()
    shutil.copy(CONTAINER, source / "a.shard")
    point = mount(source).point
    watches = Inotify()
    try:
        file = next(p for p in (point / "a.shard").rglob("*")
                    if p.is_file() and p.stat().st_size > 0)
        watches.watch(point, Inotify.CREATE | Inotify.DELETE | Inotify.OPEN)
        watches.watch(file.parent, Inotify.OPEN | Inotify.ACCESS)
        file.read_bytes()
        seen = watches.events()
        assert (Inotify.OPEN, file.name) in seen
        assert (Inotify.ACCESS, file.name) in seen
        shutil.copy(CONTAINER, source / "b.shard")
        assert wait_until(lambda: (point / "b.shard").exists())
        changes = Inotify.CREATE | Inotify.DELETE
        assert not any(mask & changes for mask, _ in watches.events())
    finally:
        watches.close()


# fio.

FIO_BYTES = 8 * MIB
FIO_BLOCK = 4096


@pytest.fixture(scope="module")
def verified(tmp_path_factory):
    """A directory with a file whose blocks fio wrote and can verify: as it is,
    and as an entry of a container, stored raw and by zstd."""
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    folder = tmp_path_factory.mktemp("fio")
    plain = folder / "plain.bin"
    done = run("fio", "--name=w", f"--filename={plain}", "--rw=write",
               f"--bs={FIO_BLOCK}", f"--size={FIO_BYTES}", "--verify=crc32c",
               "--do_verify=0", "--ioengine=psync", "--buffer_compress_percentage=50",
               "--verify_state_save=0")
    assert done.returncode == 0, done.stderr
    data = plain.read_bytes()
    packed = shard.zstd_entry("zstd", data)
    assert len(data) == FIO_BYTES and len(packed.stored) < len(data)
    (folder / "c.shard").write_bytes(shard.build([shard.entry("raw", data), packed], role=16))
    return folder


@pytest.mark.parametrize("engine", ["io_uring", "libaio", "psync", "mmap", "splice"])
@pytest.mark.parametrize("file", ["plain.bin", "c.shard/raw", "c.shard/zstd"])
def test_fio_verifies(mount, verified, engine, file):
    mounted = mount(verified)
    # libaio is asynchronous past the page cache alone.
    direct = "1" if engine in ("io_uring", "libaio") else "0"
    done = run(
        "fio", "--name=v", f"--filename={mounted.point / file}", "--readonly",
        "--rw=randread", f"--bs={FIO_BLOCK}", f"--size={FIO_BYTES}",
        "--verify=crc32c", "--verify_fatal=1", f"--ioengine={engine}",
        "--iodepth=16", f"--direct={direct}", "--allow_file_create=0",
        "--verify_state_save=0")
    text = done.stdout.decode() + done.stderr.decode()
    if engine in text and ("not loadable" in text or "Operation not permitted" in text):
        pytest.skip(f"no {engine} here")
    assert done.returncode == 0, text
    assert f"issued rwts: total={FIO_BYTES // FIO_BLOCK}," in text, text


def test_fio_finds_a_wrong_byte(mount, verified, tmp_path):
    """That the test above can fail."""
    shutil.copy(verified / "plain.bin", tmp_path / "plain.bin")
    with open(tmp_path / "plain.bin", "r+b") as file:
        file.seek(FIO_BYTES // 2 + 100)
        file.write(b"\xff\x00\xff\x00")
    mounted = mount(tmp_path)
    done = run("fio", "--name=v", f"--filename={mounted.point / 'plain.bin'}",
               "--readonly", "--rw=randread", f"--bs={FIO_BLOCK}",
               f"--size={FIO_BYTES}", "--verify=crc32c", "--verify_fatal=1",
               "--ioengine=io_uring", "--allow_file_create=0",
               "--verify_state_save=0")
    assert done.returncode != 0


# File handles: what an NFS server would use.


def test_file_handles_lead_to_the_same_file_or_nowhere(mount):
    mounted = mount(CONTAINER, "list=all")
    top = os.open(mounted.point, os.O_RDONLY | os.O_DIRECTORY)
    seen = 0
    try:
        for path in files_below(mounted.root):
            try:
                handle = FileHandle(path)
            except OSError as error:
                assert error.errno == errno.EOPNOTSUPP
                pytest.skip("the kernel makes no file handles for this mount")
            try:
                descriptor = handle.open(top)
            except OSError as error:
                assert error.errno == errno.ESTALE, path
                continue
            try:
                assert os.fstat(descriptor).st_ino == os.stat(path).st_ino
                with open(path, "rb") as file:
                    assert os.read(descriptor, 1 << 20) == file.read(1 << 20)
            except OSError as error:
                assert error.errno == errno.EIO, "a damaged entry"
            finally:
                os.close(descriptor)
            seen += 1
    finally:
        os.close(top)
    assert seen > 5


# Times.

YEAR = 365 * 24 * 3600


@pytest.mark.parametrize("when", [-70 * YEAR, -1, 0, 1, 2**31 - 1, 2**31, 300 * YEAR])
def test_times_far_away_are_shown_as_they_are(mount, tmp_path, when):
    source = tmp_path / "source"
    source.mkdir()
    shutil.copy(CONTAINER, source / "a.shard")
    (source / "plain").write_bytes(b"plain")
    ns = when * 10**9 + 123
    for name in ("a.shard", "plain"):
        os.utime(source / name, ns=(ns, ns))
    point = mount(source, "list=all").point
    kept = os.stat(source / "plain").st_mtime_ns
    assert os.stat(point / "plain").st_mtime_ns == kept
    for path in files_below(point / "a.shard"):
        assert os.stat(path).st_mtime_ns == kept, path


def test_a_clock_set_back_and_forth(mount, tmp_path):
    """Each version of a file has the time that the clock showed when it was
    written: an hour ahead, then two back. What is newest by its time is not
    what was written last, and must not be shown for it."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "another").touch()  # an empty directory is not mounted
    point = mount(source).point
    now = time.time_ns()
    for step, offset in enumerate((0, 3600, -7200, 3600, 0, -7200)):
        data = shard.build([shard.entry("x", f"version {step}".encode())], role=16)
        new = tmp_path / "new"
        new.write_bytes(data)
        (tmp_path / "plain").write_bytes(b"plain %d" % step)
        for file, name in ((new, "a.shard"), (tmp_path / "plain", "plain")):
            at = now + offset * 10**9
            os.utime(file, ns=(at, at))
            os.rename(file, source / name)
        time.sleep(MOMENT)
        assert (point / "a.shard" / "x").read_text() == f"version {step}"
        assert (point / "plain").read_text() == f"plain {step}"


@pytest.mark.parametrize("offset", [10 * YEAR, -1])
def test_a_daemon_with_another_monotonic_clock(mount, tmp_path, offset):
    """In a time namespace whose CLOCK_MONOTONIC is years ahead, or near 0. The
    machine's own clock stays as it is."""
    if run("unshare", "--time", "true").returncode != 0:
        pytest.skip("no time namespaces here")
    seconds = offset if offset > 0 else -int(time.monotonic()) + 1
    clocks = ["unshare", "--time", "--monotonic", seconds, "--boottime", seconds, "--"]
    mounted = mount(CONTAINER, "list=all", before=clocks)
    files = list(files_below(mounted.root))
    assert len(files) > 5
    for path in files:
        with open(path, "rb") as file:
            try:
                file.read()
            except OSError as error:
                assert error.errno == errno.EIO, "a damaged entry"
    stats = mounted.stats()
    assert stats["reads_total"] > 0
    seconds_read = [v for k, v in stats.items() if "seconds" in k]
    assert all(value >= 0 for value in seconds_read), stats


def test_a_container_is_listed_again_without_the_daemon(mount):
    """The kernel keeps what it was told, and needs no answer to open a folder."""
    mounted = mount(CONTAINER)
    # find would ask for the type of the file system, which the daemon tells.
    listing = ["ls", "-pR", str(mounted.root)]
    first = run(*listing)
    stop(mounted.pid())
    try:
        again = run(*listing)
    finally:
        os.kill(mounted.pid(), signal.SIGCONT)
    assert (again.returncode, again.stderr) == (0, b"")
    assert again.stdout == first.stdout and first.stdout.count(b"\n") > 5


def test_a_position_in_a_container_s_folder_holds_for_another_handle(mount, tmp_path):
    """telldir of one open folder, seekdir of another: positions are those of
    names, and no handle keeps them."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
    libc.telldir.restype = ctypes.c_long
    libc.opendir.argtypes = [ctypes.c_char_p]
    libc.readdir.argtypes = libc.telldir.argtypes = libc.closedir.argtypes = [ctypes.c_void_p]
    libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]

    def rest(folder):
        names = []
        while entry := libc.readdir(folder):
            names.append(ctypes.string_at(entry + 19))  # d_name
        return names

    archive = tmp_path / "many.zip"
    with zipfile.ZipFile(archive, "w") as members:
        for number in range(3000):
            members.writestr(f"{number:04}", b"")
    path = os.fsencode(mount(archive).root)
    one, all_names, after = libc.opendir(path), [], {}
    while entry := libc.readdir(one):
        all_names.append(ctypes.string_at(entry + 19))
        after[len(all_names)] = libc.telldir(one)
    assert len(all_names) == 3002
    for count in (1, 2, 1500, 2999, 3002):
        other = libc.opendir(path)
        libc.readdir(other)
        libc.seekdir(other, after[count])
        assert rest(other) == all_names[count:]
        libc.closedir(other)
    libc.closedir(one)
