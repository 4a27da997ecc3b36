# SPDX-License-Identifier: Apache-2.0
"""URLs as SOURCEs, over a bad line: toxiproxy between a mount and nginx."""

import concurrent.futures
import contextlib
import errno
import json
import subprocess
import time
import urllib.request

import pytest

from conftest import ROOT, wait_until
from remote import (  # noqa: F401  fixtures
    MIB,
    NEEDS_URLS,
    fixture_mounted,
    fixture_web,
    free_port,
    values,
)

PROGRAM = ROOT / "build" / "toxiproxy" / "toxiproxy"
TENSORS = 16
READERS = 4
TIMEOUT = 2  # seconds

pytestmark = [NEEDS_URLS, pytest.mark.skipif(
    not PROGRAM.exists(),
    reason="no toxiproxy: 'scripts/test.sh long' builds it if there is a go")]

SLOW = {"latency": {"latency": 40, "jitter": 20}, "bandwidth": {"rate": 8000},
        "slicer": {"average_size": 700, "size_variation": 500, "delay": 10}}
# Connections that are reset, that end amid an answer, and on which nothing comes any more.
BROKEN = {"reset_peer": {"timeout": 0}, "limit_data": {"bytes": 20_000}, "timeout": {"timeout": 0}}


class Line:
    """A proxy to a port, whose connections can be spoilt."""

    def __init__(self, to: int):
        self.api, self.port = free_port(), free_port()
        self.to = to

    def call(self, method: str, path: str, **body) -> None:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.api}{path}", method=method,
            data=json.dumps(body).encode() if body else None)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request):
            pass

    def answers(self) -> bool:
        with contextlib.suppress(OSError):
            self.call("GET", "/version")
            return True
        return False

    @contextlib.contextmanager
    def running(self):
        server = subprocess.Popen([PROGRAM, "-host", "127.0.0.1", "-port", str(self.api)],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            assert wait_until(self.answers)
            self.call("POST", "/proxies", name="line", listen=f"127.0.0.1:{self.port}",
                      upstream=f"127.0.0.1:{self.to}", enabled=True)
            yield self
        finally:
            server.terminate()
            server.wait()

    @contextlib.contextmanager
    def spoilt(self, kind: str, attributes: dict):
        self.call("POST", "/proxies/line/toxics", name=kind, type=kind, stream="downstream",
                  toxicity=1, attributes=attributes)
        try:
            yield
        finally:
            self.call("DELETE", f"/proxies/line/toxics/{kind}")


@pytest.fixture(name="line")
def fixture_line(web):
    with Line(web.port).running() as line:
        yield line


def read(path, number: int) -> bool:
    """Reads a tensor; whether there was no error. There is no wrong byte."""
    try:
        data = path.read_bytes()
    except OSError as error:
        assert error.errno == errno.EIO, error
        return False
    assert data == values(number, MIB), number
    return True


def read_all(root, count=TENSORS, first=0) -> list[bool]:
    with concurrent.futures.ThreadPoolExecutor(READERS) as pool:
        return list(pool.map(lambda n: read(root / "tensors" / f"t{n}", n), range(first, count)))


@pytest.fixture(name="root")
def fixture_root(line, mounted):
    return mounted(f"http://127.0.0.1:{line.port}/big.safetensors", f"remote_timeout={TIMEOUT}")


@pytest.mark.parametrize("kind", SLOW)
def test_30_6_a_slow_line_loses_nothing(kind, line, root):
    with line.spoilt(kind, SLOW[kind]):
        assert all(read_all(root))


@pytest.mark.parametrize("kind", BROKEN)
def test_30_6_a_broken_line_gives_no_wrong_byte(kind, line, root):
    with line.spoilt(kind, BROKEN[kind]):
        assert not any(read_all(root, READERS))
    assert all(read_all(root, first=TENSORS // 2)), "of a line that is whole again"
    # Who repeats a read at once can be taken for the kernel that repeats it, or gets the
    # answer to what the kernel has asked for before: older requests are over after TIMEOUT.
    time.sleep(TIMEOUT)
    assert all(read_all(root)), "of a line that is whole again"


@pytest.mark.parametrize("kind", BROKEN)
def test_30_6_a_line_that_heals_in_time_loses_nothing(kind, web, line, mounted):
    root = mounted(f"http://127.0.0.1:{line.port}/big.safetensors", "remote_timeout=60")
    web.forget()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with line.spoilt(kind, BROKEN[kind]):
            done = pool.submit(read_all, root)
            assert wait_until(lambda: len(web.requests()) >= READERS)
        assert all(done.result())


def test_30_6_a_line_that_is_cut_is_used_again(line, root):
    assert read(root / "tensors" / "t0", 0)
    line.call("POST", "/proxies/line", enabled=False)
    assert not read(root / "tensors" / "t9", 9)
    assert read(root / "tensors" / "t0", 0), "what was read stays there"
    line.call("POST", "/proxies/line", enabled=True)
    assert read(root / "tensors" / "t9", 9)
