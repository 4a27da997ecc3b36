# SPDX-License-Identifier: Apache-2.0
"""The fsspec protocol ctxfs, found by its entry point."""

import errno
import functools
import http.server
import os
import pickle
import shutil
import threading

import pytest

import ctxfs
from conftest import GOLDEN

fsspec = pytest.importorskip("fsspec")
PATH = "action/ctrl"


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format, *args):
        pass


@pytest.fixture
def fs(episode):
    return fsspec.filesystem("ctxfs", fo=str(episode))


@pytest.fixture
def container(episode):
    with ctxfs.open(episode) as c:
        yield c


def test_listings_and_facts(fs, container):
    assert sorted(fs.find("")) == sorted(container)
    assert {one["name"]: one["type"] for one in fs.ls("")} == {
        name: container.stat(name).kind for name in container.listdir()}
    assert fs.ls("action", detail=False) == [PATH] and fs.ls(f"ctxfs://{PATH}") == [fs.info(PATH)]
    info = fs.info(PATH)
    assert (info["name"], info["size"], info["type"]) == (PATH, 64, "file")
    assert fs.isdir("action") and fs.isdir("") and fs.isfile(PATH) and not fs.exists("absent")
    assert fs.glob("signal/t_i*") == sorted(f"signal/t_i{bits}" for bits in (8, 16, 32, 64))
    assert fs.du("action") == 64 and fs.modified(PATH).year > 2000
    assert set(fs.walk("").__next__()[1]) == {one["name"].split("/")[-1] for one in fs.ls("")
                                              if one["type"] == "directory"}


def test_bytes(fs, container, tmp_path):
    data = container[PATH].read()
    assert fs.cat_file(PATH) == data and fs.cat_file(PATH, 8, 16) == data[8:16]
    assert fs.cat_file(PATH, -8) == data[-8:] and fs.cat_file(PATH, 4, -4) == data[4:-4]
    assert fs.cat_file(PATH, 60, 1000) == data[60:] and fs.cat_file(PATH, 9, 3) == b""
    assert fs.cat_ranges([PATH, PATH], [0, 4], [4, 8]) == [data[:4], data[4:8]]
    assert fs.cat(["reward", PATH])[PATH] == data and fs.head(PATH, 5) == data[:5]
    with fs.open(PATH) as file:
        assert file.size == 64 and file.read(4) == data[:4] and file.seek(-4, 2) == 60
        assert file.read() == data[60:]
    with fs.open("meta/episode", "r", encoding="utf-8") as file:
        assert file.read() == container["meta/episode"].read().decode()
    fs.get("action", str(tmp_path / "out"), recursive=True)
    assert (tmp_path / "out" / "ctrl").read_bytes() == data
    assert fs.cat_file("views/npy/action/ctrl.npy").endswith(data)


def test_nothing_is_written(fs):
    for mode in ("wb", "ab", "r+b"):
        with pytest.raises((OSError, NotImplementedError)) as failed:
            fs.open(PATH, mode)
        assert failed.value.errno == errno.EROFS
    for use in (lambda: fs.rm(PATH), lambda: fs.pipe("new", b"x")):
        with pytest.raises((OSError, NotImplementedError)):
            use()
    assert fs.cat_file(PATH)


def test_errors(fs, damaged, tmp_path):
    for use in (lambda: fs.info("absent"), lambda: fs.ls("absent"), lambda: fs.open("absent"),
                lambda: fs.cat_file("absent")):
        with pytest.raises(FileNotFoundError):
            use()
    broken = fsspec.filesystem("ctxfs", fo=str(damaged))
    with pytest.raises(ctxfs.ChecksumError):
        broken.cat_file("meta/episode")
    with pytest.raises(ctxfs.ChecksumError), broken.open("meta/episode") as file:
        file.read()
    with pytest.raises(FileNotFoundError):
        fsspec.filesystem("ctxfs", fo=str(tmp_path / "absent"))
    with pytest.raises(FileNotFoundError):
        fsspec.filesystem("ctxfs", fo="memory://absent.wshard")


def test_chains(episode, container, tmp_path):
    data = container[PATH].read()
    with fsspec.open(f"ctxfs://{PATH}::file://{episode}") as file:
        assert file.read() == data
    fsspec.filesystem("memory").pipe("/x.wshard", episode.read_bytes())
    with fsspec.open(f"ctxfs://{PATH}::simplecache::memory://x.wshard",
                     simplecache={"cache_storage": str(tmp_path)}) as file:
        assert file.read() == data
    assert os.listdir(tmp_path)


def test_a_container_on_a_web_server(episode, container, damaged):
    """By fsspec's own HTTP, which needs aiohttp; the server knows no ranges."""
    pytest.importorskip("aiohttp")
    handler = functools.partial(QuietHandler, directory=str(GOLDEN / "wshard"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            url = f"http://127.0.0.1:{server.server_port}"
            with fsspec.open(f"ctxfs://{PATH}::{url}/{episode.name}") as file:
                assert file.read() == container[PATH].read()
            with pytest.raises(ctxfs.ChecksumError) as failed:
                fsspec.filesystem("ctxfs", fo=f"{url}/corrupt/{damaged.name}").cat_file(
                    "meta/episode")
            assert failed.value.offset == 736
            with pytest.raises(FileNotFoundError):
                fsspec.filesystem("ctxfs", fo=f"{url}/absent.wshard")
        finally:
            server.shutdown()


def test_a_container_elsewhere_is_fetched(episode, damaged, container):
    fsspec.filesystem("memory").pipe({"/x.wshard": episode.read_bytes(),
                                      "/damaged.wshard": damaged.read_bytes()})
    with fsspec.open(f"ctxfs://{PATH}::memory://x.wshard") as file:
        assert file.read() == container[PATH].read()
    fs = fsspec.filesystem("ctxfs", fo="memory://x.wshard")
    assert sorted(fs.find("")) == sorted(container)
    with pytest.raises(ctxfs.ChecksumError):
        fsspec.filesystem("ctxfs", fo="memory://damaged.wshard").cat_file("meta/episode")


def test_options_directories_and_links(episode, tmp_path):
    shutil.copy(episode, tmp_path / "a.wshard")
    fs = fsspec.filesystem("ctxfs", fo=str(tmp_path))
    assert fs.cat_file(f"a.wshard/{PATH}") and fs.isdir("a.wshard")
    cut = str(GOLDEN / "wshard" / "corrupt" / "cut_01008.wshard")
    assert fsspec.filesystem("ctxfs", fo=cut, salvage=True).ls("")
    links = fsspec.filesystem("ctxfs", fo=str(GOLDEN / "tar" / "symlinks.tar"))
    assert links.info("to_file")["type"] == "file" and links.info("to_file")["islink"]
    assert links.info("to_file")["size"] == len(links.cat_file("to_file"))
    assert links.info("loop1")["type"] == "other"


def test_it_is_pickled_as_its_place(fs):
    again = pickle.loads(pickle.dumps(fs))
    assert again.cat_file(PATH) == fs.cat_file(PATH)
