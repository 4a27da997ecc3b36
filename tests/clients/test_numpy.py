# SPDX-License-Identifier: Apache-2.0
"""numpy on the entries as they lie: fromfile, memmap, a mapping under pressure."""

import hashlib
import pathlib

import numpy
import pytest

import truth

GOLDENS = [golden for golden in truth.goldens() if golden.arrays]


def sha256(array: numpy.ndarray) -> str:
    return hashlib.sha256(numpy.ascontiguousarray(array).tobytes()).hexdigest()


def drop_caches() -> bool:
    """Takes every clean page from the kernel's cache; root can."""
    try:
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3\n")
    except OSError:
        return False
    return True


@pytest.mark.parametrize("golden", GOLDENS, ids=truth.of)
def test_fromfile(golden, mount):
    mounted = mount(golden.container)
    for array in golden.arrays:
        read = numpy.fromfile(mounted / array.path, array.dtype or "<u2")
        assert read.size == numpy.prod(array.shape, dtype=int)
        assert sha256(read) == array.sha256, array.path


@pytest.mark.parametrize("golden", GOLDENS, ids=truth.of)
def test_memmap(golden, mount):
    mounted = mount(golden.container)
    for array in golden.arrays:
        if 0 in array.shape:
            continue  # nobody can map nothing
        mapped = numpy.memmap(
            mounted / array.path, array.dtype or "<u2", "r", shape=array.shape
        )
        assert sha256(mapped) == array.sha256, array.path


@pytest.mark.parametrize("golden", GOLDENS, ids=truth.of)
def test_a_mapping_outlives_the_page_cache(golden, mount):
    """Pages come back from the daemon, decoded again, as they were."""
    mounted = mount(golden.container, "cache=1M")
    array = max(golden.arrays, key=lambda a: numpy.prod(a.shape, dtype=int))
    mapped = numpy.memmap(
        mounted / array.path, array.dtype or "<u2", "c", shape=array.shape
    )
    for _ in range(3):
        assert sha256(mapped) == array.sha256
        if not drop_caches():
            pytest.skip("only root drops caches")
