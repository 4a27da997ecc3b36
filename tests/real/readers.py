# SPDX-License-Identifier: Apache-2.0
"""What a file has, by the reader of its format: paths in the mount, and bytes."""

import ctypes
import pathlib
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass

import gguf
import numpy
import onnx
from onnx import numpy_helper
from safetensors import safe_open

Members = Iterator[tuple[str, bytes]]


def stored(array: numpy.ndarray) -> bytes:
    """The elements in C order, little-endian, as ctxfs shows arrays."""
    return numpy.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()


def zip_members(path: pathlib.Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if not member.is_dir():
                yield member.filename, archive.read(member)


def npz_members(path: pathlib.Path) -> Members:
    yield from zip_members(path)
    with numpy.load(path) as arrays:
        for name in arrays.files:
            try:
                array = arrays[name]
            except ValueError:  # a pickle
                continue
            if array.dtype.kind in "biufc" and array.dtype.itemsize <= 16:
                yield f"views/arrays/{name}", stored(array)


def tar_members(path: pathlib.Path) -> Members:
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile():
                yield member.name.removeprefix("./"), archive.extractfile(member).read()


def onnx_members(path: pathlib.Path) -> Members:
    for tensor in onnx.load(path).graph.initializer:
        yield f"tensors/{tensor.name}", stored(numpy_helper.to_array(tensor))


def safetensors_members(path: pathlib.Path) -> Members:
    with safe_open(path, "numpy") as file:
        for name in file.keys():
            yield f"tensors/{name}", stored(file.get_tensor(name))


def gguf_members(path: pathlib.Path) -> Members:
    """Quantised tensors as stored, and as float32."""
    for tensor in gguf.GGUFReader(path).tensors:
        yield f"tensors/{tensor.name}", tensor.data.tobytes()
        if tensor.tensor_type not in (gguf.GGMLQuantizationType.F32,
                                      gguf.GGMLQuantizationType.F16):
            values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
            yield f"views/dequantized/{tensor.name}", stored(values.astype("<f4"))


def torch_members(path: pathlib.Path) -> Members:
    import torch  # noqa: PLC0415 - only if it is there

    for name, tensor in torch.load(path, weights_only=True).items():
        # Debian's torch cannot make an array of the numpy that onnx needs.
        size = tensor.nelement() * tensor.element_size()
        yield f"tensors/{name}", ctypes.string_at(tensor.contiguous().data_ptr(), size)


READERS = {
    "zip": zip_members,
    "npz": npz_members,
    "tar": tar_members,
    "onnx": onnx_members,
    "safetensors": safetensors_members,
    "gguf": gguf_members,
    "torch": torch_members,
}


@dataclass(frozen=True)
class File:
    path: pathlib.Path
    format: str

    def members(self) -> Members:
        return READERS[self.format](self.path)
