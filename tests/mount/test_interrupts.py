# SPDX-License-Identifier: Apache-2.0
"""Readers that are killed within a long request are gone at once, and the
daemon stops working for them. Each path that can take long has a container for
which it does; most of them are holes in sparse files."""

import contextlib
import errno
import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import time

import pytest

import shard
from conftest import is_mounted, mount_command, run, wait_until

GIB = 1 << 30
RAW = 16 * GIB  # bytes whose checksum takes seconds
POLLS = 1000  # of 10 ms, in all: how long anything may take to stop


def sparse(path, pieces: dict[int, bytes], size: int):
    """A file of holes, but for these bytes."""
    with open(path, "wb") as file:
        file.truncate(size)
        for at, piece in pieces.items():
            file.seek(at)
            file.write(piece)
    return path


def raw_shard(path, entries: dict[str, bytes], size=RAW, role=1):
    """A container of raw entries of `size` bytes, each of which starts so and
    is a hole after that. Their checksums match nothing."""
    names = b"".join(name.encode() for name in entries)
    strings_at = 64 + 48 * len(entries)
    data_at = strings_at + len(names)
    index, name_at = b"", 0
    pieces = {strings_at: names}
    for i, (name, start) in enumerate(entries.items()):
        at = data_at + i * size
        index += struct.pack(
            "<QIHHQQQIHH", 0, name_at, len(name), 0, at, size, size, 0xBAD, 0, 0
        )
        name_at += len(name)
        pieces[at] = start
    total = data_at + size * len(entries)
    pieces[0] = (
        struct.pack(
            "<4sBBHBBHIQQQQ16x", b"SHRD", 2, role, 0x00A2, 0, 0, 48, len(entries),
            strings_at, data_at, 0, total,
        )
        + index
    )
    return sparse(path, pieces, total)


def tensor(code: int, shape) -> bytes:
    """The header of a tensor (docs/formats/model_shard.md, section 2)."""
    return struct.pack("<BBH", code, len(shape), 0) + struct.pack(
        f"<{len(shape)}Q", *shape
    )


# Each gives the mount and the path whose reading takes long, and how.


def checksum_scan(mount, tmp):
    """A read that waits for the checksum of all of its entry."""
    mounted = mount(raw_shard(tmp / "x.shard", {"big": b""}))
    return mounted, ["head", "-c1", mounted / "big"]


def safetensors(mount, tmp):
    """The same through a view."""
    header = tensor(0x08, [RAW - 12])
    mounted = mount(raw_shard(tmp / "x.mosh", {"big": header}))
    return mounted, ["tail", "-c1", mounted / "views" / "model.safetensors"]


def verified_open(mount, tmp):
    """An open that verifies."""
    mounted = mount(raw_shard(tmp / "x.shard", {"big": b""}), "verify=open")
    return mounted, ["head", "-c1", mounted / "big"]


def nested(mount, tmp):
    """A look into a container within a container, verified as a whole."""
    inner = struct.pack(
        "<4sBBHBBHIQQQQ16x", b"SHRD", 2, 16, 0x00A2, 0, 0, 48, 0, 64, 64, 0, RAW
    )
    mounted = mount(raw_shard(tmp / "x.shard", {"inner.shard": inner}))
    return mounted, ["ls", mounted / "views" / "inner.shard~dir"]


def table(mount, tmp):
    """A stat of a table as text, which has to be rendered to be measured."""
    rows = 1 << 25
    schema = {
        "row_count": rows,
        "row_group_count": 1,
        "columns": [
            {"name": "c", "type": 5, "nullable": False, "encoding": 3,
             "stats": [{"count": rows, "null_count": 0}]}
        ],
    }
    chunk = struct.pack("<BIqqB", 3, rows, 10**17, 1, 0)
    path = tmp / "x.cshard"
    path.write_bytes(
        shard.build(
            [shard.entry("__schema__", json.dumps(schema).encode()),
             shard.entry("0:c", chunk)],
            role=8,
        )
    )
    mounted = mount(path, "max_expansion=0")
    return mounted, ["stat", mounted / "views" / "table.csv"]


def compressed(mount, tmp):
    """A read of a large compressed entry, decoded as a whole."""
    frames = 1000
    text = " ".join(random.Random(1).choices(WORDS, k=250_000)).encode()[: 1 << 20]
    frame = run("zstd", "-1", "-c", "--no-check", input=text).stdout
    packed = shard.Entry(
        b"big", b"", flags=3, stored=frame * frames, checksum=1
    )
    path = tmp / "x.shard"
    path.write_bytes(with_size(shard.build([packed]), frames << 20))
    mounted = mount(path, "cache=2G")
    return mounted, ["head", "-c1", mounted / "big"]


WORDS = [str(n) for n in range(5000)]


def with_size(container: bytes, size: int) -> bytes:
    """The container with another decoded size of its first entry."""
    at = 64 + 8 + 4 + 2 + 2 + 8 + 8
    return container[:at] + struct.pack("<Q", size) + container[at + 8 :]


