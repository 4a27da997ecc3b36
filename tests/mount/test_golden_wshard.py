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
from shard import crc32c, header_of, record_of
from test_golden_shard import check_name, paths_of, stored_name

ROOT = GOLDEN / "wshard"
ANSWERS = sorted(
    p for p in ROOT.rglob("*.json")
    if p.with_suffix(".wshard").exists() or p.with_suffix(".wshard.partial").exists()
)
assert ANSWERS, "no golden containers"


# What the mount says of an entry that cannot be read, and of a container.
ERRORS = {
    "extent past end of file": "run past the end", "crc mismatch": "checksum mismatch",
    "decompress: orig_size over the limit of 1 GiB": "over the limit of 1073741824",
}
FATAL = {
    "bad magic, version or entry size": "", "short header": "within the header",
    "index truncated": "within the index",
    "entry count over the limit of 10000000": "over the limit of 10000000",
}


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


def check_without_shape(shown: dict, entry: dict) -> None:
    """The answer has a word for what is no array."""
    assert "dtype" not in shown and "shape" not in shown
    kind = {"meta": "json", "residual": "bits"}.get(entry["name"].split("/")[0], "raw")
    assert entry.get("dtype", kind) == kind


def check_entry(path: bytes, shown: dict, entry: dict, repaired: dict) -> None:
    assert shown["stored_size"] == entry["disk_size"]
    assert shown["offset"] == entry["offset"]
    assert shown["codec"] == entry["codec"]
    assert shown["flags"] == entry["flags"]
    if "error" in entry:
        with pytest.raises(OSError) as failed:
            sha256(path)
        assert failed.value.errno == errno.EIO
        assert ERRORS[entry["error"]].encode() in os.getxattr(path, "user.ctxfs.note")
        return
    assert os.stat(path).st_size == shown["size"]
    expected = repaired.get(entry["name"], entry)
    assert sha256(path) == expected["sha256"]
    assert expected.get("size", shown["size"]) == shown["size"]
    if "shape" not in entry:
        check_without_shape(shown, entry)
        return
    assert shown["dtype"] == entry["dtype"]
    assert shown["shape"] == entry["shape"]
    assert shown["dtype_source"] == entry["dtype_source"]
    assert os.getxattr(path, "user.ctxfs.dtype") == entry["dtype"].encode()
    assert json.loads(os.getxattr(path, "user.ctxfs.shape")) == entry["shape"]
    guess = entry["dtype_source"] not in ("meta/channels", "implied")
    assert ("guess" in shown.get("note", "")) == guess


def check_warnings(info: dict, answer: dict, container) -> None:
    """What the answer warns of is warned of, or is the error of an entry."""
    text = "\n".join(info["warnings"])
    size = answer.get("header", {}).get("total_file_size")
    for warning in answer.get("warnings", []):
        if warning != "duplicate names":
            length = container.stat().st_size
            assert warning == f"total_file_size {size} is not the file size {length}"
            assert f"total_file_size {size}" in text
        else:
            assert warning in text
    by_name = {e["name"]: e.get("error") for e in answer.get("entries", [])}
    for error in answer.get("errors", []):
        name, reason = error.split(": ", 1)
        assert by_name[name] == reason or error in text
        if name.startswith("meta/") or reason.startswith("extent"):
            assert name in text
    for name, error in by_name.items() if "errors" in answer else ():
        assert error is None or f"{name}: {error}" in answer["errors"]


def check_residual(mounted, shown: list[dict], answer: dict) -> None:
    layouts = {e["name"]: e.get("residual_layout") for e in shown}
    for name, residual in answer.get("residual", {}).items():
        signs = mounted / "views/residual_signs" / name[len("residual/"):-len("/sign2nddiff")]
        assert layouts[name] == residual["layout"]
        assert sha256(signs) == residual["decoded_sha256"]
        shape = json.loads(os.getxattr(signs, "user.ctxfs.shape"))
        assert shape == residual["decoded_shape"]
        assert signs.stat().st_size == numpy.prod(shape)
        dtype = os.getxattr(signs, "user.ctxfs.dtype").decode()
        assert dtype == residual["decoded_dtype"] == "i8"


