# SPDX-License-Identifier: Apache-2.0
"""Compares ctxfs with other programs that mount archives.

    scripts/bench.py peers [--build DIR] [--scratch DIR] [--rounds N] [--entries N]
                           [--names N] [--mount-zip PROGRAM]

The same bytes in the formats of each: large entries, compressed and stored, and
many small ones, stored, in 100 folders, and in a folder for every two. ctxfs reads
the large ones from a Shard, the small ones from the zip file that its peers read.
zstd has its level 3 everywhere, squashfs its default block of 128 KiB, deflate its
level 6.

In each round each program has its turn, on a fresh mount, its archive in the
page cache. A program that is missing, fails, takes too long or serves something
else than ctxfs gets a row that says so; the rest goes on.
"""

import contextlib
import dataclasses
import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator

from . import lib
from .results import RUN

PINNED = ["ratarmount==1.3.0", "ratarmountcore==0.11.1", "mfusepy==3.1.1"]
PACKAGES = ("squashfs-tools", "squashfuse", "fuse-zip")
FOLDERS = 100
OPENED = 4000
SMALL_BYTES = 16
LIMIT = 600
"""Seconds that one mount, or all that is measured on it, may take."""


class Failed(Exception):
    """Why there is no result: the text of a row."""


class Different(Failed):
    """What is served is not what ctxfs serves: no row of these data counts."""


@dataclasses.dataclass
class Program:
    """One that mounts archives of a kind, by a command that returns then."""

    name: str
    kind: str
    command: list[str | pathlib.Path]
    tail: list[str] = dataclasses.field(default_factory=list)
    missing: str = ""

    def mounting(self, archive: pathlib.Path, point: pathlib.Path) -> list:
        return [*self.command, archive, point, *self.tail]


def programs(tools: lib.Tools, mount_zip: str | None) -> list[Program]:
    """ctxfs first, then its peers, whether they are there or not."""
    ratarmount, why = install_ratarmount(tools.scratch / "venv-peers")
    found = [
        Program("ctxfs", "shard", [tools.build / "mount.ctxfs"], ["-o", "flat"]),
        Program("squashfuse_ll", "squashfs", ["squashfuse_ll"]),
        Program("squashfs of the kernel", "squashfs",
                ["mount", "-t", "squashfs", "-o", "loop,ro"]),
        Program("fuse-zip", "zip", ["fuse-zip", "-r"]),
        # It would leave out folders that everything is in.
        Program("mount-zip", "zip", [mount_zip or "mount-zip", "-o", "notrim"]),
        # Its index is made anew at each mount, as those of the others are.
        Program("ratarmount", "zip", [ratarmount, "--index-file", ":memory:"],
                missing=why),
    ]  # fmt: skip
    for program in found:
        if not program.missing and not shutil.which(program.command[0]):
            program.missing = f"there is no {program.command[0]}"
    if found[4].missing and not mount_zip:
        found[4].missing = "no program was given by --mount-zip"
    return found


def install_packages() -> None:
    """What Debian has; a peer that is missing afterwards says so in its row."""
    command = [lib.ROOT / "scripts" / "install.sh", "peers"]
    if subprocess.run(command, check=False, stdout=sys.stderr).returncode != 0:
        print("bench.py: not every peer could be installed", file=sys.stderr)


def install_ratarmount(environment: pathlib.Path) -> tuple[pathlib.Path, str]:
    """Its program in an environment of its own, and why it is not there."""
    try:
        python = lib.python_with(PINNED, environment)
    except (OSError, subprocess.CalledProcessError):
        return environment / "bin" / "ratarmount", "could not be installed"
    return python.with_name("ratarmount"), ""


