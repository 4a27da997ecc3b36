# SPDX-License-Identifier: Apache-2.0
"""Renders a table as text, whose size the first stat has to find out.

    scripts/bench.py tables [--build DIR] [--scratch DIR] [--rounds N] [--table-rows N]

A ColumnShard of 12 columns as CSV and as JSON lines, on a fresh mount with a cache
that holds all of the text, and one that does not.
"""

import sys

from . import lib
from .results import RUN

sys.path.insert(0, str(lib.ROOT / "tests" / "mount"))
import tables as written  # noqa: E402  writes the table as the tests do


class Tables:
    """A table of 12 columns as text: the first stat renders it, to know its size."""

    CACHES = ("512M", "64M")

    def __init__(self, tools: lib.Tools, rows: int):
        self.tools = tools
        self.rows = rows
        self.out = lib.Samples()
        self.container = tools.scratch / f"table-{rows}.cshard"
        if not self.container.exists():
            written.write(self.container, rows)
        lib.warm(self.container)

    def round(self) -> None:
        views = self.tools.point / "views"
        for cache in self.CACHES:
            for kind in ("csv", "jsonl"):
                name = f"{kind}, cache={cache}"
                path = views / f"table.{kind}"
                with self.tools.ctxfs(self.container, f"cache={cache}"):
                    self.out.add(f"{name}: ls views", lib.run_timed(f"ls {views}"))
                    self.out.add(f"{name}: first stat", lib.run_timed(f"stat {path}"))
                    self.out.add(f"{name}: second stat", lib.run_timed(f"stat {path}"))
                    self.out.add(f"{name}: read", lib.run_timed(f"cat {path} >/dev/null"))
                    memory = lib.memory_of(lib.daemon_of(self.tools.point))
                    self.out.add(f"{name}: peak RSS", memory["VmHWM"] / 1024)


def main() -> None:
    options = lib.options_of(__doc__, 5)
    options.add_argument("--table-rows", type=int, default=1_000_000)
    chosen = options.parse_args()
    with lib.tools_of(chosen) as tools:
        measured = Tables(tools, chosen.table_rows)
        for _ in range(chosen.rounds):
            measured.round()
    for name, values in measured.out.values.items():
        RUN.add(name, values, "MiB" if name.endswith("RSS") else "s",
                5 if name.endswith("first stat") else None)
