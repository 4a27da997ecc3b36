# SPDX-License-Identifier: Apache-2.0
"""Answers of golden/shard: containers of Shard v2, whatever they hold."""

import json
import pathlib
import struct
import zlib

from common import (ABSENT, OPENS, case_names, named, paths_of, refused_with, require,
                    sha256, text_of)
from shard import header_of, record_of

# What a reference reader adds to metadata that have no such key.
ADDED = {"created_at": "0001-01-01T00:00:00Z", "schema_version": "shard-v2.1"}
# What is right by the source, and stands in the way of a check all the same: the
# entries that have faults, and the outcome.
CHECKS = {
    # A leniency: the checksum of the first entry is of another polynomial.
    "crc_ieee_polynomial": ([], True),
    # Of role 5 without being an episode: its meta/episode is no JSON.
    "crc_of_stored_bytes": ([], False),
    # A name outside the string table is told, and replaced.
    "layout_data_section_in_header": ([], False),
    "names_out_of_bounds": ([], False),
}


def outcome(clean: bool) -> dict:
    return {"outcome": ["clean"] if clean else ["damaged", "unchecked"]}


def check_of(answer: dict, container: pathlib.Path) -> dict:
    name = container.name.removesuffix(".shard")
    if name in CHECKS:
        entries, clean = CHECKS[name]
        return outcome(clean) | {"entries": entries}
    if answer["recommended"].startswith("refuse"):
        return outcome(False)
    bad = sorted(one["name"] for one in answer["entries"] if one["decoded_sha256"] is None)
    return outcome(not bad and "metadata: error" not in answer["recommended"]) | {
        "entries": bad}


def stored_name(one: dict) -> bytes:
    return bytes.fromhex(one["name_hex"]) if "name_hex" in one else (one["name"] or "").encode()


def check_source(answer: dict, whole: bytes, container: pathlib.Path) -> None:
    """The source is of this container: header and index are, of refused ones as well."""
    require(answer["file"] == container.name, answer["file"])
    require(answer["size"] == len(whole), "size")
    require(answer["sha256"] == sha256(whole), "sha256")
    require("header" not in answer or header_of(whole) == answer["header"], "header")
    for number, one in enumerate(answer.get("entries", [])):
        require(one["index"] == number, "index", number)
        record = record_of(whole, number)
        require({key: value for key, value in one.items() if key in record}.items()
                <= record.items(), number, record)
        # Readers make an empty name of one that is outside of the table: null.
        require(one["name"] in (None, stored_name(one).decode(errors="replace")), number)


def expected_exit(answer: dict, whole: bytes) -> int:
    if whole[:4] != b"SHRD":
        return 3
    header = answer.get("header", {})
    if header.get("version", 2) != 2:
        return 5
    return 8 if header.get("entry_count", 0) > 10_000_000 else 4


def name_of(one: dict, whole: bytes, number: int) -> bytes | None:
    """The name; None for one outside of the table, which readers take for empty."""
    name = stored_name(one)
    (length,) = struct.unpack_from("<H", whole, 64 + 48 * number + 12)
    return name if name or length == 0 else None


def entry(one: dict, name: bytes | None, whole: bytes, ieee: bool) -> dict:
    # Zero is none unless the header says that there are checksums.
    checked = one["crc32c"] != "00000000" or header_of(whole)["flags"] & 0x20 != 0
    index = named(name) | {
        "size": one["original_size"], "stored_size": one["stored_size"],
        "offset": one["data_offset"], "flags": one["flags"],
        "content_type": f"{one['content_type']} {one['content_type_name']}",
        "tag_bits": one["tag_bits"] if one.get("tag_bits") else ABSENT,
        "checksum": "crc32c:" + one["crc32c"] if checked else ""}
    xattrs = {"offset": one["data_offset"], "stored_size": one["stored_size"]}
    made = {"index": index, "xattrs": xattrs}
    require((one["decoded_sha256"] is None) == ("decoded_size" not in one), "decoded_size")
    if one["decoded_sha256"] is not None:
        made |= {"size": one["decoded_size"], "sha256": one["decoded_sha256"]}
        made["xattrs_when_read"] = {"verified": "yes" if checked else "none"}
    elif ieee:  # the other polynomial, of an entry that is stored raw
        stored = whole[one["data_offset"] : one["data_offset"] + one["stored_size"]]
        require(f"{zlib.crc32(stored):08x}" == one["crc32c"], "IEEE")
        made["sha256"] = sha256(stored)
        made["xattrs_when_read"] = {"checksum": "crc32:" + one["crc32c"]}
    else:
        made["errno"] = "EIO"
    return made


def metadata(answer: dict, whole: bytes, tree: dict) -> None:
    """What is stored, and what the references read of it."""
    python, go = answer.get("python_metadata"), answer.get("go_metadata")
    start = answer["header"]["schema_offset"]
    require(python is None or start != 0, "metadata of none")
    if go is None:
        tree["absent"] = [".ctxfs/metadata.json"]
        return
    tree["files"][".ctxfs/metadata.json"] = {"readable": True}
    for said in (python, go):
        if isinstance(said, dict):
            stored = ADDED | json.loads(whole[start:])
            require({key: stored[key] for key in said} == said, "metadata")
            tree["files"][".ctxfs/metadata.json"] = {"sha256": sha256(whole[start:])}


def tree_of(answer: dict, whole: bytes) -> dict:
    header, entries = answer["header"], answer["entries"]
    require(header["entry_count"] == len(entries), "entry_count")
    info = {"format": "shard", "entries": len(entries),
            "container_size": header["total_file_size"]}
    info |= {key: header[key] for key in ("version", "role", "flags", "alignment",
                                          "compression_default")}
    files = {}
    ieee = "accept IEEE" in answer["recommended"]
    names = [name_of(one, whole, number) for number, one in enumerate(entries)]
    for path, name, one in zip(paths_of(names), names, entries):
        files[text_of(path)] = entry(one, name, whole, ieee)
    files[".ctxfs/info.json"] = {"growing": True, "has": info}
    files[".ctxfs/container"] = {"sha256": answer["sha256"]}
    tree = {"listing": [""], "files": files, "entries": len(entries)}
    if "metadata: error" in answer["recommended"]:
        tree["some_warnings"] = ["metadata"]
    metadata(answer, whole, tree)
    return tree


def convert(source: pathlib.Path, answer: dict):
    container = source.with_suffix("")
    whole = container.read_bytes()
    check_source(answer, whole, container)
    name, salvaged = case_names(container)
    if answer["recommended"].startswith("refuse"):
        made = refused_with(expected_exit(answer, whole), ["byte "])
    else:
        made = tree_of(answer, whole)
        # Its files are read by test_golden_windows.
        yield salvaged, OPENS
    yield name, made | {"check": check_of(answer, container)}
