# SPDX-License-Identifier: Apache-2.0
"""The Cowrie-GNN graphs of golden/shard-profiles, alone and in a GraphShard."""

import json
import os

import numpy
import pytest

from conftest import GOLDEN
from shard import build, entry

FOLDER = GOLDEN / "shard-profiles" / "synthetic"
NAMES = ("cowrie_gnn_v10.sjgn", "cowrie_gnn_v11.sjgn", "cowrie_gnn_v10.sjgz")


def check(root, name: str) -> None:
    name = name.replace("sjgz", "sjgn")
    expected = json.loads((FOLDER / (name + ".json")).read_text())["expected"]
    for section in expected["sections"]:
        path = root / "sections" / section["name"]
        assert os.stat(path).st_size == section["body_len"]

    def array(path: str):
        file = root / "arrays" / path
        dtype = os.getxattr(file, "user.ctxfs.dtype").decode()
        shape = json.loads(os.getxattr(file, "user.ctxfs.shape"))
        kind = {"f32": "<f4", "i64": "<i8", "bool": "?"}[dtype]
        return numpy.frombuffer(file.read_bytes(), kind).reshape(shape)

    numpy.testing.assert_array_equal(
        array("features:paper:x"), numpy.arange(15).reshape(5, 3) / 2)
    assert list(expected["x_shape"]) == [5, 3]
    assert array("labels:paper:y").ravel().tolist() == expected["y"]
    for part in ("train", "val", "test"):
        assert array(f"split:paper/{part}").tolist() == expected[part]
        mask = array(f"split:mask/{part}")
        assert numpy.flatnonzero(mask).tolist() == expected[part]
        assert len(mask) == expected["num_nodes"]
    assert array("csr:cites/indptr").tolist() == expected["csr_indptr"]
    assert array("csr:cites/indices").tolist() == expected["csr_indices"]
    if "v10" in name:
        meta = json.loads((root / "meta.json").read_text())
        assert meta["dataset_name"] == "toy-cora"
    else:
        assert not (root / "meta.json").exists()


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
    check(mounted / "graphs/the/graph", name)
    assert os.listdir(mounted / "graphs/other") == [".ctxfs"]


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
    assert (mounted / "sections/features:paper:x").is_file()
    warnings = json.loads((mounted / ".ctxfs/info.json").read_text())["warnings"]
    assert len(warnings) == 1 and "features:paper:x" in warnings[0]
