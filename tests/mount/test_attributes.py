# SPDX-License-Identifier: Apache-2.0
"""Attributes, extended attributes, statfs (docs/tree.md, section 6)."""

import errno
import json
import os
import pathlib
import signal
import stat
import sys

import pytest

import shard
from conftest import GOLDEN, error_of, run, stop

MIXED = GOLDEN / "shard" / "comp_mixed.shard"


def everything(root):
    """All paths of a mount with list=all, or all that a listing shows."""
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            yield os.path.join(folder, name)


def test_modes_times_and_owner(mount):
    mounted = mount(MIXED, "list=all")
    source = MIXED.stat()
    for path in everything(mounted.point):
        st = os.stat(path)
        directory = stat.S_ISDIR(st.st_mode)
        assert stat.S_IMODE(st.st_mode) == (0o555 if directory else 0o444)
        assert st.st_mtime_ns == st.st_ctime_ns == source.st_mtime_ns
        assert (st.st_uid, st.st_gid) == (os.getuid(), os.getgid())
        assert st.st_blocks == (st.st_size + 511) // 512


def test_uid_gid_umask(mount):
    mounted = mount(MIXED, "uid=1234,gid=2345,umask=037,list=all")
    for path in everything(mounted.point):
        st = os.stat(path)
        directory = stat.S_ISDIR(st.st_mode)
        assert stat.S_IMODE(st.st_mode) == (0o540 if directory else 0o440)
        assert (st.st_uid, st.st_gid) == (1234, 2345)


def test_the_users_umask_is_the_default(mount):
    before = os.umask(0o077)
    try:
        mounted = mount(MIXED)
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(mounted.root).st_mode) == 0o500


def inodes(mounted):
    return {
        os.path.relpath(path, mounted.point): os.stat(path).st_ino
        for path in everything(mounted.point)
    }


def test_inodes_are_unique_and_the_same_on_every_mount(mount):
    first, second = mount(MIXED, "list=all"), mount(MIXED, "list=all")
    # Looked up in another order.
    for path in sorted(everything(second.point), reverse=True):
        os.stat(path)
    assert inodes(first) == inodes(second)
    assert len(set(inodes(first).values())) == len(inodes(first))
    listed = {entry.name: entry.inode() for entry in os.scandir(first.root)}
    for name, inode in listed.items():
        assert os.stat(first / name).st_ino == inode


@pytest.mark.parametrize(
    "change",
    [
        lambda p: open(p, "wb"),
        lambda p: open(p, "ab"),
        os.unlink,
        lambda p: os.rename(p, str(p) + "2"),
        lambda p: os.mkdir(str(p) + ".d"),
        lambda p: os.symlink("x", str(p) + ".l"),
        lambda p: os.link(p, str(p) + ".h"),
        lambda p: os.truncate(p, 0),
        lambda p: os.chmod(p, 0o777),
        lambda p: os.utime(p),
        lambda p: os.setxattr(p, "user.ctxfs.name", b"x"),
    ],
)
def test_writes_are_erofs(mount, change):
    mounted = mount(MIXED)
    name = next(e.name for e in os.scandir(mounted.root) if e.is_file())
    assert error_of(change, mounted / name) == errno.EROFS


def test_access(mount):
    mounted = mount(MIXED)
    assert os.access(mounted.root, os.R_OK | os.X_OK)
    assert not os.access(mounted.root, os.W_OK)


def test_names_that_are_not_there(mount):
    mounted = mount(MIXED)
    for name in ("nothing", "x" * 255, ".ctxfs/nothing", "raw/nothing"):
        for _ in range(2):
            assert not os.path.exists(mounted / name)
    assert error_of(os.stat, mounted / ("x" * 256)) == errno.ENAMETOOLONG


def plain(tmp_path) -> pathlib.Path:
    """MIXED without a profile: entries alone."""
    path = tmp_path / "plain.shard"
    data = bytearray(MIXED.read_bytes())
    data[5] = 16
    path.write_bytes(data)
    return path


def test_statfs(mount, tmp_path):
    mounted = mount(plain(tmp_path))
    entries = json.loads((mounted / ".ctxfs" / "index.json").read_text())
    st = os.statvfs(mounted.point)
    total = sum(entry["size"] for entry in entries)
    assert st.f_blocks * st.f_frsize - total in range(st.f_frsize)
    assert st.f_bfree == st.f_bavail == st.f_ffree == 0
    assert st.f_files == len(entries)
    assert st.f_namemax == 255
    assert st.f_flag & os.ST_RDONLY
    assert st.f_flag & os.ST_NOSUID and st.f_flag & os.ST_NODEV


