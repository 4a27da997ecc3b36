# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks share: options, mounts that always go away, readers."""

import argparse
import concurrent.futures
import contextlib
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
PIECE = 1 << 20
ENTRY_BYTES = 16 << 20


def options_of(doc: str, rounds: int) -> argparse.ArgumentParser:
    """The options of every benchmark that runs programs of ctxfs."""
    options = argparse.ArgumentParser(description=doc.splitlines()[0])
    options.add_argument("--build", type=pathlib.Path,
                         help="folder of the programs; default: build/bench, built anew")
    options.add_argument("--scratch", type=pathlib.Path,
                         help="folder for containers, which stay there; default: a new one")
    options.add_argument("--rounds", type=int, default=rounds)
    return options


def build_of(chosen: pathlib.Path | None) -> pathlib.Path:
    """The folder of the programs; builds them unless one was chosen."""
    if chosen:
        return chosen.resolve()
    for command in (
        ["scripts/install.sh", "build", "bench"],
        ["cmake", "--preset", "bench"],
        ["cmake", "--build", "--preset", "bench"],
    ):
        subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr)
    return ROOT / "build" / "bench"


def scratch_folder(chosen: pathlib.Path | None) -> pathlib.Path:
    """The folder chosen by --scratch, or a new one, as an absolute path."""
    scratch = chosen or pathlib.Path(tempfile.mkdtemp(prefix="ctxfs-bench-"))
    scratch.mkdir(parents=True, exist_ok=True)
    return scratch.resolve()


def python_with(packages: list[str], environment: pathlib.Path) -> pathlib.Path:
    """The Python of a virtual environment, made if missing, with these packages."""
    python = environment / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    return python


def run_with(packages: list[str], name: str, scratch: pathlib.Path) -> None:
    """Starts the benchmark `name` again by a Python that has these packages, unless
    this is that Python."""
    environment = scratch / f"venv-{name}"
    if pathlib.Path(sys.prefix) == environment:
        return
    again = [python_with(packages, environment), ROOT / "scripts/bench.py", name,
             *sys.argv[1:], "--scratch", scratch]
    sys.exit(subprocess.run(again, check=False).returncode)


