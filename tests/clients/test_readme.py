# SPDX-License-Identifier: Apache-2.0
"""The console blocks of README, run as they are: each command, and its output."""

import pytest

import console
from mounting import BIN

BLOCKS = console.blocks(console.ROOT / "README.md")
assert len(BLOCKS) >= 9, "the gallery is gone"


@pytest.mark.parametrize("block", BLOCKS, ids=console.title)
def test_readme(block, tmp_path):
    console.check(block, tmp_path, BIN)
