# SPDX-License-Identifier: Apache-2.0
"""ctxfs diff: a model against its quantised copy, a fine-tune, and other sides."""

import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess

import numpy
import pytest

from conftest import BIN, GOLDEN, hub_repository, run, sound_containers, wait_until
from models import safetensors
from shard import build, entry

CTXFS = BIN / "ctxfs"
QUANTISED = GOLDEN / "gguf" / "q8_0.gguf"


def dequantised() -> dict:
    """The tensors of the golden GGUF, from its stored blocks: f16 scale, 32 codes."""
    listed = json.loads(run(CTXFS, "ls", "-R", "--json", f"{QUANTISED}//tensors").stdout)
    arrays = {}
    for one in (one for one in listed if one["kind"] != "directory"):
        stored = run(CTXFS, "cat", f"{QUANTISED}//{one['path']}").stdout
        blocks = numpy.frombuffer(stored, numpy.dtype([("d", "<f2"), ("q", "i1", 32)]))
        with numpy.errstate(all="ignore"):
            values = blocks["d"].astype("f4")[:, None] * blocks["q"].astype("f4")
        arrays[one["name"]] = values.reshape(one["shape"])
    return arrays


def diff(*args):
    """The exit code and the JSON."""
    done = run(CTXFS, "diff", "--json", *args)
    assert not done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


def by_path(found) -> dict:
    return {(one["first"] or one["second"])["path"]: one for one in found["entries"]}


def test_a_model_and_its_quantised_copy(tmp_path):
    arrays = dequantised()
    noise = numpy.random.default_rng(1).normal(0, 0.01, arrays["random"].shape)
    arrays["random"] = arrays["random"] + noise.astype("f4")
    base = safetensors(tmp_path / "base.safetensors", arrays)
    code, found = diff("--values", base, QUANTISED)
    assert code == 1 and found["formats"] == ["safetensors", "gguf"]
    one = by_path(found)["tensors/random"]
    assert (one["first"]["dtype"], one["second"]["dtype"]) == ("f32", "q8_0")
    a = arrays["random"].astype("f8").ravel()
    b = dequantised()["random"].astype("f8").ravel()
    values = one["values"]
    assert values["elements"] == a.size and values["unlike"] == 0
    assert values["different"] == numpy.count_nonzero(a != b)
    assert values["max_absolute"] == numpy.abs(a - b).max()
    assert values["max_relative"] == (numpy.abs(a - b) / numpy.abs(a)).max()
    assert values["mean_absolute"] == pytest.approx(numpy.abs(a - b).mean(), rel=1e-12)
    cosine = a @ b / numpy.sqrt(a @ a) / numpy.sqrt(b @ b)
    assert values["cosine"] == pytest.approx(cosine, rel=1e-12)
    edges = [0, *(float(f"1e{i}") for i in range(-10, 5)), numpy.inf]
    counts = numpy.histogram(numpy.abs(a - b)[a != b], edges)[0]
    assert [bin["count"] for bin in values["histogram"]] == counts.tolist()
    # Another type, and the very values.
    assert by_path(found)["tensors/w"]["values"]["different"] == 0
    text = run(CTXFS, "diff", "--values", base, QUANTISED).stdout.decode()
    assert "format: safetensors -> gguf\n" in text
    assert "~ tensors/random  f32 [2,64] -> q8_0 [2,64]  changed  relative L2 " in text


def test_a_model_and_its_fine_tune(tmp_path):
    arrays = dequantised()
    base = safetensors(tmp_path / "base.safetensors", arrays, {"step": "1", "by": "x"})
    tuned = dict(arrays)
    tuned["w"] = arrays["w"].copy()
    tuned["w"][-1, -1] += 1
    tuned["moved"] = tuned.pop("random")
    del tuned["row"]
    tuned["cube"] = arrays["cube"].astype("f2")
    tuned["lora"] = numpy.zeros((2, 3), "f4")
    other = safetensors(tmp_path / "tuned.safetensors", tuned, {"step": "2", "by": "x"})
    code, found = diff(base, other)
    entries = by_path(found)
    assert code == 1
    assert {path: one["kind"] for path, one in entries.items()} == {
        "tensors/w": "changed", "tensors/cube": "changed", "tensors/random": "renamed",
        "tensors/row": "removed", "tensors/lora": "added", "metadata.json": "changed"}
    assert entries["tensors/w"]["offset"] // 4 == arrays["w"].size - 1
    assert entries["tensors/random"]["second"]["path"] == "tensors/moved"
    assert entries["tensors/cube"]["second"]["dtype"] == "f16"
    assert entries["metadata.json"]["keys"] == ['/step: "1" -> "2"']
    totals = {kind: one["entries"] for kind, one in found["totals"].items()}
    assert totals == {"same": 1, "changed": 3, "renamed": 1, "removed": 1, "added": 1, "failed": 0}
    told = run(CTXFS, "diff", "--stat", base, other)
    assert told.returncode == 1
    lines, kinds = told.stdout.decode().splitlines(), 5
    assert all(" | " in line for line in lines[:-kinds])
    assert [line.split()[:2] for line in lines[-kinds:]] == [
        ["same", "1"], ["changed", "3"], ["renamed", "1"], ["removed", "1"], ["added", "1"]]


