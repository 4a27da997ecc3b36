# SPDX-License-Identifier: Apache-2.0
"""The console blocks of README and the gallery, run as they are, with their output."""

import pytest

import console
from mounting import BIN

README = console.blocks(console.ROOT / "README.md")
GALLERY = console.blocks(console.ROOT / "docs" / "gallery.md")
assert len(README) >= 4 and len(GALLERY) >= 8, "the examples are gone"
BLOCKS = [*README, *GALLERY]


@pytest.mark.parametrize("block", BLOCKS, ids=console.title)
def test_readme(block, tmp_path, request):
    if console.mounts(block):
        request.getfixturevalue("fuse")
    console.check(block, tmp_path, BIN)
