# SPDX-License-Identifier: Apache-2.0
"""Answers of vector indexes (docs/formats/vector_index.md): their arrays, which are parts of the rows
of one entry."""

from common import require

KEYS = {"kind", "arrays", "fvecs_sha256", "warnings", "damaged"}
ARRAYS = ("ids", "vectors", "deleted")
DTYPES = {"u64": "U64", "f32": "F32"}
# Which entry an array is from.
ENTRIES = {"ids": "col/vectors", "vectors": "col/vectors", "deleted": "col/deleted"}
NO_DIMENSION = "expected an integer from 1 to 1048576: ids and vectors are not shown"
WARNINGS = {
    "count_differs": "count is 99, and there are 12 rows",
    "deleted_odd": "bytes are no whole multiple of 8",
    "dim_huge": NO_DIMENSION, "dim_negative": NO_DIMENSION, "dim_text": NO_DIMENSION,
    "dim_zero": NO_DIMENSION,
    "meta_bad": "no arrays are shown",
    "odd_size": "bytes are no whole multiple of 28",
}


def add(answer: dict, tree: dict, info: dict) -> None:
    said, files = answer["vector_index"], tree["files"]
    require(set(said) <= KEYS, set(said) - KEYS)
    damaged = said.get("damaged", [])
    for name in damaged:
        files[name].pop("sha256")
        files[name] |= {"errno": "EIO", "xattrs_when_read": {"verified": "failed"}}
    for name in ARRAYS:
        add_array(name, said, damaged, tree)
    case = answer["file"].removeprefix("vectors_").removesuffix(".shard")
    require(("warnings" in said) == (case in WARNINGS), "warnings")
    if case in WARNINGS:
        tree["some_warnings"] = [WARNINGS[case]]
    else:
        tree["warnings"] = []
    if said["kind"] is not None:
        info |= {"layout": said["kind"], "role_name": "VectorIndex"}
    add_counts(said["arrays"], damaged, info)
    add_views(said, files, tree)


def add_array(name: str, said: dict, damaged: list, tree: dict) -> None:
    path = "views/arrays/" + name
    if name in said["arrays"]:
        array = said["arrays"][name]
        tree["files"][path] = {
            "size": array["size"], "sha256": array["sha256"], "npy": f"views/npy/{name}.npy",
            "xattrs": {"dtype": array["dtype"], "shape": array["shape"]}}
    elif ENTRIES[name] in damaged:
        tree["files"][path] = {"errno": "EIO"}
    else:
        tree["absent"].append(path)


def add_counts(arrays: dict, damaged: list, info: dict) -> None:
    if "vectors" in arrays:
        [info["n"], info["dim"]] = arrays["vectors"]["shape"]
        require(arrays["ids"]["shape"] == [info["n"]], "ids")
    if "deleted" in arrays:
        [info["deleted"]] = arrays["deleted"]["shape"]


def add_views(said: dict, files: dict, tree: dict) -> None:
    if said.get("fvecs_sha256"):
        files["views/fvecs/vectors.fvecs"] = {"sha256": said["fvecs_sha256"]}
        files["views/vectors.safetensors"] = {"tensors": {
            name: [DTYPES[array["dtype"]], array["sha256"]]
            for name, array in said["arrays"].items()}}
    elif not said.get("damaged"):
        tree["absent"] += ["views/fvecs", "views/vectors.safetensors"]
