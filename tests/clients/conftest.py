# SPDX-License-Identifier: Apache-2.0
"""Real clients on real mounts: the fixtures of tests/mount, by the name `mounting`."""

import importlib.util
import pathlib
import sys

import browser
import pytest

_FILE = pathlib.Path(__file__).resolve().parent.parent / "mount" / "conftest.py"
_SPEC = importlib.util.spec_from_file_location("mounting", _FILE)
mounting = importlib.util.module_from_spec(_SPEC)
sys.modules["mounting"] = mounting
_SPEC.loader.exec_module(mounting)

fuse = mounting.fuse
mount = mounting.mount
refused = mounting.refused
# Helpers of the mount tests that have no fixtures of their own.
sys.path.append(str(_FILE.parent))


@pytest.fixture(name="page", scope="module")
def fixture_page(tmp_path_factory):
    with browser.Page(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


@pytest.fixture(name="report")
def fixture_report(page, tmp_path):
    """A function that opens the report of containers, and gives the page."""

    def opened(*sources, flags=(), code=0):
        file = tmp_path / "report.html"
        done = mounting.run(mounting.BIN / "ctxfs", "report", "--replace", "-o", file, *flags,
                            *sources)
        assert done.returncode == code, done.stderr.decode()
        page.problems.clear()
        page.requests.clear()
        page.open(file)
        return page

    yield opened
    assert page.problems == []
    assert all(url.startswith("file://") for url in page.requests) and len(page.requests) == 1
