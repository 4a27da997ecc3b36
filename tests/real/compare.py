#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares real files, member by member, with the readers of their formats.

    tests/real/compare.py [--bin DIR] [--packages DIR]

Gets the packages of packages.txt and npm.json (README.md), takes the containers
out of them, and reads each through a mount and through `ctxfs extract`. Every
member must have the bytes that zipfile, tarfile, numpy, onnx, safetensors, gguf
and torch read. Prints the count; exits with 1 if a byte differs, a member is
missing, or fewer files or formats than these were compared.
"""

import argparse
import contextlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator

import readers
import sources

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEAST_FILES = 40


class Comparison:
    """What was compared, and what differed."""

    def __init__(self) -> None:
        self.members: Counter[str] = Counter()
        self.files: Counter[str] = Counter()
        self.wrong: list[str] = []

    def add(self, file: readers.File, root: pathlib.Path, how: str) -> None:
        """Compares every member of a file with what is below `root`."""
        for path, expected in file.members():
            try:
                shown = (root / path).read_bytes()
            except OSError as error:
                self.wrong.append(f"{file.path.name}, {how}: {path}: {error.strerror}")
                continue
            if shown != expected:
                self.wrong.append(f"{file.path.name}, {how}: {path}: other bytes")
            if how == "mount":
                self.members[file.format] += 1
        if how == "mount":
            self.files[file.format] += 1

    def extract(self, build: pathlib.Path, file: readers.File, out: pathlib.Path) -> None:
        """Compares every member of a file with what `ctxfs extract` writes."""
        done = subprocess.run([build / "ctxfs", "extract", "--all", file.path, out],
                              capture_output=True, check=False)
        if done.returncode != 0:
            self.wrong.append(f"{file.path.name}, extract: {done.stderr.decode().strip()}")
        self.add(file, out, "extract")
        shutil.rmtree(out, ignore_errors=True)

    def demand(self) -> None:
        """A comparison of little is none: all formats, and files enough."""
        for name in sorted(set(readers.READERS) - set(self.files)):
            self.wrong.append(f"no file of {name} was compared")
        if self.files.total() < LEAST_FILES:
            self.wrong.append(f"only {self.files.total()} files were compared")

    def report(self) -> str:
        lines = [f"{name:12} {self.members[name]:6} members of {self.files[name]:4} files"
                 for name in sorted(self.files)]
        lines.append(f"{self.members.total()} members of {self.files.total()} files in "
                     f"{len(self.files)} formats, {len(self.wrong)} differences")
        return "\n".join(lines)


@contextlib.contextmanager
def mounted(build: pathlib.Path, folder: pathlib.Path, point: pathlib.Path
            ) -> Iterator[pathlib.Path]:
    """Mounts a folder, and unmounts it at the end."""
    point.mkdir()
    subprocess.run([build / "ctxfs", "mount", folder, point], check=True)
    try:
        yield point
    finally:
        subprocess.run(["umount", point], check=True)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/dev")
    options.add_argument("--packages", type=pathlib.Path,
                         help="where packages are kept; they are not got again")
    args = options.parse_args()
    build = args.bin.resolve()
    found = Comparison()
    with tempfile.TemporaryDirectory(prefix="ctxfs-real-") as scratch:
        work = pathlib.Path(scratch)
        packages = (args.packages or work / "packages").resolve()
        sources.get_packages(packages)
        files = sources.unpack(packages, work / "files")
        with mounted(build, work / "files", work / "mnt") as point:
            for file in files:
                found.add(file, point / file.path.parent.name / (file.path.name + "~dir"),
                          "mount")
        for file in files:
            found.extract(build, file, work / "out")
    found.demand()
    print("\n".join(found.wrong[:50]))
    print(found.report())
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
