# SPDX-License-Identifier: Apache-2.0
"""Tools that know nothing of containers, on a mount, giving the truth."""

import hashlib
import os
import tarfile

import numpy
import pytest

import shard
from conftest import run


@pytest.fixture(name="arrays")
def fixture_arrays():
    draw = numpy.random.default_rng(7)
    return {
        "layers/0/weight": draw.standard_normal((300, 257)).astype("<f4"),
        "layers/1/weight": draw.integers(-9, 9, (1000, 31)).astype("<i8"),
        "layers/1/bias": draw.standard_normal(31).astype("<f8"),
    }


@pytest.fixture(name="mounted")
def fixture_mounted(arrays, mount, tmp_path):
    entries = []
    for number, (name, array) in enumerate(arrays.items()):
        data = array.tobytes()
        made = shard.zstd_entry if number == 1 else shard.entry
        entries.append(made(name, data))
    path = tmp_path / "model.mosh"
    path.write_bytes(shard.build(entries))
    return mount(path)


def test_numpy_fromfile_and_memmap(mounted, arrays):
    for name, array in arrays.items():
        read = numpy.fromfile(mounted / name, array.dtype).reshape(array.shape)
        assert numpy.array_equal(read, array)
        mapped = numpy.memmap(mounted / name, array.dtype, mode="r", shape=array.shape)
        assert numpy.array_equal(mapped, array)
        assert numpy.array_equal(mapped[-1], array[-1])


def test_cat_and_sha256sum(mounted, arrays):
    for name, array in arrays.items():
        assert run("cat", mounted / name).stdout == array.tobytes()
        digest = run("sha256sum", mounted / name).stdout.split()[0].decode()
        assert digest == hashlib.sha256(array.tobytes()).hexdigest()


def test_dd_with_odd_block_sizes(mounted, arrays):
    name, array = next(iter(arrays.items()))
    for size in (1000, 4095, 65537):
        done = run("dd", f"if={mounted / name}", f"bs={size}", "skip=1")
        assert done.stdout == array.tobytes()[size:]


def test_cp_and_diff(mounted, tmp_path):
    copy = tmp_path / "copy"
    assert run("cp", "-a", mounted.root, copy).returncode == 0
    assert run("diff", "-r", mounted.root, copy).returncode == 0
    assert os.stat(copy / "layers").st_mtime_ns == os.stat(mounted / "layers").st_mtime_ns


def test_tar(mounted, arrays, tmp_path):
    archive = tmp_path / "all.tar"
    assert run("tar", "-C", mounted.root, "-cf", archive, "layers").returncode == 0
    with tarfile.open(archive) as tar:
        for name, array in arrays.items():
            assert tar.extractfile(name).read() == array.tobytes()


def test_find_and_ls(mounted, arrays):
    found = run("find", mounted / "layers", "-type", "f", "-size", "+0").stdout
    assert sorted(found.decode().split()) == sorted(str(mounted / n) for n in arrays)
    listed = run("ls", "-lR", mounted.root)
    assert listed.returncode == 0 and listed.stderr == b""
    assert str(arrays["layers/0/weight"].nbytes).encode() in listed.stdout


def test_a_large_directory_lists_whole(mount, tmp_path):
    names = [f"e{i:05d}" for i in range(20_000)]
    path = tmp_path / "many.mosh"
    path.write_bytes(shard.build([shard.entry(n, b"") for n in names]))
    mounted = mount(path)
    assert sorted(os.listdir(mounted.root)) == names
    # A listing goes on from where it was told, however it was opened.
    with os.scandir(mounted.root) as entries:
        assert len({entry.inode() for entry in entries}) == len(names)
    done = run("ls", "-U", mounted.root)
    assert done.stdout.decode().split() == names
