# SPDX-License-Identifier: Apache-2.0
"""ctxfs check of episodes that are sealed, chained or listed in a manifest."""

import hashlib
import json

from conftest import BIN, GOLDEN, run
from shard import build, entry

CTXFS = BIN / "ctxfs"
FSCK = BIN / "fsck.ctxfs"
EPISODE = GOLDEN / "wshard" / "sealed_lz4.wshard"
WSHARD, MANIFEST, GEMM = 5, 4, 3


def check(*args) -> tuple[int, list[dict]]:
    done = run(CTXFS, "check", "--json", *args)
    return done.returncode, json.loads(done.stdout)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# Sealed episodes: what a checksum of each entry cannot tell.


def identity_of(parts) -> bytes:
    listed = {e.name.decode(): sha256(e.data) for e in parts}
    return json.dumps({"entries": listed, "leaf": "sha256", "v": 1}).encode()


def sealed(parts, identity=None) -> bytes:
    identity = identity_of(parts) if identity is None else identity
    return build([*parts, entry("meta/identity", identity)], role=WSHARD)


def episode_parts(steps=4, start=0, **meta):
    episode = {"episode_id": "ep", "length_T": steps, **meta}
    return [
        entry("meta/wshard", b'{"format":"W-SHARD","version":"0.1"}'),
        entry("meta/episode", json.dumps(episode).encode()),
        entry("meta/channels", b'{"channels":[]}'),
        entry("reward", bytes(4 * steps)),
        entry("time/ticks", b"".join(
            (start + i).to_bytes(4, "little") for i in range(steps))),
    ]


def faults_of(path, data: bytes | None = None) -> list[tuple]:
    if data is not None:
        path.write_bytes(data)
    return [(f["kind"], f["reason"]) for f in check(path)[1][0]["faults"]]


def test_a_seal_that_holds(tmp_path):
    assert faults_of(tmp_path / "a.wshard", sealed(episode_parts())) == []


def test_a_seal_finds_what_the_crc_cannot(tmp_path):
    parts = episode_parts()
    identity = identity_of(parts)
    parts[3] = entry("reward", b"\1" * 16)  # with a checksum of its own
    [(kind, reason)] = faults_of(tmp_path / "a.wshard", sealed(parts, identity))
    assert kind == "checksum" and "'reward'" in reason and "identity" in reason


def test_a_seal_is_of_every_entry_and_of_no_other(tmp_path):
    parts = episode_parts()
    more = faults_of(
        tmp_path / "more.wshard",
        sealed([*parts, entry("signal/x", b"1234")], identity_of(parts)),
    )
    assert [r for _, r in more] == ["entry 'signal/x' is not in meta/identity"]
    fewer = faults_of(tmp_path / "fewer.wshard", sealed(parts[:-1], identity_of(parts)))
    assert [r for _, r in fewer] == [
        "meta/identity lists entry 'time/ticks', which is not there"
    ]


def canonical(parts) -> bytes:
    listed = {e.name.decode(): sha256(e.data) for e in parts}
    return json.dumps({"entries": listed, "leaf": "sha256", "v": 1}, sort_keys=True,
                      separators=(",", ":")).encode()


def test_41_4_an_identity_is_compared_as_people_write_it(tmp_path):
    """Case and blanks do not matter; one with another identity is damaged."""
    parts, path = episode_parts(), tmp_path / "a.wshard"
    seal = canonical(parts)
    path.write_bytes(sealed(parts, seal))
    right = sha256(seal)
    spaced = " ".join(right[i : i + 8] for i in range(0, 64, 8))
    for spelt in (right, right.upper(), f" {spaced}\n"):
        done = run(CTXFS, "check", "--identity=" + spelt, path)
        assert (done.returncode, done.stderr) == (0, b""), done.stdout
    wrong = "0" * 64
    code, [report] = check("--identity=" + wrong, path)
    assert code == 1 and report["outcome"] == "damaged"
    assert [one["reason"] for one in report["faults"]] == [
        f"identity is {right}, expected {wrong}"]
    for odd in (right[1:], right + "0", "g" * 64, ""):
        done = run(CTXFS, "check", "--identity=" + odd, path)
        assert done.returncode == 2 and b"--identity" in done.stderr, done.stderr


