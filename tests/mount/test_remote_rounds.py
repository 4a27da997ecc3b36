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
