# SPDX-License-Identifier: Apache-2.0
"""Damage, faults and hostile strings, through a mount (docs/robustness.md)."""

import errno
import mmap
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

import shard
from conftest import (
    BIN, GOLDEN, alive, is_helper, is_mounted, mount_command, run, thread_statuses, wait_until,
)

PAYLOAD = b"what a checksum covers"
CONTAINER = GOLDEN / "shard" / "comp_mixed.shard"


def error_of(work) -> int:
    """The errno that `work` ends with, 0 for none."""
    try:
        work()
    except OSError as error:
        return error.errno
    return 0


def map_whole(path) -> bytes:
    with open(path, "rb") as file:
        with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as view:
            return view[:]


@pytest.fixture(scope="module")
def flipped(tmp_path_factory):
    """A directory of containers, each with another bit of its payload flipped."""
    folder = tmp_path_factory.mktemp("flipped")
    sound = shard.build([shard.entry("x", PAYLOAD)])
    at = sound.index(PAYLOAD)
    for bit in range(8 * len(PAYLOAD)):
        damaged = bytearray(sound)
        damaged[at + bit // 8] ^= 1 << bit % 8
        (folder / f"{bit}.mosh").write_bytes(damaged)
    (folder / "sound.mosh").write_bytes(sound)
    return folder


@pytest.mark.parametrize("look", [pathlib.Path.read_bytes, map_whole])
def test_every_flipped_bit_is_eio(mount, flipped, look):
    mounted = mount(flipped, "verify=open")
    assert look(mounted.point / "sound.mosh" / "x") == PAYLOAD
    for bit in range(8 * len(PAYLOAD)):
        path = mounted.point / f"{bit}.mosh" / "x"
        assert error_of(lambda: look(path)) == errno.EIO, bit


def test_every_flipped_bit_is_eio_at_the_first_read_too(mount, flipped):
    mounted = mount(flipped)
    assert (mounted.point / "sound.mosh" / "x").read_bytes() == PAYLOAD
    for bit in range(8 * len(PAYLOAD)):
        path = mounted.point / f"{bit}.mosh" / "x"
        assert error_of(path.read_bytes) == errno.EIO, bit


def big(tmp_path, entries=8, size=1 << 20) -> tuple[pathlib.Path, bytes]:
    data = os.urandom(size)
    path = tmp_path / "big.mosh"
    path.write_bytes(shard.build([shard.entry(f"e{i}", data) for i in range(entries)]))
    return path, data


READ_ON = """
import os, sys
path, size = sys.argv[1], int(sys.argv[2])
print("reading", flush=True)
try:
    for _ in range(int(sys.argv[3])):
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        got = 0
        while got < size:
            part = os.pread(fd, 65536, got)
            if not part:
                sys.exit(99)  # an end that is none
            got += len(part)
        os.close(fd)
except OSError as error:
    sys.exit(error.errno)
"""


def reader(path, size, times) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", READ_ON, str(path), str(size), str(times)],
        stdout=subprocess.PIPE,
    )


def test_a_killed_daemon_ends_its_readers(mount, tmp_path):
    path, data = big(tmp_path)
    mounted = mount(path)
    readers = [reader(mounted / f"e{i % 8}", len(data), 1_000_000) for i in range(16)]
    for one in readers:
        assert one.stdout.readline() == b"reading\n"
    time.sleep(0.2)
    mounted.kill()
    allowed = (errno.ENOTCONN, errno.EIO, errno.ECONNABORTED)
    assert {one.wait(timeout=30) for one in readers} <= set(allowed)
    # What the dead daemon left is mounted over.
    done = run(*mount_command(path, mounted.point))
    assert done.returncode == 0, done.stderr
    assert (mounted / "e0").read_bytes() == data
    run("umount", mounted.point)
    assert not is_mounted(mounted.point), "the dead mount was left below"


def test_stopped_readers_hold_up_nobody(mount, tmp_path):
    path, data = big(tmp_path)
    mounted = mount(path)
    readers = [reader(mounted / f"e{i % 8}", len(data), 20) for i in range(64)]
    try:
        for one in readers:
            assert one.stdout.readline() == b"reading\n"
        for one in readers[::2]:
            one.send_signal(signal.SIGSTOP)
        assert [one.wait(timeout=120) for one in readers[1::2]] == [0] * 32
        for one in readers[::2]:
            one.send_signal(signal.SIGCONT)
        assert [one.wait(timeout=120) for one in readers[::2]] == [0] * 32
    finally:
        for one in readers:
            one.kill()


