# SPDX-License-Identifier: Apache-2.0
"""What the JSON of every Shard in golden/shard-profiles says of the container and its
entries, through a real mount. What they decode to is checked beside: each key has a
test that knows it, and one that nobody knows fails here."""

import hashlib
import json
import os
import zlib

import numpy
import pytest

from conftest import GOLDEN
from shard import header_of, name_hash_of

ANSWERS = sorted((GOLDEN / "shard-profiles").rglob("*.json"))
SHARDS = [path for path in ANSWERS if "header" in json.loads(path.read_text())]
assert SHARDS, "no golden containers"

# Keys of a JSON, and where those are checked that are not checked here.
KEYS = {
    "file", "sha256", "header", "metadata_section", "entries", "synthetic",
    "schema", "column_value_sha256",  # test_golden_column
    "metadata", "iteration_order", "samples",  # test_golden_sample, and below
    "dequantized",  # test_golden_model
    "expected",
    # Files that are no Shards: test_golden_sjgn, test_golden_graph.
    "size", "format", "first_bytes", "note", "decoded_size", "decodes_to",
    "decoded_sha256",
}
EXPECTED = {
    "cshard": {"columns", "row_group_size", "rows", "schema_as_read"},  # _column
    "wshard": {"episode_id", "chunks", "total_timesteps"},  # _chunked
    "manifest": {"files", "partitions"},  # _manifest
    "gemm": {"tiles", "mr", "kc"},  # _graph
    "gshard": {"indptr", "indices", "x_sha256", "train_mask", "graph", "csr",
               "split/train"},  # _graph
    "tshard": {"events"},  # _graph
    "mosh": {"f64_as_03", "bf16_as_09", "tagged"},  # below
}
ENTRY = {
    "name", "name_hash", "name_hash_is_xxh64", "flags", "data_offset", "disk_size",
    "orig_size", "checksum", "crc32c_ok", "content_type", "tag_bits",
    "payload_sha256",
    "tensor", "tensor_error", "expected", "reference_error",  # test_golden_model
}
HEADER = {
    "role", "flags", "alignment", "compression_default", "entry_count",
    "string_table_offset", "data_section_offset", "schema_offset", "total_file_size",
}


def load(path):
    return json.loads(path.read_text())


@pytest.mark.parametrize("answer_file", ANSWERS, ids=lambda p: p.stem)
def test_every_key_is_known(answer_file):
    answer = load(answer_file)
    assert set(answer) <= KEYS
    assert set(answer.get("header", {})) <= HEADER
    for entry in answer.get("entries", []):
        assert set(entry) <= ENTRY
    expected = answer.get("expected")
    kind = answer_file.stem.rsplit(".", 1)[1]
    if isinstance(expected, dict) and "header" in answer:
        assert set(expected) <= EXPECTED[kind]


def check_header(info: dict, header: dict, container: bytes) -> None:
    header = header | {"flags": int(header["flags"], 16)}
    assert header.items() <= header_of(container).items()
    for key in ("role", "flags", "alignment", "compression_default"):
        assert info[key] == header[key], key
    assert info["container_size"] == header["total_file_size"] == len(container)


@pytest.mark.parametrize("answer_file", SHARDS, ids=lambda p: p.stem)
def test_container_and_entries(answer_file, mount):
    answer = load(answer_file)
    container = answer_file.with_suffix("")
    whole = container.read_bytes()
    assert hashlib.sha256(whole).hexdigest() == answer["sha256"]
    assert answer["file"] == str(container.relative_to(GOLDEN / "shard-profiles"))
    mounted = mount(container)
    assert (mounted / ".ctxfs/container").read_bytes() == whole

    header = answer["header"]
    info = load(mounted / ".ctxfs/info.json")
    check_header(info, header, whole)
    metadata = mounted / ".ctxfs/metadata.json"
    assert metadata.exists() == (header["schema_offset"] != 0)
    if metadata.exists():
        assert metadata.read_bytes() == whole[header["schema_offset"]:]
        assert load(metadata) == answer["metadata_section"]
    else:
        assert answer["metadata_section"] is None

    index = load(mounted / ".ctxfs/index.json")
    if info["format"] == "shard":
        assert info["entries"] == header["entry_count"]
    assert len(index) == len(answer["entries"]) == header["entry_count"]
    for number, (shown, entry) in enumerate(zip(index, answer["entries"])):
        path = mounted / shown["path"]
        assert shown["name"] == entry["name"]
        assert name_hash_of(whole, number) == entry["name_hash"]
        assert shown["offset"] == entry["data_offset"]
        assert shown["stored_size"] == entry["disk_size"]
        assert shown["size"] == os.stat(path).st_size == entry["orig_size"]
        assert shown["content_type"].split()[0] == str(entry["content_type"])
        assert shown["flags"] == entry["flags"]
        assert shown.get("tag_bits", 0) == entry["tag_bits"]
        assert shown["codec"] == {0: "none", 3: "zstd", 5: "lz4"}[entry["flags"] & 7]
        data = path.read_bytes()
        assert hashlib.sha256(data).hexdigest() == entry["payload_sha256"]
        checksum = os.getxattr(path, "user.ctxfs.checksum").decode()
        if entry["crc32c_ok"]:
            assert checksum == "crc32c:" + entry["checksum"]
        else:
            assert checksum == f"crc32:{zlib.crc32(data):08x}"
            assert checksum.endswith(entry["checksum"])
        assert os.getxattr(path, "user.ctxfs.verified") == b"yes"