def check_manifest(info: dict, manifest: dict, folder) -> None:
    """The chunks of an episode as info.json has them: by their numbers, and with a
    verdict in place of the digest."""
    assert info["episode"]["id"] == manifest["episode_id"]
    for key in ("env_id", "total_chunks", "total_timesteps"):
        assert info["episode"][key] == manifest[key], key
    chunks = sorted(manifest["chunks"], key=lambda chunk: chunk["chunk_index"])
    for shown, chunk in zip(info["chunks"], chunks, strict=True):
        for key in ("chunk_index", "uri", "timestep_range", "length_T"):
            assert shown[key] == chunk[key], key
        assert chunk["total_chunks"] == manifest["total_chunks"]
        if "sha256" in chunk and shown["sha256"] == "ok":
            assert sha256(folder / chunk["uri"]) == chunk["sha256"]


def check_joined(mounted, info: dict, answer: dict, container) -> None:
    """The lanes of all chunks in a row."""
    assert info["continuity"] == answer["continuity"]
    assert (info["warnings"] == []) == (answer["continuity"] == "ok")
    joined = answer.get("concatenated")
    # A digest that differs is found only when someone reads it.
    digest = "sha_manifest" in container.name and joined is None
    folder = mounted / "episode"
    assert folder.exists() == (joined is not None or digest)
    if joined is None:
        return
    # Ticks are counted through; the answer has those of the chunks, too.
    lanes = {name.replace(" + timestep_range[0]", ""): lane
             for name, lane in joined.items() if name != "time/ticks"}
    chunks = [mounted / "views/chunks" / chunk["uri"] for chunk in info["chunks"]]
    ticks = b"".join((chunk / "time/ticks").read_bytes() for chunk in chunks)
    digest = hashlib.sha256(ticks).hexdigest()
    assert joined["time/ticks"] == lanes["time/ticks"] | {"sha256": digest}
    assert lanes.keys() == {
        os.path.relpath(os.path.join(above, file), folder)
        for above, _, files in os.walk(folder) for file in files
    }
    for name, lane in lanes.items():
        path = folder / name
        assert path.stat().st_size == lane["size"]
        assert sha256(path) == lane["sha256"]
        assert os.getxattr(path, "user.ctxfs.dtype") == lane["dtype"].encode()
        assert json.loads(os.getxattr(path, "user.ctxfs.shape")) == lane["shape"]


def mount_or_refuse(answer: dict, container, mount, refused):
    """The mount, salvaged if it has to be; None if that is refused, too."""
    code = expected_exit(answer, container)
    options = []
    if code != 0:
        got, text = refused(container)
        assert got == code
        assert container.name in text and "byte " in text
        options = ["salvage"]
    entries = answer.get("entries", [])
    cut = any(e.get("error") == "index truncated" for e in entries)
    if not cut and answer.get("mountable", bool(entries)):
        assert not answer.get("fatal")
        return mount(container, *options)
    assert not answer.get("errors")
    _, text = refused(container, "salvage")
    for fatal in answer.get("fatal", []):
        assert FATAL[fatal] in text
    return None


@pytest.mark.parametrize(
    "answer_file", ANSWERS, ids=lambda p: str(p.relative_to(ROOT).with_suffix(""))
)
def test_golden(answer_file, mount, refused):
    answer = json.loads(answer_file.read_text())
    container = container_of(answer_file)
    mounted = mount_or_refuse(answer, container, mount, refused)
    if mounted is None:
        return
    entries = answer.get("entries", [])
    info = json.loads((mounted / ".ctxfs" / "info.json").read_text())
    check_warnings(info, answer, container)
    for key, value in (answer.get("episode") or {}).items():
        assert info["episode"][key] == value
    index = json.loads((mounted / ".ctxfs" / "index.json").read_text())
    paths = paths_of(index)
    assert len(set(paths)) == len(entries)
    root = os.fsencode(mounted.root)
    repairs = answer.get("repaired", {"entries": {}})
    shown_repairs = info.get("repaired", {"entries": []})
    assert set(shown_repairs["entries"]) == set(repairs["entries"])
    assert shown_repairs.get("flush_interval") == repairs.get("flush_interval")
    for path, shown, entry in zip(paths, index, entries):
        check_name(shown, entry)
        assert stored_name(entry) == b"" or path
        check_entry(os.path.join(root, path), shown, entry, repairs["entries"])
    check_residual(mounted, index, answer)
    if answer.get("manifest"):
        check_manifest(info, answer["manifest"], container.parent)
    if "continuity" in answer:
        check_joined(mounted, info, answer, container)


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


