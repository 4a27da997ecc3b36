# SPDX-License-Identifier: Apache-2.0
"""Containers as PyTorch's tensors and samples, with the distribution's torch."""

import errno
import json
import struct
import tarfile

import numpy as np
import pytest

import ctxfs
from conftest import GOLDEN

torch = pytest.importorskip("torch")
import ctxfs.torch  # noqa: E402  pylint: disable=wrong-import-position

ARCHIVE = GOLDEN / "tar" / "wds.tar"


def loader(*sources, workers=0, **options):
    return torch.utils.data.DataLoader(ctxfs.torch.samples([str(one) for one in sources], **options),
                                       num_workers=workers, batch_size=None)


def members_of(archive) -> list[dict]:
    """The samples of an archive without directories, by Python's tarfile."""
    made = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            key, _, extension = member.name.partition(".")
            sample = made.setdefault(key, {"__key__": key, "__url__": str(archive)})
            sample[extension] = tar.extractfile(member).read()
    return list(made.values())


# Each has arrays of types that torch has.
@pytest.mark.parametrize("name", [
    "safetensors/llama.safetensors", "wshard/all_dtypes.wshard", "gguf/q8_0.gguf", "mcf/alias_types.mcf",
])
def test_a_file_is_loaded_whatever_its_format(name):
    source = GOLDEN / name
    loaded = ctxfs.torch.load_file(source)
    with ctxfs.open(source) as c:
        assert list(loaded) == list(c.arrays) and loaded
        for key, tensor in loaded.items():
            array = c.arrays.lazy[key].read()
            assert tuple(tensor.shape) == array.shape and tensor.is_contiguous()
            bits = tensor.reshape(-1).view(torch.uint8) if tensor.dtype != torch.bool else tensor
            assert bits.numpy().tobytes() == array.tobytes(), key


def test_types_are_those_of_the_container(tmp_path):
    kinds = {"BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32, "I8": torch.int8,
             "I64": torch.int64, "BOOL": torch.bool, "U8": torch.uint8}
    header, data = {}, b""
    for kind, made in kinds.items():
        size = 2 * torch.empty((), dtype=made).element_size()
        header[kind] = {"dtype": kind, "shape": [2], "data_offsets": [len(data), len(data) + size]}
        data += bytes([0, 1] * (size // 2))
    text = json.dumps(header).encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    loaded = ctxfs.torch.load_file(path)
    assert {name: tensor.dtype for name, tensor in loaded.items()} == kinds
    assert loaded["BF16"].tolist() == torch.tensor([256, 256], dtype=torch.int16).view(
        torch.bfloat16).tolist()
    loaded["F32"] += 1  # of its own memory
    assert ctxfs.torch.load_file(str(path), device="cpu")["F32"].tolist() != loaded["F32"].tolist()


def test_damage_is_an_error():
    with pytest.raises(ctxfs.Error) as failed:
        ctxfs.torch.load_file(GOLDEN / "wshard" / "corrupt" / "flip_raw_block.wshard")
    assert failed.value.code == "checksum" and failed.value.entry
    with pytest.raises(FileNotFoundError):
        ctxfs.torch.load_file("absent.safetensors")


def shard_of_model(path, names) -> None:
    header = {name: {"dtype": "U8", "shape": [4], "data_offsets": [4 * i, 4 * i + 4]}
              for i, name in enumerate(names)}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(range(4 * len(names))))


@pytest.fixture(name="sharded")
def _sharded(tmp_path):
    """A model of three files with two tensors each."""
    files = [tmp_path / f"model-0000{i}-of-00003.safetensors" for i in (1, 2, 3)]
    weights = {}
    for i, file in enumerate(files):
        names = [f"layer{i}.a", f"layer{i}.b"]
        shard_of_model(file, names)
        weights |= dict.fromkeys(names, file.name)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 24}, "weight_map": weights}))
    return index, files


def test_43_1_a_model_without_one_of_its_files_is_an_error(sharded):
    index, files = sharded
    assert len(ctxfs.torch.load_file(index)) == 6
    files[2].unlink()
    with pytest.raises(ctxfs.Error, match=f"{files[2].name}.*see partial="):
        ctxfs.torch.load_file(index)
    assert list(ctxfs.torch.load_file(index, partial=True)) == [
        "layer0.a", "layer0.b", "layer1.a", "layer1.b"]