def opening(mount, tmp):
    """A listing of a container that has to be opened first."""
    count = 3_000_000
    head = struct.pack(
        "<4sBBHBBHIQQQQ16x", b"SHRD", 2, 16, 0x00A2, 0, 0, 48, count,
        0, 0, 0, 64 + 48 * count,
    )
    folder = tmp / "folder"
    folder.mkdir()
    sparse(folder / "x.shard", {0: head}, 64 + 48 * count)
    mounted = mount(folder)
    mounted.root = mounted.point
    return mounted, ["ls", mounted.point / "x.shard"]


LONG = [
    checksum_scan,
    safetensors,
    verified_open,
    nested,
    table,
    compressed,
    opening,
]


def start(command) -> subprocess.Popen:
    return subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def stats(mounted) -> dict[str, float]:
    """The counters, read by another process: the test must not hang on it."""
    text = run("cat", mounted.point / ".ctxfs" / "stats").stdout.decode()
    lines = (line.split() for line in text.splitlines() if line[0] != "#")
    return {name.removeprefix("ctxfs_"): float(value) for name, value in lines}


def polls(holds) -> bool:
    return wait_until(holds, seconds=POLLS / 100)


def running(mounted) -> float:
    return stats(mounted)["requests_running"]


def work(mounted) -> tuple[float, float]:
    """What the daemon has done so far: bytes of containers, processor time."""
    fields = pathlib.Path(f"/proc/{mounted.pid()}/stat").read_text().rsplit(")")[1]
    ticks = sum(int(field) for field in fields.split()[11:13])
    return stats(mounted)["container_bytes_total"], ticks


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=lambda n: n.name)
@pytest.mark.parametrize("prepare", LONG, ids=lambda f: f.__name__)
def test_a_killed_reader_is_gone_and_so_is_its_work(mount, tmp_path, prepare, number):
    mounted, command = prepare(mount, tmp_path)
    reader = start(command)
    assert polls(lambda: running(mounted) > 0), "it is not long"
    assert reader.poll() is None
    reader.send_signal(number)
    assert polls(lambda: reader.poll() is not None), "it cannot be killed"
    assert reader.returncode in (-number, 1), reader.stderr.read()
    assert polls(lambda: running(mounted) == 0), "the daemon works on"
    before = work(mounted)
    time.sleep(0.3)
    after = work(mounted)
    assert after[0] == before[0]
    # Asking costs ticks, too: far fewer than working on.
    assert after[1] - before[1] < 15


def test_what_was_interrupted_can_be_read_later(mount, tmp_path):
    mounted, command = table(mount, tmp_path)
    reader = start(command)
    assert polls(lambda: running(mounted) > 0)
    reader.kill()
    reader.wait()
    # Nothing of it is remembered, and nothing was logged as a fault.
    assert run(*command).returncode == 0


def test_a_second_reader_does_not_suffer(mount, tmp_path):
    mounted, command = table(mount, tmp_path)
    first = start(command)
    assert polls(lambda: running(mounted) > 0)
    # The kernel lets the second wait for the first one's look-up, or sends
    # its own, which waits for the same work.
    second = start(command)
    time.sleep(0.3)
    assert second.poll() is None
    first.kill()
    assert polls(lambda: first.poll() is not None)
    assert second.wait(60) == 0, second.stderr.read()


def python(program: str) -> subprocess.Popen:
    return subprocess.Popen(["/usr/bin/python3", "-c", program])


def test_a_signal_that_does_not_end_a_program_does_not_disturb_it(mount, tmp_path):
    """A profiler's timer, or the end of a child, is no reason for an error."""
    mounted, command = table(mount, tmp_path)
    program = python(f"""
import ctypes, errno, os, signal
path = {os.fsencode(str(command[-1]))!r}
ticks = []
signal.signal(signal.SIGALRM, lambda *_: ticks.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.open(path, os.O_RDONLY)  # Python's own open repeats it after EINTR
assert fd >= 0, errno.errorcode[ctypes.get_errno()]
signal.setitimer(signal.ITIMER_REAL, 0)
assert os.fstat(fd).st_size > 2**25 * 10
assert ticks
""")
    assert program.wait(120) == 0
    assert stats(mounted)["requests_given_up_total"] == 0


def test_a_program_that_handles_control_c_gets_it(mount, tmp_path):
    mounted, command = table(mount, tmp_path)
    program = python(f"""
import os
try:
    os.stat({str(command[-1])!r})
except KeyboardInterrupt:
    os._exit(7)
""")
    assert polls(lambda: running(mounted) > 0)
    program.send_signal(signal.SIGINT)
    assert polls(lambda: program.poll() is not None)
    assert program.returncode == 7
    assert polls(lambda: running(mounted) == 0)


