# SPDX-License-Identifier: Apache-2.0
"""Answers of zip, npz, torch, tar and onnx, whose own form is nearly that of ours."""

import pathlib

from common import case_names, hexed, refused_with

# Views widen these, or numpy has none.
NOT_AS_STORED = {"bf16", "c32", "f8_e4m3", "f8_e5m2", "f8_e4m3fnuz", "f8_e5m2fnuz",
                 "f8_e8m0"}
# Warnings of damage that leaves no file unreadable.
DAMAGE = ("pickle", "split-")


def shown_path(kind: str, path: str) -> str:
    """Sources have the paths of tree contract 1."""
    if kind == "torch" and path.startswith("members/"):
        return ".ctxfs/raw/" + path.removeprefix("members/")
    if kind in ("zip", "npz") and path.startswith("arrays/"):
        return "views/" + path
    return path


def odd(name: str) -> bool:
    """Whether views have another name for it."""
    return "~" in name or "%" in name


def array(one: dict) -> dict:
    return {"size": one["size"], "sha256": one["sha256"],
            "xattrs": {"dtype": one["dtype"], "shape": one["shape"]}}


def unordered(document):
    """With sets of values, whose order is any."""
    if isinstance(document, list):
        return [unordered(one) for one in document]
    if not isinstance(document, dict):
        return document
    made = {key: unordered(one) for key, one in document.items()}
    return {"$set": {"?unordered": document["$set"]}} if set(made) == {"$set"} else made


def failing(kind: str, answer: dict) -> dict:
    return {shown_path(kind, path): {"errno": error}
            for key, error in (("eio", "EIO"), ("eacces", "EACCES"))
            for path in answer.get(key, [])}


def common_part(kind: str, answer: dict, files: dict) -> dict:
    for path, target in answer.get("links", {}).items():
        files[path] = {"link": target}
    for path, document in answer.get("documents", {}).items():
        files[path] = {"json": unordered(document)}
    files[".ctxfs/info.json"] = {"growing": True, "has": {"format": kind}}
    tree = {"files": files, "listing": [""]}
    if answer.get("hard"):
        tree["hard"] = answer["hard"]
    if answer.get("dirs"):
        tree["directories"] = answer["dirs"]
    if answer.get("absent"):
        tree["absent"] = [hexed(path) for path in answer["absent"]]
    return tree


def archive_tree(kind: str, answer: dict) -> dict:
    """Of zip, npz and torch."""
    files = failing(kind, answer)
    for path, one in answer.get("files", {}).items():
        files[shown_path(kind, path)] = {"size": one["size"], "sha256": one["sha256"]}
    folder = "tensors/" if kind == "torch" else "views/arrays/"
    tensors = {}
    for name, one in answer.get("arrays", {}).items():
        files[folder + name] = array(one)
        if one["dtype"] not in NOT_AS_STORED and not odd(name):
            files[folder + name]["npy"] = f"views/npy/{name}.npy"
        if one["dtype"] not in ("c32", "c128") and "%" not in name:
            tensors[name] = [one["sha256"]]
    if tensors and not answer.get("eio"):
        model = "model" if kind == "torch" else "arrays"
        files[f"views/{model}.safetensors"] = {"tensors": tensors}
    tree = common_part(kind, answer, files)
    tree["listing"] += [".ctxfs/raw", "views/arrays"]
    if "no_array" in answer:
        tree["absent"] = tree.get("absent", []) + [folder + name for name in answer["no_array"]]
    if answer.get("warnings"):
        tree["some_warnings"] = answer["warnings"]
    return tree


def sample(one: dict) -> dict:
    for member in one["members"].values():
        if member["path"].startswith("hex:"):
            member["path_hex"] = member["path"][4:]
            member["path"] = bytes.fromhex(member["path_hex"]).decode(errors="replace")
    return one


def tar_tree(kind: str, answer: dict) -> dict:
    """Of tar and onnx."""
    files = {}
    for path, one in answer.get("files", {}).items():
        files[path] = {"size": one["size"], "sha256": one["sha256"]}
    files |= failing(kind, answer)
    for key, folder in (("arrays", "tensors/"), ("constants", "constants/")):
        for name, one in answer.get(key, {}).items():
            files[hexed(folder, name)] = array(one)
            files[hexed(folder, name)]["xattrs"]["verified"] = "none"
    tree = common_part(kind, answer, files)
    samples = answer.get("samples")
    if samples is None:
        tree["absent"] = tree.get("absent", []) + ["views/samples.jsonl"]
    else:
        files["views/samples.jsonl"] = {"lines": [sample(one) for one in samples]}
    if answer.get("warnings"):
        tree["some_warnings"] = [key + ": " for key in answer["warnings"]]
    return tree


def check_of(answer: dict, code: int) -> dict:
    """What cannot be read has a fault, and nothing else has one."""
    part = answer.get("salvage", answer)
    paths = {*part.get("eio", []), *part.get("eacces", [])}
    if "open" in answer:
        paths = {"tensors/" + path.removeprefix("tensors/") for path in paths}
    paths = sorted(path for path in paths if not path.startswith(("members/", "arrays/")))
    damage = answer.get("partial", False) or any(
        key.startswith(DAMAGE) for key in answer.get("warnings", []))
    if code:
        outcome = ["damaged" if code == 4 else "unchecked"]
    else:
        outcome = ["damaged", "unchecked"] if damage or paths else ["clean"]
    return {"outcome": outcome, "paths": paths}


def convert(source: pathlib.Path, answer: dict):
    kind = answer["format"]
    tree_of = tar_tree if kind in ("tar", "onnx") else archive_tree
    name, salvaged = case_names(source.with_suffix(""))
    refuse = answer.get("refuse")
    if refuse:
        # Of tar the key of a reason, or the text of it.
        key = tree_of is tar_tree and ": " not in refuse["why"]
        why = refuse["why"] + (": " if key else "")
        says = [] if refuse["why"] == "no_magic" else [why]
        if tree_of is tar_tree:
            says.append("byte ")
        made = refused_with(refuse["exit"], says)
    else:
        made = tree_of(kind, answer)
    yield name, made | {"check": check_of(answer, refuse["exit"] if refuse else 0)}
    # Of tar and onnx, as it has always been, those that are refused alone.
    if "salvage" in answer:
        yield salvaged, tree_of(kind, answer["salvage"])
