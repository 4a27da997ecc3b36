# SPDX-License-Identifier: Apache-2.0
"""What `ctxfs info` says a container is: its facts, against the bytes of the files.

The expected facts are worked out here from the bytes, by the rules of each format
and by the libraries of others, not by ctxfs.
"""

import io
import json
import pathlib
import re
import struct
import tarfile
import zipfile

import numpy
import pytest

from conftest import BIN, GOLDEN, formats, run

CTXFS = BIN / "ctxfs"
ROOT = pathlib.Path(__file__).resolve().parents[2]


def described(path) -> dict:
    done = run(CTXFS, "info", "--json", path)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)[0]


def facts(path) -> dict:
    """The values of the facts by key."""
    return {fact["key"]: fact["value"] for fact in described(path)["facts"]}


# safetensors


def safetensors(path: pathlib.Path, header: dict, data=b"") -> pathlib.Path:
    text = json.dumps(header, ensure_ascii=False).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def header_of(path: pathlib.Path) -> dict:
    bytes_ = path.read_bytes()
    (length,) = struct.unpack_from("<Q", bytes_)
    return json.loads(bytes_[8:8 + length])


@pytest.mark.parametrize("name", ("dtypes", "llama", "metadata"))
def test_safetensors(name):
    path = GOLDEN / "safetensors" / f"{name}.safetensors"
    header = header_of(path)
    metadata = header.pop("__metadata__", {}) or {}
    counts = {}
    for tensor in header.values():
        elements = 1
        for extent in tensor["shape"]:
            elements *= extent
        counts[tensor["dtype"]] = counts.get(tensor["dtype"], 0) + elements
    found = facts(path)
    assert found.get("parameters", 0) == sum(counts.values())
    assert sorted(value for key, value in found.items() if key.startswith("parameters.")) \
        == sorted(counts.values())
    for key, value in metadata.items():
        assert found.get("metadata." + key, "") == value, key


def lora(tmp_path, metadata):
    return safetensors(tmp_path / "lora.safetensors", {
        "__metadata__": metadata,
        "unet.lora_down.weight": {"dtype": "F16", "shape": [8, 2], "data_offsets": [0, 32]}},
        bytes(32))


def test_a_lora_says_its_rank_and_words(tmp_path):
    tags = json.dumps({"set": {"cat": 9, "dog": 12, "a rare word": 1}})
    found = facts(lora(tmp_path, {
        "ss_output_name": "pets", "ss_network_dim": "32", "ss_network_alpha": "16",
        "ss_base_model_version": "sdxl_base_v1-0", "ss_tag_frequency": tags}))
    assert found["name"] == "pets"
    assert found["lora_rank"] == "32" and found["lora_alpha"] == "16"
    assert found["base_model"] == "sdxl_base_v1-0"
    assert found["trained_words"] == "dog, cat, a rare word"
    assert found["parameters"] == found["parameters.f16"] == 16


def test_without_metadata_the_rank_is_that_of_the_shape(tmp_path):
    assert facts(lora(tmp_path, {}))["lora_rank"] == 8


def test_the_config_beside_a_model_is_of_the_model(tmp_path):
    model = safetensors(tmp_path / "model.safetensors", {
        "w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, bytes(8))
    (tmp_path / "config.json").write_text(json.dumps({
        "architectures": ["MistralForCausalLM"], "model_type": "mistral",
        "max_position_embeddings": 32768, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "vocab_size": 32000, "torch_dtype": "bfloat16",
        "quantization_config": {"quant_method": "gptq", "bits": 4}}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "LlamaTokenizer", "chat_template": "{{ x }}\n"}))
    found = facts(model)
    assert found["architecture"] == "MistralForCausalLM"
    assert (found["context_length"], found["layers"], found["heads"]) == (32768, 32, 32)
    assert (found["key_value_heads"], found["vocabulary"]) == (8, 32000)
    assert found["dtype"] == "bfloat16" and found["quantisation"] == "gptq, 4 bits"
    assert found["tokenizer"] == "LlamaTokenizer" and found["chat_template"] == "{{ x }}\n"


# GGUF

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q",
           12: "d"}


