# SPDX-License-Identifier: Apache-2.0
"""Answers of golden/mcf: sections, tensors as stored, and their values."""

import math
import pathlib

import numpy

from common import (OPENS, case_names, named, paths_of, refused_with, require, sha256,
                    text_of)
from npy import widened

FILES = {
    0x100: "config.json",
    0x101: "generation_config.json",
    0x102: "tokenizer.json",
    0x103: "tokenizer_config.json",
    0x104: "vocab.json",
    0x105: "merges.txt",
}
# Tensors that are served as bytes because nobody knows their type, or what is
# left of their values: odd, and as it was written. Or odd, and no harm done.
CLEAN = {
    "dtype_unknown", "embed_f16_int8", "embed_int4", "index_without_data",
    "q_no_flag", "q_unaligned", "qi_index_range", "qi_method_mismatch",
}
SOME_TEXT = {"?contains": ""}


def stored_name(tensor: dict) -> bytes:
    return bytes.fromhex(tensor["name_hex"]) if "name_hex" in tensor else tensor["name"].encode()


def expected_exit(answer: dict, whole: bytes) -> int:
    if whole[:4] != b"MCF\0":
        return 3
    return 5 if answer["open"]["error"] == "unsupported MCF major version" else 4


def values_hash(tensor: dict) -> str | None:
    """Of the values as float32, where somebody knows how to decode them."""
    for kind in ("ieee", "py", "doc"):
        if known := tensor.get(f"dequant_{kind}_f32"):
            return known["sha256"]
    reference = tensor.get("dequant_f32", {"ok": False})
    return reference["sha256"] if reference["ok"] else None


def expected_tensors(answer: dict) -> list[dict]:
    """What is readable of the index: names that wrap, the reference misses."""
    index = answer.get("tensor_index", {"ok": False})
    if answer["file"] == "idx_strings_wrap.mcf" or not index["ok"]:
        return []
    return answer["tensors"]


def nans(words: numpy.ndarray) -> numpy.ndarray:
    return numpy.isnan(words.view("<f4"))


def tensor_file(tensor: dict, whole: bytes) -> dict:
    index = named(stored_name(tensor)) | {
        "size": tensor["size"] if tensor["raw"]["ok"] else 0, "kind": "tensor",
        "stored_size": tensor["size"]}
    index |= {key: tensor[key] for key in ("dtype_code", "dtype", "shape", "offset")}
    made = {"index": index, "xattrs": {"dtype": tensor["dtype"], "shape": tensor["shape"],
                                       "verified": "none"}}
    if not tensor["raw"]["ok"]:
        index["note"] = SOME_TEXT
        made["xattrs"]["note"] = True
        made["xattrs_when_read"] = {"note": {"?contains": "byte "}}
        return made | {"size": 0, "errno": "EIO", "same_note": True}
    if not tensor.get("store_read_raw", {"ok": False})["ok"]:
        # Whatever cannot be read as what it says that it is says so.
        index["note"] = SOME_TEXT
    made |= {"size": tensor["size"], "sha256": tensor["raw"]["sha256"]}
    reference = tensor.get("dequant_f32", {"ok": False})
    require(reference["ok"] == ("sha256" in reference), "dequant_f32")
    if tensor["dtype"] in ("f32", "f16", "bf16") and reference["ok"]:
        stored = whole[tensor["offset"] : tensor["offset"] + tensor["size"]]
        values = stored if tensor["dtype"] == "f32" else widened(stored, tensor["dtype"])
        require(len(values) == 4 * reference["count"], "count")
        require(nans(numpy.frombuffer(values, "<u4")).sum() == reference.get("nan_count", 0),
                "nan_count")
        made["f32_sha256"] = reference["sha256"]
    return made


def values_file(tensor: dict) -> dict:
    """The NaNs of the reference are its processor's; of k4 there are two kinds."""
    reference = tensor.get("dequant_f32", {})
    count = math.prod(tensor["shape"])
    require(reference.get("count", count) == count, "count")
    stored = dict.fromkeys(("codec", "stored_size", "offset", "checksum"))
    made = {"size": 4 * count,
            "xattrs": {"dtype": "f32", "shape": tensor["shape"]} | stored}
    bad = reference.get("nan_count", 0)
    if "file" in reference and "dequant_ieee_f32" not in tensor:
        words = numpy.fromfile(pathlib.Path(__file__).parents[2] / "golden" / "mcf" /
                               reference["file"], "<u4")
        nan = nans(words)
        require(words.size == count and nan.sum() == bad, reference["file"])
        if tensor["dtype"] != "k4" or not bad:
            theirs = numpy.where(nan, 0xFFC00000, words).astype("<u4").tobytes()
            require(sha256(theirs) == values_hash(tensor), reference["file"])
        made["sha256"] = sha256(numpy.where(nan, 0x7FC00000, words).astype("<u4").tobytes())
    elif bad:
        made["f32_nans"] = [bad, values_hash(tensor)]
    else:
        made["sha256"] = values_hash(tensor)
    documented = tensor.get("dequant_doc_f32", {}).get("values")
    if documented:
        made["values"] = {"first": documented}
    return made


