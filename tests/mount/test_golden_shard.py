# SPDX-License-Identifier: Apache-2.0
"""Every container of golden/shard, through a real mount, as its JSON says."""

import errno
import hashlib
import json
import os
import zlib

import pytest

from conftest import BIN, GOLDEN, run
from shard import header_of, record_of

ANSWERS = sorted(GOLDEN.glob("shard/*.json"))
assert ANSWERS, "no golden containers"
# What a reference reader adds to metadata that have no such key.
ADDED = {"created_at": "0001-01-01T00:00:00Z", "schema_version": "shard-v2.1"}


def expected_exit(answer: dict, container) -> int:
    if container.read_bytes()[:4] != b"SHRD":
        return 3
    header = answer.get("header", {})
    if header.get("version", 2) != 2:
        return 5
    return 8 if header.get("entry_count", 0) > 10_000_000 else 4


def stored_name(entry: dict) -> bytes:
    if "name_hex" in entry:
        return bytes.fromhex(entry["name_hex"])
    return entry["name"].encode()


def safe(name: bytes) -> bool:
    """Whether a name is its own path."""
    parts = name.split(b"/")
    return (
        all(0 < len(p) <= 255 and p not in (b".", b"..") for p in parts)
        and b"\0" not in name and b"%" not in name and len(parts) <= 255
    )


def paths_of(index: list[dict]) -> list[bytes]:
    return [
        bytes.fromhex(e["path_hex"]) if "path_hex" in e else e["path"].encode()
        for e in index
    ]


def takes_ieee(data: bytes, entry: dict) -> bool:
    """Whether the CRC-32 (IEEE) is right where the CRC-32C is not: role 2."""
    return f"{zlib.crc32(data):08x}" == entry["crc32c"]


def check_name(shown: dict, entry: dict) -> None:
    """Readers make an empty name of one that is outside of the table: null."""
    name = stored_name(entry)
    assert shown.get("name_hex", name.hex()) == name.hex()
    assert "name_hex" in shown or (shown["name"] or "").encode() == name
    assert entry["name"] in (None, name.decode(errors="replace"))


def check_index(shown: dict, entry: dict) -> None:
    """What index.json says of an entry."""
    check_name(shown, entry)
    assert shown["size"] == entry["original_size"]
    assert shown["stored_size"] == entry["stored_size"]
    assert shown["offset"] == entry["data_offset"]
    assert shown["flags"] == entry["flags"]
    kind = f"{entry['content_type']} {entry['content_type_name']}"
    assert shown["content_type"] == kind
    assert shown.get("tag_bits", 0) == entry.get("tag_bits", 0)


def check_entry(path: bytes, shown: dict, entry: dict, ieee: bool) -> None:
    check_index(shown, entry)
    none = entry["crc32c"] == "00000000" and shown["checksum"] == ""
    assert none or shown["checksum"] == "crc32c:" + entry["crc32c"]
    assert os.getxattr(path, "user.ctxfs.offset") == b"%d" % entry["data_offset"]
    assert os.getxattr(path, "user.ctxfs.stored_size") == b"%d" % entry["stored_size"]
    assert (entry["decoded_sha256"] is None) == ("decoded_size" not in entry)
    if entry["decoded_sha256"] is None and ieee:
        with open(path, "rb") as file:
            assert takes_ieee(file.read(), entry)
        assert os.getxattr(path, "user.ctxfs.checksum").startswith(b"crc32:")
        return
    if entry["decoded_sha256"] is None:
        with pytest.raises(OSError) as failed:
            with open(path, "rb") as file:
                file.read()
        assert failed.value.errno == errno.EIO
        return
    assert os.stat(path).st_size == entry["decoded_size"]
    with open(path, "rb") as file:
        data = file.read()
    assert len(data) == entry["decoded_size"]
    assert hashlib.sha256(data).hexdigest() == entry["decoded_sha256"]
    verified = os.getxattr(path, "user.ctxfs.verified")
    assert verified == (b"yes" if shown["checksum"] else b"none")


def check_header(info: dict, answer: dict) -> None:
    header = answer["header"]
    for key in ("version", "role", "flags", "alignment", "compression_default"):
        assert info[key] == header[key], key
    assert info["container_size"] == header["total_file_size"]
    assert info["entries"] == header["entry_count"] == len(answer["entries"])


def check_metadata(mounted, answer: dict, container) -> None:
    """metadata.json is what is stored, and what the references read of it."""
    path = mounted / ".ctxfs" / "metadata.json"
    references = [answer.get(f"{name}_metadata") for name in ("python", "go")]
    assert path.exists() == (references[1] is not None)
    assert references[0] is None or answer["header"]["schema_offset"] != 0
    for said in references:
        if not isinstance(said, dict):
            continue
        start = answer["header"]["schema_offset"]
        assert path.read_bytes() == container.read_bytes()[start:]
        shown = ADDED | json.loads(path.read_text())
        assert {key: shown[key] for key in said} == said


def check_file(answer: dict, container) -> None:
    """The answer is of this file: header and index are, of refused ones as well."""
    whole = container.read_bytes()
    assert answer["file"] == container.name
    assert answer["size"] == len(whole)
    assert answer["sha256"] == hashlib.sha256(whole).hexdigest()
    if "header" in answer:
        assert header_of(whole) == answer["header"]
    for number, entry in enumerate(answer.get("entries", [])):
        assert entry["index"] == number
        record = record_of(whole, number)
        assert {k: v for k, v in entry.items() if k in record}.items() <= record.items()


@pytest.mark.parametrize("answer_file", ANSWERS, ids=lambda p: p.stem)
def test_golden(answer_file, mount, refused):
    answer = json.loads(answer_file.read_text())
    container = answer_file.with_suffix("")
    recommended = answer["recommended"]
    check_file(answer, container)
    if recommended.startswith("refuse"):
        code, text = refused(container)
        assert code == expected_exit(answer, container)
        assert container.name in text and "byte " in text
        return
    mounted = mount(container)
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    assert info["format"] == "shard"
    check_header(info, answer)
    if "metadata: error" in recommended:
        assert any("metadata" in warning for warning in info["warnings"])
    assert (mounted / ".ctxfs" / "container").read_bytes() == container.read_bytes()

    index = json.loads((mounted / ".ctxfs" / "index.json").read_text())
    paths = paths_of(index)
    assert len(set(paths)) == len(answer["entries"])
    root = os.fsencode(mounted.root)
    names = [stored_name(e) for e in answer["entries"]]
    for path, shown, entry, name in zip(paths, index, answer["entries"], names):
        ieee = "accept IEEE" in recommended
        check_entry(os.path.join(root, path), shown, entry, ieee)
        taken = any(other.startswith(name + b"/") for other in names)
        if safe(name) and names.count(name) == 1 and not taken:
            assert path == name

    # A listing shows the entries and nothing else.
    found = {
        os.path.relpath(os.path.join(folder, file), root)
        for folder, _, files in os.walk(root)
        for file in files
    }
    assert found == set(paths)
    check_metadata(mounted, answer, container)


@pytest.mark.parametrize("answer_file", ANSWERS, ids=lambda p: p.stem)
def test_salvage_opens_what_need_not_be_refused(answer_file):
    """Its files are read by test_golden_windows."""
    done = run(BIN / "ctxfs", "ls", "--salvage", answer_file.with_suffix(""))
    recommended = json.loads(answer_file.read_text())["recommended"]
    assert done.returncode == 0 or recommended.startswith("refuse")
