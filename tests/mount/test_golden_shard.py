# SPDX-License-Identifier: Apache-2.0
"""Every container of golden/shard, through a real mount, as its JSON says."""

import errno
import hashlib
import json
import os
import zlib

import pytest

from conftest import GOLDEN

ANSWERS = sorted(GOLDEN.glob("shard/*.json"))
assert ANSWERS, "no golden containers"


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


def check_entry(path: bytes, shown: dict, entry: dict, ieee: bool) -> None:
    assert shown["stored_size"] == entry["stored_size"]
    assert shown["offset"] == entry["data_offset"]
    none = entry["crc32c"] == "00000000" and shown["checksum"] == ""
    assert none or shown["checksum"] == "crc32c:" + entry["crc32c"]
    assert os.getxattr(path, "user.ctxfs.offset") == b"%d" % entry["data_offset"]
    assert os.getxattr(path, "user.ctxfs.stored_size") == b"%d" % entry["stored_size"]
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


@pytest.mark.parametrize("answer_file", ANSWERS, ids=lambda p: p.stem)
def test_golden(answer_file, mount, refused):
    answer = json.loads(answer_file.read_text())
    container = answer_file.with_suffix("")
    recommended = answer["recommended"]
    if recommended.startswith("refuse"):
        code, text = refused(container)
        assert code == expected_exit(answer, container)
        assert container.name in text and "byte " in text
        return
    mounted = mount(container)
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    assert info["format"] == "shard"
    assert info["role"] == answer["header"]["role"]
    assert info["entries"] == len(answer["entries"])
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
    if isinstance(answer.get("python_metadata"), dict):
        start = answer["header"]["schema_offset"]
        metadata = (mounted / ".ctxfs" / "metadata.json").read_bytes()
        assert metadata == container.read_bytes()[start:]
        assert isinstance(json.loads(metadata), dict)
