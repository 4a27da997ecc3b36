# SPDX-License-Identifier: Apache-2.0
"""ctxfs diff of models: of several files, with parts that are missing, and converted ones."""

import json

import numpy
import pytest

from conftest import BIN, run
from models import gguf_split, safetensors, shards

CTXFS = BIN / "ctxfs"


def diff(*args):
    """The exit code and the JSON."""
    done = run(CTXFS, "diff", "--json", *args)
    assert not done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


def kinds(found) -> dict:
    """What happened to which entry."""
    return {(one["first"] or one["second"])["path"]: one["kind"] for one in found["entries"]}


def model(**changes) -> dict:
    arrays = {name: numpy.arange(64, dtype="f4").reshape(2, 32) + i
              for i, name in enumerate(("a", "b", "c", "d", "e"))}
    return arrays | changes


CHANGED = numpy.zeros((2, 32), "f4")


@pytest.mark.parametrize("write, whole", [
    (shards, "model.safetensors.index.json"), (gguf_split, "model-00001-of-00002.gguf")])
def test_43_3_a_model_of_several_files_is_counted_once(tmp_path, write, whole):
    write(tmp_path / "base", model(), 2)
    write(tmp_path / "tuned", model(b=CHANGED, e=CHANGED), 2)
    code, found = diff(tmp_path / "base", tmp_path / "tuned")
    assert code == 1
    assert kinds(found) == {f"{whole}/tensors/b": "changed", f"{whole}/tensors/e": "changed"}
    assert found["totals"]["changed"]["entries"] == 2
    # All else of the parts is still compared: what each says of itself.
    entries = {kind: one["entries"] for kind, one in found["totals"].items()}
    assert entries["same"] == 3 + 3 - (write is gguf_split)


def test_43_3_other_shards_of_the_same_model_are_no_difference_of_its_tensors(tmp_path):
    shards(tmp_path / "base", model(), 2)
    shards(tmp_path / "again", model(d=CHANGED), 3)
    code, found = diff(tmp_path / "base", tmp_path / "again")
    assert code == 1
    tensors = {path: kind for path, kind in kinds(found).items() if "/tensors/" in path}
    assert tensors == {"model.safetensors.index.json/tensors/d": "changed"}


def test_43_3_shards_in_a_folder_of_their_own_are_counted_once(tmp_path):
    for side, arrays in (("base", model()), ("tuned", model(b=CHANGED))):
        (tmp_path / side / "sub").mkdir(parents=True)
        safetensors(tmp_path / side / "sub" / "x.safetensors", arrays)
        (tmp_path / side / "model.safetensors.index.json").write_text(json.dumps(
            {"weight_map": dict.fromkeys(arrays, "sub/x.safetensors")}))
    code, found = diff(tmp_path / "base", tmp_path / "tuned")
    assert (code, kinds(found)) == (1, {"model.safetensors.index.json/tensors/b": "changed"})


def test_43_3_shards_without_their_index_are_compared(tmp_path):
    for side, arrays in (("base", model()), ("tuned", model(b=CHANGED))):
        shards(tmp_path / side, arrays, 2).unlink()
    code, found = diff(tmp_path / "base", tmp_path / "tuned")
    assert code == 1
    assert kinds(found) == {"model-00002-of-00002.safetensors/tensors/b": "changed"}


@pytest.mark.parametrize("write", [shards, gguf_split])
def test_43_1_what_a_side_lacks_is_said(tmp_path, write):
    """Two models with the same part missing are not the same: nothing was compared of it."""
    for side in ("base", "tuned"):
        whole = write(tmp_path / side, model(), 2)
        part = next(one for one in whole.parent.iterdir() if "00002-of" in one.name)
        part.unlink()
    code, found = diff(tmp_path / "base" / whole.name, tmp_path / "tuned" / whole.name)
    assert code == 2
    assert [(one["source"], one["path"]) for one in found["incomplete"]] == [
        (str(tmp_path / side / whole.name), "") for side in ("base", "tuned")]
    assert all(part.name in one["error"] for one in found["incomplete"])
    text = run(CTXFS, "diff", tmp_path / "base" / whole.name, tmp_path / "tuned" / whole.name)
    assert text.returncode == 2
    told = [line for line in text.stdout.decode().splitlines() if "incomplete" in line]
    assert len(told) == 2 and all(part.name in line for line in told)
    # In a directory, the container is named.
    code, found = diff(tmp_path / "base", tmp_path / "tuned")
    assert code == 2
    assert {one["path"] for one in found["incomplete"]} == {whole.name}
    stat = run(CTXFS, "diff", "--stat", tmp_path / "base", tmp_path / "tuned")
    assert stat.returncode == 2 and b"incomplete" in stat.stdout


def test_43_1_a_whole_side_is_not_called_incomplete(tmp_path):
    index = shards(tmp_path / "base", model(), 2)
    code, found = diff(index, index)
    assert (code, found["incomplete"]) == (0, [])


def test_43_1_many_incomplete_containers_are_counted(tmp_path):
    for i in range(30):
        index = shards(tmp_path / f"{i:02}", model(), 2)
        (index.parent / "model-00002-of-00002.safetensors").unlink()
    code, found = diff(tmp_path, tmp_path)
    assert code == 2 and len(found["incomplete"]) == 60
    told = run(CTXFS, "diff", "--stat", tmp_path, tmp_path).stdout.decode().splitlines()
    lines = [line for line in told if "incomplete" in line]
    assert len(lines) <= 21 and "40 more" in lines[-1]


def test_43_1_the_page_of_a_comparison_says_what_a_side_lacks(tmp_path):
    index = shards(tmp_path / "base", model(), 2)
    (index.parent / "model-00002-of-00002.safetensors").unlink()
    page = tmp_path / "page.html"
    done = run(CTXFS, "report", "--diff", "-o", page, index, index)
    assert done.returncode == 2
    assert f"{index.name} is incomplete: " in page.read_text()
