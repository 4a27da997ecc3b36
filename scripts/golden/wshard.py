# SPDX-License-Identifier: Apache-2.0
"""Answers of golden/wshard: episodes, their chunks, and manifests of these."""

import json
import math
import pathlib
import struct

from common import (ABSENT, GOLDEN, OPENS, case_names, named, paths_of, refused_with, require,
                    sha256, text_of)
from shard import crc32c, header_of, record_of
from shards import outcome, stored_name

ENTRY = {
    "name", "name_hex", "offset", "disk_size", "orig_size", "flags", "crc32c",
    "content_type", "name_hash", "hash_kind", "codec_from", "codec", "lz4", "crc_over",
    "sha256", "dtype", "shape", "dtype_source", "npy_size", "npy_sha256", "frames",
    "error",
}
# Keys of an entry, and of what shard.py makes of its record in the index.
RECORD = {
    "name_hash": "name_hash", "offset": "data_offset", "disk_size": "stored_size",
    "orig_size": "original_size", "flags": "flags", "crc32c": "crc32c",
    "content_type": "content_type",
}
# What the mount says of an entry that cannot be read, and of a container.
ERRORS = {
    "extent past end of file": "run past the end", "crc mismatch": "checksum mismatch",
    "decompress: orig_size over the limit of 1 GiB": "over the limit of 1073741824",
}
FATAL = {
    "bad magic, version or entry size": "", "short header": "within the header",
    "index truncated": "within the index",
    "entry count over the limit of 10000000": "over the limit of 10000000",
}
SURE = ("meta/channels", "meta/wshard", "implied")


def expected_exit(answer: dict, whole: bytes) -> int:
    """What mounting it without salvage exits with."""
    if whole[:4] != b"SHRD":
        return 3
    header = answer.get("header", {})
    if header.get("version", 2) != 2:
        return 5
    if header.get("entry_count", 0) > 10_000_000:
        return 8
    if not answer.get("mountable", True) or header["total_file_size"] != len(whole):
        return 4
    past = "extent past end of file"
    return 4 if any(one.get("error") == past for one in answer["entries"]) else 0


def check_source(answer: dict, container: pathlib.Path, whole: bytes) -> None:
    """The source is of this file, and has its header and the records of its index."""
    if "sha256" in answer:
        require(answer["sha256"] == sha256(whole), "sha256")
        require(answer["size"] == len(whole), "size")
        require(answer["file"] == str(container.relative_to(GOLDEN / "wshard")), "file")
    if "header" in answer:
        header = {"magic": whole[:4].decode()} | header_of(whole)
        require(answer["header"].items() <= header.items(), "header", header)
    for number, one in enumerate(answer.get("entries", [])):
        require(set(one) <= ENTRY, set(one) - ENTRY)
        require(one["name"] in (None, stored_name(one).decode(errors="replace")), number)
        if "name_hash" in one:
            record = record_of(whole, number)
            for key, stored in RECORD.items():
                require(one[key] == record[stored], number, key)
    if "state" in answer:  # of a writer that was interrupted
        zeros = len(whole) - len(whole.lstrip(b"\0"))
        require(answer["first_64_bytes_zero"] == (zeros >= 64), "first_64_bytes_zero")
        require(answer["first_nonzero_byte"] == (zeros if zeros < len(whole) else None),
                "first_nonzero_byte")
        require(answer["header_valid"] == (whole[:4] == b"SHRD"), "header_valid")
    if "complete" in answer:
        require(answer["complete"] == (expected_exit(answer, whole) == 0), "complete")


