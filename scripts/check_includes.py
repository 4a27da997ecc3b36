#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks who includes whom: the layers of ARCHITECTURE.md, as a test.

Each folder may include itself and what stands in its row; nothing else of the
project. Only the files in LIBFUSE may include libfuse, by way of another file or
not, and a build without FUSE leaves those out. A format family has a namespace
of its own, that of its folder.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

CODEC = ["core/base"]
CONTENT = CODEC + ["core/codec", "core/io"]
CONTAINER = CONTENT + ["core/content"]
ABOVE = CONTAINER + ["core/container"]
VFS = ABOVE + ["core/tree", "core/views"]
CORE = VFS + ["core/views/list", "core/report", "core/vfs"]

# Lowest layer first. A folder below one of these belongs to it.
MAY_INCLUDE = {
    "core/base": [],
    "core/io": CODEC,
    "core/codec": CODEC,
    "core/content": CONTENT,
    # Files that are compressed as a whole, as sources, and parts of deflate.
    "core/compressed": CONTAINER,
    # Blocks of objects on the disk, and objects of servers. Nothing else in core
    # depends on them.
    "core/cache": CONTENT,
    "core/remote": CONTENT + ["core/cache"],
    "core/container": CONTAINER,
    "core/formats": ABOVE + ["core/compressed"],
    "core/views": ABOVE,
    "core/report": ABOVE + ["core/views"],
    # Names every view, those of reports too.
    "core/views/list": ABOVE + ["core/report", "core/views"],
    "core/tree": ABOVE,
    "core/vfs": VFS,
    # The interface for C.
    "core/api": CORE + ["core/remote"],
    # Over the interface for C alone.
    "python": ["core/api"],
    "fs": CORE + ["core/cache", "core/remote"],
    "tests": CORE + ["core/api", "core/cache", "core/compressed", "core/formats", "core/remote", "fs"],
}

# A format family may include itself and the families in its row; a family
# without a row includes no other.
FAMILIES = {
    "column_shard": ["shard"],
    "gemm_shard": ["model_shard"],
    "graph": ["cowrie", "shard"],
    "manifest": ["shard"],
    "mcap": ["sample_shard"],
    "mds": ["sample_shard"],
    "model_shard": ["cowrie", "graph", "shard"],
    "sample_shard": ["cowrie", "shard"],
    "tar": ["npy"],
    "torch": ["zip"],
    "trace_shard": ["cowrie", "shard"],
    "vector_index": ["shard"],
    "wshard": ["manifest", "shard"],
    "zip": ["npy"],
}

# What includes libfuse, without the suffix .cc or .h. <linux/fuse.h> is the
# kernel's, which is there without libfuse.
LIBFUSE = {
    "fs/fuse/fuse_request",
    "fs/fuse/loop",
    "fs/kernel/mapped_direct_io",
    "fs/fuse/ops",
    "fs/fuse/ops_directories",
    "fs/fuse/ops_files",
    "fs/fuse/ops_internal",
    "fs/mount/options",
    "fs/fuse/session",
    "tests/bench/null_fs",
    "tests/unit/fs/fuse/fuse_request_test",
}
FUSE = re.compile(r"^\s*#\s*include\s*[<\"](fuse3?/)?(fuse|cuse)\w*(\.h)?[>\"]", re.MULTILINE)
QUOTED = re.compile(r'^\s*#include\s*"([^"]+)"', re.MULTILINE)


def folder_of(path: str) -> str:
    for folder in sorted(MAY_INCLUDE, key=len, reverse=True):
        if path.startswith(folder + "/"):
            return folder
    return ""


def family_of(path: str) -> str:
    """The folder below core/formats; "registry.cc" for that file."""
    return path.removeprefix("core/formats/").split("/")[0]


def faults_in(path: pathlib.Path) -> list[str]:
    name = path.relative_to(ROOT).as_posix()
    folder = folder_of(name)
    faults = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{name}:{number}"
        match = QUOTED.match(line)
        if not match:
            continue
        target = match.group(1)
        if target == "core/version.h":
            continue  # made by CMake
        if not (ROOT / target).is_file():
            faults.append(f"{where}: {target} is not a path from the root")
            continue
        other = folder_of(target)
        if other not in (folder, *MAY_INCLUDE[folder]):
            faults.append(f"{where}: {folder} includes {target}")
        if other == folder == "core/formats":
            own, family = family_of(name), family_of(target)
            if family not in (own, *FAMILIES.get(own, [])):
                faults.append(f"{where}: family {own} includes {target}")
    return faults


def faults_of_namespace(path: pathlib.Path) -> list[str]:
    """Of a file of a family that declares nothing in the family's namespace."""
    name = path.relative_to(ROOT).as_posix()
    family = family_of(name)
    if not name.startswith("core/formats/") or family == path.name:
        return []
    if f"\nnamespace ctxfs::{family} {{" in path.read_text():
        return []
    return [f"{name}: is not in namespace ctxfs::{family}"]


def that_include_libfuse(files: list[pathlib.Path]) -> set[str]:
    """Those that include libfuse, or include a header that does."""
    texts = {path.relative_to(ROOT).as_posix(): path.read_text() for path in files}
    found = {name for name, text in texts.items() if FUSE.search(text)}
    while more := {name for name, text in texts.items()
                   if name not in found and found.intersection(QUOTED.findall(text))}:
        found |= more
    return found


def faults_of_libfuse(files: list[pathlib.Path]) -> list[str]:
    found = that_include_libfuse(files)
    faults = [f"{name}: includes libfuse and is not in LIBFUSE" for name in sorted(found)
              if name.rpartition(".")[0] not in LIBFUSE]
    stale = LIBFUSE - {name.rpartition(".")[0] for name in found}
    faults += [f"{name}: does not include libfuse any more" for name in sorted(stale)]
    # What fs/CMakeLists.txt builds only with FUSE, between if(CTXFS_FUSE) and else().
    rules = (ROOT / "fs" / "CMakeLists.txt").read_text()
    left_out = re.findall(r"\S+\.cc", rules.partition("if(CTXFS_FUSE)")[2].partition("else()")[0])
    faults += [f"{name}: is built without FUSE, too" for name in sorted(found)
               if name.startswith("fs/") and name.endswith(".cc")
               and name.removeprefix("fs/") not in left_out]
    return faults


def main() -> int:
    files = [
        path
        for top in ("core", "fs", "python", "tests")
        for path in sorted((ROOT / top).rglob("*"))
        if path.suffix in (".cc", ".h")
    ]
    homeless = [p for p in files if not folder_of(p.relative_to(ROOT).as_posix())]
    faults = [f"{p}: in no known folder" for p in homeless]
    for path in files:
        if path not in homeless:
            faults += faults_in(path) + faults_of_namespace(path)
    faults += faults_of_libfuse(files)
    for fault in faults:
        print(fault)
    print(f"{len(files)} files, {len(faults)} faults")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
