# SPDX-License-Identifier: Apache-2.0
"""ZIP archives: what check says of parts and of methods, and memory."""

import bz2
import hashlib
import os
import struct
import zlib

import pytest

from conftest import BIN, GOLDEN, run, status_kib

ZIP = GOLDEN / "zip"


def check(path) -> tuple[int, str]:
    done = run(BIN / "ctxfs", "check", path)
    return done.returncode, (done.stdout + done.stderr).decode()


def archive(members) -> bytes:
    """An archive of (name, method, stored bytes, size, CRC-32)."""
    data = directory = b""
    for name, method, stored, size, crc in members:
        common = struct.pack("<HHHHHIIIH", 20, 0x800, method, 0, 0, crc, len(stored),
                             size, len(name))
        directory += (b"PK\1\2\x14\3" + common
                      + struct.pack("<HHHHII", 0, 0, 0, 0, 0o100644 << 16, len(data)) + name)
        data += b"PK\3\4" + common + b"\0\0" + name + stored
    return data + directory + struct.pack("<4s4xHHIIH", b"PK\5\6", len(members), len(members),
                                          len(directory), len(data), 0)


def stored(name: bytes, text: bytes):
    return (name, 0, text, len(text), zlib.crc32(text))


@pytest.mark.parametrize("name, says", [
    ("three_in_a_row.zip", "byte 0: bytes_before: the last of 3 archives in a row is shown"),
    ("trailing.zip", "start like a PDF document"),
    ("gap.zip", "42 bytes in 1 gaps between members belong to none"),
    ("prepended_absolute.zip", "bytes_before: "),
])
def test_28_3_a_part_is_not_clean(name, says):
    code, text = check(ZIP / name)
    assert code == 2, text
    assert says in text and "clean" not in text.replace(name, "")


@pytest.mark.parametrize("name", ["prepended.zip", "comment_64k.zip", "zip64_local.zip",
                                  "data_descriptor.zip", "data_descriptor_variants.zip"])
def test_28_3_a_whole_archive_is_clean(name):
    code, text = check(ZIP / name)
    assert code == 0, text


@pytest.mark.parametrize("name, byte", [("state_dict.pt", "byte 0: "), ("legacy.pt", "byte {}: ")])
def test_28_3_checkpoints_in_a_row(tmp_path, name, byte):
    one = (GOLDEN / "torch" / name).read_bytes()
    row = tmp_path / "row.pt"
    row.write_bytes(one)
    assert check(row)[0] == 0
    row.write_bytes(2 * one)
    code, text = check(row)
    assert code == 2 and byte.format(len(one)) + "bytes_" in text, text


def test_28_4_a_method_is_counted_once(tmp_path):
    path = tmp_path / "x.zip"
    path.write_bytes(archive([(b"p%d" % i, 98, b"data", 9, 1) for i in range(50)]
                             + [(b"j", 96, b"data", 9, 1), stored(b"s", b"sound")]))
    code, text = check(path)
    assert code == 2
    assert text.count("PPMd (method 98)") == 1 and text.count("JPEG (method 96)") == 1
    assert "of 50 members" in text


def test_28_4_encryption_is_counted_once():
    for name, kind in (("encrypted.zip", "ZipCrypto"), ("aes.zip", "AES encryption (method 99)")):
        code, text = check(ZIP / name)
        assert code == 2 and text.count(kind) == 1, text


def test_28_4_decoded_methods_are_clean():
    for name in ("bzip2", "lzma", "lzma_no_end_marker", "deflate64", "other_methods"):
        code, text = check(ZIP / f"{name}.zip")
        assert code == 0, text


def peak_mb(mounted) -> int:
    return status_kib(mounted.pid(), "VmHWM") // 1024


def test_28_4_a_member_larger_than_the_cache(mount, tmp_path):
    """300 MB of bzip2 with cache=32M: through a temporary file."""
    size = 300_000_000
    packer = bz2.BZ2Compressor()
    data, digest, crc = b"", hashlib.sha256(), 0
    for at in range(0, size, 1_000_000):
        piece = b"%09d" % at + bytes(999_991)
        data += packer.compress(piece)
        digest.update(piece)
        crc = zlib.crc32(piece, crc)
    data += packer.flush()
    path = tmp_path / "x.zip"
    path.write_bytes(archive([(b"x", 12, data, size, crc)]))
    mounted = mount(path, "cache=32M", f"cache_dir={tmp_path}")
    with open(mounted / "x", "rb") as file:
        assert os.pread(file.fileno(), 9, 299_000_000) == b"299000000"
    done = run("sha256sum", mounted / "x")
    assert done.stdout.split()[0].decode() == digest.hexdigest()
    assert peak_mb(mounted) < 150