class Gguf:
    """The scalars and strings of a little-endian file of version 2 or 3."""

    def __init__(self, path):
        self.bytes = path.read_bytes()
        self.at = 8
        self.tensors, pairs = self.read("QQ")
        self.values = {}
        for _ in range(pairs):
            key = self.string().decode()
            (kind,) = self.read("I")
            value = self.value(kind)
            if kind != 9:
                self.values[key] = (kind, value)

    def read(self, layout):
        found = struct.unpack_from("<" + layout, self.bytes, self.at)
        self.at += struct.calcsize("<" + layout)
        return found

    def string(self):
        (length,) = self.read("Q")
        self.at += length
        return self.bytes[self.at - length:self.at]

    def value(self, kind):
        if kind == 8:
            return self.string()
        if kind == 9:
            kind, count = self.read("IQ")
            return [self.value(kind) for _ in range(count)]
        return self.read(SCALARS[kind])[0]


def gguf(path, pairs) -> pathlib.Path:
    def string(text):
        text = text.encode() if isinstance(text, str) else text
        return struct.pack("<Q", len(text)) + text

    def value(one):
        if isinstance(one, int):
            return 4, struct.pack("<I", one)
        if isinstance(one, list):
            return 9, struct.pack("<IQ", 8, len(one)) + b"".join(map(string, one))
        return 8, string(one)

    body = b"".join(string(key) + struct.pack("<I", value(one)[0]) + value(one)[1]
                    for key, one in pairs.items())
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + body)
    return path


@pytest.mark.parametrize("path", [path for path in sorted((GOLDEN / "gguf").glob("*.gguf"))
                                  if path.name.startswith(("kv", "meta", "values", "align"))],
                         ids=lambda path: path.stem)
def test_every_scalar_of_a_gguf_is_a_fact(path):
    found = facts(path)
    known = {"general.name": "name", "general.architecture": "architecture"}
    for key, (kind, value) in Gguf(path).values.items():
        if key == "general.file_type" or isinstance(value, float):
            continue
        shown = found.get(known.get(key, "metadata." + key))
        if isinstance(value, bytes):
            assert (shown or "") == value.decode(errors="replace")[:len(shown or "")]
        elif abs(value) < 2**53:
            assert shown == value, key


def test_gguf_of_a_model(tmp_path):
    template = "{% for m in messages %}\n" + "{{ m }}\n" * 100_000
    path = gguf(tmp_path / "m.gguf", {
        "general.architecture": "llama", "general.name": "Tiny", "general.file_type": 15,
        "general.license": "mit", "general.base_model.0.name": "Big", "llama.block_count": 22,
        "llama.context_length": 2048, "llama.attention.head_count": 32,
        "llama.attention.head_count_kv": 4, "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": ["a", "b", "c"], "general.tags": ["x", "y"],
        "tokenizer.chat_template": template})
    found = facts(path)
    assert list(found)[:2] == ["name", "architecture"]
    assert (found["name"], found["architecture"], found["quantisation"]) == \
        ("Tiny", "llama", "Q4_K_M")
    assert (found["license"], found["base_model"], found["tokenizer"]) == ("mit", "Big", "gpt2")
    assert (found["layers"], found["context_length"], found["heads"]) == (22, 2048, 32)
    assert (found["key_value_heads"], found["vocabulary"]) == (4, 3)
    assert found["metadata.general.tags"] == '["x","y"]'
    fact = next(one for one in described(path)["facts"] if one["key"] == "chat_template")
    assert fact["length"] == len(template) and template.startswith(fact["value"])
    assert len(fact["value"]) == 512
    text = run(CTXFS, "info", path).stdout.decode()
    assert re.search(r"^  context_length +2,048 tokens$", text, re.MULTILINE)
    assert f"({len(template):,} bytes)" in text or "…" in text
    assert len(text) < 5000