def versions(found: list[Program]) -> str:
    """What is compared, for the head of the report."""
    command = ["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *PACKAGES]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    known = listed.stdout.split("\n")[:-1]
    for program in found:
        if program.name == "mount-zip" and not program.missing:
            asked = subprocess.run([program.command[0], "--version"], text=True,
                                   capture_output=True, check=False)
            known += (asked.stdout or asked.stderr).splitlines()[:1]
    return ", ".join(known + [one.replace("==", " ") for one in PINNED[:1]])


class Archives:
    """The same files in each format, made once, in the folder of the tools."""

    def __init__(self, tools: lib.Tools, reads: int, names: int):
        """`reads` large files of lib.ENTRY_BYTES, `names` small ones."""
        self.tools = tools
        self.reads = reads
        self.names = names
        self.paths: dict[tuple[str, str], pathlib.Path] = {}
        for data, codec in (("compressed", "zstd"), ("stored", "none")):
            self.paths[data, "shard"] = tools.make_shard(
                data, reads, lib.ENTRY_BYTES, codec)
        self.fill(f"large-{reads}", self.copy_large, ("compressed", "stored"))
        self.folders = {"names": FOLDERS, "folders": names // 2}
        for data, folders in self.folders.items():
            self.fill(f"small-{names}-in-{folders}",
                      lambda folder, count=folders: self.write_small(folder, count), (data,))
            self.paths[data, "shard"] = self.paths[data, "zip"]

    def fill(self, name: str, write: Callable[[pathlib.Path], None],
             wanted: tuple[str, ...]) -> None:
        """Archives of a folder that `write` fills and that then goes away."""
        folder = self.tools.scratch / f"{name}.plain"
        for data in wanted:
            for kind, make in (("squashfs", make_squashfs), ("zip", make_zip)):
                path = self.tools.scratch / f"{name}-{data}.{kind}"
                self.paths[data, kind] = path
                if path.exists():
                    continue
                if not folder.exists():
                    write(folder)
                partial = path.with_suffix(".partial")
                with contextlib.suppress(Failed):
                    make(folder, partial, data == "compressed")
                    partial.rename(path)
        shutil.rmtree(folder, ignore_errors=True)

    def copy_large(self, folder: pathlib.Path) -> None:
        """The entries of the Shard under their names: equal seed, equal bytes."""
        with self.tools.ctxfs(self.paths["stored", "shard"]):
            for path in self.tools.entries():
                copy = folder / path.relative_to(self.tools.point)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)

    def write_small(self, folder: pathlib.Path, folders: int) -> None:
        each = self.names // folders
        for i in range(folders):
            below = folder / f"{i:06}"
            below.mkdir(parents=True)
            for j in range(i * each, (i + 1) * each):
                (below / f"{j:07}").write_text(f"{j:0{SMALL_BYTES}}", encoding="ascii")

    def lines_of_find(self, data: str) -> int:
        """What `find` lists: files, folders and the mount point itself."""
        folders = self.folders[data]
        return self.names // folders * folders + folders + 1


def make_squashfs(folder: pathlib.Path, path: pathlib.Path, compressed: bool) -> None:
    """With the tools' default block; Failed if the tools are missing or fail."""
    path.unlink(missing_ok=True)
    how = (["-comp", "zstd", "-Xcompression-level", "3"] if compressed
           else ["-noI", "-noD", "-noF", "-noX"])
    # It would compare each of many files of a size with each other one.
    command = ["mksquashfs", folder, path, *how, "-no-duplicates", "-quiet",
               "-no-progress"]
    try:
        subprocess.run(command, check=True, stdout=sys.stderr)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Failed("mksquashfs failed") from error


def make_zip(folder: pathlib.Path, path: pathlib.Path, compressed: bool) -> None:
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", method) as archive:
        for file in sorted(one for one in folder.rglob("*") if one.is_file()):
            archive.write(file, file.relative_to(folder))


@contextlib.contextmanager
def limited(point: pathlib.Path) -> Iterator[None]:
    """Kills the server after LIMIT seconds, so that a read which hangs then fails."""
    late = threading.Event()
    server = None
    with contextlib.suppress(LookupError):  # the kernel's has none
        server = lib.daemon_of(point)

    def abort() -> None:
        late.set()
        if server and lib.alive(server):
            os.kill(server, signal.SIGKILL)

    timer = threading.Timer(LIMIT, abort)
    timer.start()
    try:
        yield
    except (OSError, RuntimeError, subprocess.SubprocessError):
        if late.is_set():
            raise Failed(f"took longer than {LIMIT} s") from None
        raise
    finally:
        timer.cancel()


@contextlib.contextmanager
def mounted(program: Program, archive: pathlib.Path, tools: lib.Tools) -> Iterator[float]:
    """A fresh mount; gives the seconds until the program's command returned."""
    if program.missing:
        raise Failed(program.missing)
    if not archive.exists():
        raise Failed(f"no {archive.suffix[1:]} file could be made")
    lib.warm(archive)
    log = tools.scratch / "peer.log"
    command = program.mounting(archive, tools.point)
    try:
        start = time.perf_counter()
        # A pipe would stay open for as long as the server lives.
        with open(log, "wb") as out:
            done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL,
                                  stdout=out, stderr=out, timeout=LIMIT)
        if done.returncode != 0:
            raise Failed(log.read_text(errors="replace"))
        lib.wait_until(lambda: lib.is_mounted(tools.point))
        yield time.perf_counter() - start
    finally:
        lib.unmount(tools.point)


