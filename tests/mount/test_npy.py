# SPDX-License-Identifier: Apache-2.0
"""Arrays in .npy files: files of a mirror for numpy, and containers with all views."""

import os
import zipfile

import numpy
import pytest

from conftest import GOLDEN, run, BIN

CTXFS = BIN / "ctxfs"
ARRAYS = {
    "plain.npy": numpy.arange(24, dtype="<f4").reshape(2, 3, 4),
    "fortran.npy": numpy.asfortranarray(numpy.arange(35, dtype=">i8").reshape(5, 7)),
    "frames.npy": numpy.arange(5 * 8 * 6 * 3, dtype="u1").reshape(5, 8, 6, 3),
}


@pytest.fixture
def folder(tmp_path):
    top = tmp_path / "arrays"
    top.mkdir()
    for name, array in ARRAYS.items():
        numpy.save(top / name, array)
    return top


def test_numpy_reads_the_files_of_a_mirror(mount, folder):
    point = mount(folder).point
    assert set(os.listdir(point)) == set(ARRAYS)
    for name, array in ARRAYS.items():
        for mode in (None, "r"):
            shown = numpy.load(point / name, mmap_mode=mode)
            assert shown.dtype == array.dtype
            numpy.testing.assert_array_equal(shown, array)


def test_the_container_beside_has_the_views(mount, folder):
    point = mount(folder).point
    for name, array in ARRAYS.items():
        inside = point / f"{name}~dir"
        numpy.testing.assert_array_equal(numpy.load(inside / "views/npy/array.npy"), array)
        little = array.astype(array.dtype.newbyteorder("<"))
        assert (inside / "views/arrays/array").read_bytes() == little.tobytes("C")
        order = "F" if name == "fortran.npy" else "C"
        assert (inside / "array").read_bytes() == array.tobytes(order)
        assert (inside / ".ctxfs/container").read_bytes() == (folder / name).read_bytes()
    frames = point / "frames.npy~dir" / "views" / "frames" / "array"
    assert len(os.listdir(frames)) == 5
    assert (frames / "000004.png").read_bytes().startswith(b"\x89PNG")


def test_an_array_in_an_archive_has_no_directory_of_its_own(mount, folder, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in ARRAYS:
            archive.write(folder / name, name)
    point = mount(tmp_path / "a.zip", "flat").point
    assert set(os.listdir(point)) == set(ARRAYS)
    assert not [name for name in os.listdir(point / "views") if name.endswith("~dir")]


def test_check_examines_the_arrays_of_a_directory(folder):
    cut = folder / "cut.npy"
    cut.write_bytes((GOLDEN / "npy" / "truncated.npy").read_bytes())
    done = run(CTXFS, "check", folder)
    assert done.returncode == 1
    assert b"cut.npy" in done.stdout and b"fortran.npy" in done.stdout, done.stdout
