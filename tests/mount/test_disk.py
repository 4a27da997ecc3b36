# SPDX-License-Identifier: Apache-2.0
"""A disk that fails under a mounted container, and comes back."""

import concurrent.futures
import contextlib
import errno
import os
import shutil
import subprocess

import pytest

import shard
from conftest import MOUNT, alive, daemon_of, run, wait_until

DATA = os.urandom(1 << 20)
ENTRIES = 6


class Disk:
    """An ext4 file system in a file, on a loop device, read-only."""

    def __init__(self, folder, files):
        self.image = folder / "image"
        self.at = folder / "disk"
        self.at.mkdir()
        content = folder / "content"
        content.mkdir()
        for name, data in files.items():
            (content / name).write_bytes(data)
        with open(self.image, "wb") as image:
            image.truncate(64 << 20)
        made = run("mkfs.ext4", "-q", "-F", "-d", content, self.image)
        assert made.returncode == 0, made.stderr
        self.whole = self.image.read_bytes()

    def mount(self) -> None:
        done = run("mount", "-o", "loop,ro", self.image, self.at)
        if done.returncode != 0:
            pytest.skip("no loop device: " + done.stderr.decode())

    def fail(self) -> None:
        """Every read of it is an I/O error from here on."""
        with contextlib.ExitStack() as opened:  # before: none could be found after it
            files = [opened.enter_context(open(path, "rb"))
                     for path in self.at.iterdir() if path.is_file()]
            os.truncate(self.image, 0)
            for file in files:  # out of the page cache: else nothing reads it
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def come_back(self) -> None:
        with open(self.image, "r+b") as image:
            image.write(self.whole)


@pytest.fixture
def disk(tmp_path):
    if os.geteuid() != 0 or not shutil.which("mkfs.ext4"):
        pytest.skip("needs root and mkfs.ext4")
    built = shard.build(
        [shard.entry(f"e{i}", DATA) for i in range(ENTRIES)]
        + [shard.zstd_entry(f"z{i}", DATA) for i in range(ENTRIES)]
    )
    made = Disk(tmp_path, {"there.mosh": built})
    (tmp_path / "here.mosh").write_bytes(built)
    made.mount()
    point = tmp_path / "mnt"
    done = run(MOUNT, tmp_path / "here.mosh", made.at / "there.mosh", point)
    assert done.returncode == 0, done.stderr
    made.here, made.there = point / "here.mosh", point / "there.mosh"
    made.point = point
    yield made
    run("umount", "-l", point)
    made.come_back()
    run("umount", "-l", made.at)


def read(path) -> int:
    """0 for the right bytes, an errno, or -1 for other bytes: from the daemon."""
    try:
        with open(path, "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            got = b""
            while part := file.read(1 << 20):
                got += part
            return 0 if got == DATA else -1
    except OSError as error:
        return error.errno


def read_all(root, kinds="ez") -> list[int]:
    """What eight readers get of all entries, each in at most 20 seconds."""
    paths = [root / f"{kind}{i}" for kind in kinds for i in range(ENTRIES)]
    with concurrent.futures.ThreadPoolExecutor(8) as readers:
        return [r.result(timeout=20) for r in [readers.submit(read, p) for p in paths]]


def test_a_failed_disk_is_eio_and_is_not_remembered(disk):
    pid = daemon_of(disk.point)
    # Some entries have been verified, some not.
    assert [read(disk.there / "e0"), read(disk.there / "z0")] == [0, 0]
    disk.fail()
    first, again = read_all(disk.there, "e"), read_all(disk.there, "e")
    assert set(first) == set(again) == {errno.EIO}
    # Decoded and kept, or an error: never anything else.
    assert set(read_all(disk.there, "z")) <= {0, errno.EIO}
    assert read(disk.there / "z1") == errno.EIO
    assert os.getxattr(disk.there / "e1", "user.ctxfs.verified") == b"no"
    # The mount's other container goes on, and so does the daemon.
    assert set(read_all(disk.here)) == {0}
    assert alive(pid)
    disk.come_back()
    assert set(read_all(disk.there)) == {0}
    assert os.getxattr(disk.there / "e1", "user.ctxfs.verified") == b"yes"
    assert alive(pid)


MAP = """
import mmap, sys
with open(sys.argv[1], "rb") as file:
    print(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)[0])
"""


def test_a_disk_that_has_failed_from_the_start(disk):
    """What cannot be told to be a container is none yet; then it is one."""
    disk.fail()
    listed = os.listdir(disk.point)
    assert {"here.mosh", "there.mosh"} <= set(listed)
    with pytest.raises(OSError):
        (disk.there / "e0").read_bytes()
    disk.come_back()
    assert wait_until(lambda: read(disk.there / "e0") == 0)
    assert set(read_all(disk.there)) == {0}


def test_a_failed_disk_ends_no_daemon_by_mmap(disk):
    """It is the reader who maps: SIGBUS is his, or an error with verify=open."""
    assert read(disk.there / "e0") == 0
    disk.fail()
    died = subprocess.run(["python3", "-c", MAP, disk.there / "e3"],
                          capture_output=True, timeout=30)
    assert died.returncode == -7
    disk.come_back()
    assert read(disk.there / "e3") == 0


def test_a_disk_that_is_taken_away_leaves_what_is_open(disk):
    """umount -l: the name is gone, the file that was opened is not."""
    assert read(disk.there / "e0") == 0
    run("umount", "-l", disk.at)
    assert set(read_all(disk.here)) == {0}
    # A mirrored name is looked up every second; then it is gone.
    assert read(disk.there / "e1") in (0, errno.ENOENT, errno.ESTALE)
