# SPDX-License-Identifier: Apache-2.0
"""Answers of golden/cvc: chunks of vectors, and columns of all chunks."""

import json
import pathlib

from common import (ABSENT, case_names, named, paths_of, refused_with, require, sha256,
                    text_of)

DTYPES = {"float32": "f32", "float16": "f16", "int32": "i32", "int64": "i64",
          "int8": "i8", "uint8": "u8"}
CODECS = {"fp16", "int8", "none", "lossless"}
EXITS = {"unsupported_version": 5, "header_too_deep": 8}


def column(one: dict, name: bytes, columnar: bool) -> dict:
    require(one["shape"] == [one["rows"], one["dimension"]], name, "shape")
    # As the package gives it, where the source was written down by another.
    shape = one["shape"][:1] if columnar and one["dimension"] == 1 else one["shape"]
    index = named(name) | {"shape": shape, "codec": one["compression"],
                           "stored_dtype": one["dtype"]}
    dtype = DTYPES.get(one["decoded_dtype"])
    index["dtype"] = dtype or ABSENT
    if dtype is None:
        index["note"] = f"the dtype '{one['dtype']}' is unknown"
    made = {"index": index, "xattrs": {"shape": shape, "dtype": dtype}}
    if "sha256_decoded" in one:
        made |= {"size": one["nbytes"], "sha256": one["sha256_decoded"]}
    elif one["rows"]:
        made["errno"] = "EIO"
    else:
        made["readable"] = True
    if "sha256_as_float32" in one:
        made["f32_sha256"] = one["sha256_as_float32"]
    return made


def stored(chunk: dict, one: dict) -> dict:
    """A column of a chunk as it is stored."""
    if "sha256_stored" not in one:
        require(chunk["errors"] or "error" in one, "no digest")
        return {"may_lack": True, "errno": "EIO"}
    codec = one["compression"]
    crc = chunk.get("crc32")
    made = {"size": one["size"], "sha256": one["sha256_stored"], "xattrs": {
        "stored_size": one["size"], "codec": codec if codec in CODECS else "unknown",
        "offset": chunk["payload_offset"] + one["offset"],
        "checksum": "crc32:" + crc if crc is not None else None}}
    if crc is not None and one["size"]:
        made["xattrs_when_read"] = {"verified": "yes"}
    return made


def add_chunks(path: bytes, one: dict, chunks: list, files: dict) -> set[int]:
    """The column in each chunk; gives the chunks that cannot be read."""
    require(sum(chunk["rows"] for chunk in chunks) == one["rows"], "rows")
    dtype = one["decoded_dtype"]
    row_bytes = one["dimension"] * int(DTYPES[dtype][1:]) // 8 if dtype in DTYPES else 0
    bad, row, parts = set(), 0, []
    for number, chunk in enumerate(chunks):
        require(chunk["index"] == number, "index", chunk["index"])
        part = chunk["columns"][one["name"]]
        raw = b".ctxfs/raw/chunks/%05d/" % chunk["index"] + path.removeprefix(b"columns/")
        files[text_of(raw)] = stored(chunk, part)
        require(("error" in part) != ("sha256_decoded" in part), "error or digest")
        if "error" in part:
            bad.add(chunk["index"])
        else:
            require(not chunk["errors"] and part["decoded_dtype"] == dtype, "errors")
        if row_bytes * chunk["rows"]:
            parts.append([row * row_bytes, row_bytes * chunk["rows"],
                          "EIO" if "error" in part else part["sha256_decoded"]])
        row += chunk["rows"]
    if parts:
        files[text_of(path)]["parts"] = parts
    return bad


def add_sections(reader: dict, paths: list[bytes], files: dict) -> None:
    for section in reader.get("sections", []):
        start, stop = section["start_index"], section["end_index"]
        for one, path in zip(reader["columns"], paths):
            require(start <= stop <= one["rows"], "section")
            size = one["nbytes"] // one["rows"]
            rows = [start * size, (stop - start) * size]
            files[text_of(path)].setdefault("parts", []).append(
                [*rows, section["columns"][one["name"]]])
            for key, value in section["metadata"].items():
                text = value if isinstance(value, str) else json.dumps(value)
                view = files.setdefault(f"views/sections/{key}={text}/{one['name']}",
                                        {"slices": []})
                view["slices"].append([text_of(path), start * size, stop * size])


