# SPDX-License-Identifier: Apache-2.0
"""views/model.safetensors against the original's own loader, tensor by tensor.

The package safetensors reads the view. Of checkpoints the golden answers are
those of torch 2.15; torch itself is compared where an interpreter has it.
"""

import hashlib
import json
import os
import pathlib

import gguf
import numpy
import onnx
import pytest
import safetensors
from onnx import TensorProto, helper, numpy_helper

import originals
import torch_client
from mounting import GOLDEN

# Names of dtypes in ctxfs, torch and numpy, and in safetensors.
SAFETENSORS = {
    "f64": "F64", "f32": "F32", "f16": "F16", "bf16": "BF16", "i64": "I64",
    "i32": "I32", "i16": "I16", "i8": "I8", "u64": "U64", "u32": "U32", "u16": "U16",
    "u8": "U8", "bool": "BOOL", "c64": "C64", "f8_e4m3": "F8_E4M3",
    "f8_e5m2": "F8_E5M2", "f8_e8m0": "F8_E8M0", "f8_e4m3fnuz": "F8_E4M3FNUZ",
    "f8_e5m2fnuz": "F8_E5M2FNUZ",
}
TORCH = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16",
    "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8",
    "bool": "BOOL", "complex64": "C64",
}
NUMPY = TORCH | {
    "uint64": "U64", "uint32": "U32", "uint16": "U16", "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2", "float8_e8m0fnu": "F8_E8M0",
    "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ",
    "float4_e2m1fn": "F4", "float6_e2m3fn": "F6_E2M3", "float6_e3m2fn": "F6_E3M2",
}
BITS = {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}  # numpy has them in bytes


def sha256(data) -> str:
    return hashlib.sha256(data).hexdigest()


def shown(view: pathlib.Path) -> dict[str, tuple]:
    """name: (dtype, shape, SHA-256 of the bytes), as safetensors reads the view."""
    return {
        name: (one["dtype"], tuple(one["shape"]), sha256(one["data"]))
        for name, one in safetensors.deserialize(view.read_bytes())
    }


def of_numpy(array: numpy.ndarray) -> tuple:
    """The same of an array: C order, little-endian, low bits first."""
    native = numpy.ascontiguousarray(array).astype(array.dtype.newbyteorder("="))
    data, dtype = native.tobytes(), NUMPY[native.dtype.name]
    if dtype in BITS:
        codes = numpy.frombuffer(data, numpy.uint8).reshape(-1, 1)
        bits = numpy.unpackbits(codes, axis=1, bitorder="little")[:, : BITS[dtype]]
        data = numpy.packbits(bits, bitorder="little").tobytes()
    return dtype, array.shape, sha256(data)


# PyTorch checkpoints.


def answers_of_torch() -> list[pathlib.Path]:
    """The golden checkpoints that torch.load(weights_only=True) opens."""
    found = []
    for file in sorted((GOLDEN / "torch").glob("*.json")):
        reader = json.loads(file.read_text()).get("reader") or {}
        if reader.get("torch.load(weights_only=True)") == "opens":
            found.append(file)
    assert len(found) > 20
    return found


@pytest.mark.parametrize("file", answers_of_torch(), ids=lambda file: file.stem)
def test_golden_checkpoint(file, mount):
    """Both forms: every tensor of a type that safetensors has."""
    answer = json.loads(file.read_text())
    expected = {
        name: (SAFETENSORS[one["dtype"]], tuple(one["shape"]), one["sha256"])
        for name, one in answer["arrays"].items() if one["dtype"] in SAFETENSORS
    }
    assert expected
    view = mount(file.with_suffix("")) / "views" / "model.safetensors"
    assert shown(view) == expected


# Those that torch 1.13 opens, the oldest that has weights_only.
CHECKPOINTS = [
    "deflated.pt", "legacy.pt", "legacy_shared.pt", "no_byteorder.pt", "no_crc.pt",
    "parameters.pt", "plain_dict.pth", "root_list.pt", "root_tensor.pt", "shapes.pt",
    "shared.pt", "skip_data.pt", "state_dict.pt", "strides.pt",
]