def check_checksum(one: dict, whole: bytes, repaired: bool) -> dict:
    """What the checksum in the index is of: of the file, where it is not of what is
    stored."""
    stored = whole[one["offset"] : one["offset"] + one["disk_size"]]
    over = one.get("crc_over")
    require(over in ("decoded", "disk", "absent", "MISMATCH") or "error" in one, over)
    require((over == "MISMATCH") == (one.get("error") == "crc mismatch"), over)
    if "codec_from" in one:
        by_entry = one["flags"] & 6 != 0
        require(one["codec_from"] == ("entry flags" if by_entry else "header default"),
                "codec_from")
    if repaired:  # the source has these bytes, too
        require(sha256(stored) == one["sha256"], "repaired")
    elif "error" not in one and over == "disk":
        require(f"{crc32c(stored):08x}" == one["crc32c"], "crc32c")
    elif "error" not in one and over == "decoded":
        return {"crc32c": one["crc32c"]}
    return {}


def described(one: dict) -> dict:
    """What index.json says of the array in an entry."""
    if "shape" in one:
        sure = one["dtype_source"] in SURE
        return {"dtype": one["dtype"], "shape": one["shape"],
                "dtype_source": one["dtype_source"],
                "note": {"?lacks" if sure else "?contains": "guess"}}
    # The source has a word for what is no array.
    kind = {"meta": "json", "residual": "bits"}.get(one["name"].split("/")[0], "raw")
    require(one.get("dtype", kind) == kind, one["name"], kind)
    return {"dtype": ABSENT, "shape": ABSENT}


def add_entry(path: bytes, one: dict, whole: bytes, repaired: dict, files: dict) -> None:
    index = named(stored_name(one)) | {
        "stored_size": one["disk_size"], "offset": one["offset"], "codec": one["codec"],
        "flags": one["flags"], "content_type": {"?starts": f"{one['content_type']} "}}
    if one.get("crc_over") == "absent":
        index["checksum"] = ""
    elif one["crc32c"] != "00000000":  # nothing, or that of no bytes
        index["checksum"] = "crc32c:" + one["crc32c"]
    mended = repaired.get(one["name"])
    made = {"index": index} | check_checksum(one, whole, mended is not None)
    files[text_of(path)] = made
    if "error" in one:
        made |= {"errno": "EIO",
                 "xattrs_when_read": {"note": {"?contains": ERRORS[one["error"]]}}}
        return
    index |= described(one)
    size = mended.get("size") if mended else one["orig_size"]
    made["sha256"] = (mended or one)["sha256"]
    if size is not None:
        made["size"] = index["size"] = size
    if "shape" in one:
        made["xattrs"] = {"dtype": one["dtype"], "shape": one["shape"]}
    if mended:  # the source has the view of what is stored
        files[text_of(b"views/npy/" + path + b".npy")] = {"size": one["npy_size"]}
    elif "npy_sha256" in one:
        view = b"raw16" if one["dtype"] == "bf16" else b"npy"
        files[text_of(b"views/" + view + b"/" + path + b".npy")] = {
            "size": one["npy_size"], "sha256": one["npy_sha256"]}
    if "frames" in one:
        made["parts"] = frames(one)


def frames(one: dict) -> list:
    """The first and the last; test_episodes.py reads the pictures."""
    about = one["frames"]
    require(set(about) == {"count", "height", "width", "channels", "first_sha256",
                           "last_sha256"}, "frames")
    size = one["orig_size"] // about["count"]
    wide = 2 if one["dtype"] == "u16" else 1
    require(size == about["height"] * about["width"] * about["channels"] * wide, "frames")
    return [[0, size, about["first_sha256"]],
            [one["orig_size"] - size, size, about["last_sha256"]]]


def add_residual(answer: dict, files: dict, paths: dict) -> None:
    for name, residual in answer.get("residual", {}).items():
        require(residual["decoded_dtype"] == "i8", name)
        signal = name[len("residual/") : -len("/sign2nddiff")]
        files[paths[name]]["index"]["residual_layout"] = residual["layout"]
        files["views/residual_signs/" + signal] = {
            "size": math.prod(residual["decoded_shape"]), "sha256": residual["decoded_sha256"],
            "xattrs": {"shape": residual["decoded_shape"], "dtype": "i8"}}


