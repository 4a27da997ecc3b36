# SPDX-License-Identifier: Apache-2.0
"""URLs by libctxfs in a program in C (tests/api/url_test.c), which has ctxfs-fetch fetch them."""

import errno
import os

import pytest

from conftest import BIN, run, wait_until
from remote import (  # noqa: F401  fixtures
    NEEDS_URLS,
    children_named,
    environment,
    fixture_web,
    free_port,
)

PROGRAM = BIN / "ctxfs_api_urls"
NOT_FOUND, UNSUPPORTED, IO = 1, 4, 8  # enum ctxfs_code
FETCHING = ("ctxfs-keeper", "ctxfs-standby", "ctxfs-fetcher", "ctxfs-fetch")

pytestmark = [NEEDS_URLS,
              pytest.mark.skipif(not PROGRAM.exists(), reason="no shared library in this build")]


@pytest.fixture(name="opened")
def fixture_opened(tmp_path):
    def call(*words, program=""):
        done = run(PROGRAM, program, *words, env=environment(tmp_path), timeout=120)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    return call


@pytest.mark.parametrize("name,files", [("big.safetensors", 16), ("data_descriptor.zip", 2)])
def test_trees_of_a_url_are_those_of_the_file(web, opened, name, files):
    assert int(opened(web.url(name), web.www / name)) == files


def test_what_fetches_ends_with_the_process(web, opened):
    fetching = {pid for name in FETCHING for pid in children_named(name, "")}
    opened(web.url("big.safetensors"), web.www / "big.safetensors")
    assert wait_until(lambda: not {pid for name in FETCHING for pid in children_named(name, "")}
                      - fetching)


def test_errors_say_what_is_wrong(web, opened, tmp_path):
    code, number, message = opened(web.url("absent")).split(" ", 2)
    assert (int(code), int(number)) == (NOT_FOUND, errno.ENOENT) and "404" in message
    code, number, message = opened(f"http://127.0.0.1:{free_port()}/x").split(" ", 2)
    assert int(code) == IO and "cannot be reached" in message
    absent = tmp_path / "ctxfs-fetch"
    code, number, message = opened(web.url("absent"), program=absent).split(" ", 2)
    assert int(code) == UNSUPPORTED and str(absent) in message
    absent.write_text("#!/bin/sh\nexit 1\n")
    os.chmod(absent, 0o755)
    assert "did not start" in opened(web.url("absent"), program=absent)
