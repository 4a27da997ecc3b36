# SPDX-License-Identifier: Apache-2.0
"""Pictures of golden episodes, and chunks that change, lead out, or are damaged."""

import errno
import json
import os
import shutil
import struct
import zlib

import numpy
import pytest

from conftest import GOLDEN, error_of

ROOT = GOLDEN / "wshard"


def test_a_link_out_of_the_folder_is_not_followed(mount, tmp_path):
    folder = tmp_path / "episode"
    shutil.copytree(ROOT / "chunked", folder)
    chunk = folder / "ep_long_chunk_0002.wshard"
    chunk.rename(tmp_path / "outside")
    chunk.symlink_to(tmp_path / "outside")
    mounted = mount(folder / "ep_long_manifest.wshard")
    assert not (mounted / "episode").exists()
    assert any("leads out" in warning for warning in mounted.warnings())
    assert os.listdir(mounted / "views/chunks" / chunk.name) == []
    assert (mounted / "views/chunks" / chunk.name / ".ctxfs/info.json").is_file()


def test_a_chunk_that_changes_is_stale(mount, tmp_path):
    folder = tmp_path / "episode"
    shutil.copytree(ROOT / "chunked", folder)
    mounted = mount(folder / "ep_long_manifest.wshard")
    chunk = folder / "ep_long_chunk_0001.wshard"
    chunk.write_bytes(chunk.read_bytes()[:-1] + b"x")
    assert error_of((mounted / "episode/reward").read_bytes) == errno.ESTALE


def test_damage_of_interleaved_lanes_is_found(mount, tmp_path):
    """Whose byte it is shows only after the repair: none is trusted."""
    sound = ROOT / "stream" / "py_150_interleaved.wshard"
    damaged = tmp_path / "damaged.wshard"
    data = bytearray(sound.read_bytes())
    data[1000] ^= 1
    damaged.write_bytes(data)
    mounted = mount(damaged)
    for lane in ("signal/state", "signal/rgb", "reward"):
        assert error_of((mounted / lane).read_bytes) == errno.EIO
    assert json.loads((mounted / "meta" / "episode").read_bytes())


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


def episodes():
    """(container, its source) of all below ROOT."""
    for path in sorted(ROOT.rglob("*.json")):
        for container in (path.with_suffix(".wshard"), path.with_suffix(".wshard.partial")):
            if container.exists():
                yield container, json.loads(path.read_text())


PICTURES = [pytest.param(container, answer, id=str(container.relative_to(ROOT)))
            for container, answer in episodes()
            if any("frames" in one for one in answer.get("entries", []))]
assert len(PICTURES) > 25


@pytest.mark.parametrize("container, answer", PICTURES)
def test_pictures(container, answer, mount):
    """The first and the last of each lane hold its bytes."""
    mounted = mount(container, "salvage")
    for one in answer["entries"]:
        if "frames" not in one or one["name"] in answer.get("repaired", {"entries": ()})["entries"]:
            continue
        frames, data = one["frames"], (mounted / one["name"]).read_bytes()
        size = len(data) // frames["count"]
        wide = 2 if one["dtype"] == "u16" else 1
        pictures = mounted / "views" / "frames" / one["name"]
        names = sorted(os.listdir(pictures))
        assert len(names) == frames["count"]
        for name, frame in ((names[0], data[:size]), (names[-1], data[-size:])):
            png = (pictures / name).read_bytes()
            assert struct.unpack_from(">II", png, 16) == (frames["width"], frames["height"])
            assert pixels(png) == big_endian(frame, wide)
