# SPDX-License-Identifier: Apache-2.0
"""What tests of URLs share: servers on the loopback, objects, commands and mounts."""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Collection

import pytest

from conftest import BIN, GOLDEN, ROOT, mount_command, run, wait_until

sys.path.append(str(ROOT / "tests" / "support"))

import large_files  # noqa: E402, F401
from fault_server import FINAL, PASSING, FaultServer  # noqa: E402, F401
from injected_call import SUPPORTED, injected  # noqa: E402, F401
from store_server import StoreServer  # noqa: E402, F401

CTXFS = BIN / "ctxfs"
GRANULE = 64 << 10  # what the cache on disk fetches and keeps at a time
MIB = 1 << 20
NGINX = "/usr/sbin/nginx"
PASSWORD = "pass-word-7"

HAS_NO_URLS = b"cannot open URLs" in run(CTXFS, "info", "http://127.0.0.1:1/x").stderr
NEEDS_URLS = pytest.mark.skipif(HAS_NO_URLS, reason="this build opens no URLs")

CONFIG = """
daemon off;
{user}
pid {top}/pid;
error_log {top}/error.log;
events {{ }}
http {{
  log_format plain '$status $body_bytes_sent "$http_range" $server_protocol $uri';
  access_log {top}/access.log plain;
  client_body_temp_path {top}/t1; proxy_temp_path {top}/t2; fastcgi_temp_path {top}/t3;
  uwsgi_temp_path {top}/t4; scgi_temp_path {top}/t5;
  limit_req_zone $binary_remote_addr zone=slow:1m rate=10r/s;
  limit_req_status 429;
  server {{
    listen 127.0.0.1:{port};
    listen 127.0.0.1:{secure} ssl http2;
    ssl_certificate {top}/cert.pem;
    ssl_certificate_key {top}/key.pem;
    root {top}/www;
    location /private/ {{
      alias {top}/www/;
      auth_basic "models";
      auth_basic_user_file {top}/users;
    }}
    location /limited/ {{ alias {top}/www/; limit_req zone=slow; }}
    location /moved/ {{ rewrite ^/moved/(.*)$ /$1 redirect; }}
    location /down/ {{ return 302 HTTP://127.0.0.1:$arg_port/plain/m.safetensors; }}
    location /on/ {{ return 302 /down/?port=$arg_port; }}
    location /org/model/resolve/ {{ rewrite ^/org/model/resolve/main/(.*)$ /$1 redirect; }}
    location ~ ^/signed/ {{ return 200; }}
  }}
}}
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Nginx:
    """An nginx that serves `www`, by http and https."""

    def __init__(self, top: pathlib.Path):
        self.top = top
        self.www = top / "www"
        self.www.mkdir(parents=True)
        top.chmod(0o755)
        self.port, self.secure = free_port(), free_port()
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
            "-keyout", top / "key.pem", "-out", top / "cert.pem", check=True)
        digest = run("openssl", "passwd", "-apr1", PASSWORD, check=True).stdout.decode().strip()
        (top / "users").write_text(f"me:{digest}\n")
        (top / "nginx.conf").write_text(CONFIG.format(
            top=top, port=self.port, secure=self.secure,
            user="user root;" if os.geteuid() == 0 else ""))

    def url(self, path) -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    def secure_url(self, path) -> str:
        return f"https://localhost:{self.secure}/{path}"

    def requests(self) -> list[tuple[int, int, str]]:
        """Status, bytes of the body and path of each so far."""
        lines = (self.top / "access.log").read_text().splitlines()
        return [(int(w[0]), int(w[1]), w[-1]) for w in map(str.split, lines)]

    def protocols(self) -> set[str]:
        lines = (self.top / "access.log").read_text().splitlines()
        return {line.split()[-2] for line in lines}

    def moved(self) -> int:
        return sum(count for _, count, _ in self.requests())

    def forget(self) -> None:
        """Empties the list of requests, once no line has come for a moment: the server
        writes one when a request is over, which its client may know before."""
        log, size = self.top / "access.log", -1
        while size != (size := log.stat().st_size):
            time.sleep(0.3)
        log.write_text("")

    def answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
            return True
        return False

    @contextlib.contextmanager
    def running(self):
        server = subprocess.Popen([NGINX, "-c", str(self.top / "nginx.conf"), "-p", str(self.top)],
                                  stderr=subprocess.DEVNULL)
        try:
            assert wait_until(self.answers), (self.top / "error.log").read_text()
            yield self
        finally:
            server.terminate()
            server.wait()


def environment(home, **more) -> dict[str, str]:
    """Variables without proxies and credentials of the one who runs the test."""
    ours = ("AWS_", "CTXFS_", "CURL_", "HF_", "NETRC", "SSL_")
    kept = {name: value for name, value in os.environ.items()
            if not name.upper().endswith("_PROXY") and not name.startswith(ours)}
    return kept | {"HOME": str(home), "XDG_CACHE_HOME": f"{home}/cache",
                   "CTXFS_REMOTE_TIMEOUT": "10"} | more


def values(number: int, size: int) -> bytes:
    block = hashlib.sha256(str(number).encode()).digest()
    return block * (size // len(block))


def tensors(count: int, size: int) -> bytes:
    """A safetensors file of `count` tensors of `size` bytes."""
    head = {f"t{i}": {"dtype": "U8", "shape": [size], "data_offsets": [i * size, (i + 1) * size]}
            for i in range(count)}
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(values(i, size) for i in range(count))


def entries(done) -> list[str]:
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.decode().split())


def serving_processes(point: pathlib.Path) -> list[int]:
    """Those that show the mount, without the ones that fetch."""
    helpers = {pid for name in ("ctxfs-fetcher", "ctxfs-keeper", "ctxfs-standby")
               for pid in children_named(name, point)}
    return [pid for name in ("mount.ctxfs", "ctxfs") for pid in children_named(name, point)
            if pid not in helpers]


def counters(root) -> dict[str, float]:
    """Values of the metrics about servers, by their names and labels."""
    lines = (root.parent / ".ctxfs" / "stats").read_text().splitlines()
    return {name.removeprefix("ctxfs_remote_"): float(value)
            for name, value in (line.rsplit(" ", 1) for line in lines)
            if name.startswith("ctxfs_remote_")}


def await_cache(root) -> None:
    """Waits until the cache has what a mount has fetched."""
    assert wait_until(lambda: counters(root)["cache_backlog_bytes"] == 0)
    assert counters(root)["cache_skipped_bytes_total"] == 0


def longest_request(root) -> float:
    """Seconds that the longest request of a mount took, by `ctxfs stats`."""
    (mount,) = json.loads(run(CTXFS, "stats", "--json", root.parent, check=True).stdout)
    return mount["counters"]["request_longest_milliseconds"] / 1000


def children_named(name: str, of: pathlib.Path) -> list[int]:
    """Processes of this name with the mount point in their command line."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if (entry.name.isdigit() and (entry / "comm").read_text().strip() == name
                    and os.fsencode(str(of)) in (entry / "cmdline").read_bytes()):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def the_only(name: str, of: pathlib.Path, but: Collection[int] = ()) -> int:
    """The one process of this name that is not of `but`, once there is just one: a
    process that was forked is called like its parent at first."""
    found = []

    def is_one():
        found[:] = [pid for pid in children_named(name, of) if pid not in but]
        return len(found) == 1

    assert wait_until(is_one), f"{name}: {found}"
    return found[0]