def test_28_15_a_handle_costs_little(mount, tmp_path):
    """1000 handles of a member that claims a tebibyte, and is never decoded."""
    data = 1 << 30
    path = tmp_path / "x.zip"
    extra = struct.pack("<HHQQ", 1, 16, data * 1024, data)
    common = struct.pack("<HHHHHIIIHH", 45, 0x800, 8, 0, 0, 1, 2**32 - 1, 2**32 - 1, 1, 20)
    local = b"PK\3\4" + common + b"x" + extra
    directory = (b"PK\1\2\x2d\3" + common + struct.pack("<HHHII", 0, 0, 0, 0, 0) + b"x" + extra)
    end = struct.pack("<4s4xHHIIH", b"PK\5\6", 1, 1, len(directory), len(local) + data, 0)
    with open(path, "wb") as file:
        file.write(local)
        file.seek(len(local) + data)
        file.write(directory + end)
    mounted = mount(path, "cache=32M")
    assert (mounted / "x").stat().st_size == 1 << 40

    def memory() -> int:
        return status_kib(mounted.pid(), "RssAnon")

    handles = [os.open(mounted / "x", os.O_RDONLY) for _ in range(10)]
    before = memory()
    handles += [os.open(mounted / "x", os.O_RDONLY) for _ in range(900)]
    try:
        assert memory() - before < 2 * 900
    finally:
        for handle in handles:
            os.close(handle)


def test_41_6_names_of_windows_are_folders(mount, tmp_path):
    """Made by DOS: backslashes, the attribute of directories, another form in the local header."""
    members = [(b"Data\\", b"Data\\", b"", 0x10), (b"Data\\train\\a.txt", b"Data\\train\\a.txt", b"A", 0x20),
               (b"d", b"d", b"", 0x10), (b"\x94.txt", "\u00f6.txt".encode(), b"umlaut", 0x20), (b"ok", b"ok", b"ok", 0x20)]
    data = directory = b""
    for local, name, text, attributes in members:
        start = struct.pack("<HHHHHIII", 20, 0x800, 0, 0, 0, zlib.crc32(text), len(text), len(text))
        directory += (b"PK\1\2\x14\0" + start + struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, attributes, len(data))
                      + name)
        data += b"PK\3\4" + start + struct.pack("<HH", len(local), 0) + local + text
    path = tmp_path / "w.zip"
    path.write_bytes(data + directory + struct.pack("<4s4xHHIIH", b"PK\5\6", len(members), len(members),
                                                    len(directory), len(data), 0))
    root = mount(path, "flat").root
    assert sorted(os.listdir(root)) == ["Data", "d", "ok", "\u00f6.txt"]
    assert (root / "Data/train/a.txt").read_text() == "A" and os.listdir(root / "d") == []
    assert (root / "\u00f6.txt").read_text() == "umlaut" and (root / "ok").read_text() == "ok"
    assert b"another form" in os.getxattr(root / "\u00f6.txt", "user.ctxfs.note")
    assert "local_name: " in (root / ".ctxfs/info.json").read_text()
    assert check(path)[0] == 0


def test_41_5_a_shorter_archive_over_a_longer_one(mount, tmp_path):
    def tar(*files):
        for name, text in files:
            (tmp_path / name).write_text(text)
        return run("tar", "-b1", "-C", tmp_path, "-cf", "-", *[name for name, _ in files]).stdout
    old = tar(("removed", "removed"), ("w1", "old weights"), ("config.json", "old-config"))
    new = tar(("config.json", "NEW-config"))
    disk = tmp_path / "disk.tar"
    disk.write_bytes(new + old[len(new):])
    root = mount(disk, "flat").root
    assert (root / "config.json").read_text() == "NEW-config"
    assert (root / "config~2.json").read_text() == "old-config"
    assert "concatenated: " in check(disk)[1]
