# SPDX-License-Identifier: Apache-2.0
"""Measures ctxfs against what it cannot beat, on the machine it runs on.

    scripts/bench.py yardsticks [--build DIR] [--dir SCRATCH] [--rounds N] [--quick]
                                [--peers [--mount-zip PROGRAM]]

Yardsticks: (a) null_fs, a FUSE server with nothing behind it; (b) plain files
of the same bytes; (c) the zstd command on the same frames. Everything is
measured in turn in every round, on a fresh mount, the container in the page
cache; the table gives medians, the best and the worst.

--peers compares ctxfs with other programs that mount archives instead: see
peers.py. --quick measures little, twice, with the build that is there.
"""

import argparse
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile

from . import lib, peers

sys.path.insert(0, str(lib.ROOT / "tests" / "mount"))
import tables  # noqa: E402  writes the table as the tests do


class Samples:
    """Seconds (or KiB) by name, one a round, in the order first measured."""

    def __init__(self) -> None:
        self.values: dict[str, list[float]] = {}

    def add(self, name: str, value: float) -> None:
        self.values.setdefault(name, []).append(value)

    def median(self, name: str) -> float:
        return statistics.median(self.values[name])

    def ratio(self, above: str, below: str) -> list[float]:
        """above / below of each round: what disturbs a round disturbs both."""
        pairs = zip(self.values[above], self.values[below], strict=True)
        return [a / b for a, b in pairs]


BUILD = lib.ROOT / "build" / "bench"
NEEDED = ("mount.ctxfs", "tests/bench/make_shard", "tests/bench/null_fs")


def build_to_measure(args: argparse.Namespace) -> pathlib.Path:
    """The folder of the programs; --quick builds only what is missing."""
    if args.build:
        return args.build.resolve()
    if args.quick and all((BUILD / name).exists() for name in NEEDED):
        print(f"bench.py: {BUILD} is measured as it is", file=sys.stderr)
        return BUILD
    return build_benchmarks()


def build_benchmarks() -> pathlib.Path:
    for command in (
        ["scripts/install.sh", "build", "bench"],
        ["cmake", "--preset", "bench"],
        ["cmake", "--build", "--preset", "bench"],
    ):
        subprocess.run(command, cwd=lib.ROOT, check=True, stdout=sys.stderr)
    return BUILD


def load() -> str:
    """Anything near the number of cores, before the start, spoils the run."""
    return " ".join(f"{one:.2f}" for one in os.getloadavg())


def machine() -> list[str]:
    cpu = "unknown"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
            break
    found = subprocess.run(
        ["pkg-config", "--modversion", "fuse3"], capture_output=True, text=True
    )
    huge = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    pages = huge.read_text().strip() if huge.exists() else "none"
    return [
        f"CPU: {cpu}, {os.cpu_count()} cores",
        f"Kernel: {platform.release()}; huge pages: {pages}",
        f"libfuse: {found.stdout.strip() or 'unknown'}",
        f"Load when started: {load()}",
    ]


def read_twice(tools: lib.Tools, reader: lib.Reader, name: str, out: Samples) -> None:
    paths = tools.entries()
    pid = lib.daemon_of(tools.point)
    before = lib.cpu_of(pid)
    first = reader.sequential(paths)
    out.add(f"{name} CPU", lib.cpu_of(pid) - before)
    second = reader.sequential(paths)
    out.add(f"{name} first", first)
    out.add(f"{name} second", second)
    out.add(f"{name} both", first + second)


