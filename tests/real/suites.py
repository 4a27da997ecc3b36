#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the archives of other projects' tests with the readers of their formats.

    tests/real/suites.py [--bin DIR] [--work DIR]

Gets the packages that suites.json pins (README.md), and reads each archive in them by
zipfile, tarfile or onnx, and through a mount. Both must have the same members with the same
bytes, or both must refuse. Where they do not, suites_known.json has the reason, and
docs/robustness.md explains it. Prints the matrix; exits with 1 for a disagreement that
is not known, for one that is known and is none any more, and if the document has other
counts.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import stat
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator

import readers
import suite_sources

ROOT = pathlib.Path(__file__).resolve().parents[2]
KNOWN = pathlib.Path(__file__).with_name("suites_known.json")
DOCUMENT = ROOT / "docs/robustness.md"
LEAST = 600  # archives
# What a reader raises for an archive, or a member, that it does not read.
REFUSALS = (OSError, EOFError, RuntimeError, ValueError, NotImplementedError, KeyError,
            IndexError, tarfile.TarError, zipfile.BadZipFile, UnicodeError, AttributeError,
            OverflowError, MemoryError)
LARGEST = 64 << 20  # bytes of a member: of a larger one only the size is compared
# Members by path: bytes, or the size of a large one; None for one that cannot be read.
Members = dict[str, bytes | int | None]


def plain(name: str) -> str | None:
    """A name as a path below the archive; None for one that leads out of it."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    return None if not parts or ".." in parts else "/".join(parts)


def one_member(size: int, read) -> bytes | int | None:
    if size > LARGEST:
        return size
    try:
        return read()
    except (*REFUSALS, Exception):  # noqa: BLE001 - whatever a reader raises is a refusal
        return None


def zip_members(path: pathlib.Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {plain(one.filename): one_member(one.file_size, lambda one=one: archive.read(one))
                for one in archive.infolist()
                if not one.is_dir() and not is_link(one)}


def is_link(one: zipfile.ZipInfo) -> bool:
    """Whether a member is a symbolic link: other systems than Unix have no such mode."""
    return one.create_system == 3 and stat.S_ISLNK(one.external_attr >> 16)


def tar_members(path: pathlib.Path) -> Members:
    with tarfile.open(path) as archive:
        return {plain(one.name): one_member(
            one.size, lambda one=one: archive.extractfile(one).read())
                for one in archive if one.isfile() or one.islnk()}


def theirs(path: pathlib.Path) -> Members | None:
    """What the reader of a format has; None if it refuses the archive."""
    try:
        if path.suffix == ".onnx":
            return dict(readers.onnx_members(path))
        is_zip = not tarfile_says(path) and zipfile.is_zipfile(path)
        members = zip_members(path) if is_zip else tar_members(path)
    except (*REFUSALS, Exception):  # noqa: BLE001
        return None
    members.pop(None, None)
    return members


def tarfile_says(path: pathlib.Path) -> bool:
    try:
        return path.name.endswith(".tar") and tarfile.is_tarfile(path)
    except (*REFUSALS, Exception):  # noqa: BLE001
        return False


def ours(folder: pathlib.Path) -> Members | None:
    """What the mount shows; None if it shows nothing of the archive."""
    if not folder.is_dir():
        return None
    members: Members = {}
    shown = folder / "tensors" if folder.name.endswith(".onnx~dir") else folder
    for above, _, names in os.walk(shown):
        for name in names:
            path = pathlib.Path(above, name)
            if not path.is_symlink():
                members[path.relative_to(folder).as_posix()] = one_member(
                    path.stat().st_size, path.read_bytes)
    return members


def difference(expected: Members | None, shown: Members | None) -> str:
    """The first difference in a few words; empty if there is none."""
    readable = {name for name, data in (expected or {}).items() if data is not None}
    if not readable:
        extra = [name for name, data in (shown or {}).items() if data]
        return f"shown: {len(extra)} members that the reader does not read" if extra else ""
    if shown is None:
        return "refused: the reader reads it"
    for name in sorted(readable):
        if name not in shown:
            return f"missing: {name}"
        if shown[name] != expected[name]:
            return f"{'EIO' if shown[name] is None else 'other bytes'}: {name}"
    # Of equal names the last counts for a reader; the mount shows the others, too.
    more = sorted(name for name in shown
                  if name not in expected and not re.search(r"~\d+(\.|$)", name))
    return f"more: {more[0]}" if more else ""


def documented() -> Counter[str]:
    """How many archives of each group the document has."""
    table = DOCUMENT.read_text().partition("| group | archives | reason |")[2]
    return Counter({group: int(count)
                    for group, count in re.findall(r"^\| ([\w-]+) \| (\d+) \| \w", table, re.M)})


@contextlib.contextmanager
def mounted(build: pathlib.Path, folder: pathlib.Path, point: pathlib.Path
            ) -> Iterator[pathlib.Path]:
    point.mkdir(exist_ok=True)
    subprocess.run([build / "ctxfs", "mount", folder, point], check=True)
    try:
        yield point
    finally:
        subprocess.run(["umount", point], check=True)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/dev")
    options.add_argument("--work", type=pathlib.Path, help="where what is got is kept")
    args = options.parse_args()
    known = json.loads(KNOWN.read_text())
    count: Counter[tuple[str, str]] = Counter()
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="ctxfs-suites-") as scratch:
        work = (args.work or pathlib.Path(scratch)).resolve()
        archives = suite_sources.collect(work)
        with mounted(args.bin.resolve(), work / "archives", work / "mnt") as point:
            for name, path in archives:
                shown = ours(point / (path.name + "~dir"))
                differs = difference(theirs(path), shown)
                suite = name.split("/")[0]
                count[suite, "differ" if differs else "agree"] += 1
                if differs:
                    found[name] = differs
    for suite in sorted({suite for suite, _ in count}):
        print(f"{suite:28} {count[suite, 'agree']:5} agree {count[suite, 'differ']:4} differ")
    new = sorted(set(found) - set(known))
    gone = sorted(set(known) - set(found))
    for name in new:
        print(f"not known: {name}: {found[name]}")
    for name in gone:
        print(f"known, and agrees now: {name}")
    groups = Counter(known.values())
    explained = documented() == groups
    if not explained:
        print(f"{DOCUMENT.relative_to(ROOT)} has other groups or counts than {dict(groups)}")
    print(f"{len(archives)} archives, {len(found)} differ, {len(new)} of them not known")
    return 1 if new or gone or not explained or len(archives) < LEAST else 0


if __name__ == "__main__":
    sys.exit(main())
