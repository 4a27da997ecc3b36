# SPDX-License-Identifier: Apache-2.0
"""The Cowrie-GNN graphs of golden/shard-profiles, alone and in a GraphShard."""

import hashlib
import json
import os
import struct

import numpy
import pytest

from conftest import GOLDEN
from shard import build, entry

FOLDER = GOLDEN / "shard-profiles" / "synthetic"
NAMES = ("cowrie_gnn_v10.sjgn", "cowrie_gnn_v11.sjgn", "cowrie_gnn_v10.sjgz")
KEYS = {"file", "sha256", "size", "format", "first_bytes", "expected",
        "decoded_size", "decodes_to", "decoded_sha256"}
EXPECTED_KEYS = {"csr_indices", "csr_indptr", "dst", "flags", "num_nodes", "sections",
                 "src", "test", "train", "val", "x", "x_shape", "y"}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def lines(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def plain_answer(root, name: str) -> dict:
    """The answer of a graph, for a packed one that of what it decodes to. Every key
    is checked: one that is not known here fails."""
    answer = json.loads((FOLDER / (name + ".json")).read_text())
    assert set(answer) <= KEYS
    whole = (FOLDER / name).read_bytes()
    assert answer["file"] == name
    assert len(whole) == answer["size"] and sha256(whole) == answer["sha256"]
    if "decodes_to" not in answer:
        assert whole[:8].hex() == answer["first_bytes"]
        return answer
    assert answer["format"].startswith("SJGZ: ")
    plain = (FOLDER / answer["decodes_to"]).read_bytes()
    assert len(plain) == answer["decoded_size"]
    assert sha256(plain) == answer["decoded_sha256"]
    for section in json.loads((root / ".ctxfs/index.json").read_text()):
        start = section["offset"]
        assert ((root / section["path"]).read_bytes()
                == plain[start : start + section["size"]])
    return plain_answer(root, answer["decodes_to"])


def check_sections(root, expected: list) -> None:
    index = json.loads((root / ".ctxfs/index.json").read_text())
    shown = [{"body_len": e["size"], "encoding": e["encoding"], "kind": e["kind"],
              "name": e["name"]} for e in index]
    assert shown[0]["kind"] == "meta"
    assert shown[1:] == expected
    for section in expected:
        path = root / ".ctxfs/raw/sections" / section["name"]
        assert os.stat(path).st_size == section["body_len"]
        assert len(path.read_bytes()) == section["body_len"]


def array(root, path: str) -> numpy.ndarray:
    file = root / "arrays" / path
    dtype = os.getxattr(file, "user.ctxfs.dtype").decode()
    shape = json.loads(os.getxattr(file, "user.ctxfs.shape"))
    kind = {"f32": "<f4", "i64": "<i8", "bool": "?"}[dtype]
    return numpy.frombuffer(file.read_bytes(), kind).reshape(shape)


def check_arrays(root, expected: dict) -> None:
    assert expected["x"] == "i/2 row-major, i=0..14" and expected["x_shape"] == [5, 3]
    numpy.testing.assert_array_equal(
        array(root, "features:paper:x"), numpy.arange(15).reshape(5, 3) / 2)
    assert array(root, "labels:paper:y").ravel().tolist() == expected["y"]
    for part in ("train", "val", "test"):
        assert array(root, f"split:paper/{part}").tolist() == expected[part]
        mask = array(root, f"split:mask/{part}")
        assert numpy.flatnonzero(mask).tolist() == expected[part]
        assert len(mask) == expected["num_nodes"]
    assert array(root, "csr:cites/indptr").tolist() == expected["csr_indptr"]
    assert array(root, "csr:cites/indices").tolist() == expected["csr_indices"]
    assert array(root, "edges:cites/src").tolist() == expected["src"]
    assert array(root, "edges:cites/dst").tolist() == expected["dst"]
    assert array(root, "nodes:paper/id").tolist() == list(range(expected["num_nodes"]))
    for path in (root / "arrays").rglob("*"):
        if path.is_file():
            view = root / "views/npy" / (str(path.relative_to(root / "arrays")) + ".npy")
            assert numpy.load(view).tobytes() == path.read_bytes()


def check_tables(root, expected: dict) -> None:
    edges = lines(root / "tables/edges:cites.jsonl")
    assert edges == [
        {"kind": "edge", "op": "upsert", "from": str(a), "to": str(b), "type": "cites",
         "props": {}} for a, b in zip(expected["src"], expected["dst"])]
    nodes = lines(root / "tables/nodes:paper.jsonl")
    assert nodes == [
        {"kind": "node", "op": "upsert", "id": str(i), "labels": ["paper"],
         "props": {"year": 2000 + i}} for i in range(expected["num_nodes"])]


def check(root, name: str) -> None:
    answer = plain_answer(root, name)
    expected = answer["expected"]
    assert set(expected) == EXPECTED_KEYS
    info = json.loads((root / ".ctxfs/info.json").read_text())
    assert "SJGN " + info["version"] == answer["format"]
    assert info["flags"] == expected["flags"]
    assert info["warnings"] == []
    check_sections(root, expected["sections"])
    check_arrays(root, expected)
    check_tables(root, expected)
    meta = json.loads((root / "meta.json").read_text())
    assert meta["dataset_name"] == "toy-cora" and meta["directed"] is True
    assert meta["id_spaces"] == {"paper": {"start": 0, "count": 5}}
    stored = (root / ".ctxfs/raw/sections/meta").read_bytes()
    assert stored.startswith(b"{" if info["version"] == "1.0" else b"SJ\x02")


@pytest.mark.parametrize("name", NAMES)
def test_alone(mount, name):
    mounted = mount(FOLDER / name)
    check(mounted.root, name)
    own = mounted / ".ctxfs/container"
    assert own.read_bytes() == (FOLDER / name).read_bytes()
    assert own.stat().st_mtime == (FOLDER / name).stat().st_mtime


@pytest.mark.parametrize("name", NAMES)
def test_in_a_graph_shard(mount, tmp_path, name):
    (tmp_path / "g.gshard").write_bytes(
        build([entry("the/graph", (FOLDER / name).read_bytes(), content_type=3),
               entry("other", b"SJGNot a graph", content_type=3)], role=6))
    mounted = mount(tmp_path / "g.gshard")
    check(mounted / "views/graphs/the/graph", name)
    other = mounted / "views/graphs/other"
    assert os.listdir(other) == [] and (other / ".ctxfs/info.json").is_file()


@pytest.mark.parametrize("name", NAMES)
def test_cut_short(mount, refused, tmp_path, name):
    whole = (FOLDER / name).read_bytes()
    (tmp_path / "cut").write_bytes(whole[:-40])
    code, text = refused(tmp_path / "cut")
    assert code == 4 and "byte " in text


def test_a_shape_that_does_not_fit_stays_raw(mount, tmp_path):
    whole = bytearray((FOLDER / NAMES[0]).read_bytes())
    at = whole.index(b"\x01\x01x\x00\x01\x03\x05")
    whole[at + 6] = 6  # rows
    (tmp_path / "odd").write_bytes(whole)
    mounted = mount(tmp_path / "odd")
    assert not (mounted / "arrays/features:paper:x").exists()
    assert (mounted / ".ctxfs/raw/sections/features:paper:x").is_file()
    warnings = json.loads((mounted / ".ctxfs/info.json").read_text())["warnings"]
    assert len(warnings) == 1 and "features:paper:x" in warnings[0]


def test_a_table_that_does_not_read_stays_raw(mount, tmp_path):
    """The sixth edge's end is no number any more, and the nodes no stream."""
    whole = bytearray((FOLDER / NAMES[0]).read_bytes())
    at = whole.rindex(b"\x05\x010", 0, whole.index(b"features:paper:x"))
    whole[at + 2 : at + 3] = b"x"
    nodes = whole.index(b"SJGS")
    whole[nodes : nodes + 4] = b"SJGT"
    (tmp_path / "odd").write_bytes(whole)
    mounted = mount(tmp_path / "odd")
    assert not (mounted / "arrays/edges:cites").exists() or not os.listdir(
        mounted / "arrays/edges:cites")
    assert lines(mounted / "tables/edges:cites.jsonl")[5]["to"] == "x"
    assert not (mounted / "tables/nodes:paper.jsonl").exists()
    assert (mounted / ".ctxfs/raw/sections/nodes:paper").read_bytes().startswith(b"SJGT")
    warnings = json.loads((mounted / ".ctxfs/info.json").read_text())["warnings"]
    assert len(warnings) == 2
    assert "not all whole numbers" in warnings[0] + warnings[1]
    assert all(w.startswith("byte ") for w in warnings)


def test_events_of_more_bytes_than_there_are(mount, tmp_path):
    whole = bytearray((FOLDER / NAMES[0]).read_bytes())
    at = whole.index(b"SJGS") + 8 + len("\x05paper")
    assert struct.unpack_from("<I", whole, at) == (40,)
    struct.pack_into("<I", whole, at, 2**32 - 1)
    (tmp_path / "odd").write_bytes(whole)
    mounted = mount(tmp_path / "odd")
    assert not (mounted / "tables/nodes:paper.jsonl").exists()
    assert (mounted / "tables/edges:cites.jsonl").stat().st_size > 0
