# SPDX-License-Identifier: Apache-2.0
"""What commands print of names: no control characters, UTF-8 where the locale has it."""

import json
import os
import re
import unicodedata

import pytest

from conftest import BIN, run
from shard import build, entry
from terminal import plain, run_in_terminal

CTXFS = BIN / "ctxfs"
UTF8 = {**os.environ, "LC_ALL": "C.UTF-8"}
ASCII = {**os.environ, "LC_ALL": "C"}
# ESC, a bell, DEL, CSI as one character, marks of direction, a byte that is not UTF-8.
HOSTILE = (b"a\x1b[2Jb", b"bell\x07", b"del\x7f", "csi\u009b31m".encode(),
           "bidi\u202egpj.exe".encode(), "lri\u2066x\u2069".encode(), "lrm\u200e".encode(),
           b"latin\xe9", b"new\nline", b"back\\slash", "gr\u00fc\u00df".encode())


def acts(text: str) -> list[str]:
    """The characters of a text that may act on the terminal that shows it."""
    return [c for c in text if c not in "\n\r\t"
            and (unicodedata.category(c) in ("Cc", "Zl", "Zp") or c == "\ufeff"
                 or unicodedata.bidirectional(c) in
                 ("LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI")
                 or c in "\u061c\u200e\u200f")]


@pytest.fixture
def hostile(tmp_path):
    """A container whose name and whose entries' names are hostile."""
    path = tmp_path / "x\x1b]0;title\x07\u202e.shard"
    path.write_bytes(build([entry(name, b"1") for name in HOSTILE]
                           + [entry(b"bad\x1b[31m", b"x", checksum=1)], role=16))
    return path


COMMANDS = (["info"], ["info", "--raw"], ["info", "--json"], ["ls"], ["ls", "-l"], ["ls", "-R"],
            ["ls", "--json"], ["ls", "-aR"], ["check"], ["check", "--json"])


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_28_18_no_command_prints_controls(command, hostile):
    for env in (UTF8, ASCII):
        done = run(CTXFS, *command, hostile, env=env)
        text = (done.stdout + done.stderr).decode()  # strict: all of it is UTF-8
        assert done.stdout and acts(text) == [], (command, acts(text))
        code, shown = run_in_terminal(CTXFS, *command, hostile, env={"LC_ALL": env["LC_ALL"]})
        assert code == done.returncode
        assert acts(plain(shown)) == [], (command, acts(plain(shown)))


def test_28_18_messages_have_no_controls(hostile, tmp_path):
    name = "no\x1b[2Jsuch\u202efile"
    for command in (["cat", f"{hostile}//{name}"], ["ls", tmp_path / name], [name],
                    ["help", name], ["ls", f"--{name}"], ["info", tmp_path / name],
                    ["extract", hostile, tmp_path / name / "x"], ["umount", name],
                    ["mount", tmp_path / name], ["report", tmp_path / name]):
        done = run(CTXFS, *command, env=UTF8)
        assert done.returncode != 0
        text = done.stderr.decode()
        assert "such" in text or "title" in text
        assert acts(text) == [], (command, text)


def test_28_18_names_are_escaped_and_stay_different(hostile):
    listed = run(CTXFS, "ls", hostile, env=UTF8).stdout.decode().split("\n")
    for name in (r"a\x1b[2Jb", r"del\x7f", r"csi\xc2\x9b31m", r"bidi\xe2\x80\xaegpj.exe",
                 r"new\x0aline", r"back\x5cslash", "gr\u00fc\u00df"):
        assert name in listed


def test_28_10_names_that_end_with_nul_are_as_stored(hostile):
    for command in (["ls", "-0"], ["ls", "--zero"], ["ls", "-R0"]):
        names = run(CTXFS, *command, hostile).stdout.split(b"\0")
        assert names.pop() == b""
        assert {b"a\x1b[2Jb", b"new\nline", b"back\\slash", HOSTILE[4]} <= set(names)
        assert len(names) == len(HOSTILE) + 1
    [long] = run(CTXFS, "ls", "-l0", f"{hostile}//bell\x07").stdout.split(b"\0")[:-1]
    assert long.endswith(b" bell\x07") and b"crc32c:" in long


def test_28_18_json_has_the_names_in_escapes(hostile):
    done = run(CTXFS, "ls", "--json", hostile)
    paths = {one["path"] for one in json.loads(done.stdout)}
    assert {"a\x1b[2Jb", "del\x7f", "csi\u009b31m", "bidi\u202egpj.exe"} <= paths
    assert rb"\u202e" in done.stdout and rb"\u007f" in done.stdout


def test_28_18_sums_have_the_names_as_stored(hostile, tmp_path, mount):
    """sha256sum(1) reads them: not on a terminal."""
    point = mount(hostile).point
    sums = run(CTXFS, "check", "--checksums=sha256", hostile)
    assert b"a\x1b[2Jb" in sums.stdout
    done = run("sha256sum", "--check", "--quiet", cwd=point, input=sums.stdout)
    assert done.returncode == 0, done


@pytest.mark.parametrize("command", (["info"], ["check"], ["cat"], ["info", "--raw"]))
def test_28_7_names_are_utf8_in_a_utf8_locale(command, tmp_path):
    path = tmp_path / "gr\u00fc\u00df \u6f22.shard"
    path.write_bytes(build([entry("\u00e9t\u00e9", b"x", checksum=1)]))
    target = f"{path}//\u00e9t\u00e9" if command == ["cat"] else path
    done = run(CTXFS, *command, target, env=UTF8)
    text = (done.stdout + done.stderr).decode()
    assert path.name in text and "\\x" not in text, text
    if command[-1] == "--raw":
        return
    done = run(CTXFS, *command, target, env=ASCII)
    text = (done.stdout + done.stderr).decode("ascii")
    assert r"gr\xc3\xbc\xc3\x9f" in text


def test_28_7_the_next_commands_run_in_any_locale(tmp_path):
    path = tmp_path / "gr\u00fc\u00df \x1b[1m it's.shard"
    path.write_bytes(build([entry("a", b"1")]))
    for env in (UTF8, ASCII):
        text = run(CTXFS, "info", path.name, cwd=tmp_path, env=env).stdout.decode()
        command = re.search(r"^    (ctxfs check .*)$", text, re.MULTILINE)[1]
        done = run("bash", "-c", f"{BIN}/{command}", cwd=tmp_path, env=env)
        assert done.returncode == 0 and b"clean" in done.stdout, command


def test_28_7_faults_quote_names_as_utf8_in_documents(mount, tmp_path):
    """index.json and faults.json are UTF-8 whatever the locale of the daemon is."""
    path = tmp_path / "x.shard"
    path.write_bytes(build([entry("\u00e9t\u00e9", b"x", checksum=1)]))
    report = json.loads(run(CTXFS, "check", "--json", path, env=ASCII).stdout)
    assert report[0]["faults"][0]["path"] == "\u00e9t\u00e9"
