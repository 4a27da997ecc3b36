# SPDX-License-Identifier: Apache-2.0
"""ctxfs diff of models: of several files, with parts that are missing, and converted ones."""

import json
import shutil
import struct
import zlib

import numpy
import pytest

from conftest import BIN, GOLDEN, run
from models import gguf_split, safetensors, shards
from shard import build, crc32c, entry, header_of, record_of

CTXFS = BIN / "ctxfs"


def diff(*args):
    """The exit code and the JSON."""
    done = run(CTXFS, "diff", "--json", *args)
    assert not done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


def kinds(found) -> dict:
    """What happened to which entry."""
    return {(one["first"] or one["second"])["path"]: one["kind"] for one in found["entries"]}


def model(**changes) -> dict:
    arrays = {name: numpy.arange(64, dtype="f4").reshape(2, 32) + i
              for i, name in enumerate(("a", "b", "c", "d", "e"))}
    return arrays | changes


CHANGED = numpy.zeros((2, 32), "f4")


@pytest.mark.parametrize("write, whole", [
    (shards, "model.safetensors.index.json"), (gguf_split, "model-00001-of-00002.gguf")])
def test_43_3_a_model_of_several_files_is_counted_once(tmp_path, write, whole):
    write(tmp_path / "base", model(), 2)
    write(tmp_path / "tuned", model(b=CHANGED, e=CHANGED), 2)
    code, found = diff(tmp_path / "base", tmp_path / "tuned")
    assert code == 1
    assert kinds(found) == {f"{whole}/tensors/b": "changed", f"{whole}/tensors/e": "changed"}
    assert found["totals"]["changed"]["entries"] == 2
    # All else of the parts is still compared: what each says of itself.
    entries = {kind: one["entries"] for kind, one in found["totals"].items()}
    assert entries["same"] == 3 + 3 - (write is gguf_split)


def test_43_3_other_shards_of_the_same_model_are_no_difference_of_its_tensors(tmp_path):
    shards(tmp_path / "base", model(), 2)
    shards(tmp_path / "again", model(d=CHANGED), 3)
    code, found = diff(tmp_path / "base", tmp_path / "again")
    assert code == 1
    tensors = {path: kind for path, kind in kinds(found).items() if "/tensors/" in path}
    assert tensors == {"model.safetensors.index.json/tensors/d": "changed"}


def test_43_3_shards_in_a_folder_of_their_own_are_counted_once(tmp_path):
    for side, arrays in (("base", model()), ("tuned", model(b=CHANGED))):
        (tmp_path / side / "sub").mkdir(parents=True)
        safetensors(tmp_path / side / "sub" / "x.safetensors", arrays)
        (tmp_path / side / "model.safetensors.index.json").write_text(json.dumps(
            {"weight_map": dict.fromkeys(arrays, "sub/x.safetensors")}))
    code, found = diff(tmp_path / "base", tmp_path / "tuned")
    assert (code, kinds(found)) == (1, {"model.safetensors.index.json/tensors/b": "changed"})


def test_43_3_shards_without_their_index_are_compared(tmp_path):
    for side, arrays in (("base", model()), ("tuned", model(b=CHANGED))):
        shards(tmp_path / side, arrays, 2).unlink()
    code, found = diff(tmp_path / "base", tmp_path / "tuned")
    assert code == 1
    assert kinds(found) == {"model-00002-of-00002.safetensors/tensors/b": "changed"}


@pytest.mark.parametrize("write", [shards, gguf_split])
def test_43_1_what_a_side_lacks_is_said(tmp_path, write):
    """Two models with the same part missing are not the same: nothing was compared of it."""
    for side in ("base", "tuned"):
        whole = write(tmp_path / side, model(), 2)
        part = next(one for one in whole.parent.iterdir() if "00002-of" in one.name)
        part.unlink()
    code, found = diff(tmp_path / "base" / whole.name, tmp_path / "tuned" / whole.name)
    assert code == 2
    assert [(one["source"], one["path"]) for one in found["incomplete"]] == [
        (str(tmp_path / side / whole.name), "") for side in ("base", "tuned")]
    assert all(part.name in one["error"] for one in found["incomplete"])
    text = run(CTXFS, "diff", tmp_path / "base" / whole.name, tmp_path / "tuned" / whole.name)
    assert text.returncode == 2
    told = [line for line in text.stdout.decode().splitlines() if "incomplete" in line]
    assert len(told) == 2 and all(part.name in line for line in told)
    # In a directory, the container is named.
    code, found = diff(tmp_path / "base", tmp_path / "tuned")
    assert code == 2
    assert {one["path"] for one in found["incomplete"]} == {whole.name}
    stat = run(CTXFS, "diff", "--stat", tmp_path / "base", tmp_path / "tuned")
    assert stat.returncode == 2 and b"incomplete" in stat.stdout


def test_43_1_a_whole_side_is_not_called_incomplete(tmp_path):
    index = shards(tmp_path / "base", model(), 2)
    code, found = diff(index, index)
    assert (code, found["incomplete"]) == (0, [])


def test_43_1_many_incomplete_containers_are_counted(tmp_path):
    for i in range(30):
        index = shards(tmp_path / f"{i:02}", model(), 2)
        (index.parent / "model-00002-of-00002.safetensors").unlink()
    code, found = diff(tmp_path, tmp_path)
    assert code == 2 and len(found["incomplete"]) == 60
    told = run(CTXFS, "diff", "--stat", tmp_path, tmp_path).stdout.decode().splitlines()
    lines = [line for line in told if "incomplete" in line]
    assert len(lines) <= 21 and "40 more" in lines[-1]


