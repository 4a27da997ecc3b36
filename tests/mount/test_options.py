# SPDX-License-Identifier: Apache-2.0
"""Options, exit codes and messages of the commands (docs/mounting.md)."""

import errno
import json
import os
import pathlib
import subprocess

import pytest

import shard
from conftest import BIN, GOLDEN, error_of, is_helper, mount_command, mounts_at, run, thread_statuses, wait_until

SHARDS = GOLDEN / "shard"
CONTAINER = SHARDS / "comp_mixed.shard"


def test_flat(mount):
    mounted = mount(CONTAINER, "flat")
    assert mounted.root == mounted.point
    names = set(os.listdir(mounted.point))
    assert names and not {".ctxfs", "views"} & names
    assert set(os.listdir(mounted.point / ".ctxfs")) == {
        "info.json", "index.json", "faults.json", "container", "stats",
    }
    everything = set(os.listdir(mount(CONTAINER, "flat,list=all").point))
    assert everything >= names | {".ctxfs"}


def test_not_flat(mount):
    mounted = mount(CONTAINER)
    assert os.listdir(mounted.point) == [CONTAINER.name]
    assert os.listdir(mounted.point / ".ctxfs") == ["stats"]


@pytest.mark.parametrize(
    "container, code, offset, reason",
    [
        ("bad_magic.shard", 3, 0, "not a container"),
        ("bad_stream_unfinalized.partial", 3, 0, "not finished"),
        ("bad_version_3.shard", 5, 4, "version 3"),
        ("bad_index_entry_size_65535.shard", 4, 10, "index_entry_size"),
        ("bad_entry_count_10000001.shard", 8, 12, "10000001"),
        ("bad_total_size_99999.shard", 4, 40, "99999"),
        ("bad_entry_before_data.shard", 4, 80, "'alpha'"),
        ("bad_entries_overlap.shard", 4, 128, "'dir/beta'"),
        ("bad_truncated_header_32.shard", 4, 32, "header"),
    ],
)
def test_refusals(refused, container, code, offset, reason):
    path = SHARDS / container
    got, text = refused(path)
    assert got == code
    assert container in text and f"byte {offset}:" in text and reason in text


def test_exit_codes_of_sources(refused, tmp_path):
    assert refused(tmp_path / "nothing")[0] == 2
    os.mkfifo(tmp_path / "fifo")
    assert refused(tmp_path / "fifo")[0] == 2
    (tmp_path / "text").write_text("just text, no container")
    assert refused(tmp_path / "text")[0] == 3
    (tmp_path / "empty").touch()
    code, text = refused(tmp_path / "empty")
    assert code == 3 and "empty" in text


def test_mount_points_that_cannot_be_used(tmp_path):
    file = tmp_path / "file"
    file.touch()
    for point in (file, tmp_path / "no" / "such", file / "below"):
        done = run(*mount_command(CONTAINER, point))
        assert done.returncode == 6, done.stderr
        assert str(point) in done.stderr.decode()


@pytest.mark.parametrize(
    "arguments",
    [
        [], ["one", "-o", "nosuch"], ["one", "two", "three", "-o", "flat"],
        ["a", "b", "-o", "nosuch"], ["a", "b", "-o", "verify=never"],
        ["a", "b", "-o", "cache=lots"], ["a", "b", "-o", "cache=-1"],
        ["a", "b", "-o", "threads=0"], ["a", "b", "-o", "umask=9"],
        ["a", "b", "-o", "log=loud"], ["a", "b", "--nosuch"],
        ["a", "b", "-o", "list=none"], ["a", "b", "-o", "list="],
    ],
)
def test_usage_errors(arguments):
    done = run(BIN / "mount.ctxfs", *arguments)
    assert done.returncode == 1
    assert done.stderr.startswith(b"ctxfs: ") and done.stdout == b""