@pytest.mark.parametrize(
    "answer_file", [p for p in SHARDS if "iteration_order" in load(p)],
    ids=lambda p: p.stem)
def test_samples_come_in_the_order_of_the_reference(answer_file, mount):
    """metadata, iteration_order and samples' ids and digests."""
    answer = load(answer_file)
    mounted = mount(answer_file.with_suffix(""))
    assert answer["metadata"] in (None, answer["metadata_section"]) or (
        answer["metadata"].items() <= answer["metadata_section"].items())
    ids = [sample["id"] for sample in answer["samples"]]
    assert answer["iteration_order"] == ids
    for sample in answer["samples"]:
        assert sample["entry"] == str(sample["id"])
        assert set(sample) <= {"id", "entry", "payload_sha256", "value", "error"}
        if "error" in sample:  # of the reference, which we read past
            assert {"payload_sha256", "value"}.isdisjoint(sample)
            continue
        data = (mounted / sample["entry"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == sample["payload_sha256"]
    lines = (mounted / "views/samples.jsonl").read_text().splitlines()
    by_id = {sample["id"]: sample for sample in answer["samples"]}
    ordered = [by_id[i] for i in answer["iteration_order"] if i in by_id]
    values = [sample["value"] for sample in ordered if "value" in sample]
    assert [json.loads(line) for line in lines][: len(values)] == values


def test_tags(mount):
    answer = load(GOLDEN / "shard-profiles/synthetic/reserved_bits.mosh.json")
    expected = answer["expected"]["tagged"]
    assert set(expected) == {"tag_bits", "tags", "entry_flags", "value"}
    mounted = mount(GOLDEN / "shard-profiles/synthetic/reserved_bits.mosh")
    tagged = load(mounted / ".ctxfs/index.json")[0]
    assert tagged["tag_bits"] == expected["tag_bits"]
    assert tagged["tags"] == expected["tags"]
    assert tagged["flags"] == expected["entry_flags"]
    assert numpy.load(mounted / "views/npy/tagged.npy").tolist() == [expected["value"]]


def test_legacy_types(mount):
    answer = load(GOLDEN / "shard-profiles/synthetic/legacy_dtype_codes.mosh.json")
    for texts in answer["expected"].values():
        assert set(texts) <= {"old_table", "new_table", "payload_after_header"}
    mounted = mount(GOLDEN / "shard-profiles/synthetic/legacy_dtype_codes.mosh")
    old = numpy.load(mounted / "views/npy/f64_as_03.npy")
    assert old.dtype == numpy.float64 and old.tolist() == [1, -2.5, numpy.pi]
    assert old.nbytes == answer["expected"]["f64_as_03"]["payload_after_header"]
    # Nothing tells the two tables apart here, so it is as the new one has it.
    new = numpy.load(mounted / "views/npy/bf16_as_09.npy")
    assert new.dtype == numpy.uint16
    assert str(new.tolist()).replace(" ", "") in answer["expected"]["bf16_as_09"]["new_table"]


def test_k_quants_are_bytes(mount):
    """Nothing in the container says that they are more."""
    folder = GOLDEN / "shard-profiles/synthetic"
    answer = load(folder / "kquant_raw_u8.mosh.json")
    mounted = mount(folder / "kquant_raw_u8.mosh")
    for expected in answer["expected"]:
        assert set(expected) == {"name", "ggml_type", "block_bytes", "logical_shape",
                                 "data_sha256", "dequant_f32_le_sha256", "first8"}
        path = mounted / "views/tensors" / expected["name"]
        data = path.read_bytes()
        assert hashlib.sha256(data).hexdigest() == expected["data_sha256"]
        assert os.getxattr(path, "user.ctxfs.dtype") == b"u8"
        rows, row_bytes = json.loads(os.getxattr(path, "user.ctxfs.shape"))
        assert rows == expected["logical_shape"][0]
        assert row_bytes % expected["block_bytes"] == 0
        values = (folder / f"kquant_{expected['ggml_type']}.f32").read_bytes()
        assert hashlib.sha256(values).hexdigest() == expected["dequant_f32_le_sha256"]
        assert len(values) == 4 * numpy.prod(expected["logical_shape"])
        assert numpy.frombuffer(values, "<f4")[:8].tolist() == expected["first8"]
    assert not (mounted / "views/dequantized").exists()
