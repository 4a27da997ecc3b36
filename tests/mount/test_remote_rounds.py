# SPDX-License-Identifier: Apache-2.0
"""URLs as SOURCEs: how many round trips to the server something takes."""

import pytest

from conftest import GOLDEN
from remote import (  # noqa: F401  fixtures
    NEEDS_URLS,
    fixture_ctxfs,
    fixture_faults,
    large_files,
)

DELAY = 0.06
MOST = 4

pytestmark = NEEDS_URLS

FOLDERS = large_files.largest(GOLDEN)
MADE = large_files.made()


@pytest.fixture(name="far")
def fixture_far(faults):
    faults.delay = DELAY
    yield faults


@pytest.mark.parametrize("folder", FOLDERS)
def test_30_4_the_first_ls_takes_four_round_trips(folder, far, ctxfs):
    """Of the largest container of each format in golden/."""
    name = FOLDERS[folder].name
    far.objects[name] = FOLDERS[folder].read_bytes()
    local = ctxfs("ls", FOLDERS[folder])
    done = ctxfs("ls", far.url("far", name))
    if local.returncode != 0 or done.returncode != 0:
        pytest.skip("consists of several files, or is damaged")
    assert done.stdout == local.stdout
    assert 1 <= far.answered <= MOST, [fields.get("Range") for _, _, fields in far.seen]


@pytest.mark.parametrize("name", MADE)
def test_30_4_a_long_index_takes_four_round_trips(name, far, ctxfs):
    far.objects[name] = MADE[name]
    done = ctxfs("ls", far.url("far", name))
    assert done.returncode == 0, done.stderr
    assert 1 <= far.answered <= MOST, [fields.get("Range") for _, _, fields in far.seen]


@pytest.mark.parametrize("name, rounds", (("many.npz", 1), ("many.zip", 2)))
def test_30_4_an_index_at_the_end_comes_with_the_beginning(name, rounds, far, ctxfs):
    far.objects[name] = MADE[name]
    done = ctxfs("ls", far.url("far", name))
    assert done.returncode == 0, done.stderr
    ranges = [fields["Range"] for _, _, fields in far.seen]
    assert sorted(ranges[:2]) == ["bytes=-131072", "bytes=0-65535"]
    assert (len(ranges), far.answered) == (rounds + 1, rounds), ranges
    # When it is opened again, the cache has it all, if it is still the same.
    far.seen.clear()
    assert ctxfs("ls", far.url("far", name)).stdout == done.stdout
    assert [fields["Range"] for _, _, fields in far.seen] == ["bytes=0-65535"]


@pytest.mark.parametrize("delay", (0, 0.5))  # late: who opens the archive waits for it
@pytest.mark.parametrize("mode", ("prefixes", "moving"))
def test_30_4_an_end_that_cannot_be_used_is_fetched_as_ever(mode, delay, far, ctxfs, tmp_path):
    far.delay = delay
    path = tmp_path / "many.zip"
    path.write_bytes(MADE["many.zip"])
    far.objects["many.zip"] = MADE["many.zip"]
    done = ctxfs("ls", far.url(mode, "many.zip"))
    assert done.returncode == 0, done.stderr
    assert done.stdout == ctxfs("ls", path).stdout
    assert ctxfs("check", far.url(mode, "many.zip")).returncode == 0


@pytest.mark.parametrize("size", (100, 65_536, 65_537, 131_072, 131_073, 196_608, 196_609))
def test_30_4_ends_of_objects_of_any_size_are_right(size, far, ctxfs):
    overhead = len(large_files.archive({"a": b""}))
    data = bytes(i * 7 % 251 for i in range(size - overhead))
    far.objects["one.zip"] = large_files.archive({"a": data})
    assert len(far.objects["one.zip"]) == size
    done = ctxfs("cat", far.url("plain", "one.zip//a"))
    assert (done.returncode, done.stdout) == (0, data), done.stderr


def test_30_4_headers_of_arrays_are_announced(far, ctxfs):
    """Those of 100 arrays: eight connections have them a few at a time."""
    far.objects["many.npz"] = MADE["many.npz"]
    done = ctxfs("ls", "-l", far.url("far", "many.npz"))
    assert done.returncode == 0 and done.stdout.count(b"[20000]") == 100, done.stderr
    assert len(far.seen) <= 110 and far.answered <= 30


def test_30_4_headers_at_equal_distances_are_announced(far, ctxfs):
    far.objects["long.tar"] = large_files.tape(80, 200_000)
    done = ctxfs("ls", far.url("far", "long.tar"))
    assert len(done.stdout.split()) == 80, done.stderr
    assert len(far.seen) <= 90 and far.answered <= 30
