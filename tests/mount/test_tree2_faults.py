# SPDX-License-Identifier: Apache-2.0
"""faults.json, `note`, and extended attributes that do not apply (docs/tree.md,
sections 5 and 6)."""

import errno
import json
import os
import shutil

import pytest

import shard
from conftest import GOLDEN, error_of, run, wait_until

DAMAGED = GOLDEN / "wshard" / "corrupt" / "flip_raw_block.wshard"
MOST = 10_000
STORED = {"codec", "stored_size", "offset", "checksum"}
ARRAY = {"dtype", "shape"}


def faults(root) -> list[dict]:
    return json.loads((root / ".ctxfs" / "faults.json").read_text())


def attributes(path) -> dict[str, bytes]:
    return {name.removeprefix("user.ctxfs."): os.getxattr(path, name)
            for name in os.listxattr(path)}


def read_error(path) -> int:
    with pytest.raises(OSError) as failed:
        with open(path, "rb") as file:
            file.read()
    return failed.value.errno


# What failed reads leave behind.


def test_a_failed_read_is_in_faults_json_and_in_the_note(mount):
    mounted = mount(DAMAGED)
    bad = mounted / "signal/joint_pos"
    assert faults(mounted.root) == []
    assert "note" not in attributes(bad) or "checksum" not in attributes(bad)["note"].decode()
    assert read_error(bad) == errno.EIO
    [fault] = faults(mounted.root)
    assert set(fault) == {"path", "offset", "reason"}
    assert fault["path"] == "signal/joint_pos"
    assert fault["offset"] == int(attributes(bad)["offset"]) == 1280
    assert "checksum" in fault["reason"] and "a35a9b0c" in fault["reason"]
    note = attributes(bad)["note"].decode()
    assert fault["reason"] in note and "byte 1280" in note
    assert attributes(bad)["verified"] == b"failed"


def test_the_same_fault_is_there_once(mount):
    mounted = mount(DAMAGED)
    for _ in range(3):
        assert read_error(mounted / "signal/joint_pos") == errno.EIO
    assert len(faults(mounted.root)) == 1


def test_a_sound_file_leaves_nothing(mount):
    mounted = mount(DAMAGED)
    for folder, _, names in os.walk(mounted.root):
        for name in names:
            path = os.path.join(folder, name)
            if not path.endswith("joint_pos") or "signal" not in path:
                with open(path, "rb") as file:
                    file.read()
    assert [f for f in faults(mounted.root) if "signal/joint_pos" not in f["path"]] == []


def test_faults_json_says_what_a_check_says(mount):
    """Every damaged entry of golden containers, by path and byte."""
    seen = 0
    for name in ("wshard/corrupt/flip_raw_block.wshard", "shard/crc_mismatch_raw.shard",
                 "cvc/bad_crc_chunk0.cvc"):
        mounted = mount(GOLDEN / name)
        failed = set()
        for folder, _, names in os.walk(mounted.root):
            for one in names:
                path = os.path.join(folder, one)
                try:
                    with open(path, "rb") as file:
                        file.read()
                except OSError as error:
                    assert error.errno == errno.EIO
                    failed.add(os.path.relpath(path, mounted.root))
        assert failed
        found = {fault["path"]: fault for fault in faults(mounted.root)}
        assert failed <= set(found), name
        for path in failed:
            note = attributes(mounted / path)["note"].decode()
            assert found[path]["reason"] in note
            if "offset" in found[path]:
                assert f"byte {found[path]['offset']}" in note
                assert found[path]["offset"] < (GOLDEN / name).stat().st_size
            seen += 1
    assert seen >= 3


def test_faults_of_views_are_those_of_their_entries(mount):
    """A view of damaged bytes has the reason, too; the entry's is one of the list."""
    mounted = mount(DAMAGED)
    view = mounted / "views/npy/signal/joint_pos.npy"
    assert read_error(view) == errno.EIO
    reasons = [fault["reason"] for fault in faults(mounted.root)]
    assert any("checksum" in reason for reason in reasons)
    assert b"checksum" in attributes(view)["note"]


