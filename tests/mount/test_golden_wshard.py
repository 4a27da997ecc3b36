# SPDX-License-Identifier: Apache-2.0
"""Every container of golden/wshard, through a real mount, as its JSON says."""

import errno
import hashlib
import json
import os
import shutil
import struct
import zlib

import numpy
import pytest

from conftest import GOLDEN
from test_golden_shard import paths_of, stored_name

ROOT = GOLDEN / "wshard"
ANSWERS = sorted(
    p for p in ROOT.rglob("*.json")
    if p.with_suffix(".wshard").exists() or p.with_suffix(".wshard.partial").exists()
)
assert ANSWERS, "no golden containers"


def container_of(answer_file):
    whole = answer_file.with_suffix(".wshard")
    return whole if whole.exists() else answer_file.with_suffix(".wshard.partial")


def sha256(path) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def expected_exit(answer: dict, container) -> int:
    """What mounting it without salvage exits with."""
    data = container.read_bytes()
    if data[:4] != b"SHRD":
        return 3
    header = answer.get("header", {})
    if header.get("version", 2) != 2:
        return 5
    if header.get("entry_count", 0) > 10_000_000:
        return 8
    if not answer.get("mountable", True) or header["total_file_size"] != len(data):
        return 4
    past = "extent past end of file"
    return 4 if any(e.get("error") == past for e in answer["entries"]) else 0


def check_entry(path: bytes, shown: dict, entry: dict, repaired: dict) -> None:
    assert shown["stored_size"] == entry["disk_size"]
    assert shown["offset"] == entry["offset"]
    assert shown["codec"] == entry["codec"]
    if "error" in entry:
        with pytest.raises(OSError) as failed:
            sha256(path)
        assert failed.value.errno == errno.EIO
        return
    assert os.stat(path).st_size == shown["size"]
    assert sha256(path) == repaired.get(entry["name"], entry)["sha256"]
    if "shape" not in entry:
        assert "dtype" not in shown and "shape" not in shown
        return
    assert shown["dtype"] == entry["dtype"]
    assert shown["shape"] == entry["shape"]
    assert shown["dtype_source"] == entry["dtype_source"]
    assert os.getxattr(path, "user.ctxfs.dtype") == entry["dtype"].encode()
    assert json.loads(os.getxattr(path, "user.ctxfs.shape")) == entry["shape"]
    guess = entry["dtype_source"] not in ("meta/channels", "implied")
    assert ("guess" in shown.get("note", "")) == guess


@pytest.mark.parametrize(
    "answer_file", ANSWERS, ids=lambda p: str(p.relative_to(ROOT).with_suffix(""))
)
def test_golden(answer_file, mount, refused):
    answer = json.loads(answer_file.read_text())
    container = container_of(answer_file)
    code = expected_exit(answer, container)
    options = []
    if code != 0:
        assert refused(container)[0] == code
        options = ["salvage"]
    entries = answer.get("entries", [])
    cut = any(e.get("error") == "index truncated" for e in entries)
    if cut or not answer.get("mountable", bool(entries)):
        refused(container, "salvage")
        return

    mounted = mount(container, *options)
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    for key, value in (answer.get("episode") or {}).items():
        assert info["episode"][key] == value
    index = json.loads((mounted / ".ctxfs" / "index.json").read_text())
    paths = paths_of(index)
    assert len(set(paths)) == len(entries)
    root = os.fsencode(mounted.root)
    repaired = answer.get("repaired", {"entries": {}})["entries"]
    assert set(info.get("repaired", {"entries": []})["entries"]) == set(repaired)
    for path, shown, entry in zip(paths, index, entries):
        assert (shown["name"] or "") == entry["name"] or "name_hex" in entry
        assert stored_name(entry) == b"" or path
        check_entry(os.path.join(root, path), shown, entry, repaired)

    for name, residual in answer.get("residual", {}).items():
        signs = mounted / "views/residual_signs" / name[len("residual/"):-len("/sign2nddiff")]
        assert sha256(signs) == residual["decoded_sha256"]
        shape = json.loads(os.getxattr(signs, "user.ctxfs.shape"))
        assert shape == residual["decoded_shape"]
        assert os.getxattr(signs, "user.ctxfs.dtype") == b"i8"

    if "continuity" not in answer:
        return
    assert info["continuity"] == answer["continuity"]
    joined = answer.get("concatenated")
    digest = "sha_manifest" in container.name and joined is None
    assert (mounted / "episode").exists() == (joined is not None or digest)
    for name, lane in (joined or {}).items():
        if name == "time/ticks":
            continue
        path = mounted / "episode" / name.replace(" + timestep_range[0]", "")
        assert path.stat().st_size == lane["size"]
        assert sha256(path) == lane["sha256"]
        assert os.getxattr(path, "user.ctxfs.dtype") == lane["dtype"].encode()
        assert json.loads(os.getxattr(path, "user.ctxfs.shape")) == lane["shape"]


