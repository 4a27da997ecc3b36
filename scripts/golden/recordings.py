# SPDX-License-Identifier: Apache-2.0
"""Answers of golden/mcap: messages by topic, arrays of times, attachments and metadata."""

import pathlib

from common import refused_with, require

KEYS = {"format", "source", "made_by", "note", "reader", "files", "refuse", "eio", "check",
        "warnings", "listed", "options", "mirror", "dirs"}
FACTS = {"size", "sha256", "dtype", "shape", "json", "lines"}


def file_facts(path: str, said: dict) -> dict:
    require(set(said) <= FACTS, path, set(said) - FACTS)
    made = {key: said[key] for key in ("size", "sha256", "json", "lines") if key in said}
    if "dtype" in said:
        made["xattrs"] = {"dtype": said["dtype"], "shape": said["shape"]}
        name = path.removeprefix("topics/")
        if said["shape"] != [0]:
            made["npy"] = f"views/npy/{name}.npy"
    return made


def check_of(answer: dict) -> dict:
    outcome = {"clean": ["clean"], "partial": ["unchecked"], "damaged": ["damaged"]}
    made = {"outcome": outcome[answer["check"]]}
    if answer.get("eio"):
        # A check reads the arrays of a topic, and so every chunk, but no numbered file.
        made["paths"] = sorted(path for path in answer["eio"] if "/messages/" not in path)
    return made


def convert(source: pathlib.Path, answer: dict):
    require(set(answer) <= KEYS, set(answer) - KEYS)
    require((source.parent / answer["source"]).is_file(), answer["source"])
    name = answer["source"]
    if "refuse" in answer:
        says = [answer["refuse"]["why"] + ": ", "byte "]
        yield name, refused_with(answer["refuse"]["exit"], says)
        return
    files = {path: file_facts(path, said) for path, said in answer["files"].items()}
    files |= {path: {"errno": "EIO"} for path in answer.get("eio", [])}
    made = {"files": files}
    if answer.get("mirror"):
        # The directory is what is mounted, as the root.
        name = name.rpartition("/")[0] + " -o flat"
        made["names"] = {"" if path == "." else path: names
                         for path, names in answer["dirs"].items()}
    elif answer.get("listed"):
        made["listing"] = [""]
    if "warnings" in answer:
        made["warning_count"] = answer["warnings"]
    if "check" in answer:
        made["check"] = check_of(answer)
    option = " -o " + answer["options"] if "options" in answer else ""
    yield name + option, made