def test_statfs_counts_primary_files(mount):
    """Neither directories, nor views, nor metadata; however they are listed."""
    for container in (GOLDEN / "shard-profiles" / "llama_micro.mosh", MIXED):
        counts = [os.statvfs(mount(container, *options).point)
                  for options in ((), ("list=all",), ("views=none",))]
        listed = [path for path in everything(mount(container).point)
                  if os.path.isfile(path)]
        assert {st.f_files for st in counts} == {len(listed)}
        assert len({st.f_blocks for st in counts}) == 1


def xattrs(path) -> dict[str, bytes]:
    return {
        name.removeprefix("user.ctxfs."): os.getxattr(path, name)
        for name in os.listxattr(path)
    }


def test_xattrs_of_a_raw_entry(mount, tmp_path):
    path = tmp_path / "x.mosh"
    path.write_bytes(shard.build([shard.entry("a", b"hello", content_type=5)]))
    mounted = mount(path)
    expected = {
        "codec": b"none",
        "stored_size": b"5",
        "offset": b"113",
        "checksum": b"crc32c:9a71bb4c",
        "content_type": b"5 text",
        "verified": b"no",
    }
    assert xattrs(mounted / "a") == expected
    assert (mounted / "a").read_bytes() == b"hello"
    assert xattrs(mounted / "a") == expected | {"verified": b"yes"}


def test_xattrs_of_an_escaped_name(mount, tmp_path):
    path = tmp_path / "x.mosh"
    names = ["", "a//b", "../up", "plain"]
    path.write_bytes(shard.build([shard.entry(n, b"") for n in names]))
    mounted = mount(path)
    assert xattrs(mounted / "%")["name"] == b""
    assert xattrs(mounted / "a/%/b")["name"] == b"a//b"
    assert xattrs(mounted / "%2E%2E/up")["name"] == b"../up"
    assert "name" not in xattrs(mounted / "plain")


def test_xattrs_never_decode_and_stay_small(mount, tmp_path):
    name = "n" * 60_000
    path = tmp_path / "x.mosh"
    path.write_bytes(shard.build([shard.zstd_entry(name, bytes(100_000))]))
    mounted = mount(path)
    (entry,) = [e for e in os.scandir(mounted.root) if e.is_file()]
    values = xattrs(entry.path)
    assert values["codec"] == b"zstd" and values["verified"] == b"no"
    assert all(len(value) < 4096 for value in values.values())
    assert mounted.stats()["decoded_bytes_total"] == 0
    # What is too long for an attribute stands in index.json.
    index = json.loads((mounted / ".ctxfs" / "index.json").read_text())
    assert index[0]["name"] == name


def test_xattr_errors(mount):
    mounted = mount(MIXED)
    for name in ("user.ctxfs.nothing", "user.other", "security.capability"):
        assert error_of(os.getxattr, mounted.root, name) in (errno.ENODATA, errno.EOPNOTSUPP)
    assert os.listxattr(mounted.root) == []


def test_with_noxattrs_the_kernel_knows_that_no_file_has_any(mount):
    mounted = mount(MIXED, "noxattrs")
    file = next(e.path for e in os.scandir(mounted.root))
    ask = ("import errno, os, sys\n"
           "for act in (os.listxattr, lambda path: os.getxattr(path, 'user.ctxfs.checksum')):\n"
           "    try: act(sys.argv[1])\n"
           "    except OSError as refused: print(errno.errorcode[refused.errno])\n")
    answer = b"ENOTSUP\nENOTSUP\n"
    assert run(sys.executable, "-c", ask, file).stdout == answer
    stop(mounted.pid())
    try:
        assert run(sys.executable, "-c", ask, file).stdout == answer
    finally:
        os.kill(mounted.pid(), signal.SIGCONT)


def test_getfattr_reads_them_all(mount):
    mounted = mount(MIXED)
    name = next(e.name for e in os.scandir(mounted.root) if e.is_file())
    done = run("getfattr", "-d", "-m", "-", "--absolute-names", mounted / name)
    assert done.returncode == 0
    assert b"user.ctxfs.checksum" in done.stdout
