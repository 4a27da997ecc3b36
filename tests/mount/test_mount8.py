# SPDX-License-Identifier: Apache-2.0
"""`ctxfs SOURCE MOUNTPOINT`, which mount(8) runs for the type fuse.ctxfs."""

import os
import pathlib

import pytest

from conftest import BIN, GOLDEN, is_mounted, run

CONTAINER = GOLDEN / "shard" / "comp_mixed.shard"
CTXFS = BIN / "ctxfs"


@pytest.fixture
def point(tmp_path):
    folder = tmp_path / "mnt"
    folder.mkdir()
    yield folder
    if is_mounted(folder):
        run("umount", "-l", folder)


@pytest.mark.parametrize(
    "args",
    (
        ["{source}", "{point}"],
        ["{source}", "{point}", "-o", "rw,dev,suid"],
        ["-o", "ro", "{source}", "{point}"],
        ["--", "{source}", "{point}"],
    ),
)
def test_ctxfs_mounts(args, point):
    words = [word.format(source=CONTAINER, point=point) for word in args]
    done = run(CTXFS, *words)
    assert done.returncode == 0, done.stderr.decode()
    assert CONTAINER.name in os.listdir(point)


def test_a_name_in_the_current_directory_is_a_source(point, tmp_path):
    (tmp_path / "model").write_bytes(CONTAINER.read_bytes())
    assert run(CTXFS, "model", point, cwd=tmp_path).returncode == 0
    assert is_mounted(point)
    # The name of a command is the command.
    (tmp_path / "ls").write_bytes(CONTAINER.read_bytes())
    assert run(CTXFS, "ls", "model", cwd=tmp_path).stdout.split()


def test_sources_that_cannot_be_mounted(point):
    absent = run(CTXFS, "/nowhere/at/all", point)
    assert absent.returncode == 2 and b"/nowhere/at/all" in absent.stderr
    assert run(CTXFS, CONTAINER).returncode == 1
    assert run(CTXFS, CONTAINER, point, "-o", "nosuch").returncode == 1


def in_own_namespace(script: str) -> str:
    """Runs a shell script for which the commands under test are installed."""
    # mount(8) clears the environment; mount.fuse(8) then looks in the usual
    # places for the program.
    installed = f"set -e; mount --bind {BIN} /usr/local/bin; {script}"
    done = run("unshare", "-m", "bash", "-c", installed)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_mount_8(point):
    listed = in_own_namespace(f"""
        mount -t fuse.ctxfs {CONTAINER} {point}
        ls {point}
        umount {point}
    """)
    assert listed.split() == [CONTAINER.name]


def test_fstab(point, tmp_path):
    """A second `mount -a` knows what the first one mounted."""
    options = "ro,nofail,_netdev,x-systemd.automount,flat,list=all"
    fstab = tmp_path / "fstab"
    fstab.write_text(f"{CONTAINER} {point} fuse.ctxfs {options} 0 0\n")
    by_user = tmp_path / "by_user"
    by_user.write_text(f"{CONTAINER} {point} fuse.ctxfs {options},user,noauto 0 0\n")
    listed = in_own_namespace(f"""
        mount -a -T {fstab}
        mount -a -T {fstab}
        grep -c ' {point} ' /proc/self/mountinfo
        umount {point}
        mount -T {by_user} {point}
        ls -a {point}
        umount {point}
    """)
    assert listed.split()[0] == "1" and ".ctxfs" in listed.split()


def test_automount(tmp_path):
    """x-systemd.automount: whoever looks waits in the kernel until it is mounted."""
    point = tmp_path / "mnt"
    point.mkdir()
    script = pathlib.Path(__file__).with_name("automount.py")
    done = run("unshare", "-m", "/usr/bin/python3", script, point,
               BIN / "mount.ctxfs", CONTAINER, point, "-o", "flat,list=all")
    if b"No such device" in done.stderr:
        pytest.skip("the kernel has no autofs")
    assert done.returncode == 0, done.stderr.decode()
    assert b".ctxfs" in done.stdout.split()