def add_sections(answer: dict, files: dict) -> None:
    seen = {}
    for section in answer["sections"]:
        kind = section["type"]
        seen[kind] = seen.get(kind, 0) + 1
        mark = "" if seen[kind] == 1 else f"~{seen[kind]}"
        content = {"size": section["size"], "sha256": section["sha256"]}
        files[f".ctxfs/raw/sections/0x{kind:04x}{mark}.bin"] = content | {
            "xattrs": {"offset": section["offset"]}}
        if kind in FILES and mark == "":
            files[FILES[kind]] = content


def exactly(record: dict) -> dict:
    return {key: {"?exactly": value} for key, value in record.items()}


def add_documents(answer: dict, tree: dict) -> None:
    """model_info.json and quant_info.json."""
    for key in ("model_info", "quant_info"):
        said = answer.get(key, {"ok": False})
        if not said["ok"]:
            tree["absent"].append(f"{key}.json")
            if key in answer:
                tree["some_warnings"].append(f"no {key}.json")
            continue
        tree["files"][f"{key}.json"] = {"has": {
            name: list(map(exactly, value)) if name == "records" else {"?exactly": value}
            for name, value in said.items() if name != "ok"}}


def add_index(answer: dict, tensors: list, files: dict) -> None:
    files["tensors.json"] = {"has": {
        "count": answer["tensor_index"]["count"], "flags": answer["tensor_index"]["flags"],
        "tensors": [named(stored_name(tensor)) | {key: tensor[key] for key in (
            "index", "dtype", "dtype_code", "shape", "offset", "size")} for tensor in tensors]}}


def info_of(answer: dict, tensors: list) -> dict:
    header = answer["header"]
    sections = [{key: value for key, value in section.items() if key != "sha256"}
                for section in answer["sections"]]
    require(len(sections) == header["section_count"], "section_count")
    made = {"format": "mcf", "version": header["major"], "minor_version": header["minor"],
            "container_size": header["file_size"], "sections": {"?exactly": sections},
            "entries": len(tensors),
            "entries_unreadable": sum(not tensor["raw"]["ok"] for tensor in tensors)}
    return made | {key: header[key] for key in ("flags", "header_size", "section_dir_offset")}


def tree_of(answer: dict, whole: bytes) -> dict:
    tensors = expected_tensors(answer)
    files = {}
    tree = {"listing": ["", "views/dequantized", ".ctxfs/raw"], "absent": [],
            "some_warnings": [], "files": files, "entries": len(tensors)}
    paths = paths_of([stored_name(tensor) for tensor in tensors])
    for path, tensor in zip(paths, tensors):
        files[text_of(b"tensors/" + path)] = tensor_file(tensor, whole)
        if not tensor["raw"]["ok"]:
            tree["some_warnings"] = [""]  # at least one
        if tensor["dtype_code"] >= 0x10 and values_hash(tensor):
            files[text_of(b"views/dequantized/" + path)] = values_file(tensor)
    add_sections(answer, files)
    add_documents(answer, tree)
    if tensors:
        add_index(answer, tensors, files)
    elif "tensor_index" in answer:
        tree["some_warnings"].append("no tensors")
    files[".ctxfs/info.json"] = {"growing": True, "has": info_of(answer, tensors)}
    return tree


def check_of(answer: dict) -> dict:
    name = answer["file"].removesuffix(".mcf")
    clean = answer["open"]["ok"] and (name in CLEAN or answer["kind"] == "ok")
    made = {"outcome": ["clean"] if clean else ["damaged", "unchecked"]}
    return made | ({"entries": []} if clean else {})


def convert(source: pathlib.Path, answer: dict):
    container = source.with_suffix(".mcf")
    whole = container.read_bytes()
    require(answer["file"] == container.name, answer["file"])
    require(answer["size"] == len(whole) and answer["sha256"] == sha256(whole), "digest")
    require(answer["kind"] in ("ok", "degraded", "open_error"), answer["kind"])
    require(answer["open"]["ok"] == (answer["kind"] != "open_error"), "open")
    name, salvaged = case_names(container)
    if answer["kind"] == "open_error":
        made = refused_with(expected_exit(answer, whole), ["byte "])
    else:
        made = tree_of(answer, whole)
        # Its files are read by test_golden_windows.
        yield salvaged, OPENS
    yield name, made | {"check": check_of(answer)}