def test_chunks_are_containers(mount):
    mounted = mount(ROOT / "chunked" / "ep_long_manifest.wshard")
    names = sorted(p.name for p in (mounted / "views/chunks").iterdir())
    assert names == [f"ep_long_chunk_000{k}.wshard" for k in range(3)]
    joined = b""
    for name in names:
        chunk = mounted / "views/chunks" / name
        answer = json.loads((ROOT / "chunked" / name).with_suffix(".json").read_text())
        for entry in answer["entries"]:
            assert sha256(chunk / entry["name"]) == entry["sha256"]
        joined += (chunk / "signal" / "rgb").read_bytes()
    rgb = mounted / "episode" / "signal" / "rgb"
    assert os.getxattr(rgb, "user.ctxfs.verified") == b"no"
    assert rgb.read_bytes() == joined
    assert os.getxattr(rgb, "user.ctxfs.verified") == b"yes"
    assert os.getxattr(rgb, "user.ctxfs.codec") == b"zstd"
    mixed = mounted / "episode" / "signal" / "joint_pos"
    assert os.getxattr(mixed, "user.ctxfs.codec") == b"mixed"
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    assert [chunk["sha256"] for chunk in info["chunks"]] == ["ok"] * 3


@pytest.mark.parametrize("name", ["escape", "absolute"])
def test_nothing_outside_is_shown(name, mount):
    mounted = mount(ROOT / "chunked_bad" / f"{name}_manifest.wshard")
    names = sorted(p.name for p in (mounted / "views/chunks").iterdir())
    assert names == ["ep_long_chunk_0000.wshard", "ep_long_chunk_0001.wshard"]


def test_a_link_out_of_the_folder_is_not_followed(mount, tmp_path):
    folder = tmp_path / "episode"
    shutil.copytree(ROOT / "chunked", folder)
    chunk = folder / "ep_long_chunk_0002.wshard"
    chunk.rename(tmp_path / "outside")
    chunk.symlink_to(tmp_path / "outside")
    mounted = mount(folder / "ep_long_manifest.wshard")
    assert not (mounted / "episode").exists()
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    assert any("leads out" in warning for warning in info["warnings"])
    assert os.listdir(mounted / "views/chunks" / chunk.name) == []
    assert (mounted / "views/chunks" / chunk.name / ".ctxfs/info.json").is_file()


def test_a_chunk_that_changes_is_stale(mount, tmp_path):
    folder = tmp_path / "episode"
    shutil.copytree(ROOT / "chunked", folder)
    mounted = mount(folder / "ep_long_manifest.wshard")
    chunk = folder / "ep_long_chunk_0001.wshard"
    chunk.write_bytes(chunk.read_bytes()[:-1] + b"x")
    with pytest.raises(OSError) as failed:
        (mounted / "episode" / "reward").read_bytes()
    assert failed.value.errno == errno.ESTALE


def test_damage_of_interleaved_lanes_is_found(mount, tmp_path):
    """Whose byte it is shows only after the repair: none is trusted."""
    sound = ROOT / "stream" / "py_150_interleaved.wshard"
    damaged = tmp_path / "damaged.wshard"
    data = bytearray(sound.read_bytes())
    data[1000] ^= 1
    damaged.write_bytes(data)
    mounted = mount(damaged)
    for lane in ("signal/state", "signal/rgb", "reward"):
        with pytest.raises(OSError) as failed:
            (mounted / lane).read_bytes()
        assert failed.value.errno == errno.EIO
    assert json.loads((mounted / "meta" / "episode").read_bytes())


ENTRY = {
    "name", "name_hex", "offset", "disk_size", "orig_size", "flags", "crc32c",
    "content_type", "name_hash", "hash_kind", "codec_from", "codec", "lz4", "crc_over",
    "sha256", "dtype", "shape", "dtype_source", "npy_size", "npy_sha256", "frames",
    "error",
}


