# SPDX-License-Identifier: Apache-2.0
"""URLs as SOURCEs: the first one makes the cache, unless it fails."""

import os
import pathlib
import re
import signal
import subprocess
import threading

import pytest

from conftest import GOLDEN, alive, mount_command, run, wait_until
from remote import (  # noqa: F401  fixtures
    CTXFS,
    NEEDS_URLS,
    environment,
    fixture_store,
    fixture_store_mounted,
    free_port,
    store_variables,
    the_only,
)

pytestmark = NEEDS_URLS
LLAMA = (GOLDEN / "safetensors" / "llama.safetensors").read_bytes()
COMMANDS = (("info",), ("ls",), ("cat",), ("check",), ("cache", "warm"))


@pytest.fixture(name="absent")
def fixture_absent(store):
    """URLs that fail, with the variables of their servers."""
    nowhere = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{free_port()}"}
    return {"no such object": ("s3://bucket/none.gguf", store_variables(store)),
            "no such bucket": ("s3://none", store_variables(store)),
            "no repository": ("hf://org/none/a.gguf", {"HF_ENDPOINT": store.endpoint()}),
            "no server": ("s3://bucket/a.gguf", nowhere | {"CTXFS_REMOTE_TIMEOUT": "1"})}


@pytest.mark.parametrize("why", ("no such object", "no such bucket", "no repository", "no server"))
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_43_4_a_url_that_fails_makes_no_cache(command, why, absent, tmp_path):
    url, variables = absent[why]
    done = run(CTXFS, *command, url, env=environment(tmp_path, **variables))
    assert done.returncode != 0
    assert list(tmp_path.iterdir()) == [], "neither the cache nor what is above it"


def test_43_4_a_mount_that_fails_makes_no_cache(fuse, absent, tmp_path):
    url, variables = absent["no such object"]
    point = tmp_path / "mnt"
    done = run(*mount_command(url, point), env=environment(tmp_path, **variables))
    assert done.returncode != 0
    assert wait_until(lambda: not (tmp_path / "cache").exists())


def test_43_4_an_offline_url_makes_no_cache(tmp_path):
    done = run(CTXFS, "info", "--offline", "s3://bucket/a.gguf", env=environment(tmp_path))
    assert done.returncode == 2 and list(tmp_path.iterdir()) == []


def test_43_4_a_url_that_is_answered_makes_the_cache(store, tmp_path):
    store.buckets["bucket"] = {"models/a.safetensors": LLAMA}
    variables = store_variables(store)
    # Asked for as a file first, which is remembered for work offline.
    assert run(CTXFS, "ls", "s3://bucket/models", env=environment(tmp_path, **variables)).stdout
    assert (tmp_path / "cache" / "ctxfs").is_dir()
    offline = run(CTXFS, "ls", "--offline", "s3://bucket/models",
                  env=environment(tmp_path, **variables))
    assert offline.stdout == b"a.safetensors\n"


def test_43_4_a_directory_that_was_there_stays(absent, tmp_path):
    made = tmp_path / "cache" / "ctxfs"
    made.mkdir(parents=True, mode=0o700)
    url, variables = absent["no such object"]
    assert run(CTXFS, "info", url, env=environment(tmp_path, **variables)).returncode != 0
    assert made.is_dir()


def test_43_4_a_cache_that_another_process_has_opened_stays(store, tmp_path):
    """Both wait for the server; the one that made the cache fails first."""
    store.buckets["bucket"] = {"b.safetensors": LLAMA}
    answer = {"a": threading.Event(), "b": threading.Event()}

    def wait(handler) -> bool:
        answer[handler.path.split("/")[2][0]].wait(60)
        return False

    store.before = wait
    variables = environment(tmp_path, **store_variables(store))
    commands = {}
    for name, words in (("a", ("info", "s3://bucket/a.gguf")),
                        ("b", ("info", "s3://bucket/b.safetensors"))):
        commands[name] = subprocess.Popen([CTXFS, *words], env=variables,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert wait_until(lambda path=f"/bucket/{name}": any(
            seen.startswith(path) for seen in store.requests()))
    answer["a"].set()
    assert commands["a"].wait(60) != 0
    answer["b"].set()
    assert commands["b"].wait(60) == 0
    assert len([*(tmp_path / "cache" / "ctxfs").iterdir()]) > 0, "it was kept"


def test_43_4_what_removes_it_may_do_nothing_else_and_ends_with_the_mount(
        store, store_mounted, tmp_path):
    store.buckets["bucket"] = {"models/a.safetensors": LLAMA}
    point = store_mounted("s3://bucket/models")
    remover = the_only("ctxfs-remover", point)
    status = pathlib.Path(f"/proc/{remover}/status").read_text()
    assert "NoNewPrivs:\t1" in status and re.search(r"CapEff:\t0+\n", status)
    streams = {"0", "1", "2"}
    assert len({*os.listdir(f"/proc/{remover}/fd")} - streams) <= 1, "the end of a pipe"
    assert os.readlink(f"/proc/{remover}/cwd") == "/"
    keeper = the_only("ctxfs-keeper", point)
    os.kill(keeper, signal.SIGKILL)
    the_only("ctxfs-keeper", point, {keeper})  # the standby
    assert (point / "a.safetensors").read_bytes() == LLAMA and alive(remover)
    run("umount", point)
    assert wait_until(lambda: not alive(remover))
    assert any((tmp_path / "cache" / "ctxfs").iterdir())
