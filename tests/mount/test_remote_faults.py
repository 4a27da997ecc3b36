# SPDX-License-Identifier: Apache-2.0
"""URLs as SOURCEs: servers that lie, change their objects, fail, or do not answer."""

import os
import signal
import subprocess
import time

import pytest

from conftest import mount_command, run, wait_until
from remote import (  # noqa: F401  fixtures
    CTXFS,
    GRANULE,
    MIB,
    NEEDS_URLS,
    entries,
    environment,
    fixture_ctxfs,
    fixture_faults,
    fixture_mounted,
    fixture_web,
    tensors,
    the_only,
    values,
)

pytestmark = NEEDS_URLS


# What may pass.


@pytest.mark.parametrize("mode", ("plain", "weak", "date", "short", "busy", "reset"))
def test_30_6_what_may_pass_is_waited_for(mode, faults, ctxfs):
    url = faults.url(mode, "m.safetensors")
    name = next(n for n in entries(ctxfs("ls", f"{url}//tensors")) if n.startswith("t3"))
    assert ctxfs("cat", f"{url}//tensors/{name}").stdout == values(3, MIB)


def test_30_6_a_limit_of_requests_is_waited_for(web, ctxfs):
    url = web.url("limited/big.safetensors")
    names = entries(ctxfs("ls", f"{url}//tensors"))
    web.forget()
    for name in names[:4]:
        assert ctxfs("cat", f"{url}//tensors/{name}").returncode == 0
    assert 429 in {status for status, _, _ in web.requests()}


def test_30_6_offline_reads_fail_and_recover(web, faults, mounted):
    root = mounted(faults.url("busy", "m.safetensors"))
    name = next(n for n in os.listdir(root / "tensors") if n.startswith("t2"))
    assert (root / "tensors" / name).read_bytes() == values(2, MIB)


# Lies, and objects that change.


@pytest.mark.parametrize("mode, says", (
    ("nothing", "neither ETag nor Last-Modified"), ("whole", "ignores Range"),
    ("shifted", "in place of"), ("garbled", "no valid Content-Range"),
    ("gzip", "encodes the object"), ("long", "more bytes than it promised"),
    ("endless", "redirects too often"), ("to-file", "redirects to a URL that is not allowed"),
    ("gated", "access denied (HTTP status 403): Access to model org/model is restricted"),
    ("denied", "access denied (HTTP status 403): AccessDenied: not\\x0ayou"),
))
def test_30_bad_input_lies_are_told(mode, says, faults, ctxfs):
    done = ctxfs("info", faults.url(mode, "m.safetensors"))
    assert done.returncode in (2, 5), done
    assert says in done.stderr.decode(), done.stderr
    assert len(faults.seen) <= 8  # nothing of it is tried again


def test_30_6_what_the_server_says_is_in_log_and_note(faults, fuse, tmp_path):
    point = tmp_path / "mnt"
    tensor = point / "m.safetensors" / "tensors" / "t3"
    with open(tmp_path / "log", "wb") as log:
        server = subprocess.Popen(
            mount_command(faults.url("revoked", "m.safetensors"), point, flags=["-f"]),
            env=environment(tmp_path), stderr=log)
    try:
        assert wait_until(tensor.exists)
        with pytest.raises(PermissionError):
            tensor.read_bytes()
        said = b"access denied (HTTP status 403): AccessDenied: not\\x0ayou"
        assert said in os.getxattr(tensor, "user.ctxfs.note")
        assert wait_until(lambda: said in (tmp_path / "log").read_bytes())
    finally:
        run("umount", "-l", point)
        assert server.wait(60) == 0


def test_30_2_every_range_names_the_version(faults, ctxfs):
    url = faults.url("plain", "m.safetensors")
    ctxfs("check", url)
    first, *rest = [fields for _, _, fields in faults.seen]
    assert "If-Match" not in first and rest
    assert {fields["If-Match"] for fields in rest} == {'"one"'}
    assert {fields["Accept-Encoding"] for _, _, fields in faults.seen} == {"identity"}


@pytest.mark.parametrize("mode", ("liar", "changing", "replaced", "removed"))
def test_30_2_an_object_that_changes_is_stale(mode, faults, ctxfs):
    url = faults.url(mode, "m.safetensors")
    done = ctxfs("check", url)
    assert done.returncode == 2, done
    text = done.stdout + done.stderr
    assert b"changed on the server" in text or b"gone from the server" in text


