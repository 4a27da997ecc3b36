#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures ctxfs, always as ratios within one run (docs/performance.md).

    scripts/bench.py NAME [--help] [OPTIONS]
"""

import ast
import importlib
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent / "bench"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py")
               if path.stem not in ("__init__", "lib", "peers"))


def summary(name: str) -> str:
    """The first line of a benchmark's docstring: importing it may need numpy or dask."""
    text = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text()))
    return (text or "").splitlines()[0]


def usage() -> str:
    return __doc__ + "\n" + "\n".join(f"{name:>12}  {summary(name)}" for name in NAMES)


def main() -> int | None:
    name = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if name in ("-h", "--help"):
        print(usage())
        return 0
    if name not in NAMES:
        print(f"{name!r} is none of: {', '.join(NAMES)}", file=sys.stderr)
        return 2
    sys.argv = [f"{sys.argv[0]} {name}", *sys.argv[2:]]
    return importlib.import_module(f"bench.{name}").main()


if __name__ == "__main__":
    sys.exit(main())
