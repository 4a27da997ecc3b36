# SPDX-License-Identifier: Apache-2.0
"""What a run measured, row by row: as a file, as a table, and beside another run."""

import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

from . import lib

# Units of which less is better. Of all others, which are rates and ratios to a
# yardstick, more is.
COSTS = ("s", "ms", "us", "MiB", "bytes", "bytes moved per byte", "requests", "round trips",
         "bytes a container")


def shown(values: list[float]) -> str:
    """The median with three significant digits, and the least to the most."""
    middle, least, most = (f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
                           for value in (statistics.median(values), min(values), max(values)))
    return f"{middle} ({least} to {most})" if len(values) > 1 else middle


def command_output(*command: str) -> str:
    done = subprocess.run(command, cwd=lib.ROOT, check=False, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def load() -> str:
    """Anything near the number of cores, before the start, spoils the run."""
    return " ".join(f"{one:.2f}" for one in os.getloadavg())


def machine() -> dict[str, str]:
    cpu = [line.split(":", 1)[1].strip()
           for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
           if line.startswith("model name")]
    huge = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return {
        "cpu": f"{cpu[0] if cpu else 'unknown'}, {os.cpu_count()} cores",
        "kernel": platform.release(),
        "huge pages": huge.read_text().strip() if huge.exists() else "none",
        "libfuse": command_output("pkg-config", "--modversion", "fuse3") or "unknown",
    }


def without_folders(words: list[str]) -> list[str]:
    """The words of a command without the folders of this machine."""
    kept, names = [], iter(words)
    for word in names:
        if word in ("--build", "--scratch", "--svg"):
            next(names, None)
        else:
            kept.append(pathlib.Path(word).name if "/" in word else word)
    return kept


class Results:
    """The rows of a run, in the order in which they were measured first."""

    def __init__(self) -> None:
        self.name = ""
        self.arguments: list[str] = []
        self.machine: dict[str, str] = {}
        self.rows: dict[str, dict] = {}

    def start(self, name: str, arguments: list[str]) -> None:
        self.name, self.arguments = name, without_folders(arguments)
        self.machine = machine() | {"load at the start": load()}

    def add(self, row: str, values: list[float], unit: str, aim: float | None = None) -> None:
        """Adds a row with a value of each round.

        `unit` is one of COSTS, a rate such as "GB/s", or what the ratio is to, such
        as "of null_fs". `aim` is what the median ought to reach.
        """
        if row in self.rows:
            raise ValueError(f"{row!r} was measured twice")
        self.rows[row] = {"row": row, "unit": unit, "aim": aim, "values": list(values)}
        print(f"{row}: {shown(values)} {unit}", file=sys.stderr, flush=True)

    def write(self, path: pathlib.Path) -> None:
        changed = command_output("git", "status", "--porcelain", "--untracked-files=no")
        commit = command_output("git", "rev-parse", "--short=12", "HEAD")
        run = {
            "benchmark": self.name,
            "arguments": self.arguments,
            "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "commit": commit + (" and changes" if changed else ""),
            "machine": self.machine | {"load at the end": load()},
            "rows": list(self.rows.values()),
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")


# Of this process.
RUN = Results()


def read(path: pathlib.Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def table(path: pathlib.Path) -> str:
    """The rows of a file of results as Markdown, below what was measured where."""
    run = read(path)
    words = " ".join(["scripts/bench.py", run["benchmark"], *run["arguments"]])
    where = run["machine"]
    loads = f"load {where['load at the start']} before, {where['load at the end']} after"
    heads = ["what", "median (least to most)", "unit", "aim"]
    rows = [[one["row"], shown(one["values"]), one["unit"],
             "" if one["aim"] is None else f"{one['aim']:g}"] for one in run["rows"]]
    lines = [f"`{words}` of {run['commit']}, {run['date']}: {where['cpu']}, "
             f"Linux {where['kernel']}, libfuse {where['libfuse']}, {loads}.", "",
             lib.row(*heads), lib.row(*["---"] * len(heads))]
    return "\n".join(lines + [lib.row(*cells) for cells in rows]) + "\n"


def improvement(unit: str, old: float, new: float) -> float:
    """More than 1: the new value is better."""
    above, below = (old, new) if unit in COSTS else (new, old)
    return above / below if below else float("nan")


def compare(old: pathlib.Path, new: pathlib.Path) -> str:
    """Each row of both runs, and how many times as good the second is.

    Rounds are paired by their number if both runs have as many: what the first
    rounds of a run warm up is then compared with the same of the other.
    """
    before, after = ({one["row"]: one for one in read(path)["rows"]} for path in (old, new))
    rows = []
    for name in dict.fromkeys([*before, *after]):
        if name not in before or name not in after:
            only = old if name in before else new
            rows.append([name, *(["only in " + only.name] + [""] * 3)])
            continue
        a, b = before[name], after[name]
        ratios = [improvement(a["unit"], one, other) for one, other in
                  (zip(a["values"], b["values"]) if len(a["values"]) == len(b["values"]) else
                   [(statistics.median(a["values"]), statistics.median(b["values"]))])]
        rows.append([name, shown(a["values"]), shown(b["values"]), a["unit"], shown(ratios)])
    heads = ["what", old.name, new.name, "unit", "times as good"]
    return "\n".join([lib.row(*heads), lib.row(*["---"] * len(heads)),
                      *(lib.row(*cells) for cells in rows)]) + "\n"


START = "<!-- Made of {} by scripts/bench.py table. -->"
END = "<!-- The end of it. -->"


def with_tables(page: pathlib.Path) -> str:
    """The text of a page with each of its tables made anew of its file."""
    made, rest = "", page.read_text(encoding="utf-8")
    before, after = START.split("{}")
    while before in rest:
        text, rest = rest.split(before, 1)
        name, rest = rest.split(after, 1)
        _, rest = rest.split(END, 1)
        made += f"{text}{before}{name}{after}\n\n{table(page.parent / name)}\n{END}"
    return made + rest


def run_compare(words: list[str]) -> int:
    if len(words) != 2:
        print("usage: bench.py compare OLD.json NEW.json", file=sys.stderr)
        return 2
    print(compare(*(pathlib.Path(word) for word in words)), end="")
    return 0


def run_table(words: list[str]) -> int:
    """Prints the table of a file, or makes those of Markdown pages anew."""
    for word in words:
        path = pathlib.Path(word)
        if path.suffix == ".md":
            path.write_text(with_tables(path), encoding="utf-8")
        else:
            print(table(path), end="")
    return 0