def manifest(answer: dict, folder: pathlib.Path) -> dict:
    """The chunks of an episode as info.json has them: by their numbers, and with a
    verdict in place of the digest."""
    said = answer["manifest"]
    episode = {key: said[key] for key in ("env_id", "total_chunks", "total_timesteps")}
    chunks = []
    for chunk in sorted(said["chunks"], key=lambda chunk: chunk["chunk_index"]):
        require(chunk["total_chunks"] == said["total_chunks"], "total_chunks")
        shown = {key: chunk[key] for key in ("chunk_index", "uri", "timestep_range",
                                             "length_T")}
        file = folder / chunk["uri"]
        if "sha256" in chunk:
            same = file.is_file() and sha256(file.read_bytes()) == chunk["sha256"]
            shown["sha256"] = "ok" if same else {"?not": "ok"}
        chunks.append(shown)
    return {"episode": episode | {"id": said["episode_id"]}, "chunks": chunks}


def add_chunks(chunks: list, folder: pathlib.Path, tree: dict) -> dict:
    """Those in the folder, and each as it is alone; gives the entries of all by their
    names."""
    found = {}
    inside = [chunk["uri"] for chunk in chunks if "/" not in chunk["uri"]]
    names = paths_of([uri.encode() for uri in inside])
    tree["names"] = {"views/chunks": sorted(map(text_of, names))}
    for uri in dict.fromkeys(inside):
        source = (folder / uri).with_suffix(".json")
        if not source.is_file():
            continue
        for one in json.loads(source.read_text())["entries"]:
            path = f"views/chunks/{uri}/{one['name']}"
            tree["files"][path] = {"size": one["orig_size"], "sha256": one["sha256"]}
            found.setdefault(one["name"], []).append(one)
    return found


def check_ticks(joined: dict, chunks: list) -> None:
    """The source has those of the chunks, which begin at zero, and those that count on."""
    ticks = b""
    for one in chunks:
        count = one["orig_size"] // 4
        each = struct.pack(f"<{count}i", *range(count))
        require(sha256(each) == one["sha256"], "ticks of a chunk")
        ticks += each
    counted = joined["time/ticks + timestep_range[0]"]
    require(joined["time/ticks"] == counted | {"sha256": sha256(ticks)}, "time/ticks")


def add_joined(answer: dict, container: pathlib.Path, info: dict, tree: dict) -> None:
    """The lanes of all chunks in a row. Ticks are counted through."""
    info["continuity"] = {"?exactly": answer["continuity"]}
    if answer["continuity"] == "ok":
        tree["warnings"] = []
    else:
        tree["some_warnings"].append("")  # any
    joined = answer.get("concatenated")
    # A digest that differs is found only when someone reads it.
    digest = "sha_manifest" in container.name and joined is None
    entries = add_chunks(info["chunks"], container.parent, tree)
    if joined is None:
        tree["directories" if digest else "absent"] = ["episode"]
        return
    check_ticks(joined, entries["time/ticks"])
    tree["listing"] = ["episode"]
    for name, lane in joined.items():
        if name != "time/ticks":
            name = name.replace(" + timestep_range[0]", "")
            codecs = {one["codec"] for one in entries[name]}
            tree["files"]["episode/" + name] = {
                "size": lane["size"], "sha256": lane["sha256"], "xattrs": {
                    "dtype": lane["dtype"], "shape": lane["shape"], "verified": "no",
                    "codec": codecs.pop() if len(codecs) == 1 else "mixed"},
                "xattrs_when_read": {"verified": "yes"}}


