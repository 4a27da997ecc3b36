# SPDX-License-Identifier: Apache-2.0
"""From mounting to unmounting, in good order and in bad."""

import errno
import fcntl
import os
import pathlib
import select
import signal
import subprocess
import threading

import pytest

import shard
from conftest import (
    BIN, GOLDEN, alive, daemon_of, daemons_of, error_of, is_mounted, mount_command, mounts_at,
    run, wait_until,
)

CONTAINER = GOLDEN / "shard" / "comp_mixed.shard"


def test_the_command_returns_when_the_mount_answers(mount):
    # No waiting: what follows the command must work at once.
    assert os.listdir(mount(CONTAINER).root)


def test_a_made_mount_point_goes_away_again(mount):
    mounted = mount(CONTAINER)
    pid = mounted.pid()
    assert run("umount", mounted.point).returncode == 0
    assert wait_until(lambda: not alive(pid))
    assert not mounted.point.exists()


def test_a_found_mount_point_stays(mount, tmp_path):
    (tmp_path / "mnt0").mkdir()
    mounted = mount(CONTAINER)
    pid = mounted.pid()
    run("umount", mounted.point)
    assert wait_until(lambda: not alive(pid))
    assert os.listdir(mounted.point) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_unmount_cleanly(mount, number):
    mounted = mount(CONTAINER)
    pid = mounted.pid()
    os.kill(pid, number)
    assert wait_until(lambda: not alive(pid))
    assert not is_mounted(mounted.point) and not mounted.point.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_foreground_ends_with_0_on_a_signal(tmp_path, number):
    point = tmp_path / "mnt"
    daemon = subprocess.Popen(mount_command(CONTAINER, point, flags=["-f"]))
    assert wait_until(lambda: (point / CONTAINER.name).exists())
    daemon.send_signal(number)
    assert daemon.wait(timeout=30) == 0
    assert not is_mounted(point)


def test_fusermount_unmounts(mount):
    mounted = mount(CONTAINER)
    assert run("fusermount3", "-u", mounted.point).returncode == 0
    assert not is_mounted(mounted.point)


def test_ctxfs_umount(mount):
    mounted = mount(CONTAINER)
    assert run(BIN / "ctxfs", "umount", mounted.point).returncode == 0
    assert not is_mounted(mounted.point)
    failed = run(BIN / "ctxfs", "umount", mounted.point)
    assert failed.returncode == 6


def test_a_dead_daemons_mount_is_replaced(mount, tmp_path):
    mounted = mount(CONTAINER)
    mounted.kill()
    assert error_of(os.listdir, mounted.point) in (errno.ENOTCONN, errno.ECONNABORTED)
    done = run(*mount_command(CONTAINER, mounted.point))
    assert done.returncode == 0, done.stderr
    assert os.listdir(mounted.root)


def test_all_dead_mounts_of_a_stack_are_replaced(mount):
    mounted = mount(CONTAINER)
    pids = [mounted.pid()]
    for source in (CONTAINER.parent, CONTAINER):
        assert run(*mount_command(source, mounted.point, "nonempty")).returncode == 0
        pids += [p for p in daemons_of(mounted.point) if p not in pids]
    assert len(pids) == 3
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: not any(map(alive, pids)))
    assert len(mounts_at(mounted.point)) == 3
    done = run(*mount_command(CONTAINER, mounted.point))
    assert done.returncode == 0, done.stderr
    assert os.listdir(mounted.root)
    assert len(mounts_at(mounted.point)) == 1
    assert run("umount", mounted.point).returncode == 0
    assert not is_mounted(mounted.point)


def test_a_live_mount_below_dead_ones_stays(mount):
    mounted = mount(CONTAINER)
    below = mounted.pid()
    assert run(*mount_command(CONTAINER.parent, mounted.point, "nonempty")).returncode == 0
    [above] = [p for p in daemons_of(mounted.point) if p != below]
    os.kill(above, signal.SIGKILL)
    assert wait_until(lambda: not alive(above))
    assert run(*mount_command(CONTAINER, mounted.point)).returncode == 6
    assert run(*mount_command(CONTAINER, mounted.point, "nonempty")).returncode == 0
    assert len(mounts_at(mounted.point)) == 2 and alive(below)
    assert run("umount", mounted.point).returncode == 0
    assert os.listdir(mounted.root)