class Reads:
    """Sequential and parallel reads of the same bytes in every guise."""

    def __init__(self, tools: lib.Tools, count: int):
        self.tools = tools
        self.count = count
        self.reader = lib.Reader()
        self.out = Samples()
        self.containers = {
            "stored": tools.make_shard("stored", count, lib.ENTRY_BYTES, "none"),
            "zstd": tools.make_shard("zstd", count, lib.ENTRY_BYTES, "zstd"),
        }
        self.plain = self.copy_out()
        frames = tools.scratch / "frames"
        self.frames = lib.split_frames(self.containers["zstd"], frames)
        for path in [*self.containers.values(), *self.plain, *self.frames]:
            lib.warm(pathlib.Path(path))

    def copy_out(self) -> list[pathlib.Path]:
        folder = self.tools.scratch / "plain"
        folder.mkdir(exist_ok=True)
        paths = []
        with self.tools.ctxfs(self.containers["stored"]):
            for i, path in enumerate(self.tools.entries()):
                paths.append(folder / f"{i:03}")
                shutil.copyfile(path, paths[-1])
        return paths

    def round(self) -> None:
        tools, reader, out = self.tools, self.reader, self.out
        with tools.null_fs(self.count, lib.ENTRY_BYTES):
            read_twice(tools, reader, "null_fs", out)
        for name, container in self.containers.items():
            with tools.ctxfs(container):
                read_twice(tools, reader, name, out)
                pid = lib.daemon_of(tools.point)
                out.add(f"{name} RSS", lib.memory_of(pid)["VmHWM"])
        with tools.ctxfs(self.containers["zstd"], "verify=off"):
            out.add("zstd verify=off first", reader.sequential(tools.entries()))
        with tools.ctxfs(self.containers["stored"], "verify=off"):
            out.add("stored verify=off first", reader.sequential(tools.entries()))
        out.add("plain", reader.sequential(self.plain))
        out.add("zstd -dc pipe", reader.pipe(["zstd", "-dcq", *self.frames]))
        files = " ".join(self.frames)
        out.add("zstd -dc null", lib.run_timed(f"zstd -dcq {files}"))
        self.parallel_round()
        self.cat_round()

    def parallel_round(self) -> None:
        tools, reader, out = self.tools, self.reader, self.out
        with tools.null_fs(self.count, lib.ENTRY_BYTES):
            out.add("null_fs 2 readers", reader.parallel(tools.entries()))
        for name, container in self.containers.items():
            with tools.ctxfs(container):
                out.add(f"{name} 2 readers", reader.parallel(tools.entries()))

    def cat_round(self) -> None:
        tools, out = self.tools, self.out
        cat = f"find {tools.point} -type f -print0"
        cat += " | sort -z | xargs -0 cat | cat >/dev/null"
        with tools.null_fs(self.count, lib.ENTRY_BYTES):
            out.add("null_fs cat", lib.run_timed(cat))
        for name, container in self.containers.items():
            with tools.ctxfs(container):
                out.add(f"{name} cat", lib.run_timed(cat))


class Names:
    """Many entries: mounting and listing them, and the memory they take."""

    def __init__(self, tools: lib.Tools, count: int):
        self.tools = tools
        self.count = count
        self.out = Samples()
        self.container = tools.make_shard("many", count, 16, "none")
        lib.warm(self.container)

    def round(self) -> None:
        tools, out = self.tools, self.out
        find = f"find {tools.point} | wc -l"
        with tools.ctxfs(self.container) as seconds:
            out.add("mount", seconds)
            pid = lib.daemon_of(tools.point)
            self.note_memory("after mount", pid)
            out.add("find", lib.run_timed(find))
            self.note_memory("after find", pid)
            out.add("find again", lib.run_timed(find))
        with tools.ctxfs(self.container):
            out.add("ls -lR", lib.run_timed(f"ls -lR {tools.point}"))
        with tools.null_fs(self.count, 16):
            out.add("null_fs find", lib.run_timed(find))
        with tools.null_fs(self.count, 16):
            out.add("null_fs ls -lR", lib.run_timed(f"ls -lR {tools.point}"))

    def note_memory(self, when: str, pid: int) -> None:
        memory = lib.memory_of(pid)
        self.out.add(f"RSS {when}", memory["VmRSS"])
        self.out.add(f"PSS {when}", memory["Pss"])
        self.out.add(f"peak RSS {when}", memory["VmHWM"])


class Tables:
    """A table of 12 columns as text: the first stat renders it, to know its size."""

    ROWS = 1_000_000
    CACHES = ("512M", "64M")

    def __init__(self, tools: lib.Tools, rows: int):
        self.tools = tools
        self.rows = rows
        self.out = Samples()
        self.container = tools.scratch / f"table-{rows}.cshard"
        if not self.container.exists():
            tables.write(self.container, rows)
        lib.warm(self.container)

    def round(self) -> None:
        views = self.tools.point / "views"
        for cache in self.CACHES:
            for kind in ("csv", "jsonl"):
                name = f"{kind}, cache={cache}"
                path = views / f"table.{kind}"
                with self.tools.ctxfs(self.container, f"cache={cache}"):
                    self.out.add(f"{name}: ls views, s", lib.run_timed(f"ls {views}"))
                    self.out.add(f"{name}: first stat, s", lib.run_timed(f"stat {path}"))
                    self.out.add(f"{name}: second stat, s", lib.run_timed(f"stat {path}"))
                    self.out.add(f"{name}: read, s", lib.run_timed(f"cat {path} >/dev/null"))
                    memory = lib.memory_of(lib.daemon_of(self.tools.point))
                    self.out.add(f"{name}: peak RSS, MiB", memory["VmHWM"] / 1024)