def warnings_of(answer: dict, length: int) -> list[str]:
    """What the source warns of is warned of, or is the error of an entry."""
    size = answer.get("header", {}).get("total_file_size")
    texts = []
    for warning in answer.get("warnings", []):
        if warning != "duplicate names":
            require(warning == f"total_file_size {size} is not the file size {length}")
            warning = f"total_file_size {size}"
        texts.append(warning)
    by_name = {one["name"]: one.get("error") for one in answer.get("entries", [])}
    for error in answer.get("errors", []):
        name, reason = error.split(": ", 1)
        if by_name[name] != reason:
            texts.append(error)
        if name.startswith("meta/") or reason.startswith("extent"):
            texts.append(name)
    for name, error in by_name.items() if "errors" in answer else ():
        require(error is None or f"{name}: {error}" in answer["errors"], name)
    return texts


def info_of(answer: dict, damaged: bool) -> dict:
    header = answer["header"]
    made = {key: header[key] for key in ("role", "flags", "alignment",
                                         "compression_default", "version")}
    made["salvaged"] = damaged
    if not damaged:
        made["container_size"] = header["total_file_size"]
    if answer.get("episode"):
        made["episode"] = {key: {"?exactly": value} for key, value in answer["episode"].items()}
    repaired = answer.get("repaired")
    made["repaired"] = ABSENT if repaired is None else {
        "entries": {"?unordered": list(repaired["entries"])},
        "flush_interval": repaired.get("flush_interval")}
    return made


def tree_of(answer: dict, container: pathlib.Path, whole: bytes) -> dict:
    entries = answer.get("entries", [])
    files = {}
    tree = {"some_warnings": warnings_of(answer, len(whole)), "files": files,
            "entries": len(entries)}
    require(answer["header"]["entry_count"] == len(entries), "entry_count")
    repaired = answer.get("repaired", {"entries": {}})["entries"]
    names = [stored_name(one) for one in entries]
    paths = paths_of(names)
    for path, one in zip(paths, entries):
        add_entry(path, one, whole, repaired, files)
    add_residual(answer, files, dict(zip([one["name"] for one in entries],
                                         map(text_of, paths))))
    info = info_of(answer, expected_exit(answer, whole) != 0)
    if answer.get("manifest"):
        more = manifest(answer, container.parent)
        info |= {"chunks": more["chunks"], "episode": info.get("episode", {}) | more["episode"]}
    if "continuity" in answer:
        add_joined(answer, container, info, tree)
    files[".ctxfs/info.json"] = {"growing": True, "has": info}
    return tree


def check_of(answer: dict) -> dict:
    incomplete = "state" in answer and not answer.get("complete")
    if answer.get("fatal") or not answer.get("mountable", True) or incomplete:
        return outcome(False)
    bad = {one["name"] for one in answer.get("entries", []) if one.get("error")} - {None}
    broken = isinstance(answer.get("continuity"), list) or answer.get("errors")
    size = any("total_file_size" in text for text in answer.get("warnings", ()))
    return outcome(not (bad or broken or size)) | {"entries": sorted(bad)}


def convert(source: pathlib.Path, answer: dict):
    container = source.with_suffix(".wshard")
    if not container.exists():
        container = source.with_suffix(".wshard.partial")
    whole = container.read_bytes()
    check_source(answer, container, whole)
    code = expected_exit(answer, whole)
    name, salvaged = case_names(container)
    # Without a digest of the container it is another's that is checked.
    check = {"check": check_of(answer)} if "sha256" in answer else {}
    entries = answer.get("entries", [])
    cut = any(one.get("error") == "index truncated" for one in entries)
    if not cut and answer.get("mountable", bool(entries)):
        require(not answer.get("fatal"), "fatal")
        made = tree_of(answer, container, whole)
    else:
        require(not answer.get("errors"), "errors")
        made = {"refused": {"says": [FATAL[fatal] for fatal in answer.get("fatal", [])]}}
    if code != 0:
        yield name, refused_with(code, ["byte "]) | check
        yield salvaged, made
    elif "files" in made:
        yield name, made | check
    else:
        yield name, OPENS | check
        yield salvaged, made
