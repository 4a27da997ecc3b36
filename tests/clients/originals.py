# SPDX-License-Identifier: Apache-2.0
"""One file of each format that has programs of its own, written by its own writer."""

import io
import json
import pathlib
import tarfile
import zipfile

import gguf
import numpy
import onnx
import safetensors
import safetensors.numpy
from onnx import TensorProto, helper, numpy_helper

VOCABULARY, HIDDEN, LAYERS = 32, 16, 2


def weights(seed: int = 3) -> dict[str, numpy.ndarray]:
    """Tensors with the names and shapes of a small Llama."""
    draw = numpy.random.default_rng(seed)
    shapes = {
        "model.embed_tokens.weight": (VOCABULARY, HIDDEN),
        "model.norm.weight": (HIDDEN,),
        "lm_head.weight": (VOCABULARY, HIDDEN),
    }
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        for part in "qkvo":
            shapes[f"{prefix}self_attn.{part}_proj.weight"] = (HIDDEN, HIDDEN)
        for part in ("gate", "up"):
            shapes[f"{prefix}mlp.{part}_proj.weight"] = (2 * HIDDEN, HIDDEN)
        shapes[prefix + "mlp.down_proj.weight"] = (HIDDEN, 2 * HIDDEN)
        shapes[prefix + "input_layernorm.weight"] = (HIDDEN,)
        shapes[prefix + "post_attention_layernorm.weight"] = (HIDDEN,)
    return {
        name: draw.standard_normal(shape).astype("<f4")
        for name, shape in shapes.items()
    }


def write_safetensors(path: pathlib.Path) -> dict[str, numpy.ndarray]:
    made = weights()
    safetensors.numpy.save_file(made, path, metadata={"format": "pt"})
    return made


def write_shards(directory: pathlib.Path) -> dict[str, numpy.ndarray]:
    """Three shards and their index, as save_pretrained(max_shard_size=...) names them."""
    made = weights()
    names = sorted(made)
    files = {}
    for i in range(3):
        file = f"model-{i + 1:05}-of-00003.safetensors"
        part = {name: made[name] for name in names[i::3]}
        safetensors.numpy.save_file(part, directory / file, metadata={"format": "pt"})
        files |= dict.fromkeys(part, file)
    total = sum(array.nbytes for array in made.values())
    index = {"metadata": {"total_size": total}, "weight_map": files}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index))
    return made


def write_npz(path: pathlib.Path, compressed: bool = False) -> dict[str, numpy.ndarray]:
    draw = numpy.random.default_rng(5)
    made = {
        "matrix": draw.standard_normal((40, 30)),
        "fortran": numpy.asfortranarray(draw.standard_normal((7, 5)).astype("<f4")),
        "swapped": draw.integers(-9, 9, (3, 4)).astype(">i4"),
        "scalar": numpy.array(7, "<u2"),
        "empty": numpy.zeros((0, 3), "<f2"),
        "flags": draw.integers(0, 2, 17).astype(bool),
    }
    (numpy.savez_compressed if compressed else numpy.savez)(path, **made)
    return made


def onnx_model(external: bool) -> onnx.ModelProto:
    """A network of two layers: y = relu(x @ a + b) @ c."""
    draw = numpy.random.default_rng(7)
    arrays = {
        "a": draw.standard_normal((8, 400)).astype("<f4"),
        "b": draw.standard_normal(400).astype("<f4"),
        "c": draw.standard_normal((400, 3)).astype("<f4"),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["xa"]),
        helper.make_node("Add", ["xa", "b"], ["sum"]),
        helper.make_node("Relu", ["sum"], ["hidden"]),
        helper.make_node("MatMul", ["hidden", "c"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "layers" + ("_external" if external else ""),
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    # onnxruntime reads older versions than the package onnx writes.
    return helper.make_model(
        graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]
    )


def write_onnx(path: pathlib.Path, external: bool = False) -> dict[str, numpy.ndarray]:
    model = onnx_model(external)
    made = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    if external:
        onnx.save(model, path, save_as_external_data=True, location=path.name + ".data",
                  size_threshold=0)
    else:
        onnx.save(model, path)
    return made


def write_gguf(path: pathlib.Path, **options) -> dict[str, numpy.ndarray]:
    draw = numpy.random.default_rng(9)
    made = {
        "token_embd.weight": draw.standard_normal((VOCABULARY, 64)).astype("<f4"),
        "output_norm.weight": draw.standard_normal(64).astype("<f2"),
        "blk.0.ffn_up.weight": draw.standard_normal((8, 64)).astype("<f4"),
        "counts": draw.integers(-9, 9, (2, 3)).astype("<i4"),
    }
    writer = gguf.GGUFWriter(path, "llama", **options)
    writer.add_name("small")
    writer.add_block_count(1)
    writer.add_array("tokenizer.ggml.tokens", ["<s>", "</s>", "é"])
    for name, array in made.items():
        if name.startswith("blk"):
            kind = gguf.GGMLQuantizationType.Q8_0
            made[name] = gguf.quants.quantize(array, kind)
            writer.add_tensor(name, made[name], raw_dtype=kind)
        else:
            writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return made


def members() -> dict[str, bytes]:
    draw = numpy.random.default_rng(11)
    return {
        "readme.txt": b"words and words and words\n" * 500,
        "data/random.bin": draw.bytes(70_000),
        "data/empty": b"",
        "données/naïve.json": b'{"a": 1}',
    }


def write_zip(path: pathlib.Path) -> dict[str, bytes]:
    made = members()
    with zipfile.ZipFile(path, "w") as archive:
        archive.comment = b"of the whole"
        for i, (name, data) in enumerate(made.items()):
            kind = zipfile.ZIP_STORED if i % 2 else zipfile.ZIP_DEFLATED
            archive.writestr(name, data, kind)
    return made


def write_tar(path: pathlib.Path, form: int = tarfile.PAX_FORMAT) -> dict[str, bytes]:
    made = members()
    made["deep/" + "n" * 150 + "/file"] = b"behind a long name"
    with tarfile.open(path, "w", format=form) as archive:
        for name, data in made.items():
            about = tarfile.TarInfo(name)
            about.size = len(data)
            about.mtime = 1_700_000_000
            archive.addfile(about, io.BytesIO(data))
    return made