# Other formats


def test_npz_says_dtype_and_shape_of_its_arrays():
    path = GOLDEN / "npz" / "compressed.npz"
    found = facts(path)
    names = {"float32": "f32", "float64": "f64", "int64": "i64", "int32": "i32", "uint8": "u8",
             "float16": "f16", "int16": "i16", "bool": "bool"}
    with numpy.load(path) as arrays:
        for name in arrays.files:
            array = arrays[name]
            shape = ", ".join(map(str, array.shape))
            assert found[f"array.{name}.npy"] == f"{names[str(array.dtype)]} [{shape}]"


def test_npy_says_dtype_shape_and_order():
    assert facts(GOLDEN / "npy" / "big_endian.npy") == {
        "array.array": "f64 [3, 4]", "order": "fortran", "byte_order": "big"}
    assert facts(GOLDEN / "npy" / "structured.npy") == {"elements": "dtype: a structured type"}


def test_headers_are_read_for_facts_that_are_shown_alone(tmp_path):
    path = tmp_path / "many.npz"
    numpy.savez(path, **{f"a{i}": numpy.zeros(3, "f4") for i in range(500)})
    container = described(path)
    assert len(container["facts"]) == 200
    assert container["facts_left_out"] == 500 + 2 - 200


def test_a_keras_model_says_its_class_and_version(tmp_path):
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("metadata.json", '{"keras_version": "3.5.0", "date_saved": "2024-11-01"}')
        archive.writestr("config.json", json.dumps(
            {"module": "keras", "class_name": "Sequential", "config": {"name": "digits"}}))
        archive.writestr("model.weights.h5", b"\x89HDF\r\n\x1a\n")
    found = facts(path)
    assert found["contents"].startswith("a Keras 3 model")
    assert (found["name"], found["architecture"], found["keras_version"]) == (
        "digits", "Sequential", "3.5.0")


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_nemo_model_says_its_class_and_version(tmp_path, mode):
    """Files of NeMo 1 are tar archives, those before it .tar.gz, with names that start with ./"""
    path = tmp_path / "speech.nemo"
    yaml = (b"sample_rate: 16000\npreprocessor:\n  target: another.Class\n"
            b"target: nemo.collections.asr.models.EncDecCTCModelBPE\nnemo_version: '1.23.0'\n")
    with tarfile.open(path, mode) as archive:
        for name, data in (("./model_config.yaml", yaml), ("./model_weights.ckpt", b"weights")):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    found = facts(path)
    assert found["contents"].startswith("a NeMo model")
    assert found["architecture"] == "nemo.collections.asr.models.EncDecCTCModelBPE"
    assert found["nemo_version"] == "1.23.0"


def test_webdataset_says_its_samples():
    path = GOLDEN / "tar" / "wds.tar"
    with tarfile.open(path) as archive:
        files = [member.name for member in archive if member.isfile()]
    keys, extensions = [], {}
    for name in files:
        folder, _, base = name.rpartition("/")
        stem, _, extension = base.partition(".")
        if not extension or not stem or name.startswith("__"):
            continue
        if not keys or keys[-1] != f"{folder}/{stem}":
            keys.append(f"{folder}/{stem}")
        extensions[extension.lower()] = extensions.get(extension.lower(), 0) + 1
    found = facts(path)
    assert found["samples"] == len(keys)
    assert {key.removeprefix("extension."): value for key, value in found.items()
            if key.startswith("extension.")} == extensions


