# SPDX-License-Identifier: Apache-2.0
"""Users that are not root: mount, read, unmount, fstab, and what they are told."""

import os
import pathlib
import shutil

import pytest

from conftest import BIN, GOLDEN, is_mounted, mounts_at, run, wait_until

USER = 65534  # nobody: mount(8) looks the name up
CONTAINER = GOLDEN / "mcf" / "basic.mcf"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="changes its user")


@pytest.fixture(scope="module", autouse=True)
def device():
    """/dev/fuse is for everyone, as udev makes it."""
    mode = os.stat("/dev/fuse").st_mode
    os.chmod("/dev/fuse", 0o666)
    yield
    os.chmod("/dev/fuse", mode & 0o7777)


@pytest.fixture
def home(tmp_path):
    """A directory of the user's, with a container and the program, as others see them."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    folder = tmp_path / "home"
    folder.mkdir()
    shutil.copy(CONTAINER, folder / "model.mcf")
    (tmp_path / "bin").mkdir()
    shutil.copy(BIN / "ctxfs", tmp_path / "bin" / "ctxfs")
    for name in ("mount.ctxfs", "fsck.ctxfs"):
        (tmp_path / "bin" / name).symlink_to("ctxfs")
    for path in (folder, folder / "model.mcf"):
        os.chown(path, USER, USER)
    yield folder
    for path in folder.iterdir():
        for _ in mounts_at(path):
            run("umount", "-l", path)


def as_user(home: pathlib.Path, *command, path=None, user=USER):
    """Runs a command as a user without any privilege, in the user's directory."""
    path = path or f"{home.parent}/bin:/usr/bin:/bin"
    return run("/usr/bin/setpriv", "--reuid", user, "--regid", user, "--clear-groups",
               "--inh-caps=-all", *command, cwd=home,
               env={"PATH": str(path), "HOME": str(home)})


def test_a_user_mounts_reads_and_unmounts(home):
    done = as_user(home, "ctxfs", "mount", "model.mcf")
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == b"./model\n"
    here = home / "model" / "model.mcf"
    listed = as_user(home, "ls", here)
    assert listed.returncode == 0 and b"tensors" in listed.stdout
    owner = as_user(home, "stat", "-c", "%u:%g %a", here / "tensors" / "vec.f32")
    assert owner.stdout.decode().split() == [f"{USER}:{USER}", "444"]
    # The process that is listed is the user's.
    rows = as_user(home, "ctxfs", "mounts").stdout.decode().splitlines()
    [row] = [one.split("\t") for one in rows if str(home) in one]
    assert row[1] == str(home / "model")
    assert pathlib.Path(f"/proc/{row[2]}").stat().st_uid == USER
    # Nobody else looks in, not even root.
    assert as_user(home, "ls", here, user=54321).returncode != 0
    with pytest.raises(PermissionError):
        os.listdir(here)
    assert as_user(home, "ctxfs", "umount", "model").returncode == 0
    assert wait_until(lambda: not (home / "model").exists())


def test_mounts_of_others_are_listed_with_dashes(home):
    assert as_user(home, "ctxfs", "mount", "model.mcf", "mnt").returncode == 0
    rows = run(BIN / "ctxfs", "mounts").stdout.decode().splitlines()
    [row] = [one.split("\t") for one in rows if str(home) in one]
    assert row == [str(home / "model.mcf"), str(home / "mnt"), "-", "-", "-"]


def test_fusermount_unmounts(home):
    assert as_user(home, "mount.ctxfs", "model.mcf", "mnt", "-o", "flat").returncode == 0
    assert as_user(home, "fusermount3", "-u", "mnt").returncode == 0
    assert wait_until(lambda: not is_mounted(home / "mnt"))


def test_a_user_checks_extracts_and_describes(home):
    for command in (["fsck.ctxfs", "model.mcf"], ["ctxfs", "info", "model.mcf"],
                    ["ctxfs", "extract", "model.mcf", "out"]):
        done = as_user(home, *command)
        assert done.returncode == 0, done.stderr.decode()
    assert (home / "out" / "tensors" / "vec.f32").stat().st_uid == USER


def in_namespace(script: str):
    """As root in a mount namespace of its own."""
    return run("unshare", "-m", "bash", "-c", f"set -e; {script}")


def user_words(home) -> str:
    return (f"cd {home}; setpriv --reuid {USER} --regid {USER} --clear-groups --inh-caps=-all"
            f" env PATH={home.parent}/bin:/usr/bin:/bin")


def test_allow_other_needs_the_line_in_fuse_conf(home, tmp_path):
    conf = tmp_path / "fuse.conf"
    conf.write_text("# user_allow_other\n")
    script = f"mount --bind {conf} /etc/fuse.conf; {user_words(home)}"
    done = in_namespace(f"{script} ctxfs mount model.mcf mnt -o allow_other")
    assert done.returncode == 7
    assert b"the line 'user_allow_other' in /etc/fuse.conf" in done.stderr
    conf.write_text("user_allow_other\n")
    allowed = in_namespace(f"""{script} ctxfs mount model.mcf mnt -o allow_other
        cat mnt/model.mcf/.ctxfs/info.json
        umount mnt
    """)
    assert allowed.returncode == 0 and b'"mcf"' in allowed.stdout, allowed.stderr


def test_without_fusermount(home):
    done = in_namespace(f"""
        mount --bind /dev/null /usr/bin/fusermount3
        {user_words(home)} ctxfs mount model.mcf mnt
    """)
    assert done.returncode == 7
    assert b"install the package fuse3" in done.stderr


def test_a_user_mounts_by_fstab(home, tmp_path):
    """The option `user`: mount(8), which is set-uid, runs the helper as the user."""
    point = home / "mnt"
    point.mkdir()
    os.chown(point, USER, USER)
    fstab = tmp_path / "fstab"
    fstab.write_text(f"{home}/model.mcf {point} fuse.ctxfs ro,noauto,user,flat 0 0\n")
    done = in_namespace(f"""
        mount --bind {tmp_path}/bin /usr/local/bin
        mount --bind {fstab} /etc/fstab
        {user_words(home)} mount {point}
        {user_words(home)} cat {point}/.ctxfs/info.json
        {user_words(home)} fusermount3 -u {point}
    """)
    assert done.returncode == 0 and b'"mcf"' in done.stdout, done.stderr.decode()


def test_a_mount_point_of_someone_else(home):
    (home.parent / "roots").mkdir()
    done = as_user(home, "ctxfs", "mount", "model.mcf", home.parent / "roots")
    assert done.returncode == 7 and b"fusermount3" in done.stderr
    absent = as_user(home, "ctxfs", "mount", "model.mcf", home.parent / "new")
    assert absent.returncode == 6 and b"Permission denied" in absent.stderr
