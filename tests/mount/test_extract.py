# SPDX-License-Identifier: Apache-2.0
"""ctxfs extract and ls: nothing is left out unsaid, nothing is lost, nothing is half written."""

import contextlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time

import pytest

from conftest import BIN, GOLDEN, contents, run
from shard import TABLE, build, crc32c, entry

CTXFS = BIN / "ctxfs"
MIB = 1 << 20
# Names that look like the mount's own directories, and are the container's.
NAMES = [".ctxfs", ".ctxfsx", ".ctxfs-x/y", "a/.ctxfs/b", "a/.ctxfs~2", "views", "plain"]


def container(tmp_path, *entries, name="x.shard"):
    path = tmp_path / name
    path.write_bytes(build(list(entries)))
    return path


@contextlib.contextmanager
def tmpfs(at, size):
    at.mkdir()
    done = run("mount", "-t", "tmpfs", "-o", f"size={size}", "none", at)
    if done.returncode != 0:
        pytest.skip("no tmpfs: " + done.stderr.decode())
    try:
        yield at
    finally:
        run("umount", "-l", at)


@pytest.fixture
def named(tmp_path):
    return container(tmp_path, *(entry(n, n.encode()) for n in NAMES))


def test_extract_leaves_no_entry_out_for_its_name(named, tmp_path):
    done = run(CTXFS, "extract", named, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "out") == {n: n.encode() for n in NAMES}
    total = sum(map(len, NAMES))
    assert done.stdout.decode() == f"{len(NAMES)} files ({total} bytes) written, 0 failed\n"


def test_counts_and_failures_as_json(tmp_path):
    source = container(tmp_path, entry("a", b"aaa"), entry("b", b"bb", checksum=7))
    done = run(CTXFS, "extract", "--json", source, tmp_path / "out")
    assert done.returncode == 4
    counts = json.loads(done.stdout)
    [failure] = counts.pop("failures")
    assert failure["path"] == "b" and "checksum" in failure["reason"]
    assert counts == {"files": 1, "size": 3, "complete": 0, "left": 0, "incomplete": 0,
                      "failed": 1}


def test_extract_all_adds_the_metadata_beside_the_entry(named, tmp_path):
    assert run(CTXFS, "extract", "-a", named, tmp_path / "out").returncode == 0
    found = contents(tmp_path / "out")
    assert found[".ctxfs"] == b".ctxfs" and ".ctxfs~2/info.json" in found


def test_extract_of_an_entry_called_views(named, tmp_path):
    done = run(CTXFS, "extract", f"{named}//views", tmp_path / "out")
    assert done.returncode == 0
    assert contents(tmp_path / "out") == {"views": b"views"}


def test_ls_leaves_no_entry_out_for_its_name(named):
    listed = run(CTXFS, "ls", "-R", named)
    assert listed.returncode == 0
    names = listed.stdout.decode().splitlines()
    assert {n for n in names if not n.endswith("/")} == set(NAMES)
    with_metadata = run(CTXFS, "ls", "-aR", "--views", "none", named).stdout.decode()
    assert ".ctxfs~2/info.json" in with_metadata.splitlines()


def test_plain_files_of_a_directory_are_extracted_too(tmp_path):
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "plain").write_bytes(b"plain")
    (source / ".ctxfs-notes").write_bytes(b"notes")
    container(source / "sub", entry("a/b", b"inner"))
    done = run(CTXFS, "extract", source, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "out") == {
        "plain": b"plain", ".ctxfs-notes": b"notes", "sub/x.shard/a/b": b"inner",
    }


def test_replace_keeps_the_old_file_when_the_disk_is_full(tmp_path):
    large = container(tmp_path, entry("large", os.urandom(2 * MIB)), entry("small", b"new"))
    with tmpfs(tmp_path / "full", "1m") as full:
        (full / "large").write_bytes(b"the old one")
        (full / "small").write_bytes(b"old")
        done = run(CTXFS, "extract", "-j1", "--replace", large, full)
        assert done.returncode == 2
        assert b"the files need 2.0 MiB" in done.stderr  # nothing was begun
        assert contents(full) == {"large": b"the old one", "small": b"old"}


def test_replace_replaces_links_and_not_where_they_lead(tmp_path):
    source = container(tmp_path, entry("x", b"new"))
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "mine").write_bytes(b"mine")
    (out / "x").symlink_to(tmp_path / "mine")
    assert run(CTXFS, "extract", "--replace", source, out).returncode == 0
    assert (out / "x").read_bytes() == b"new" and not (out / "x").is_symlink()
    assert (tmp_path / "mine").read_bytes() == b"mine"