def test_30_2_a_mount_of_a_replaced_object_is_stale(faults, mounted):
    root = mounted(faults.url("plain", "m.safetensors"))
    name = next(n for n in os.listdir(root / "tensors") if n.startswith("t1"))
    faults.objects["m.safetensors"] += b"more"
    with pytest.raises(OSError) as failed:
        (root / "tensors" / name).read_bytes()
    assert failed.value.errno == 116  # ESTALE


# Servers that are gone, and those that one waits for.


def attempts(faults, mode: str) -> int:
    return sum(1 for seen, _, _ in faults.seen if seen == mode)


def test_30_6_absent_objects_and_dead_servers(faults, ctxfs):
    done = ctxfs("info", faults.url("plain", "absent"))
    assert done.returncode == 2 and b"no such object" in done.stderr
    assert attempts(faults, "plain") == 1, "what is not there is not asked for again"
    done = ctxfs("info", "http://127.0.0.1:1/x")
    assert done.returncode == 2 and b"cannot be reached" in done.stderr
    done = ctxfs("info", faults.url("failing", "m.safetensors"), CTXFS_REMOTE_TIMEOUT="600")
    assert done.returncode == 2 and b"HTTP status 500" in done.stderr
    assert attempts(faults, "failing") == 3, "opening gives up, whatever the timeout is"


def test_30_6_a_stalled_connection_ends_with_the_timeout(faults, ctxfs):
    url = faults.url("stalled", "m.safetensors")
    timeout = 3
    start = time.monotonic()
    done = ctxfs("check", url, CTXFS_REMOTE_TIMEOUT=str(timeout))
    assert done.returncode == 2, done
    assert time.monotonic() - start < 10 * timeout, "for the machine may be busy"


def test_30_6_a_failed_read_is_not_waited_for_twice(faults, mounted):
    """The kernel repeats the part of a failed read-ahead that its reader wants."""
    root = mounted(faults.url("stalled", "m.safetensors"), CTXFS_REMOTE_TIMEOUT="2")
    asked = []
    for name in ("t1", "t2", "t3"):
        first = len(faults.seen)
        with open(root / "tensors" / name, "rb", buffering=0) as file:
            with pytest.raises(OSError, match="Input/output error"):
                os.pread(file.fileno(), 4096, MIB // 2)
        ranges = [fields["Range"].removeprefix("bytes=").split("-")
                  for _, _, fields in faults.seen[first:]]
        asked += [number for begin, end in ranges
                  for number in range(int(begin) // GRANULE, int(end) // GRANULE + 1)]
    assert len(asked) >= 3 and len(asked) == len(set(asked)), "none is asked for again"


def test_30_6_ctrl_c_ends_the_wait(faults, tmp_path):
    url = faults.url("stalled", "m.safetensors")
    variables = environment(tmp_path, CTXFS_REMOTE_TIMEOUT="600")
    with subprocess.Popen([CTXFS, "check", url], env=variables,
                          stdout=subprocess.DEVNULL) as process:
        assert wait_until(lambda: faults.stalling)
        process.send_signal(signal.SIGINT)
        assert process.wait() == -signal.SIGINT
        assert faults.stalling, "it ends before the server answers"


def test_30_6_a_reader_of_a_mount_can_be_interrupted(faults, mounted):
    root = mounted(faults.url("stalled", "m.safetensors"), CTXFS_REMOTE_TIMEOUT="600")
    with subprocess.Popen(["cat", root / "tensors" / "t1"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as reader:
        assert wait_until(lambda: faults.stalling)
        assert len(os.listdir(root / "tensors")) == 4
        reader.send_signal(signal.SIGINT)
        assert reader.wait() == -signal.SIGINT
    stalling = faults.stalling
    assert stalling, "it ends before the server answers"
    with subprocess.Popen(["cat", root / "tensors" / "t2"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL):
        assert wait_until(lambda: faults.stalling > stalling)
        assert run("umount", "-l", root.parent).returncode == 0
        for name in ("ctxfs-standby", "ctxfs-keeper"):
            process = the_only(name, root.parent)
            os.kill(process, signal.SIGKILL)
    assert faults.stalling > stalling, "it ends before the server answers"
