# SPDX-License-Identifier: Apache-2.0
"""Answers of TFRecord. tests/mount/test_tfrecord.py has those of a mirrored directory."""

import json
import pathlib

from common import case_names, refused_with

# What a refusal says, by the reason of a source.
SAYS = {"truncated": ["truncated: ", "byte "], "length_crc": ["length_crc: ", "byte "],
        "unknown": [], "empty": ["empty"], "zlib": ["zlib stream", "tfrecord"],
        "array_record": ["ArrayRecord"]}


def file(one: dict) -> dict:
    made = {key: one[key] for key in ("size", "sha256", "lines") if key in one}
    xattrs = {key: one[key] for key in ("dtype", "shape") if key in one}
    return made | ({"xattrs": xattrs} if xattrs else {})


def windows(source: pathlib.Path) -> dict:
    """The windows of a container, in a source of their own."""
    path = source.with_suffix(".windows.json")
    return json.loads(path.read_text())["windows"] if path.exists() else {}


def warning(source: pathlib.Path) -> list[str]:
    """The reason for which the container is refused without salvage."""
    container = source.with_suffix("").with_suffix("")
    plain = json.loads(container.with_name(container.name + ".json").read_text())
    return SAYS[plain["refuse"]["why"]][:1]


def tree(source: pathlib.Path, answer: dict) -> dict:
    files = {path: file(one) for path, one in answer["files"].items()}
    for path, parts in windows(source).items():
        files[path]["parts"] = parts
    for path in answer.get("eio", []):
        files[path] = {"errno": "EIO"}
    files[".ctxfs/info.json"] = {"has": {"format": "tfrecord"}}
    made = {"files": files, "listing": [""]}
    if "absent" in answer:
        made["absent"] = answer["absent"]
    if "warnings" in answer:
        made["some_warnings"] = warning(source)
    elif "check" in answer:
        made["warnings"] = []
    return made


def convert(source: pathlib.Path, answer: dict):
    if "mirror" in answer or "windows" in answer:
        return
    name, _ = case_names(source.with_suffix(""))
    if answer.get("options") == "salvage":
        yield case_names(source.with_suffix("").with_suffix(""))[1], tree(source, answer)
        return
    refuse = answer.get("refuse")
    if refuse:
        outcome = "damaged" if refuse["exit"] == 4 else "unchecked"
        made = refused_with(refuse["exit"], SAYS[refuse["why"]])
    else:
        outcome = answer["check"]
        made = tree(source, answer)
    yield name, made | {"check": {"outcome": [outcome], "paths": answer.get("eio", [])}}
