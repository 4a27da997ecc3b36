# SPDX-License-Identifier: Apache-2.0
"""Gets the packages, and makes containers of what is in them."""

import base64
import gzip
import hashlib
import importlib.util
import json
import pathlib
import subprocess
import sys
import zipfile

import gguf
import numpy
import onnx
import safetensors.numpy
from onnx import numpy_helper

from readers import File

HERE = pathlib.Path(__file__).resolve().parent
# Wheels of one platform, whatever this one is: they are only read.
PLATFORM = ["--python-version", "3.11", "--implementation", "cp", "--abi", "cp311",
            "--abi", "abi3", "--abi", "none", "--platform", "any",
            *(word for name in ("manylinux2014_x86_64", "manylinux_2_17_x86_64",
                                "manylinux_2_28_x86_64") for word in ("--platform", name))]


def get_wheels(folder: pathlib.Path) -> None:
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                    "--disable-pip-version-check", "--require-hashes",
                    "--only-binary", ":all:", *PLATFORM, "-r", HERE / "packages.txt",
                    "-d", folder], check=True)


def get_npm_packages(folder: pathlib.Path) -> None:
    for package, integrity in json.loads((HERE / "npm.json").read_text()).items():
        done = subprocess.run(["npm", "pack", "--silent", "--json", package,
                               "--pack-destination", folder], check=True, capture_output=True)
        path = folder / json.loads(done.stdout)[0]["filename"]
        digest = base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
        if integrity != f"sha512-{digest}":
            raise SystemExit(f"{package}: {path.name} has another digest than npm.json")


def get_packages(folder: pathlib.Path) -> None:
    """Into `folder`, unless it exists: it is then complete."""
    if folder.exists():
        return
    partial = folder.with_suffix(".partial")
    partial.mkdir(parents=True, exist_ok=True)
    get_wheels(partial)
    get_npm_packages(partial)
    partial.rename(folder)


class Files:
    """Containers in folders by format, numbered so that no two have one name."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.all: list[File] = []

    def path(self, kind: str, name: str, suffix: str = "") -> pathlib.Path:
        """Where the next container of a format goes."""
        below = self.folder / kind
        below.mkdir(parents=True, exist_ok=True)
        path = below / f"{len(self.all):03}-{name}{suffix}"
        self.all.append(File(path, kind))
        return path


def unpack(packages: pathlib.Path, folder: pathlib.Path) -> list[File]:
    """The packages themselves, the containers in them, and what the writers of other
    formats make of the arrays in those."""
    files = Files(folder)
    for wheel in sorted(packages.glob("*.whl")):
        files.path("zip", wheel.name).write_bytes(wheel.read_bytes())
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                kind = name.rsplit(".", 1)[-1]
                if kind in ("npz", "onnx"):
                    path = files.path(kind, pathlib.PurePosixPath(name).name)
                    path.write_bytes(archive.read(name))
    for package in sorted(packages.glob("*.tgz")):
        files.path("tar", package.stem, ".tar").write_bytes(gzip.decompress(package.read_bytes()))
    for model in [one.path for one in files.all if one.format == "onnx"]:
        if arrays := arrays_of(model):
            write_all(files, model.stem, arrays)
    return files.all


def arrays_of(model: pathlib.Path) -> dict[str, numpy.ndarray]:
    """The weights of a model, without those of types that others do not have."""
    tensors = onnx.load(model).graph.initializer
    arrays = {one.name: numpy_helper.to_array(one) for one in tensors}
    return {name: array for name, array in arrays.items()
            if array.dtype.kind in "biuf" and array.dtype.itemsize <= 8 and array.size}


def write_all(files: Files, name: str, arrays: dict[str, numpy.ndarray]) -> None:
    """Arrays by the writers of safetensors, npz, GGUF and, if it is there, torch.
    Without it the comparison ends with 1."""
    safetensors.numpy.save_file(arrays, files.path("safetensors", name, ".safetensors"))
    numpy.savez_compressed(files.path("npz", name, ".npz"), **arrays)
    floats = {key: array for key, array in arrays.items()
              if array.dtype == "float32" and array.ndim <= 4}  # all that GGUF has
    if floats:
        write_gguf(files.path("gguf", name, ".gguf"), floats)
    if importlib.util.find_spec("torch"):
        write_torch(files.path("torch", name, ".pt"), arrays)


def write_gguf(path: pathlib.Path, arrays: dict[str, numpy.ndarray]) -> None:
    """Quantises what has whole blocks to Q8_0."""
    block = 32
    writer = gguf.GGUFWriter(path, "real")
    for name, array in arrays.items():
        if array.ndim > 0 and array.shape[-1] % block == 0:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(name, gguf.quants.quantize(array, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, numpy.atleast_1d(array))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_torch(path: pathlib.Path, arrays: dict[str, numpy.ndarray]) -> None:
    """Without those of types that torch does not have."""
    import torch  # noqa: PLC0415 - only if it is there

    tensors = {}
    for name, array in arrays.items():
        if dtype := getattr(torch, str(array.dtype), None):
            # Debian's torch cannot read an array of the numpy that onnx needs.
            elements = torch.frombuffer(bytearray(array.tobytes()), dtype=dtype)
            tensors[name] = elements.reshape(array.shape)
    torch.save(tensors, path)
