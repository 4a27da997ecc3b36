# SPDX-License-Identifier: Apache-2.0
"""Containers on a server of this machine: fetched in part, and by a process that ends with ours."""

import contextlib
import json
import multiprocessing
import os
import pathlib
import pickle
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import ctxfs
from conftest import GOLDEN

NGINX = "/usr/sbin/nginx"
NAME = "action/ctrl"
MIB = 1 << 20
CONFIG = """
daemon off;
{user}
pid {top}/pid;
error_log {top}/error.log;
events {{ }}
http {{
  log_format plain '$status $body_bytes_sent $uri';
  access_log {top}/access.log plain;
  client_body_temp_path {top}/t1; proxy_temp_path {top}/t2; fastcgi_temp_path {top}/t3;
  uwsgi_temp_path {top}/t4; scgi_temp_path {top}/t5;
  server {{ listen 127.0.0.1:{port}; root {top}/www; }}
}}
"""
OURS = ("AWS_", "CTXFS_", "CURL_", "HF_", "NETRC", "SSL_")


def wait_until(holds) -> bool:
    for _ in range(1000):
        if holds():
            return True
        time.sleep(0.02)
    return False


class Server:
    """An nginx that serves `www`."""

    def __init__(self, top: pathlib.Path):
        self.top, self.www = top, top / "www"
        self.www.mkdir(parents=True)
        top.chmod(0o755)
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.port}/{name}"

    def moved(self, name: str) -> int:
        """Bytes of bodies so far."""
        lines = map(str.split, (self.top / "access.log").read_text().splitlines())
        return sum(int(count) for _, count, path in lines if path == f"/{name}")

    def answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
            return True
        return False

    @contextlib.contextmanager
    def running(self):
        user = "user root;" if os.geteuid() == 0 else ""
        (self.top / "nginx.conf").write_text(
            CONFIG.format(top=self.top, port=self.port, user=user))
        with subprocess.Popen([NGINX, "-c", self.top / "nginx.conf", "-p", self.top],
                              stderr=subprocess.DEVNULL) as process:
            try:
                assert wait_until(self.answers), (self.top / "error.log").read_text()
                yield self
            finally:
                process.terminate()


