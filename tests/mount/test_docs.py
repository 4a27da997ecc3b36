# SPDX-License-Identifier: Apache-2.0
"""The console blocks of docs, run as they are: each command, and its output."""

import re

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


def cells(row: str) -> int:
    """The number of cells of a table row; a `|` of a cell's text is written `\\|`."""
    return len(re.findall(r"(?<!\\)\|", row)) - 1


@pytest.mark.parametrize("page", [*PAGES, *sorted(console.ROOT.glob("*.md"))], ids=lambda p: p.stem)
def test_rows_have_the_cells_of_their_header(page):
    header = 0
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if not line.startswith("|"):
            header = 0
            continue
        header = header or cells(line)
        assert cells(line) == header, f"{page.name}:{number}: {line}"


@pytest.mark.parametrize("page", [*PAGES, *sorted(console.ROOT.glob("*.md"))], ids=lambda p: p.stem)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target