def test_webdataset_says_its_first_captions(tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for i in range(5):
            for name, text in ((f"{i}.jpg", b"x"), (f"{i}.txt", b"caption %d" % i)):
                member = tarfile.TarInfo(name)
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text))
    found = facts(path)
    captions = {key: value for key, value in found.items() if key.startswith("caption.")}
    assert captions == {f"caption.{i}": f"caption {i}" for i in range(3)}
    assert found["samples"] == 5 and found["extension.jpg"] == 5
    # What the key says already is not said again as the unit.
    assert re.search(r"^ +samples +5$", run(CTXFS, "info", path).stdout.decode(), re.MULTILINE)


def test_one_of_something_has_no_plural(tmp_path):
    header = json.dumps({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
                         "b": {"dtype": "F64", "shape": [2], "data_offsets": [4, 20]}}).encode()
    path = tmp_path / "one.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(20))
    # In text, the table of dtypes has these numbers; on the page they are facts.
    page = tmp_path / "page.html"
    assert run(CTXFS, "report", path, "-o", page).returncode == 0
    text = page.read_text()
    assert '["parameters.f32","1 element"]' in text
    assert '["parameters.f64","2 elements"]' in text


def test_onnx_says_its_interface():
    found = facts(GOLDEN / "onnx" / "constants.onnx")  # as golden/onnx/README.md has it
    assert found["producer"] == "fixtures" and found["opset"] == 21
    assert found["input.x"] == "f32 [N, 4]" and found["output.y"] == "f32"
    assert found["nodes"] == 4 and found["ir_version"] == 10


def test_torch_says_its_globals():
    path = GOLDEN / "torch" / "conj_neg.pt"
    found = facts(path)
    with zipfile.ZipFile(path) as archive:
        pickle = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
        version = next(name for name in archive.namelist() if name.endswith("/version"))
        text = archive.read(pickle)
        assert found["archive_version"] == int(archive.read(version))
    names = {key.removeprefix("global.") for key, value in found.items()
             if key.startswith("global.") and value == "safe"}
    assert names and all(name.rpartition(".")[2].encode() in text for name in names)
    assert found["unsafe_globals"] == 0 and "parameters" in found


def test_torch_says_which_globals_are_unsafe():
    unsafe = {key: value for path in sorted((GOLDEN / "torch").glob("*.pt"))
              for container in json.loads(run(CTXFS, "info", "--json", path).stdout)
              for key, value in ((fact["key"], fact["value"]) for fact in container["facts"])
              if value == "unsafe"}
    assert unsafe and all(key.startswith("global.") for key in unsafe)


def test_an_episode_says_length_rate_and_ranges():
    found = facts(GOLDEN / "wshard" / "sealed_lz4.wshard")
    done = run(CTXFS, "cat", f"{GOLDEN}/wshard/sealed_lz4.wshard//reward")
    reward = numpy.frombuffer(done.stdout, "<f4")
    assert found["length"] == len(reward) and found["rate"] == 30
    low, high = re.fullmatch(r"f32 \[20\], (.*) to (.*)", found["signal.reward"]).groups()
    assert numpy.float32(low) == reward.min() and numpy.float32(high) == reward.max()


def test_a_damaged_sample_leaves_the_other_facts(tmp_path):
    whole = GOLDEN / "shard-profiles" / "legacy_json.smpl"
    listed = json.loads(run(CTXFS, "ls", "--json", whole).stdout)
    bytes_ = bytearray(whole.read_bytes())
    bytes_[listed[0]["offset"]] ^= 0xFF
    damaged = tmp_path / "a.smpl"
    damaged.write_bytes(bytes_)
    assert run(CTXFS, "check", damaged).returncode == 1
    assert "facts_error" not in described(damaged)
    assert facts(damaged) == facts(whole)  # which has no captions


# Every format


def golden_containers() -> list[pathlib.Path]:
    paths = []
    for format_ in formats():
        for folder in format_["golden"]:
            paths += [path for path in sorted((GOLDEN / folder).iterdir())
                      if not path.name.endswith((".json", ".md", ".npy"))]
    return sorted(set(paths))


