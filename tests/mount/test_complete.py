# SPDX-License-Identifier: Apache-2.0
"""A file that joins all arrays of a container is there only if it has all of them, and
something in its place says what is missing (docs/views.md, section 3)."""

import json
import os
import shutil

import pytest

from conftest import BIN, GOLDEN, run

CTXFS = BIN / "ctxfs"
SHARDED = GOLDEN / "safetensors" / "sharded"

# The container, the file that is not there, and what its note names.
INCOMPLETE = {
    "shard missing": ("safetensors/sharded_missing/model.safetensors.index.json",
                      "model.safetensors", "model-00002-of-00002.safetensors"),
    "tensor missing": ("safetensors/sharded_lies/model.safetensors.index.json",
                       "model.safetensors", "model.norm.weight"),
    "part missing": ("gguf/split_missing/tiny-00001-of-00003.gguf",
                     "model.safetensors", "tiny-00002-of-00003.gguf"),
    "part cut": ("gguf/split_cut/tiny-00001-of-00003.gguf", "model.safetensors", "tiny-0000"),
    "storages missing": ("torch/records.pt", "model.safetensors", "'missing'"),
    "pieces missing": ("torch-distributed/missing/.metadata", "model.safetensors", ".distcp"),
    "external data missing": ("onnx/external_traversal.onnx", "model.safetensors", "external"),
    "chunk missing": ("wshard/chunked_bad/missing_file_manifest.wshard",
                      "episode.safetensors", "missing file"),
    "header damaged": ("shard-profiles/bad_tensors.mosh", "model.safetensors", "dtype_00"),
    "no key": ("conventions/encrypted.mosh", "model.safetensors", "there is no key"),
    "scale lost": ("mcf/embed_int4.mcf", "model.safetensors", "have no values"),
}


@pytest.fixture(name="model")
def _model(tmp_path):
    """A model of two files, with config.json."""
    return shutil.copytree(SHARDED, tmp_path / "model")


@pytest.mark.parametrize("case", INCOMPLETE)
def test_43_1_a_file_of_all_arrays_is_not_there_if_some_are_missing(mount, case):
    source, name, named = INCOMPLETE[case]
    mounted = mount(GOLDEN / source, "flat")
    views = mounted.point / "views"
    assert not (views / name).exists()
    note = (views / f"{name}.incomplete.txt").read_text()
    assert note.startswith(f"There is no {name}, because it would not be complete: ")
    assert named in note
    info = json.loads((mounted.point / ".ctxfs/info.json").read_text())
    assert info["incomplete"].startswith(f"there is no views/{name}: ")
    assert named in info["incomplete"]
    faults = json.loads((mounted.point / ".ctxfs/faults.json").read_text())
    told = [one for one in faults if f"there is no views/{name}: " in one["reason"]]
    # That a type has no values is no fault of the container, nor is a missing key.
    assert len(told) == (case not in ("scale lost", "no key"))
    printed = run(CTXFS, "info", GOLDEN / source).stdout.decode()
    assert f"warning: there is no views/{name}: " in printed


def test_43_1_a_model_with_a_file_that_was_cut_off_is_none_for_loaders(mount, model):
    shard = model / "model-00002-of-00002.safetensors"
    shard.write_bytes(shard.read_bytes()[:-1])
    views = mount(model / "model.safetensors.index.json", "flat").point / "views"
    assert {"hf.incomplete.txt", "model.safetensors.incomplete.txt"} <= set(os.listdir(views))
    assert not (views / "hf").exists() and not (views / "model.safetensors").exists()
    for name in ("hf", "model.safetensors"):
        assert shard.name in (views / f"{name}.incomplete.txt").read_text()
    # What is there is there one by one.
    assert (views / "npy" / "model.embed_tokens.weight.npy").exists()


def test_43_1_a_complete_model_has_no_note(mount, model):
    mounted = mount(model / "model.safetensors.index.json", "flat")
    names = os.listdir(mounted.point / "views")
    assert "model.safetensors" in names and "hf" in names
    assert not [name for name in names if name.endswith(".txt")]
    assert "incomplete" not in json.loads((mounted.point / ".ctxfs/info.json").read_text())


# ---- Commands

