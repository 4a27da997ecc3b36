#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a sanitizer has written a report: check_reports.py DIRECTORY"""

import pathlib
import sys


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    if not folder.is_dir():
        print(f"{folder} does not exist: did the mounts run?")
        return 1
    reports = sorted(path for path in folder.iterdir() if path.stat().st_size > 0)
    for path in reports:
        print(f"== {path}")
        print(path.read_text(errors="replace")[:10_000])
    print(f"{len(reports)} reports")
    return 1 if reports else 0


if __name__ == "__main__":
    sys.exit(main())