def test_an_undecodable_entry(mount, tmp_path):
    (tmp_path / "x.shard").write_bytes(shard.build(
        [shard.entry("z", bytes(5000), stored=b"\x28\xb5\x2f\xfd rest", flags=3),
         shard.entry("good", b"good")], role=16))
    mounted = mount(tmp_path / "x.shard")
    assert read_error(mounted / "z") == errno.EIO
    [fault] = faults(mounted.root)
    assert fault["path"] == "z" and fault["reason"]
    assert fault["reason"] in attributes(mounted / "z")["note"].decode()
    assert (mounted / "good").read_bytes() == b"good"
    assert "note" not in attributes(mounted / "good")


def test_the_number_of_faults_is_bounded(mount, tmp_path):
    count = MOST + 200
    (tmp_path / "many.shard").write_bytes(shard.build(
        [shard.entry(f"e{i}", b"x", checksum=1) for i in range(count)], role=16))
    mounted = mount(tmp_path / "many.shard", "log=error")
    for i in range(count):
        assert read_error(mounted / f"e{i}") == errno.EIO
    *listed, last = faults(mounted.root)
    assert [fault["path"] for fault in listed] == [f"e{i}" for i in range(MOST)]
    # A fault that was not kept may be found, and counted, again.
    assert last["count"] >= count - MOST and last["path"] == ""


# What opening finds.


def test_a_container_that_does_not_parse(mount, tmp_path):
    shutil.copy(GOLDEN / "shard" / "bad_truncated_index.shard", tmp_path / "bad.shard")
    bad = mount(tmp_path).point / "bad.shard"
    assert os.listdir(bad) == []
    [fault] = faults(bad)
    assert fault["path"] == "" and fault["reason"] and fault["offset"] >= 0


def test_salvage_lists_what_it_leaves_out(mount, tmp_path):
    entries = [shard.entry(f"e{i}", bytes([65 + i]) * 1000) for i in range(4)]
    path = tmp_path / "cut.mosh"
    path.write_bytes(shard.build(entries)[:-1500])
    mounted = mount(path, "salvage")
    found = faults(mounted.root)
    assert {"e2", "e3"} <= {fault["path"] for fault in found}
    own = [fault for fault in found if fault["path"] == ""]
    assert any(fault.get("offset") == 40 for fault in own)
    for fault in found:
        if fault["path"]:
            assert fault["reason"] in attributes(mounted / fault["path"])["note"].decode()


def test_an_entry_that_the_index_says_is_unreadable(mount):
    """Without a read: the index of an MCF puts tensors past the end."""
    seen = 0
    for answer_file in sorted((GOLDEN / "mcf").glob("*.json")):
        answer = json.loads(answer_file.read_text())
        bad = [t for t in answer.get("tensors", []) if not t["raw"]["ok"]]
        if answer["kind"] == "open_error" or not bad or "name_hex" in bad[0]:
            continue
        mounted = mount(answer_file.with_suffix(".mcf"))
        paths = {fault["path"] for fault in faults(mounted.root)}
        assert len([p for p in paths if p.startswith("tensors/")]) >= 1, answer_file
        seen += 1
    assert seen


def test_it_is_live(mount, tmp_path):
    """A reader that looks again sees what was found meanwhile."""
    mounted = mount(DAMAGED)
    with open(mounted / ".ctxfs/faults.json", "rb") as file:
        assert json.loads(file.read()) == []
    assert read_error(mounted / "signal/joint_pos") == errno.EIO
    assert wait_until(lambda: len(faults(mounted.root)) == 1, 2)
    told = run("cat", mounted / ".ctxfs/faults.json").stdout
    assert len(json.loads(told)) == 1


# Attributes that do not apply are absent.


def check_absent(path, *names) -> None:
    listed = set(attributes(path))
    for name in names:
        assert name not in listed
        assert error_of(os.getxattr, path, f"user.ctxfs.{name}") == errno.ENODATA


def test_bytes_have_no_shape(mount):
    mounted = mount(GOLDEN / "shard" / "comp_mixed.shard")
    for name in ("z/text", "json/config", "empty"):
        check_absent(mounted / name, *ARRAY)
        assert {"codec", "stored_size", "verified"} <= set(attributes(mounted / name))


