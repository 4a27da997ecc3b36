# SPDX-License-Identifier: Apache-2.0
"""The console blocks of README and the gallery, run as they are, with their output."""

import re

import pytest

import console
from mounting import BIN

README = console.blocks(console.ROOT / "README.md")
GALLERY = console.blocks(console.ROOT / "docs" / "gallery.md")
assert len(README) >= 2 and len(GALLERY) >= 11, "the examples are gone"
BLOCKS = [*README, *GALLERY]


def test_43_14_the_readme_is_short_and_begins_with_a_picture():
    text = (console.ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 110
    [picture] = re.findall(r"^!\[.+\]\((docs/[\w.]+)\)$", text.partition("\n## ")[0], re.MULTILINE)
    assert (console.ROOT / picture).stat().st_size > 1000


@pytest.mark.parametrize("block", BLOCKS, ids=console.title)
def test_readme(block, tmp_path, request):
    if console.mounts(block):
        request.getfixturevalue("fuse")
    console.check(block, tmp_path, BIN)