def test_one_model_in_several_formats_and_places(tmp_path, mount):
    arrays = {"a": numpy.arange(6, dtype="f4").reshape(2, 3), "b/c": numpy.ones(3, "i4")}
    one = safetensors(tmp_path / "m.safetensors", arrays)
    numpy.savez(tmp_path / "m.npz", **arrays)
    assert run(CTXFS, "diff", one, tmp_path / "m.npz").returncode == 0
    # A mount, its directory of tensors, a tensor, and files that were copied out of it.
    for options in ((), ("flat",)):
        inside = mount(one, *options).root
        for place, path, count in ((inside, "", 2), (inside / "tensors", "//tensors", 2),
                                   (inside / "tensors" / "a", "//tensors/a", 1)):
            done = run(CTXFS, "diff", place, f"{one}{path}")
            assert (done.returncode, done.stdout) == (0, b"%d same\n" % count), done.stderr
    shutil.copytree(inside / "tensors", tmp_path / "copied")
    assert run(CTXFS, "diff", tmp_path / "copied", f"{one}//tensors").returncode == 0
    (tmp_path / "copied" / "a").write_bytes(b"\1" * 24)
    done = run(CTXFS, "diff", tmp_path / "copied", f"{one}//tensors")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, b"1 changed, 1 same")


def test_directories_are_compared_with_the_containers_in_them(tmp_path):
    for name, step in (("x", 1), ("y", 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "notes").write_text("the same")
        safetensors(tmp_path / name / "m.safetensors",
                    {"a": numpy.ones(2, "f4"), "b": numpy.full(2, step, "f4")})
        os.symlink("notes", tmp_path / name / "link")
    code, found = diff(tmp_path / "x", tmp_path / "y")
    assert code == 1
    assert list(by_path(found)) == ["m.safetensors/tensors/b"]
    assert found["totals"]["same"]["entries"] == 3


def test_containers_that_do_not_parse_are_no_empty_ones(tmp_path):
    """Those that stay files are compared by their bytes; of others nothing is told."""
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
        shutil.copy(GOLDEN / "safetensors" / "bad_begin_end.safetensors", tmp_path / side)

    def compared(*below) -> tuple[int, list]:
        done = run(CTXFS, "diff", "--json", *(f"{tmp_path / side}{''.join(below)}" for side in "ab"))
        return done.returncode, [(one["kind"], one["first"]["path"])
                                 for one in json.loads(done.stdout)["entries"]]

    name = "bad_begin_end.safetensors"
    assert compared() == (0, [])
    assert compared("//", name) == (0, [])
    assert compared("//", name, "~dir") == (2, [("failed", "")])
    with open(tmp_path / "b" / name, "ab") as file:
        file.write(b"more")
    assert compared() == (1, [("changed", name)])
    for side in ("a", "b"):
        (tmp_path / side / name).unlink()
        (tmp_path / side / "cut.shard").write_bytes(build([entry("a", b"text")])[:70])
    assert compared() == (2, [("failed", "cut.shard")])


def test_values_that_are_no_numbers(tmp_path):
    odd = numpy.array([numpy.nan, numpy.inf, -numpy.inf, 1, 2], "f4")
    a = safetensors(tmp_path / "a.safetensors", {"x": odd, "y": numpy.ones(2, "f4")})
    changed = odd.copy()
    changed[0], changed[1], changed[3] = 5, -numpy.inf, 3
    # 1.0 as bfloat16.
    b = safetensors(tmp_path / "b.safetensors",
                    {"x": changed, "y": numpy.full(2, 0x3F80, "u2")})
    code, found = diff("--values", a, b)
    assert code == 1
    x, y = (by_path(found)[f"tensors/{name}"]["values"] for name in "xy")
    assert (x["different"], x["unlike"], x["max_absolute"]) == (3, 2, 2)
    assert (y["different"], y["cosine"]) == (0, 1)
    other = safetensors(tmp_path / "c.safetensors", {"x": odd[:4], "y": numpy.ones(2, "f4")})
    assert by_path(diff("--values", a, other)[1])["tensors/x"]["no_values"] == "the shapes differ"


def test_stored_checksums_tell_without_reading(tmp_path):
    """Both entries are damaged, which reading them would find."""
    for name, checksum in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / f"{name}.shard").write_bytes(build([entry("e", b"x", checksum=checksum)]))
    a, b, c = (tmp_path / f"{name}.shard" for name in "abc")
    assert run(CTXFS, "diff", a, b).returncode == 0
    told = run(CTXFS, "diff", a, c)
    assert (told.returncode, told.stdout) == (1, b"~ e  changed  checksum differs\n1 changed\n")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "e").write_bytes(b"x")
    code, found = diff(a, tmp_path / "files")
    assert code == 2 and "checksum mismatch" in by_path(found)["e"]["error"]