def test_a_killed_extract_leaves_no_partial_file_under_its_name(tmp_path):
    size = 128 * MIB
    source = container(tmp_path, entry("large", bytes(size), checksum=crc32c_of_zeros(27)))
    out = tmp_path / "out"
    out.mkdir()

    def growing():
        return [n for n in os.listdir(out) if 0 < os.stat(out / n).st_size < size]

    process = subprocess.Popen([CTXFS, "extract", source, out], stdout=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while not growing() and process.poll() is None and time.monotonic() < end:
        pass
    process.kill()
    assert process.wait() == -signal.SIGKILL, "it was done before it could be killed"
    assert not (out / "large").exists()
    assert all(re.fullmatch(r"\.ctxfs-[0-9a-f]{16}\.part", n) for n in os.listdir(out))
    shutil.rmtree(out)


def crc32c_of_zeros(power) -> int:
    """The checksum of 2 ** power zeros; each step doubles how many are taken in."""
    step = [TABLE[1 << i] if i < 8 else (1 << i) >> 8 for i in range(32)]

    def apply(crc):
        taken = 0
        for i in range(32):
            taken ^= step[i] if crc >> i & 1 else 0
        return taken

    for _ in range(power):
        step = [apply(column) for column in step]
    return apply(0xFFFFFFFF) ^ 0xFFFFFFFF


def test_the_checksum_of_zeros():
    assert crc32c_of_zeros(10) == crc32c(bytes(1024))


def injected(call, *args):
    """Runs a command whose first `call` on a file below the target fails with EIO."""
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    return run("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject={call}", *args)


@pytest.mark.parametrize("call", ["fsync:error=EIO:when=1", "renameat2:error=EIO:when=1"])
def test_errors_after_the_last_write_are_reported(tmp_path, call):
    source = container(tmp_path, entry("a", b"aaa"))
    done = injected(call, CTXFS, "extract", source, tmp_path / "out")
    assert done.returncode == 2
    assert b"'a': cannot write: Input/output error" in done.stderr
    assert done.stdout == b"0 files (0 bytes) written, 1 failed\n"
    assert os.listdir(tmp_path / "out") == []


def test_an_error_of_close_is_reported(tmp_path):
    """The descriptor that was written to is the one that was flushed before."""
    names = [f"a{i:02}" for i in range(40)]
    source = container(tmp_path, *(entry(name, b"aaa") for name in names))
    trace = tmp_path / "trace"
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    run("strace", "-f", "-qq", "-o", trace, "-e", "trace=close,fsync",
        CTXFS, "extract", "-j1", source, tmp_path / "first")
    calls = [line.split(None, 1) for line in trace.read_text().splitlines()]
    flushed = [i for i, (_, call) in enumerate(calls) if call.startswith("fsync(")][len(names) - 1]
    # strace counts the calls of each thread: only the one that writes has so many.
    thread = calls[flushed][0]
    number = sum(call.startswith("close(") and by == thread for by, call in calls[:flushed]) + 1
    assert number > sum(call.startswith("close(") and by != thread for by, call in calls)
    done = injected(f"close:error=EIO:when={number}", CTXFS, "extract", "-j1", source,
                    tmp_path / "out")
    assert done.returncode == 2
    assert f"'{names[-1]}': cannot write: Input/output error".encode() in done.stderr
    assert sorted(os.listdir(tmp_path / "out")) == names[:-1]


def test_a_file_system_without_that_rename_gets_a_link(tmp_path):
    source = container(tmp_path, entry("a", b"aaa"))
    out = tmp_path / "out"
    done = injected("renameat2:error=EINVAL", CTXFS, "extract", source, out)
    assert done.returncode == 0, done.stderr
    assert contents(out) == {"a": b"aaa"}
    (out / "a").write_bytes(b"other")
    again = injected("renameat2:error=EINVAL", CTXFS, "extract", source, out)
    assert again.returncode == 2 and b"'a': cannot write: File exists" in again.stderr


def test_the_exit_code_is_that_of_the_last_failure_in_the_tree(tmp_path):
    """With any number of threads."""
    damaged = [entry(f"bad{i}", b"x", checksum=1) for i in range(20)]
    source = container(tmp_path, *damaged, entry("taken", b"x"))
    for jobs in (1, 8):
        out = tmp_path / f"out{jobs}"
        (out / "taken").mkdir(parents=True)
        done = run(CTXFS, "extract", f"-j{jobs}", source, out)
        assert done.returncode == 2
        assert done.stderr.count(b"\n") == 21
        assert done.stdout == b"0 files (0 bytes) written, 21 failed\n"


def test_more_directories_than_descriptors(tmp_path):
    source = container(tmp_path, *(entry(f"d{i}/f", b"x") for i in range(300)))

    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    done = run(CTXFS, "extract", source, tmp_path / "out", preexec_fn=few)
    assert done.returncode == 0, done.stderr
    assert len(contents(tmp_path / "out")) == 300


def test_golden_containers_are_extracted_whole(tmp_path):
    source = GOLDEN / "shard" / "comp_mixed.shard"
    assert run(CTXFS, "extract", source, tmp_path / "out").returncode == 0
    for name, data in contents(tmp_path / "out").items():
        assert run(CTXFS, "cat", f"{source}//{name}").stdout == data
