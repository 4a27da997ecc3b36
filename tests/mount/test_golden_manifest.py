# SPDX-License-Identifier: Apache-2.0
"""Manifests of form A through a real mount."""

import json
import os
import shutil

from conftest import GOLDEN

FOLDER = GOLDEN / "shard-profiles"


def listing(mounted) -> list[dict]:
    return json.loads((mounted / ".ctxfs" / "manifest.json").read_text())


def test_golden(mount, tmp_path):
    answer = json.loads((FOLDER / "dataset.manifest.json").read_text())
    for name in ("dataset.manifest", "train-000.smpl", "train-001.smpl"):
        shutil.copy(FOLDER / name, tmp_path)
    (tmp_path / "bad-hash.smpl").write_bytes(b"plain bytes")
    (tmp_path.parent / "outside.smpl").write_bytes(b"not to be seen")
    mounted = mount(tmp_path / "dataset.manifest")
    shown = listing(mounted)
    for reference, expected in zip(shown, answer["expected"]["files"]):
        assert expected.items() <= reference.items()
    assert len(shown) == len(answer["expected"]["files"])
    assert [r["present"] for r in shown] == [True, True, False, False, False, True]
    assert [r["verified"] for r in shown] == ["no", "no", "no", "none", "none", "no"]
    parts = mounted / "parts"
    assert sorted(os.listdir(parts)) == [
        "bad-hash.smpl", "train-000.smpl", "train-001.smpl",
    ]
    assert (parts / "bad-hash.smpl").read_bytes() == b"plain bytes"
    sample = json.loads((FOLDER / "train-000.smpl.json").read_text())["samples"][7]
    path = parts / "train-000.smpl" / "views" / "json" / "7.json"
    assert json.loads(path.read_text()) == sample["value"]

    verdicts = json.loads((mounted / ".ctxfs" / "sha256.json").read_text())
    words = [v["verified"] for v in verdicts]
    assert words == ["yes", "yes", "absent", "absent", "absent", "failed"]
    after = [r["verified"] for r in listing(mounted)]
    assert after == ["yes", "yes", "no", "none", "none", "failed"]


def test_nothing_there(mount, tmp_path):
    shutil.copy(FOLDER / "model.manifest", tmp_path)
    mounted = mount(tmp_path / "model.manifest")
    assert not (mounted / "parts").exists()
    assert [r["present"] for r in listing(mounted)] == [False, False]


def test_links_do_not_lead_out(mount, tmp_path):
    shutil.copy(FOLDER / "dataset.manifest", tmp_path)
    os.symlink("/etc/passwd", tmp_path / "train-000.smpl")
    mounted = mount(tmp_path / "dataset.manifest")
    assert not (mounted / "parts").exists()


def test_a_manifest_of_itself_ends(mount, tmp_path):
    """Containers within containers are cut at a depth, and so are cycles."""
    shutil.copy(FOLDER / "dataset.manifest", tmp_path / "train-000.smpl")
    mounted = mount(tmp_path / "train-000.smpl")
    depth = 0
    here = mounted.root
    while (here / "parts" / "train-000.smpl").exists():
        here = here / "parts" / "train-000.smpl"
        depth += 1
        assert depth <= 9
    info = json.loads((here / ".ctxfs" / "info.json").read_text())
    assert "end here" in json.dumps(info)