def report_reads(reads: Reads) -> str:
    out = reads.out
    total = reads.count * lib.ENTRY_BYTES / 1e9
    rates, memory, cpu = [], [], []
    for name, values in out.values.items():
        if name.endswith("CPU"):
            cpu.append([name, *lib.spread(values, ".2f")])
            continue
        if name.endswith("RSS"):
            memory.append([name, *lib.spread([v / 1024 for v in values], ".0f")])
            continue
        scale = 2 * total if name.endswith("both") else total
        rates.append([name, *lib.spread([scale / v for v in values], ".2f")])
    wanted = [
        ("stored / (a), first + second", "null_fs both", "stored both", 0.9),
        ("stored / (a), first", "null_fs first", "stored first", None),
        ("stored / (a), second", "null_fs second", "stored second", None),
        ("stored / (a), first, verify=off", "null_fs first",
         "stored verify=off first", None),
        ("stored / (b), second", "plain", "stored second", None),
        ("zstd / (c) to a pipe, first", "zstd -dc pipe", "zstd first", 0.9),
        ("zstd / (c) to /dev/null, first", "zstd -dc null", "zstd first", None),
        ("zstd / (c) to a pipe, verify=off", "zstd -dc pipe",
         "zstd verify=off first", None),
        ("stored / (a), 2 readers", "null_fs 2 readers", "stored 2 readers", None),
        ("zstd, 2 readers / 1", "zstd first", "zstd 2 readers", None),
        ("stored / (a), cat", "null_fs cat", "stored cat", None),
    ]  # fmt: skip
    ratios = [
        [what, *lib.spread(out.ratio(above, below), ".2f"), str(target or "")]
        for what, above, below, target in wanted
    ]
    size = f"{total * 1e9 / 2**20:.0f} MiB in {reads.count} entries"
    return "\n".join(
        [
            lib.table(f"Speed as a ratio, {size}",
                      ["what", "median", "worst", "best", "target"], ratios),
            lib.table("GB/s", ["what", "median", "worst", "best"], rates),
            lib.table("The server's processor seconds for the first read",
                      ["what", "median", "least", "most"], cpu),
            lib.table("Peak RSS after reading, MiB",
                      ["what", "median", "least", "most"], memory),
        ]
    )  # fmt: skip


def report_names(names: Names) -> str:
    rows = []
    for name, values in names.out.values.items():
        memory = "SS" in name
        scaled = [v / 1024 if memory else v for v in values]
        unit = "MiB" if memory else "s"
        rows.append([f"{name}, {unit}", *lib.spread(scaled, ".1f" if memory else ".3f")])
    heads = ["what", "median", "least", "most"]
    title = f"{names.count} entries (mount < 0.2 s, RSS < 60 MiB)"
    return lib.table(title, heads, rows)


def report_tables(measured: Tables) -> str:
    rows = [[name, *lib.spread(values, ".0f" if name.endswith("MiB") else ".3f")]
            for name, values in measured.out.values.items()]
    title = f"A table of {measured.rows} rows and 12 columns (first stat < 5 s)"
    return lib.table(title, ["what", "median", "least", "most"], rows)


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, help="do not build, use this")
    parser.add_argument("--dir", type=pathlib.Path, help="containers stay here")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small and few")
    parser.add_argument("--peers", action="store_true", help="compare with peers")
    parser.add_argument("--mount-zip", metavar="PROGRAM",
                        help="a build of mount-zip, which Debian 12 does not have")
    args = parser.parse_args()
    if args.mount_zip and not args.peers:
        parser.error("--mount-zip is for --peers")
    return args


def measure(args: argparse.Namespace, scratch: pathlib.Path) -> None:
    tools = lib.Tools(build_to_measure(args), scratch)
    rounds = 2 if args.quick else args.rounds
    print("\n".join(["## ctxfs benchmark", "", *(f"- {one}" for one in machine())]))
    print(f"- Rounds: {rounds}", flush=True)
    reads = 4 if args.quick else 32
    names = 20_000 if args.quick else 200_000
    if args.peers:
        peers.compare(tools, rounds, reads, names, args.mount_zip)
    else:
        print(flush=True)
        rows = Tables.ROWS // 10 if args.quick else Tables.ROWS
        measure_alone(rounds, Reads(tools, reads), Names(tools, names),
                      Tables(tools, rows))
    print(f"Load at the end: {load()}")


def measure_alone(rounds: int, reads: Reads, names: Names, text: Tables) -> None:
    """Compares ctxfs with the yardsticks."""
    for _ in range(rounds):
        reads.round()
        names.round()
        text.round()
    print(report_reads(reads))
    print(report_names(names))
    print(report_tables(text))


def main() -> int:
    args = parse_args()
    if args.dir:
        measure(args, args.dir.resolve())
        return 0
    with tempfile.TemporaryDirectory(prefix="ctxfs-bench-") as scratch:
        measure(args, pathlib.Path(scratch).resolve())
    return 0

