# SPDX-License-Identifier: Apache-2.0
"""Values of quantised tensors against the reference: the Python package gguf."""

import gguf
import numpy
import pytest

KINDS = [
    kind
    for kind in gguf.GGMLQuantizationType
    if kind in gguf.quants._type_traits  # what the package can dequantise
]
BLOCKS = 512


def blocks_of(kind, seed: int) -> numpy.ndarray:
    """Random bytes: every pattern is a valid block."""
    size = gguf.GGML_QUANT_SIZES[kind][1]
    chance = numpy.random.default_rng(seed)
    return chance.integers(0, 256, (BLOCKS, size), numpy.uint8)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_values_are_those_of_the_package(kind, mount, tmp_path):
    path = tmp_path / "random.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    blocks = blocks_of(kind, seed=kind.value)
    writer.add_tensor("w", blocks, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    mounted = mount(path)
    with numpy.errstate(all="ignore"):
        expected = gguf.quants.dequantize(blocks, kind).astype("<f4")
    words = expected.reshape(-1).view("<u4").copy()
    words[numpy.isnan(expected.reshape(-1))] = 0x7FC00000
    name = "views/npy/w.npy"
    shown = numpy.load(mounted / name)
    assert shown.shape == expected.shape
    if kind.name not in ("F16", "BF16"):
        assert (shown.reshape(-1).view("<u4") == words).all()


def test_the_package_reads_what_the_mount_says(mount, tmp_path):
    path = tmp_path / "named.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_tensor("w", numpy.arange(6, dtype="<f4").reshape(2, 3))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    mounted = mount(path)
    reader = gguf.GGUFReader(path)
    assert reader.get_field("general.name").contents() == "tiny"
    assert '"tiny"' in (mounted / "metadata.json").read_text()
    stored = numpy.fromfile(mounted / "tensors/w", "<f4")
    assert (stored == reader.tensors[0].data.reshape(-1)).all()
