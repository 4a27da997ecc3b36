# SPDX-License-Identifier: Apache-2.0
"""ctxfs check says of every golden container what its JSON says."""

import functools
import json

import pytest

from conftest import BIN, GOLDEN, run

CLEAN, DAMAGED, EITHER = "clean", "not clean", "either"


@functools.cache
def check(container) -> dict:
    done = run(BIN / "ctxfs", "check", "--json", container)
    [report] = json.loads(done.stdout)
    assert done.returncode == ["clean", "damaged", "unchecked"].index(report["outcome"])
    return report


def entries_of(report: dict) -> list:
    """The entries that have faults; None for those that are of no entry."""
    return sorted(
        {f["entry"] if f["entry"] is not None else "" for f in report["faults"]}
    )


# What is right by the JSON, and stands in the way of a check all the same.
SHARD_EXTRA = {
    # A leniency: the checksum of the first entry is of another polynomial.
    "crc_ieee_polynomial": ([], CLEAN),
    # Of role 5 without being an episode: its meta/episode is no JSON.
    "crc_of_stored_bytes": ([], DAMAGED),
    # A name outside the string table is told, and replaced.
    "layout_data_section_in_header": ([], DAMAGED),
    "names_out_of_bounds": ([], DAMAGED),
}


def shard(answer: dict, stem: str):
    """The entries that have faults, None for a refused container; the outcome."""
    stem = stem.removesuffix(".shard")
    if stem in SHARD_EXTRA:
        return SHARD_EXTRA[stem]
    if answer["recommended"].startswith("refuse"):
        return None, DAMAGED
    bad = [e for e in answer["entries"] if e["decoded_sha256"] is None]
    damaged = bad or "metadata: error" in answer["recommended"]
    return sorted(e["name"] for e in bad), DAMAGED if damaged else CLEAN


def wshard(answer: dict, _stem: str):
    bad = {e["name"] for e in answer.get("entries", []) if e.get("error")} - {None}
    incomplete = "state" in answer and not answer.get("complete")
    if answer.get("fatal") or not answer.get("mountable", True) or incomplete:
        return None, DAMAGED
    broken = isinstance(answer.get("continuity"), list) or answer.get("errors")
    size = any("total_file_size" in w for w in answer.get("warnings", ()))
    return sorted(bad), DAMAGED if bad or broken or size else CLEAN


# Tensors that are served as bytes because nobody knows their type, or what is
# left of their values: odd, and as it was written. Or odd, and no harm done.
MCF_ODD = {
    "dtype_unknown", "embed_f16_int8", "embed_int4", "index_without_data",
    "q_no_flag", "q_unaligned", "qi_index_range", "qi_method_mismatch",
}


def mcf(answer: dict, stem: str):
    if not answer["open"]["ok"]:
        return None, DAMAGED
    if stem.removesuffix(".mcf") in MCF_ODD or answer["kind"] == "ok":
        return [], CLEAN
    return None, DAMAGED


def cvc(answer: dict, _stem: str):
    reader = answer["reader"]
    if reader["verdict"] != "accept":
        return None, DAMAGED if reader["verdict"] == "reject" else EITHER
    bad = any("error" in column or column.get("bad_chunks")
              for column in reader["columns"])
    return None, DAMAGED if bad or reader.get("bad_chunks") else CLEAN


def mem8(answer: dict, _stem: str):
    members = answer.get("members", [])
    bad = answer["open"] != "ok" or any(
        "out of range" in m["status"] for m in members
    )
    cut = any(
        word in warning for warning in answer.get("warnings", [])
        for word in ("runs past", "out of range", "outside", "truncated")
    )
    return None, DAMAGED if bad or cut else CLEAN


def megacontext(answer: dict, _stem: str):
    snapshots = answer.get("snapshots", [])
    partial = any("partial" in str(name) for name in snapshots)
    return None, CLEAN if answer["open"] == "ok" and not partial else DAMAGED


def profiles(answer: dict, _stem: str):
    entries = answer.get("entries", [])
    ieee = "legacy_crc32" in answer["file"]
    bad = [e["name"] for e in entries if not e.get("crc32c_ok", True) and not ieee]
    return sorted(bad), DAMAGED if bad else CLEAN


FOLDERS = {
    "shard": shard, "wshard": wshard, "mcf": mcf, "cvc": cvc, "mem8": mem8,
    "megacontext": megacontext, "shard-profiles": profiles,
}


def cases():
    for folder, expect in FOLDERS.items():
        for path in sorted((GOLDEN / folder).rglob("*.json")):
            try:
                answer = json.loads(path.read_text())
            except ValueError:
                continue  # a container's own
            if not isinstance(answer, dict):
                continue
            name = answer.get("dir", answer.get("file"))
            container = path.parent / str(name).rsplit("/", maxsplit=1)[-1]
            if "sha256" not in answer and "dir" not in answer:
                continue
            if name and container.exists():
                yield pytest.param(container, answer, expect,
                                   id=f"{folder}/{container.name}")


CASES = list(cases())
assert len(CASES) > 500, "no golden containers"


@pytest.mark.parametrize("container, answer, expect", CASES)
def test_golden(container, answer, expect):
    report = check(container)
    entries, outcome = expect(answer, container.name)
    assert outcome == EITHER or (report["outcome"] == "clean") == (outcome == CLEAN)
    if entries is not None:
        assert [name for name in entries_of(report) if name] == entries
    for fault in report["faults"]:
        # Whatever is damage within a file is at a byte of it.
        assert fault["reason"]
        assert fault["kind"] != "checksum" or fault["offset"] is not None


# Their answers say which files cannot be read; paths are of tree contract 1.
WITH_PATHS = {"zip": "", "npz": "", "torch": "", "tar": "", "onnx": "",
              "gguf": ".gguf", "safetensors": ".safetensors"}
# Warnings of damage that leaves no file unreadable.
DAMAGE = ("pickle", "split-")
FOR_GOOD = ("checksum", "corrupt", "limit", "locked", "no container", "version")


def answers_with_paths():
    for folder, extension in WITH_PATHS.items():
        for path in sorted((GOLDEN / folder).glob("*.json")):
            answer = json.loads(path.read_text())
            if "format" not in answer:
                continue  # the code books of gguf
            container = path.with_suffix(extension)
            if "source" in answer:
                container = path.parent / answer["source"]
            yield pytest.param(container, answer, id=f"{folder}/{path.stem}")


def unreadable_in(answer: dict) -> set[str]:
    """Primary files that cannot be read, those of a refused one with salvage."""
    part = answer.get("salvage", answer)
    paths = set(part.get("eio", []) + part.get("eacces", []))
    if "open" in answer:
        return {"tensors/" + path.removeprefix("tensors/") for path in paths}
    return {path for path in paths if not path.startswith(("members/", "arrays/"))}


@pytest.mark.parametrize("container, answer", answers_with_paths())
def test_what_cannot_be_read(container, answer):
    """Each such file has a fault, and no other has one. None is a failed read of
    the container, which another try might cure."""
    report = check(container)
    paths = {f["path"] for f in report["faults"] if not f["path"].startswith(".ctxfs/")}
    assert paths - {""} == unreadable_in(answer)
    assert all(f["reason"] and f["kind"] in FOR_GOOD for f in report["faults"])
    code = answer.get("refuse", answer.get("open", {"exit": 0}))["exit"]
    if code:
        assert report["outcome"] == ("damaged" if code == 4 else "unchecked")
    else:
        damage = any(key.startswith(DAMAGE) for key in answer.get("warnings", []))
        assert (report["outcome"] != "clean") == (damage or bool(paths - {""}))
