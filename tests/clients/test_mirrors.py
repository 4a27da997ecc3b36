# SPDX-License-Identifier: Apache-2.0
"""Programs that open models and archives themselves, on a mirrored directory.

Each sees what it sees in the directory itself, and NAME~dir beside the file
has the content for everyone else. No torch for Python 3.11 without CUDA is in
the package index, so from_pretrained loads configurations and tokenizers here;
of the weights it resolves the files, and safetensors reads them.
"""

import filecmp
import hashlib
import json
import os
import pathlib
import shutil
import tarfile
import zipfile

import gguf
import numpy
import onnx
import onnxruntime
import pytest
import safetensors
import safetensors.numpy
import tokenizers
from transformers import (AutoConfig, AutoTokenizer, GenerationConfig, LlamaConfig,
                          PreTrainedTokenizerFast)
from transformers.utils.hub import cached_file, get_checkpoint_shard_files

import originals
from mounting import GOLDEN

MODELS = ["single", "sharded"]


def write_tokenizer(directory: pathlib.Path) -> None:
    words = ["<unk>", "<s>", "</s>", "mount", "the", "model", "and", "read", "it"]
    model = tokenizers.models.WordLevel(
        {word: i for i, word in enumerate(words)}, unk_token="<unk>"
    )
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    ).save_pretrained(directory)


def write_model(directory: pathlib.Path, sharded: bool) -> None:
    directory.mkdir()
    LlamaConfig(
        vocab_size=originals.VOCABULARY, hidden_size=originals.HIDDEN,
        intermediate_size=2 * originals.HIDDEN, num_hidden_layers=originals.LAYERS,
        num_attention_heads=2, num_key_value_heads=2, architectures=["LlamaForCausalLM"],
    ).save_pretrained(directory)
    GenerationConfig(max_new_tokens=7, eos_token_id=2).save_pretrained(directory)
    write_tokenizer(directory)
    if sharded:
        originals.write_shards(directory)
    else:
        originals.write_safetensors(directory / "model.safetensors")


@pytest.fixture(name="source", scope="module")
def fixture_source(tmp_path_factory):
    """Models and archives, and files that are neither."""
    source = tmp_path_factory.mktemp("mirrors") / "source"
    source.mkdir()
    write_model(source / "single", sharded=False)
    write_model(source / "sharded", sharded=True)
    originals.write_npz(source / "arrays.npz")
    originals.write_npz(source / "compressed.npz", compressed=True)
    originals.write_onnx(source / "net.onnx")
    originals.write_onnx(source / "outside.onnx", external=True)
    originals.write_gguf(source / "model.gguf")
    originals.write_zip(source / "archive.zip")
    originals.write_tar(source / "pax.tar")
    originals.write_tar(source / "gnu.tar", tarfile.GNU_FORMAT)
    (source / "old").mkdir()
    shutil.copy(source / "single" / "config.json", source / "old")
    shutil.copy(GOLDEN / "torch" / "state_dict.pt", source / "old" / "pytorch_model.bin")
    shutil.copy(GOLDEN / "torch" / "legacy.pt", source / "old" / "legacy.pt")
    (source / "notes.txt").write_text("neither model nor archive\n")
    return source


@pytest.fixture(name="mirror")
def fixture_mirror(source, mount):
    return mount(source).point


def files_below(directory: pathlib.Path) -> dict[str, list[str]]:
    """The names in each directory. `.ctxfs` is the mount's own."""
    found = {}
    for where, directories, files in os.walk(directory):
        if pathlib.Path(where) == directory and ".ctxfs" in directories:
            directories.remove(".ctxfs")
        found[os.path.relpath(where, directory)] = sorted(directories + files)
    return found


def test_listings_are_those_of_the_source(source, mirror):
    """The containers beside the files are not in them."""
    assert files_below(mirror) == files_below(source)


def test_bytes_are_those_of_the_source(source, mirror):
    for where, names in files_below(source).items():
        names = [name for name in names if (source / where / name).is_file()]
        same, other, failed = filecmp.cmpfiles(
            source / where, mirror / where, names, shallow=False
        )
        assert (sorted(same), other, failed) == (names, [], [])


# What programs make of a path, in a form that can be compared.


