# SPDX-License-Identifier: Apache-2.0
"""Answers of golden/zarr: stores, which are directories, archives, or the metadata file
of a root."""

import pathlib

from common import GOLDEN, refused_with, require

# Words of a message, where the reason is the name of the store as well.
SAYS = {"rank": "dimensions", "overflow": "2^63", "json": "not JSON"}
TOO_LARGE = ("chunk_huge", "huge_missing")  # reading is EFBIG: the page, section 10
# Parts of the warnings, by the number that the source has.
WARNS = {"chunk_huge": "over the limit", "huge_missing": "sparse",
         "one_bad": "cannot be read", "v2_objects_left_out": "cannot be read",
         "v2_consolidated_old": "consolidated"}


def files_of(answer: dict, name: str) -> dict:
    files = {}
    for path, facts in answer["files"].items():
        made = {key: facts[key] for key in ("size", "sha256", "json", "lines") if key in facts}
        if "dtype" in facts:
            made["xattrs"] = {"dtype": facts["dtype"], "shape": facts["shape"]}
            # numpy has no bfloat16.
            if facts["dtype"] != "bf16" and "mirror" not in answer:
                made["npy"] = f"views/npy/{path}.npy"
        files[path] = made
    for path in answer.get("eio", []):
        files[path] = {"errno": "EIO"}
    for path, windows in answer.get("windows", {}).items():
        files.setdefault(path, {})["parts"] = windows
    if name in TOO_LARGE:
        files["array"] = {"errno": "EFBIG"}
    return files


def convert(path: pathlib.Path, answer: dict):
    if path.parent != GOLDEN / "zarr":
        return  # metadata of a store
    require(answer["format"] == "zarr", "format", answer["format"])
    name = answer["source"]
    require((GOLDEN / "zarr" / name).exists(), name)
    if "refuse" in answer:
        why = answer["refuse"]["why"]
        yield name, refused_with(answer["refuse"]["exit"], [SAYS.get(why, why)])
        return
    case = {"files": files_of(answer, path.stem)}
    if answer.get("mirror"):
        # The directory around the store is what is mounted.
        yield name.split("/")[0] + " -o flat", case | {"names": {"": answer["dirs"]["."]}}
        return
    if answer.get("listed"):
        case["listing"] = [""]
    if "dirs" in answer:
        case["names"] = {"": answer["dirs"]["."]}
    if "absent" in answer:
        case["absent"] = answer["absent"]
    if answer.get("warnings"):
        case["some_warnings"] = [WARNS[path.stem]]
    else:
        case["warnings"] = []
    if "check" in answer:
        outcome = answer["check"]
        case["check"] = {"outcome": [{"unverifiable": "clean", "partial": "unchecked"}
                                     .get(outcome, outcome)]}
    yield name, case
