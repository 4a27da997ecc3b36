# SPDX-License-Identifier: Apache-2.0
"""URLs as SOURCEs: where a mount keeps what it fetched, and how long it waits."""

import contextlib
import errno
import os
import stat
import subprocess

import pytest

from conftest import mount_command, run, wait_until
from remote import (  # noqa: F401  fixtures
    GRANULE,
    MIB,
    NEEDS_URLS,
    await_cache,
    counters,
    environment,
    fixture_faults,
    fixture_mounted,
    longest_request,
    tensors,
    values,
)

pytestmark = NEEDS_URLS


def bytes_below(directory) -> int:
    """Of files, some of which may be removed meanwhile."""
    total = 0
    for path in directory.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def read_all(root) -> None:
    for number in range(4):
        assert (root / "tensors" / f"t{number}").read_bytes() == values(number, MIB)
    await_cache(root)


def test_30_5_a_mount_takes_the_place_of_its_cache(faults, mounted, tmp_path):
    place = tmp_path / "place" / "of" / "blocks"
    url = faults.url("plain", "m.safetensors")
    read_all(mounted(url, f"cache_dir={place}"))
    assert place.stat().st_mode & 0o777 == 0o700
    assert bytes_below(place) > 4 * MIB
    assert not (tmp_path / "cache").exists(), "the usual place"
    before = len(faults.seen)
    read_all(mounted(url, f"cache_dir={place}"))
    assert len(faults.seen) == before + 1, "of the granule by which it is opened"


def test_30_5_a_mount_takes_the_size_of_its_cache(faults, mounted, tmp_path):
    read_all(mounted(faults.url("plain", "m.safetensors"), "cache_dir_size=2M"))
    # Room is made after the bytes were kept.
    assert wait_until(lambda: bytes_below(tmp_path / "cache") < 3 * MIB), "all tensors are 4 MiB"
    assert bytes_below(tmp_path / "cache") > MIB // 2, "the last file has 15 granules"


def test_30_5_a_place_that_is_no_cache_is_refused(faults, refused, monkeypatch, tmp_path):
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    others = tmp_path / "others"
    others.mkdir(mode=0o755)
    (others / "notes").write_text("for all")
    code, text = refused(faults.url("plain", "m.safetensors"), f"cache_dir={others}")
    assert code == 2 and "files that are not the cache's" in text, text
    assert others.stat().st_mode & 0o777 == 0o755
    code, text = refused(faults.url("plain", "m.safetensors"), f"cache_dir={others}/notes")
    assert code == 2 and "cache directory" in text, text


def test_30_6_a_mount_takes_its_timeout(faults, mounted):
    """The server asks for 5 s, which the 10 s of the environment would have room for."""
    root = mounted(faults.url("later", "m.safetensors"), "remote_timeout=2")
    with pytest.raises(OSError) as failed:
        (root / "tensors" / "t3").read_bytes()
    assert failed.value.errno == errno.EIO
    after = counters(root)
    assert after["requests_total"] > 1 and after["retries_total"] == 0


# What is in the place of a block, and disks that take none.


def to_fifo(path):
    os.mkfifo(path)


def to_socket(path):
    os.mknod(path, stat.S_IFSOCK | 0o600)


def to_link(path):
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", (to_fifo, to_socket, os.mkdir, to_link))
def test_41_16_what_is_no_file_in_the_cache_is_a_miss(make, faults, mounted, tmp_path):
    place = tmp_path / "place"
    url = faults.url("plain", "m.safetensors")
    read_all(mounted(url, f"cache_dir={place}"))
    files = [path for path in place.rglob("*") if path.is_file() and path.name != "lock"]
    assert files
    for path in files:
        path.unlink()
        make(path)
    root = mounted(url, f"cache_dir={place},remote_timeout=5")
    read_all(root)
    assert longest_request(root) < 5
    assert run("umount", root.parent).returncode == 0
    before = len(faults.seen)
    read_all(mounted(url, f"cache_dir={place}"))
    assert len(faults.seen) == before + 1, "it is all kept again"


@pytest.fixture(name="small_disk")
def fixture_small_disk(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    place = tmp_path / "small"
    place.mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=6m,mode=700", "none", place, check=True)
    yield place
    run("umount", "-l", place)


def test_41_16_a_full_disk_is_told_once_and_left_alone(faults, fuse, small_disk, tmp_path):
    run("dd", "if=/dev/zero", f"of={small_disk / 'full'}", "bs=64k")
    point = tmp_path / "mnt"
    root = point / "m.safetensors"
    with open(tmp_path / "log", "wb") as log:
        server = subprocess.Popen(
            mount_command(faults.url("plain", "m.safetensors"), point,
                          f"cache_dir={small_disk},cache=1M", flags=["-f"]),
            env=environment(tmp_path), stderr=log)
        try:
            assert wait_until((root / "tensors").is_dir)
            for _ in range(3):
                read_all(root)
            after = counters(root)
            assert after["cache_pauses_total"] == 1 and after["cache_refusal"] == errno.ENOSPC
        finally:
            run("umount", point)
            server.wait(30)
    text = (tmp_path / "log").read_text()
    assert text.count("the disk of the cache takes no writes: No space left on device") == 1, text
    assert not list(small_disk.rglob(".[0-9]*")), "nothing is left half written"


def test_41_16_the_cache_goes_on_when_room_was_made(faults, mounted, small_disk):
    """The cache drops what it has above half of what it may take."""
    options = f"cache_dir={small_disk},cache_dir_size=6M"
    read_all(mounted(faults.url("plain", "m.safetensors"), options))
    run("dd", "if=/dev/zero", f"of={small_disk / 'full'}", "bs=64k")
    faults.objects["other.safetensors"] = tensors(64, 2 * GRANULE)
    root = mounted(faults.url("plain", "other.safetensors"), options)
    names = iter(sorted(os.listdir(root / "tensors")))

    def goes_on():
        (root / "tensors" / next(names)).read_bytes()
        now = counters(root)
        return now["cache_pauses_total"] > 0 and now["cache_refusal"] == 0

    assert wait_until(goes_on), counters(root)
