# SPDX-License-Identifier: Apache-2.0
"""Manifests of form A through a real mount."""

import hashlib
import json
import os
import shutil

import pytest

from conftest import GOLDEN
from golden_json import exact

FOLDER = GOLDEN / "shard-profiles"


def listing(mounted) -> list[dict]:
    return json.loads((mounted / ".ctxfs" / "manifest.json").read_text())


def verdict_of(file: dict, there: bool) -> str:
    """What sha256.json says of a reference."""
    if not there:
        return "absent"
    digest = hashlib.sha256((FOLDER / file["uri"]).read_bytes()).hexdigest()
    return "yes" if digest == file["sha256"] else "failed"


def check_reference(shown: dict, file: dict, verdict: str) -> None:
    """A file of the answer in manifest.json, before its digest is looked at and,
    with the verdict, afterwards."""
    for key, value in file.items():
        assert exact(shown[key]) == exact(value), key
    # What is there is what is in the folder under a plain name.
    there = "/" not in file["uri"] and (FOLDER / file["uri"]).exists()
    assert shown["present"] is there
    if verdict in ("yes", "failed"):
        assert shown["verified"] == verdict
    else:
        assert shown["verified"] == ("no" if "sha256" in file else "none")


@pytest.mark.parametrize("name", ("dataset.manifest", "model.manifest"))
def test_golden(mount, name):
    """In their own folder, with the files that are there."""
    answer = json.loads((FOLDER / (name + ".json")).read_text())
    files = answer["expected"]["files"]
    mounted = mount(FOLDER / name)
    before = listing(mounted)
    verdicts = json.loads((mounted / ".ctxfs" / "sha256.json").read_text())
    after = listing(mounted)
    assert len(before) == len(verdicts) == len(after) == len(files)
    for i, file in enumerate(files):
        check_reference(before[i], file, "not known")
        verdict = verdict_of(file, before[i]["present"])
        assert verdicts[i]["verified"] == verdict
        check_reference(after[i], file, verdict)
    there = {file["uri"] for file, shown in zip(files, before) if shown["present"]}
    assert there and set(os.listdir(mounted / "parts")) == there
    metadata = json.loads((mounted / ".ctxfs" / "metadata.json").read_text())
    assert exact(metadata["manifest"]) == exact(answer["expected"])


def test_what_is_beside_it(mount, tmp_path):
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
