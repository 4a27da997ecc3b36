# SPDX-License-Identifier: Apache-2.0
"""Whole arrays in the hands of numpy, safetensors, faiss and pandas."""

import hashlib
import json

import faiss
import numpy
import pandas
import pytest
import safetensors
from faiss.contrib import vecs_io

import truth

GOLDENS = [golden for golden in truth.goldens() if golden.arrays]
each_kind = pytest.mark.parametrize("golden", GOLDENS, ids=truth.of)

TOGETHER = {
    ".mcf": "model", ".mosh": "model", ".wshard": "episode", ".cvc": "vectors",
    "": "tree",
}

together = pytest.mark.parametrize(
    "golden", [one for one in GOLDENS if one.container.suffix in TOGETHER], ids=truth.of)


def sha256(array: numpy.ndarray) -> str:
    return hashlib.sha256(numpy.ascontiguousarray(array).tobytes()).hexdigest()


def check(array: truth.Array, read: numpy.ndarray) -> None:
    """bf16 came as float32, whose upper halves it is."""
    assert read.shape == array.shape, array.path
    if array.dtype is None:
        assert read.dtype == numpy.float32
        bits = numpy.ascontiguousarray(read).view("<u4")
        assert not (bits & 0xFFFF).any()
        read = (bits >> 16).astype("<u2")
    else:
        assert read.dtype == numpy.dtype(array.dtype)
    assert sha256(read) == array.sha256, array.path


@each_kind
def test_numpy_load(golden, mount):
    mounted = mount(golden.container)
    for array in golden.arrays:
        path = mounted / "views" / "npy" / (truth.view_name(array.path) + ".npy")
        check(array, numpy.load(path))


@each_kind
def test_numpy_load_mapped(golden, mount):
    mounted = mount(golden.container)
    for array in golden.arrays:
        if 0 in array.shape:
            continue
        path = mounted / "views" / "npy" / (truth.view_name(array.path) + ".npy")
        mapped = numpy.load(path, mmap_mode="r")
        assert isinstance(mapped, numpy.memmap)
        check(array, mapped)


@each_kind
def test_numpy_load_raw16(golden, mount):
    """The very bits of bf16, where there are any."""
    mounted = mount(golden.container)
    for array in golden.arrays:
        path = mounted / "views" / "raw16" / (truth.view_name(array.path) + ".npy")
        assert path.exists() == (array.dtype is None)
        if array.dtype is None:
            read = numpy.load(path)
            assert read.dtype == numpy.dtype("<u2") and read.shape == array.shape
            assert sha256(read) == array.sha256


@together
def test_safe_open(golden, mount):
    """Every tensor of the container in one file, and no other."""
    mounted = mount(golden.container)
    path = mounted / "views" / f"{TOGETHER[golden.container.suffix]}.safetensors"
    with safetensors.safe_open(path, framework="numpy") as tensors:
        names = set(tensors.keys())
        for array in golden.arrays:
            name = truth.view_name(array.path)
            assert name in names
            if array.dtype is None:
                continue  # numpy cannot hold it; test_safetensors_bytes reads it
            check(array, tensors.get_tensor(name))


@together
def test_safetensors_bytes(golden, mount):
    """What the header says, read by hand: bf16 too."""
    mounted = mount(golden.container)
    data = (mounted / "views" / f"{TOGETHER[golden.container.suffix]}.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    assert all(isinstance(v, str) for v in header.pop("__metadata__", {}).values())
    for array in golden.arrays:
        entry = header[truth.view_name(array.path)]
        assert tuple(entry["shape"]) == array.shape
        begin, end = (8 + size + at for at in entry["data_offsets"])
        assert hashlib.sha256(data[begin:end]).hexdigest() == array.sha256


@pytest.mark.parametrize("name", ["v1_fp16", "v1_lossless", "v2_columns"])
def test_faiss(name, mount):
    """Its own reader gives the vectors, and each is its own nearest."""
    golden = truth.cvc(name)
    mounted = mount(golden.container)
    for array in golden.arrays:
        if array.dtype != "<f4":
            continue
        path = mounted / "views" / "fvecs" / (truth.view_name(array.path) + ".fvecs")
        for read in (vecs_io.fvecs_read(path), vecs_io.fvecs_mmap(str(path))):
            check(array, read)
        vectors = numpy.fromfile(mounted / array.path, "<f4").reshape(array.shape)
        if not numpy.isfinite(vectors).all():
            continue
        index = faiss.IndexFlatL2(array.shape[1])
        index.add(vecs_io.fvecs_read(path))
        distances, _ = index.search(vectors, 1)
        assert distances.max() == 0


def test_pandas_on_npy(mount):
    golden = truth.cvc("v2_columns")
    mounted = mount(golden.container)
    array = golden.arrays[0]
    name = truth.view_name(array.path) + ".npy"
    frame = pandas.DataFrame(numpy.load(mounted / "views" / "npy" / name, mmap_mode="r"))
    check(array, frame.to_numpy())
