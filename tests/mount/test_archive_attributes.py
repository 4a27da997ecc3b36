# SPDX-License-Identifier: Apache-2.0
"""Times, permission bits and hard links of what archives hold (docs/tree.md,
section 6): those that unpacking gives."""

import io
import os
import pathlib
import shutil
import struct
import subprocess
import tarfile
import time
import zipfile

import pytest

import shard
import tables

PAST = 1_234_567_890


def member(archive, name, mode=0o644, mtime=PAST, kind=tarfile.REGTYPE, **fields):
    info = tarfile.TarInfo(name)
    info.mode, info.mtime, info.type = mode, mtime, kind
    for field, value in fields.items():
        setattr(info, field, value)
    data = name.encode() if kind == tarfile.REGTYPE else b""
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


@pytest.fixture(scope="module")
def tar(tmp_path_factory):
    path = tmp_path_factory.mktemp("tar") / "some.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        member(archive, "bin", 0o750, PAST - 1, tarfile.DIRTYPE)
        member(archive, "bin/run.sh", 0o4755, PAST + 0.25)
        member(archive, "bin/secret", 0o600, -1.5)
        member(archive, "bin/again", 0o644, 5, tarfile.LNKTYPE, linkname="bin/run.sh")
        member(archive, "to", 0o777, 77, tarfile.SYMTYPE, linkname="bin/run.sh")
        member(archive, "implied/deep/file", 0o444, 2**33)
        member(archive, "implied/other/file")
    return path


def archive_of_zip(path: pathlib.Path) -> pathlib.Path:
    """Entries by Unix and by DOS, with and without extra fields of times."""
    extended = struct.pack("<HHBi", 0x5455, 5, 1, PAST)
    ticks = (PAST + 11_644_473_600) * 10**7
    ntfs = struct.pack("<HHIHHQQQ", 10, 32, 0, 1, 24, ticks, 0, 0)
    old = struct.pack("<HHii", 0x5855, 8, 1, PAST)
    with zipfile.ZipFile(path, "w") as archive:
        for name, mode, extra in [
                ("bin/", 0o40750, b""), ("bin/run.sh", 0o100755, b""),
                ("extended", 0o100640, extended), ("ntfs", 0o100600, ntfs),
                ("old", 0o100444, old)]:
            info = zipfile.ZipInfo(name, (2001, 2, 3, 4, 5, 6))
            info.create_system, info.external_attr = 3, mode << 16
            info.extra = extra
            archive.writestr(info, b"" if name.endswith("/") else name)
        info = zipfile.ZipInfo("dos", (2001, 7, 3, 4, 5, 6))
        info.create_system = 0
        archive.writestr(info, "dos")
    return path


def files(top: pathlib.Path) -> dict:
    """What stat says of all below `top`, by path."""
    found = {}
    for folder, names, others in os.walk(top):
        for name in names + others:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, top)] = os.lstat(path)
    return found


def bits(status) -> int:
    return status.st_mode & 0o7777


def test_41_8_members_of_tar_have_their_times(mount, tar, tmp_path):
    mounted = mount(tar).root
    shown = files(mounted)
    out = tmp_path / "out"
    out.mkdir()
    subprocess.run(["tar", "-C", out, "-xf", tar], check=True)
    unpacked = files(out)
    assert shown.keys() == unpacked.keys()
    for name in set(shown) - {"implied", "implied/deep", "implied/other"}:
        assert shown[name].st_mtime_ns == unpacked[name].st_mtime_ns, name
    archive = tar.stat().st_mtime_ns
    assert shown["implied"].st_mtime_ns == archive
    assert mounted.stat().st_mtime_ns == archive
    assert shown["bin/secret"].st_mtime_ns == -1_500_000_000
    assert shown["bin/run.sh"].st_mtime_ns == PAST * 10**9 + 250_000_000


def test_41_8_modes_are_those_of_the_archive_if_asked_for(mount, tar, tmp_path):
    default = files(mount(tar).root)
    assert bits(default["bin/run.sh"]) == 0o444 and bits(default["bin"]) == 0o555
    for umask in (0, 0o027):
        mounted = mount(tar, f"modes,umask={umask:o}").root
        for name, mode in [("bin", 0o550), ("bin/run.sh", 0o555),
                           ("bin/secret", 0o400), ("bin/again", 0o555),
                           ("implied", 0o555), ("implied/deep/file", 0o444)]:
            assert bits(os.lstat(mounted / name)) == mode & ~umask, (name, umask)
        assert os.lstat(mounted / "bin/run.sh").st_uid == os.getuid()
        assert os.access(mounted / "bin/run.sh", os.X_OK)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York"])
