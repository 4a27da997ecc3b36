# SPDX-License-Identifier: Apache-2.0
"""Trees of golden/megacontext in a mirror, and odd trees."""

import errno
import json
import os
import shutil
import struct

from conftest import GOLDEN, error_of, status_kib

TREES = GOLDEN / "megacontext"
ANSWERS = sorted(TREES.glob("*.json"))
assert ANSWERS, "no golden trees"


def load(path):
    return json.loads(path.read_text())


def test_a_mirror_recognises_trees(mount):
    mounted = mount(TREES)
    for answer_file in ANSWERS:
        tree = mounted.point / answer_file.stem / "tree.json"
        assert tree.exists() == (load(answer_file)["open"] != "error"), tree


def header(level: int, count: int, dtype=0, dim=16, block=32, name=b"m") -> bytes:
    return struct.pack("<IHHHHHQ32s10x", 0x4D434354, 1, level, block, dim, dtype,
                       count, name)


def test_a_single_level(mount):
    file = TREES / "seed_offsets" / "LOD1.ctx"
    mounted = mount(file)
    data = file.read_bytes()
    offsets = load(TREES / "seed_offsets.json")["offsets"]
    assert offsets == {"LOD0.ctx block 10 token 5": 64 + 4 * (10 * 32 + 5),
                       "LOD1.ctx gist 42": 172096}
    gist = (mounted / "views" / "gists" / "LOD1" / "000042").read_bytes()
    assert gist == data[172096 : 172096 + 4096]
    assert (mounted / "LOD1" / "gists").read_bytes() == data[64:]
    assert (mounted / ".ctxfs" / "container").read_bytes() == data
    assert load(mounted / "tree.json")["levels"].keys() == {"LOD1.ctx"}


def test_a_hundred_million_tokens(mount, tmp_path):
    """3.1 million names of blocks that cost nothing, and list as a stream."""
    tree = tmp_path / "large"
    tree.mkdir()
    tokens = 100_000_000
    with open(tree / "LOD0.ctx", "wb") as file:
        file.write(header(0, tokens))
        file.seek(64 + 4 * (tokens - 1))
        file.write(struct.pack("<I", 7))
    mounted = mount(tree)
    blocks = mounted / "views" / "blocks"
    last = (blocks / "3124999").read_bytes()
    assert last == bytes(124) + struct.pack("<I", 7)
    assert (blocks / "000010").stat().st_size == 128
    assert not (blocks / "3125000").exists()
    count = 0
    with os.scandir(blocks) as names:
        for name in names:
            count += 1
            last_name = name.name
    assert (count, last_name) == (3_125_000, "3124999")
    assert status_kib(mounted.pid(), "VmRSS") < 64 * 1024


def test_what_is_no_level_is_never_opened(mount, tmp_path):
    """Fifos, loops, links out of the tree: told, and the rest is served."""
    tree = tmp_path / "tree"
    shutil.copytree(TREES / "good_fp16", tree)
    (tree / "LOD1.ctx").unlink()
    os.mkfifo(tree / "LOD1.ctx")
    (tree / "LOD3.ctx").symlink_to("LOD3.ctx")
    (tree / "LOD4.ctx").symlink_to(TREES / "good_fp16" / "LOD1.ctx")
    (tree / "LOD5.ctx").mkdir()
    checkpoints = tree / "checkpoints"
    checkpoints.mkdir()
    (checkpoints / "loop").symlink_to("loop")
    (checkpoints / "away").symlink_to(TREES / "good_fp16")
    (checkpoints / "up").symlink_to("..")
    (checkpoints / "linked").mkdir()
    (checkpoints / "linked" / "LOD0.ctx").symlink_to("../../LOD0.ctx")
    mounted = mount(tree)
    levels = load(mounted / "tree.json")["levels"]
    assert {f: v["status"] for f, v in levels.items()} == {
        "LOD0.ctx": "ok", "LOD1.ctx": "error", "LOD2.ctx": "ok",
        "LOD3.ctx": "error", "LOD4.ctx": "error"}
    assert "regular" in levels["LOD1.ctx"]["error"]
    assert "leads out" in levels["LOD4.ctx"]["error"]
    payload = (tree / "LOD0.ctx").read_bytes()[64:]
    assert (mounted / "LOD0" / "tokens").read_bytes() == payload
    assert os.listdir(mounted / "checkpoints") == ["linked"]
    linked = mounted / "checkpoints" / "linked"
    assert (linked / "LOD0" / "tokens").read_bytes() == payload


def test_a_level_that_is_written_to_is_stale_and_its_neighbours_are_not(
        mount, tmp_path):
    tree = tmp_path / "tree"
    shutil.copytree(TREES / "good_fp16", tree)
    mounted = mount(tree)
    with open(tree / "LOD1.ctx", "ab") as file:
        file.write(b"more")
    assert error_of((mounted / "views" / "gists" / "LOD1" / "000000").read_bytes) == errno.ESTALE
    assert len((mounted / "LOD0" / "tokens").read_bytes()) == 8320
