#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes golden/torch-distributed and its answers: checkpoints of
torch.distributed.checkpoint, and damaged ones. Needs torch 2.15 (PyPI).

The answers come from torch: a checkpoint's tensors are what dcp_to_torch_save makes of it;
of a damaged one, those of the sound one it was made from, less the ones that this script
damaged. Ranks are processes that talk over the loopback interface."""

import hashlib
import json
import os
import pathlib
import pickle
import shutil
import tempfile
import warnings

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.checkpoint.filesystem import FileSystemWriter, _StorageInfo
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
from torch.distributed.checkpoint.metadata import ChunkStorageMetadata, MetadataIndex
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

warnings.simplefilter("ignore")
GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden"
FOLDER = GOLDEN / "torch-distributed"
TYPES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16",
         torch.bfloat16: "bf16", torch.float8_e4m3fn: "f8_e4m3", torch.int64: "i64",
         torch.bool: "bool", torch.complex64: "c64", torch.float8_e5m2: "f8_e5m2"}


def all_kinds() -> dict:
    """A state of four ranks: every way in which a tensor is divided."""
    line = init_device_mesh("cpu", (4,))
    grid = init_device_mesh("cpu", (2, 2))
    rows, columns = [Shard(0)], [Shard(1)]
    moment = distribute_tensor(torch.randn(10, 7), line, rows)
    return {
        "model": {
            "rows": distribute_tensor(torch.arange(70.0).reshape(10, 7), line, rows),
            "uneven": distribute_tensor(torch.randn(5, 3).to(torch.bfloat16), line, rows),
            "few": distribute_tensor(torch.arange(2.0), line, rows),
            "columns": distribute_tensor(torch.randn(6, 9).half(), line, columns),
            "grid": distribute_tensor(torch.randn(9, 11), grid, [Shard(0), Shard(1)]),
            "cube": distribute_tensor(torch.randn(4, 6, 8).double(), grid, [Shard(1), Shard(2)]),
            "same": distribute_tensor(torch.randn(3, 4), line, [Replicate()]),
            "plain": torch.randn(4, 5), "turned": torch.randn(4, 5).t(),
            "f8": torch.randn(4, 4).to(torch.float8_e4m3fn),
            "f8.other": torch.randn(4, 4).to(torch.float8_e5m2),
            "scalar": torch.tensor(3.5), "empty": torch.zeros(0, 3), "ints": torch.arange(10),
            "bool": torch.tensor([True, False]), "complex": torch.randn(3, dtype=torch.complex64),
        },
        "optim": {"state": {0: {"step": torch.tensor(4.0), "exp_avg": moment}},
                  "param_groups": [{"lr": 0.5, "betas": (0.5, 0.75), "params": [0, 1]}]},
        "epoch": 3, "note": "text é", "last": {"rates": [1, 2, 3]},
    }


def small() -> dict:
    """A state of two ranks."""
    line = init_device_mesh("cpu", (2,))
    return {"a": distribute_tensor(torch.arange(12.0).reshape(4, 3), line, [Shard(0)]),
            "b": distribute_tensor(torch.arange(12.0).reshape(3, 4), line, [Shard(1)]),
            "c": torch.arange(5), "epoch": 7}


def one_rank(rank: int, ranks: int, folder: str, state: str, options: dict) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29517", GLOO_SOCKET_IFNAME="lo")
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    torch.manual_seed(13)
    dcp.save(globals()[state](), storage_writer=FileSystemWriter(folder, **options))
    dist.destroy_process_group()


def save(name: str, state: str, ranks: int, **options) -> pathlib.Path:
    folder = FOLDER / name
    mp.spawn(one_rank, (ranks, str(folder), state, options), ranks)
    edit(name, lambda meta: None)
    return folder


def copy(name: str, of: str = "sound") -> pathlib.Path:
    return pathlib.Path(shutil.copytree(FOLDER / of, FOLDER / name))


def edit(name: str, change) -> None:
    """Changes the index of a checkpoint. Its own paths and ids are left out."""
    path = FOLDER / name / ".metadata"
    meta = pickle.loads(path.read_bytes())
    meta.storage_meta.checkpoint_id = None
    meta.storage_meta.save_id = None
    change(meta)
    path.write_bytes(pickle.dumps(meta, protocol=4))


def leaves(value, name: str = ""):
    if isinstance(value, torch.Tensor):
        yield name, value
        return
    items = value.items() if isinstance(value, dict) else enumerate(value) \
        if isinstance(value, list) else ()
    for key, item in items:
        yield from leaves(item, f"{name}/{key}" if name else str(key))


def tensors_of(folder: pathlib.Path) -> dict:
    with tempfile.TemporaryDirectory() as scratch:
        dcp_to_torch_save(folder, f"{scratch}/out.pt")
        state = torch.load(f"{scratch}/out.pt", weights_only=False)
    files = {}
    for name, tensor in leaves(state):
        flat = tensor.contiguous().reshape(-1)
        data = bytes(flat.view(torch.uint8).tolist()) if flat.numel() else b""
        files[f"tensors/{name}"] = {
            "size": len(data), "sha256": hashlib.sha256(data).hexdigest(),
            "xattrs": {"dtype": TYPES[tensor.dtype], "shape": list(tensor.shape)}}
    return files


ANSWERS = {}


def answer(name: str, outcome: str = "clean", of: dict | None = None, value=None,
           broken=(), late=(), **more) -> None:
    """The answer of a checkpoint. `broken` tensors have no bytes, of `late` ones that is
    found when they are read."""
    files = dict(tensors_of(FOLDER / name) if of is None else of)
    for path in broken:
        files[path] = {"size": 0, "errno": "EIO"}
    for path in late:
        files[path] = {"size": files[path]["size"], "errno": "EIO"}
    if value is not None:
        files["value.json"] = {"json": value}
    ANSWERS[f"{name}/.metadata"] = {
        "listing": [""], "files": files,
        "check": {"outcome": [outcome], **more.pop("check", {})}, **more}


def entry(meta, name: str, at=None) -> MetadataIndex:
    """The key of a piece in storage_data: of a tensor's chunk at an offset, or the only one."""
    [found] = [key for key in meta.storage_data
               if key.fqn == name and (at is None or tuple(key.offset) == at)]
    return found