@pytest.mark.parametrize("flags", [[], ["-f"], ["-oauto_unmount"]],
                         ids=["background", "foreground", "auto_unmount"])
def test_inherited_descriptors_are_closed(tmp_path, flags):
    """The reader of a pipe sees its end when everyone else has closed it."""
    point = tmp_path / "mnt"
    reader, writer = os.pipe()
    # A number far above those that the daemon uses, and one among them.
    high = fcntl.fcntl(writer, fcntl.F_DUPFD, 300)
    daemon = subprocess.Popen(
        mount_command(CONTAINER, point, flags=flags), pass_fds=[writer, high],
        stderr=subprocess.PIPE)
    os.close(writer)
    os.close(high)
    try:
        assert wait_until((point / CONTAINER.name).exists)
        assert select.select([reader], [], [], 10)[0], "somebody holds the other end"
        assert os.read(reader, 1) == b""
        assert os.listdir(point / CONTAINER.name)
        if flags == ["-f"]:  # standard error stays
            assert os.readlink(f"/proc/{daemon.pid}/fd/2").startswith("pipe:")
    finally:
        run("umount", "-l", point)
        os.close(reader)
        assert daemon.wait(timeout=30) == 0
        daemon.stderr.close()


def test_a_source_and_a_key_can_be_inherited_descriptors(tmp_path):
    point = tmp_path / "mnt"
    key = tmp_path / "key"
    key.write_bytes(bytes(32))
    key.chmod(0o600)
    descriptors = [os.open(path, os.O_RDONLY) for path in (CONTAINER, key)]
    source, keyfile = (f"/dev/fd/{d}" for d in descriptors)
    done = run(*mount_command(source, point, f"keyfile={keyfile}", "flat"),
               pass_fds=descriptors)
    try:
        assert done.returncode == 0, done.stderr
        assert (point / ".ctxfs" / "info.json").is_file()
    finally:
        run("umount", "-l", point)
        for descriptor in descriptors:
            os.close(descriptor)


def test_unmounting_while_reading(mount, tmp_path):
    data = os.urandom(1 << 22)
    path = tmp_path / "x.mosh"
    path.write_bytes(shard.build([shard.entry("x", data)]))
    mounted = mount(path)
    wrong = []

    def read_on():
        try:
            while True:
                descriptor = os.open(mounted / "x", os.O_RDONLY)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                got = os.pread(descriptor, len(data), 0)
                # The kernel gives what it had when the mount went, and then
                # the error.
                if not data.startswith(got) or not got:
                    wrong.append(len(got))
                if len(got) < len(data):
                    os.pread(descriptor, len(data), len(got))
                    wrong.append("short, and no error")
                os.close(descriptor)
        except OSError as error:
            gone = (errno.ENOTCONN, errno.ECONNABORTED, errno.ENOENT, errno.EIO)
            if error.errno not in gone:
                wrong.append(error)

    readers = [threading.Thread(target=read_on) for _ in range(4)]
    for reader in readers:
        reader.start()
    pid = mounted.pid()
    os.kill(pid, signal.SIGTERM)
    for reader in readers:
        reader.join(timeout=30)
        assert not reader.is_alive()
    assert wrong == []
    assert wait_until(lambda: not alive(pid))


def test_the_daemon_leaves_the_terminal_and_the_folder(mount):
    pid = mount(CONTAINER).pid()
    proc = pathlib.Path(f"/proc/{pid}")
    assert os.readlink(proc / "cwd") == "/"
    for stream in "012":
        assert os.readlink(proc / "fd" / stream) == "/dev/null"
    assert int(proc.joinpath("stat").read_text().split()[5]) == pid  # session


