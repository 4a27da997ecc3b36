# SPDX-License-Identifier: Apache-2.0
"""Pictures: Pillow and ffmpeg on views/frames, pixel by pixel."""

import json
import os
import shutil

import numpy
import pytest
from PIL import Image

import truth
from mounting import run
from shard import build, entry

EPISODES = ["rgb_none", "rgb_lz4", "rgb_zstd", "rgb_lz4_fast", "go_episode",
            "multimodal", "sealed_lz4"]


def is_pictures(array: truth.Array) -> bool:
    if array.dtype == "<u2":
        return len(array.shape) == 3
    return array.dtype == "|u1" and (
        len(array.shape) == 3
        or len(array.shape) == 4 and array.shape[3] in (1, 3, 4)
    )


def lanes(golden: truth.Golden) -> list[truth.Array]:
    found = [array for array in golden.arrays if is_pictures(array)]
    assert found, "a golden episode without pictures"
    return found


@pytest.mark.parametrize("name", EPISODES)
def test_pillow(name, mount):
    golden = truth.wshard(name)
    mounted = mount(golden.container)
    for lane in lanes(golden):
        pixels = numpy.fromfile(mounted / lane.path, lane.dtype).reshape(lane.shape)
        folder = mounted / "views" / "frames" / lane.path
        names = os.listdir(folder)
        assert names == [f"{i:06d}.png" for i in range(lane.shape[0])]
        for frame, file in zip(pixels, names):
            with Image.open(folder / file) as picture:
                picture.load()
                assert picture.format == "PNG"
                assert picture.size == (lane.shape[2], lane.shape[1])
                read = numpy.asarray(picture)
            assert numpy.array_equal(read, frame)


def episode(pixels: numpy.ndarray) -> bytes:
    """A WShard of one lane, signal/view."""
    lane = {"id": "view", "dtype": "u8", "shape": pixels.shape[1:]}
    meta = {"wshard": {}, "episode": {"length_T": len(pixels)}, "channels": {"channels": [lane]}}
    entries = [entry(f"meta/{k}", json.dumps(v).encode()) for k, v in meta.items()]
    return build([*entries, entry("signal/view", pixels.tobytes())], role=5)


@pytest.mark.parametrize("channels", [None, 1, 3, 4])
def test_every_kind_of_picture(channels, mount, tmp_path):
    shape = (3, 5, 7) if channels is None else (3, 5, 7, channels)
    pixels = numpy.random.default_rng(3).integers(0, 256, shape).astype("u1")
    source = tmp_path / "episode.wshard"
    source.write_bytes(episode(pixels))
    mounted = mount(source)
    folder = mounted / "views" / "frames" / "signal" / "view"
    for i, frame in enumerate(pixels):
        with Image.open(folder / f"{i:06d}.png") as picture:
            read = numpy.asarray(picture).reshape(frame.shape)
        assert numpy.array_equal(read, frame)


def test_a_listing_encodes_nothing(mount):
    golden = truth.wshard("rgb_zstd")
    mounted = mount(golden.container)
    before = mounted.stats()["decoded_bytes_total"]
    assert len(os.listdir(mounted / "views" / "frames" / "signal" / "rgb")) == 24
    assert mounted.stats()["decoded_bytes_total"] == before


def test_the_same_file_every_time(mount):
    """Also where the cache keeps none of it between two looks."""
    golden = truth.wshard("rgb_lz4")
    first, second = mount(golden.container), mount(golden.container, "cache=0")
    for i in range(24):
        name = f"views/frames/signal/rgb/{i:06d}.png"
        data = (first / name).read_bytes()
        assert data == (second / name).read_bytes()
        assert len(data) == os.stat(second / name).st_size


def test_what_is_no_frame(mount):
    mounted = mount(truth.wshard("rgb_none").container)
    folder = mounted / "views" / "frames" / "signal" / "rgb"
    for name in ("000024.png", "0.png", "000000", "000000.PNG", "-00001.png"):
        assert not (folder / name).exists()


def test_ffmpeg_makes_a_video(mount, tmp_path):
    """Lossless, and taken apart again by it: the pixels are those of the lane."""
    assert shutil.which("ffmpeg"), "scripts/install.sh clients"
    golden = truth.wshard("rgb_zstd")
    mounted = mount(golden.container)
    frames = mounted / "views" / "frames" / "signal" / "rgb" / "%06d.png"
    video = tmp_path / "episode.mkv"
    quiet = ("ffmpeg", "-nostdin", "-v", "error")
    made = run(*quiet, "-framerate", "30", "-i", frames, "-c:v", "ffv1",
               "-pix_fmt", "gbrp", video)
    assert made.returncode == 0, made.stderr.decode()
    raw = run(*quiet, "-i", video, "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
    lane = next(a for a in golden.arrays if a.path == "signal/rgb")
    assert raw.stdout == (mounted / lane.path).read_bytes()
