# SPDX-License-Identifier: Apache-2.0
"""Entries larger than cache= are decoded into a temporary file (cache_dir=), once,
and not into memory."""

import dataclasses
import errno
import hashlib
import os
import random
import re
import subprocess
import sys

import pytest

import shard
from conftest import BIN, ROOT, error_of, run

sys.path.insert(0, str(ROOT / "scripts"))
import memory  # noqa: E402

MIB = 1 << 20
CACHE_MIB = 16
MORE_MIB = 64  # of the daemon, besides cache=


def zstd_entry(name: str, data: bytes):
    stored = subprocess.run(["zstd", "-1", "-q", "-c"], input=data, stdout=subprocess.PIPE,
                            check=True).stdout
    return shard.entry(name, data, flags=3, stored=stored)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A container whose entry is over twice the promised memory; its bytes."""
    words = random.Random(7).randbytes(MIB)
    data = b"".join(words + b"%016d" % i for i in range(5 * (CACHE_MIB + MORE_MIB) // 2))
    path = tmp_path_factory.mktemp("spill") / "large.shard"
    path.write_bytes(shard.build([zstd_entry("x", data), shard.entry("y", b"hello")]))
    return path, data


def stats(mounted) -> dict[str, int]:
    text = (mounted.point / ".ctxfs/stats").read_text()
    return {name: int(float(value)) for name, value in
            re.findall(r"^ctxfs_(\w+) ([0-9.e+]+)$", text, re.MULTILINE)}


def test_an_entry_larger_than_memory_is_read_in_any_order(mount, large, tmp_path):
    path, data = large
    directory = tmp_path / "decoded"
    directory.mkdir()
    mounted = mount(path, f"cache={CACHE_MIB}M", f"cache_dir={directory}")
    pid = memory.daemon_of(mounted.point)
    with open(mounted.root / "x", "rb", buffering=0) as file:
        places = random.Random(1).sample(range(len(data) - 4096), 200)
        for at in [len(data) - 4096, *places]:
            assert os.pread(file.fileno(), 4096, at) == data[at:at + 4096]
        for at in range(0, len(data), MIB):
            assert os.pread(file.fileno(), MIB, at) == data[at:at + MIB]
    assert memory.status_mib(pid, "VmHWM") <= CACHE_MIB + MORE_MIB
    counted = stats(mounted)
    assert counted["cache_dir_bytes"] == len(data)
    assert counted["verified_passed_total"] == 1, "decoded once"
    assert list(directory.iterdir()) == [], "the file has no name"


def test_a_damaged_one_is_not_served(mount, large, tmp_path):
    path, _ = large
    damaged = tmp_path / "damaged.shard"
    bytes_ = bytearray(path.read_bytes())
    bytes_[64 + 40] ^= 1  # the checksum of the first entry
    damaged.write_bytes(bytes_)
    mounted = mount(damaged, f"cache={CACHE_MIB}M", f"cache_dir={tmp_path}")
    with open(mounted.root / "x", "rb") as file:
        assert error_of(file.read, 10) == errno.EIO
    assert stats(mounted)["cache_dir_bytes"] == 0
    assert (mounted.root / "y").read_bytes() == b"hello"


def test_28_17_without_room_on_the_disk_memory_is_not_taken(mount, large):
    path, _ = large
    mounted = mount(path, f"cache={CACHE_MIB}M", "cache_dir_size=1M")
    with open(mounted.root / "x", "rb") as file:
        assert error_of(file.read, 10) == errno.ENOSPC
    assert (mounted.root / "y").read_bytes() == b"hello"
    assert stats(mounted)["cache_dir_bytes"] == 0
    pid = memory.daemon_of(mounted.point)
    assert memory.status_mib(pid, "VmHWM") <= CACHE_MIB + MORE_MIB


def md5(path) -> subprocess.Popen:
    return subprocess.Popen(["md5sum", path], stdout=subprocess.PIPE)


def test_28_17_many_readers_of_one_entry_have_it_decoded_once(mount, large, tmp_path):
    path, data = large
    mounted = mount(path, f"cache={CACHE_MIB}M", f"cache_dir={tmp_path}")
    readers = [md5(mounted.root / "x") for _ in range(4)]
    for reader in readers:
        assert reader.communicate(timeout=60)[0].split()[0].decode() == \
            hashlib.md5(data).hexdigest()
    assert stats(mounted)["verified_passed_total"] == 1


def test_28_17_readers_of_several_entries_take_turns(mount, large, tmp_path):
    """Room for one of them at a time."""
    _, data = large
    path = tmp_path / "several.shard"
    stored = zstd_entry("", data)
    path.write_bytes(shard.build(
        [dataclasses.replace(stored, name=f"x{i}".encode()) for i in range(4)]))
    mounted = mount(path, f"cache={CACHE_MIB}M", f"cache_dir_size={len(data) + MIB}")
    readers = [md5(mounted.root / f"x{i}") for i in range(4)]
    for reader in readers:
        assert reader.communicate(timeout=120)[0].split()[0].decode() == \
            hashlib.md5(data).hexdigest()
    assert stats(mounted)["verified_passed_total"] <= 12, "not one decode for each read"


def test_over_a_gigabyte(mount, tmp_path):
    """More than may ever be in memory: of zeros, which are stored in few bytes."""
    size = (1 << 30) + 4096
    stored = subprocess.run(f"head -c {size} /dev/zero | zstd -1 -q -c", shell=True, check=True,
                            stdout=subprocess.PIPE).stdout
    path = tmp_path / "zeros.shard"
    one = shard.entry("x", b"", flags=3, stored=stored, checksum=shard.crc32c(stored))
    whole = bytearray(shard.build([one]))
    whole[64 + 32:64 + 40] = size.to_bytes(8, "little")  # orig_size
    path.write_bytes(whole)

    mounted = mount(path, "cache=64M", "max_expansion=0", f"cache_dir={tmp_path}")
    assert (mounted.root / "x").stat().st_size == size
    with open(mounted.root / "x", "rb") as file:
        file.seek(size - 100)
        assert file.read() == bytes(100)
    assert stats(mounted)["cache_dir_bytes"] == size

    little = mount(path, "cache=64M", "max_expansion=0", "cache_dir_size=1G")
    with open(little.root / "x", "rb") as file:
        assert error_of(file.read, 10) == errno.ENOSPC

    bounded = mount(path, "cache=64M")
    with open(bounded.root / "x", "rb") as file:
        assert error_of(file.read, 10) == errno.EFBIG, "a bomb, unless it is asked for"


def test_a_directory_that_cannot_be_used_is_an_error(refused, large, tmp_path):
    code, text = refused(large[0], f"cache_dir={tmp_path}/missing")
    assert code == 2 and "missing" in text, text


def test_the_commands_do_the_same(large, tmp_path):
    path, data = large
    done = run(BIN / "ctxfs", "cat", f"{path}//x", timeout=60)
    assert done.returncode == 0 and done.stdout == data
    done = run(BIN / "ctxfs", "extract", path, tmp_path / "out", timeout=60)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/x").read_bytes() == data
    assert run(BIN / "ctxfs", "check", path, timeout=60).returncode == 0