def test_taken_permission_takes_nothing_from_a_mount(mount, tmp_path):
    path, data = big(tmp_path, entries=1)
    mounted = mount(path)
    path.chmod(0)
    assert (mounted / "e0").read_bytes() == data


@pytest.mark.parametrize("harm", ["truncate", "rewrite", "replace"])
def test_a_container_changed_under_readers_is_estale(mount, tmp_path, harm):
    """Everyone who reads gets the error, and nobody other bytes."""
    path, data = big(tmp_path)
    mounted = mount(path)
    readers = [reader(mounted / f"e{i}", len(data), 1_000_000) for i in range(8)]
    for one in readers:
        assert one.stdout.readline() == b"reading\n"
    if harm == "truncate":
        os.truncate(path, 1000)
    elif harm == "rewrite":
        with open(path, "r+b") as container:
            container.seek(-1000, os.SEEK_END)
            container.write(bytes(1000))
    else:
        other = tmp_path / "other"
        other.write_bytes(path.read_bytes()[::-1])
        other.rename(path)
    try:
        assert {one.wait(timeout=30) for one in readers} == {errno.ESTALE}
    finally:
        for one in readers:
            one.kill()
    assert alive(mounted.pid())


HOSTILE_NAMES = [
    "x,allow_other", "x,suid,dev", "back\\slash", "ends in \\", "\\,allow_other",
    "a\\\\,dev", "fsname=evil", "subtype=ext4,rw", "new\nline", "tab\tbed",
    "-o", "--", "%s%n", "$(reboot)", "`id`", "quo'te\"d", "#5", "..", "...",
    ".ctxfs", "~", "*", "x" * 200, "é\u202e", "ro,", ",", "=", "x ,dev 0 0",
]


@pytest.mark.parametrize("name", [n for n in HOSTILE_NAMES if n != ".."])
def test_no_name_of_a_source_sets_an_option(tmp_path, name):
    (tmp_path / name).write_bytes(shard.build([shard.entry("a", b"1")]))
    point = tmp_path / "m"
    point.mkdir()
    done = run(BIN / "mount.ctxfs", "--", tmp_path / name, point)
    assert done.returncode == 0, done.stderr
    try:
        table = pathlib.Path("/proc/self/mountinfo").read_text()
        (line,) = [m for m in table.splitlines() if m.split()[4] == str(point)]
        options = line.split()[5].split(",")
        kind, _, superblock = line.split(" - ")[1].split()
        assert kind == "fuse.ctxfs"
        assert {"ro", "nosuid", "nodev"} <= set(options)
        assert "allow_other" not in superblock.split(",")
        (entry,) = [point / n / "a" for n in os.listdir(point)
                    if (point / n / "a").exists()]
        assert entry.read_bytes() == b"1"
    finally:
        run("umount", "-l", point)


@pytest.mark.parametrize("name", HOSTILE_NAMES + [
    "../../../../etc/passwd", "/etc/passwd", "a/../../b", "./x", "a//b", "a/", "/",
    "C:\\x", "\x01\x7f", ".", "a/./b", "..\\..\\x",
])
def test_no_name_of_an_entry_leads_out(mount, tmp_path, name):
    path = tmp_path / "c.mosh"
    path.write_bytes(shard.build([shard.entry(name, b"inside")]))
    mounted = mount(path, "list=all")
    found = []
    for folder, folders, files in os.walk(mounted.root):
        for part in folders + files:
            assert part not in ("", ".", "..") and len(os.fsencode(part)) <= 255
        if ".ctxfs" != pathlib.Path(folder).relative_to(mounted.root).parts[:1]:
            found += [pathlib.Path(folder, f) for f in files]
    assert b"inside" in [f.read_bytes() for f in found]
    assert not any(f.is_symlink() for f in found)


def of_threads(pid, field) -> list[str]:
    """A line of /proc/PID/status, of each thread, the first thread first."""
    return [s.split(field + ":")[1].split()[0] for s in thread_statuses(pid)]


def test_the_daemon_gains_no_privileges(mount):
    pid = mount(CONTAINER).pid()
    assert wait_until(lambda: set(of_threads(pid, "NoNewPrivs")) == {"1"})
    pid = mount(CONTAINER, "nosandbox").pid()
    assert set(of_threads(pid, "NoNewPrivs")) == {"0"}


