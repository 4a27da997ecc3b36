#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures ctxfs, always as ratios within one run (docs/performance.md).

    scripts/bench.py NAME [--json FILE] [OPTIONS]
    scripts/bench.py compare OLD.json NEW.json
    scripts/bench.py table FILE.json | PAGE.md ...

NAME is one of those below, and --help shows its options. The rows of a run, the
machine and the commit are written to FILE, by default a new one in
build/bench-results. `compare` prints the medians of two such files and the ratios of
their rounds; `table` prints a file as a table, or makes the tables of a page anew.
"""

import ast
import datetime
import importlib
import pathlib
import sys

from bench import lib, results

FOLDER = pathlib.Path(__file__).resolve().parent / "bench"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py")
               if path.stem not in ("__init__", "lib", "results"))
OTHERS = {"compare": results.run_compare, "table": results.run_table}


def summary(name: str) -> str:
    """The first line of a benchmark's docstring: importing it may need numpy or dask."""
    text = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text()))
    return (text or "").splitlines()[0]


def usage() -> str:
    return __doc__ + "\n" + "\n".join(f"{name:>12}  {summary(name)}" for name in NAMES)


def take_file(name: str, words: list[str]) -> pathlib.Path:
    """Takes --json FILE out of the words; else a new file."""
    if "--json" in words[:-1]:
        at = words.index("--json")
        file = pathlib.Path(words[at + 1]).resolve()
        del words[at:at + 2]
        return file
    when = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    return lib.ROOT / "build" / "bench-results" / f"{name}-{when}.json"


def main() -> int | None:
    name, *words = sys.argv[1:] or ["--help"]
    if name in ("-h", "--help"):
        print(usage())
        return 0
    if name in OTHERS:
        return OTHERS[name](words)
    if name not in NAMES:
        print(f"{name!r} is none of: {', '.join([*NAMES, *OTHERS])}", file=sys.stderr)
        return 2
    file = take_file(name, words)
    sys.argv = [f"{sys.argv[0]} {name}", *words]
    results.RUN.start(name, words)
    failed = importlib.import_module(f"bench.{name}").main()
    if not failed and results.RUN.rows:
        results.RUN.write(file)
        print(results.table(file), end="")
        print(f"bench.py: these rows are in {file}", file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