# Keys of an entry, and of what shard.py makes of its record in the index.
RECORD = {
    "name_hash": "name_hash", "offset": "data_offset", "disk_size": "stored_size",
    "orig_size": "original_size", "flags": "flags", "crc32c": "crc32c",
    "content_type": "content_type",
}


def check_file(answer: dict, container, whole: bytes) -> None:
    """The answer is of this file, and has its header and the hashes of its names."""
    if "sha256" in answer:
        assert answer["sha256"] == hashlib.sha256(whole).hexdigest()
        assert answer["size"] == len(whole)
        assert answer["file"] == str(container.relative_to(ROOT))
    if "header" in answer:
        header = {"magic": whole[:4].decode()} | header_of(whole)
        assert answer["header"].items() <= header.items()
    for number, entry in enumerate(answer.get("entries", [])):
        assert set(entry) <= ENTRY
        if "name_hash" in entry:
            record = record_of(whole, number)
            for key, stored in RECORD.items():
                assert entry[key] == record[stored], key
    if "state" in answer:  # of a writer that was interrupted
        zeros = len(whole) - len(whole.lstrip(b"\0"))
        assert answer["first_64_bytes_zero"] == (zeros >= 64)
        assert answer["first_nonzero_byte"] == (zeros if zeros < len(whole) else None)
        assert answer["header_valid"] == (whole[:4] == b"SHRD")
    if "complete" in answer:
        assert answer["complete"] == (expected_exit(answer, container) == 0)


def check_checksum(path: bytes, shown: dict, entry: dict, whole: bytes) -> None:
    """What the checksum in the index is of, and which codec is meant."""
    stored = whole[entry["offset"] : entry["offset"] + entry["disk_size"]]
    over = entry.get("crc_over")
    assert over in ("decoded", "disk", "absent", "MISMATCH") or "error" in entry
    if shown.get("repaired"):  # the answer has these bytes, too
        assert hashlib.sha256(stored).hexdigest() == entry["sha256"]
    if "error" not in entry and over in ("decoded", "disk") and not shown.get("repaired"):
        with open(path, "rb") as file:
            data = stored if over == "disk" else file.read()
        assert f"{crc32c(data):08x}" == entry["crc32c"]
    assert (over == "MISMATCH") == (entry.get("error") == "crc mismatch")
    if "codec_from" in entry:
        named = entry["flags"] & 6 != 0
        assert entry["codec_from"] == ("entry flags" if named else "header default")


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
def test_header_index_and_views(answer_file, mount, refused):
    """The keys that test_golden does not look at."""
    answer = json.loads(answer_file.read_text())
    container = container_of(answer_file)
    whole = container.read_bytes()
    check_file(answer, container, whole)
    mounted = mount_or_refuse(answer, container, mount, refused)
    if mounted is None:
        return
    info = json.loads((mounted / ".ctxfs/info.json").read_text())
    header = answer["header"]
    for key in ("role", "flags", "alignment", "compression_default", "version"):
        assert info[key] == header[key], key
    index = json.loads((mounted / ".ctxfs/index.json").read_text())
    assert len(index) == header["entry_count"]
    damaged = expected_exit(answer, container) != 0
    assert info["salvaged"] == damaged
    assert damaged or info["container_size"] == header["total_file_size"]
    repaired = answer.get("repaired", {"entries": {}})["entries"]
    root = os.fsencode(mounted.root)
    for path, shown, entry in zip(paths_of(index), index, answer["entries"]):
        check_checksum(os.path.join(root, path), shown, entry, whole)
        assert shown["content_type"].split()[0] == str(entry["content_type"])
        if entry.get("crc_over") == "absent":
            assert shown["checksum"] == ""
        elif entry["crc32c"] != "00000000":  # nothing, or that of no bytes
            assert shown["checksum"] == "crc32c:" + entry["crc32c"]
        if "error" in entry:
            continue
        if entry["name"] in repaired:  # the answer has the view of what is stored
            view = mounted / "views/npy" / (shown["path"] + ".npy")
            assert view.stat().st_size == entry["npy_size"]
            continue
        assert shown["size"] == entry["orig_size"]
        if "npy_sha256" in entry:
            check_view(mounted, shown["path"], entry)