def test_help_and_version():
    for flag in ("-h", "--help"):
        done = run(BIN / "mount.ctxfs", flag)
        assert done.returncode == 0 and b"usage: mount.ctxfs" in done.stdout
    for flag in ("-V", "--version"):
        done = run(BIN / "mount.ctxfs", flag)
        assert done.returncode == 0 and done.stdout.startswith(b"ctxfs 0.")
    assert run(BIN / "ctxfs").returncode == 1
    assert run(BIN / "ctxfs", "--version").returncode == 0


def test_every_option_of_the_help_is_taken(mount):
    for option in (
        "verify=read", "cache=64M", "cache=1G", "threads=2", "readahead=1M",
        "uid=1,gid=2,umask=022", "allow_other", "log=debug", "log=error",
        "timeout=0", "timeout=3600", "list=primary", "list=views", "list=all", "nosandbox", "noxattrs", "nonempty", "ro,nosuid,nodev,noatime,defaults,user,_netdev,nofail,noauto",
        "x-systemd.automount,x-gvfs-show,comment=this",
    ):
        assert os.listdir(mount(CONTAINER, option).root)
    assert os.listdir(mount(CONTAINER, flags=["-s", "-n", "-v", "-t", "ctxfs"]).root)


def test_readahead_is_set(mount):
    mounted = mount(CONTAINER, "readahead=1M")
    device = os.stat(mounted.point).st_dev
    knob = f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb"
    assert pathlib.Path(knob).read_text().strip() == "1024"


def test_threads(mount):
    pid = mount(CONTAINER, "threads=3").pid()
    for _ in range(20):
        os.listdir(f"/proc/{pid}/task")
    # The workers, the one that starts them, and main.
    assert sum(not is_helper(status) for status in thread_statuses(pid)) <= 5


def test_paths_with_everything_in_them(tmp_path):
    data = shard.build([shard.entry("a", b"1")])
    names = ["a,allow_other", "back\\slash,suid", "sp ace", "-o", "quo'te\"s", "per%s"]
    for number, name in enumerate(names):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / name).write_bytes(data)
        point = folder / f"mnt {number},ro"
        # After "--" a name may look like an option.
        done = run(BIN / "mount.ctxfs", "--", name, point.name, cwd=folder)
        assert done.returncode == 0, (name, done.stderr)
        try:
            assert (point / name / "a").read_bytes() == b"1"
            with open("/proc/self/mountinfo", encoding="utf-8") as table:
                (line,) = [m for m in table if f"/{number}/mnt\\040" in m]
            assert "allow_other" not in line.split(" - ")[1].split()[-1]
            assert "nosuid" in line.split()[5]
        finally:
            run("umount", "-l", point)


def test_allow_other(mount, tmp_path):
    """Another user sees the mount with the option, and only with it."""
    os.chmod(tmp_path, 0o755)
    for parent in tmp_path.parents[:2]:
        os.chmod(parent, 0o755)
    for options, allowed in (([], False), (["allow_other"], True)):
        mounted = mount(CONTAINER, *options)
        done = run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                   "ls", mounted.root)
        assert (done.returncode == 0) == allowed, done.stderr


def test_salvage_a_cut_container(mount, refused, tmp_path):
    entries = [shard.entry(f"e{i}", bytes([65 + i]) * 1000) for i in range(4)]
    path = tmp_path / "cut.mosh"
    path.write_bytes(shard.build(entries)[:-1500])
    code, text = refused(path)
    assert code == 4 and "truncated" in text
    assert "with -o salvage 2 of 4 entries can be opened" in text
    mounted = mount(path, "salvage")
    for i in (0, 1):
        assert (mounted / f"e{i}").read_bytes() == bytes([65 + i]) * 1000
    for i in (2, 3):
        assert error_of((mounted / f"e{i}").read_bytes) == errno.EIO
        assert b"past the end" in os.getxattr(mounted / f"e{i}", "user.ctxfs.note")
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    assert info["salvaged"] and info["entries_unreadable"] == 2
    assert any("byte 40: " in warning for warning in info["warnings"])