def test_43_1_a_model_with_a_file_that_was_cut_off_is_an_error(sharded):
    index, files = sharded
    files[1].write_bytes(files[1].read_bytes()[:40])
    files[0].unlink()
    with pytest.raises(ctxfs.Error, match=r"and 1 more\): not all tensors can be loaded"):
        ctxfs.torch.load_file(index)
    with pytest.raises(ctxfs.Error, match="see partial="):
        list(ctxfs.torch.samples(str(index)))
    assert list(ctxfs.torch.load_file(index, partial=True)) == ["layer2.a", "layer2.b"]


@pytest.mark.parametrize("name", [
    "torch/records.pt", "torch-distributed/missing/.metadata", "gguf/split_missing/tiny-00001-of-00003.gguf",
    "onnx/external_traversal.onnx", "wshard/chunked_bad/missing_file_manifest.wshard"])
def test_43_1_what_lacks_tensors_is_not_loaded(name):
    for load in (lambda: ctxfs.torch.load_file(GOLDEN / name),
                 lambda: list(ctxfs.torch.samples(str(GOLDEN / name)))):
        with pytest.raises(ctxfs.Error, match="see partial="):
            load()
    ctxfs.torch.load_file(GOLDEN / name, partial=True)


def test_43_1_a_sample_that_cannot_be_read_is_an_error(tmp_path):
    data = bytearray((GOLDEN / "shard-profiles" / "golden_inputs.smpl").read_bytes())
    with ctxfs.open(GOLDEN / "shard-profiles" / "golden_inputs.smpl") as c:
        entry = json.loads(c[".ctxfs/index.json"].read())[0]
    data[entry["offset"]] ^= 1
    path = tmp_path / "damaged.smpl"
    path.write_bytes(data)
    with pytest.raises(ctxfs.CorruptError):
        list(loader(path))


def test_43_1_what_is_damaged_is_left_out_on_request():
    source = GOLDEN / "wshard" / "corrupt" / "flip_raw_block.wshard"
    with ctxfs.open(source) as c:
        names = set(c.arrays)
    loaded = ctxfs.torch.load_file(source, partial=True)
    assert loaded and set(loaded) < names


def test_43_1_a_failure_that_may_pass_leaves_nothing_out(sharded, monkeypatch):
    def fails(lazy):
        raise ctxfs.Error(errno.EIO, "the disk", entry=lazy.info.name, code="io")
    monkeypatch.setattr(ctxfs.torch, "tensor", fails)
    with pytest.raises(ctxfs.Error, match="the disk"):
        ctxfs.torch.load_file(sharded[0], partial=True)


def test_samples_of_an_archive_are_those_of_tarfile():
    expected = members_of(ARCHIVE)
    assert len(expected) > 3 and list(loader(ARCHIVE)) == expected
    keys = list(loader(ARCHIVE, map=lambda sample: sample["__key__"]))
    assert keys == [sample["__key__"] for sample in expected]


def test_samples_of_records_and_of_episodes():
    shard = GOLDEN / "shard-profiles" / "golden_inputs.smpl"
    assert list(loader(shard))[:3] == [42, 3.14, "hello cowrie"]
    (sample,) = loader(GOLDEN / "wshard" / "all_dtypes.wshard")
    assert sample["__key__"] == "all_dtypes"
    np.testing.assert_array_equal(sample["signal/mat_i16"].shape, (8, 2, 3))


@pytest.mark.parametrize("workers", (1, 2, 3))
@pytest.mark.parametrize("archives", (1, 4))
def test_workers_share_the_samples(workers, archives, tmp_path):
    expected = []
    for i in range(archives):
        path = tmp_path / f"{i}.tar"
        path.write_bytes(ARCHIVE.read_bytes())
        expected += [(str(path), sample["__key__"]) for sample in members_of(path)]
    taken = [(sample["__url__"], sample["__key__"])
             for sample in loader(tmp_path / "*.tar", workers=workers)]
    assert sorted(taken) == expected


def test_a_pattern_without_a_file_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        ctxfs.torch.samples(str(tmp_path / "*.tar"))
