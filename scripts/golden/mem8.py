# SPDX-License-Identifier: Apache-2.0
"""Answers of golden/mem8: MEM8 files, and archives of them."""

import collections
import pathlib
import subprocess

from common import (case_names, paths_of, refused_with, require, safe, sha256, text_of)

MAGICS = (b"MEM8", b"8MEM")
ZSTD = b"\x28\xb5\x2f\xfd"
DECOMPRESSED = " (of the decompressed archive)"
# Warnings of bytes that are not there.
DAMAGE = ("runs past", "out of range", "outside", "truncated")


def expected_exit(answer: dict) -> int:
    error = answer.get("error", "")
    if answer["open"] == "other" or error.startswith("not a") or answer["kind"] == "empty":
        return 3
    if error.startswith("unsupported version"):
        return 5
    return 8 if "limit" in error else 4


def refusal(answer: dict) -> dict:
    says, error = ["byte "], answer.get("error", "")
    if answer["open"] == "other":
        says.append(answer.get("error", "MEM8"))
    elif not error.startswith("not a"):  # then it is of no format
        says.append(error)
    return refused_with(expected_exit(answer), says)


def names_of(answer: dict):
    """(section, its file of JSON if it has a name, its raw file)."""
    seen = collections.Counter()
    for section in answer["sections"]:
        seen[section["type"]] += 1
        again = f"~{number}" if (number := seen[section["type"]]) > 1 else ""
        yield (section, f"{section['name']}{again}.json" if section["name"] else None,
               f".ctxfs/raw/sections/0x{section['type']:04x}{again}.bin")


def header_of(answer: dict) -> dict:
    keys = [key for key in ("crc", "byte_order", "length_convention") if key in answer]
    return answer.get("header", {}) | {key: answer[key] for key in keys}


def strings_of(answer: dict) -> dict:
    made = {"readable": True}
    if "strings" in answer:
        made["json"] = answer["strings"]
    some = {}
    if "strings_count" in answer:
        some["count"] = answer["strings_count"]
    if "string_index_299" in answer:
        some["at"] = {"299": answer["string_index_299"]}
    return made | ({"has": {"?list_of": some}} if some else {})


def structure(answer: dict) -> dict:
    """The documents, with verification and without."""
    files = {"header.json": {"has": header_of(answer)}, "strings.json": strings_of(answer),
             ".ctxfs/summary.json": {"has": {"sections": answer["sections"]}}}
    if "path_sha256" in answer:
        files["identity.json"] = {"has": {"path": {"?sha256": answer["path_sha256"]}}}
    return files


def closed(answer: dict, whole: bytes) -> dict:
    """The tree is there and nothing that has to be decoded can be read."""
    require(answer["error"] == "crc mismatch", answer["error"])
    names = ["header.json", "strings.json", ".ctxfs/summary.json"]
    names += [name for _, *both in names_of(answer) for name in both if name]
    files = {name: {"size": 0, "errno": "EIO"} for name in names}
    files[".ctxfs/container"] = {"sha256": sha256(whole)}
    return {"listing": ["", ".ctxfs/raw"], "some_warnings": answer.get("warnings", []),
            "files": files}


def tree_of(answer: dict, whole: bytes) -> dict:
    files = structure(answer)
    verified = "none" if answer["crc"] == "absent" else "yes"
    for section, name, raw in names_of(answer):
        if name:
            content = files.setdefault(name, {"has": {}})["has"]
            files[name]["has"] = section["decoded"] | content
        files[raw] = {"size": section["payload_bytes"], "readable": True,
                      "xattrs": {"offset": section["offset"] + 3},
                      "xattrs_when_read": {"verified": verified}}
        if "raw_hex" in section["decoded"]:
            files[raw]["sha256"] = sha256(bytes.fromhex(section["decoded"]["raw_hex"]))
    kinds = [one["type"] for one in answer["sections"] if "raw_hex" in one["decoded"]]
    require(answer.get("raw_sections", kinds) == kinds, "raw_sections")
    files[".ctxfs/container"] = {"sha256": sha256(whole)}
    files[".ctxfs/info.json"] = {"growing": True, "has": {"format": "mem8"}}
    return {"listing": [""], "warnings": answer["warnings"], "files": files,
            "entries": len(answer["sections"])}