@dataclasses.dataclass
class Task:
    """What is measured on one mount: seconds for each of its rows."""

    data: str
    rows: tuple[str, ...]
    run: Callable[[float], list[float]]
    size: int = 0
    """Bytes that are read for a row; 0 where only the time counts."""


class Comparison:
    """Every task by every program, and what became of it."""

    def __init__(self, tools: lib.Tools, archives: Archives, found: list[Program]):
        self.tools = tools
        self.archives = archives
        self.programs = found
        self.reader = lib.Reader()
        self.seconds: dict[tuple[str, str], list[float]] = {}
        self.failed: dict[tuple[str, str], str] = {}
        self.compared: set[tuple[str, str]] = set()
        self.digest = ""
        size = archives.reads * lib.ENTRY_BYTES
        self.tasks = [
            Task("compressed", ("compressed, first read",), self.read_once, size),
            Task("compressed", ("compressed, two readers at once",), self.two_readers,
                 size),
            Task("stored", ("stored, first read", "stored, second read"),
                 self.read_twice, size),
            Task("stored", ("stored, two readers at once",), self.two_readers, size),
            Task("names", ("mount", "find", "find again"), self.find),
            Task("names", ("ls -lR",), self.list_all),
            Task("names", (f"open, read and close {OPENED} small files again",),
                 self.read_small),
            Task("folders", ("mount, many folders", "find, many folders",
                             "find again, many folders"), self.find_folders),
        ]  # fmt: skip

    def read_once(self, _mounting: float) -> list[float]:
        return [self.reader.sequential(self.tools.entries())]

    def read_twice(self, _mounting: float) -> list[float]:
        paths = self.tools.entries()
        return [self.reader.sequential(paths) for _ in range(2)]

    def two_readers(self, _mounting: float) -> list[float]:
        return [self.reader.parallel(self.tools.entries())]

    def find(self, mounting: float, data: str = "names") -> list[float]:
        wanted = self.archives.lines_of_find(data)
        return [mounting, *(self.find_once(wanted) for _ in range(2))]

    def find_folders(self, mounting: float) -> list[float]:
        return self.find(mounting, "folders")

    def find_once(self, wanted: int) -> float:
        start = time.perf_counter()
        out = subprocess.run(["find", self.tools.point], check=True,
                             capture_output=True).stdout
        taken = time.perf_counter() - start
        if (lines := out.count(b"\n")) != wanted:
            raise Different(f"lists {lines} names instead of {wanted}")
        return taken

    def read_small(self, _mounting: float) -> list[float]:
        paths = self.tools.entries()[:OPENED]
        for path in paths:
            path.read_bytes()
        start = time.perf_counter()
        for path in paths:
            handle = os.open(path, os.O_RDONLY)
            if len(os.read(handle, 2 * SMALL_BYTES)) != SMALL_BYTES:
                raise Different("serves small files of other sizes")
            os.close(handle)
        return [time.perf_counter() - start]

    def list_all(self, _mounting: float) -> list[float]:
        return [lib.run_timed(f"ls -lR {self.tools.point}")]

    def round(self) -> None:
        for task in self.tasks:
            for program in self.programs:
                if (task.rows[0], program.name) not in self.failed:
                    self.attempt(task, program)

    def attempt(self, task: Task, program: Program) -> None:
        """One measurement; what goes wrong is what the row says from now on."""
        try:
            taken = self.measure(task, program)
        except (Failed, LookupError, OSError, RuntimeError,
                subprocess.SubprocessError) as error:
            spoiled = [task]
            if isinstance(error, Different):
                spoiled = [one for one in self.tasks if one.data == task.data]
            for row in (row for one in spoiled for row in one.rows):
                self.failed[row, program.name] = self.reason(error)
            return
        for row, seconds in zip(task.rows, taken, strict=True):
            self.seconds.setdefault((row, program.name), []).append(seconds)

    def reason(self, error: Exception) -> str:
        """What went wrong, as a cell: one line, without the scratch folder."""
        said = str(error).replace(str(self.tools.scratch), "").replace("|", "/")
        return next((line for line in said.split("\n") if line.strip()), "failed")[:160]

    def measure(self, task: Task, program: Program) -> list[float]:
        archive = self.archives.paths[task.data, program.kind]
        with mounted(program, archive, self.tools) as mounting:
            with limited(self.tools.point):
                taken = task.run(mounting)
                if task.size and (task.data, program.name) not in self.compared:
                    self.compare_bytes(task, program)
        return taken

    def compare_bytes(self, task: Task, program: Program) -> None:
        """Once, after measuring: as many bytes as in ctxfs, and one file the same."""
        self.compared.add((task.data, program.name))
        paths = self.tools.entries()
        if sum(path.stat().st_size for path in paths) != task.size:
            raise Different("serves files of other sizes than ctxfs")
        with open(paths[-1], "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        # ctxfs comes first; with zstd and stored it must serve the same, too.
        self.digest = self.digest or digest
        if digest != self.digest:
            raise Different("serves other bytes than ctxfs")

    def report(self) -> None:
        """Adds each row of each task, and how many times as fast as each peer ctxfs is."""
        own, *peers = self.programs
        for task in self.tasks:
            for row in task.rows:
                if (row, own.name) in self.failed:
                    continue
                ours = self.seconds[row, own.name]
                if task.size:
                    RUN.add(f"{row}, ctxfs", [task.size / 1e9 / one for one in ours], "GB/s")
                else:
                    RUN.add(f"{row}, ctxfs", ours, "s")
                for peer in peers:
                    self.report_peer(row, ours, peer)

    def report_peer(self, row: str, ours: list[float], peer: Program) -> None:
        if why := self.failed.get((row, peer.name)):
            print(f"bench.py: {row}, {peer.name}: no result: {why}", file=sys.stderr)
            return
        pairs = zip(self.seconds[row, peer.name], ours, strict=True)
        RUN.add(row + f", beside {peer.name}", [a / b for a, b in pairs], f"of {peer.name}")


def main() -> None:
    options = lib.options_of(__doc__, 3)
    options.add_argument("--entries", type=int, default=32, help="of 16 MiB")
    options.add_argument("--names", type=int, default=200_000, help="small files")
    options.add_argument("--mount-zip", metavar="PROGRAM",
                         help="a build of mount-zip, which Debian 12 does not have")
    chosen = options.parse_args()
    install_packages()
    with lib.tools_of(chosen) as tools:
        found = programs(tools, chosen.mount_zip)
        RUN.machine["peers"] = versions(found)
        comparison = Comparison(tools, Archives(tools, chosen.entries, chosen.names), found)
        for i in range(chosen.rounds):
            print(f"bench.py: round {i + 1} of {chosen.rounds}", file=sys.stderr)
            comparison.round()
        comparison.report()
