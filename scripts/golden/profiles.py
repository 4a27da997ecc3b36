# SPDX-License-Identifier: Apache-2.0
"""Answers of golden/shard-profiles: Shards whose role says what they hold."""

import json
import pathlib
import re
import struct
import zlib

import columns as column_shards
import graphs
import vector_index
from common import (ABSENT, GOLDEN, case_names, named, paths_of, require, sha256, text_of)
from shard import header_of, name_hash_of
from shards import outcome

CODECS = {0: "none", 3: "zstd", 5: "lz4"}
TENSORS = (0, 1, 3, 6, 7)  # the roles whose entries may be tensors
# formats/shard-profiles.md, section 3.2.
DTYPES = {1: "f32", 2: "f16", 3: "bf16", 4: "i8", 5: "i16", 6: "i32", 7: "i64", 8: "u8",
          9: "u16", 10: "u32", 11: "u64", 12: "f64"}
NAMES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "float64": "f64"} | {
    f"{sign}int{bits}": f"{sign or 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
KEYS = {
    "file", "sha256", "header", "metadata_section", "entries", "synthetic",
    "schema", "column_value_sha256",
    "metadata", "iteration_order", "samples", "dequantized", "expected",
    # Files that are no Shards: graphs.py.
    "size", "format", "first_bytes", "note", "decoded_size", "decodes_to",
    "decoded_sha256",
    "vector_index", "made_by", "what",
}
# Of `expected`, by extension.
EXPECTED = {
    "cshard": {"columns", "row_group_size", "rows", "schema_as_read"},
    "wshard": {"episode_id", "chunks", "total_timesteps"},
    "manifest": {"files", "partitions"},
    "gemm": {"tiles", "mr", "kc"},
    "gshard": {"indptr", "indices", "x_sha256", "train_mask", "graph", "csr", "split/train"},
    "tshard": {"events"},
    "mosh": {"f64_as_03", "bf16_as_09", "tagged"},
}
ENTRY = {
    "name", "name_hash", "name_hash_is_xxh64", "flags", "data_offset", "disk_size",
    "orig_size", "checksum", "crc32c_ok", "content_type", "tag_bits",
    "payload_sha256", "tensor", "tensor_error", "expected", "reference_error",
}
HEADER = {
    "role", "flags", "alignment", "compression_default", "entry_count",
    "string_table_offset", "data_section_offset", "schema_offset", "total_file_size",
}
SAMPLE = {"id", "entry", "payload_sha256", "value", "error"}
# What the reference lists as a number, and does not find by it.
UNREAD = {"007.json": "leading zeros"}
# Why an entry is no tensor.
REASONS = {"header": "too short", "dtype": "unknown dtype", "dims": "too short for",
           "overflow": "overflows", "short": "its dimensions require"}
# Of k-quants.
BLOCKS = {"name", "ggml_type", "block_bytes", "logical_shape", "data_sha256",
          "dequant_f32_le_sha256", "first8"}


def check_source(source: pathlib.Path, answer: dict, whole: bytes) -> None:
    """The source has no key that nobody knows, and is of this container."""
    require(set(answer["header"]) <= HEADER, set(answer["header"]) - HEADER)
    for number, one in enumerate(answer["entries"]):
        require(set(one) <= ENTRY, set(one) - ENTRY)
        require(name_hash_of(whole, number) == one["name_hash"], number, "name_hash")
    if isinstance(answer.get("expected"), dict):
        known = EXPECTED[source.stem.rsplit(".", 1)[1]]
        require(set(answer["expected"]) <= known, set(answer["expected"]) - known)
    container = source.with_suffix("")
    require(answer["sha256"] == sha256(whole), "sha256")
    require(answer["file"] == str(container.relative_to(GOLDEN / "shard-profiles")), "file")
    header = answer["header"] | {"flags": int(answer["header"]["flags"], 16)}
    require(header.items() <= header_of(whole).items(), "header", header_of(whole))
    require(header["total_file_size"] == len(whole), "total_file_size")
    require(header["entry_count"] == len(answer["entries"]), "entry_count")


def column_path(name: str) -> bytes:
    """Of an entry of a ColumnShard, ROW_GROUP:COLUMN."""
    return b".ctxfs/raw/" + (name if ":" not in name else
                             "row_groups/" + name.replace(":", "/", 1)).encode()


def entry(one: dict, whole: bytes, damaged: bool) -> dict:
    index = named(one["name"].encode()) | {
        "offset": one["data_offset"], "stored_size": one["disk_size"],
        "size": one["orig_size"], "flags": one["flags"],
        "content_type": {"?starts": f"{one['content_type']} "},
        "tag_bits": one["tag_bits"] or ABSENT, "codec": CODECS[one["flags"] & 7]}
    made = {"index": index, "size": one["orig_size"], "sha256": one["payload_sha256"]}
    told = {"verified": "yes", "checksum": "crc32c:" + one["checksum"]}
    if not one["crc32c_ok"] and not damaged:  # the first writer's
        require(CODECS[one["flags"] & 7] == "none", one["name"])
        stored = whole[one["data_offset"] : one["data_offset"] + one["disk_size"]]
        require(f"{zlib.crc32(stored):08x}" == one["checksum"], one["name"])
        told |= {"checksum": "crc32:" + one["checksum"],
                 "note": {"?contains": "CRC-32 (IEEE)"}}
    return made | {"xattrs_when_read": told}


def add_metadata(answer: dict, whole: bytes, tree: dict) -> None:
    start, section = answer["header"]["schema_offset"], answer["metadata_section"]
    require((section is not None) == (start != 0), "metadata_section")
    if section is None:
        tree["absent"].append(".ctxfs/metadata.json")
        return
    require(json.loads(whole[start:]) == section, "metadata_section")
    tree["files"][".ctxfs/metadata.json"] = {"sha256": sha256(whole[start:]),
                                             "has": {"?exactly": section}}


def add_samples(answer: dict, paths: dict, tree: dict) -> None:
    """In the order of the reference, which cannot read some."""
    samples, section = answer["samples"], answer["metadata_section"] or {}
    if "iteration_order" in answer:
        require(answer["iteration_order"] == [sample["id"] for sample in samples], "order")
    metadata = answer.get("metadata")
    require(metadata is None or metadata.items() <= section.items(), "metadata")
    for sample in samples:
        require(set(sample) <= SAMPLE, sample["entry"])
        require("iteration_order" not in answer or sample["entry"] == str(sample["id"]), "entry")
        if "error" in sample:
            require({"payload_sha256", "value"}.isdisjoint(sample), sample["entry"])
            continue
        # Of two of a name the first is read.
        first = [one for one in answer["entries"] if one["name"] == sample["entry"]][0]
        require(sample.get("payload_sha256", first["payload_sha256"]) ==
                first["payload_sha256"], sample["entry"])
        tree["files"][f"views/json/{sample['entry']}.json"] = {
            "has": {"?exactly": sample["value"]}}
    values = [{"?exactly": sample["value"]} for sample in samples if "value" in sample]
    # Those that the reference cannot read are samples, too, and so are those of its README,
    # which have no number.
    names = [one["name"] for one in answer["entries"]
             if re.fullmatch(r"(sample/)?\d+", one["name"])]
    for path in paths_of([name.encode() + b".json" for name in names]):
        value = UNREAD.get(path.decode(), {"?not": None})
        tree["files"].setdefault("views/json/" + path.decode(), {"has": value})
    tree["listing"] = ["views/json"]
    tree["files"]["views/samples.jsonl"] = {
        "first_lines": values,
        "lines": {"?list_of": {"count": sum(name.isdigit() for name in names)}}}
    if not all(one["crc32c_ok"] for one in answer["entries"]):
        tree["some_warnings"] = ["CRC-32 (IEEE)"]
    data_set = section.get("sample_shard")
    if data_set is None:
        tree["absent"].append(".ctxfs/dataset.json")
    else:
        tree["files"][".ctxfs/dataset.json"] = {"has": {"?exactly": data_set}}


def add_tensor(one: dict, path: str, files: dict) -> None:
    """The elements: a header, these, and bytes that belong to none."""
    said, name = one["tensor"], one["name"]
    header = 4 + 8 * len(said["dims"])
    dtype = DTYPES[said["dtype_code"]]
    start = bytes([said["dtype_code"], len(said["dims"])])
    files[path]["parts"] = [[0, 2, sha256(start)]]
    files[path]["index"] |= {"kind": "tensor", "shape": said["dims"]}
    made = files["views/tensors/" + name] = {
        "size": said["data_bytes"], "sha256": said["data_sha256"]}
    require(one["orig_size"] == header + said["data_bytes"] + said["trailing_bytes"], name)
    if name == "f64_as_03":  # by the old table of types
        dtype = "f64"
        # The source is by the new one, as bf16, and leaves bytes over.
        made["parts"] = [[0, said["data_bytes"], made.pop("sha256")]]
        made["size"] = one["orig_size"] - header
        made["slices"] = [[path, header, one["orig_size"]]]
    files[path]["index"]["dtype"] = dtype
    made["xattrs"] = {"dtype": dtype, "shape": said["dims"]}
    if said["data_offset_in_file"] is not None:
        made["xattrs"]["offset"] = said["data_offset_in_file"]
    if made["size"]:
        made["npy"] = f"views/{'raw16' if dtype == 'bf16' else 'npy'}/{name}.npy"
    if "expected" in one:
        add_reference(one, dtype, made)


def add_reference(one: dict, dtype: str, made: dict) -> None:
    """What the reference reader says of a tensor: its dtype and its first values."""
    said, name = one["expected"], one["name"]
    require(said["name"] == name and NAMES[said["dtype"]] == dtype, name)
    for key in ("dtype_code", "dims", "data_bytes"):
        require(said[key] == one["tensor"][key], name, key)
    require(said["data_sha256"] in ("", one["tensor"]["data_sha256"]), name)
    if "data_hex" in said:
        require(sha256(bytes.fromhex(said["data_hex"])) == one["tensor"]["data_sha256"], name)
    if "values_preview" in said:
        made["values"] = {"first": said["values_preview"]}


def add_reasons(entries: list, tree: dict) -> None:
    """Where a tensor's header is, if something is wrong with it, and what."""
    for one in entries:
        require(("tensor_error" in one) == ("reference_error" in one), one["name"])
    bad = [one for one in entries if "tensor_error" in one]
    if bad:
        tree["some_warnings"] = [[f"byte {one['data_offset']}: ", f"'{one['name']}'",
                                  REASONS[one["tensor_error"]]] for one in bad]
        tree["no_warnings"] = [f"'{one['name']}'" for one in entries if one not in bad]


def add_tensors(answer: dict, paths: dict, tree: dict) -> None:
    files = tree["files"]
    for one in answer["entries"]:
        if "tensor" in one:
            add_tensor(one, paths[one["name"]], files)
            continue
        name = one["name"]
        if name == "__metadata__":
            files[".ctxfs/model.json"] = {"sha256": one["payload_sha256"]}
        files[paths[name]]["index"]["dtype"] = ABSENT
        tree["absent"].append(f"views/npy/{name}.npy")
        if not any(other["name"].startswith(name + "/") for other in answer["entries"]):
            tree["absent"].append(f"views/tensors/{name}")
    add_reasons(answer["entries"], tree)
    values = answer.get("dequantized", {})
    for name, said in values.items():
        require(said["scales"] in (name + ".scales", name + ".scale"), name)
        files[f"views/dequantized/{name}"] = {
            "sha256": said["f32_le_sha256"], "xattrs": {"dtype": "f32"},
            "values": {"first": said["first4"]}}
        files.setdefault(f"views/tensors/{said['scales']}", {"readable": True})
    # The one with scales whose source does not have them.
    if "role6" in answer["file"]:
        return
    if values:
        tree["names"] = {"views/dequantized": sorted(values)}
    else:
        tree["absent"].append("views/dequantized")


def add_tagged(answer: dict, tree: dict) -> None:
    said = answer["expected"]["tagged"]
    require(set(said) == {"tag_bits", "tags", "entry_flags", "value"}, "tagged")
    index = tree["files"]["tagged"]["index"]
    require(said["tag_bits"] == index["tag_bits"], "tag_bits")
    require(said["entry_flags"] == index["flags"], "entry_flags")
    index["tags"] = said["tags"]
    tree["files"]["views/tensors/tagged"]["values"] = {"first": [said["value"]]}


def add_legacy_types(answer: dict, tree: dict) -> None:
    said, files = answer["expected"], tree["files"]
    for texts in said.values():
        require(set(texts) <= {"old_table", "new_table", "payload_after_header"}, "texts")
    old = files["views/tensors/f64_as_03"]
    old |= {"size": said["f64_as_03"]["payload_after_header"],
            "values": {"first": [1, -2.5, 3.141592653589793]}}
    # Nothing tells the two tables apart here, so it is as the new one has it.
    new = files["views/tensors/bf16_as_09"]
    [values] = re.findall(r"\[.*?\]", said["bf16_as_09"]["new_table"])
    new["values"] = {"first": json.loads(values)}
    new["xattrs"]["note"] = {"?contains": "bfloat16"}


def add_k_quants(answer: dict, tree: dict, folder: pathlib.Path) -> None:
    """Nothing in the container says that they are more than bytes."""
    for said in answer["expected"]:
        require(set(said) == BLOCKS, said["name"])
        tensor = tree["files"]["views/tensors/" + said["name"]]
        rows, row_bytes = tensor["xattrs"]["shape"]
        require(tensor["sha256"] == said["data_sha256"], said["name"])
        require(tensor["xattrs"]["dtype"] == "u8", said["name"])
        require(rows == said["logical_shape"][0], said["name"])
        require(row_bytes % said["block_bytes"] == 0, said["name"])
        values = (folder / f"kquant_{said['ggml_type']}.f32").read_bytes()
        require(sha256(values) == said["dequant_f32_le_sha256"], said["name"])
        require(len(values) == 4 * rows * said["logical_shape"][1], said["name"])
        require(list(struct.unpack_from("<8f", values)) == said["first8"], said["name"])


def add_manifest(source: pathlib.Path, answer: dict, tree: dict) -> None:
    """Its references before and after their digests are asked for."""
    said, files = answer["expected"], tree["files"]
    require(said == answer["metadata_section"]["manifest"], "expected")
    before, verdicts = [], []
    for one in said["files"]:
        # What is there is what is in the folder under a plain name.
        beside = source.parent / one["uri"]
        there = "/" not in one["uri"] and beside.exists()
        before.append(one | {"present": there, "verified": "no" if "sha256" in one else "none"})
        right = there and sha256(beside.read_bytes()) == one["sha256"]
        verdicts.append({"verified": "absent" if not there else "yes" if right else "failed"})
    files[".ctxfs/manifest.json"] = {"has": before}
    files[".ctxfs/sha256.json"] = {"has": verdicts}
    files["./.ctxfs/manifest.json"] = {"has": [
        one | verdict if one["present"] else one for one, verdict in zip(before, verdicts)]}
    tree["names"] = {"parts": sorted(one["uri"] for one in before if one["present"])}


def add_episode(source: pathlib.Path, answer: dict, tree: dict, info: dict) -> None:
    """The lanes of the chunks in a row, and each chunk as it is alone."""
    said, files, lanes, shown = answer["expected"], tree["files"], {}, []
    for chunk in said["chunks"]:
        require(chunk["total_chunks"] == len(said["chunks"]), "total_chunks")
        require(sha256((source.parent / chunk["uri"]).read_bytes()) == chunk["sha256"], "sha256")
        alone = json.loads((source.parent / (chunk["uri"] + ".json")).read_text())
        shown.append(chunk | {"sha256": "ok", "total_chunks": ABSENT})
        for one in alone["entries"]:
            name, path = one["name"], f"views/chunks/{chunk['uri']}/{one['name']}"
            files[path] = {"size": one["orig_size"], "sha256": one["payload_sha256"]}
            if name.split("/")[0] in ("signal", "action", "reward", "done"):
                lanes.setdefault(name, []).append([path, 0, one["orig_size"]])
    for name, slices in lanes.items():
        require(len(slices) == len(said["chunks"]), name)
        files["episode/" + name] = {"size": sum(size for _, _, size in slices), "slices": slices}
    require(files["episode/done"]["size"] == said["total_timesteps"], "total_timesteps")
    info |= {"continuity": "ok", "chunks": shown, "episode": {
        "id": said["episode_id"], "total_timesteps": said["total_timesteps"]}}


def tree_of(source: pathlib.Path, answer: dict, whole: bytes) -> dict:
    header = answer["header"]
    info = {"container_size": header["total_file_size"], "role": header["role"],
            "flags": int(header["flags"], 16), "alignment": header["alignment"],
            "compression_default": header["compression_default"]}
    files = {".ctxfs/container": {"sha256": answer["sha256"]}}
    tree = {"absent": [], "files": files, "entries": len(answer["entries"])}
    columns = source.stem.endswith(".cshard")
    names = [one["name"] for one in answer["entries"]]
    paths = [column_path(name) for name in names] if columns else paths_of(
        [name.encode() for name in names])
    damaged = answer.get("vector_index", {}).get("damaged", [])
    for path, one in zip(paths, answer["entries"]):
        files[text_of(path)] = entry(one, whole, one["name"] in damaged)
        if columns and ":" in one["name"]:
            files[text_of(path)]["xattrs"] = {"name": one["name"]}
    by_name = {}
    for name, path in zip(names, paths):
        by_name.setdefault(name, text_of(path))
    add_metadata(answer, whole, tree)
    if "samples" in answer:
        info["role_name"] = "SampleShard"
        add_samples(answer, by_name, tree)
    if header["role"] in TENSORS:
        info |= {"format": "shard", "entries": header["entry_count"]}
        add_tensors(answer, by_name, tree)
    if columns:
        column_shards.add(answer, tree, info)
    if "files" in answer.get("expected", {}):
        add_manifest(source, answer, tree)
    if "chunks" in answer.get("expected", {}):
        add_episode(source, answer, tree, info)
    if "tagged" in answer.get("expected", {}):
        add_tagged(answer, tree)
    if isinstance(answer.get("expected"), dict):
        graphs.add_expected(answer["expected"], answer, tree)
    if "f64_as_03" in answer.get("expected", {}):
        add_legacy_types(answer, tree)
    if isinstance(answer.get("expected"), list):
        add_k_quants(answer, tree, source.parent)
    if "vector_index" in answer:
        vector_index.add(answer, tree, info)
    files[".ctxfs/info.json"] = {"growing": True, "has": info}
    return tree


def check_of(answer: dict) -> dict:
    """The first writer's checksums are of another polynomial."""
    ieee = "legacy_crc32" in answer["file"]
    bad = [one["name"] for one in answer.get("entries", [])
           if not one.get("crc32c_ok", True) and not ieee]
    bad = bad or answer.get("vector_index", {}).get("damaged", [])
    return {"check": outcome(not bad) | {"entries": sorted(bad)}}


def convert(source: pathlib.Path, answer: dict):
    require(set(answer) <= KEYS, set(answer) - KEYS)
    if "header" in answer:
        whole = source.with_suffix("").read_bytes()
        check_source(source, answer, whole)
        made = tree_of(source, answer, whole)
    else:
        made = graphs.tree_of(source, answer)
    yield case_names(source.with_suffix(""))[0], made | check_of(answer)
