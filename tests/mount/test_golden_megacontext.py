# SPDX-License-Identifier: Apache-2.0
"""Every tree of golden/megacontext, through a real mount, as its JSON says."""

import errno
import hashlib
import json
import os
import pathlib
import re
import shutil
import struct

import numpy
import pytest

from conftest import BIN, GOLDEN, run
from npy import values_of, view_of

TREES = GOLDEN / "megacontext"
ANSWERS = sorted(TREES.glob("*.json"))
assert ANSWERS, "no golden trees"
SHOWN = ("status", "error", "header", "shape", "dtype", "entries",
         "payload_bytes", "tail_bytes", "blocks", "last_block_tokens")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def load(path):
    return json.loads(path.read_text())


def number_of(file: str) -> int:
    return int(re.fullmatch(r"L(?:OD)?(\d+)\.ctx", file).group(1))


def check_parts(root: pathlib.Path, number: int, payload: bytes, level: dict) -> None:
    vectors = len(level["shape"]) == 2
    if not vectors and "blocks" not in level:
        assert not (root / "views" / "blocks").exists()
        return
    parts = root / "views" / (f"gists/LOD{number}" if vectors else "blocks")
    count = level["entries"] if vectors else level["blocks"]
    names = os.listdir(parts)
    assert names == [f"{i:06d}" for i in range(count)]
    assert b"".join((parts / name).read_bytes() for name in names) == payload
    for number, expected in level.get("block_sha256", {}).items():
        assert sha256((parts / f"{int(number):06d}").read_bytes()) == expected
    for absent in (f"{count:06d}", "0", "-00001", "00000a", "0000000"):
        assert not (parts / absent).exists()


def numbers(values: list) -> list[float]:
    """Those that JSON has no number for are text: "nan", "-inf"."""
    return [float(value) for value in values]


def check_values(root: pathlib.Path, payload: pathlib.Path, data: bytes, level: dict) -> None:
    """The .npy of the level, and its first and last elements."""
    name = str(payload.relative_to(root))
    dtype = {"uint32": "u32", "fp16": "f16", "bf16": "bf16", "fp32": "f32"}[level["dtype"]]
    assert os.getxattr(payload, "user.ctxfs.dtype").decode() == dtype
    for key, view in (("npy_sha256", view_of(root, name, "f32")),
                      ("npy_u2_sha256", view_of(root, name, "bf16")),
                      ("npy_f32_sha256", view_of(root, name, "f32"))):
        if key in level:
            assert sha256(view.read_bytes()) == level[key]
    assert ("npy_u2_sha256" in level) == ("npy_f32_sha256" in level) == (dtype == "bf16")
    values = values_of(data, dtype)
    for few, said in ((values[:8], "first"), (values[-8:], "last")):
        assert numpy.array_equal(few, numbers(level.get(said, [])), equal_nan=True)


def check_files(folder: pathlib.Path, files: dict, above: str) -> None:
    """The files that a tree has itself, for `above` of its name."""
    for name, about in files.items():
        file = name.removeprefix(above)
        if not name.startswith(above) or "/" in file:
            continue
        path = folder / file
        if file != "metadata.json":
            path = folder / ".ctxfs" / "files" / file
        assert path.stat().st_size == about["size"]
        assert sha256(path.read_bytes()) == about["sha256"]


