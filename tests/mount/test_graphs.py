# SPDX-License-Identifier: Apache-2.0
"""Cowrie values and Cowrie-GNN graphs in a GraphShard, damaged ones, and odd ones."""

import errno
import json
import os
import shutil
import struct

import pytest

from conftest import GOLDEN, error_of
from shard import build, entry
from test_golden import ANSWERS, Tree

FOLDER = GOLDEN / "shard-profiles" / "synthetic"
VALUES = ("graphshard_gen1.cowrie", "graphshard_gen2.cowrie")
GRAPHS = ("cowrie_gnn_v10.sjgn", "cowrie_gnn_v11.sjgn", "cowrie_gnn_v10.sjgz")


@pytest.mark.parametrize("name", VALUES + GRAPHS)
def test_in_a_graph_shard(mount, tmp_path, name):
    """It shows there what it shows alone."""
    data = (FOLDER / name).read_bytes()
    (tmp_path / "g.gshard").write_bytes(
        build([entry("the/graph", data, content_type=3),
               entry("not/called/one", data if name in VALUES else data[1:]),
               entry("bad", data[:-1] if name in VALUES else b"SJGNot a graph",
                     content_type=3)], role=6))
    mounted = mount(tmp_path / "g.gshard")
    answer = ANSWERS["shard-profiles"]["synthetic/" + name]
    files = {path: facts for path, facts in answer["files"].items() if path != ".ctxfs/container"}
    views = mounted / "views/graphs"
    Tree(os.fsencode(views / "the/graph"), answer | {"files": files}).check()
    assert (mounted / "the/graph").read_bytes() == data
    assert not (views / "not").exists()
    assert os.listdir(views / "bad") == [] and (views / "bad/.ctxfs/info.json").is_file()
    if name in VALUES:
        assert mounted.json("views/json/the/graph.json") == mounted.json(
            "views/graphs/the/graph/value.json")
        assert (mounted / "views/json/bad.json").stat().st_size == 0


@pytest.mark.parametrize("name", GRAPHS)
def test_the_container_has_the_times_of_the_file(mount, name):
    own = mount(FOLDER / name) / ".ctxfs/container"
    assert own.stat().st_mtime == (FOLDER / name).stat().st_mtime


def test_by_content(mount, tmp_path):
    """Generation 2 has a magic. Generation 1 has none: it is a container for those
    who name it, and a file in a directory."""
    for name in VALUES:
        shutil.copy(FOLDER / name, tmp_path / name.replace(".cowrie", ".bin"))
    mounted = mount(tmp_path, "flat")
    assert (mounted / "graphshard_gen2.bin/value.json").is_file()
    gen1 = (mounted / "graphshard_gen1.bin").read_bytes()
    assert gen1 == (FOLDER / "graphshard_gen1.cowrie").read_bytes()


@pytest.mark.parametrize("name", VALUES + GRAPHS)
def test_cut_short(refused, tmp_path, name):
    whole = (FOLDER / name).read_bytes()
    sizes = (len(whole) - 1, len(whole) // 2, 8) if name in VALUES else (len(whole) - 40,)
    for size in sizes:
        (tmp_path / "cut").write_bytes(whole[:size])
        code, text = refused(tmp_path / "cut")
        assert code == 4 and "byte " in text
    if name in VALUES:
        (tmp_path / "cut").write_bytes(whole + b"x")
        code, text = refused(tmp_path / "cut")
        assert code == 4 and f"byte {len(whole)}" in text


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
    assert error_of(open, path, "wb") in (errno.EROFS, errno.EACCES)


@pytest.fixture
def odd(mount, tmp_path):
    """A function that mounts a graph whose bytes a function has changed."""
    def changed(change):
        whole = bytearray((FOLDER / GRAPHS[0]).read_bytes())
        change(whole)
        (tmp_path / "odd").write_bytes(whole)
        return mount(tmp_path / "odd")

    return changed


def test_a_shape_that_does_not_fit_stays_raw(odd):
    def more_rows(whole):
        whole[whole.index(b"\x01\x01x\x00\x01\x03\x05") + 6] = 6

    mounted = odd(more_rows)
    assert not (mounted / "arrays/features:paper:x").exists()
    assert (mounted / ".ctxfs/raw/sections/features:paper:x").is_file()
    [warning] = mounted.warnings()
    assert "features:paper:x" in warning


def test_a_table_that_does_not_read_stays_raw(odd):
    """The sixth edge's end is no number any more, and the nodes no stream."""
    def tables(whole):
        at = whole.rindex(b"\x05\x010", 0, whole.index(b"features:paper:x"))
        whole[at + 2 : at + 3] = b"x"
        nodes = whole.index(b"SJGS")
        whole[nodes : nodes + 4] = b"SJGT"

    mounted = odd(tables)
    assert not (mounted / "arrays/edges:cites").exists() or not os.listdir(
        mounted / "arrays/edges:cites")
    lines = (mounted / "tables/edges:cites.jsonl").read_text().splitlines()
    assert json.loads(lines[5])["to"] == "x"
    assert not (mounted / "tables/nodes:paper.jsonl").exists()
    assert (mounted / ".ctxfs/raw/sections/nodes:paper").read_bytes().startswith(b"SJGT")
    first, second = mounted.warnings()
    assert "not all whole numbers" in first + second
    assert first.startswith("byte ") and second.startswith("byte ")


def test_events_of_more_bytes_than_there_are(odd):
    def more(whole):
        at = whole.index(b"SJGS") + 8 + len("\x05paper")
        assert struct.unpack_from("<I", whole, at) == (40,)
        struct.pack_into("<I", whole, at, 2**32 - 1)

    mounted = odd(more)
    assert not (mounted / "tables/nodes:paper.jsonl").exists()
    assert (mounted / "tables/edges:cites.jsonl").stat().st_size > 0