def info_of(reader: dict) -> dict:
    layout = reader["layout"]
    made = {"format": "cvc", "version": "%d.%d" % tuple(layout["version"]),
            "layout": layout["format_type"], "chunks_by_file_offset": layout["mmap_offsets"],
            "rows": layout["num_vectors"], "header_size": layout["header_len"]}
    if reader["verdict"] == "accept":
        made["parts_unreadable"] = 0
    if isinstance(reader["chunks"], list):
        made["chunks"] = len(reader["chunks"])
    return made


def add_end(reader: dict, whole: bytes, tree: dict) -> None:
    """Where the chunks end, if all are found one after another."""
    layout = reader["layout"]
    if reader["verdict"] != "accept" or layout["mmap_offsets"]:
        return
    end, trailing = layout["end_of_chunks"], layout["trailing_bytes"]
    require(end + trailing == len(whole), "end_of_chunks")
    if trailing and reader["chunks"]:
        tree["some_warnings"] = [f"byte {end}: {trailing} bytes follow the last chunk"]
    else:
        tree["no_warnings"] = ["bytes follow the last chunk"]


def check_chunks(reader: dict, whole: bytes, bad: set[int]) -> None:
    """The source is of this container, and agrees with itself."""
    for chunk in reader["chunks"]:
        require(chunk["ok"] is (chunk["index"] not in bad), "ok", chunk["index"])
        if "sha256_stored" in chunk:
            begin = chunk["payload_offset"]
            require(begin - chunk["prefix_offset"] == reader["layout"]["chunk_prefix"], begin)
            payload = whole[begin : begin + chunk["size"]]
            require(len(payload) == chunk["size"], "size of a payload")
            require(sha256(payload) == chunk["sha256_stored"], "payload")
    require(sorted(bad) == reader.get("bad_chunks", []), "bad_chunks")
    require(reader["verdict"] in ("partial" if bad else "accept", "either"), "verdict")


def tree_of(reader: dict, whole: bytes) -> dict:
    files, bad = {}, set()
    columnar = reader["layout"]["format_type"] == "columnar"
    names = [one["name"].encode(errors="surrogatepass") for one in reader["columns"]]
    paths = [b"columns/" + path for path in paths_of(names)]
    views = paths_of([name + b".npy" for name in names])
    for one, name, path, view in zip(reader["columns"], names, paths, views):
        files[text_of(path)] = column(one, name, columnar)
        if "sha256_decoded" in one and one["decoded_dtype"] in DTYPES:
            files[text_of(path)]["npy"] = text_of(b"views/npy/" + view)
        if isinstance(reader["chunks"], list):
            bad |= add_chunks(path, one, reader["chunks"], files)
    if isinstance(reader["chunks"], list):
        check_chunks(reader, whole, bad)
    add_sections(reader, paths, files)
    start, length = reader["layout"]["json_offset"], reader["layout"]["header_len"]
    files["header.json"] = {"sha256": sha256(whole[start : start + length])}
    files[".ctxfs/container"] = {"sha256": sha256(whole)}
    files[".ctxfs/info.json"] = {"growing": True, "has": info_of(reader)}
    tree = {"listing": ["views/sections"], "files": files, "entries": len(names)}
    add_end(reader, whole, tree)
    return tree


def check_of(reader: dict) -> dict:
    if reader["verdict"] == "accept":
        bad = reader.get("bad_chunks") or any(
            "error" in one or one.get("bad_chunks") for one in reader["columns"])
        return {"outcome": ["damaged", "unchecked"] if bad else ["clean"]}
    sure = reader["verdict"] == "reject"
    return {"outcome": ["damaged", "unchecked"] if sure else ["clean", "damaged", "unchecked"]}


def convert(source: pathlib.Path, answer: dict):
    reader = answer["reader"]
    container = source.parent / answer["file"]
    whole = container.read_bytes()
    require(len(whole) == answer["size"] and sha256(whole) == answer["sha256"], "digest")
    refusable = reader["verdict"] == "either" and "columns" not in reader
    if reader["verdict"] == "reject" or refusable:
        code = EXITS.get(reader["code"], 4) if whole[:4] == b"CVCF" else 3
        made = refused_with(code, ["byte "])
    else:
        made = tree_of(reader, whole)
    yield case_names(container)[0], made | {"check": check_of(reader)}
