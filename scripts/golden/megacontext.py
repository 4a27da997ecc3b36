# SPDX-License-Identifier: Apache-2.0
"""Answers of golden/megacontext: directories of levels, and their checkpoints."""

import math
import pathlib
import re

from common import case_names, refused_with, require, sha256

SHOWN = ("status", "error", "header", "shape", "dtype", "entries", "payload_bytes",
         "tail_bytes", "blocks", "last_block_tokens")
DTYPES = {"uint32": "u32", "fp16": "f16", "bf16": "bf16", "fp32": "f32"}


def number_of(file: str) -> int:
    return int(re.fullmatch(r"L(?:OD)?(\d+)\.ctx", file).group(1))


def add_level(root: str, file: str, level: dict, tree: dict) -> None:
    files, number = tree["files"], number_of(file)
    payload = f"{root}LOD{number}/{'gists' if number else 'tokens'}"
    header = f"{root}.ctxfs/raw/LOD{number}/header.json"
    if level["status"] == "error":
        files[header] = {"json": {"error": level["error"]}}
        files[payload] = {"size": 0, "errno": "EIO"}
        return
    files[header] = {"json": level["header"]}
    dtype = DTYPES[level["dtype"]]
    made = {"size": level["payload_bytes"], "sha256": level["payload_sha256"],
            "xattrs": {"shape": level["shape"], "dtype": dtype}}
    few = min(8, math.prod(level["shape"]))
    if few:
        require(len(level["first"]) == len(level["last"]) == few, file)
        made["values"] = {"first": level["first"], "last": level["last"]}
    files[payload] = made
    add_pieces(root, number, level, tree, made)
    name = payload.removeprefix(root)
    require(("npy_u2_sha256" in level) == ("npy_f32_sha256" in level) == (dtype == "bf16"),
            file, "npy")
    for key, folder in (("npy_sha256", "npy"), ("npy_u2_sha256", "raw16"),
                        ("npy_f32_sha256", "npy")):
        if key in level:
            files[f"{root}views/{folder}/{name}.npy"] = {"sha256": level[key]}


def add_pieces(root: str, number: int, level: dict, tree: dict, made: dict) -> None:
    vectors = len(level["shape"]) == 2
    if not vectors and "blocks" not in level:
        tree["absent"].append(f"{root}views/blocks")
        return
    pieces = f"{root}views/" + (f"gists/LOD{number}" if vectors else "blocks")
    made["pieces"] = [pieces, level["entries"] if vectors else level["blocks"]]
    for block, digest in level.get("block_sha256", {}).items():
        tree["files"][f"{pieces}/{int(block):06d}"] = {"sha256": digest}


def add_levels(root: str, answer: dict, tree: dict) -> None:
    levels = {file: {key: {"?exactly": level[key]} if key == "header" else level.get(key)
                     for key in SHOWN if key != "header" or "header" in level}
              for file, level in answer["levels"].items()}
    tree["files"][f"{root}tree.json"] = {"has": {
        "open": answer["open"], "levels": {"?all": levels}}}
    for file, level in answer["levels"].items():
        add_level(root, file, level, tree)


def add_files(root: str, files: dict, above: str, tree: dict) -> None:
    """The files that a tree has itself, for `above` of its name."""
    for name, about in files.items():
        file = name.removeprefix(above)
        if name.startswith(above) and "/" not in file:
            path = file if file == "metadata.json" else f".ctxfs/files/{file}"
            tree["files"][root + path] = about


def tree_of(answer: dict, source: pathlib.Path) -> dict:
    tree = {"absent": [], "files": {}}
    add_levels("", answer, tree)
    # What is wrong with a level is told once; the source has it elsewhere.
    broken = [f"{file}: {level['error']}" for file, level in answer["levels"].items()
              if level["status"] == "error"]
    tree["warnings"] = answer["warnings"] + broken
    tree["files"]["tree.json"]["has"]["warnings"] = {"?texts": tree["warnings"]}
    add_files("", answer["files"], "", tree)
    snapshots = answer.get("snapshots", {})
    if not snapshots:
        tree["absent"].append("checkpoints")
        return tree
    tree["names"] = {"checkpoints": sorted(snapshots)}
    require(snapshots.keys().isdisjoint(answer["not_snapshots"]), "not_snapshots")
    for name in answer["not_snapshots"]:
        require((source / "checkpoints" / name).exists(), name)
    for name, snapshot in snapshots.items():
        root = f"checkpoints/{name}/"
        add_levels(root, snapshot, tree)
        add_files(root, answer["files"], root, tree)
        tree["absent"].append(root + "checkpoints")
    return tree


def alone(level: dict) -> dict:
    """A file of a level, whose header says which it is, as a container of its own."""
    if level["status"] != "error":
        number = level["header"]["level"]
        payload = f"LOD{number}/{'gists' if number else 'tokens'}"
        return {"files": {payload: {"sha256": level["payload_sha256"]}}}
    why = level["error"]
    if why == "bad magic":  # then it is of no format
        return refused_with(3, [])
    return refused_with(5 if "unsupported version" in why else 4, [why])


def convert(source: pathlib.Path, answer: dict):
    if "dir" not in answer:
        return  # a container's own
    container = source.with_suffix("")
    require(answer["dir"] == container.name, answer["dir"])
    for file, about in answer["files"].items():
        data = (container / file).read_bytes()
        require(about == {"size": len(data), "sha256": sha256(data)}, file)
    if answer["open"] == "error":
        levels = answer.get("levels", {})
        why = next(iter(levels.values()))["error"] if levels else answer["error"]
        made = refused_with(3 if not levels else 5 if "endian" in why else 4, [why])
    else:
        made = tree_of(answer, container)
    partial = any("partial" in name for name in answer.get("snapshots", {}))
    clean = answer["open"] == "ok" and not partial
    yield case_names(container)[0], made | {
        "check": {"outcome": ["clean"] if clean else ["damaged", "unchecked"]}}
    for file, level in answer.get("levels", {}).items():
        yield case_names(container / file)[0], alone(level)
