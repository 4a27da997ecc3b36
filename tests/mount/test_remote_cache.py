# SPDX-License-Identifier: Apache-2.0
"""URLs as SOURCEs: where a mount keeps what it fetched, and how long it waits."""

import contextlib
import errno

import pytest

from conftest import wait_until
from remote import (  # noqa: F401  fixtures
    MIB,
    NEEDS_URLS,
    counters,
    environment,
    fixture_faults,
    fixture_mounted,
    values,
)

pytestmark = NEEDS_URLS


def bytes_below(directory) -> int:
    """Of files, some of which may be removed meanwhile."""
    total = 0
    for path in directory.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def read_all(root) -> None:
    for number in range(4):
        assert (root / "tensors" / f"t{number}").read_bytes() == values(number, MIB)


def test_30_5_a_mount_takes_the_place_of_its_cache(faults, mounted, tmp_path):
    place = tmp_path / "place" / "of" / "blocks"
    url = faults.url("plain", "m.safetensors")
    read_all(mounted(url, f"cache_dir={place}"))
    assert place.stat().st_mode & 0o777 == 0o700
    assert bytes_below(place) > 4 * MIB
    assert not (tmp_path / "cache").exists(), "the usual place"
    before = len(faults.seen)
    read_all(mounted(url, f"cache_dir={place}"))
    assert len(faults.seen) == before + 1, "of the granule by which it is opened"


def test_30_5_a_mount_takes_the_size_of_its_cache(faults, mounted, tmp_path):
    read_all(mounted(faults.url("plain", "m.safetensors"), "cache_dir_size=2M"))
    # Room is made after the bytes were kept.
    assert wait_until(lambda: bytes_below(tmp_path / "cache") < 3 * MIB), "all tensors are 4 MiB"
    assert bytes_below(tmp_path / "cache") > MIB // 2, "the last file has 15 granules"


def test_30_5_a_place_that_is_no_cache_is_refused(faults, refused, monkeypatch, tmp_path):
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    others = tmp_path / "others"
    others.mkdir(mode=0o755)
    (others / "notes").write_text("for all")
    code, text = refused(faults.url("plain", "m.safetensors"), f"cache_dir={others}")
    assert code == 2 and "files that are not the cache's" in text, text
    assert others.stat().st_mode & 0o777 == 0o755
    code, text = refused(faults.url("plain", "m.safetensors"), f"cache_dir={others}/notes")
    assert code == 2 and "cache directory" in text, text


def test_30_6_a_mount_takes_its_timeout(faults, mounted):
    """The server asks for 5 s, which the 10 s of the environment would have room for."""
    root = mounted(faults.url("later", "m.safetensors"), "remote_timeout=2")
    with pytest.raises(OSError) as failed:
        (root / "tensors" / "t3").read_bytes()
    assert failed.value.errno == errno.EIO
    after = counters(root)
    assert after["requests_total"] > 1 and after["retries_total"] == 0
