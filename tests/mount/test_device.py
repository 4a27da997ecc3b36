# SPDX-License-Identifier: Apache-2.0
"""A device under the source that begins to fail, by the kernel's device mapper,
and file systems that are exported by NFS: where the kernel has them."""

import errno
import os
import pathlib
import subprocess

import pytest

import shard
from conftest import error_of, is_mounted, run

MIB = 1 << 20
DATA = os.urandom(MIB)


def kernel_has_device_mapper() -> bool:
    names = pathlib.Path("/proc/misc").read_text().split()
    if "device-mapper" not in names:
        run("sh", "-c", "modprobe dm-mod")
        names = pathlib.Path("/proc/misc").read_text().split()
    return "device-mapper" in names


@pytest.fixture
def device(tmp_path):
    """A device of the mapper over a file, with a container on it; and a function
    that gives the device another table."""
    if not kernel_has_device_mapper():
        pytest.skip("the kernel has no device mapper")
    if os.geteuid() != 0:
        pytest.skip("takes root")
    image = tmp_path / "image"
    with open(image, "wb") as file:
        file.truncate(64 * MIB)
    assert run("mkfs.ext4", "-q", "-O", "^has_journal", image).returncode == 0
    loop = run("losetup", "--find", "--show", image).stdout.decode().strip()
    assert loop, "no loop device"
    name = f"ctxfs-{os.getpid()}"
    sectors = 64 * MIB // 512
    disk = tmp_path / "disk"
    disk.mkdir()

    def load(table: str) -> bool:
        """Whether the kernel has the target."""
        if run("dmsetup", "reload", name, "--table", table).returncode != 0:
            return False
        assert run("dmsetup", "suspend", "--noflush", "--nolockfs", name).returncode == 0
        assert run("dmsetup", "resume", name).returncode == 0
        return True

    linear = f"0 {sectors} linear {loop} 0"
    try:
        assert run("dmsetup", "create", name, "--table", linear).returncode == 0
        assert run("mount", f"/dev/mapper/{name}", disk).returncode == 0
        (disk / "a.shard").write_bytes(shard.build([shard.entry("x", DATA)], role=16))
        os.sync()
        yield disk, loop, sectors, load
    finally:
        load(linear)
        if is_mounted(disk):
            run("umount", "-l", disk)
        run("dmsetup", "remove", "--force", name)
        run("losetup", "--detach", loop)


def read_past_the_cache(path) -> bytes:
    with open(path, "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        parts = iter(lambda: file.read(1 << 17), b"")
        return b"".join(parts)


def drop_source(disk) -> None:
    with open(disk / "a.shard", "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@pytest.mark.parametrize("target", ["error", "flakey"])
def test_a_device_that_fails_and_recovers(device, mount, target):
    disk, loop, sectors, load = device
    mounted = mount(disk / "a.shard")
    assert read_past_the_cache(mounted / "x") == DATA
    # flakey: up for no second, down for a thousand.
    more = f"{loop} 0 0 1000" if target == "flakey" else ""
    if not load(f"0 {sectors} {target} {more}"):
        pytest.skip(f"the kernel has no dm-{target}")
    drop_source(disk)
    assert error_of(read_past_the_cache, mounted / "x") == errno.EIO
    assert load(f"0 {sectors} linear {loop} 0")
    assert read_past_the_cache(mounted / "x") == DATA, "nothing is remembered"


def test_a_mount_that_is_exported(tmp_path, mount):
    """By the kernel's NFS server, mounted on this machine again."""
    if "nfsd" not in pathlib.Path("/proc/filesystems").read_text():
        run("sh", "-c", "modprobe nfsd")
    if "nfsd" not in pathlib.Path("/proc/filesystems").read_text():
        pytest.skip("the kernel has no NFS server")
    if run("sh", "-c", "command -v exportfs").returncode != 0:
        pytest.skip("nfs-kernel-server is not installed")
    container = tmp_path / "a.shard"
    container.write_bytes(shard.build([shard.entry("x", DATA)], role=16))
    mounted = mount(container, "list=all")
    client = tmp_path / "client"
    client.mkdir()
    export = f"127.0.0.1:{mounted.point}"
    assert run("exportfs", "-o", "ro,fsid=4711,no_root_squash,insecure",
               export).returncode == 0
    try:
        done = run("mount", "-t", "nfs", "-o", "ro,soft,timeo=50,retrans=1", export, client)
        if done.returncode != 0:
            pytest.skip("the NFS server does not run: " + done.stderr.decode())
        assert (client / "a.shard" / "x").read_bytes() == DATA
        listed = subprocess.run(["find", client, "-type", "f"], capture_output=True,
                                timeout=30, check=True, text=True).stdout.split()
        assert len(listed) >= 4
    finally:
        if is_mounted(client):
            run("umount", "-l", client)
        run("exportfs", "-u", export)
