# SPDX-License-Identifier: Apache-2.0
"""docs/adding-a-format.md: its words, its example, and the places that one touches."""

import hashlib
import json
import re
import shutil
import subprocess
import sys

import pytest

from conftest import BIN, ROOT, formats_of, run
from test_docs import compare_tables, rows

EXAMPLE = ROOT / "tests" / "example"
CTXFS = BIN / "tests" / "example" / "ctxfs"  # with the example
PAGE = (ROOT / "docs" / "adding-a-format.md").read_text()
PILE = EXAMPLE / "golden" / "pile" / "two.pile"


def test_29_2_the_page_has_fourteen_words_at_most():
    """And no name of the code that is neither one of them nor in its example."""
    words = [re.match(r"\| `(\w+)` \|", row)[1] for row in rows(PAGE, "## 1. Fourteen words")]
    assert len(words) == len(set(words)) <= 14
    excerpts = re.findall(r"```cpp\n(.*?)```", PAGE, re.DOTALL)
    text = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
    names = set(re.findall(r"`([A-Z][a-z]\w+)`", text))
    assert names - set(words) <= set(re.findall(r"\w+", "".join(excerpts) + text.partition("## 2.")[0]))
    source = (EXAMPLE / "core" / "formats" / "pile" / "pile.cc").read_text()
    assert len(excerpts) == 6 and all(excerpt in source for excerpt in excerpts)


@pytest.fixture
def tree(tmp_path):
    """What the checks of a new format read, without the example."""
    for folder in ("core", "fs", "docs", "scripts"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for folder in ("bench", "unit"):
        shutil.copytree(ROOT / "tests" / folder, tmp_path / "tests" / folder)
    shutil.copy(ROOT / "README.md", tmp_path)
    return tmp_path


def contents(tree) -> dict:
    return {path.relative_to(tree): path.read_bytes() for path in tree.rglob("*") if path.is_file()}


def insert(path, before: str, lines: str) -> None:
    text = path.read_text()
    assert text.count(before) == 1
    path.write_text(text.replace(before, lines + before))


def add_example(tree) -> None:
    for folder in ("core", "golden", "tests"):
        shutil.copytree(EXAMPLE / folder, tree / folder, dirs_exist_ok=True)
    shutil.copy(EXAMPLE / "docs" / "formats" / "pile.md", tree / "docs" / "formats")
    insert(tree / "core" / "formats" / "registry.cc", "  FORMAT(kOnnx)",
           (EXAMPLE / "registry.line").read_text())
    insert(tree / "README.md", "| Manifests of form A", (EXAMPLE / "README.row").read_text())
    insert(tree / "docs" / "tree.md", "| MCF ([mcf.md]", (EXAMPLE / "docs" / "tree.row").read_text())


def test_29_3_the_example_touches_six_places(tree):
    before = contents(tree)
    add_example(tree)
    touched = {path for path, data in contents(tree).items() if before.get(path) != data}
    places = [re.match(r"\| `([\w/.]+)` \|", row)[1].replace("NAME", "pile")
              for row in rows(PAGE, "## 3. The places")]
    assert len(places) == 6
    of = {path: [place for place in places if f"{path}".startswith(place)] for path in touched}
    assert all(len(found) == 1 for found in of.values()), of
    assert {found[0] for found in of.values()} == set(places)
    # What was there changes in a line or a row each.
    changed = {f"{path}" for path in touched if path in before}
    assert changed == {"core/formats/registry.cc", "README.md", "docs/tree.md"}

    known = formats_of(CTXFS, tree / "core" / "formats")
    compare_tables(tree, known)
    done = subprocess.run([sys.executable, tree / "scripts" / "check_includes.py"],
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stdout
    # Without the rows the check of the tables fails.
    with pytest.raises(AssertionError):
        compare_tables(ROOT, known)


def test_29_3_the_example_is_built_and_reads_its_golden_container(tmp_path):
    [pile] = [one for one in formats_of(CTXFS, EXAMPLE / "core" / "formats")
              if one["name"] == "pile"]
    assert pile["golden"] == pile["docs"] == pile["extensions"] == ["pile"]
    answer = json.loads((EXAMPLE / "golden" / "pile.json").read_text())["two.pile"]
    listed = run(CTXFS, "ls", "-R", PILE).stdout.decode().split()
    assert set(answer["files"]) <= set(listed)
    for name, facts in answer["files"].items():
        data = run(CTXFS, "cat", f"{PILE}//{name}").stdout
        assert (len(data), hashlib.sha256(data).hexdigest()) == (facts["size"], facts["sha256"])
    assert run(CTXFS, "check", PILE).returncode == 0
    assert run(BIN / "ctxfs", "info", PILE).returncode == 3, "only the example reads it"
    damaged = tmp_path / "two.pile"
    damaged.write_bytes(PILE.read_bytes()[:-1] + b"!")
    assert run(CTXFS, "check", damaged).returncode == 1
    assert run(CTXFS, "cat", f"{damaged}//greeting").stdout == b"hello\n"
    assert run(CTXFS, "cat", f"{damaged}//numbers/one.f32").returncode != 0