def test_facts_keep_one_schema_and_their_bounds():
    """Of damaged golden containers, too."""
    done = run(CTXFS, "info", "--json", *golden_containers())
    described_ = json.loads(done.stdout)
    assert len(described_) > 100
    for container in described_:
        assert isinstance(container["facts_left_out"], int)
        assert len(container["facts"]) <= 200
        for fact in container["facts"]:
            assert set(fact) == {"key", "value", "unit", "length"}
            assert fact["key"] and isinstance(fact["value"], (str, int, float, bool))
            assert fact["unit"] is None or isinstance(fact["unit"], str)
            assert len(fact["key"].encode()) <= 4 * 128
            if isinstance(fact["value"], str):
                assert 0 < len(fact["value"].encode()) <= 3 * 512
            if fact["length"] is not None:
                assert fact["length"] > len(fact["value"].encode(errors="surrogatepass")) / 3


def documented() -> dict[str, set[str]]:
    """The table of docs/commands.md, section 5: keys by format."""
    page = (ROOT / "docs" / "commands.md").read_text()
    section = page[page.index("| format | facts |"):].partition("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.MULTILINE)
    return {name: set(re.findall(r"`([^`]+)`", keys)) for name, keys in rows}


def general(key: str) -> str:
    """`array.a` as the table has it: `array.NAME`."""
    head, dot, _ = key.partition(".")
    return f"{head}.NAME" if dot else key


# Formats by what `format` of info.json is, and for shards by the role; others are called
# so themselves.
ROWS = {"npz": "zip", "safetensors-index": "safetensors_index", "WShard": "wshard",
        "Manifest": "wshard_chunks", "ModelShard": "model_shard", "GraphShard": "model_shard",
        "SampleShard": "sampleshard", "GemmShard": "gemm_shard", "TraceShard": "trace_shard",
        "ColumnShard": "columnshard", "VectorIndex": "vector_index"}


def row_of(container: dict) -> str:
    if container["format"] == "shard":
        return ROWS.get(container["role_name"], "shard")
    return ROWS.get(container["format"], container["format"])


def test_the_table_lists_every_fact():
    table = documented()
    assert set(table) == {one["name"] for one in formats()}
    printed = {}
    for container in json.loads(run(CTXFS, "info", "--json", *golden_containers()).stdout):
        printed.setdefault(row_of(container), set()).update(
            general(fact["key"]) for fact in container["facts"])
    assert set(printed) == set(table)  # each has a golden container
    for name, keys in printed.items():
        assert keys <= table[name], (name, keys - table[name])


# Hostile metadata

EVIL = "\x1b[31m\u202egnp.exe\u2066</script><b>\x00\x9b"


def test_hostile_metadata_is_escaped_and_bounded(tmp_path):
    metadata = {EVIL: EVIL, "big": "x" * 4_000_000}
    metadata.update({f"k{i}": "v" for i in range(1000)})
    path = safetensors(tmp_path / "evil.safetensors", {
        "__metadata__": metadata,
        "w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, bytes(4))
    for option in ((), ("--json",), ("--raw",)):
        done = run(CTXFS, "info", *option, path)
        assert done.returncode == 0
        text = done.stdout.decode()
        assert len(text) < 100_000
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    container = described(path)
    assert container["facts_left_out"] == 2 + len(metadata) - 200
    big = next(one for one in container["facts"] if one["key"] == "metadata.big")
    assert big["length"] == 4_000_000 and len(big["value"]) == 512


def test_the_page_shows_the_facts_first(tmp_path):
    path = lora(tmp_path, {"ss_output_name": EVIL, "ss_network_dim": "32"})
    page = tmp_path / "page.html"
    assert run(CTXFS, "report", path, "-o", page).returncode == 0
    text = page.read_text()
    assert "</script><b>" not in text and "\u202e" not in text
    assert '"identity":[["name",' in text and '["lora_rank","32"]' in text