def test_salvage_shared_bytes(mount, tmp_path):
    mounted = mount(SHARDS / "bad_entries_overlap.shard", "salvage")
    # Who has a checksum is judged by it.
    assert (mounted / "dir/gamma").read_bytes()
    assert len((mounted / "alpha").read_bytes()) == 100
    with pytest.raises(OSError):
        (mounted / "dir/beta").read_bytes()


def test_salvage_changes_nothing_for_a_sound_container(mount):
    sound, salvaged = mount(CONTAINER, "list=all"), mount(CONTAINER, "salvage,list=all")
    assert run("diff", "-r", "-x", ".ctxfs", sound.root, salvaged.root).returncode == 0


def test_verbose_says_where(tmp_path):
    point = tmp_path / "mnt"
    daemon = subprocess.Popen(
        mount_command(CONTAINER, point, flags=["-f", "-v"]), stderr=subprocess.PIPE
    )
    try:
        assert wait_until(lambda: (point / CONTAINER.name).exists())
    finally:
        run("umount", "-l", point)
        log = daemon.communicate(timeout=30)[1].decode()
    assert f"is mounted at {point}" in log


def test_check(tmp_path):
    clean = run(BIN / "fsck.ctxfs", CONTAINER)
    assert clean.returncode == 0 and b": clean" in clean.stdout
    faulty = run(BIN / "ctxfs", "check", SHARDS / "crc_mismatch_raw.shard", CONTAINER)
    assert faulty.returncode == 1
    assert b"'bad': byte " in faulty.stdout and b"checksum" in faulty.stdout
    for command, damaged, unchecked, usage in (
        ([BIN / "ctxfs", "check"], 1, 2, 2), ([BIN / "fsck.ctxfs"], 4, 8, 16),
    ):
        overlap = run(*command, SHARDS / "bad_entries_overlap.shard")
        assert overlap.returncode == damaged
        assert run(*command, tmp_path / "nothing").returncode == unchecked
        assert run(*command).returncode == usage


def refusal_at(point) -> str:
    """The message of a refused mount point."""
    done = run(*mount_command(CONTAINER, point))
    assert done.returncode == 6, done.stderr.decode()
    assert str(point) in done.stderr.decode()
    return done.stderr.decode()


def test_a_mount_hides_nothing_unasked(mount, tmp_path):
    """Neither files, nor directories, nor another mount of ctxfs."""
    full = tmp_path / "full"
    full.mkdir()
    (full / ".hidden").touch()
    other = tmp_path / "other directory"
    (other / "below").mkdir(parents=True)
    for point in (full, other, f"{other}/.", other / "below" / ".."):
        assert "is not empty" in refusal_at(point)
    assert os.listdir(full) == [".hidden"]

    first = mount(CONTAINER)
    reason = refusal_at(first.point)
    assert "already has a ctxfs mount" in reason and "nonempty" in reason
    (tmp_path / "link").symlink_to(first.point)
    assert "already has a ctxfs mount" in refusal_at(tmp_path / "link")


def test_nonempty(tmp_path):
    point = tmp_path / "a b\\c"
    point.mkdir()
    (point / "file").touch()
    try:
        for number in (1, 2):
            done = run(*mount_command(CONTAINER, point, "flat,nonempty"))
            assert done.returncode == 0, done.stderr
            assert len(mounts_at(point)) == number
            assert (point / ".ctxfs").is_dir() and "file" not in os.listdir(point)
            assert run(*mount_command(CONTAINER, point)).returncode == 6
    finally:
        while mounts_at(point):
            run("umount", "-l", point)
    assert os.listdir(point) == ["file"]


def test_an_empty_mount_of_another_kind_is_no_ctxfs_mount(tmp_path):
    """A fresh disk may be mounted on, as any empty directory."""
    script = f"""
        mkdir {tmp_path}/disk
        mount -t tmpfs none {tmp_path}/disk
        {BIN}/mount.ctxfs {CONTAINER} {tmp_path}/disk
        ls {tmp_path}/disk
        umount {tmp_path}/disk
    """
    done = run("unshare", "-m", "bash", "-ec", script)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [CONTAINER.name.encode()]
