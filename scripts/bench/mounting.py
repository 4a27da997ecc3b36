# SPDX-License-Identifier: Apache-2.0
"""Mounts and lists many entries, beside a FUSE server with nothing behind it.

    scripts/bench.py mounting [--build DIR] [--scratch DIR] [--rounds N] [--entries N]

A Shard of stored entries of 16 bytes, on a fresh mount in every round.
"""

from . import lib
from .results import RUN


class Names:
    """Many entries: mounting and listing them, and the memory they take."""

    def __init__(self, tools: lib.Tools, count: int):
        self.tools = tools
        self.count = count
        self.out = lib.Samples()
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


AIMS = {"mount": 0.2, "RSS after mount": 60}


def report(names: Names) -> None:
    out = names.out
    for listing in ("find", "ls -lR"):
        RUN.add(f"{listing}, beside null_fs", out.ratio(f"null_fs {listing}", listing),
                "of null_fs")
    for name, values in out.values.items():
        memory = "SS" in name
        RUN.add(name, [v / 1024 if memory else v for v in values],
                "MiB" if memory else "s", AIMS.get(name))


def main() -> None:
    options = lib.options_of(__doc__, 5)
    options.add_argument("--entries", type=int, default=200_000)
    chosen = options.parse_args()
    with lib.tools_of(chosen) as tools:
        names = Names(tools, chosen.entries)
        for _ in range(chosen.rounds):
            names.round()
        report(names)
