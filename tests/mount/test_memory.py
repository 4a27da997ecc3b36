# SPDX-License-Identifier: Apache-2.0
"""A short run of scripts/memory.py, which keeps a mount to its memory, and what a mount
does when there is none."""

import resource
import subprocess
import sys

import shard
from conftest import BIN, ROOT, status_kib

MIB = 1 << 20


def test_a_mount_keeps_to_its_memory(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "memory.py", "--seconds", "15",
         "--bin", BIN, "--dir", tmp_path],
        capture_output=True, timeout=250, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_room_for_threads_ends_no_mount(mount, tmp_path):
    """Entries are decoded ahead of a reader by threads, whose stacks take 8 MiB each."""
    bytes_of = {f"e{i}": bytes([i]) * (MIB // 2) for i in range(4)}
    path = tmp_path / "x.shard"
    path.write_bytes(shard.build([shard.zstd_entry(name, data, "-1")
                                  for name, data in bytes_of.items()]))
    mounted = mount(path, "cache=64M")
    assert (mounted / "e0").stat().st_size == MIB // 2
    most = status_kib(mounted.pid(), "VmSize") * 1024 + 6 * MIB
    resource.prlimit(mounted.pid(), resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    for name, data in bytes_of.items():
        assert (mounted / name).read_bytes() == data
    resource.prlimit(mounted.pid(), resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
    for name, data in bytes_of.items():
        assert (mounted / name).read_bytes() == data