def test_43_1_the_page_of_a_comparison_says_what_a_side_lacks(tmp_path):
    index = shards(tmp_path / "base", model(), 2)
    (index.parent / "model-00002-of-00002.safetensors").unlink()
    page = tmp_path / "page.html"
    done = run(CTXFS, "report", "--diff", "-o", page, index, index)
    assert done.returncode == 2
    assert f"{index.name} is incomplete: " in page.read_text()


# ---- Containers that show what is in other files

def flip(path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def flip_record(path) -> None:
    """Changes the first elements of a checkpoint's file, and their CRC-32 where it stands."""
    data = path.read_bytes()
    name = b"archive/data/0"
    local = data.index(name) - 30
    central = data.index(name, local + 60) - 46
    size, = struct.unpack_from("<I", data, central + 20)
    first = local + 30 + sum(struct.unpack_from("<HH", data, local + 26))
    old = data[first:first + size]
    new = bytes([old[0] ^ 1]) + old[1:]
    crc = [struct.pack("<I", zlib.crc32(one)) for one in (old, new)]
    assert crc[0] in data
    path.write_bytes((data[:first] + new + data[first + size:]).replace(*crc))


# The containers in golden/, what changes one of their files, and where the change stands.
WHOLES = {
    "external data": ("onnx", ("external_one.onnx", "external_one.data"),
                      lambda folder: flip(folder / "external_one.data", 100),
                      "external_one.onnx/tensors/big1"),
    "distributed checkpoint": ("torch-distributed/sound", None,
                               lambda folder: flip_record(folder / "__0_0.distcp"),
                               ".metadata/tensors/"),
    "data set": ("mds/scalars", None,
                 lambda folder: flip(folder / "shard.00000.mds", -1), "index.json/columns/"),
    "episode": ("wshard/chunked", None, None, "ep_long_manifest.wshard/episode/reward"),
    "manifest": ("shard-profiles", ("model.manifest", "part-00001-of-00002.mosh",
                                    "part-00002-of-00002.mosh"), None,
                 "model.manifest/parts/part-00001-of-00002.mosh/layers.0.weight"),
}


def rewritten(path, name: bytes) -> None:
    """Changes the last byte of an entry of a Shard, and its checksum."""
    data = bytearray(path.read_bytes())
    header = header_of(data)
    for number in range(header["entry_count"]):
        at = 64 + 48 * number
        start, length = struct.unpack_from("<IH", data, at + 8)
        start += header["string_table_offset"]
        if data[start:start + length] == name:
            break
    record = record_of(data, number)
    first, size = record["data_offset"], record["original_size"]
    assert record["stored_size"] == size
    data[first + size - 1] ^= 1
    struct.pack_into("<I", data, at + 40, crc32c(bytes(data[first:first + size])))
    path.write_bytes(data)


@pytest.mark.parametrize("case", WHOLES)
def test_43_3_what_a_container_shows_of_other_files_is_counted_once(case, tmp_path):
    where, names, change, stands = WHOLES[case]
    for side in ("base", "tuned"):
        (tmp_path / side / "it").mkdir(parents=True)
        for path in (GOLDEN / where).iterdir():
            if path.suffix not in (".md", ".npy") and (names is None or path.name in names):
                shutil.copy(path, tmp_path / side / "it")
    assert diff(tmp_path / "base", tmp_path / "tuned")[0] == 0
    folder = tmp_path / "tuned" / "it"
    if case == "episode":
        rewritten(folder / "ep_long_chunk_0001.wshard", b"reward")
    elif case == "manifest":
        rewritten(folder / "part-00001-of-00002.mosh", b"layers.0.weight")
    else:
        change(folder)
    code, found = diff(tmp_path / "base", tmp_path / "tuned")
    assert code == 1
    [(path, kind)] = kinds(found).items()
    assert kind == "changed" and path.startswith(f"it/{stands}"), path
    # The folder itself, and the container in it.
    code, found = diff(tmp_path / "base/it", tmp_path / "tuned/it")
    assert code == 1 and len(found["entries"]) == 1


def test_43_3_what_a_container_does_not_show_is_still_compared(tmp_path):
    """Bytes that are in no tensor, and manifests that name each other."""
    for side in ("base", "tuned"):
        (tmp_path / side).mkdir()
        for name in (".metadata", "__0_0.distcp", "__1_0.distcp"):
            shutil.copy(GOLDEN / "torch-distributed/appended" / name, tmp_path / side)
        for i in "01":
            other = {"manifest": {"files": [{"uri": f"{1 - int(i)}.manifest"}]}}
            (tmp_path / side / f"{i}.manifest").write_bytes(build(
                [entry("x", side.encode())], 4, json.dumps(other).encode()))
    flip(tmp_path / "tuned" / "__0_0.distcp", -1)
    code, found = diff(tmp_path / "base", tmp_path / "tuned")
    assert code == 2  # containers in containers end somewhere
    assert {"0.manifest/x", "1.manifest/x"} <= set(kinds(found))
    assert kinds(found)["__0_0.distcp"] == "changed"


def test_43_3_a_tensor_whose_file_is_missing_stands_once(tmp_path):
    for side in ("base", "tuned"):
        index = shards(tmp_path / side, model(), 2)
    gone = next(one for one in index.parent.iterdir() if "00001-of" in one.name)
    gone.unlink()
    code, found = diff(tmp_path / "base" / index.name, index)
    assert code == 2
    told = {(one["first"] or one["second"])["path"].split("/")[-1]: one["kind"]
            for one in found["entries"]}
    assert set(told.values()) == {"failed"} and len(found["entries"]) == len(told) == 3
