# SPDX-License-Identifier: Apache-2.0
"""Answers of safetensors and gguf, whose sources have one form."""

import pathlib

from archives import check_of
from common import case_names, named, refused_with, require, text_of

# Of gguf: what is served as it is.
PLAIN = {"f32", "f16", "bf16", "f64", "i8", "i16", "i32", "i64"}
# What the warning of a key says.
PHRASES = {
    "gguf": {
        "alignment": "general.alignment is not",
        "big-endian-quant": "in a big-endian file is undefined",
        "dims": "dimension",
        "key-duplicate": "occurred before",
        "key-empty": "has an empty key",
        "misaligned": "is misaligned",
        "name-duplicate": "has the name of",
        "not-packed": "not packed",
        "overflow": "an overflow",
        "overlap": "overlap other tensors",
        "row": "not a multiple of the block",
        "split-bad": "cannot be read",
        "split-mismatch": "does not match",
        "split-missing": "is missing",
        "split-tensors-count": "split.tensors.count is",
        "trailing-bytes": "trailing bytes",
        "truncated": "runs past the end",
        "unknown-type": "of an unknown type",
    },
    "safetensors": {
        "begin-end": "end before they begin",
        "bits": "are not whole bytes",
        "duplicate": "has the name of tensor",
        "entry": "the entry of ",
        "hole": "leaves a hole",
        "index-bad-file": "cannot be read",
        "index-missing-file": "is missing",
        "index-missing-tensor": "has no tensor",
        "index-outside": "is outside the folder",
        "index-unlisted": "is not in the index",
        "metadata": "__metadata__",
        "overflow": "an overflow",
        "overlap": "overlaps the tensor before it",
        "size": "bytes that its type and shape need",
        "trailing": "trailing bytes",
        "truncated": "run past the end of the data",
        "unknown-dtype": "has the unknown dtype",
    },
}


def raw(value: dict, key: str, default: str) -> bytes:
    """A text that is in hex as well, or instead, where it is no UTF-8."""
    if key + "_hex" in value:
        return bytes.fromhex(value[key + "_hex"])
    return value.get(key, default).encode()


def keys_of(answer: dict) -> list[str]:
    """The keys in `arrays`, in index order: a name that was there is `#N`."""
    keys = []
    for name in answer["order"]:
        keys.append(name if name not in keys else f"#{len(keys)}")
    require(len(keys) == len(answer["arrays"]), "order and arrays differ")
    return keys


def facts_of(key: str, one: dict) -> dict:
    index = named(raw(one, "name", key)) | {"size": one["size"]}
    index |= {fact: one[fact] for fact in ("dtype", "shape", "offset", "file") if fact in one}
    if "sha256" not in one:
        return {"size": 0, "errno": "EIO", "xattrs": {"note": True}, "index": index}
    require({"dtype", "shape", "offset"} <= set(one), key)
    return {"size": one["size"], "sha256": one["sha256"], "index": index,
            "xattrs": {"verified": "none", "dtype": one["dtype"], "shape": one["shape"]}}


def pair(one: dict) -> dict:
    """A value of metadata.json, perhaps of a long list."""
    made = {key: one[key] for key in ("type", "items", "key_hex") if key in one}
    if "value" in one:
        return made | {"value": one["value"]}
    return made | {"value": {"?list": {"count": one["count"], "first": one["first"],
                                       "last": one["last"], "sha256": one["value_sha256"]}}}


def gguf_values(path: bytes, one: dict, tree: dict) -> None:
    if one.get("dtype") in PLAIN:
        return
    view = text_of(b"views/dequantized/" + path)
    if "f32_sha256" not in one:
        tree["absent"].append(view)
        return
    stored = dict.fromkeys(("codec", "stored_size", "offset", "checksum"))
    tree["files"][view] = {"sha256": one["f32_sha256"], "xattrs": {"dtype": "f32"} | stored}


def tree_of(kind: str, answer: dict) -> dict:
    files = {}
    tree = {"absent": [], "files": files, "entries": len(answer["arrays"])}
    for key in keys_of(answer):
        one = answer["arrays"][key]
        path = raw(one, "path", "")
        files[text_of(b"tensors/" + path)] = facts_of(key, one)
    for key, one in answer["arrays"].items():
        path = raw(one, "path", "")
        if "f32_sha256" in one:
            files[text_of(b"views/npy/" + path + b".npy")] = {
                "elements": ["<f4", one["f32_sha256"]]}
        if kind == "gguf":
            gguf_values(path, one, tree)
    bad = {key for key, one in answer["arrays"].items() if "sha256" not in one}
    names = [name.removeprefix("tensors/") for name in answer.get("eio", [])]
    require({*names} == bad and len(names) == len(bad), "eio", names)
    info = {"format": kind, "entries_unreadable": len(bad)}
    if kind == "gguf":
        info |= {key: answer[key] for key in ("version", "endian", "alignment", "data_offset")}
    elif kind == "safetensors":
        info["data_offset"] = answer["data_offset"]
    files[".ctxfs/info.json"] = {"growing": True, "has": info}
    documents(kind, answer, tree)
    phrases = PHRASES["gguf" if kind == "gguf" else "safetensors"]
    texts = [phrases[key] for key in answer.get("warnings", [])]
    return tree | ({"some_warnings": texts} if texts else {"warnings": []})


def documents(kind: str, answer: dict, tree: dict) -> None:
    files, metadata = tree["files"], answer["metadata"]
    if kind == "gguf":
        files["metadata.json"] = {"keys": list(metadata), "json": {
            key: pair(one) for key, one in metadata.items()}}
        return
    files[".ctxfs/raw/header.json"] = {"readable": True}
    if kind == "safetensors":
        files[".ctxfs/raw/header.json"] = {"size": answer["header_bytes"],
                                           "sha256": answer["header_sha256"]}
    if metadata is None:
        tree["absent"].append("metadata.json")
    else:
        files["metadata.json"] = {"json": metadata}


def case(kind: str, answer: dict, exit_code: int) -> dict:
    if exit_code:
        return refused_with(exit_code, ["byte "])
    return tree_of(kind, answer)


def convert(source: pathlib.Path, answer: dict):
    if "format" not in answer:
        return  # the code books of gguf, and a container's own
    kind = answer["format"]
    container = source.with_suffix("." + source.parent.name)
    if "source" in answer:
        container = source.parent / answer["source"]
    else:
        require(container.name == answer["file"], answer["file"])
    name, salvaged = case_names(container)
    made = case(kind, answer, answer["open"]["exit"])
    yield name, made | {"check": check_of(answer, answer["open"]["exit"])}
    if source.stem == "split_cut":  # the part that is cut opens with the option
        files = {path: about for path, about in made["files"].items() if "tensors/" in path}
        files["tensors/blk.4.w"] = {"index": {"name": "blk.4.w"}, "errno": "EIO"}
        yield salvaged, {"entries": made["entries"] + 1, "files": files}
        return
    if "salvage" in answer:
        part = answer["salvage"]
        yield salvaged, case(kind, part, part["exit"])
    else:
        yield salvaged, name
