# SPDX-License-Identifier: Apache-2.0
"""ctxfs info: a directory in lines, one container, its layers, and one tensor.

The expected numbers are worked out by numpy from what the tests write.
"""

import json
import os
import pathlib
import re
import shutil
import struct
import subprocess

import numpy
import pytest

from conftest import BIN, GOLDEN, hub_repository, run
from shard import build, entry

CTXFS = BIN / "ctxfs"
TYPES = {"float32": "F32", "float16": "F16", "int64": "I64", "uint16": "BF16", "bool": "BOOL",
         "complex64": "C64"}
EVIL = "\x1b[31m\u202egnp.exe\u2066</script><b>=1+1\x9b"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def safetensors(path, arrays, metadata=None) -> pathlib.Path:
    """A file of arrays; those of uint16 are bfloat16."""
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, array in arrays.items():
        header[name] = {"dtype": TYPES[array.dtype.name], "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def sharded(folder: pathlib.Path, first: dict, second: dict) -> pathlib.Path:
    """A model in two files, and its index."""
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    for name, arrays in zip(names, (first, second)):
        safetensors(folder / name, arrays)
    weights = {array: names[0] for array in first} | {array: names[1] for array in second}
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": weights}))
    return index


def info(*args, code=0) -> str:
    done = run(CTXFS, "info", *args)
    assert done.returncode == code, done.stderr
    return done.stdout.decode()


def info_json(*args) -> list:
    return json.loads(info("--json", *args))


def lines_of(text: str) -> dict[str, list[str]]:
    """The words before the name in the line of each container."""
    rows = [line.split() for line in text.splitlines() if line.startswith("  ")]
    return {row[-1]: row[:-1] for row in rows[1:]}


def cost(*args, mib=60) -> tuple[str, float]:
    """The output of a command with so much memory, and its seconds of processor time."""
    words = ["prlimit", f"--data={mib << 20}", CTXFS, *map(str, args)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        printed = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return printed, usage.ru_utime + usage.ru_stime


def value(text: str, name: str) -> str:
    found = re.search(rf"^  {re.escape(name)} +(\S.*)$", text, re.MULTILINE)
    assert found, (name, text)
    return found[1]


# A directory


def model() -> tuple[dict, dict]:
    one = numpy.ones((30, 10), "f4")
    return ({f"model.layers.{i}.mlp.up_proj.weight": one for i in range(3)},
            {"lm_head.weight": one * 2})


def test_43_6_a_directory_has_a_line_for_each_container(tmp_path):
    sharded(tmp_path / "m/sub", *model())
    safetensors(tmp_path / "m/half.safetensors", {"a": numpy.ones(5, "f2")})
    shutil.copy(GOLDEN / "wshard/sealed_lz4.wshard", tmp_path / "m")
    (tmp_path / "m/README.md").write_text("notes")
    (tmp_path / "m/broken.safetensors").write_bytes(b"\0" * 100)
    done = run(CTXFS, "info", tmp_path / "m")
    assert done.returncode == 3
    assert len(re.findall("broken", done.stderr.decode())) == 1
    text = done.stdout.decode()
    assert text.splitlines()[0] == f"{tmp_path}/m"
    rows = lines_of(text)
    assert list(rows) == ["half.safetensors", "sealed_lz4.wshard",
                          "sub/model-00001-of-00002.safetensors",
                          "sub/model-00002-of-00002.safetensors",
                          "sub/model.safetensors.index.json"]
    assert rows["half.safetensors"] == ["5", "80", "B", "f16", "safetensors", "complete"]
    assert rows["sealed_lz4.wshard"][0] == "-" and "wshard" not in rows["half.safetensors"]
    whole = rows["sub/model.safetensors.index.json"]
    assert whole[0] == "1,200" and whole[3:5] == ["f32", "safetensors-index"]
    stored = sum(path.stat().st_size for path in (tmp_path / "m/sub").iterdir())
    assert " ".join(whole[1:3]) == f"{stored / 1024:.1f} KiB"
    last = text.splitlines()[-1]
    assert last.startswith("5 containers, 1,205 parameters, "), last
    assert last.endswith(", 1 could not be opened, 1 other file")
    size = sum(path.stat().st_size for path in (tmp_path / "m").rglob("*")
               if path.suffix not in (".md", "") and path.name != "broken.safetensors")
    assert f", {size / 1024:.1f} KiB, " in last
    # One after the other in full.
    full = info("--long", tmp_path / "m", code=3)
    assert full.count("\n  next\n") == 5 and full.splitlines()[-1] == last
    assert info("-l", tmp_path / "m", code=3) == full
    assert full.startswith(f"{tmp_path}/m/half.safetensors\n  format ")


def test_43_6_what_a_path_has_below_it_is_in_lines(tmp_path):
    one = safetensors(tmp_path / "one.safetensors", {"b": numpy.ones(3, "f4")}).read_bytes()
    hub_repository(tmp_path / "hub", {"a.safetensors": one, "b.safetensors": one[:-1]})
    done = run(CTXFS, "info", f"{tmp_path}/hub//acme/base/main")
    assert done.returncode == 4
    text = done.stdout.decode()
    assert list(lines_of(text)) == ["a.safetensors"]
    assert text.splitlines()[0] == f"{tmp_path}/hub//acme/base/main"
    assert text.splitlines()[-1].startswith("1 container, 3 parameters, ")
    # What names a container is described in full.
    assert "\n  next\n" in info(f"{tmp_path}/hub//acme/base/main/a.safetensors")


@pytest.mark.parametrize("index_first", (False, True))
def test_43_5_a_directory_counts_shards_once(index_first, tmp_path):
    folder = tmp_path / "m"
    index = sharded(folder, *model())
    if index_first:
        index.rename(folder / "all.safetensors.index.json")
    shutil.copytree(GOLDEN / "gguf/split", folder / "gguf")
    [first] = (folder / "gguf").glob("*-00001-*")
    alone = info_json(first)[0]["summary"]["elements"]
    assert alone > 0
    done = run(CTXFS, "info", folder)
    assert f"{1200 + alone:,} parameters, " in done.stdout.decode().splitlines()[-1]
    # The page's overview sums what its containers add.
    page = tmp_path / "page.html"
    run(CTXFS, "report", folder, "-o", page)
    data = json.loads(re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page.read_text(),
                                re.DOTALL)[1])
    added = 0
    for one in data["containers"]:
        before = one.get("counted_before", {})
        added += one.get("elements", 0) - before.get("elements", 0)
        assert before.get("entry_count", 0) <= one.get("entry_count", 0)
        assert before.get("decoded_bytes", 0) <= one.get("decoded_bytes", 0)
    assert added == 1200 + alone


def test_43_6_hostile_names_of_a_directory_are_escaped(tmp_path):
    metadata = {"name": EVIL}
    folder = tmp_path / f"m{EVIL.partition('</')[0]}"
    path = safetensors(folder / f"{EVIL.replace('/', '')}.safetensors",
                       {EVIL.replace("/", ""): numpy.ones(3, "f4")}, metadata)
    header = json.dumps({EVIL: {"dtype": EVIL, "shape": [4], "data_offsets": [0, 4]}}).encode()
    (folder / "dtype.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
    for option in ((), ("--long",), ("--layers",), ("--json",), ("--raw",)):
        for source in (folder, path, folder / "dtype.safetensors"):
            assert not CONTROLS.search(info(*option, source)), option
    name = os.fsdecode(run(CTXFS, "ls", "-0", f"{path}//tensors").stdout.split(b"\0")[0])
    for option in ((), ("--json",), ("--raw",)):
        assert not CONTROLS.search(info(*option, f"{path}//tensors/{name}")), option


def test_43_6_ten_thousand_containers_are_bounded(tmp_path):
    folder = tmp_path / "m"
    header = json.dumps({"weight": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
                         "__metadata__": {"note": "x" * 20_000}}).encode()
    data = struct.pack("<Q", len(header)) + header + bytes(4)
    folder.mkdir()
    for i in range(10_000):
        (folder / f"{i:05}.safetensors").write_bytes(data)
    text, seconds = cost("info", folder)
    assert seconds < 20
    assert text.count("\n  ") == 10_001  # and the header, once
    assert text.splitlines()[-1].startswith("10,000 containers, 10,000 parameters, ")
    # Their metadata are 200 MB, of which no more than one is kept.
    text, seconds = cost("info", "--json", folder)
    assert len(json.loads(text)) == 10_000
    assert seconds < 40


# One container


def test_43_6_the_head_says_what_a_container_is(tmp_path):
    folder = tmp_path / "m"
    path = safetensors(folder / "model.safetensors", model()[0],
                       {"modelspec.title": "Tiny", "format": "pt"})
    (folder / "config.json").write_text(json.dumps(
        {"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 3}))
    text = info(path)
    names = [line.split()[0] for line in text.splitlines()[1:8]]
    assert names == ["format", "name", "architecture", "parameters", "dtypes", "size", "verdict"]
    assert value(text, "name") == "Tiny" and value(text, "architecture") == "LlamaForCausalLM"
    assert value(text, "parameters") == "900 in 3 arrays"
    assert value(text, "verdict") == "complete; it has no checksums"
    # The table of dtypes has their counts, and nothing else.
    assert text.count("900") == 2 and "parameters.f32" not in text
    for key in ("parameters", "name", "architecture"):
        assert len(re.findall(rf"^  {key} ", text, re.MULTILINE)) == 1
    [found] = info_json(path)
    summary = found["summary"]
    assert summary["outcome"] == summary["verdict"] == "complete"
    assert (summary["parameters"], summary["arrays"]) == (900, 3)
    assert summary["dtypes"] == [{"dtype": "f32", "arrays": 3, "elements": 900, "size": 3600}]
    assert summary["largest"][0]["shape"] == [30, 10]
    assert "checksums" in value(info(GOLDEN / "wshard/sealed_lz4.wshard"), "verdict")


@pytest.mark.parametrize("case", ("damaged", "cut"))
def test_43_6_a_bad_verdict_is_the_first_line(case, tmp_path):
    index = sharded(tmp_path, *model())
    second = tmp_path / "model-00002-of-00002.safetensors"
    path, args = index, []
    if case == "damaged":
        second.unlink()
        wanted = "damaged: 1 of 4 entries cannot be read"
    else:
        second.write_bytes(second.read_bytes()[:-1])
        path, args = second, ["--salvage"]
        wanted = "cut: needs "
    text = info(*args, path)
    assert text.splitlines()[1].strip().startswith(wanted), text
    assert not re.search(r"^  verdict ", text, re.MULTILINE)
    [found] = info_json(*args, path)
    assert found["summary"]["outcome"] == case
    assert found["summary"]["verdict"].startswith(wanted)


CONFIG = {"peft_type": "LORA", "base_model_name_or_path": "acme/base-7b", "r": 16,
          "lora_alpha": 32, "target_modules": ["q_proj", "v_proj"], "task_type": "CAUSAL_LM"}


def adapter(folder, name="adapter_model.safetensors"):
    lora = "base_model.model.model.layers.0.self_attn.q_proj.lora_"
    return safetensors(folder / name, {f"{lora}A.weight": numpy.ones((8, 4), "f4"),
                                       f"{lora}B.weight": numpy.ones((4, 8), "f4")})


@pytest.mark.parametrize("name", ("adapter_model.safetensors", "my-lora.safetensors"))
def test_43_6_an_adapter_has_its_config(name, tmp_path):
    path = adapter(tmp_path / "a", name)
    (tmp_path / "a/adapter_config.json").write_text(json.dumps(CONFIG))
    text = info(path)
    assert value(text, "adapter") == "LORA" and value(text, "base_model") == "acme/base-7b"
    assert value(text, "lora_rank") == "16" and value(text, "lora_alpha") == "32"
    assert value(text, "target_modules") == "q_proj, v_proj"
    [found] = info_json(path)
    facts = {fact["key"]: fact["value"] for fact in found["facts"]}
    assert facts["lora_rank"] == 16 and facts["task_type"] == "CAUSAL_LM"
    # The tensors say the rank where nothing else does.
    (tmp_path / "a/adapter_config.json").unlink()
    assert value(info(path), "lora_rank") == "8"


def test_43_6_a_hostile_adapter_config_is_bounded(tmp_path):
    path = adapter(tmp_path / "a")
    config = tmp_path / "a/adapter_config.json"
    for text in ("[1]", "{", "null", '{"r": {"a": [1]}, "target_modules": {"a": 1}}',
                 json.dumps({"target_modules": [EVIL] * 100_000, "peft_type": EVIL * 1000}),
                 "[" * 100_000, " " * (5 << 20) + "{}"):
        config.write_text(text)
        shown = info(path)
        assert len(shown) < 8000 and not CONTROLS.search(shown)
    config.unlink()
    config.symlink_to("/etc/passwd")
    assert value(info(path), "lora_rank") == "8"
    # A model that is no adapter has none, whatever is beside it.
    config.unlink()
    config.write_text(json.dumps(CONFIG))
    other = safetensors(tmp_path / "a/model.safetensors", model()[0])
    assert "lora_rank" not in info(other)


def test_43_6_layers_and_modules_have_sizes(tmp_path):
    first, second = model()
    path = safetensors(tmp_path / "m.safetensors", first | second | {
        "model.layers.0.mlp.up_proj.bias": numpy.ones(10, "f2")})
    text = info("--layers", path)
    rows = [line.split() for line in text.splitlines()]
    assert ["1.2", "KiB", "310", "2", "model.layers.0"] in rows
    assert ["1.2", "KiB", "300", "1", "model.layers.1"] in rows
    assert ["3.5", "KiB", "910", "4", "model.layers.*.mlp.up_proj"] in rows
    assert ["1.2", "KiB", "300", "1", "lm_head"] in rows
    assert "model.layers.*" not in info(path)
    [found] = info_json("--layers", path)
    modules = {one["name"]: one for one in found["summary"]["modules"]}
    assert modules["model.layers.*.mlp.up_proj"] == {
        "name": "model.layers.*.mlp.up_proj", "entries": 4, "elements": 910, "size": 3620}
    assert [one["name"] for one in found["summary"]["layers"]] == [
        "model.layers.0", "model.layers.1", "model.layers.2", "lm_head"]
    raw = info("--raw", "--layers", path)
    assert f"{path}\tlayer.model.layers.0\t1220\n" in raw


def test_43_6_layers_are_bounded(tmp_path):
    arrays = {f"{i}.{'x' * 300}.w": numpy.ones(1, "f2") for i in range(20_000)}
    path = safetensors(tmp_path / "m.safetensors", arrays)
    text = info("--layers", path)
    assert text.count("(other)") == 1 and len(text) < 200_000


# One tensor


def test_43_6_a_tensor_has_statistics(tmp_path):
    values = numpy.array([[-1.5, 0, 3], [numpy.nan, -numpy.inf, 0], [0.5, 0.25, 3]], "f4")
    path = safetensors(tmp_path / "m.safetensors", {"x": values})
    text = info(f"{path}//tensors/x")
    finite = values[numpy.isfinite(values)].astype("f8")
    assert text.splitlines()[0] == f"{path}//tensors/x"
    for name, wanted in (("dtype", "f32"), ("shape", "[3,3]"), ("elements", "9"), ("min", "-1.5"),
                         ("max", "3"), ("mean", f"{finite.mean():.6g}"),
                         ("standard deviation", f"{finite.std():.6g}"), ("NaN", "1"),
                         ("infinities", "1"), ("zeros", "2")):
        assert value(text, name) == wanted, name
    assert re.fullmatch(r"-1\.5 \[.{40}\] 3", value(text, "histogram"))
    [found] = info_json(f"{path}//tensors/x")
    assert (found["source"], found["path"]) == (str(path), "tensors/x")
    assert (found["dtype"], found["shape"], found["size"]) == ("f32", [3, 3], 36)
    statistics = found["statistics"]
    assert statistics["mean"] == finite.mean() and statistics["zeros"] == 2
    counts = statistics["histogram"]["counts"]
    assert counts == numpy.histogram(finite, 40)[0].tolist()
    assert f"{path}//tensors/x\tstatistics.min\t-1.5\n" in info("--raw", f"{path}//tensors/x")


def test_43_6_integers_are_exact(tmp_path):
    big = (1 << 53) - 1
    path = safetensors(tmp_path / "m.safetensors", {
        "i": numpy.array([-big, 7, big], "i8"), "b": numpy.array([True, False, True]),
        "c": numpy.ones(2, "c8"), "none": numpy.zeros((0, 3), "f4")})
    text = info(f"{path}//tensors/i")
    assert (value(text, "min"), value(text, "max")) == (str(-big), str(big))
    assert value(info(f"{path}//tensors/b"), "mean") == "0.666667"
    assert value(info(f"{path}//tensors/c"), "statistics").startswith("none: ")
    empty = info(f"{path}//tensors/none")
    assert value(empty, "elements") == "0" and " min " not in empty


def test_43_6_a_quantised_tensor_has_the_statistics_of_its_values():
    path = GOLDEN / "gguf/q8_0.gguf"
    name = run(CTXFS, "ls", f"{path}//tensors").stdout.decode().splitlines()[0]
    stored = run(CTXFS, "cat", f"{path}//tensors/{name}").stdout
    blocks = numpy.frombuffer(stored, numpy.dtype([("d", "<f2"), ("q", "i1", 32)]))
    with numpy.errstate(all="ignore"):
        values = blocks["d"].astype("f4")[:, None] * blocks["q"].astype("f4")
    finite = values[numpy.isfinite(values)]
    text = info(f"{path}//tensors/{name}")
    assert value(text, "dtype") == "q8_0" and value(text, "values") == "as f32"
    assert value(text, "min") == f"{finite.min():.6g}"
    assert value(text, "max") == f"{finite.max():.6g}"


def test_43_6_a_tensor_is_verified(tmp_path):
    data = numpy.arange(3_000_000, dtype="f4").tobytes()
    path = tmp_path / "a.shard"
    path.write_bytes(build([entry("x", data)]))
    text = info(f"{path}//x")
    assert value(text, "checksum").endswith("verified: yes") or "elements" not in text
    episode = GOLDEN / "wshard/sealed_lz4.wshard"
    text = info(f"{episode}//reward")
    assert value(text, "checksum").endswith(", verified: yes") and value(text, "min") == "0"
    damaged = tmp_path / "damaged.wshard"
    listed = json.loads(run(CTXFS, "ls", "-R", "--json", episode).stdout)
    at = next(one["offset"] for one in listed if one["path"] == "reward")
    damaged.write_bytes(episode.read_bytes()[:at] + b"\xff" + episode.read_bytes()[at + 1:])
    done = run(CTXFS, "info", f"{damaged}//reward")
    assert done.returncode == 4 and done.stdout == b"" and b"reward" in done.stderr


def test_43_6_a_large_tensor_takes_little_memory(tmp_path):
    path = tmp_path / "m.safetensors"
    elements = 64 << 20  # 256 MiB
    header = json.dumps({"x": {"dtype": "F32", "shape": [elements],
                               "data_offsets": [0, 4 * elements]}}).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + 4 * elements)
    text, _ = cost("info", f"{path}//tensors/x")
    assert value(text, "zeros") == f"{elements:,}"


def test_43_6_other_files_of_a_container_are_described(tmp_path):
    path = safetensors(tmp_path / "m/m.safetensors", {"x": numpy.ones(2, "f4")}, {"a": "b"})
    text = info(f"{path}//metadata.json")
    assert value(text, "kind") == "file" and value(text, "size") == "10 B"
    (tmp_path / "m/README.md").write_text("notes")
    for target, code in ((f"{tmp_path}/m//README.md", 3), (f"{path}//tensors", 2),
                         (f"{path}//nothing", 2)):
        done = run(CTXFS, "info", target)
        assert done.returncode == code and done.stdout == b"", target
        assert len(done.stderr.splitlines()) == 1


# Damage


@pytest.mark.parametrize("command", ("info", "check", "digest", "report", "diff"))
def test_43_6_damage_is_told_once(command, tmp_path):
    """By the tree that opens it, or by the command that asks."""
    one = safetensors(tmp_path / "one.safetensors", {"b": numpy.ones(3, "f4")}).read_bytes()
    vectors = sorted((GOLDEN / "cvc").glob("*.cvc"))[0].read_bytes()
    hub_repository(tmp_path / "hub", {"cut.safetensors": one[:-1], "cut.cvc": vectors[:60]})
    for path in ("cut.safetensors~dir", "cut.cvc"):
        args = ["-o", tmp_path / "page.html", "--replace"] if command == "report" else []
        source = f"{tmp_path}/hub//acme/base/main/{path}"
        done = run(CTXFS, command, *args, *[source] * (2 if command == "diff" else 1))
        assert done.returncode != 0
        said = (done.stdout + done.stderr).decode()
        assert len(re.findall(r"byte \d+", said.replace("bytes", ""))) == 1, said