def test_41_8_members_of_zip_have_their_times_and_modes(mount, tmp_path, zone,
                                                        monkeypatch):
    path = archive_of_zip(tmp_path / "some.zip")
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        shown = files(mount(path, "modes").root)
        # As mktime() has it: local time, of summer and of winter.
        winter = time.mktime((2001, 2, 3, 4, 5, 6, 0, 0, -1))
        summer = time.mktime((2001, 7, 3, 4, 5, 6, 0, 0, -1))
    finally:
        monkeypatch.undo()
        time.tzset()
    times = {name: status.st_mtime for name, status in shown.items()}
    assert times == {"bin": winter, "bin/run.sh": winter, "dos": summer,
                     "extended": PAST, "ntfs": PAST, "old": PAST}
    modes = {name: bits(status) for name, status in shown.items()}
    assert modes == {"bin": 0o550, "bin/run.sh": 0o555, "dos": 0o444,
                     "extended": 0o440, "ntfs": 0o400, "old": 0o444}


@pytest.mark.parametrize("listed", ["primary", "views", "all"])
def test_41_8_directories_count_their_subdirectories(mount, tar, tmp_path, listed):
    zipped = archive_of_zip(tmp_path / "some.zip")
    plain = tmp_path / "plain.mosh"
    plain.write_bytes(shard.build([shard.entry("a/b/x", b"x"), shard.entry("a/c/x", b"x"),
                                   shard.entry("top", b"x")]))
    for path in (tar, zipped, plain):
        mounted = mount(path, f"list={listed}")
        counted = 0
        for folder, names, _ in os.walk(mounted.point):
            below = os.path.relpath(folder, mounted.root)
            links = os.stat(folder).st_nlink
            if below.split("/")[0] == "views":
                assert links == 1, "not counted"
                continue
            folders = [name for name in names
                       if not os.path.islink(os.path.join(folder, name))]
            assert links == 2 + len(folders), (path, folder, names)
            counted += 1
        assert counted > 2
    assert os.stat(mount(tar).root / "implied").st_nlink == 4


def test_41_8_find_decodes_nothing_to_see_what_it_may_leave_out(mount, tmp_path):
    """It asks for the file system of a directory that counts, and statfs of a
    container like this one decodes."""
    path = tmp_path / "t.cshard"
    tables.write(path, rows=2000, groups=2)
    for listed in ("primary", "all"):
        mounted = mount(path, f"list={listed}")
        subprocess.run(["find", mounted.point], check=True, stdout=subprocess.DEVNULL)
        assert mounted.stats()["decoded_bytes_total"] == 0
        assert os.stat(mounted.root).st_nlink == os.stat(mounted.point).st_nlink == 1


def test_41_8_a_mirrored_directory_does_not_count(mount, tmp_path):
    """Its containers are directories, too, and counting them would open all."""
    source = tmp_path / "source"
    (source / "inner/deep").mkdir(parents=True)
    (source / "m.mosh").write_bytes(shard.build([shard.entry("a/x", b"x")]))
    mounted = mount(source).point
    assert os.stat(mounted / "inner").st_nlink == 1
    found = subprocess.run(["find", mounted, "-type", "d"], capture_output=True,
                           check=True, text=True).stdout.split()
    assert {os.path.relpath(path, mounted) for path in found} == {
        ".", "inner", "inner/deep", "m.mosh", "m.mosh/a"}


def test_41_8_rsync_keeps_the_times_of_members(mount, tar, tmp_path):
    if not shutil.which("rsync"):
        pytest.skip("no rsync")
    mounted = mount(tar, "modes").root
    subprocess.run(["rsync", "-a", f"{mounted}/", tmp_path / "copy"], check=True)
    # Times of one second count as equal for rsync.
    copied, shown = ({name: (int(status.st_mtime), bits(status))
                      for name, status in files(top).items()}
                     for top in (tmp_path / "copy", mounted))
    assert copied == shown
