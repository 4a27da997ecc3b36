# SPDX-License-Identifier: Apache-2.0
"""Mounts containers for tests, for real, and takes them away again."""

import contextlib
import ctypes
import functools
import itertools
import json
import os
import pathlib
import re
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


def see_no_other_mounts():
    """Enters a mount namespace of its own, if the user may. `ctxfs mounts` and the
    completion of shells read a file of every mount they see, which is busy meanwhile
    and counts the request: those of sessions beside this one, too."""
    clone_newns, ms_rec_private = 0x20000, 0x44000
    libc = ctypes.CDLL(None)
    if libc.unshare(clone_newns) == 0:
        libc.mount(None, b"/", None, ctypes.c_ulong(ms_rec_private), None)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """A directory of this session's own: tests open theirs and its parents to
    other users, which any other session would undo as it starts."""
    see_no_other_mounts()
    if config.option.basetemp is None:
        config.option.basetemp = pathlib.Path(tempfile.mkdtemp(prefix="ctxfs-")) / "tests"
        config.stash[SESSION_DIRECTORY] = config.option.basetemp.parent


def pytest_sessionfinish(session, exitstatus):
    """Directories of failed tests stay."""
    directory = session.config.stash.get(SESSION_DIRECTORY, None)
    if directory and exitstatus == pytest.ExitCode.OK:
        shutil.rmtree(directory, ignore_errors=True)


def run(*args, timeout=90, **kwargs) -> subprocess.CompletedProcess:
    """A command to its end, output captured, for at most `timeout` seconds."""
    return subprocess.run(
        [str(a) for a in args], capture_output=True, timeout=timeout, **kwargs
    )


@functools.cache
def formats() -> list[dict]:
    """What `ctxfs formats --json` says of each format that is mounted, and its `golden` and
    `docs`: its folders of golden/, and the pages of docs/ that describe it."""
    return formats_of(BIN / "ctxfs", ROOT / "core" / "formats")


def formats_of(program, sources: pathlib.Path) -> list[dict]:
    """Like formats(), of a program whose formats are defined in `sources`."""
    places = {}
    for source in sources.rglob("*.cc"):
        text = source.read_text()
        for found in re.finditer(r'\.golden = "([^"]*)",\s*\.docs = "([^"]*)"', text):
            name = re.findall(r'\.name = "([^"]*)"', text[:found.start()])[-1]
            places[name] = {"golden": found[1].split(), "docs": found[2].split()}
    said = json.loads(run(program, "formats", "--json").stdout)
    return [one | places.get(one["name"], {}) for one in said if one["mounted"]]


def golden_folders(trait: str | None = None) -> list[str]:
    """The folders of golden/ with containers of formats that have a trait, or of all."""
    return sorted({folder for one in formats() if trait is None or trait in one["traits"]
                   for folder in one["golden"]})


@functools.cache
def sound_containers() -> list[pathlib.Path]:
    """The containers of golden/ in which a check finds no fault."""
    # In a directory these stay files, which a check reads without its sources of answers.
    files = [path for folder in golden_folders("stays_file") for path in (GOLDEN / folder).iterdir()
             if path.is_file() and path.suffix not in (".json", ".md", ".data", ".dat")]
    reports = json.loads(run(BIN / "ctxfs", "check", "--json", GOLDEN, *files, timeout=120).stdout)
    return sorted({pathlib.Path(one["source"]) for one in reports
                   if one["outcome"] in ("clean", "unverifiable")})


def error_of(call, *args) -> int:
    """What a system call, which must fail, fails with."""
    with pytest.raises(OSError) as failed:
        call(*args)
    return failed.value.errno


def status_kib(pid: int, field: str) -> int:
    """A line of /proc/PID/status: VmHWM, RssAnon and the like."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise LookupError(field)


def hub_repository(cache: pathlib.Path, files: dict[str, bytes]) -> pathlib.Path:
    """Makes acme/base in a cache of the hub, by names of files in its commit of `main`; the
    folder of that commit. A mount, and SOURCE//PATH, names it acme/base/main."""
    top = cache / "models--acme--base"
    snapshot = top / "snapshots" / "0123456789abcdef0123456789abcdef01234567"
    for folder in (top / "blobs", top / "refs", snapshot):
        folder.mkdir(parents=True)
    (top / "refs" / "main").write_text(snapshot.name)
    for name, data in files.items():
        (top / "blobs" / name).write_bytes(data)
        (snapshot / name).symlink_to(f"../../blobs/{name}")
    return snapshot


def contents(root) -> dict:
    """The files that listings below a directory show, by their paths, which are bytes if
    `root` is."""
    top, found = os.fspath(root), {}
    for above, _, names in os.walk(top):
        for path in (os.path.join(above, name) for name in names):
            with open(path, "rb") as file:
                found[os.path.relpath(path, top)] = file.read()
    return found


def read_fresh(path, offset=0, size=-1) -> bytes:
    """What the daemon says, not what the page cache remembers."""
    with open(path, "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        file.seek(offset)
        return file.read(size)


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


def is_helper(status: str) -> bool:
    """Whether the thread helps those that serve: it is not confined, and opens no container."""
    return status.startswith("Name:\tctxfs-helper\n")


def stop(pid: int) -> None:
    """Stops a daemon. Until each of its threads has stopped, one of them may take a
    request, and who waits for its answer cannot even be killed."""
    os.kill(pid, signal.SIGSTOP)
    assert wait_until(lambda: all("\nState:\tT" in status for status in thread_statuses(pid)))


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

    def json(self, name: str):
        return json.loads((self.root / name).read_text())

    def warnings(self) -> list[str]:
        return self.json(".ctxfs/info.json")["warnings"]

    def pid(self) -> int:
        return daemon_of(self.point)

    def stats(self) -> dict[str, float]:
        """The counters of `.ctxfs/stats`, without their prefix."""
        text = (self.point / ".ctxfs" / "stats").read_text()
        lines = (line.split() for line in text.splitlines() if line[0] != "#")
        return {name.removeprefix("ctxfs_"): float(value) for name, value in lines}

    def fewest_requests(self, read) -> float:
        """The READ requests that `read()` costs, in the cheapest of five calls: a
        kernel short of memory drops pages at any moment, and asks for them again."""
        counts = [self.stats()["reads_total"]]
        for _ in range(5):
            read()
            counts.append(self.stats()["reads_total"])
        return min(after - before for before, after in itertools.pairwise(counts))

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
def here(fuse, tmp_path):
    """A directory to mount in; mounts that are left below it are detached."""
    yield tmp_path
    for name in os.listdir(tmp_path):
        for _ in mounts_at(tmp_path / name):
            run("umount", "-l", tmp_path / name)


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
