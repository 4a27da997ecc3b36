# SPDX-License-Identifier: Apache-2.0
"""`python -m ctxfs`: the program ctxfs of this package; with an option that only fleets have, it
works through a fleet of containers (docs/fleets.md)."""

import os
import subprocess
import sys

_PROGRAM = os.path.join(os.path.dirname(__file__), "bin", "ctxfs")
_FLEET = """
On a cluster, or with processes of its own, with a Parquet report (docs/fleets.md):

  python -m ctxfs check|extract|index|stats SOURCE... -o REPORT.parquet [--dask ADDRESS]
"""
# The program's check, extract and stats have none of them.
_FLEET_OPTIONS = ("--dask", "--digest", "--local", "--to", "--unit")


def _is_for_fleets(arguments: list[str]) -> bool:
    if arguments[:1] == ["index"]:
        return True
    return arguments[:1] in (["check"], ["extract"], ["stats"]) and any(
        one.startswith("-o") or one.partition("=")[0] in _FLEET_OPTIONS for one in arguments[1:])


def main(arguments: list[str]) -> int:
    if _is_for_fleets(arguments):
        from ctxfs.fleet import _cli  # pylint: disable=import-outside-toplevel
        return _cli.main(arguments)
    if not os.path.exists(_PROGRAM):
        print(f"ctxfs: this package was built without its program, {_PROGRAM}", file=sys.stderr)
        return 126
    if arguments not in ([], ["-h"], ["--help"], ["help"]):
        os.execv(_PROGRAM, ["ctxfs", *arguments])
    code = subprocess.run(["ctxfs", *arguments], executable=_PROGRAM, check=False).returncode
    print(_FLEET, end="", file=sys.stderr if code else sys.stdout)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
