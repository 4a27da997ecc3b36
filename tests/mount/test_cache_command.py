# SPDX-License-Identifier: Apache-2.0
"""ctxfs cache: what is kept on disk of objects of servers."""

import json
import os
import pathlib
import re

import pytest

from conftest import GOLDEN, run
from remote import (  # noqa: F401  fixtures
    CTXFS,
    GRANULE,
    HAS_NO_URLS,
    MIB,
    NEEDS_URLS,
    NGINX,
    FaultServer,
    Nginx,
    entries,
    environment,
    fixture_ctxfs,
    tensors,
    values,
)
from terminal import Terminal

MODEL = GOLDEN / "mcf" / "basic.mcf"


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    if not pathlib.Path(NGINX).exists():
        pytest.skip("no nginx")
    with Nginx(tmp_path_factory.mktemp("nginx")).running() as server:
        (server.www / "m.safetensors").write_bytes(tensors(4, MIB))
        yield server


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache" / "ctxfs"


def info(ctxfs, **variables) -> dict:
    done = ctxfs("cache", "info", "--json", **variables)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def names_below(top) -> set[str]:
    return {str(path.relative_to(top)) for path in top.rglob("*")}


@NEEDS_URLS
def test_30_5_after_warming_a_file_its_bytes_are_not_moved_again(web, ctxfs):
    url = web.url("m.safetensors")
    name = next(n for n in entries(ctxfs("ls", f"{url}//tensors")) if n.startswith("t2"))
    done = ctxfs("cache", "warm", f"{url}//tensors/{name}")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == f"1 file ({MIB} bytes) read\n".encode()
    web.forget()
    assert ctxfs("cat", f"{url}//tensors/{name}").stdout == values(2, MIB)
    assert web.moved() <= GRANULE, "it is opened anew, and the rest is in the cache"


@NEEDS_URLS
def test_30_5_warming_a_url_fetches_all_files_of_the_container(web, ctxfs, tmp_path):
    url = web.url("m.safetensors")
    done = ctxfs("cache", "warm", url)
    assert (done.returncode, done.stderr) == (0, b"")
    [line] = done.stdout.decode().splitlines()
    files, size = int(line.split()[0]), int(line.split("(")[1].split()[0])
    assert files >= 4 and size >= 4 * MIB
    web.forget()
    assert ctxfs("extract", url, tmp_path / "out").returncode == 0
    assert web.moved() <= GRANULE


@NEEDS_URLS
def test_30_5_warming_has_the_exit_codes_of_cat(web, ctxfs):
    damaged = GOLDEN / "wshard" / "corrupt" / "flip_raw_block.wshard"
    (web.www / "d.wshard").write_bytes(damaged.read_bytes())
    url = web.url("d.wshard")
    one = ctxfs("cache", "warm", f"{url}//signal/joint_pos", f"{url}//reward")
    assert one.returncode == 4 == ctxfs("cat", f"{url}//signal/joint_pos").returncode
    assert b"checksum mismatch" in one.stderr and one.stdout.startswith(b"1 file (")
    every = ctxfs("cache", "warm", url)
    assert every.returncode == 4 and b"'signal/joint_pos': " in every.stderr
    assert not every.stdout.startswith((b"0 files", b"1 file "))
    absent = ctxfs("cache", "warm", f"{url}//absent", web.url("absent"))
    assert absent.returncode == 2 and absent.stdout == b"0 files (0 bytes) read\n"


@NEEDS_URLS
def test_30_5_warming_shows_on_a_terminal_how_far_it_is(ctxfs, tmp_path):
    with FaultServer().running() as server:
        server.objects["m.safetensors"] = tensors(4, MIB)
        server.delay = 0.2  # twice the time between two lines
        url = server.url("far", "m.safetensors")
        warm = Terminal([CTXFS, "cache", "warm", url], env=environment(tmp_path))
        code, printed = warm.finish(60)
        assert code == 0 and re.search(r" % .* left", printed)
        last = printed.rpartition("\x1b[K")[2]
        assert re.fullmatch(r"\d+ files \(\d+ bytes\) read\r\n", last)
        assert not re.search(r" % .* left", ctxfs("cache", "warm", url).stderr.decode())


@NEEDS_URLS
def test_30_5_only_urls_are_warmed(ctxfs, tmp_path):
    done = ctxfs("cache", "warm", f"{MODEL}//tensors")
    assert done.returncode == 2 and done.stdout == b"" and b"not a URL" in done.stderr
    gone = ctxfs("cache", "warm", "gs://bucket/x")
    assert gone.returncode == 2 and b"this store is not supported yet" in gone.stderr
    (tmp_path / "file").write_text("text")
    done = ctxfs("cache", "warm", "http://127.0.0.1:1/x", CTXFS_CACHE_DIR=str(tmp_path / "file"))
    assert done.returncode == 2 and done.stdout == b"" and b"cache directory" in done.stderr


@NEEDS_URLS
def test_30_5_info_counts_what_the_cache_has(web, ctxfs, cache):
    assert info(ctxfs) == {"directory": str(cache), "exists": False, "size": 0,
                           "size_limit": 10 << 30, "objects": 0, "blocks": 0,
                           "files": 0}
    done = ctxfs("cache", "info")
    assert done.returncode == 0
    assert done.stdout.decode() == f"{cache}: does not exist yet: nothing is cached\n"
    assert not cache.exists()
    assert ctxfs("cache", "warm", web.url("m.safetensors")).returncode == 0
    found = info(ctxfs, CTXFS_CACHE_BYTES=str(1 << 30))
    assert found["exists"] and found["objects"] == 1 and found["size_limit"] == 1 << 30
    assert found["blocks"] == (web.www / "m.safetensors").stat().st_size // GRANULE + 1
    files = [path for path in cache.rglob("*") if path.is_file() and path.name != "lock"]
    assert found["size"] == sum(path.stat().st_size for path in files)
    line = ctxfs("cache", "info").stdout.decode()
    assert line == f"{cache}: 4.0 MiB of at most 10.0 GiB, {found['blocks']} blocks of 1 object\n"


