# SPDX-License-Identifier: Apache-2.0
"""Mounts containers for tests, for real, and takes them away again."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("CTXFS_BIN", ROOT / "build" / "dev"))
MOUNT = BIN / "mount.ctxfs"
GOLDEN = ROOT / "golden"
# Of every mount: a build with a sanitizer takes nosandbox.
OPTIONS = os.environ.get("CTXFS_MOUNT_OPTIONS", "").split()
SESSION_DIRECTORY = pytest.StashKey[pathlib.Path]()




@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """A directory of this session's own: tests open theirs and its parents to
    other users, which any other session would undo as it starts."""
    if config.option.basetemp is None:
        config.option.basetemp = pathlib.Path(tempfile.mkdtemp(prefix="ctxfs-")) / "tests"
        config.stash[SESSION_DIRECTORY] = config.option.basetemp.parent


def pytest_sessionfinish(session, exitstatus):
    """Directories of failed tests stay."""
    directory = session.config.stash.get(SESSION_DIRECTORY, None)
    if directory and exitstatus == pytest.ExitCode.OK:
        shutil.rmtree(directory, ignore_errors=True)


def run(*args, timeout=30, **kwargs) -> subprocess.CompletedProcess:
    """A command to its end, output captured, for at most `timeout` seconds."""
    return subprocess.run(
        [str(a) for a in args], capture_output=True, timeout=timeout, **kwargs
    )


def mount_command(source, point, *options, flags=()) -> list[str]:
    command = [str(BIN / "mount.ctxfs"), str(source), str(point), *flags]
    for option in (*options, *OPTIONS):
        command += ["-o", option]
    return command


def mounts_at(point) -> list[str]:
    """The lines of all mounts there, dead daemons' mounts included."""
    name = str(point).replace("\\", "\\134").replace(" ", "\\040")
    with open("/proc/self/mountinfo", encoding="utf-8") as table:
        return [line for line in table if line.split()[4] == name]


def is_mounted(point) -> bool:
    """Whether something is mounted there, dead daemons' mounts included."""
    return bool(mounts_at(point))


def daemons_of(point) -> list[int]:
    """The processes that serve mounts at a directory."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if b"ctxfs" in words[0] and os.fsencode(str(point)) in words:
                found.append(int(entry.name))
    return found


def daemon_of(point) -> int:
    """The process that serves a mount."""
    for pid in daemons_of(point):
        return pid
    raise LookupError(f"nothing serves {point}")


def wait_until(holds, seconds: float = 10) -> bool:
    """Asks again and again; for what another process does in its own time."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def thread_statuses(pid) -> list[str]:
    """/proc/PID/status of each thread that does not end meanwhile, the first first."""
    found = []
    for task in sorted(pathlib.Path(f"/proc/{pid}/task").iterdir(), key=lambda t: int(t.name)):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found.append((task / "status").read_text())
    return found


def alive(pid: int) -> bool:
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1]
    except OSError:
        return False
    return state.split()[0] != "Z"


class Mount:
    """A mounted container: `root` is what `ls` of the container shows."""

    def __init__(self, source, point, root):
        self.source = pathlib.Path(source)
        self.point = point
        self.root = root

    def __truediv__(self, name) -> pathlib.Path:
        return self.root / name

    def pid(self) -> int:
        return daemon_of(self.point)

    def stats(self) -> dict[str, float]:
        """The counters of `.ctxfs/stats`, without their prefix."""
        text = (self.point / ".ctxfs" / "stats").read_text()
        lines = (line.split() for line in text.splitlines() if line[0] != "#")
        return {name.removeprefix("ctxfs_"): float(value) for name, value in lines}

    def kill(self) -> None:
        pid = self.pid()
        os.kill(pid, signal.SIGKILL)
        assert wait_until(lambda: not alive(pid))


@pytest.fixture(scope="session")
def fuse():
    """For tests that mount: a build without FUSE (CTXFS_FUSE=OFF) skips them."""
    if b"without FUSE" in run(BIN / "ctxfs", "--version").stdout:
        pytest.skip("this build has no FUSE")


@pytest.fixture
def mount(fuse, tmp_path):
    """A function that mounts a container and gives a Mount. `before` are the
    words of a command that runs the mount command: prlimit and the like."""
    points = []

    def mounted(source, *options, flags=(), before=()):
        point = tmp_path / f"mnt{len(points)}"
        points.append(point)
        done = run(*before, *mount_command(source, point, *options, flags=flags))
        assert done.returncode == 0, done.stderr.decode()
        flat = any("flat" in option.split(",") for option in options)
        root = point if flat else point / pathlib.Path(source).name
        return Mount(source, point, root)

    yield mounted
    for point in points:
        for _ in mounts_at(point):
            run("umount", "-l", point)


@pytest.fixture
def refused(fuse, tmp_path):
    """A function that expects a mount to fail and gives (exit code, text)."""

    def tried(source, *options, flags=()):
        point = tmp_path / "refused"
        done = run(*mount_command(source, point, *options, flags=flags))
        try:
            assert done.returncode != 0
            assert not is_mounted(point)
            assert not point.exists(), "a made mount point stayed behind"
        finally:
            if is_mounted(point):
                run("umount", "-l", point)
        return done.returncode, done.stderr.decode()

    return tried
