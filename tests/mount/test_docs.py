# SPDX-License-Identifier: Apache-2.0
"""The console blocks of docs, run as they are: each command, and its output."""

import pytest

import console
from conftest import BIN

PAGES = sorted((console.ROOT / "docs").glob("*.md"))
BLOCKS = [(page.stem, block) for page in PAGES for block in console.blocks(page)]
FORMATS = [
    "columnshard", "conventions", "cowrie", "cvc", "manifest", "mcf", "megacontext",
    "mem8", "model_shard", "sampleshard", "shard", "sjgn", "wshard",
]


@pytest.mark.parametrize("page", FORMATS)
def test_a_format_page_starts_with_a_mount(page):
    text = (console.ROOT / "docs" / f"{page}.md").read_text()
    assert text.index("## Try it\n") == text.index("\n## ") + 1
    assert text.index("```console\n$ mount.ctxfs ") < text.index("\n## ", text.index("## Try it"))


@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=[page for page, _ in BLOCKS])
def test_console_block(page, block, tmp_path):
    console.check(block, tmp_path, BIN)