def check_view(mounted, path: str, entry: dict) -> None:
    """The .npy is what numpy.save writes, byte for byte; bf16 has one of its bits."""
    view = "raw16" if entry["dtype"] == "bf16" else "npy"
    npy = mounted / "views" / view / (path + ".npy")
    assert os.stat(npy).st_size == entry["npy_size"]
    assert sha256(npy) == entry["npy_sha256"]
    if "frames" not in entry:
        return
    frames = entry["frames"]
    assert set(frames) == {"count", "height", "width", "channels", "first_sha256",
                           "last_sha256"}
    data = (mounted / path).read_bytes()
    size = len(data) // frames["count"]
    wide = 2 if entry["dtype"] == "u16" else 1
    assert size == frames["height"] * frames["width"] * frames["channels"] * wide
    assert hashlib.sha256(data[:size]).hexdigest() == frames["first_sha256"]
    assert hashlib.sha256(data[-size:]).hexdigest() == frames["last_sha256"]
    pictures = mounted / "views" / "frames" / path
    names = sorted(os.listdir(pictures))
    assert len(names) == frames["count"]
    for name, frame in ((names[0], data[:size]), (names[-1], data[-size:])):
        png = (pictures / name).read_bytes()
        assert struct.unpack_from(">II", png, 16) == (frames["width"], frames["height"])
        assert pixels(png) == big_endian(frame, wide)


def big_endian(frame: bytes, wide: int) -> bytes:
    return frame if wide == 1 else numpy.frombuffer(frame, "<u2").astype(">u2").tobytes()


def pixels(png: bytes) -> bytes:
    """What the rows of a PNG hold, whose filters are none, Sub and Up."""
    at, packed = 8, b""
    width, height, depth, kind = struct.unpack_from(">IIBB", png, 16)
    while at < len(png):
        length, name = struct.unpack_from(">I4s", png, at)
        if name == b"IDAT":
            packed += png[at + 8 : at + 8 + length]
        at += 12 + length
    pixel = depth // 8 * {0: 1, 2: 3, 6: 4}[kind]
    rows = numpy.frombuffer(zlib.decompress(packed), "u1").reshape(height, -1)
    assert rows.shape[1] == 1 + width * pixel
    made = numpy.zeros((height, width, pixel), "u1")
    for k, row in enumerate(rows):
        made[k] = row[1:].reshape(width, pixel)
        if row[0] == 1:
            made[k] = numpy.cumsum(made[k], axis=0, dtype="u1")
        elif row[0] == 2:
            made[k] += made[k - 1] if k > 0 else 0
        else:
            assert row[0] == 0
    return made.tobytes()


@pytest.mark.parametrize(
    "answer_file", ANSWERS, ids=lambda p: str(p.relative_to(ROOT).with_suffix(""))
)
def test_header_index_and_views(answer_file, mount):
    """The keys that test_golden does not look at."""
    answer = json.loads(answer_file.read_text())
    container = container_of(answer_file)
    whole = container.read_bytes()
    if "sha256" in answer:
        assert answer["sha256"] == hashlib.sha256(whole).hexdigest()
        assert answer["size"] == len(whole)
    for entry in answer.get("entries", []):
        assert set(entry) <= ENTRY
    if expected_exit(answer, container) != 0 or "header" not in answer:
        return
    mounted = mount(container)
    info = json.loads((mounted / ".ctxfs/info.json").read_text())
    header = answer["header"]
    for key in ("role", "flags", "alignment", "compression_default", "version"):
        assert info[key] == header[key], key
    index = json.loads((mounted / ".ctxfs/index.json").read_text())
    assert len(index) == header["entry_count"]
    assert info["container_size"] == header["total_file_size"]
    for shown, entry in zip(index, answer["entries"]):
        assert shown["content_type"].split()[0] == str(entry["content_type"])
        assert shown["flags"] == entry["flags"]
        if entry.get("crc_over") == "absent":
            assert shown["checksum"] == ""
        elif entry["crc32c"] != "00000000":  # nothing, or that of no bytes
            assert shown["checksum"] == "crc32c:" + entry["crc32c"]
        repaired = answer.get("repaired", {"entries": {}})["entries"]
        if "error" in entry or entry["name"] in repaired:
            continue
        assert shown["size"] == entry["orig_size"]
        if "npy_sha256" in entry:
            check_view(mounted, shown["path"], entry)