@pytest.fixture(name="web", scope="module")
def fixture_web(tmp_path_factory):
    if not pathlib.Path(NGINX).exists():
        pytest.skip("no nginx")
    with Nginx(tmp_path_factory.mktemp("nginx")).running() as server:
        for name in ("zip/data_descriptor.zip", "safetensors/golden.safetensors"):
            path = GOLDEN / name
            if path.exists():
                shutil.copy(path, server.www)
        (server.www / "big.safetensors").write_bytes(tensors(16, MIB))
        yield server


@pytest.fixture(name="faults")
def fixture_faults():
    with FaultServer().running() as server:
        server.objects["m.safetensors"] = tensors(4, MIB)
        yield server


@pytest.fixture(name="ctxfs")
def fixture_ctxfs(tmp_path):
    """Runs a command with a home directory of its own."""

    def call(*words, timeout=60, **variables):
        return run(CTXFS, *words, timeout=timeout, env=environment(tmp_path, **variables))

    return call


@pytest.fixture(name="mounted")
def fixture_mounted(fuse, tmp_path):
    """Mounts a URL and gives the directory of the container."""
    points = []

    def call(url, *options, **variables):
        point = tmp_path / f"mnt{len(points)}"
        points.append(point)
        done = run(*mount_command(url, point, *options), env=environment(tmp_path, **variables))
        assert done.returncode == 0, done.stderr
        return point / url.rsplit("/", 1)[-1]

    yield call
    for point in points:
        run("umount", "-l", point)


@pytest.fixture(name="store")
def fixture_store():
    with StoreServer().running() as server:
        yield server


def store_variables(store) -> dict[str, str]:
    return {"AWS_ENDPOINT_URL": store.endpoint()}


@pytest.fixture(name="store_mounted")
def fixture_store_mounted(fuse, tmp_path, store):
    """Mounts a prefix of the store and gives its directory."""
    points = []

    def call(url, *options, **variables):
        point = tmp_path / f"mnt{len(points)}"
        points.append(point)
        done = run(*mount_command(url, point, *options),
                   env=environment(tmp_path, **store_variables(store), **variables))
        assert done.returncode == 0, done.stderr
        return point

    yield call
    for point in points:
        run("umount", "-l", point)
