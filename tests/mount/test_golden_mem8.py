# SPDX-License-Identifier: Apache-2.0
"""Every file of golden/mem8, through a real mount, as its JSON says."""

import collections
import errno
import hashlib
import json
import os
import struct
import zlib

import pytest

from conftest import BIN, GOLDEN, run

ANSWERS = sorted(GOLDEN.glob("mem8/*.json"))
assert ANSWERS, "no golden containers"
MAGICS = (b"MEM8", b"8MEM")


def expected_exit(answer: dict) -> int:
    error = answer.get("error", "")
    if answer["open"] == "other" or error.startswith("not a"):
        return 3
    if answer["kind"] == "empty":
        return 3
    if error.startswith("unsupported version"):
        return 5
    return 8 if "limit" in error else 4


def same(actual, expected) -> bool:
    """Whether `actual` has all that `expected` has."""
    if isinstance(expected, dict):
        return all(k in actual and same(actual[k], v) for k, v in expected.items())
    if isinstance(expected, list):
        return len(actual) == len(expected) and all(map(same, actual, expected))
    if isinstance(expected, float):
        return abs(actual - expected) < 1e-6
    return actual == expected


def without_byte(warning: str) -> str:
    return warning.split(": ", 1)[1] if warning.startswith("byte ") else warning


def texts_of(warnings: list[str]) -> set[str]:
    return {without_byte(warning) for warning in warnings}


def load(path):
    return json.loads(path.read_text())


def check_unreadable(path, error=errno.EIO) -> None:
    assert os.stat(path).st_size == 0
    with pytest.raises(OSError) as failed:
        with open(path, "rb") as file:
            file.read()
    assert failed.value.errno == error


def files_below(root):
    """All files that are decoded from the container or cut from it."""
    return [
        os.path.join(folder, name)
        for top in (root, root / ".ctxfs" / "raw")
        for folder, _, files in os.walk(top)
        for name in files
    ] + [str(root / ".ctxfs" / "summary.json")]


def check_closed(mounted, answer, container) -> None:
    """The tree is there and nothing that has to be decoded can be read."""
    files = files_below(mounted.root)
    assert len(files) >= 3
    for path in files:
        if answer["open"] == "header-only" and path.endswith("/header.json"):
            assert load(mounted / "header.json")["flags"] == answer["header"]["flags"]
        elif answer["open"] == "header-only":
            check_unreadable(path, errno.EACCES)
        else:
            check_unreadable(path)
    assert (mounted / ".ctxfs" / "container").read_bytes() == container.read_bytes()
    info = load(mounted / ".ctxfs" / "info.json")
    assert texts_of(info["warnings"]) >= set(answer.get("warnings", []))
    assert answer["error"] == "crc mismatch"


def check_header(header, answer) -> None:
    assert same(header, answer.get("header", {}))
    for key in ("crc", "byte_order", "length_convention"):
        assert key not in answer or header[key] == answer[key]


def check_strings(root, answer) -> None:
    strings = load(root / "strings.json")
    assert strings == answer.get("strings", strings)
    assert len(strings) == answer.get("strings_count", len(strings))
    if "string_index_299" in answer:
        assert strings[299] == answer["string_index_299"]
    if "path_sha256" in answer:
        path = load(root / "identity.json")["path"]
        assert hashlib.sha256(path.encode()).hexdigest() == answer["path_sha256"]


def check_mem8(root, answer, container) -> None:
    info = load(root / ".ctxfs" / "info.json")
    assert info["format"] == "mem8"
    assert (root / ".ctxfs" / "container").read_bytes() == container
    assert texts_of(info["warnings"]) == set(answer["warnings"])
    check_header(load(root / "header.json"), answer)
    check_strings(root, answer)
    assert same(load(root / ".ctxfs" / "summary.json")["sections"], answer["sections"])
    verified = b"none" if answer["crc"] == "absent" else b"yes"
    seen = collections.Counter()
    expected = {"header.json", "strings.json"}
    for section in answer["sections"]:
        seen[section["type"]] += 1
        again = f"~{n}" if (n := seen[section["type"]]) > 1 else ""
        if section["name"]:
            expected.add(f"{section['name']}{again}.json")
            shown = load(root / f"{section['name']}{again}.json")
            assert same(shown, section["decoded"])
        raw = root / ".ctxfs/raw/sections" / f"0x{section['type']:04x}{again}.bin"
        data = raw.read_bytes()
        assert len(data) == section["payload_bytes"]
        assert section["decoded"].get("raw_hex", data.hex()) == data.hex()
        offset = os.getxattr(raw, "user.ctxfs.offset")
        assert int(offset) == section["offset"] + 3
        assert os.getxattr(raw, "user.ctxfs.verified") == verified
    assert set(os.listdir(root)) == expected
    assert len(load(root / ".ctxfs/index.json")) == len(answer["sections"])
    kinds = [s["type"] for s in answer["sections"] if "raw_hex" in s["decoded"]]
    assert answer.get("raw_sections", kinds) == kinds


