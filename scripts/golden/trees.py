# SPDX-License-Identifier: Apache-2.0
"""Answers in the schema of data sets and recordings: paths of a mount, with their sizes,
digests, dtypes and shapes, and what cannot be read."""

from common import refused_with

# Words of the warnings of a container, by its name.
WARNINGS = {"escape": "outside the folder", "missing": "is missing", "short": "bytes of the index",
            "unknown_encoding": "encoding: ", "unknown_hash": "hash: "}


def facts(one: dict) -> dict:
    made = {key: one[key] for key in ("size", "sha256", "lines", "json") if key in one}
    array = {key: one[key] for key in ("dtype", "shape") if key in one}
    if array:
        made["xattrs_when_read"] = array
    return made


def tree(answer: dict) -> dict:
    files = {path: facts(one) for path, one in answer.get("files", {}).items()}
    files |= {path: {"errno": "EIO"} for path in answer.get("eio", [])}
    made = {}
    if answer.get("listed"):
        made["listing"] = [""]
    if answer.get("absent"):
        made["absent"] = answer["absent"]
    names = {"" if folder == "." else folder: names
             for folder, names in answer.get("dirs", {}).items()}
    if names:
        made["names"] = names
    if answer.get("warnings"):
        made["some_warnings"] = [WARNINGS[answer["source"]]]
    if "check" in answer:
        outcome = answer["check"]
        made["check"] = {"outcome": ["clean" if outcome == "unverifiable" else outcome]}
    return made | {"files": files}


def convert(path, answer):
    if "source" not in answer:
        return  # an index, not a source
    name = answer["source"]
    if answer.get("mirror"):
        name = name.split("/")[0] + " -o flat"  # of a mirror the root is its own
    if "refuse" in answer:
        yield name, refused_with(answer["refuse"]["exit"], [answer["refuse"]["why"]])
    else:
        yield name, tree(answer)