COMPUTED = {
    "mcf/q4.mcf": ["views/dequantized/w.40cols", "views/npy/w.40cols.npy",
                   "views/model.safetensors", "tensors.json", "model_info.json"],
    "shard-profiles/llama_micro.mosh": [
        "views/dequantized/model.layers.0.self_attn.q_proj.weight",
        "views/npy/model.norm.weight.npy"],
    "conventions/deltas.mosh": ["views/merged/q.rows", "views/merged/q.rows.npy"],
    "conventions/tiles.gemm": ["views/matrices/W"],
    "wshard/sealed_lz4.wshard": ["views/npy/signal/rgb.npy", "views/episode.safetensors"],
    "shard-profiles/all_encodings.cshard": ["views/table.arrow"],
    "megacontext/good_fp16": ["tree.json", "views/npy/LOD1/gists.npy"],
    "shard-profiles/synthetic/cowrie_gnn_v11.sjgn": [
        "meta.json", "tables/edges:cites.jsonl"],
    "gguf/q4_k.gguf": ["views/dequantized/w", "metadata.json"],
}


@pytest.mark.parametrize("container", COMPUTED)
def test_what_is_computed_is_stored_nowhere(mount, container):
    mounted = mount(GOLDEN / container)
    for name in COMPUTED[container]:
        check_absent(mounted / name, *STORED)


def test_a_column_of_several_chunks_is_at_no_one_place(mount):
    mounted = mount(GOLDEN / "shard-profiles/all_encodings.cshard")
    check_absent(mounted / "columns/f64_bss", "offset", "checksum")


ARRAYS = {
    "mcf/q4.mcf": ["views/dequantized/w.40cols", "views/npy/w.40cols.npy"],
    "conventions/tiles.gemm": ["views/matrices/W"],
    "wshard/sealed_lz4.wshard": ["views/npy/signal/rgb.npy", "signal/rgb"],
    "cvc/v2_columns.cvc": ["columns/text"],
    "megacontext/good_fp16": ["LOD0/tokens", "LOD1/gists"],
    "gguf/q4_k.gguf": ["views/dequantized/w", "tensors/w"],
}


@pytest.mark.parametrize("container", ARRAYS)
def test_arrays_have_both_and_others_neither(mount, container):
    mounted = mount(GOLDEN / container)
    for name in ARRAYS[container]:
        assert ARRAY <= set(attributes(mounted / name)), name
    for folder, _, names in os.walk(mounted.root):
        for name in names:
            found = set(attributes(os.path.join(folder, name)))
            assert found & ARRAY in (set(), ARRAY), name


def test_no_attribute_is_empty_or_zero_for_nothing(mount):
    """Of every kind: an offset is within the container, and what is there is the
    file if nothing is compressed."""
    for name in ("mcf/basic.mcf", "shard/comp_mixed.shard", "gguf/plain.gguf",
                 "safetensors/dtypes.safetensors", "wshard/sealed_lz4.wshard",
                 "shard-profiles/llama_micro.mosh", "tar/wds.tar"):
        mounted = mount(GOLDEN / name)
        container = (GOLDEN / name).read_bytes()
        compared = 0
        for folder, _, names in os.walk(mounted.root):
            for one in names:
                path = os.path.join(folder, one)
                found = attributes(path)
                assert all(found.values()), (path, found)
                if "offset" not in found:
                    assert "stored_size" not in found and "checksum" not in found
                    continue
                begin = int(found["offset"])
                end = begin + int(found["stored_size"])
                assert 0 < begin <= end <= len(container)
                if found["codec"] == b"none":
                    with open(path, "rb") as file:
                        assert file.read() == container[begin:end]
                    compared += 1
        assert compared, name


def test_the_mounts_own_files_have_none(mount):
    mounted = mount(DAMAGED)
    for path in (mounted.point / ".ctxfs/stats", mounted / ".ctxfs/info.json",
                 mounted / ".ctxfs/faults.json", mounted / ".ctxfs/container"):
        check_absent(path, *STORED, *ARRAY)
    for folder in (mounted.root, mounted / "views", mounted / ".ctxfs"):
        assert os.listxattr(folder) == []