def compare_with_torch(files: list[pathlib.Path], mount) -> None:
    for file, tensors in zip(files, torch_client.load(*files), strict=True):
        expected = {
            name: (TORCH[dtype.removeprefix("torch.")], shape, digest)
            for name, (dtype, shape, digest) in tensors.items()
        }
        assert expected
        view = mount(file) / "views" / "model.safetensors"
        assert shown(view) == expected, file.name


@pytest.fixture(name="torch")
def fixture_torch():
    if not torch_client.available():
        pytest.skip(f"{torch_client.PYTHON} has no torch")


@pytest.mark.usefixtures("torch")
def test_torch_loads_the_same(mount):
    compare_with_torch([GOLDEN / "torch" / name for name in CHECKPOINTS], mount)


@pytest.mark.usefixtures("torch")
def test_what_torch_saved(mount, tmp_path):
    """Every plain type, and tensors that are windows of a storage, in both forms."""
    files = [tmp_path / "zip.pt", tmp_path / "legacy.pt"]
    torch_client.save(*files)
    compare_with_torch(files, mount)


# GGUF.

QUANTISED = [
    kind for kind in gguf.GGMLQuantizationType
    if kind in gguf.quants._type_traits and kind.name not in ("F16", "BF16")
]
PLAIN = ["<f4", "<f2", "<f8", "<i1", "<i2", "<i4", "<i8"]


def dequantised(tensor) -> tuple:
    """A tensor of GGUFReader as float32; the sign and payload of NaN are not kept."""
    with numpy.errstate(all="ignore"):
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype("<f4")
    words = values.view("<u4").copy()
    words[numpy.isnan(values)] = 0x7FC00000
    return "F32", values.shape, sha256(words.tobytes())


