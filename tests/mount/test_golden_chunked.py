# SPDX-License-Identifier: Apache-2.0
"""golden/shard-profiles/chunked_episode: a chunked episode of the reference."""
import hashlib
import json

import pytest

from conftest import GOLDEN

FOLDER = GOLDEN / "shard-profiles" / "chunked_episode"
ANSWERS = sorted(FOLDER.glob("*.json"))
assert len(ANSWERS) == 4


@pytest.mark.parametrize("answer_file", ANSWERS, ids=lambda p: p.stem)
def test_entries(answer_file, mount):
    answer = json.loads(answer_file.read_text())
    mounted = mount(answer_file.with_suffix(""))
    for entry in answer["entries"]:
        data = (mounted / entry["name"]).read_bytes()
        assert len(data) == entry["orig_size"]
        assert hashlib.sha256(data).hexdigest() == entry["payload_sha256"]


def test_chunks_are_joined_along_time(mount):
    answer = json.loads((FOLDER / "ep_001_manifest.wshard.json").read_text())["expected"]
    mounted = mount(FOLDER / "ep_001_manifest.wshard")
    uris = [chunk["uri"] for chunk in answer["chunks"]]
    chunks = [mount(FOLDER / uri) for uri in uris]
    lanes = [
        path.relative_to(chunks[0].root)
        for path in chunks[0].root.rglob("*")
        if path.is_file() and path.relative_to(chunks[0].root).parts[0] in ("signal", "action")
    ]
    assert lanes
    info = json.loads((mounted / ".ctxfs/info.json").read_text())
    assert info["continuity"] == "ok"
    assert info["episode"]["id"] == answer["episode_id"]
    assert info["episode"]["total_timesteps"] == answer["total_timesteps"]
    for shown, chunk in zip(info["chunks"], answer["chunks"], strict=True):
        assert shown | {"sha256": chunk["sha256"], "total_chunks": len(uris)} == chunk
        whole = (FOLDER / chunk["uri"]).read_bytes()
        assert shown["sha256"] == "ok"
        assert hashlib.sha256(whole).hexdigest() == chunk["sha256"]
    for lane in [*lanes, "reward", "done"]:
        parts = [(chunk / str(lane)).read_bytes() for chunk in chunks]
        assert (mounted / "episode" / str(lane)).read_bytes() == b"".join(parts)
        for uri, part in zip(uris, parts):
            assert (mounted / "views/chunks" / uri / str(lane)).read_bytes() == part
    assert len((mounted / "episode" / "done").read_bytes()) == answer["total_timesteps"]