def move(meta, key, **fields) -> None:
    old = meta.storage_data[key]
    fields = {"relative_path": old.relative_path, "offset": old.offset, "length": old.length,
              **fields}
    meta.storage_data[key] = _StorageInfo(**fields)


class Call:
    """Unpickling it would call os.system."""

    def __reduce__(self):
        return os.system, ("touch ctxfs_was_here",)


def damaged(name: str, change, broken=(), **more) -> None:
    """A copy of the sound checkpoint whose index says something else."""
    copy(name)
    edit(name, change)
    answer(name, more.pop("outcome", "damaged"), more.pop("of", SOUND),
           more.pop("value", {"epoch": 7}), broken, **more)


def chunk(meta, name: str, number: int, **fields) -> None:
    for field, value in fields.items():
        setattr(meta.state_dict_metadata[name].chunks[number], field, torch.Size(value))


def main() -> None:
    global SOUND
    for old in FOLDER.iterdir():
        if old.is_dir():
            shutil.rmtree(old)

    save("ranks", "all_kinds", 4)
    answer("ranks", value={
        "optim/param_groups/0/lr": 0.5, "optim/param_groups/0/betas": [0.5, 0.75],
        "optim/param_groups/0/params": [0, 1], "epoch": 3, "note": "text é",
        "last/rates": [1, 2, 3]}, warnings=[])
    save("sound", "small", 2)
    SOUND = tensors_of(FOLDER / "sound")
    answer("sound", value={"epoch": 7}, warnings=[])
    save("file_each", "small", 2, single_file_per_rank=False)
    answer("file_each", value={"epoch": 7}, warnings=[])

    sound = pickle.loads((FOLDER / "sound" / ".metadata").read_bytes())

    # Files that are missing, cut and changed.
    (copy("missing") / "__1_0.distcp").unlink()
    missing = {"epoch": {"$error": "object 'epoch': the file '__1_0.distcp' is missing"}}
    answer("missing", "damaged", SOUND, missing, ["tensors/a", "tensors/b", "tensors/c"],
           some_warnings=["the file '__1_0.distcp' is missing"])
    path = copy("cut") / "__1_0.distcp"
    path.write_bytes(path.read_bytes()[:-1])
    last = max((info.offset, key.fqn) for key, info in sound.storage_data.items()
               if info.relative_path == "__1_0.distcp")[1]
    answer("cut", "damaged", SOUND, {"epoch": 7}, [f"tensors/{last}"])
    path = copy("flipped") / "__1_0.distcp"
    data = bytearray(path.read_bytes())
    at = data.index(torch.tensor([6.0, 7.0]).numpy().tobytes())
    data[at] ^= 1
    path.write_bytes(data)
    answer("flipped", "damaged", SOUND, {"epoch": 7}, late=["tensors/a"])
    path = copy("appended") / "__0_0.distcp"
    path.write_bytes(path.read_bytes() + b"more")
    answer("appended", "unchecked", SOUND, {"epoch": 7},
           some_warnings=["loose_bytes: 4 bytes of the file '__0_0.distcp'"])

    # What the index says of tensors.
    def gap(meta):
        del meta.state_dict_metadata["a"].chunks[1]
    damaged("gap", gap, ["tensors/a"])
    damaged("overlap", lambda meta: chunk(meta, "b", 0, sizes=(3, 3)), ["tensors/b"])

    def hole_and_overlap(meta):  # as many elements as there should be
        chunk(meta, "a", 1, offsets=(1, 0))
        meta.storage_data[MetadataIndex("a", (1, 0))] = \
            meta.storage_data.pop(entry(meta, "a", (2, 0)))
    damaged("hole_and_overlap", hole_and_overlap, ["tensors/a"])
    damaged("outside", lambda meta: chunk(meta, "a", 1, offsets=(3, 0)), ["tensors/a"])
    damaged("negative_chunk", lambda meta: chunk(meta, "b", 0, offsets=(0, -1)), ["tensors/b"])

    def unplaced(meta):
        del meta.storage_data[entry(meta, "c")]
    damaged("unplaced", unplaced, ["tensors/c"])

    def unused(meta):
        del meta.state_dict_metadata["c"]
    damaged("unused", unused, outcome="unchecked",
            of={path: fact for path, fact in SOUND.items() if path != "tensors/c"},
            some_warnings=["unused: "])

    def huge(meta):
        meta.state_dict_metadata["c"].size = torch.Size((2**40, 2**40))
        chunk(meta, "c", 0, sizes=(2**40, 2**40), offsets=(0, 0))
    damaged("huge", huge, ["tensors/c"])

    def large(meta):  # a size that its file cannot have
        meta.state_dict_metadata["c"].size = torch.Size((2**50,))
        chunk(meta, "c", 0, sizes=(2**50,))
    damaged("large", large, ["tensors/c"])

    def other_type(meta):
        meta.state_dict_metadata["c"].properties.dtype = torch.float64
    damaged("other_type", other_type, late=["tensors/c"])

    def other_shape(meta):
        meta.state_dict_metadata["c"].size = torch.Size((5, 1))
        chunk(meta, "c", 0, sizes=(5, 1), offsets=(0, 0))
        meta.storage_data[MetadataIndex("c", (0, 0))] = \
            meta.storage_data.pop(entry(meta, "c"))
    damaged("other_shape", other_shape, late=["tensors/c"])

    # What it says of pieces.
    damaged("past_end", lambda meta: move(meta, entry(meta, "c"), length=1 << 62), ["tensors/c"])
    damaged("negative", lambda meta: move(meta, entry(meta, "c"), offset=-1), ["tensors/c"])

    def twice(meta):  # b's piece is where a's is
        to = meta.storage_data[entry(meta, "a", (0, 0))]
        move(meta, entry(meta, "b", (0, 0)), offset=to.offset, length=to.length)
    damaged("twice", twice, ["tensors/a", "tensors/b"])

    def exchanged(meta):  # each piece is where the other one is
        one, other = entry(meta, "c"), entry(meta, "epoch")
        places = meta.storage_data
        places[one], places[other] = places[other], places[one]
    damaged("exchanged", exchanged, late=["tensors/c"], value={"epoch": {"$tensor": "tensor"}})

    damaged("traversal", lambda meta: move(
        meta, entry(meta, "c"), relative_path="../sound/__0_0.distcp"), ["tensors/c"],
        some_warnings=["the file '../sound/__0_0.distcp' is outside the folder"])
    damaged("absolute", lambda meta: move(
        meta, entry(meta, "c"), relative_path="/etc/passwd"), ["tensors/c"])
    damaged("transformed", lambda meta: move(
        meta, entry(meta, "c"), transform_descriptors=["stream.zstd/1"]), ["tensors/c"],
        outcome="unchecked", some_warnings=["transformed: "])

    # Objects, names and calls.
    at = sound.storage_data[entry(sound, "epoch")]
    path = copy("object_cut") / at.relative_path
    data = bytearray(path.read_bytes())
    data[at.offset + at.length - 22:at.offset + at.length] = bytes(22)
    path.write_bytes(data)
    answer("object_cut", "damaged", SOUND, {"epoch": {"$error": {"?contains": "no_eocd"}}})

    def evil(meta):
        meta.planner_data = {"c": ("deep", "c"), "d": Call()}
    deep = {path.replace("tensors/c", "tensors/deep/c"): fact for path, fact in SOUND.items()}
    damaged("evil", evil, outcome="clean", of=deep,
            some_warnings=["unsafe_globals: the pickle names 1 function"])

    def names(meta):
        meta.planner_data = {"a": ("x", 3, "..", "a/b"), "c": ("", "c")}
    unsafe = {{"tensors/a": "tensors/x/3/%2E%2E/a/b", "tensors/c": "tensors/%/c"}.get(path, path):
              fact for path, fact in SOUND.items()}
    damaged("names", names, outcome="clean", of=unsafe)

    for case, change in {
            "no_storage": lambda meta: setattr(meta, "storage_data", None),
            "no_values": lambda meta: setattr(meta, "state_dict_metadata", [1]),
            "not_a_value": lambda meta: meta.state_dict_metadata.update(x=ChunkStorageMetadata(
                torch.Size(()), torch.Size(())))}.items():
        copy(case)
        edit(case, change)
        ANSWERS[f"{case}/.metadata"] = {"refused": {"exit": 4, "says": ["metadata: "]}}
    path = copy("cut_index") / ".metadata"
    path.write_bytes(path.read_bytes()[:-9])
    ANSWERS["cut_index/.metadata"] = {"refused": {"exit": 4, "says": ["pickle: "]}}

    (GOLDEN / "torch-distributed.json").write_text(
        json.dumps(ANSWERS, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
