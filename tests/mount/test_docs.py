# SPDX-License-Identifier: Apache-2.0
"""The console blocks of docs, run as they are: each command, and its output."""

import json
import os
import re
import sys

import pytest

import console
from conftest import BIN, GOLDEN, formats
from remote import HAS_NO_URLS, StoreServer

sys.path.append(str(console.ROOT / "tests" / "support"))

from messages import collect, messages_in  # noqa: E402

PAGES = sorted((console.ROOT / "docs").rglob("*.md"))
# The gallery needs the programs of tests/clients, and is run there.
BLOCKS = [(page.stem, block) for page in PAGES if page.stem != "gallery"
          for block in console.blocks(page)]
FORMAT_PAGES = sorted({page for one in formats() for page in one["docs"]})


@pytest.mark.parametrize("page", FORMAT_PAGES)
def test_a_format_page_starts_with_a_mount(page):
    text = (console.ROOT / "docs" / "formats" / f"{page}.md").read_text()
    assert text.index("## Try it\n") == text.index("\n## ") + 1
    assert text.index("```console\n$ mount.ctxfs ") < text.index("\n## ", text.index("## Try it"))


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    """What docs/remote.md has in its bucket and its repository, in a server of its own."""
    if HAS_NO_URLS:
        pytest.skip("this build opens no URLs")
    llama = (GOLDEN / "safetensors" / "llama.safetensors").read_bytes()
    with StoreServer().running() as server:
        server.buckets = {
            "bucket": {"models/README.md": b"Two models.\n", "models/llama.safetensors": llama,
                       "models/plain.gguf": (GOLDEN / "gguf" / "plain.gguf").read_bytes()},
            "org/model": {"model.safetensors": llama}}
        for name in ("AWS_ENDPOINT_URL", "HF_ENDPOINT"):
            monkeypatch.setenv(name, server.endpoint())
        monkeypatch.setenv("CTXFS_CACHE_DIR", str(tmp_path / "cache"))
        yield server


@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=[page for page, _ in BLOCKS])
def test_console_block(page, block, tmp_path, request):
    if console.mounts(block):
        request.getfixturevalue("fuse")
    if page == "remote":
        request.getfixturevalue("bucket")
    console.check(block, tmp_path, BIN)


def test_43_14_the_page_of_urls_is_run():
    ran = "".join(block for page, block in BLOCKS if page == "remote")
    assert {"s3://", "hf://"} <= set(re.findall(r"\b(?:s3|hf)://", ran))
    assert re.search(r"\bmount\.ctxfs s3://", ran) and "--offline" in ran


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
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)  # lambdas look like links
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), target


def rows(text: str, heading: str) -> list[str]:
    """The rows of the first table after a heading, without its head."""
    table = text.partition(f"\n{heading}\n")[2].partition("\n|")[2].partition("\n\n")[0]
    return table.splitlines()[2:]


def pages_in(table: list[str]) -> set[str]:
    """The pages that the rows of a table link to."""
    return set(re.findall(r"\]\((?:docs/)?formats/([\w.]+)\.md\)", "\n".join(table)))


def compare_tables(root, known: list[dict]) -> None:
    """README and docs/tree.md name each format's pages, README also its extensions, and
    both those that stay files."""
    readme = (root / "README.md").read_text()
    contract = (root / "docs" / "tree.md").read_text()
    shown = rows(readme, "## Which containers can you mount?")
    primary = rows(contract, "## 3. Which primary files does each container have?")
    pages = {page for one in known for page in one["docs"]}
    assert pages_in(shown) == pages
    assert pages_in(primary) == pages - {"conventions"}
    for one in known:
        mine = " ".join(row for row in shown if pages_in([row]) & set(one["docs"]))
        assert all(f"`.{extension}`" in mine for extension in one["extensions"]), one["name"]
    stay = [one for one in known if "stays_file" in one["traits"] and one["extensions"]]
    words = {word for one in stay for word in [one["name"], *one["extensions"]]}
    for text in (readme, contract):
        [listed] = re.findall(r"common programs open \(([^)]*)\)", text.replace("\n", " "))
        named = {word.lower().removeprefix("py") for word in listed.split(", ")}
        assert named <= words
        assert all(named & {one["name"], *one["extensions"]} for one in stay), listed