def of_array(array) -> tuple:
    array = numpy.asarray(array)
    return array.dtype.str, array.shape, array.tobytes()


def configuration(path):
    return AutoConfig.from_pretrained(path).to_dict() | {"_name_or_path": None}


def generation(path):
    return GenerationConfig.from_pretrained(path).to_dict()


def tokens(path):
    tokenizer = AutoTokenizer.from_pretrained(path)
    text = "mount the model and read it again </s>"
    return tokenizer(text)["input_ids"], tokenizer.get_vocab(), tokenizer.eos_token


def weight_files(path) -> list[str]:
    """The files that from_pretrained finds in a directory."""
    index = cached_file(
        path, "model.safetensors.index.json", _raise_exceptions_for_missing_entries=False
    )
    if index is None:
        return [cached_file(path, "model.safetensors")]
    return get_checkpoint_shard_files(path, index)[0]


def pretrained_weights(path):
    found = {}
    for file in weight_files(path):
        assert pathlib.Path(file).is_relative_to(path)
        found |= safetensors.numpy.load_file(file)
    return {name: of_array(array) for name, array in found.items()}


def safe_open(path):
    found = {}
    with safetensors.safe_open(path, framework="numpy") as file:
        for name in file.keys():
            rows = file.get_slice(name)
            found[name] = of_array(file.get_tensor(name)), of_array(rows[1:3])
        return found, file.metadata()


def npz(path):
    with numpy.load(path) as file:
        return {name: of_array(file[name]) for name in file.files}


def onnx_arrays(path):
    model = onnx.load(path)
    onnx.checker.check_model(model)
    return {
        one.name: of_array(onnx.numpy_helper.to_array(one))
        for one in model.graph.initializer
    }


def onnx_checked(path):
    """The checker with a path reads the files of external data itself."""
    onnx.checker.check_model(str(path), full_check=True)
    return path.name