def values_of(tensor) -> tuple:
    if tensor.tensor_type in QUANTISED:
        return dequantised(tensor)
    if tensor.tensor_type == gguf.GGMLQuantizationType.BF16:
        shape = (*tensor.data.shape[:-1], tensor.data.shape[-1] // 2)
        return "BF16", shape, sha256(tensor.data.tobytes())
    return of_numpy(tensor.data)


def compare_with_gguf(path: pathlib.Path, mount) -> None:
    expected = {one.name: values_of(one) for one in gguf.GGUFReader(path).tensors}
    assert expected
    assert shown(mount(path) / "views" / "model.safetensors") == expected


def test_gguf_of_every_type(mount, tmp_path):
    path = tmp_path / "types.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    draw = numpy.random.default_rng(17)
    for kind in QUANTISED:
        size = gguf.GGML_QUANT_SIZES[kind][1]
        blocks = draw.integers(0, 256, (2, 3, 4 * size), numpy.uint8)
        writer.add_tensor(f"blk.0.{kind.name}.weight", blocks, raw_dtype=kind)
    for dtype in PLAIN:
        writer.add_tensor(dtype[1:], (draw.standard_normal((3, 5)) * 9).astype(dtype))
    halves = draw.integers(0, 256, (3, 16), numpy.uint8)
    writer.add_tensor("bf16", halves, raw_dtype=gguf.GGMLQuantizationType.BF16)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    compare_with_gguf(path, mount)


@pytest.mark.parametrize("order", gguf.GGUFEndian, ids=lambda order: order.name)
def test_gguf_in_both_byte_orders(order, mount, tmp_path):
    path = tmp_path / "order.gguf"
    writer = gguf.GGUFWriter(path, "llama", endianess=order)
    draw = numpy.random.default_rng(19)
    for dtype in PLAIN:
        writer.add_tensor(dtype[1:], (draw.standard_normal((3, 5)) * 9).astype(dtype))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    compare_with_gguf(path, mount)


# ONNX.

# No type of safetensors has them.
WITHOUT = {"complex128", "int4", "uint4", "int2", "uint2", "object"}


def compare_with_onnx(path: pathlib.Path, mount) -> None:
    arrays = {
        one.name: numpy_helper.to_array(one)
        for one in onnx.load(path).graph.initializer
    }
    expected = {
        name: of_numpy(array) for name, array in arrays.items()
        if array.dtype.name not in WITHOUT
    }
    assert expected
    assert shown(mount(path) / "views" / "model.safetensors") == expected


@pytest.mark.parametrize("name", [
    "dtypes_raw", "dtypes_typed", "external_many", "external_one", "mlp", "shapes",
    "wire_variants",
])
def test_golden_onnx(name, mount):
    compare_with_onnx(GOLDEN / "onnx" / f"{name}.onnx", mount)


@pytest.mark.parametrize("external", [False, True], ids=["within", "external"])
def test_saved_onnx(external, mount, tmp_path):
    path = tmp_path / "net.onnx"
    originals.write_onnx(path, external)
    compare_with_onnx(path, mount)


def onnx_types() -> list[int]:
    """The types that numpy has, by itself or with ml_dtypes."""
    return [
        code for name, code in TensorProto.DataType.items()
        if name not in ("UNDEFINED", "STRING")
        and helper.tensor_dtype_to_np_dtype(code).name not in WITHOUT
    ]


def test_onnx_of_every_type(mount, tmp_path):
    """Each type twice: as raw_data, and in the list of numbers that it has."""
    draw = numpy.random.default_rng(23)
    tensors = []
    for code in onnx_types():
        dtype = helper.tensor_dtype_to_np_dtype(code)
        values = numpy.abs(draw.standard_normal((4, 6)) * 3).astype(dtype)
        tensors.append(numpy_helper.from_array(values, f"raw.{code}"))
        tensors.append(helper.make_tensor(f"list.{code}", code, (4, 6), values.ravel()))
    assert len(tensors) >= 2 * 22
    graph = helper.make_graph([], "types", [], [], tensors)
    path = tmp_path / "types.onnx"
    onnx.save(helper.make_model(graph), path)
    compare_with_onnx(path, mount)


# npz.

NPZ_TYPES = [
    "|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8",
    "<c8", ">i2", ">u4", ">i8", ">f2", ">f4", ">f8", ">c8",
]


def compare_with_numpy(path: pathlib.Path, mount, without=()) -> None:
    """`without` are arrays that the format page refuses."""
    with numpy.load(path) as file:
        arrays = {name: file[name] for name in file.files if name not in without}
    expected = {
        name: of_numpy(array) for name, array in arrays.items()
        if array.dtype.name != "complex128"
    }
    assert expected
    assert shown(mount(path) / "views" / "arrays.safetensors") == expected


@pytest.mark.parametrize("save", [numpy.savez, numpy.savez_compressed],
                         ids=["stored", "deflated"])
def test_npz_of_every_type(save, mount, tmp_path):
    """Also transposed, of no element, and of no dimension."""
    draw = numpy.random.default_rng(29)
    arrays = {}
    for dtype in NPZ_TYPES:
        values = (draw.standard_normal((3, 4, 5)) * 9).astype(dtype)
        name = dtype.replace("<", "little.").replace(">", "big.").strip("|")
        arrays[name] = values
        arrays["fortran." + name] = numpy.asfortranarray(values)
        arrays["scalar." + name] = values[0, 0, 0]
        arrays["empty." + name] = values[:, :0]
    path = tmp_path / "types.npz"
    save(path, **arrays)
    compare_with_numpy(path, mount)


@pytest.mark.parametrize("name", [
    "big_endian", "compressed", "dtypes", "fortran", "header_v2_v3", "positional",
    "shapes", "spelling", "streamed_compressed",
])
@pytest.mark.filterwarnings("ignore:.*created on Python 2")
def test_golden_npz(name, mount):
    path = GOLDEN / "npz" / f"{name}.npz"
    answer = json.loads(path.with_suffix(".npz.json").read_text())
    compare_with_numpy(path, mount, answer.get("no_array", ()))


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("name", ["ranks", "sound", "file_each"])
def test_torch_puts_the_same_tensors_together(name, mount):
    folder = GOLDEN / "torch-distributed" / name
    tensors = torch_client.load_distributed(folder)
    assert len(tensors) >= (16 if name == "ranks" else 3)
    top = mount(folder / ".metadata", "flat").point / "tensors"
    for path, (_, shape, digest) in tensors.items():
        assert sha256((top / path).read_bytes()) == digest, path
        assert json.loads(os.getxattr(top / path, "user.ctxfs.shape")) == list(shape)