def test_41_4_the_first_difference_by_name_comes_first(tmp_path):
    """Entries that differ, that the seal lacks and that the file lacks, in one order."""
    parts = episode_parts()
    seal = canonical(parts)
    parts[3] = entry("reward", b"\1" * 16)
    parts = [entry("action/new", b"1234"), *parts[:-1]]
    (tmp_path / "a.wshard").write_bytes(sealed(parts, seal))
    code, [report] = check("--identity=" + sha256(seal), tmp_path / "a.wshard")
    assert code == 1
    assert [one["reason"] for one in report["faults"]] == [
        "entry 'action/new' is not in meta/identity",
        "the sha256 of entry 'reward' is not the one in meta/identity",
        "meta/identity lists entry 'time/ticks', which is not there"]


def test_41_4_an_identity_that_cannot_be_compared(tmp_path):
    parts, path = episode_parts(), tmp_path / "a.wshard"
    wanted = "--identity=" + sha256(canonical(parts))
    path.write_bytes(sealed(parts))  # with blanks
    code, [report] = check(wanted, path)
    assert code == 1 and "not canonical JSON" in report["faults"][0]["reason"]
    path.write_bytes(build(parts, role=WSHARD))
    code, [report] = check(wanted, path)
    assert code == 1 and report["faults"][0]["reason"] == "identity: there is no meta/identity"
    code, [report] = check(wanted, GOLDEN / "gguf/plain.gguf")
    assert code == 2 and report["outcome"] == "unchecked"
    done = run(CTXFS, "check", wanted, path, path)
    assert done.returncode == 2 and b"expected one SOURCE" in done.stderr


def test_a_seal_that_is_none(tmp_path):
    for identity in (b"{", b"[]", b'{"entries":[]}', b'{"entries":{},"leaf":"md5"}'):
        found = faults_of(tmp_path / "a.wshard", sealed(episode_parts(), identity))
        assert any("identity" in r or "parse" in r for _, r in found), identity


# Chunked episodes: their files, their seals, and the chain of those.


def chunked(folder, break_chain=False, break_file=False):
    folder.mkdir()
    chunks, previous = [], ""
    for k in range(3):
        parts = episode_parts(start=4 * k, chunk_index=k, total_chunks=3)
        told = "0" * 64 if break_chain and k == 2 else previous
        parts.append(
            entry("meta/provenance", json.dumps({"v": 1, "prev_identity": told}).encode())
        )
        data = sealed(parts)
        previous = sha256(identity_of(parts))
        name = f"ep_chunk_{k:04}.wshard"
        chunks.append({
            "chunk_index": k, "uri": name, "sha256": sha256(data),
            "identity": previous, "timestep_range": [4 * k, 4 * k + 3],
            "length_T": 4, "total_chunks": 3,
        })
        if break_file and k == 1:
            data = sealed(parts[:-1])
        (folder / name).write_bytes(data)
    manifest = {"episode_id": "ep", "total_chunks": 3, "total_timesteps": 12,
                "chunks": chunks}
    path = folder / "ep_manifest.wshard"
    path.write_bytes(
        build([entry("meta/manifest", json.dumps(manifest).encode(), content_type=2)],
              role=MANIFEST)
    )
    return path


def test_a_chain_that_holds(tmp_path):
    manifest = chunked(tmp_path / "ep")
    assert faults_of(manifest) == []
    assert run(FSCK, manifest.parent).returncode == 0


def test_a_broken_chain(tmp_path):
    found = faults_of(chunked(tmp_path / "ep", break_chain=True))
    assert [r for _, r in found] == [
        "meta/provenance of ep_chunk_0002.wshard follows another chunk than "
        "ep_chunk_0001.wshard"
    ]


def test_a_chunk_that_was_replaced(tmp_path):
    found = {r for _, r in faults_of(chunked(tmp_path / "ep", break_file=True))}
    assert {
        "sha256 of ep_chunk_0001.wshard differs",
        "identity of ep_chunk_0001.wshard differs",
    } <= found


def test_a_manifest_whose_files_are_others(tmp_path):
    (tmp_path / "right").write_bytes(b"as listed")
    (tmp_path / "wrong").write_bytes(b"not as listed")
    files = [
        {"uri": "right", "sha256": sha256(b"as listed")},
        {"uri": "wrong", "sha256": sha256(b"as listed")},
        {"uri": "absent", "sha256": sha256(b"")},
        {"uri": "s3://elsewhere/x", "sha256": sha256(b"")},
    ]
    metadata = {"profile": "manifest.v1", "manifest": {"files": files}}
    path = tmp_path / "set.manifest"
    path.write_bytes(build([], role=MANIFEST, metadata=json.dumps(metadata).encode()))
    [(kind, reason)] = faults_of(path)
    assert kind == "checksum" and "'wrong'" in reason
