#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks who needs whom: the floors of core, by the symbols of its objects.

check_includes.py sees headers. A function that a low folder declares and a high
one defines is a way up that no include shows: the linker finds it. This reads
the symbols of every object of libctxfs and, in builds with remote objects, of
ctxfs_remote. A folder may use what itself and the floors below it define; a folder
on the same floor is not below, and for objects of libctxfs nothing of ctxfs_remote
is: what has a network is in no library that programs link. Inline functions are in headers, so only what one object
defines is counted. A build that compiles families of formats together cannot show
who of them needs whom: there they are one folder, and that of `dev` shows it.

check_symbols.py [BUILD]: by default the build/* with the newest library.
"""

import collections
import os
import pathlib
import re
import subprocess
import sys

from check_includes import FAMILIES, MAY_INCLUDE, ROOT

FORMATS = "core/formats"
LIBRARIES = {"core": "libctxfs", "core/remote": "ctxfs_remote"}  # by where they are made
TOGETHER = f"{FORMATS}/families"
SHOWN = 5  # symbols of one edge


def families() -> list[list[str]]:
    """The folders of format families, lowest floor first."""
    left = {path.name for path in (ROOT / FORMATS).iterdir() if path.is_dir()}
    floors = []
    while left:
        floor = sorted(one for one in left if not left & set(FAMILIES.get(one, [])))
        if not floor:
            sys.exit(f"families include each other in a circle: {sorted(left)}")
        floors.append([f"{FORMATS}/{one}" for one in floor])
        left -= set(floor)
    return floors


def floors() -> list[list[str]]:
    """The folders of core, lowest floor first. The files of core/formats itself
    name every family."""
    order = []
    for folder in MAY_INCLUDE:
        if folder == FORMATS:
            order += [*families(), [TOGETHER]]
        if folder.startswith("core/"):
            order.append([folder])
    return order


def objects_of(place: str, build: pathlib.Path) -> list[tuple[pathlib.Path, str]]:
    """The objects of the library that is made at `place`, and the folder of each."""
    target = LIBRARIES[place]
    library = build / place / f"lib{target.removeprefix('lib')}.a"
    if not library.is_file():
        return []
    # Objects of files that are gone may still lie about.
    members = set(subprocess.run(["ar", "t", library], capture_output=True, text=True,
                                 check=True).stdout.split())
    top = build / place / "CMakeFiles" / f"{target}.dir"
    return [(obj, sources_of(obj, top, place, build))
            for obj in sorted(top.rglob("*.o")) if obj.name in members]


def sources_of(obj: pathlib.Path, objects: pathlib.Path, place: str, build: pathlib.Path) -> str:
    """The folder of the sources of an object, which may be several files of one
    folder, or of families of formats, that were compiled together."""
    unity = obj.with_suffix("") if obj.with_suffix("").suffix == ".cxx" else None
    if unity is not None and unity.is_file():
        sources = re.findall(r'#include "([^"]+)"', unity.read_text())
        folder = pathlib.Path(os.path.commonpath([os.path.dirname(one) for one in sources]))
        if folder == ROOT / FORMATS and pathlib.Path(sources[0]).parent != folder:
            return TOGETHER
        top = build if folder.is_relative_to(build) else ROOT  # some sources are made
        return folder.relative_to(top).as_posix() if folder.is_relative_to(top) else ""
    parts = obj.parent.relative_to(objects).parts  # "__" is the folder above
    return os.path.normpath("/".join([place, *parts]).replace("__", ".."))


def symbols_of(obj: pathlib.Path) -> tuple[set[str], set[str]]:
    """What an object alone defines, and what it needs of others."""
    lines = subprocess.run(["nm", "--format=posix", obj], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    defined, needed = set(), set()
    for name, kind, *_ in map(str.split, lines):
        if kind == "U":
            needed.add(name)
        elif kind in "ABDRST":
            defined.add(name)
    return defined, needed


def demangled(names: list[str]) -> list[str]:
    return subprocess.run(["c++filt", *names], capture_output=True, text=True,
                          check=True).stdout.splitlines()


def newest_build() -> pathlib.Path:
    libraries = list(ROOT.glob("build/*/core/libctxfs.a"))
    if not libraries:
        sys.exit("there is no library below build/: build ctxfs first")
    return max(libraries, key=lambda one: one.stat().st_mtime).parent.parent


def main() -> int:
    build = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else newest_build()
    build = build.resolve()
    order = floors()
    floor_of = {folder: i for i, floor in enumerate(order) for folder in floor}
    home: dict[str, tuple[str, str]] = {}  # folder and library
    needs: dict[tuple[str, str], set[str]] = collections.defaultdict(set)
    faults = []
    found = [(obj, folder, place) for place in LIBRARIES
             for obj, folder in objects_of(place, build)]
    if any(folder == TOGETHER for _, folder, _ in found):
        found = [(obj, TOGETHER if folder.startswith(f"{FORMATS}/") else folder, place)
                 for obj, folder, place in found]
    for obj, folder, place in found:
        while folder and folder not in floor_of:
            folder = folder.rpartition("/")[0]  # one below it
        if not folder:
            faults.append(f"{obj}: is of no known folder")
            continue
        defined, needed = symbols_of(obj)
        home.update(dict.fromkeys(defined, (folder, place)))
        needs[folder, place] |= needed
    edges = collections.defaultdict(list)
    for user, names in needs.items():
        for name in names:
            if home.get(name, user) != user:
                edges[user, home[name]].append(name)
    for ((user, user_place), (owner, owner_place)), names in sorted(edges.items()):
        apart = user_place == "core" != owner_place
        if user == owner and not apart:
            continue
        if floor_of[owner] < floor_of[user] and not apart:
            continue
        shown = ", ".join(demangled(sorted(names)[:SHOWN]))
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        where = "of another library" if apart else "no floor below"
        faults.append(f"{user} uses what {owner} defines, which is {where}: {shown}{more}")
    for number, floor in enumerate(order, 1):
        without = "" if {folder for folder, _ in needs} & set(floor) else " (not built)"
        print(f"{number:2} {' '.join(floor)}{without}")
    for fault in faults:
        print(fault)
    print(f"{len(found)} objects, {len(home)} symbols, {len(edges)} edges between folders,"
          f" {len(faults)} faults")
    return 1 if faults or not edges else 0


if __name__ == "__main__":
    sys.exit(main())
