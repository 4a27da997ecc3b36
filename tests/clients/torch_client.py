# SPDX-License-Identifier: Apache-2.0
"""torch in a process of its own: the package index has none for the clients'
environment without CUDA, but Debian has one (python3-torch, 1.13).

CTXFS_TORCH_PYTHON is the interpreter that can import it, else /usr/bin/python3.
"""

import functools
import json
import os
import subprocess

PYTHON = os.environ.get("CTXFS_TORCH_PYTHON", "/usr/bin/python3")

_LEAVES = """
import hashlib, json, sys, torch

def leaves(value, name):
    if isinstance(value, torch.Tensor):
        yield name or "tensor", value
        return
    items = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, (list, tuple)):
        items = enumerate(value)
    for key, item in items:
        yield from leaves(item, f"{name}/{key}" if name else str(key))

def data(tensor):
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return bytes(flat.view(torch.uint8).tolist()) if flat.numel() else b""

def described(value):
    return {
        name: [str(one.dtype), list(one.shape), hashlib.sha256(data(one)).hexdigest()]
        for name, one in leaves(value, "")
    }
"""

# Prints {FILE: {NAME: [dtype, shape, SHA-256 of the bytes in C order]}}.
_LOAD = _LEAVES + """
found = {}
for file in sys.argv[1:]:
    found[file] = described(torch.load(file, weights_only=True))
json.dump(found, sys.stdout)
"""

# Prints {NAME: ...} of a distributed checkpoint, as torch's own loader makes it. Before
# torch 2 there is none: torch.load then reads the pieces, whose places are in an index of
# classes that this torch need not have. Tensors of types that it lacks are left out.
_LOAD_DISTRIBUTED = _LEAVES + """
import io, pickle, tempfile

def whole(folder):
    from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
    with tempfile.NamedTemporaryFile() as file:
        dcp_to_torch_save(folder, file.name)
        return torch.load(file.name, weights_only=False)

class Stub:
    def __setstate__(self, state):
        self.__dict__.update(state if isinstance(state, dict) else {"dtype": state[0]})

class Index(pickle.Unpickler):
    def find_class(self, module, name):
        if module.startswith("torch.distributed"):
            # An enumeration is called with its number.
            return type(name, (Stub,), {"__init__": lambda self, *number: None})
        if module == "torch" and not hasattr(torch, name):
            return None
        return super().find_class(module, name)

def pieces(folder):
    with open(f"{folder}/.metadata", "rb") as file:
        index = Index(file).load()
    places = {(key.fqn, tuple(getattr(key, "offset", None) or ())): place
              for key, place in index.storage_data.items()}
    state = {}
    for name, value in index.state_dict_metadata.items():
        if not hasattr(value, "chunks") or value.properties.dtype is None:
            continue
        tensor = torch.zeros(value.size, dtype=value.properties.dtype)
        for chunk in value.chunks:
            place = places[name, tuple(chunk.offsets)]
            with open(f"{folder}/{place.relative_path}", "rb") as file:
                file.seek(place.offset)
                piece = torch.load(io.BytesIO(file.read(place.length)))
            box = tuple(slice(at, at + size) for at, size in zip(chunk.offsets, chunk.sizes))
            tensor[box] = piece
        state["/".join(map(str, index.planner_data[name]))] = tensor
    return state

try:
    state = whole(sys.argv[1])
except ImportError:
    state = pieces(sys.argv[1])
json.dump(described(state), sys.stdout)
"""

# Saves one object in both forms: every plain type, and tensors that are windows
# of a storage. Arguments: the ZIP form's path, the legacy form's.
_SAVE = """
import collections, sys, torch

torch.manual_seed(13)
base = torch.randn(6, 8)
state = collections.OrderedDict()
for name in ("float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool"
             " complex64").split():
    dtype = getattr(torch, name)
    drawn = torch.randn(3, 5, dtype=torch.complex64) if dtype.is_complex \\
        else torch.randn(3, 5) * 3
    state[name] = (drawn.abs() if name == "uint8" else drawn).to(dtype)
state.update({
    "whole": base, "transposed": base.t(), "columns": base[:, 2:5],
    "steps": base[::2, 1::3], "expanded": base[:1].expand(4, 8),
    "diagonal": base.diagonal(), "scalar": torch.tensor(3.5),
    "empty": torch.zeros(0, 3), "dotted.name.weight": torch.nn.Parameter(base * 2),
    "last": torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
})
object = {"state": state, "epoch": 3, "optimizer": [{"step": torch.tensor(7)}]}
torch.save(object, sys.argv[1])
torch.save(object, sys.argv[2], _use_new_zipfile_serialization=False)
"""


def _run(code: str, *arguments) -> str:
    done = subprocess.run(
        [PYTHON, "-c", code, *map(str, arguments)],
        capture_output=True, text=True, timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@functools.cache
def available() -> bool:
    done = subprocess.run(
        [PYTHON, "-c", "import torch"], capture_output=True, timeout=120
    )
    return done.returncode == 0


def load(*files) -> list[dict[str, tuple]]:
    """The tensors that torch.load(weights_only=True) finds in each file, as
    name: (dtype, shape, SHA-256). Names are keys joined by `/`."""
    found = json.loads(_run(_LOAD, *files))
    return [
        {name: (dtype, tuple(shape), digest)
         for name, (dtype, shape, digest) in found[str(file)].items()}
        for file in files
    ]


def load_distributed(folder) -> dict[str, tuple]:
    """The same of the folder of a distributed checkpoint."""
    found = json.loads(_run(_LOAD_DISTRIBUTED, folder))
    return {name: (dtype, tuple(shape), digest)
            for name, (dtype, shape, digest) in found.items()}


def save(zip_form, legacy_form) -> None:
    _run(_SAVE, zip_form, legacy_form)