@NEEDS_URLS
def test_30_5_clear_removes_the_blocks(web, ctxfs, cache):
    url = web.url("m.safetensors")
    assert ctxfs("cache", "warm", url).returncode == 0
    size = info(ctxfs)["size"]
    done = ctxfs("cache", "clear")
    assert done.returncode == 0
    assert done.stdout.decode().startswith(f"{cache}: {size} bytes freed, 65 blocks of 1 object")
    assert names_below(cache) <= {"lock"} and info(ctxfs)["blocks"] == 0
    web.forget()
    assert ctxfs("cache", "warm", url).returncode == 0
    assert web.moved() >= 4 * MIB, "it is fetched again"
    assert b": 0 bytes freed" in ctxfs("cache", "clear", XDG_CACHE_HOME="/nowhere").stdout


@NEEDS_URLS
def test_30_5_clear_keeps_foreign_files(web, ctxfs, cache, tmp_path):
    assert ctxfs("cache", "warm", web.url("m.safetensors")).returncode == 0
    [of_model] = {path.parent for path in cache.rglob("*-*")}
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "0-1").write_bytes(b"ctxfsblk")
    (of_model / "1000-1").write_bytes(b"text")
    (of_model / "2000-1").symlink_to(tmp_path / "outside" / "0-1")
    (cache / ("a" * 64)).symlink_to(tmp_path / "outside")
    (cache / "notes").write_bytes(b"text")
    assert ctxfs("cache", "clear").returncode == 0
    assert names_below(cache) - {"lock"} == {
        of_model.name, f"{of_model.name}/1000-1", f"{of_model.name}/2000-1", "a" * 64, "notes"}
    assert (tmp_path / "outside" / "0-1").read_bytes() == b"ctxfsblk"


@NEEDS_URLS
def test_30_5_a_directory_that_is_no_cache_loses_nothing(ctxfs, tmp_path):
    home = tmp_path / "home"
    (home / "me" / "ctxfs").mkdir(parents=True)
    (home / "me" / "0-1").write_bytes(b"ctxfsblk")
    home.chmod(0o755)
    before = names_below(home)
    done = ctxfs("cache", "clear", CTXFS_CACHE_DIR=str(home))
    assert done.returncode == 0 and b": 0 bytes freed" in done.stdout
    assert names_below(home) == before and home.stat().st_mode & 0o777 == 0o755
    home.chmod(0o777)
    for action in ("info", "clear"):
        done = ctxfs("cache", action, CTXFS_CACHE_DIR=str(home))
        assert done.returncode == 2 and b"must belong to you" in done.stderr
        done = ctxfs("cache", action, CTXFS_CACHE_DIR="relative")
        assert done.returncode == 2 and b"an absolute path" in done.stderr
        done = ctxfs("cache", action, XDG_CACHE_HOME="", HOME="")
        assert done.returncode == 2 and b"set CTXFS_CACHE_DIR or HOME" in done.stderr


@NEEDS_URLS
def test_30_5_clear_while_a_mount_reads(web, ctxfs, tmp_path, fuse):
    point = tmp_path / "mnt"
    url = web.url("m.safetensors")
    assert ctxfs("mount", url, point).returncode == 0
    try:
        top = point / "m.safetensors" / "tensors"
        for name in sorted(os.listdir(top)):
            number = int(name[1:].split(".")[0])
            assert (top / name).read_bytes() == values(number, MIB)
            assert ctxfs("cache", "clear").returncode == 0
    finally:
        run("umount", "-l", point)


def test_30_5_words_of_the_command():
    for words, reason in ((["cache"], "missing operand: expected info|clear|warm"),
                          (["cache", "clean"], "'clean' is not an action"),
                          (["cache", "inf"], "'inf' is not an action (did you mean 'info'?)")):
        done = run(CTXFS, *words)
        assert done.returncode == 1 and done.stdout == b""
        assert reason in done.stderr.decode(), done.stderr
        assert b"try 'ctxfs cache --help'" in done.stderr
    assert b"unexpected operand 'x'" in run(CTXFS, "cache", "clear", "x").stderr
    assert b"unknown option '--json'" in run(CTXFS, "cache", "clear", "--json").stderr
    text = run(CTXFS, "cache", "--help").stdout
    assert all(action in text for action in (b"  info ", b"  clear ", b"  warm "))
    assert run(CTXFS, "cache", "warm", "-h").stdout.startswith(b"usage: ctxfs cache warm ")

    def offered(*words) -> set[str]:
        lines = run(CTXFS, "__complete", "ctxfs", *words).stdout.decode().splitlines()
        return {line.split("\t")[0] for line in lines}

    assert offered("cache", "") == {"info", "clear", "warm"}
    assert offered("cache", "c") == {"clear"}
    assert offered("cache", "info", "--j") == {"--json"}
    assert offered("cache", "warm", "ht") == {":files"}


@pytest.mark.skipif(not HAS_NO_URLS, reason="this build opens URLs")
@pytest.mark.parametrize("words", (["info"], ["clear"], ["warm", "http://127.0.0.1:1/x"]))
def test_30_5_a_build_without_urls_says_so(words):
    done = run(CTXFS, "cache", *words)
    assert done.returncode == 2 and done.stdout == b""
    assert b"this build of ctxfs cannot open URLs" in done.stderr
    assert done.stderr.count(b"\n") == 1