def member_path(member: dict) -> bytes:
    """Where a member is, by the rules for names (docs/tree.md, section 7)."""
    name = bytes.fromhex(member["path_hex"]) if "path_hex" in member else (
        member["path"].encode())
    status = member["status"]
    if status.startswith("ok as ") and "backslash" not in status:
        return status[len("ok as "):].split(" (")[0].encode()
    if status == "skip: duplicate (first wins)":
        return name.replace(b".mem8", b"~2.mem8")
    return b"/".join(map(safe, name.split(b"/")))


def member_in_archive(member: dict, container: bool) -> dict:
    """What archive.json says of a member."""
    name = bytes.fromhex(member["path_hex"]) if "path_hex" in member else (
        member["path"].encode())
    require(member["path"] == name.decode(errors="replace"), member["path"])
    made = {"path_hex": name.hex(), "offset_field": member["offset_field"],
            "size_field": member["size_field"]}
    status = member["status"]
    if lost(member) or status.startswith("skip"):
        return made | {"status": status}
    require(status == "ok" or status.startswith(("ok ", "ok:", "range ")), status)
    made["status"] = "ok" if status == "ok" else {"?starts": "ok"}
    if not container:
        made["path"] = {"?contains": ""}
    if member.get("file_offset") is not None:
        made["file_offset"] = member["file_offset"]
    return made


def lost(member: dict) -> bool:
    return member["status"].startswith("out of range") or (
        member["status"].endswith("header or table"))


def archive_tree(answer: dict, whole: bytes) -> dict:
    plain = whole
    if whole[:4] == ZSTD:
        plain = subprocess.run(["zstd", "-dc"], input=whole, capture_output=True,
                               check=True).stdout
    files, shown = {}, []
    for member in answer["members"][: answer.get("listed")]:
        begin = member.get("file_offset", member["offset_field"]) or 0
        magic = b"" if lost(member) else plain[begin : begin + 4]
        shown.append(member_in_archive(member, magic in MAGICS))
        path = member_path(member)
        if lost(member):
            files[text_of(path)] = {"size": 0, "errno": "EIO"}
            continue
        if magic in (*MAGICS, ZSTD):
            path += b"/.ctxfs/container"
        path = text_of(path)
        files[path] = {"size": member["size_field"], "readable": True}
        if member["sha256"]:
            files[path]["sha256"] = member["sha256"]
    archive = {"header": answer["header"], "warnings": {"?texts": answer["warnings"]},
               "offsets_relative_to": answer["offsets_relative_to"].removesuffix(DECOMPRESSED),
               "members": shown}
    # With entries taken out of the count the data seem to start earlier.
    if "note" not in answer:
        archive["data_starts_at"] = answer["data_starts_at"]
    files["archive.json"] = {"has": archive}
    files[".ctxfs/container"] = {"sha256": sha256(whole)}
    return {"files": files}


def check_of(answer: dict) -> dict:
    bad = answer["open"] != "ok" or any(
        "out of range" in member["status"] for member in answer.get("members", []))
    cut = any(word in text for text in answer.get("warnings", []) for word in DAMAGE)
    return {"outcome": ["damaged", "unchecked"] if bad or cut else ["clean"]}


def convert(source: pathlib.Path, answer: dict):
    container = source.with_suffix("")
    whole = container.read_bytes()
    require(answer["open"] in ("ok", "ok-partial", "error", "other", "error-on-read"),
            answer["open"])
    require(answer["file"] == container.name, answer["file"])
    require(answer["size"] == len(whole) and answer["sha256"] == sha256(whole), "digest")
    name, _ = case_names(container)
    if answer["open"] in ("error", "other"):
        made = refusal(answer)
    elif answer["open"] == "error-on-read":
        made = closed(answer, whole)
        # What is refused for its checksum alone.
        yield name + " -o verify=off", {"files": structure(answer)}
    elif answer["kind"] == "m8a":
        made = archive_tree(answer, whole)
    else:
        made = tree_of(answer, whole)
    yield name, made | {"check": check_of(answer)}
