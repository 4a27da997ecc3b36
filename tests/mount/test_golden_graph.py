# SPDX-License-Identifier: Apache-2.0
"""The cowrie values of golden/shard-profiles through real mounts: files of both
generations, and those in the Shards of roles 3, 6 and 7. Every key of a JSON is
checked, here or in test_golden_profiles.py; one that neither knows fails there."""

import base64
import errno
import hashlib
import json
import os
import shutil

import numpy
import pytest

from conftest import GOLDEN
from golden_json import exact
from shard import build, entry

FOLDER = GOLDEN / "shard-profiles" / "synthetic"
GENERATIONS = {"graphshard_gen1.cowrie": 1, "graphshard_gen2.cowrie": 2}
DTYPES = {"i32": "<i4", "i64": "<i8", "f32": "<f4", "bool": "?"}


def answer_of(name: str) -> dict:
    return json.loads((FOLDER / (name + ".json")).read_text())


def load(path):
    return json.loads(path.read_text())


def array(path) -> numpy.ndarray:
    dtype = os.getxattr(path, "user.ctxfs.dtype").decode()
    shape = json.loads(os.getxattr(path, "user.ctxfs.shape"))
    return numpy.frombuffer(path.read_bytes(), DTYPES[dtype]).reshape(shape)


def check_arrays(root, expected: dict) -> None:
    """The arrays below root, and no others, raw and as .npy."""
    shown = {str(path.relative_to(root / "arrays"))
             for path in (root / "arrays").rglob("*") if path.is_file()}
    assert shown == set(expected)
    for name, values in expected.items():
        raw = array(root / "arrays" / name)
        assert exact(raw.tolist()) == exact(values), name
        view = numpy.load(root / "views/npy" / (name + ".npy"))
        assert view.dtype == raw.dtype and view.tolist() == values
    index = load(root / ".ctxfs/index.json")
    assert {e["name"] for e in index} == set(expected)
    for e in index:
        assert e["shape"] == list(numpy.shape(expected[e["name"]]))


def check_file(root, name: str, source) -> None:
    answer = answer_of(name)
    assert set(answer) <= {"file", "sha256", "size", "format", "expected", "note"}
    whole = (FOLDER / name).read_bytes()
    assert answer["file"] == name and answer["size"] == len(whole)
    assert hashlib.sha256(whole).hexdigest() == answer["sha256"]
    assert source.read_bytes() == whole
    generation = GENERATIONS[name]
    assert answer["format"].startswith(f"cowrie gen{generation} ")
    expected = answer["expected"]
    value = load(root / "value.json")
    info = load(root / ".ctxfs/info.json")
    assert info["format"] == "cowrie" and info["generation"] == generation
    assert info["warnings"] == []
    if generation == 1:
        assert set(expected) == {"name", "edge_index", "node_features", "node_labels"}
        assert exact(value) == exact(expected)
        check_arrays(root, {k: v for k, v in expected.items() if k != "name"})
        return
    assert set(expected) == {"nodes", "edges", "metadata"}
    assert value.pop("_type") == "graph_shard"
    assert exact(value) == exact(expected)
    edges = [[int(edge[end]) for edge in expected["edges"]] for end in ("from", "to")]
    check_arrays(root, {"edge_index": edges})


@pytest.mark.parametrize("name", GENERATIONS)
def test_alone(mount, name):
    mounted = mount(FOLDER / name)
    check_file(mounted.root, name, mounted / ".ctxfs/container")


@pytest.mark.parametrize("name", GENERATIONS)
def test_in_a_graph_shard(mount, tmp_path, name):
    data = (FOLDER / name).read_bytes()
    (tmp_path / "g.gshard").write_bytes(
        build([entry("the/graph", data, content_type=3),
               entry("not/called/one", data),
               entry("bad", data[:-1], content_type=3)], role=6))
    mounted = mount(tmp_path / "g.gshard")
    check_file(mounted / "views/graphs/the/graph", name, mounted / "the/graph")
    assert load(mounted / "views/json/the/graph.json") == load(
        mounted / "views/graphs/the/graph/value.json")
    assert not (mounted / "views/graphs/not").exists()
    assert os.listdir(mounted / "views/graphs/bad") == []
    assert (mounted / "views/graphs/bad/.ctxfs/info.json").is_file()
    assert (mounted / "views/json/bad.json").stat().st_size == 0