def test_a_page_fault_is_not_interrupted_by_a_handled_signal(mount, tmp_path):
    """It has no error but SIGBUS. Without reading ahead the kernel would tell
    us of the signal."""
    mounted, command = compressed(mount, tmp_path)
    program = python(f"""
import mmap, signal
signal.signal(signal.SIGINT, lambda *_: None)
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
with open({str(command[-1])!r}, "rb") as file:
    pages = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
pages.madvise(mmap.MADV_RANDOM)
assert pages[1 << 20] is not None
""")
    assert polls(lambda: running(mounted) > 0 or program.poll() is not None)
    program.send_signal(signal.SIGINT)
    # The checksum is wrong: an answer, but not before the end.
    assert program.wait(120) == -signal.SIGBUS
    assert stats(mounted)["requests_given_up_total"] == 0
    assert stats(mounted)["verified_failed_total"] == 1


def test_the_mount_answers_while_all_threads_are_busy(mount, tmp_path):
    """More long requests than threads: the rest is still served, and readers
    that wait for a thread can be killed, too."""
    readers = 30
    names = {f"e{i:02}": b"" for i in range(readers)} | {"small": b"hello"}
    path = raw_shard(tmp_path / "x.shard", names, size=4 * GIB)
    mounted = mount(path, "threads=2")
    busy = [start(["head", "-c1", mounted / f"e{i:02}"]) for i in range(readers)]
    try:
        assert polls(lambda: stats(mounted)["requests_queued"] > 4)
        assert run("ls", "-l", mounted.root).returncode == 0
        assert run("stat", mounted / "small").returncode == 0
        assert stats(mounted)["requests_queued"] > 4
        # Some of those that were served first may have ended by themselves.
        waited = [reader for reader in reversed(busy) if reader.poll() is None]
        assert len(waited) > 4
        for reader in waited:
            reader.kill()
            assert polls(lambda: reader.poll() is not None)
        assert polls(lambda: stats(mounted)["requests_running"] == 0)
        assert stats(mounted)["requests_queued"] == 0
    finally:
        for reader in busy:
            reader.kill()
            reader.wait(60)


def test_unmounting_does_not_wait_for_work(mount, tmp_path):
    mounted, command = checksum_scan(mount, tmp_path)
    pid = mounted.pid()
    reader = start(command)
    assert polls(lambda: running(mounted) > 0)
    assert run("umount", "-l", mounted.point).returncode == 0
    reader.kill()
    reader.wait(10)
    assert polls(lambda: not pathlib.Path(f"/proc/{pid}").exists())


LOOKS_WITH_A_TIMER = """
import ctypes, errno, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
signal.signal(signal.SIGALRM, lambda *_: None)
signal.siginterrupt(signal.SIGALRM, True)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
for path in sys.argv[1:]:  # one call each: Python would repeat it
    found = libc.access(path.encode(), 0)
    print(errno.errorcode[ctypes.get_errno()] if found else "found")
"""


@pytest.fixture
def unread_log(here):
    """Mounts with `-f`, and a standard error that is full and that nobody reads."""
    daemons = []

    def mounted(source, *options):
        point = here / f"mnt{len(daemons)}"
        point.mkdir()
        reads, writes = os.pipe()
        os.set_blocking(writes, False)
        with contextlib.suppress(BlockingIOError):
            while os.write(writes, bytes(4096)):
                pass
        os.set_blocking(writes, True)
        daemon = subprocess.Popen(
            mount_command(source, point, *options, flags=["-f"]), stderr=writes)
        os.close(writes)
        daemons.append((daemon, reads))
        assert wait_until(lambda: is_mounted(point) or daemon.poll() is not None)
        return daemon, point

    yield mounted
    for daemon, reads in daemons:
        daemon.kill()
        daemon.wait()
        os.close(reads)


def test_41_14_a_log_that_is_not_read_fails_no_look_up(unread_log, tmp_path):
    """A look-up of seconds, whose caller's timer goes off meanwhile: the daemon has to
    know that the signal does not end it."""
    inner = struct.pack("<4sBBHBBHIQQQQ16x", b"SHRD", 2, 16, 0x00A2, 0, 0, 48, 0, 64, 64, 0, RAW)
    source = raw_shard(tmp_path / "x.shard", {"inner.shard": inner})
    daemon, point = unread_log(source, "flat", "log=debug")
    # Each failure is a message.
    failing = point / "views" / "inner.shard~dir" / "x"
    done = run("python3", "-c", LOOKS_WITH_A_TIMER, failing, point / ".ctxfs" / "stats")
    assert b"EINTR" not in done.stdout and done.stdout.count(b"\n") == 2, done
    assert run("umount", point).returncode == 0
    assert daemon.wait(60) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_41_14_a_signal_ends_a_mount_whose_log_is_not_read(unread_log, tmp_path, number):
    source = tmp_path / "x.shard"
    source.write_bytes(shard.build([shard.entry("x", b"x")]))
    daemon, point = unread_log(source, "log=debug")
    daemon.send_signal(number)
    assert daemon.wait(60) == 0
    assert not is_mounted(point)