def test_no_descriptor_is_passed_on(mount):
    """Not the FUSE device's, the containers', nor a directory's that is listed."""
    close_on_exec = 0o2000000
    folder = GOLDEN / "wshard" / "chunked"
    mounts = [mount(CONTAINER, "list=all"), mount(CONTAINER, "nosandbox,list=all"),
              mount(folder, "list=all"),
              mount(GOLDEN / "megacontext" / "good_fp16", "list=all")]
    for mounted in mounts:
        seen = set()
        run("find", mounted.point, "-type", "f", "-size", "-100k")  # opens them all
        with subprocess.Popen(["find", mounted.point, "-type", "f", "-exec", "cat", "{}", "+"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as busy:
            while busy.poll() is None or not seen:
                for info in pathlib.Path(f"/proc/{mounted.pid()}/fdinfo").iterdir():
                    if int(info.name) <= 2:
                        continue
                    try:
                        text = info.read_text()
                        name = os.readlink(info.parent.parent / "fd" / info.name)
                    except OSError:
                        continue  # closed by now
                    flags = next(int(line.split()[1], 8) for line in text.splitlines()
                                 if line.startswith("flags:"))
                    assert flags & close_on_exec, name
                    seen.add(name)
        assert "/dev/fuse" in seen
        assert any(name.startswith(str(GOLDEN)) for name in seen) or mounted.source.is_dir()


def test_many_readers_see_the_same(mount, tmp_path):
    data = os.urandom(1 << 20)
    path = tmp_path / "x.mosh"
    path.write_bytes(shard.build([shard.zstd_entry(f"e{i}", data) for i in range(8)]))
    mounted = mount(path, "cache=2M")  # less than what is read
    wrong = []

    def read_all():
        for _ in range(3):
            for i in range(8):
                if (mounted / f"e{i}").read_bytes() != data:
                    wrong.append(i)

    readers = [threading.Thread(target=read_all) for _ in range(8)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert wrong == []


def test_equal_readers_decode_once(mount, tmp_path):
    data = os.urandom(1 << 22)
    path = tmp_path / "x.mosh"
    path.write_bytes(shard.build([shard.zstd_entry("x", data)]))
    mounted = mount(path)
    readers = [subprocess.Popen(["cat", mounted / "x"], stdout=subprocess.DEVNULL)
               for _ in range(4)]
    assert [r.wait(timeout=30) for r in readers] == [0] * 4
    assert mounted.stats()["decoded_bytes_total"] == len(data)


def test_mount_8_finds_the_helper(tmp_path):
    """mount -t ctxfs, umount, and an fstab line, in a namespace of its own."""
    helper = BIN / "mount.ctxfs"
    script = f"""
    set -e
    mkdir {tmp_path}/up {tmp_path}/work {tmp_path}/m1 {tmp_path}/m2
    mount -t tmpfs none {tmp_path}/up
    mkdir {tmp_path}/up/u {tmp_path}/up/w
    mount -t overlay -o lowerdir=/usr/sbin,upperdir={tmp_path}/up/u,workdir={tmp_path}/up/w o /usr/sbin
    ln -sf {helper} /usr/sbin/mount.ctxfs
    mount -t ctxfs {CONTAINER} {tmp_path}/m1
    ls {tmp_path}/m1
    umount {tmp_path}/m1
    echo '{CONTAINER} {tmp_path}/m2 ctxfs ro,user,noauto,_netdev,nofail,x-systemd.automount,flat,list=all 0 0' > {tmp_path}/fstab
    mount -T {tmp_path}/fstab {tmp_path}/m2
    ls -a {tmp_path}/m2
    umount {tmp_path}/m2
    """
    done = run("unshare", "-m", "bash", "-c", script)
    if b"overlay" in done.stderr and b"unknown filesystem" in done.stderr:
        pytest.skip("no overlayfs to show mount(8) the helper in")
    assert done.returncode == 0, done.stderr.decode()
    lines = done.stdout.decode().splitlines()
    assert lines[0] == CONTAINER.name and ".ctxfs" in lines


def test_the_daemon_is_found_by_its_mount_point(mount):
    mounted = mount(CONTAINER)
    assert daemon_of(mounted.point) == mounted.pid()