def test_29_3_tables_of_formats_are_what_the_program_says():
    compare_tables(console.ROOT, formats())


def test_29_3_every_folder_and_page_of_formats_exists():
    for one in formats():
        assert one["golden"] and all((GOLDEN / folder).is_dir() for folder in one["golden"]), one
        assert one["docs"] and all((console.ROOT / "docs" / "formats" / f"{page}.md").exists()
                                   for page in one["docs"]), one
    folders = {folder for one in formats() for folder in one["golden"]}
    assert folders == {path.name for path in GOLDEN.iterdir() if path.is_dir()}


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
        if path.stem not in {"README", *FORMAT_PAGES}:  # README.md names those
            assert f"]({path.relative_to(console.ROOT / 'docs')})" in index, path.name


def test_43_14_readme_is_short_and_has_the_formats_that_people_meet_first():
    lines = (console.ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 110
    assert any(line.startswith("![") for line in lines[:10])
    shown = rows("\n".join(lines), "## Which containers can you mount?")
    first = [re.search(r"`\.\w+`", row)[0].strip("`.") for row in shown]
    common = ["safetensors", "gguf", "pt", "npy", "zip", "onnx", "tar", "tfrecord", "mcap",
              "mds", "zarr"]
    assert first[:len(common)] == common
    stay = {extension for one in formats() if "stays_file" in one["traits"]
            for extension in one["extensions"]}
    assert not stay & set(first[len(common):])


TROUBLES = (console.ROOT / "docs" / "troubleshooting.md").read_text()
# Faults of a container, which `ctxfs check` names with entry and byte.
DAMAGE = {"kCorrupt", "kChecksum"}
# They end a walk or a search, and somebody above always takes them.
NEVER_PRINTED = {"cache=", "index=", "enough", "enough names", "no more is needed",
                 "the caller has what it wants"}


def words_in(text: str) -> set[str]:
    """The words in backticks of the first cells of tables."""
    return {word for cell in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
            for word in re.findall(r"`([^`]+)`", cell)}


def pattern_of(words: str) -> re.Pattern:
    """What has words of the page in it, in which ... is any text."""
    return re.compile(".*".join(map(re.escape, words.split("..."))), re.IGNORECASE)


def described_messages() -> list[re.Pattern]:
    quiet = re.findall(r"`([^`]+)`", re.findall(r"need nothing: (.*)", TROUBLES)[0])
    return [pattern_of(words) for words in [*words_in(TROUBLES), *quiet]
            if re.search(r"[A-Za-z]{2}", words)]


def test_43_14_troubleshooting_has_every_message():
    patterns = described_messages()
    assert "`byte N: ...`" in TROUBLES
    found = collect(console.ROOT)
    assert len(found) > 600 and {one.code for one in found} >= DAMAGE | {"kIo", "log", "printed"}
    missing = [f"{one.place}: {one.text}" for one in found
               if one.code not in DAMAGE and one.text not in NEVER_PRINTED
               and not any(pattern.search(one.text) for pattern in patterns)]
    assert not missing, "\n".join(["give each a row with its remedy:", *missing])


def test_43_14_the_words_of_rows_are_of_messages():
    texts = [one.text for one in collect(console.ROOT)]
    part = TROUBLES.partition("## What do the other messages mean?")[2].partition("\n## ")[0]
    # How `check` names a fault.
    faults = {"byte N: ...", "entry N: ...", "ctxfs check --json", "corrupt", "checksum", "missing"}
    for words in words_in(part) - faults:
        assert any(pattern_of(words).search(text) for text in texts), words


def test_43_14_a_message_without_a_row_is_found():
    [one] = messages_in('return Error{Code::kIo, "the moon " + Quote(x) + " is full"};', "x.cc")
    assert one.text == "the moon ... is full"
    assert not any(pattern.search(one.text) for pattern in described_messages())


def test_troubleshooting_has_the_messages_of_the_code():
    """The messages in the first column are what the program prints."""
    code = "".join(p.read_text() for folder in ("fs", "packaging")
                   for p in (console.ROOT / folder).rglob("*.cc"))
    for folder in ("formats", "remote", "vfs"):
        code += "".join(p.read_text() for p in (console.ROOT / "core" / folder).rglob("*.cc"))
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
