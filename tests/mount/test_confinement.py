# SPDX-License-Identifier: Apache-2.0
"""The threads of real mounts: who they are, what they may, and how they log."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import pytest

from conftest import BIN, GOLDEN, is_helper, mount_command, run, thread_statuses, wait_until
from shard import build, entry

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

NONE = "0" * 16
DEVICE_IS_PUBLIC = os.stat("/dev/fuse").st_mode & 0o6 == 0o6
READ_SEARCH = f"{1 << 2:016x}"  # CAP_DAC_READ_SEARCH


@pytest.fixture
def public():
    """A directory that nobody can reach; those of pytest are root's alone."""
    with tempfile.TemporaryDirectory(prefix="ctxfs-public-") as path:
        os.chmod(path, 0o755)
        yield pathlib.Path(path)


def container(folder, *entries) -> pathlib.Path:
    path = folder / "x.shard"
    path.write_bytes(build(list(entries) or [entry("a", b"aaa")]))
    return path


def statuses(pid) -> tuple[dict, list[dict]]:
    """The thread that waits, and those that serve."""
    read = []
    for status in thread_statuses(pid):
        if is_helper(status):
            continue
        lines = (line.split(":\t", 1) for line in status.splitlines())
        read.append({line[0]: line[1].strip() for line in lines if len(line) == 2})
    return read[0], read[1:]


def serving(mounted) -> list[dict]:
    outer, threads = statuses(mounted.pid())
    assert outer["Uid"].split() == ["0"] * 4, "it has to unmount"
    assert outer["CapEff"] != NONE and outer["Seccomp"] == "0"
    assert threads
    for thread in threads:
        assert thread["NoNewPrivs"] == "1" and thread["Seccomp"] == "2"
        assert thread["CapInh"] == thread["CapAmb"] == NONE
        assert thread["CapPrm"] == thread["CapEff"]
    return threads


def test_a_public_container_is_served_as_nobody(mount, public):
    mounted = mount(container(public))
    assert (mounted / "a").read_bytes() == b"aaa"
    for thread in serving(mounted):
        assert thread["CapEff"] == NONE
        if not DEVICE_IS_PUBLIC:
            continue  # the workers open it
        assert thread["Uid"].split() == ["0", "0", "0", "65534"]
        assert thread["Gid"].split() == ["0", "0", "0", "65534"]
        assert thread["Groups"] == ""


def test_a_container_of_root_is_served_without_capabilities(mount, public):
    path = container(public)
    path.chmod(0o600)
    mounted = mount(path)
    assert (mounted / "a").read_bytes() == b"aaa"
    for thread in serving(mounted):
        assert thread["CapEff"] == NONE
        assert thread["Uid"].split() == ["0"] * 4


def test_another_users_container_is_served_with_one_capability(mount, public):
    path = container(public)
    path.chmod(0o600)
    os.chown(path, 12345, 12345)
    mounted = mount(path)
    assert (mounted / "a").read_bytes() == b"aaa"
    assert {thread["CapEff"] for thread in serving(mounted)} == {READ_SEARCH}


def test_a_directory_is_served_with_one_capability(mount, public):
    """Files that only their owner may read stay readable for root."""
    private = public / "private"
    private.write_bytes(b"mine")
    private.chmod(0o600)
    os.chown(private, 12345, 12345)
    container(public).chmod(0o640)
    mounted = mount(public)
    assert (mounted.point / "private").read_bytes() == b"mine"
    assert (mounted.point / "x.shard" / "a").read_bytes() == b"aaa"
    assert {thread["CapEff"] for thread in serving(mounted)} == {READ_SEARCH}


def test_nosandbox_confines_nothing(mount, public):
    mounted = mount(container(public), "nosandbox")
    outer, threads = statuses(mounted.pid())
    for thread in threads:
        assert thread["CapEff"] == outer["CapEff"] and thread["Seccomp"] == "0"


def test_no_call_that_serving_makes_is_refused(tmp_path, public):
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    trace, point = tmp_path / "trace", tmp_path / "mnt"
    folder = public / "golden"
    for name in ("shard", "wshard", "mcf", "megacontext"):
        shutil.copytree(GOLDEN / name, folder / name)
    daemon = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", trace, *mount_command(folder, point, "list=all", flags=["-f"])])
    try:
        assert wait_until((point / "shard").exists, 30)
        subprocess.run(["find", point, "-type", "f", "-exec", "cat", "{}", "+"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
        for name in os.listdir(point / "shard"):
            os.listxattr(point / "shard" / name)
    finally:
        run("umount", "-l", point)
        daemon.wait(timeout=60)
    lines = trace.read_text(errors="replace").splitlines()
    assert sum("preadv(" in line or "pread64(" in line for line in lines) > 100
    refused = [line for line in lines if re.search(r"= -1 EPERM", line)]
    assert refused == []


SYSLOG = """
import os, socket, subprocess, sys
container, point, mount = sys.argv[1:]
log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
log.bind("/dev/log")
log.settimeout(30)
subprocess.run([mount, container, point, "-o", "flat"], check=True)
try:
    open(os.path.join(point, "bad"), "rb").read()
except OSError as error:
    print(error.errno)
print(log.recv(10000).decode())
subprocess.run(["umount", point], check=True)
"""


def test_a_confined_thread_reaches_syslog_through_the_one_outside(tmp_path):
    """In a mount namespace of its own, with its own /dev/log."""
    path = container(tmp_path, entry("bad", b"x", checksum=1))
    (tmp_path / "dev").mkdir()
    (tmp_path / "mnt").mkdir()
    (tmp_path / "script.py").write_text(SYSLOG)
    script = f"""
    set -e
    mount --rbind /dev {tmp_path}/dev
    mount -t tmpfs none /dev
    for file in {tmp_path}/dev/*; do ln -s $file /dev/; done
    rm -f /dev/log
    exec {sys.executable} {tmp_path}/script.py {path} {tmp_path}/mnt {BIN / "mount.ctxfs"}
    """
    done = run("unshare", "-m", "--propagation", "private", "bash", "-c", script)
    assert done.returncode == 0, done.stderr.decode()
    code, logged = done.stdout.decode().split("\n", 1)
    assert code == "5"
    assert re.search(r"<27>.*ctxfs\[\d+\]: 'x.shard': 'bad': byte \d+: .*checksum", logged)
