# SPDX-License-Identifier: Apache-2.0
"""Files that the kernel reads by itself (docs/mounting.md, -o passthrough)."""
import contextlib
import errno
import fcntl
import mmap
import os
import platform
import re
import shutil
import signal
import threading

import pytest

from conftest import BIN, GOLDEN, error_of, run, stop, wait_until

BYTES = bytes(range(251)) * 5000
CONTAINER = GOLDEN / "shard" / "entries_1.shard"
FUSE_REFUSED = 7


def missing() -> str:
    """What prevents passthrough here; empty if nothing does."""
    libraries = run("ldd", BIN / "ctxfs").stdout
    if b"libfuse3.so.4" not in libraries:  # 3.17 and later
        return "this build does not have it: it needs libfuse 3.17"
    kernel = tuple(int(n) for n in re.findall(r"\d+", platform.release())[:2])
    if kernel < (6, 9):
        return "the kernel does not offer it"
    return "" if os.geteuid() == 0 else "CAP_SYS_ADMIN"


@pytest.fixture
def mirror(mount, tmp_path):
    """A mounted directory with one plain file, and what is below it."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "plain.bin").write_bytes(BYTES)
    shutil.copy(CONTAINER, source)

    def mirrored(*options):
        return mount(source, *options), source

    return mirrored


@pytest.fixture
def passed_on(mirror):
    """The same, if the kernel reads its plain files by itself."""
    if reason := missing():
        pytest.skip(reason)
    return mirror("passthrough=on")


@contextlib.contextmanager
def stopped(pid):
    """The daemon answers nothing meanwhile."""
    stop(pid)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def may_lease(path) -> bool:
    """Whether nobody else has the file open."""
    with open(path, "r+b") as file:
        try:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except BlockingIOError:
            return False
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        return True


def test_on_mounts_or_says_what_prevents_it(mirror, refused):
    reason = missing()
    if not reason:
        mounted, _ = mirror("passthrough=on")
        assert mounted.stats()["passthrough"] == 1
        return
    code, text = refused(GOLDEN / "shard", "passthrough=on")
    assert code == FUSE_REFUSED
    assert "passthrough=on: " in text and reason in text


@pytest.mark.parametrize("mode", ["auto", "off"])
def test_other_modes_always_mount(mirror, mode):
    mounted, _ = mirror(f"passthrough={mode}")
    assert (mounted.point / "plain.bin").read_bytes() == BYTES
    expected = 0 if mode == "off" or missing() else 1
    assert mounted.stats()["passthrough"] == expected
    assert mounted.stats()["passthrough_opens_total"] == expected


def test_a_plain_file_is_read_without_the_daemon(passed_on):
    mounted, _ = passed_on
    with open(mounted.point / "plain.bin", "rb", buffering=0) as file:
        with stopped(mounted.pid()):
            assert os.pread(file.fileno(), 4096, 12345) == BYTES[12345:12345 + 4096]
            with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
                assert mapped[:] == BYTES
            assert file.readall() == BYTES
    assert mounted.stats()["reads_total"] == 0


def test_a_small_file_is_read_by_the_daemon(passed_on):
    mounted, source = passed_on
    (source / "small.bin").write_bytes(BYTES[:9999])
    assert (mounted.point / "small.bin").read_bytes() == BYTES[:9999]
    assert mounted.stats()["passthrough_opens_total"] == 0


def test_handles_of_a_file_are_read_in_one_way_whatever_its_size(passed_on):
    mounted, source = passed_on
    with open(mounted.point / "plain.bin", "rb", buffering=0) as large:
        os.truncate(source / "plain.bin", 1000)
        assert wait_until(lambda: (mounted.point / "plain.bin").read_bytes() == BYTES[:1000])
        assert large.read() == BYTES[:1000]


def test_containers_are_read_by_the_daemon(passed_on):
    mounted, _ = passed_on
    container = mounted.point / CONTAINER.name
    assert (container / ".ctxfs" / "container").read_bytes() == CONTAINER.read_bytes()
    assert mounted.stats()["passthrough_opens_total"] == 0
    assert mounted.stats()["reads_total"] > 0


def test_replacing_a_file_leaves_open_handles_as_they_are(passed_on):
    mounted, source = passed_on
    shown = mounted.point / "plain.bin"
    with open(shown, "rb", buffering=0) as before:
        (source / "new").write_bytes(b"new" * 1000)
        os.replace(source / "new", source / "plain.bin")
        assert wait_until(lambda: shown.read_bytes() == b"new" * 1000)
        assert before.read() == BYTES


def test_a_cut_or_longer_file_reads_as_the_file_below(passed_on):
    mounted, source = passed_on
    with open(mounted.point / "plain.bin", "rb", buffering=0) as file:
        os.truncate(source / "plain.bin", 1000)
        assert os.pread(file.fileno(), 4096, 0) == BYTES[:1000]
        with open(source / "plain.bin", "ab") as more:
            more.write(b"longer")
        assert os.pread(file.fileno(), 4096, 990) == BYTES[990:1000] + b"longer"


def test_no_file_stays_open_below_after_its_last_handle(passed_on):
    mounted, source = passed_on
    for _ in range(3):
        with open(mounted.point / "plain.bin", "rb") as one:
            with open(mounted.point / "plain.bin", "rb") as other:
                assert one.read() == other.read() == BYTES
            assert not may_lease(source / "plain.bin")
        assert wait_until(lambda: may_lease(source / "plain.bin"))


def test_a_file_that_the_kernel_refuses_is_read_by_the_daemon(mount, tmp_path):
    for name in ("lower", "upper", "work", "merged"):
        (tmp_path / name).mkdir()
    (tmp_path / "lower" / "plain.bin").write_bytes(BYTES)
    layers = "lowerdir={0}/lower,upperdir={0}/upper,workdir={0}/work".format(tmp_path)
    if run("mount", "-t", "overlay", "none", "-o", layers, tmp_path / "merged").returncode:
        pytest.skip("no overlay can be mounted here")
    try:
        mounted = mount(tmp_path / "merged")
        assert (mounted.point / "plain.bin").read_bytes() == BYTES
        assert mounted.stats()["passthrough_opens_total"] == 0
        assert mounted.stats()["reads_total"] > 0
        assert run("umount", mounted.point).returncode == 0
    finally:
        run("umount", "-l", tmp_path / "merged")


def test_a_mount_ends_with_registered_files(passed_on):
    mounted, source = passed_on
    with open(mounted.point / "plain.bin", "rb", buffering=0) as file:
        mounted.kill()
        # The kernel reads it without a daemon; no new handle can be had.
        assert file.read(10) == BYTES[:10]
        assert error_of(os.open, mounted.point / "plain.bin", os.O_RDONLY) != 0
        assert run("umount", "-l", mounted.point).returncode == 0
    assert wait_until(lambda: may_lease(source / "plain.bin"))


def test_many_threads_see_whole_files_while_they_are_replaced(passed_on):
    mounted, source = passed_on
    # Small files are read by the daemon, large ones by the kernel.
    versions = [bytes([n]) * (50_000 if n % 2 else 2_000_000) for n in range(8)]
    read_whole, wrong = [], []
    done = threading.Event()

    def read():
        while not done.is_set():
            try:
                got = (mounted.point / "plain.bin").read_bytes()
            except OSError as error:
                # It was replaced between the look-up and the open or the read.
                if error.errno not in (errno.ENOENT, errno.ESTALE):
                    wrong.append(error)
                continue
            if got == BYTES or got in versions:
                read_whole.append(len(got))
            else:
                wrong.append(got[:20])

    readers = [threading.Thread(target=read) for _ in range(6)]
    for reader in readers:
        reader.start()
    for version in versions * 5:
        (source / "next").write_bytes(version)
        os.replace(source / "next", source / "plain.bin")
    done.set()
    for reader in readers:
        reader.join()
    assert not wrong
    assert len(read_whole) > len(readers)
    assert wait_until(lambda: (mounted.point / "plain.bin").read_bytes() == versions[-1])
