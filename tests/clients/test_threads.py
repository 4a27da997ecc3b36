# SPDX-License-Identifier: Apache-2.0
"""Many readers at once: none waits for ever, and nothing is decoded twice."""

import concurrent.futures
import subprocess
import sys

import numpy
import pytest

from mounting import run
from shard import build, entry

SHAPE = (64, 1024)


@pytest.fixture(name="arrays")
def fixture_arrays():
    draw = numpy.random.default_rng(11)
    return {
        f"layers/{n}/weight": draw.integers(0, 9, SHAPE).astype("<i4")
        for n in range(64)
    }


@pytest.fixture(name="container")
def fixture_container(arrays, tmp_path):
    """Every tensor compressed, so that each fault needs a decode."""
    entries = []
    for name, array in arrays.items():
        data = array.tobytes()
        packed = run("zstd", "-c", input=data).stdout
        entries.append(entry(name, data, stored=packed, flags=3))
    path = tmp_path / "model.mosh"
    path.write_bytes(build(entries))
    return path


@pytest.mark.parametrize("cache", ["512M", "600K"])
def test_64_threads_fault_64_tensors(container, arrays, cache, mount):
    """Also where the cache has room for two of them only."""
    mounted = mount(container, f"cache={cache}")

    def fault(name: str) -> bool:
        mapped = numpy.memmap(mounted / name, "<i4", "r", shape=SHAPE)
        return numpy.array_equal(mapped[::7], arrays[name][::7])

    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        assert all(pool.map(fault, arrays, timeout=120))


def test_two_processes_decode_once(container, arrays, mount):
    mounted = mount(container)
    name, array = next(iter(arrays.items()))
    before = mounted.stats()["decoded_bytes_total"]
    command = [sys.executable, "-c",
               "import sys; sys.stdout.buffer.write(open(sys.argv[1], 'rb').read())",
               str(mounted / name)]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    for reader in readers:
        assert reader.communicate(timeout=30)[0] == array.tobytes()
    assert mounted.stats()["decoded_bytes_total"] - before == array.nbytes