def onnx_results(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    given = numpy.linspace(-1, 1, 16, dtype="<f4").reshape(2, 8)
    return of_array(session.run(None, {"x": given})[0])


def gguf_content(path):
    reader = gguf.GGUFReader(path)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    return fields, {one.name: of_array(one.data) for one in reader.tensors}


def zip_members(path):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        about = [(one.filename, one.file_size, one.CRC) for one in archive.infolist()]
        return about, archive.comment, [archive.read(one[0]) for one in about]


def tar_members(path):
    with tarfile.open(path) as archive:
        return [
            (one.name, one.size, one.mtime, archive.extractfile(one).read())
            for one in archive.getmembers()
        ]


CLIENTS = [
    (configuration, ["single", "sharded", "old"]),
    (generation, MODELS),
    (tokens, MODELS),
    (pretrained_weights, MODELS),
    (safe_open, ["single/model.safetensors",
                 "sharded/model-00002-of-00003.safetensors"]),
    (npz, ["arrays.npz", "compressed.npz"]),
    (onnx_arrays, ["net.onnx", "outside.onnx"]),
    (onnx_checked, ["net.onnx", "outside.onnx"]),
    (onnx_results, ["net.onnx", "outside.onnx"]),
    (gguf_content, ["model.gguf"]),
    (zip_members, ["archive.zip", "arrays.npz", "old/pytorch_model.bin"]),
    (tar_members, ["pax.tar", "gnu.tar"]),
]


@pytest.mark.parametrize(
    "client, name", [(client, name) for client, names in CLIENTS for name in names],
    ids=lambda one: one if isinstance(one, str) else one.__name__,
)
def test_client(client, name, source, mirror):
    expected = client(source / name)
    assert expected, "the client sees something in the source"
    assert client(mirror / name) == expected


def test_tar_extracts(source, mirror, tmp_path):
    for name, root in (("plain", source), ("mirrored", mirror)):
        with tarfile.open(root / "gnu.tar") as archive:
            archive.extractall(tmp_path / name)
    assert files_below(tmp_path / "mirrored") == files_below(tmp_path / "plain")


# The container beside each file.


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def golden_tensors(name: str) -> dict[str, str]:
    answer = json.loads((GOLDEN / "torch" / f"{name}.json").read_text())
    return {name: array["sha256"] for name, array in answer["arrays"].items()}


def digests(arrays) -> dict[str, str]:
    return {name: sha256(array.tobytes()) for name, array in arrays.items()}


def gguf_digests(path):
    reader = gguf.GGUFReader(path)
    return {one.name: sha256(one.data.tobytes()) for one in reader.tensors}


def onnx_digests(path):
    return {
        one.name: sha256(onnx.numpy_helper.to_array(one).tobytes())
        for one in onnx.load(path).graph.initializer
    }


TENSORS = {
    "single/model.safetensors": lambda p: digests(safetensors.numpy.load_file(p)),
    "sharded/model-00001-of-00003.safetensors":
        lambda p: digests(safetensors.numpy.load_file(p)),
    "net.onnx": onnx_digests,
    "outside.onnx": onnx_digests,
    "model.gguf": gguf_digests,
    "old/pytorch_model.bin": lambda p: golden_tensors("state_dict.pt"),
    "old/legacy.pt": lambda p: golden_tensors("legacy.pt"),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors_beside_the_file(name, source, mirror):
    expected = TENSORS[name](source / name)
    tensors = mirror / f"{name}~dir" / "tensors"
    assert set(os.listdir(tensors)) == set(expected)
    for tensor, digest in expected.items():
        assert sha256((tensors / tensor).read_bytes()) == digest, tensor
    assert files_below(mirror) == files_below(source), "listed after a look-up"


@pytest.mark.parametrize("name", ["arrays.npz", "compressed.npz"])
def test_arrays_beside_the_file(name, source, mirror):
    with numpy.load(source / name) as file:
        for array in file.files:
            shown = numpy.load(mirror / f"{name}~dir" / "views" / "npy" / f"{array}.npy")
            assert shown.dtype == file[array].dtype.newbyteorder("=")
            numpy.testing.assert_array_equal(shown, file[array])


@pytest.mark.parametrize("name, expected", [
    ("archive.zip", zip_members), ("pax.tar", tar_members), ("gnu.tar", tar_members),
], ids=["zip", "pax", "gnu"])
def test_members_beside_the_file(name, expected, source, mirror):
    found = expected(source / name)
    if name == "archive.zip":
        found = [(about[0], data) for about, data in zip(found[0], found[2])]
    else:
        found = [(about[0], about[3]) for about in found]
    assert len(found) >= 4
    for member, data in found:
        assert (mirror / f"{name}~dir" / member).read_bytes() == data


def test_a_checkpoint_becomes_a_model_directory(source, mirror):
    """from_pretrained on views/hf of a state dict that has config.json beside it."""
    hf = mirror / "old" / "pytorch_model.bin~dir" / "views" / "hf"
    assert configuration(hf) == configuration(source / "old")
    (file,) = weight_files(hf)
    with safetensors.safe_open(file, framework="numpy") as model:
        assert set(model.keys()) == set(golden_tensors("state_dict.pt"))


def test_shards_are_one_model(source, mirror):
    """views/model.safetensors beside the index has every shard's tensors."""
    views = mirror / "sharded" / "model.safetensors.index.json~dir" / "views"
    merged = safetensors.numpy.load_file(views / "model.safetensors")
    assert digests(merged) == digests(originals.weights())
    assert pretrained_weights(views / "hf") == pretrained_weights(source / "sharded")


def test_a_folder_of_shards_has_its_model_beside_it(source, mirror):
    beside = mirror / "sharded~dir"
    assert "sharded~dir" not in os.listdir(mirror)
    assert pretrained_weights(beside / "views" / "hf") == pretrained_weights(source / "sharded")
    index = mirror / "sharded" / "model.safetensors.index.json~dir"
    assert files_below(beside) == files_below(index)
    stored = (beside / ".ctxfs" / "container").read_bytes()
    assert stored == (source / "sharded" / "model.safetensors.index.json").read_bytes()
    for name in ("single", "old", "no_such_folder"):
        assert not (mirror / f"{name}~dir").exists()


def test_only_containers_have_a_directory_beside_them(source, mirror):
    for name in ("notes.txt", "outside.onnx.data", "single/config.json"):
        assert (source / name).is_file()
        assert not (mirror / f"{name}~dir").exists()