@pytest.fixture(scope="module", autouse=True)
def environment(tmp_path_factory):
    """Without proxies, credentials and caches of the one who runs the test."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.upper().endswith("_PROXY") or name.startswith(OURS):
                patch.delenv(name)
        home = str(tmp_path_factory.mktemp("home"))
        patch.setenv("HOME", home)
        patch.setenv("XDG_CACHE_HOME", home)
        patch.setenv("CTXFS_REMOTE_TIMEOUT", "10")
        yield


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    if not os.path.exists(NGINX):
        pytest.skip("no nginx")
    with Server(tmp_path_factory.mktemp("nginx")).running() as server:
        for path in ("wshard/all_dtypes.wshard", "wshard/corrupt/flip_meta_episode.wshard"):
            shutil.copy(GOLDEN / path, server.www)
        head = json.dumps({"x": {"dtype": "U32", "shape": [16 * MIB],
                                 "data_offsets": [0, 64 * MIB]}}).encode()
        (server.www / "large.safetensors").write_bytes(
            struct.pack("<Q", len(head)) + head + np.arange(16 * MIB, dtype=np.uint32).tobytes())
        yield server


def fetching() -> dict[int, str]:
    """The names of the processes that the program of this package runs."""
    program = os.path.join(os.path.dirname(ctxfs.__file__), "bin", "ctxfs-fetch")
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "cmdline").read_bytes().split(b"\0")[0] == (
                    os.fsencode(program)):
                found[int(entry.name)] = (entry / "comm").read_text().strip()
    return found


def test_it_is_the_container(web, episode):
    with ctxfs.open(web.url("all_dtypes.wshard")) as there, ctxfs.open(episode) as here:
        assert list(there) == list(here) and there.info["format"] == here.info["format"]
        for path in here:
            assert there[path].read() == here[path].read()
        for name, array in here.arrays.items():
            assert np.array_equal(there.arrays[name].view("u1"), array.view("u1"))
        assert there.check() == [] and there.source == web.url("all_dtypes.wshard")


def test_a_window_moves_what_it_needs(web):
    with ctxfs.open(web.url("large.safetensors")) as c:
        window = c.arrays.lazy["x"][9 * MIB:9 * MIB + 100]
    assert np.array_equal(window, np.arange(9 * MIB, 9 * MIB + 100, dtype=np.uint32))
    assert 0 < web.moved("large.safetensors") < 16 * MIB


def test_errors(web, tmp_path):
    with ctxfs.open(web.url("flip_meta_episode.wshard")) as c:
        with pytest.raises(ctxfs.ChecksumError) as failed:
            c["meta/episode"].read()
        assert failed.value.offset == 736 and failed.value.filename == c.source
    with pytest.raises(ctxfs.NotFoundError, match="404") as failed:
        ctxfs.open(web.url("absent"))
    assert failed.value.filename == web.url("absent")


def read_one(container) -> bytes:
    return container[NAME].read()


def test_forked_and_spawned_processes_open_it_anew(web, episode):
    with ctxfs.open(episode) as c:
        expected = read_one(c)
    with ctxfs.open(web.url("all_dtypes.wshard")) as c:
        assert read_one(pickle.loads(pickle.dumps(c))) == expected
        for method in ("fork", "spawn"):
            with multiprocessing.get_context(method).Pool(2) as pool:
                assert pool.map(read_one, [c] * 4) == [expected] * 4
        child = os.fork()
        if child == 0:
            os._exit(0 if read_one(c) == expected else 1)
        assert os.waitpid(child, 0)[1] == 0
        c["meta/episode"].read()  # the parent's is as it was


def test_threads_open_urls_at_the_same_time(web, episode):
    """In a process of its own, which has opened none: all of them start the program."""
    code = """if True:
        import concurrent.futures, sys, ctxfs
        def read(_):
            with ctxfs.open(sys.argv[1]) as c:
                return c["action/ctrl"].read()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            print(len(set(pool.map(read, range(16)))))
    """
    done = subprocess.run([sys.executable, "-c", code, web.url("all_dtypes.wshard")], check=True,
                          capture_output=True, text=True)
    assert done.stdout == "1\n" and done.stderr == ""


def the_only(name: str, but: set[int]) -> int:
    """A process that was forked is called like its parent at first."""
    found = []

    def is_one():
        found[:] = [pid for pid, called in fetching().items() if called == name and pid not in but]
        return len(found) == 1

    assert wait_until(is_one), (name, fetching())
    return found[0]


def killed(processes: set[int]) -> bool:
    """Whether there are none: the standby starts others, unless it is killed in time."""
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return not processes


def test_what_fetches_is_confined_and_replaced(web):
    before = set(fetching())
    code = """if True:
        import sys, ctxfs
        for line in sys.stdin:
            with ctxfs.open(sys.argv[1]) as c:
                print(len(c.check()), flush=True)
    """
    with subprocess.Popen([sys.executable, "-c", code, web.url("all_dtypes.wshard")], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:

        def checks() -> bool:
            process.stdin.write("\n")
            process.stdin.flush()
            return process.stdout.readline() == "0\n"

        assert checks()
        fetcher = the_only("ctxfs-fetcher", before)
        status = pathlib.Path(f"/proc/{fetcher}/status").read_text()
        assert "NoNewPrivs:\t1" in status and "Seccomp:\t2" in status
        os.kill(fetcher, signal.SIGKILL)
        assert checks()  # by another one
        the_only("ctxfs-standby", before)
        assert wait_until(lambda: killed(set(fetching()) - before))
        assert checks()  # the program was started again
        assert set(fetching()) - before
        process.stdin.close()
    assert wait_until(lambda: set(fetching()) <= before)


def test_ctrl_c_ends_waiting_for_a_server():
    """The server takes the connection, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            ctxfs.open(f"http://127.0.0.1:{silent.getsockname()[1]}/x")
        timer.join()


def test_a_directory_called_like_a_scheme_comes_first(episode, tmp_path, monkeypatch):
    (tmp_path / "s3:" / "b").mkdir(parents=True)
    shutil.copy(episode, tmp_path / "s3:" / "b")
    monkeypatch.chdir(tmp_path)
    with ctxfs.open("s3://b/all_dtypes.wshard") as c:
        expected, pickled = read_one(c), pickle.dumps(c)
    monkeypatch.chdir("/")
    assert read_one(pickle.loads(pickled)) == expected
