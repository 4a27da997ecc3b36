# SPDX-License-Identifier: Apache-2.0
"""URLs as SOURCEs, over a network that loses each 20th packet: nftables in a namespace of its
own. Netem is a module that not every kernel has."""

import concurrent.futures
import ctypes
import os
import re
import shutil

import pytest

from conftest import run
from remote import (
    CTXFS,
    MIB,
    NEEDS_URLS,
    Nginx,
    environment,
    tensors,
)

CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
RULES = """
table inet line {
  chain arriving {
    type filter hook input priority 0;
    meta l4proto tcp numgen inc mod 20 0 counter drop
  }
}
"""

pytestmark = [NEEDS_URLS, pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("nft") is None,
    reason="only root makes a network of its own, where nft loses packets")]


def in_lossy_network(do) -> int:
    """Calls `do` in a thread that has a network of its own, and so have the processes that
    it starts. Returns how many packets were lost."""
    def inside() -> int:
        if LIBC.unshare(CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        run("ip", "link", "set", "lo", "mtu", "1500", "up", check=True)
        run("nft", "-f", "-", input=RULES.encode(), check=True)
        do()
        listed = run("nft", "list", "table", "inet", "line", check=True).stdout.decode()
        return int(re.search(r"counter packets (\d+)", listed)[1])

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(inside).result()


def test_30_6_lost_packets_lose_no_byte(tmp_path):
    def read() -> None:
        with Nginx(tmp_path / "web").running() as web:
            data = tensors(4, MIB)
            (web.www / "m.safetensors").write_bytes(data)
            url = web.url("m.safetensors")
            variables = environment(tmp_path, CTXFS_REMOTE_TIMEOUT="600")
            words = [f"{url}//tensors/t{i}" for i in range(4)]
            done = run(CTXFS, "cat", *words, env=variables)
            assert done.returncode == 0, done.stderr
            assert done.stdout == data[-4 * MIB:]

    assert in_lossy_network(read) > 0
