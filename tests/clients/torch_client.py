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

# Prints {FILE: {NAME: [dtype, shape, SHA-256 of the bytes in C order]}}.
_LOAD = """
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

found = {}
for file in sys.argv[1:]:
    tensors = leaves(torch.load(file, weights_only=True), "")
    found[file] = {
        name: [str(one.dtype), list(one.shape), hashlib.sha256(data(one)).hexdigest()]
        for name, one in tensors
    }
json.dump(found, sys.stdout)
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


def save(zip_form, legacy_form) -> None:
    _run(_SAVE, zip_form, legacy_form)