def check_levels(root: pathlib.Path, answer: dict) -> None:
    tree = load(root / "tree.json")
    assert tree["open"] == answer["open"]
    assert tree["warnings"] == load(root / ".ctxfs/info.json")["warnings"]
    assert tree["levels"].keys() == answer["levels"].keys()
    for file, level in answer["levels"].items():
        shown = tree["levels"][file]
        assert {k: shown.get(k) for k in SHOWN} == {k: level.get(k) for k in SHOWN}
        number = number_of(file)
        directory = root / f"LOD{number}"
        payload = directory / ("gists" if number else "tokens")
        header = load(root / ".ctxfs/raw" / directory.name / "header.json")
        if level["status"] == "error":
            assert header == {"error": level["error"]}
            assert payload.stat().st_size == 0
            with pytest.raises(OSError) as failed:
                payload.read_bytes()
            assert failed.value.errno == errno.EIO
            continue
        assert header == level["header"]
        data = payload.read_bytes()
        assert len(data) == payload.stat().st_size == level["payload_bytes"]
        assert sha256(data) == level["payload_sha256"]
        shape = json.loads(os.getxattr(payload, "user.ctxfs.shape"))
        assert shape == level["shape"]
        check_parts(root, number, data, level)
        check_values(root, payload, data, level)


@pytest.mark.parametrize("answer_file", ANSWERS, ids=lambda p: p.stem)
def test_golden(answer_file, mount, refused):
    answer = json.loads(answer_file.read_text())
    source = answer_file.with_suffix("")
    assert answer["dir"] == source.name
    for file, about in answer["files"].items():
        data = (source / file).read_bytes()
        assert about == {"size": len(data), "sha256": sha256(data)}
    if answer["open"] == "error":
        code, text = refused(source)
        levels = answer.get("levels", {})
        why = next(iter(levels.values()))["error"] if levels else answer["error"]
        assert code == (3 if not levels else 5 if "endian" in why else 4)
        assert source.name in text and why in text
        return
    mounted = mount(source)
    check_levels(mounted.root, answer)
    broken = [f for f, v in answer["levels"].items() if v["status"] == "error"]
    warnings = load(mounted / "tree.json")["warnings"]
    # What is wrong with a level is told once; the answer has it elsewhere.
    told = [w.split(": ")[0] for w in warnings if w.split(": ")[0] in broken]
    assert sorted(told) == sorted(broken)
    shown = [w for w in warnings if w.split(": ")[0] not in broken]
    assert sorted(set(shown)) == sorted(answer["warnings"])
    check_files(mounted.root, answer["files"], "")
    snapshots = answer.get("snapshots", {})
    if not snapshots:
        assert not (mounted / "checkpoints").exists()
        return
    assert set(os.listdir(mounted / "checkpoints")) == set(snapshots)
    assert set(snapshots).isdisjoint(answer["not_snapshots"])
    for name in answer["not_snapshots"]:
        assert (source / "checkpoints" / name).exists()
    for name, of_snapshot in snapshots.items():
        snapshot = mounted / "checkpoints" / name
        check_levels(snapshot, of_snapshot)
        check_files(snapshot, answer["files"], f"checkpoints/{name}/")
        assert not (snapshot / "checkpoints").exists()


@pytest.mark.parametrize("answer_file", ANSWERS, ids=lambda p: p.stem)
def test_levels_open_alone(answer_file):
    """Any level file is a container of its own, whose header says which level it is."""
    for file, level in json.loads(answer_file.read_text()).get("levels", {}).items():
        path = answer_file.with_suffix("") / file
        if level["status"] == "error":
            done = run(BIN / "ctxfs", "info", path)
            why = level["error"]
            if why == "bad magic":  # then it is of no format
                assert done.returncode == 3
            else:
                assert done.returncode in (4, 5) and why in done.stderr.decode()
            continue
        number = level["header"]["level"]
        payload = f"{path}//LOD{number}/{'gists' if number else 'tokens'}"
        done = run(BIN / "ctxfs", "cat", payload)
        assert done.returncode == 0, done.stderr
        assert sha256(done.stdout) == level["payload_sha256"]


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
    status = pathlib.Path(f"/proc/{mounted.pid()}/status").read_text()
    assert int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) < 64 * 1024


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
    with pytest.raises(OSError) as failed:
        (mounted / "views" / "gists" / "LOD1" / "000000").read_bytes()
    assert failed.value.errno == errno.ESTALE
    assert len((mounted / "LOD0" / "tokens").read_bytes()) == 8320