def test_all_who_serve_have_their_system_calls_filtered(mount, tmp_path):
    path, data = big(tmp_path)
    mounted = mount(path)
    pid = mounted.pid()
    for i in range(8):  # starts workers
        assert (mounted / f"e{i}").read_bytes() == data
    threads = of_threads(pid, "Seccomp")
    assert len(threads) >= 3
    # The first waits for them, and unmounts in the end.
    assert threads[0] == "0"
    for status in thread_statuses(pid)[1:]:
        assert status.split("Seccomp:")[1].split()[0] == ("0" if is_helper(status) else "2")
    assert run("umount", mounted.point).returncode == 0
    assert wait_until(lambda: not alive(pid))
    pid = mount(path, "nosandbox").pid()
    assert set(of_threads(pid, "Seccomp")) == {"0"}


def test_the_sandbox_lets_the_files_of_a_container_be_opened(mount):
    """Chunks, manifests and levels are opened after it has closed."""
    for source in ("wshard/chunked", "shard-profiles", "megacontext/good_fp16"):
        sandboxed = mount(GOLDEN / source)
        free = mount(GOLDEN / source, "nosandbox")
        done = run("diff", "-r", "-x", "stats", "-x", "info.json",
                   sandboxed.point, free.point)
        assert done.stdout == b"", source


def test_no_key_is_dumped(mount, tmp_path):
    key = tmp_path / "key"
    key.write_bytes(bytes(range(32)))
    key.chmod(0o600)
    encrypted = GOLDEN / "conventions" / "encrypted.mosh"
    pid = mount(encrypted, f"keyfile={key}").pid()
    # Nobody but root looks into it, and the kernel dumps no core of it.
    assert os.stat(f"/proc/{pid}/maps").st_uid == 0
    maps = pathlib.Path(f"/proc/{pid}/smaps").read_text().split("VmFlags:")
    assert any("dd" in part.splitlines()[0].split() for part in maps[1:])
    memory = open(f"/proc/{pid}/mem", "rb")
    found = 0
    for part, flags in zip(maps, maps[1:]):
        line = next(l for l in reversed(part.splitlines()) if "-" in l.split()[0])
        begin, end = (int(x, 16) for x in line.split()[0].split("-"))
        if " rw-p " not in line:
            continue
        memory.seek(begin)
        # The C++ library has tables of all bytes in order, which go on after 31.
        if re.search(re.escape(bytes(range(32))) + rb"(?! )", memory.read(end - begin), re.DOTALL):
            found += 1
            assert "dd" in flags.splitlines()[0].split(), line
    assert found >= 1


def test_others_than_root_unmount_when_signalled(tmp_path):
    """The sandbox leaves them the helper that they need."""
    helper = pathlib.Path("/usr/bin/fusermount3")
    if os.geteuid() != 0 or not (helper.exists() and helper.stat().st_mode & 0o4000):
        pytest.skip("needs root and a set-uid fusermount3")
    for parent in [tmp_path, *tmp_path.parents[:2]]:
        parent.chmod(0o755)
    path, data = big(tmp_path, entries=1)
    for name in ("theirs", "devices"):
        (tmp_path / name).mkdir()
    os.chown(tmp_path / "theirs", 65534, 65534)
    # A device that everyone may use, as most systems have it.
    script = f"""
    set -e
    mount -t tmpfs none {tmp_path}/devices
    mknod -m 666 {tmp_path}/devices/fuse c 10 229
    mount --bind {tmp_path}/devices/fuse /dev/fuse
    nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
    $nobody {BIN}/mount.ctxfs {path} {tmp_path}/theirs
    $nobody cmp {tmp_path}/theirs/{path.name}/e0 {tmp_path}/plain
    pid=$(pgrep -u 65534 -f {tmp_path}/theirs)
    kill -TERM $pid
    for i in $(seq 100); do test -e /proc/$pid || break; sleep 0.1; done
    grep -q {tmp_path}/theirs /proc/self/mountinfo && exit 7
    test ! -e /proc/$pid
    """
    (tmp_path / "plain").write_bytes(data)
    done = run("unshare", "-m", "bash", "-c", script)
    assert done.returncode == 0, (done.returncode, done.stderr.decode())