def sparse(path, gib):
    """A file of one tensor of zeros, which takes no room."""
    size = gib << 30
    text = json.dumps({"x": {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}})
    path.write_bytes(struct.pack("<Q", len(text)) + text.encode())
    os.truncate(path, 8 + len(text) + size)
    return path


def test_memory_is_that_of_windows(tmp_path):
    a, b = sparse(tmp_path / "a.safetensors", 1), sparse(tmp_path / "b.safetensors", 1)
    done = run("prlimit", f"--data={64 << 20}", CTXFS, "diff", a, b)
    assert done.returncode == 0, done.stderr


def test_an_interrupt_ends_it(tmp_path):
    a, b = sparse(tmp_path / "a.safetensors", 64), sparse(tmp_path / "b.safetensors", 64)
    process = subprocess.Popen([CTXFS, "diff", "-j1", a, b])

    def ticks():  # of the processor: opening takes a few
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    assert wait_until(lambda: ticks() > 30, seconds=60)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == -signal.SIGINT


def test_what_cannot_be_opened(tmp_path):
    missing = run(CTXFS, "diff", QUANTISED, tmp_path / "missing")
    assert missing.returncode == 2 and b"missing'" in missing.stderr
    assert run(CTXFS, "diff", QUANTISED).returncode == 2
    path = run(CTXFS, "diff", QUANTISED, f"{QUANTISED}//tensors/none")
    assert path.returncode == 2 and b"no such file" in path.stderr


def test_a_container_is_the_same_as_itself():
    """Some of each format."""
    some = sound_containers()[::12]
    assert len(some) > 20
    for path in some:
        done = run(CTXFS, "diff", "--values", path, path)
        *others, last = done.stdout.splitlines()
        # A member that is not shown, such as a link that leads out, is no difference.
        assert all(b"  incomplete  " in line for line in others), (path, done.stdout)
        assert done.returncode == (2 if others else 0), (path, done.stdout, done.stderr)
        assert last.endswith(b" same"), (path, done.stdout)


def sharded(folder, arrays):
    """A model of a file for each array; returns its index."""
    folder.mkdir(parents=True)
    weights = {}
    for i, (name, array) in enumerate(arrays.items(), 1):
        weights[name] = f"model-{i:05}-of-{len(arrays):05}.safetensors"
        safetensors(folder / weights[name], {name: array})
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": weights}))
    return index


def test_43_2_a_path_that_names_a_container_is_that_container(tmp_path):
    arrays = {"a": numpy.arange(4, dtype="f4"), "b": numpy.ones(3, "f4")}
    base = sharded(tmp_path / "base", arrays)
    tuned = sharded(tmp_path / "tuned", {**arrays, "b": numpy.zeros(3, "f4")})
    assert base.read_bytes() == tuned.read_bytes(), "the indexes do not differ"
    wanted = diff(base, tuned)
    assert wanted[0] == 1 and wanted[1]["totals"]["changed"]["entries"] == 1
    code, found = diff(f"{tmp_path}//base/{base.name}", f"{tmp_path}//tuned/{tuned.name}")
    assert code == 1
    for key in ("formats", "totals", "entries"):
        assert found[key] == wanted[1][key]


def info(*args):
    done = run(CTXFS, "info", "--json", *args)
    return done.returncode, json.loads(done.stdout), done.stderr.decode()


