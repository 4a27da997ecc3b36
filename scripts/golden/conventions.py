# SPDX-License-Identifier: Apache-2.0
"""Answers of golden/conventions, which scripts/make_conventions.py writes: encryption,
deltas, tiles and traces (docs/formats/conventions.md)."""

import math
import pathlib

from common import case_names, require, sha256
from shards import outcome

KEYS = {"file", "sha256", "key", "entries", "tensors", "merged", "eio", "missing", "matrices",
        "events"}
SEALED = "aes-256-gcm"


def encrypted(answer: dict):
    """With the key, and without: then what is sealed is there, but is nobody's to read."""
    opened = {"key": answer["key"], "files": {}, "some_warnings": [],
              "names": {"views/tensors": sorted(answer["tensors"])}}
    locked = {"files": {}, "absent": ["views/tensors/" + name for name in answer["tensors"]]}
    for one in answer["entries"]:
        name, sealed = one["name"], one.get("encrypted", True)
        index = {"index": {"name": name}}
        told = {"codec": SEALED if sealed else {"?not": SEALED}}
        size = {"size": one["size"]} if "size" in one else {}
        if "error" in one:
            require(sealed and not size, name)
            opened["files"][name] = index | {"errno": one["error"]}
        else:
            opened["files"][name] = index | size | {"sha256": one["sha256"], "xattrs": told} | (
                {"xattrs_when_read": {"verified": "yes"}} if sealed else {})
        locked["files"][name] = size | (
            {"errno": "EACCES"} if sealed else {"sha256": one["sha256"]})
        if "warning" in one:
            require(name in one["warning"], name)
            opened["some_warnings"].append(one["warning"])
    for name, said in answer["tensors"].items():
        require(said["dtype"] == "f32", name)
        opened["files"] |= {
            "views/tensors/" + name: {"sha256": said["sha256"]},
            f"views/npy/{name}.npy": {"elements": ["<f4", said["sha256"], said["shape"]]}}
    yield " -o keyfile", opened
    yield "", locked | {"check": {"outcome": ["unchecked"]}}


def merged(answer: dict) -> dict:
    files, names = {}, [*answer["merged"], *answer["eio"]]
    for name, said in answer["merged"].items():
        count = len(said["values"])
        require(count == math.prod(said["shape"]), name, "shape")
        files["views/merged/" + name] = {
            "size": 4 * count, "values": {"first": said["values"], "atol": 1e-5},
            "xattrs": {"dtype": "f32", "shape": said["shape"]},
            "npy": f"views/merged/{name}.npy"}
    for name in answer["eio"]:
        files["views/merged/" + name] = {"errno": "EIO"}
    return {"files": files, "names": {"views/merged": sorted(
                names + [name + ".npy" for name in names])},
            "absent": ["views/merged/" + name for name in answer["missing"]],
            "some_warnings": [f"'{name}'" for name in answer["missing"]]}


def matrices(answer: dict) -> dict:
    require(answer["missing"], "missing")
    files = {"views/matrices/" + name: {
        "sha256": said["sha256"], "xattrs": {"dtype": said["dtype"], "shape": said["shape"]}}
        for name, said in answer["matrices"].items()}
    for path in ("W/0,0", "views/tensors/W/0,0"):
        files[path] = {"readable": True}
    return {"files": files, "listing": ["views/matrices"],
            "absent": ["views/matrices/" + name for name in answer["missing"]]}


def convert(source: pathlib.Path, answer: dict):
    require(set(answer) <= KEYS, set(answer) - KEYS)
    container = source.with_suffix("")
    require(answer["file"] == container.name, "file")
    require(answer["sha256"] == sha256(container.read_bytes()), "sha256")
    name, _ = case_names(container)
    if "key" in answer:
        for option, made in encrypted(answer):
            yield name + option, made
        return
    if "merged" in answer:
        made = merged(answer)
    elif "matrices" in answer:
        made = matrices(answer)
    else:
        made = {"files": {"views/events.jsonl": {"lines": answer["events"]}}}
    # A delta that does not fit is damage of what is made of it, not of the container.
    yield name, made | {"check": outcome(True)}
