# SPDX-License-Identifier: Apache-2.0
"""Stores of Zarr in directories and archives, as no golden answer has them."""

import errno
import json
import os
import shutil
import time
import zipfile

import pytest

from conftest import BIN, GOLDEN, error_of, run
from remote import NEEDS_URLS, fixture_ctxfs, fixture_store, store_variables  # noqa: F401

STORES = GOLDEN / "zarr"


def pread(path, size, offset=0):
    """Without the page cache."""
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        return os.pread(file, size, offset)
    finally:
        os.close(file)


@pytest.fixture
def lake(tmp_path):
    """A directory with a store, and a store in a directory."""
    shutil.copytree(STORES / "v2_tree", tmp_path / "lake" / "x.zarr")
    shutil.copytree(STORES / "v3_default", tmp_path / "lake" / "deep" / "y")
    return tmp_path / "lake"


def test_a_store_stays_a_directory_in_a_mirror(lake, mount):
    root = mount(lake).point
    assert sorted(os.listdir(root)) == ["deep", "x.zarr"]
    assert (root / "x.zarr" / ".zgroup").read_bytes() == (lake / "x.zarr/.zgroup").read_bytes()
    assert sorted(os.listdir(root / "x.zarr~dir")) == ["attributes.json", "empty", "obs"]
    assert len((root / "deep" / "y~dir" / "array").read_bytes()) == 140
    # Only the outermost group is a container.
    assert not (root / "x.zarr" / "obs~dir").exists()
    assert not (root / "deep~dir").exists()


def test_check_finds_stores_in_directories(lake):
    done = run(BIN / "ctxfs", "check", "--json", lake)
    found = {one["source"]: one["outcome"] for one in json.loads(done.stdout)}
    assert set(found) == {str(lake / "x.zarr"), str(lake / "deep" / "y")}
    (lake / "deep" / "y" / "c" / "0" / "0").write_bytes(b"x")
    assert run(BIN / "ctxfs", "check", lake).returncode == 1


def test_a_chunk_that_is_written_to_is_stale(lake, mount):
    array = mount(lake / "deep" / "y").root / "array"
    before = pread(array, 4)
    chunk = lake / "deep" / "y" / "c" / "0" / "0"
    chunk.write_bytes(bytes(chunk.stat().st_size))
    assert error_of(pread, array, 4) in (errno.ESTALE, errno.EIO)
    assert len(before) == 4


def test_45_1_a_raw_chunk_that_is_replaced_is_stale_from_then_on(tmp_path, mount):
    """Its new bytes can be decoded, too: they are never mixed with the old."""
    store = tmp_path / "x.zarr"
    (store / "c").mkdir(parents=True)
    (store / "zarr.json").write_text(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": [8192], "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4096]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}))
    for name in "01":
        (store / "c" / name).write_bytes(b"a" * 4096)
    array = mount(store).root / "array"
    assert pread(array, 8192) == b"a" * 8192
    (tmp_path / "new").write_bytes(b"b" * 4096)
    os.rename(tmp_path / "new", store / "c" / "0")
    time.sleep(1.1)  # a path is examined once a second
    for _ in range(2):
        assert error_of(pread, array, 4096) == errno.ESTALE


@NEEDS_URLS
@pytest.mark.parametrize("name", ["v3.zarr.zip", "v3_shards", "v2_tree"])
def test_a_store_on_a_server_is_read(store, ctxfs, name):  # noqa: F811
    """An archive by ranges, and objects of a prefix."""
    local = STORES / name
    files = [local] if local.is_file() else [one for one in local.rglob("*") if one.is_file()]
    store.buckets["bucket"] = {
        f"data/{one.relative_to(STORES)}": one.read_bytes() for one in files}
    here = json.loads(run(BIN / "ctxfs", "ls", "-R", "--json", local).stdout)
    url, env = f"s3://bucket/data/{name}", store_variables(store)
    if local.is_dir():
        url += "/"
    there = json.loads(ctxfs("ls", "-R", "--json", url, **env).stdout)
    arrays = [one["path"] for one in here if one["kind"] == "array"]
    assert [one["path"] for one in there if one["kind"] == "array"] == arrays and arrays
    for array in arrays:
        shown = ctxfs("cat", f"{url}//{array}", **env)
        assert shown.stdout == run(BIN / "ctxfs", "cat", f"{local}//{array}").stdout, shown.stderr


def test_an_archive_of_a_store_is_a_store(tmp_path, mount):
    """Of members that are compressed, or that are there twice."""
    path = tmp_path / "y.zarr.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted((STORES / "window").rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(STORES / "window"))
    root = mount(path).root
    plain = mount(STORES / "window").root
    assert (root / "array").read_bytes() == (plain / "array").read_bytes()
    assert (root / ".ctxfs" / "container").read_bytes() == path.read_bytes()
    assert json.loads(run(BIN / "ctxfs", "check", "--json", path).stdout)[0]["outcome"] == "clean"


def test_python_zarr_metadata_of_100_bytes_cannot_cost_much(tmp_path):
    """A claim of 2^60 chunks is a number, never a list."""
    store = tmp_path / "big.zarr"
    store.mkdir()
    (store / ".zarray").write_text(json.dumps({
        "zarr_format": 2, "shape": [2**40, 2**20], "chunks": [1, 1], "dtype": "|u1",
        "fill_value": 7, "order": "C", "compressor": None, "filters": None}))
    done = run(BIN / "ctxfs", "ls", "--json", store)
    assert done.returncode == 0, done.stderr
    [entry] = json.loads(done.stdout)
    assert entry["size"] == 0