def test_43_2_info_takes_what_ls_takes(tmp_path):
    data = tmp_path / "data"
    sharded(data / "sub", {"a": numpy.arange(4, dtype="f4")})
    one = safetensors(data / "one.safetensors", {"b": numpy.ones(3, "f4")})
    code, found, _ = info(f"{data}//one.safetensors~dir")
    assert (code, [each["format"] for each in found]) == (0, ["safetensors"])
    snapshot = hub_repository(tmp_path / "hub", {"model.safetensors": one.read_bytes()})
    listed = run(CTXFS, "ls", f"{tmp_path}/hub//acme/base/main").stdout
    assert listed == b"model.safetensors\n"
    code, found, _ = info(f"{tmp_path}/hub//acme/base/main")
    assert (code, [each["format"] for each in found]) == (0, ["safetensors"])
    assert found[0]["source"] == f"{tmp_path}/hub//acme/base/main/model.safetensors"
    # One that does not parse, and a link, beside files that are no containers.
    (snapshot / "../../blobs/cut").write_bytes(one.read_bytes()[:-1])
    (snapshot / "cut.safetensors").symlink_to("../../blobs/cut")
    (snapshot / "README.md").write_text("notes")
    (snapshot / "same.safetensors").symlink_to("model.safetensors")
    code, found, said = info(f"{tmp_path}/hub//acme/base/main")
    assert [pathlib.Path(each["source"]).name for each in found] == [
        "model.safetensors", "same.safetensors"]
    alone, _, said_alone = info(snapshot / "cut.safetensors")
    assert code == alone == 4
    # The tree has said so, too, when it opened it.
    said = said.splitlines()[-1]
    assert said.startswith(f"ctxfs: '{tmp_path}/hub//acme/base/main/cut.safetensors'")
    assert said.split("': ")[1] == said_alone.rstrip().split("': ")[1]
    # None is left out without a word where descriptors are too few for all.
    for i in range(40):
        shutil.copy(one, snapshot / f"{i}.safetensors")
    few = run("prlimit", "--nofile=24", CTXFS, "info", "--json", f"{tmp_path}/hub//acme/base/main")
    told = {each["source"] for each in json.loads(few.stdout)}
    told.update(line.split("'")[1] for line in few.stderr.decode().splitlines())
    assert few.returncode != 0
    assert {f"{tmp_path}/hub//acme/base/main/{i}.safetensors" for i in range(40)} <= told
    # A directory with no container, and no such path.
    (data / "plain").mkdir()
    (data / "plain" / "notes.txt").write_text("notes")
    code, found, said = info(f"{data}//one.safetensors~dir/tensors")
    assert code != 0 and not found and "there is no container in it" in said
    code, found, said = info(f"{data}//missing")
    assert code != 0 and not found and "no such file or directory" in said


def test_43_3_models_without_a_name_in_common_are_not_compared(tmp_path):
    one = numpy.ones((2, 2), "f4")
    ours = safetensors(tmp_path / "hub.safetensors", {
        "model.layers.0.self_attn.q_proj.weight": one, "lm_head.weight": one * 2})
    theirs = safetensors(tmp_path / "llama.safetensors", {"blk.0.attn_q.weight": one * 3})
    done = run(CTXFS, "diff", ours, theirs)
    assert done.returncode == 2
    assert b"no names in common: 2 and 1 tensors" in done.stderr
    # Arrays with other names and equal bytes are renamed ones.
    renamed = safetensors(tmp_path / "same.safetensors", {"blk.0.attn_q.weight": one})
    code, found = diff(ours, renamed)
    assert code == 1 and found["totals"]["renamed"]["entries"] == 1
    # A model without tensors has no names that could differ.
    empty = safetensors(tmp_path / "empty.safetensors", {})
    assert diff(ours, empty)[0] == 1


def test_43_3_directories_are_compared_whatever_names_their_models_have(tmp_path):
    for side, name in (("one", "lm_head.weight"), ("two", "output.weight")):
        (tmp_path / side).mkdir()
        safetensors(tmp_path / side / "model.safetensors", {name: numpy.ones(2, "f4") * len(name)})
        (tmp_path / side / "notes.txt").write_text(side)
    code, found = diff(tmp_path / "one", tmp_path / "two")
    assert code == 1
    assert {kind: count["entries"] for kind, count in found["totals"].items()
            if kind in ("removed", "added", "changed")} == {"removed": 1, "added": 1, "changed": 1}