def wait_until(holds: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError("waited in vain")
        time.sleep(0.002)


def is_mounted(point: pathlib.Path) -> bool:
    table = pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    return any(line.split()[4] == str(point) for line in table.splitlines())


def daemon_of(point: pathlib.Path) -> int:
    """The process that serves a mount: the one started with its path."""
    wanted = os.fsencode(point)
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if wanted in words and b"umount" not in words[0]:
                return int(entry.name)
    raise LookupError(f"nothing serves {point}")


def memory_of(pid: int) -> dict[str, int]:
    """Resident and proportional set size in KiB, and the peak of the first."""
    found = {}
    proc = pathlib.Path("/proc") / str(pid)
    for name in ("status", "smaps_rollup"):
        for line in (proc / name).read_text().splitlines():
            words = line.split()
            if words and words[0] in ("VmRSS:", "VmHWM:", "Pss:"):
                found[words[0].rstrip(":")] = int(words[1])
    return found


def cpu_of(pid: int) -> float:
    """Processor seconds a process has used: what load cannot stretch."""
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    user, system = stat.rsplit(")")[-1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def unmount(point: pathlib.Path) -> None:
    if not is_mounted(point):
        return
    with contextlib.suppress(LookupError):
        pid = daemon_of(point)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        if subprocess.run(["umount", point], **quiet).returncode != 0:
            subprocess.run(["umount", "-l", point], check=True)
        # What it holds must be gone before the next measurement. Some readers
        # take long to let go of many names.
        wait_until(lambda: not alive(pid), 60)
        return
    subprocess.run(["umount", "-l", point], check=True)


def alive(pid: int) -> bool:
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rsplit(")")[-1].split()[0] != "Z"


@contextlib.contextmanager
def mounted(
    build: pathlib.Path, source: pathlib.Path, point: pathlib.Path, *options: str
) -> Iterator[float]:
    """A fresh mount; gives the seconds until mount.ctxfs returned."""
    command = [build / "mount.ctxfs", source, point]
    for option in options:
        command += ["-o", option]
    try:
        start = time.perf_counter()
        subprocess.run(command, check=True)
        yield time.perf_counter() - start
    finally:
        unmount(point)


class Samples:
    """Seconds (or KiB) by name, one a round, in the order first measured."""

    def __init__(self) -> None:
        self.values: dict[str, list[float]] = {}

    def add(self, name: str, value: float) -> None:
        self.values.setdefault(name, []).append(value)

    def ratio(self, above: str, below: str) -> list[float]:
        """above / below of each round: what disturbs a round disturbs both."""
        pairs = zip(self.values[above], self.values[below], strict=True)
        return [a / b for a, b in pairs]


class Tools:
    """The programs under test and the folder they work in."""

    def __init__(self, build: pathlib.Path, scratch: pathlib.Path):
        self.build = build
        self.scratch = scratch
        self.point = scratch / "mnt"
        self.point.mkdir(parents=True, exist_ok=True)

    def make_shard(self, name: str, count: int, size: int, codec: str) -> pathlib.Path:
        """The container, made once; its ratio is printed by the maker."""
        path = self.scratch / f"{name}-{count}x{size}.shard"
        if not path.exists():
            tool = self.build / "tests" / "bench" / "make_shard"
            partial = path.with_suffix(".partial")
            command = [tool, partial, str(count), str(size), codec]
            subprocess.run(command, check=True)
            partial.rename(path)
        return path

    def ctxfs(
        self, container: pathlib.Path, *options: str
    ) -> contextlib.AbstractContextManager[float]:
        return mounted(self.build, container, self.point, "flat", *options)

    @contextlib.contextmanager
    def null_fs(self, count: int, size: int) -> Iterator[None]:
        tool = self.build / "tests" / "bench" / "null_fs"
        server = subprocess.Popen([tool, self.point, str(count), str(size)])
        try:
            wait_until(lambda: is_mounted(self.point))
            yield
        finally:
            unmount(self.point)
            server.terminate()
            server.wait()

    def entries(self) -> list[pathlib.Path]:
        """The mount's entries, sorted, without the files of its own."""
        found = []
        for folder, folders, names in os.walk(self.point):
            folders[:] = sorted(name for name in folders if name != ".ctxfs")
            found += [pathlib.Path(folder) / name for name in sorted(names)]
        return found


def read_files(paths: list[pathlib.Path], buffer: memoryview) -> int:
    """Reads whole files by pieces of a megabyte; gives the number of bytes."""
    total = 0
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            while got := file.readinto(buffer):
                total += got
    return total


class Reader:
    """Buffers are touched once and for all: no page of them is ever new."""

    def __init__(self) -> None:
        self.buffers = [memoryview(bytearray(b"x" * PIECE)) for _ in range(2)]

    def sequential(self, paths: list[pathlib.Path]) -> float:
        """Seconds that one reader takes for all files."""
        start = time.perf_counter()
        total = read_files(paths, self.buffers[0])
        taken = time.perf_counter() - start
        if total == 0:
            raise RuntimeError("nothing was read")
        return taken

    def parallel(self, paths: list[pathlib.Path]) -> float:
        """Seconds that two readers take, each for every other file."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            start = time.perf_counter()
            # What fails in a thread is raised here.
            totals = list(pool.map(read_files, (paths[::2], paths[1::2]), self.buffers))
            taken = time.perf_counter() - start
        if not all(totals):
            raise RuntimeError("a reader read nothing")
        return taken

    def pipe(self, command: list[str]) -> float:
        """Seconds until a command's output has been read from a pipe."""
        start = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as process:
            assert process.stdout is not None
            while process.stdout.readinto(self.buffers[0]):
                pass
        if process.returncode != 0:
            raise subprocess.CalledProcessError(process.returncode, command)
        return time.perf_counter() - start


def run_timed(command: str) -> float:
    """Seconds that a shell command takes."""
    start = time.perf_counter()
    subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def split_frames(container: pathlib.Path, folder: pathlib.Path) -> list[str]:
    """Writes each entry's stored bytes, as they are, to a file of its own."""
    record_size = 48
    folder.mkdir(exist_ok=True)
    paths = []
    with open(container, "rb") as file:
        count = int.from_bytes(file.read(64)[12:16], "little")
        index = file.read(record_size * count)
        for i in range(count):
            record = index[record_size * i : record_size * (i + 1)]
            file.seek(int.from_bytes(record[16:24], "little"))
            path = folder / f"{i:03}.zst"
            path.write_bytes(file.read(int.from_bytes(record[24:32], "little")))
            paths.append(str(path))
    return paths


@contextlib.contextmanager
def tools_of(chosen: argparse.Namespace) -> Iterator[Tools]:
    """What is measured, in a scratch folder that goes away unless it was chosen."""
    build = build_of(chosen.build)
    if chosen.scratch:
        yield Tools(build, scratch_folder(chosen.scratch))
        return
    with tempfile.TemporaryDirectory(prefix="ctxfs-bench-") as scratch:
        yield Tools(build, pathlib.Path(scratch).resolve())


def warm(path: pathlib.Path) -> None:
    """Brings a file into the page cache, written back."""
    with open(path, "rb", buffering=0) as file:
        os.fsync(file.fileno())
        while file.read(PIECE):
            pass


def row(*cells: str) -> str:
    """A line of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


def table(title: str, heads: list[str], rows: list[list[str]]) -> str:
    """A Markdown table below its title."""
    lines = [f"### {title}", "", row(*heads), row(*["---"] * len(heads))]
    return "\n".join(lines + [row(*cells) for cells in rows] + [""])


def spread(values: list[float], form: str) -> list[str]:
    """The median, the least and the most, written in a format such as ".2f"."""
    return [
        format(value, form)
        for value in (statistics.median(values), min(values), max(values))
    ]
