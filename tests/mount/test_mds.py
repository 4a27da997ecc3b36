# SPDX-License-Identifier: Apache-2.0
"""MDS data sets: what golden/mds has no answer for (docs/formats/mds.md)."""

import errno
import json
import os
import shutil

from conftest import BIN, GOLDEN, error_of, run
from remote import NEEDS_URLS, fixture_ctxfs, fixture_web  # noqa: F401  fixtures

SETS = GOLDEN / "mds"


def read(path, size, at):
    file = os.open(path, os.O_RDONLY)
    try:
        return os.pread(file, size, at)
    finally:
        os.close(file)


def test_a_list_is_a_directory_even_if_it_is_empty(mount):
    columns = mount(SETS / "pictures").root / "columns"
    assert sorted(os.listdir(columns / "lp")) == ["000000", "000001", "000002"]
    assert os.listdir(columns / "lp" / "000000") == []
    assert os.listdir(columns / "ja" / "000000") == ["000000.jpg", "000001.jpg"]
    assert not (columns / "ja" / "000003").exists()
    assert not (columns / "ja" / "0").exists()


def test_only_the_rows_of_a_damaged_shard_are_lost(mount):
    """A joined column is served up to the first byte of a shard that is missing."""
    root = mount(SETS / "missing").root
    whole = (SETS / "shards.json").read_text()
    size = os.stat(root / "columns" / "id").st_size
    assert size == json.loads(whole)["files"]["columns/id"]["size"]
    lost = 11 * 8
    assert error_of(read, root / "columns" / "id", 8, 0) == errno.EIO
    assert error_of(read, root / "columns" / "id", 16, lost - 8) == errno.EIO
    rows = read(root / "columns" / "id", size, lost)
    assert rows == b"".join(number.to_bytes(8, "little") for number in range(11, size // 8))


def test_the_directory_and_its_index_are_one_container(mount):
    one = mount(SETS / "basic").root
    other = mount(SETS / "basic" / "index.json").root
    assert (one / ".ctxfs" / "metadata.json").read_bytes() == (
        SETS / "basic" / "index.json").read_bytes()
    assert (one / "views" / "samples.jsonl").read_bytes() == (
        other / "views" / "samples.jsonl").read_bytes()


def test_check_of_a_folder_of_sets_reads_each_once(tmp_path):
    shutil.copytree(SETS / "splits", tmp_path / "splits")
    done = run(BIN / "ctxfs", "check", "--json", tmp_path)
    found = {(os.path.relpath(one["source"], tmp_path), one["format"], one["outcome"])
             for one in json.loads(done.stdout) if one["format"]}
    assert found == {(f"splits{where}/index.json", "mds", "clean")
                     for where in ("", "/train", "/val")}


def test_a_sample_that_cannot_be_read_is_a_line(mount):
    lines = [json.loads(line) for line in
             (mount(SETS / "missing").root / "views" / "samples.jsonl").read_text().splitlines()]
    assert lines[0] == {"$error": "corrupt", "sample": 0}
    assert lines[11]["id"] == 11
    lines = (mount(SETS / "flip").root / "views" / "samples.jsonl").read_text().splitlines()
    assert json.loads(lines[10]) == {"$error": "checksum", "sample": 10}


@NEEDS_URLS
def test_45_3_a_set_on_a_server_is_opened_by_its_index(web, ctxfs):
    for name in ("basic", "zip_zstd"):
        shutil.copytree(SETS / name, web.www / name)
        for path in ("columns", "views/samples.jsonl", ".ctxfs/metadata.json"):
            word = "ls" if path == "columns" else "cat"
            local = run(BIN / "ctxfs", word, f"{SETS / name}//{path}")
            remote = ctxfs(word, web.url(f"{name}/index.json//{path}"))
            assert remote.returncode == 0, remote.stderr
            assert remote.stdout == local.stdout and local.stdout, path
        assert b"clean" in ctxfs("check", web.url(f"{name}/index.json")).stdout
