# SPDX-License-Identifier: Apache-2.0
"""Which file ctxfs report writes, and which it keeps."""

import os
import shutil
import socket
import stat
import subprocess

import pytest

from conftest import BIN, GOLDEN, run, wait_until

CTXFS = BIN / "ctxfs"
EPISODE = GOLDEN / "wshard" / "rgb_zstd.wshard"
MODEL = GOLDEN / "mcf" / "hf_sharded.mcf"


def report(*words, **kwargs):
    return run(CTXFS, "report", *words, **kwargs)


def test_an_existing_file_is_kept(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("mine")
    done = report(EPISODE, "-o", page)
    assert done.returncode == 2 and b"exists already; --replace replaces it" in done.stderr
    assert page.read_text() == "mine"
    done = report("--replace", EPISODE, "-o", page)
    assert done.returncode == 2 and b"is not a page that ctxfs made" in done.stderr
    assert page.read_text() == "mine"
    page.write_text("<!doctype html>\n<!-- made by ctxfs -->\nold")
    assert report("--replace", EPISODE, "-o", page).returncode == 0
    assert page.read_text().startswith("<!doctype html>\n<!-- made by ctxfs -->\n")
    assert report("--replace", EPISODE, "-o", page).returncode == 0, "its own pages"


@pytest.mark.parametrize("begin", [
    b"", b"<!doctype html>\n", b"<!doctype html>\n<html><!-- made by ctxfs -->\n",
    b"<!DOCTYPE HTML>\n<!-- made by ctxfs -->\n", b"\n<!doctype html>\n<!-- made by ctxfs -->\n",
    b"<!doctype html>\n<!-- made by ctxfs --"])
def test_28_8_pages_of_others_are_kept(tmp_path, begin):
    page = tmp_path / "page.html"
    page.write_bytes(begin)
    done = report("--replace", EPISODE, "-o", page)
    assert done.returncode == 2 and b"is not a page that ctxfs made" in done.stderr
    assert page.read_bytes() == begin and os.listdir(tmp_path) == ["page.html"]


def test_28_8_only_a_regular_file_is_replaced(tmp_path):
    mine = tmp_path / "mine.html"
    assert report(EPISODE, "-o", mine).returncode == 0
    before = mine.stat()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(mine)
    (tmp_path / "dangling").symlink_to("nothing")
    (tmp_path / "out").symlink_to("/dev/stdout")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
    names = set(os.listdir(tmp_path))
    for name in (*sorted(names - {"mine.html"}), "/dev/stdout", "/dev/null", "/dev/fd/1"):
        done = report("--replace", EPISODE, "-o", name, cwd=tmp_path)
        assert done.returncode == 2 and done.stdout == b"", name
        assert b"exists and is not a regular file" in done.stderr, name
    assert set(os.listdir(tmp_path)) == names
    assert stat.S_ISFIFO((tmp_path / "fifo").lstat().st_mode)
    assert (tmp_path / "link").is_symlink() and (tmp_path / "dangling").is_symlink()
    assert mine.stat() == before and os.path.islink("/dev/stdout")


def test_28_8_what_appears_while_the_page_is_made_is_kept(tmp_path):
    """The name is looked at again before the page gets it."""
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    page = tmp_path / "page.html"
    for flags in ((), ("--replace",)):
        process = subprocess.Popen(
            ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync",
             "-e", "inject=landlock_restrict_self:delay_enter=2000000",
             CTXFS, "report", *flags, EPISODE, "-o", page],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert wait_until(lambda: any(n.endswith(".part") for n in os.listdir(tmp_path)))
        page.write_text("mine")
        _, problems = process.communicate(timeout=60)
        assert process.returncode == 2 and b"exists" in problems
        assert os.listdir(tmp_path) == ["page.html"] and page.read_text() == "mine"
        page.unlink()


def test_28_8_the_page_on_standard_output(tmp_path):
    done = report(EPISODE, "-o", "-", cwd=tmp_path)
    assert done.returncode == 0 and done.stderr == b"" and os.listdir(tmp_path) == []
    assert report(EPISODE, "-o", "page.html", cwd=tmp_path).returncode == 0
    assert done.stdout == (tmp_path / "page.html").read_bytes()
    assert report(tmp_path / "none", "-o", "-").stdout == b""
    assert report(EPISODE, "-o", "./-", cwd=tmp_path).returncode == 0
    assert (tmp_path / "-").read_bytes() == done.stdout
    with open("/dev/full", "wb") as full:
        failed = subprocess.run([CTXFS, "report", EPISODE, "-o", "-"], stdout=full,
                                stderr=subprocess.PIPE, check=False, timeout=30)
    assert failed.returncode == 2 and b"standard output" in failed.stderr


def test_a_source_is_not_replaced(tmp_path):
    source = tmp_path / "episode.wshard"
    shutil.copy(EPISODE, source)
    (tmp_path / "link").hardlink_to(source)
    for name in ("episode.wshard", "link"):
        done = report("--replace", source, "-o", tmp_path / name)
        assert done.returncode == 2 and b"is not a page that ctxfs made" in done.stderr
    assert source.read_bytes() == EPISODE.read_bytes()


@pytest.mark.parametrize("output", ["none/page.html", ".", "folder/", "..", ""])
def test_where_no_file_can_be(tmp_path, output):
    (tmp_path / "folder").mkdir()
    done = report(EPISODE, "-o", output, cwd=tmp_path)
    assert done.returncode in (1, 2) and done.stderr
    assert os.listdir(tmp_path) == ["folder"] and os.listdir(tmp_path / "folder") == []