def test_by_content(mount, tmp_path):
    """Generation 2 has a magic. Generation 1 has none: it is a container for those
    who name it, and a file in a directory."""
    for name in GENERATIONS:
        shutil.copy(FOLDER / name, tmp_path / name.replace(".cowrie", ".bin"))
    mounted = mount(tmp_path, "flat")
    assert (mounted / "graphshard_gen2.bin/value.json").is_file()
    gen1 = (mounted / "graphshard_gen1.bin").read_bytes()
    assert gen1 == (FOLDER / "graphshard_gen1.cowrie").read_bytes()


@pytest.mark.parametrize("name", GENERATIONS)
def test_cut_short(refused, tmp_path, name):
    whole = (FOLDER / name).read_bytes()
    for size in (len(whole) - 1, len(whole) // 2, 8):
        (tmp_path / "cut").write_bytes(whole[:size])
        code, text = refused(tmp_path / "cut")
        assert code == 4 and "byte " in text
    (tmp_path / "cut").write_bytes(whole + b"x")
    code, text = refused(tmp_path / "cut")
    assert code == 4 and f"byte {len(whole)}" in text


def test_graph_shard(mount):
    answer = answer_of("guess.gshard")
    expected = answer["expected"]
    assert set(expected) == {"indptr", "indices", "x_sha256", "train_mask", "graph",
                             "csr", "split/train"}
    mounted = mount(FOLDER / "guess.gshard")
    tensors = mounted / "views/tensors"
    assert array(tensors / "csr/indptr").tolist() == expected["indptr"]
    assert array(tensors / "csr/indices").tolist() == expected["indices"]
    x = (tensors / "x").read_bytes()
    assert hashlib.sha256(x).hexdigest() == expected["x_sha256"]
    for name in ("graph", "csr", "split/train"):
        value = exact(expected[name])
        assert exact(load(mounted / "views/json" / (name + ".json"))) == value
        assert exact(load(mounted / "views/graphs" / name / "value.json")) == value
    check_arrays(mounted / "views/graphs/split/train", {"mask": expected["train_mask"]})
    csr = expected["csr"]
    indices = numpy.frombuffer(base64.b64decode(csr["col_indices"]), "<i4")
    check_arrays(mounted / "views/graphs/csr",
                 {"indptr": csr["row_offsets"], "indices": indices.tolist()})
    ends = [[int(edge[end]) for edge in expected["graph"]["edges"]]
            for end in ("from", "to")]
    check_arrays(mounted / "views/graphs/graph", {"edge_index": ends})


def test_trace_shard(mount):
    answer = answer_of("guess.tshard")
    assert set(answer["expected"]) == {"events"}
    mounted = mount(FOLDER / "guess.tshard")
    lines = (mounted / "views/events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    assert exact(events) == exact(answer["expected"]["events"])


def test_gemm_shard(mount):
    expected = answer_of("guess.gemm")["expected"]
    assert set(expected) == {"tiles", "mr", "kc"}
    mounted = mount(FOLDER / "guess.gemm")
    index = {e["name"]: e for e in load(mounted / ".ctxfs/index.json")}
    assert set(index) == {tile["name"] for tile in expected["tiles"]}
    for tile in expected["tiles"]:
        assert set(tile) == {"name", "payload_sha256", "tensorv1", "f32_sha256"}
        raw = (mounted / tile["name"]).read_bytes()
        assert hashlib.sha256(raw).hexdigest() == tile["payload_sha256"]
        tensor = mounted / "views/tensors" / tile["name"]
        assert tensor.is_file() == tile["tensorv1"]
        elements = tensor.read_bytes() if tile["tensorv1"] else raw
        assert hashlib.sha256(elements).hexdigest() == tile["f32_sha256"]
        if tile["tensorv1"]:
            assert index[tile["name"]]["shape"] == [expected["kc"], expected["mr"]]


def test_a_bomb_is_refused_before_it_goes_off(refused, tmp_path):
    """Counts that no bytes stand behind, and rows that take none."""
    huge = b"\xff" * 9 + b"\x01"
    for parts, code in ((b"\x10\x00" + huge, 4), (b"\x40\x00" + huge + b"\x01", 4),
                        (b"\x40\x00" + huge + b"\x00", 8), (b"\x00\x01" + huge, 4)):
        (tmp_path / "bomb").write_bytes(b"\x39" + parts)
        assert refused(tmp_path / "bomb")[0] == code


def test_an_array_that_is_read_again(mount):
    mounted = mount(FOLDER / "graphshard_gen1.cowrie")
    path = mounted / "arrays/edge_index"
    first = path.read_bytes()
    with open(path, "rb") as file:
        file.seek(13)
        assert file.read(29) == first[13:42]
    with pytest.raises(OSError) as failed:
        open(path, "wb")
    assert failed.value.errno in (errno.EROFS, errno.EACCES)
