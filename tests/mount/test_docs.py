# SPDX-License-Identifier: Apache-2.0
"""The console blocks of docs, run as they are: each command, and its output."""

import json
import os
import re

import pytest

import console
from conftest import BIN

PAGES = sorted((console.ROOT / "docs").glob("*.md"))
# The gallery needs the programs of tests/clients, and is run there.
BLOCKS = [(page.stem, block) for page in PAGES if page.stem != "gallery"
          for block in console.blocks(page)]
FORMATS = [
    "columnshard", "conventions", "cowrie", "cvc", "gguf", "manifest", "mcf",
    "megacontext", "mem8", "model_shard", "onnx", "safetensors", "sampleshard", "shard",
    "sjgn", "tar", "torch", "wshard", "zip",
]


@pytest.mark.parametrize("page", FORMATS)
def test_a_format_page_starts_with_a_mount(page):
    text = (console.ROOT / "docs" / f"{page}.md").read_text()
    assert text.index("## Try it\n") == text.index("\n## ") + 1
    assert text.index("```console\n$ mount.ctxfs ") < text.index("\n## ", text.index("## Try it"))


@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=[page for page, _ in BLOCKS])
def test_console_block(page, block, tmp_path, request):
    if console.mounts(block):
        request.getfixturevalue("fuse")
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


def test_the_worked_example_is_what_the_unit_tests_compile():
    text = (console.ROOT / "CONTRIBUTING.md").read_text()
    source = (console.ROOT / "tests" / "unit" / "example" / "pile.cc").read_text()
    excerpts = re.findall(r"```cpp\n(.*?)```", text, re.DOTALL)
    assert len(excerpts) == 5
    for excerpt in excerpts:
        assert excerpt in source


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_scripts_and_presets_that_pages_name_exist(page):
    text = (console.ROOT / page).read_text()
    presets = json.loads((console.ROOT / "CMakePresets.json").read_text())
    names = {one["name"] for one in presets["configurePresets"]}
    assert set(re.findall(r"--preset (\w+)", text)) <= names
    for script in re.findall(r"(?<![\w/])scripts/[\w.]+\w", text):
        assert os.access(console.ROOT / script, os.X_OK), script
    parts = (console.ROOT / "scripts" / "test.sh").read_text()
    for words in re.findall(r"scripts/test\.sh ((?:[a-z]+ ?)+)`", text):
        for word in words.split():
            assert re.search(rf"^ +(\w+ \| )*{word}( \| \w+)*\)", parts, re.MULTILINE), word


def test_the_index_names_every_page():
    index = (console.ROOT / "docs" / "README.md").read_text()
    for path in [*PAGES, *(console.ROOT / "docs" / "man").glob("*.scd")]:
        if path.stem != "README":
            assert f"]({path.relative_to(console.ROOT / 'docs')})" in index, path.name


def test_troubleshooting_has_the_messages_of_the_code():
    """The messages in the first column are what the program prints."""
    code = "".join(p.read_text() for p in (console.ROOT / "fs").rglob("*.cc"))
    code += "".join(p.read_text() for p in (console.ROOT / "core" / "formats").glob("*.cc"))
    # String literals are joined over lines.
    code = re.sub(r'"\s*"', "", code).replace('device + "', '"/dev/fuse')
    text = (console.ROOT / "docs" / "troubleshooting.md").read_text()
    table = text.partition("| message |")[2].partition("\n\n")[0]
    system = {"Permission denied", "Input/output error", "Stale file handle", "File too large",
              "Transport endpoint is not connected"}
    messages = re.findall(r"^\| `([^`]+)`", table, re.MULTILINE)
    assert len(messages) >= 12
    for message in messages:
        # An errno's text after a colon, and what differs each time, are not in the code.
        part = re.sub(r"(: Permission denied|: it is \.\.\.)$", "", message)
        assert message in system or part in code, message