def shown_path(member: dict) -> bytes:
    """Where a member is, by the rules for names (docs/tree.md, section 7)."""
    name = bytes.fromhex(member["path_hex"]) if "path_hex" in member else (
        member["path"].encode())
    if member["status"].startswith("ok as ") and "backslash" not in member["status"]:
        return member["status"][len("ok as "):].split(" (")[0].encode()
    if member["status"] == "skip: duplicate (first wins)":
        return name.replace(b".mem8", b"~2.mem8")
    special = {b"": b"%", b".": b"%2E", b"..": b"%2E%2E"}
    return b"/".join(
        special.get(part, part.replace(b"\0", b"%00")) for part in name.split(b"/"))


def check_member(member: dict, shown: dict) -> None:
    """What archive.json says of a member."""
    for key in ("path_hex", "offset_field", "size_field"):
        assert shown[key] == member.get(key, shown[key]), key
    assert member["path"] == bytes.fromhex(shown["path_hex"]).decode(errors="replace")
    status = member["status"]
    if status.startswith(("skip", "out of range")) or status.endswith("header or table"):
        assert shown["status"] == status
        return
    assert shown["status"].startswith("ok")
    assert status == shown["status"] or status.startswith(("ok ", "ok:", "range "))
    if member.get("file_offset") is not None:
        assert shown["file_offset"] == member["file_offset"]


def check_archive(mounted, answer, container) -> None:
    archive = load(mounted / "archive.json")
    assert same(archive["header"], answer["header"])
    assert texts_of(archive["warnings"]) == set(answer["warnings"])
    base = archive["offsets_relative_to"]
    assert answer["offsets_relative_to"] in (base, base + " (of the decompressed archive)")
    # With entries taken out of the count the data seem to start earlier.
    if "note" not in answer:
        assert archive["data_starts_at"] == answer["data_starts_at"]
    assert (mounted / ".ctxfs" / "container").read_bytes() == container.read_bytes()
    root = os.fsencode(mounted.root)
    members = answer["members"][: answer.get("listed")]
    for member, shown in zip(members, archive["members"], strict=True):
        check_member(member, shown)
        status = member["status"]
        if status == "skip: component over 255 bytes":
            names = os.listdir(root)
            assert sum(b"%~" in name for name in names) == 1
            continue
        path = os.path.join(root, shown_path(member))
        if status.startswith("out of range") or status.endswith("header or table"):
            check_unreadable(path)
            continue
        size = member["size_field"]
        if os.path.isdir(path):
            path = os.path.join(path, b".ctxfs", b"container")
        with open(path, "rb") as file:
            data = file.read()
        assert len(data) == size
        if member["sha256"]:
            assert hashlib.sha256(data).hexdigest() == member["sha256"]
        if data[:4] in MAGICS:
            assert path.endswith(b".ctxfs/container")
        elif not shown["status"].startswith("skip"):
            assert "path" in shown and shown["status"].startswith("ok")


def check_refusal(refused, answer, container) -> None:
    code, text = refused(container)
    assert code == expected_exit(answer)
    assert container.name in text and "byte " in text
    error = answer.get("error", "")
    if answer["open"] == "other":
        assert answer.get("error", "MEM8") in text
    elif not error.startswith("not a"):  # then it is of no format
        assert error in text


@pytest.mark.parametrize("answer_file", ANSWERS, ids=lambda p: p.stem)
def test_golden(answer_file, mount, refused):
    answer = json.loads(answer_file.read_text())
    container = answer_file.with_suffix("")
    whole = container.read_bytes()
    assert answer["open"] in ("ok", "ok-partial", "error", "other", "error-on-read")
    assert answer["file"] == container.name
    assert answer["size"] == len(whole)
    assert answer["sha256"] == hashlib.sha256(whole).hexdigest()
    if answer["open"] in ("error", "other"):
        check_refusal(refused, answer, container)
        return
    mounted = mount(container)
    if answer["open"] in ("header-only", "error-on-read"):
        check_closed(mounted, answer, container)
    elif answer["kind"] == "m8a":
        check_archive(mounted, answer, container)
    else:
        check_mem8(mounted.root, answer, whole)


def test_without_verification_all_is_served(mount):
    """What is refused for its checksum alone."""
    closed = [path for path in ANSWERS if load(path)["open"] == "error-on-read"]
    assert closed
    for answer_file in closed:
        mounted = mount(answer_file.with_suffix(""), "verify=off")
        answer = load(answer_file)
        check_strings(mounted.root, answer)
        summary = load(mounted / ".ctxfs/summary.json")
        assert same(summary["sections"], answer["sections"])
        check_header(load(mounted / "header.json"), answer)


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
    with pytest.raises(OSError) as failed:
        (mounted / ".ctxfs" / "summary.json").read_bytes()
    assert failed.value.errno == errno.ESTALE