@pytest.mark.parametrize("case", INCOMPLETE)
def test_43_1_check_says_that_a_view_is_incomplete(case):
    source, name, named = INCOMPLETE[case]
    done = run(CTXFS, "check", GOLDEN / source)
    [line] = [one for one in done.stdout.decode().splitlines() if ": incomplete: " in one]
    assert line.startswith(f"{GOLDEN / source}: incomplete: there is no views/{name}")
    # Faults, if there are any, say why.
    assert named in done.stdout.decode()
    assert line.endswith(f"views/{name}") == (done.returncode != 0)
    [report] = json.loads(run(CTXFS, "check", "--json", GOLDEN / source).stdout)
    assert report["incomplete"].startswith(f"there is no views/{name}: ")
    assert named in report["incomplete"]


def test_43_1_check_counts_what_is_incomplete(tmp_path, model):
    (model / "model-00002-of-00002.safetensors").unlink()
    shutil.copy(GOLDEN / "gguf/plain.gguf", model)
    last = run(CTXFS, "check", model).stdout.splitlines()[-1]
    assert b", 1 incomplete, " in last
    [whole] = json.loads(run(CTXFS, "check", "--json", GOLDEN / "gguf/plain.gguf").stdout)
    assert whole["incomplete"] is None


@pytest.mark.parametrize("case", INCOMPLETE)
def test_43_1_extract_of_views_says_what_is_incomplete(case, tmp_path):
    source, name, named = INCOMPLETE[case]
    done = run(CTXFS, "extract", f"{GOLDEN / source}//views", tmp_path / "out")
    assert done.returncode != 0
    assert (tmp_path / "out" / f"{name}.incomplete.txt").exists()
    told = [one for one in done.stderr.decode().splitlines() if ": incomplete: " in one]
    assert len(told) == 1 and named in told[0]
    assert b", 1 incomplete\n" in done.stdout
    counts = json.loads(run(CTXFS, "extract", "--json", f"{GOLDEN / source}//views",
                            tmp_path / "again").stdout)
    assert counts["incomplete"] == 1
    assert [one for one in counts["failures"] if "incomplete: " in one["reason"]]


@pytest.mark.parametrize("case", INCOMPLETE)
def test_43_1_extract_of_entries_fails_if_some_are_missing(case, tmp_path):
    """An entry that cannot be read is a failure; of others, nothing else would tell."""
    done = run(CTXFS, "extract", GOLDEN / INCOMPLETE[case][0], tmp_path / "out")
    whole = case == "scale lost"
    assert (done.returncode == 0) == whole, done.stdout
    assert (b" 0 failed\n" in done.stdout) == whole


def test_43_1_extract_says_of_each_container_in_a_directory_what_is_incomplete(tmp_path):
    (tmp_path / "in").mkdir()
    for name in ("missing_file_manifest.wshard",):
        shutil.copy(GOLDEN / "wshard" / "chunked_bad" / name, tmp_path / "in")
    shutil.copy(GOLDEN / "wshard" / "sealed_lz4.wshard", tmp_path / "in")
    done = run(CTXFS, "extract", tmp_path / "in", tmp_path / "out")
    assert done.returncode != 0 and done.stdout.endswith(b", 1 incomplete\n")
    assert b"'missing_file_manifest.wshard': incomplete: " in done.stderr
    whole = run(CTXFS, "extract", "-a", tmp_path / "in/sealed_lz4.wshard", tmp_path / "whole")
    assert whole.returncode == 0 and whole.stdout.endswith(b" 0 failed\n")


def test_43_1_a_table_that_lacks_a_column_says_so_in_its_place(mount, tmp_path):
    """With salvage; without it such a container is refused."""
    data = bytearray((GOLDEN / "shard-profiles" / "all_encodings.cshard").read_bytes())
    record = 64 + 48  # of the second entry, a column of a row group
    data[record + 16:record + 24] = (1 << 40).to_bytes(8, "little")  # its offset
    (tmp_path / "table.cshard").write_bytes(data)
    made = mount(tmp_path / "table.cshard", "salvage")
    views = os.listdir(made / "views")
    assert "table.csv" not in views and "table.csv.incomplete.txt" in views
    faults = json.loads((made / ".ctxfs" / "faults.json").read_text())
    [said] = [one for one in faults if "there is no views/table.csv" in one["reason"]]
    assert (said["path"], said["offset"]) == ("", 128) and "i64_plain" in said["reason"]
