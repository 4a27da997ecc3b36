# SPDX-License-Identifier: Apache-2.0
"""Every file of every golden container, salvaged where it is damaged: it is as long as it
says, and any window of it holds what the whole has there."""

import errno
import io
import math
import os
import random
import stat

import numpy
import pytest

from conftest import GOLDEN

FOLDERS = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())
# Files that become longer when a read finds damage.
GROWING = {"info.json", "faults.json"}
WINDOWS = 8


def check_windows(file: int, whole: bytes) -> None:
    """Half of them are short. The file must be open with O_DIRECT: then ctxfs gets the
    window, and not the pages that it is in."""
    chance = random.Random(len(whole))
    for number in range(WINDOWS if whole else 0):
        at = chance.randrange(len(whole))
        length = chance.randrange(1, 41 if number % 2 else len(whole) + 1)
        assert os.pread(file, length, at) == whole[at : at + length], (at, length)


def check_npy(whole: bytes) -> None:
    """An array is as long as its shape."""
    file = io.BytesIO(whole)
    assert numpy.lib.format.read_magic(file) == (1, 0)
    shape, _, dtype = numpy.lib.format.read_array_header_1_0(file)
    assert len(file.read()) == dtype.itemsize * math.prod(shape)


def check_file(above: bytes, name: bytes, folder: int) -> bool:
    """Whether it can be read: what cannot be is EIO. A link is no file of its own."""
    if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        return False
    try:
        file = os.open(name, os.O_RDONLY, dir_fd=folder)
    except OSError as error:
        assert error.errno in (errno.EIO, errno.EACCES), name
        return False
    with open(file, "rb") as stream:
        size = os.fstat(file).st_size
        try:
            whole = stream.read()
        except OSError as error:
            assert error.errno == errno.EIO, name
            return False
        assert len(whole) == size
        if b"/views/npy/" in above + b"/" or b"/views/raw16/" in above + b"/":
            check_npy(whole)
        direct = os.open(name, os.O_RDONLY | os.O_DIRECT, dir_fd=folder)
        try:
            check_windows(direct, whole)
        finally:
            os.close(direct)
    return True


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file(folder, mount):
    mounted = mount(GOLDEN / folder, "salvage", "list=all")
    read = 0
    for above, _, files, here in os.fwalk(os.fsencode(mounted.point)):
        if above == os.path.join(os.fsencode(mounted.point), b".ctxfs"):
            continue  # the mount's own
        for name in files:
            if name.decode(errors="replace") not in GROWING:
                read += check_file(above, name, here)
    assert read > 0
