# SPDX-License-Identifier: Apache-2.0
"""Files of golden/mem8 in a mirror, and members of its archives."""

import errno
import json
import os
import struct
import zlib

from conftest import BIN, GOLDEN, error_of, run

ANSWERS = sorted(GOLDEN.glob("mem8/*.json"))
assert ANSWERS, "no golden containers"


def load(path):
    return json.loads(path.read_text())


def check_unreadable(path, error=errno.EIO) -> None:
    assert os.stat(path).st_size == 0
    assert error_of(path.read_bytes) == error


def test_a_mirror_recognises_what_is_ours(mount):
    """By its first bytes: no relative of another name, and no text."""
    mounted = mount(GOLDEN / "mem8")
    for answer_file in ANSWERS:
        container = answer_file.with_suffix("")
        shown = mounted.point / container.name
        expected = load(answer_file)["open"]
        if expected == "other":
            assert shown.is_file(), shown
        elif expected == "ok" and container.read_bytes()[:4] != b"\x28\xb5\x2f\xfd":
            assert shown.is_dir(), shown


def encrypted(body: bytes, crc: int | None = None) -> bytes:
    checked = bytes(4) + body
    if crc is None:
        crc = zlib.crc32(checked)
    return b"MEM8" + struct.pack("<HHI", 0x100, 2, crc) + checked


def test_an_encrypted_file_is_locked_and_not_damaged(mount, tmp_path):
    file = tmp_path / "secret.mem8"
    file.write_bytes(encrypted(os.urandom(500)))
    mounted = mount(file)
    assert load(mounted / "header.json")["flag_names"] == ["encrypted"]
    for name in ("strings.json", ".ctxfs/summary.json"):
        check_unreadable(mounted / name, errno.EACCES)
        assert os.stat(mounted / name).st_mode & 0o777 == 0
    done = run(BIN / "ctxfs", "check", "--json", file)
    [report] = json.loads(done.stdout)
    assert (done.returncode, report["outcome"]) == (2, "unchecked")
    assert {fault["kind"] for fault in report["faults"]} == {"locked"}
    file.write_bytes(encrypted(os.urandom(500), crc=12345))
    done = run(BIN / "ctxfs", "check", "--json", file)
    [report] = json.loads(done.stdout)
    assert (done.returncode, report["outcome"]) == (1, "damaged")
    assert {fault["kind"] for fault in report["faults"]} == {"checksum"}


def test_members_are_whole_containers(mount):
    """What a member shows is what the file shows when it is mounted alone."""
    archive = mount(GOLDEN / "mem8" / "archive.m8a")
    alone = mount(GOLDEN / "mem8" / "full.mem8")
    member = archive / "crates" / "mem8-core" / ".mem8"
    for name in ("header.json", ".ctxfs/summary.json", "identity.json", "strings.json"):
        assert (member / name).read_bytes() == (alone / name).read_bytes()
    assert sorted(os.listdir(member)) == sorted(os.listdir(alone.root))


def test_a_member_may_lie_below_another(mount):
    archive = mount(GOLDEN / "mem8" / "archive_bad_paths.m8a")
    assert {"child.mem8", "identity.json"} <= set(os.listdir(archive / "good"))
    assert ".ctxfs" not in os.listdir(archive / "good")
    assert (archive / "good" / ".ctxfs" / "info.json").is_file()
    assert "identity.json" in os.listdir(archive / "good" / "child.mem8")


def test_one_bad_member_takes_no_other(mount, tmp_path):
    source = GOLDEN / "mem8" / "archive_member_bad_crc.m8a"
    if not source.exists():
        whole = bytearray((GOLDEN / "mem8" / "archive.m8a").read_bytes())
        answer = json.loads((GOLDEN / "mem8" / "archive.m8a.json").read_text())
        second = answer["members"][1]
        whole[second["file_offset"] + 40] ^= 1
        source = tmp_path / "bad_member.m8a"
        source.write_bytes(whole)
    mounted = mount(source)
    bad = mounted / "crates" / "mem8-core" / ".mem8"
    check_unreadable(bad / "identity.json")
    assert load(bad / ".ctxfs" / "info.json")["crc"] == "mismatch"
    assert load(mounted / ".mem8" / "header.json")["crc"] == "ok"


def test_mem8_promise_3_the_file_changes_under_the_mount(mount, tmp_path):
    file = tmp_path / "x.mem8"
    file.write_bytes((GOLDEN / "mem8" / "compressed.mem8").read_bytes())
    mounted = mount(file)
    assert load(mounted / "identity.json")
    file.write_bytes((GOLDEN / "mem8" / "full.mem8").read_bytes())
    assert error_of((mounted / ".ctxfs" / "summary.json").read_bytes) == errno.ESTALE
