# SPDX-License-Identifier: Apache-2.0
"""Keys of encrypted entries, links of deltas, and the order of events."""

import errno
import json
import os
import shutil

import pytest

from conftest import BIN, GOLDEN, error_of, run
from shard import build, entry
from test_golden import ANSWERS, Tree, sha256

FOLDER = GOLDEN / "conventions"


@pytest.fixture
def keyfile(tmp_path):
    """A function that writes a key file and gives its path."""

    def written(content: bytes, mode: int = 0o600):
        path = tmp_path / "key"
        path.write_bytes(content)
        path.chmod(mode)
        return path

    return written


SOURCE = json.loads((FOLDER / "encrypted.mosh.json").read_text())
KEY = bytes.fromhex(SOURCE["key"])


@pytest.mark.parametrize(
    "content", [KEY, KEY.hex().upper().encode() + b"\n"], ids=["raw", "hex line"])
def test_forms_of_a_key(mount, keyfile, content):
    """golden/conventions.json has what is shown with the key in hexadecimal."""
    mounted = mount(FOLDER / "encrypted.mosh", f"keyfile={keyfile(content)}")
    answer = ANSWERS["conventions"]["encrypted.mosh -o keyfile"]
    Tree(os.fsencode(mounted.root), answer).check()


def test_without_a_key(mount, keyfile):
    """Sizes are those with it; what cannot be read cannot be checked either."""
    mounted = mount(FOLDER / "encrypted.mosh")
    with_key = mount(FOLDER / "encrypted.mosh", f"keyfile={keyfile(KEY)}")
    for one in SOURCE["entries"]:
        assert os.stat(mounted / one["name"]).st_size == os.stat(with_key / one["name"]).st_size
    checked = run(BIN / "fsck.ctxfs", FOLDER / "encrypted.mosh")
    assert checked.returncode == 8 and b"no key" in checked.stdout


def test_a_wrong_key_is_eio(mount, keyfile):
    mounted = mount(FOLDER / "encrypted.mosh", f"keyfile={keyfile(bytes(32))}")
    for one in SOURCE["entries"]:
        path = mounted / one["name"]
        if one.get("encrypted", True):
            assert error_of(path.read_bytes) == errno.EIO
            assert error_of(path.read_bytes) == errno.EIO
        else:
            assert sha256(path.read_bytes()) == one["sha256"]


def test_key_files_that_are_none(refused, keyfile, tmp_path):
    container = FOLDER / "encrypted.mosh"
    for content in (b"", KEY[:31], KEY + b"x", KEY.hex().encode()[:-1] + b"g",
                    KEY.hex().encode() + b"\n\n", bytes(4096)):
        code, text = refused(container, f"keyfile={keyfile(content)}")
        assert code == 9
        assert content == b"" or KEY.hex()[:8] not in text
    assert refused(container, f"keyfile={tmp_path / 'none'}")[0] == 9
    assert refused(container, f"keyfile={tmp_path}")[0] == 9
    for mode in (0o640, 0o604, 0o644):
        assert refused(container, f"keyfile={keyfile(KEY, mode)}")[0] == 9


def test_insecure_keyfile(mount, keyfile):
    mounted = mount(FOLDER / "encrypted.mosh", f"keyfile={keyfile(KEY, 0o644)}",
                    "insecure_keyfile")
    assert (mounted / "notes").read_bytes() == b"the plain text\n"


def test_decrypted_memory_is_not_dumped(mount, keyfile):
    mounted = mount(FOLDER / "encrypted.mosh", f"keyfile={keyfile(KEY)}")
    with open(mounted / "packed/zstd", "rb") as file:
        file.read(100)
        maps = open(f"/proc/{mounted.pid()}/smaps", encoding="utf-8").read()
    flags = [line for line in maps.splitlines() if line.startswith("VmFlags")]
    assert any(" dd" in line for line in flags)
    assert any(" dd" in line and " lo" in line for line in flags)


def test_a_link_does_not_lead_outside(mount, tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    shutil.copy(FOLDER / "deltas.mosh", tmp_path / "outer.mosh")
    shutil.copy(FOLDER / "adapter.mosh", inner)
    (inner / "deltas.mosh").symlink_to("../outer.mosh")
    mounted = mount(inner / "adapter.mosh")
    assert not (mounted / "views/merged/beside").exists()


def test_events_come_in_the_order_of_their_numbers(mount, tmp_path):
    keys = ["1000000", "b", "000010", "9", "a", "999999", "0"]
    entries = [entry("seq/" + key, json.dumps(key).encode(), content_type=2)
               for key in keys]
    (tmp_path / "t.tshard").write_bytes(build(entries, role=7))
    lines = (mount(tmp_path / "t.tshard") / "views" / "events.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        "0", "9", "000010", "999999", "1000000", "a", "b"]


def test_events_and_graphs_in_cowrie(mount, tmp_path):
    graph = FOLDER.parent / "shard-profiles" / "synthetic" / "graphshard_gen2.cowrie"
    expected = json.loads((graph.parent / (graph.name + ".json")).read_text())["expected"]
    entries = [entry("seq/1", b"[1]", content_type=2),
               entry("seq/2", graph.read_bytes(), content_type=3)]
    (tmp_path / "t.tshard").write_bytes(build(entries, role=7))
    lines = (mount(tmp_path / "t.tshard") / "views" / "events.jsonl").read_text().splitlines()
    expected["_type"] = "graph_shard"
    assert [json.loads(line) for line in lines] == [[1], expected]

    entries = [entry("g", graph.read_bytes(), content_type=3),
               entry("bad", b"SJ no cowrie at all", content_type=3)]
    (tmp_path / "t.gshard").write_bytes(build(entries, role=6))
    mounted = mount(tmp_path / "t.gshard")
    assert json.loads((mounted / "views" / "json" / "g.json").read_text()) == expected
    assert (mounted / "views" / "json" / "bad.json").stat().st_size == 0
    assert error_of((mounted / "views/json/bad.json").read_bytes) == errno.EIO
    assert (mounted / "g").read_bytes() == graph.read_bytes()


def test_events_that_are_no_json(mount, tmp_path):
    entries = [entry("seq/1", b"{}"), entry("seq/2", b"\x80 no text")]
    (tmp_path / "t.tshard").write_bytes(build(entries, role=7))
    mounted = mount(tmp_path / "t.tshard")
    assert not (mounted / "views" / "events.jsonl").exists()
    assert (mounted / "seq/2").read_bytes() == b"\x80 no text"


def test_the_writer_writes_what_is_there(tmp_path):
    script = FOLDER.parents[1] / "scripts" / "make_conventions.py"
    assert run("/usr/bin/python3", "-B", script, tmp_path).returncode == 0
    for path in FOLDER.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()
