#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks who includes whom: the layers of ARCHITECTURE.md, as a test.

Each folder may include itself and what stands in its row; nothing else of the
project. Only fs and the bench's yardstick may know FUSE.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

CODEC = ["core/base"]
CONTENT = CODEC + ["core/codec", "core/io"]
CONTAINER = CONTENT + ["core/content"]
ABOVE = CONTAINER + ["core/container"]
CORE = ABOVE + ["core/tree", "core/views"]

# Lowest layer first.
MAY_INCLUDE = {
    "core/base": [],
    "core/io": CODEC,
    "core/codec": CODEC,
    "core/content": CONTENT,
    "core/container": CONTAINER,
    "core/formats": ABOVE,
    "core/views": ABOVE,
    "core/tree": ABOVE,
    "fs": CORE,
    "tests": CORE + ["core/formats", "fs"],
}

# A format's header is for its own files and its profiles.
FORMAT_HEADERS = {
    "core/formats/column_shard/chunk.h",
    "core/formats/column_shard/schema.h",
    "core/formats/column_shard/column_shard.h",
    "core/codec/bit_bytes.h",
    "core/formats/cowrie/cowrie.h",
    "core/formats/cowrie/arrays.h",
    "core/formats/graph/cowrie_files.h",
    "core/formats/cowrie/decoder.h",
    "core/formats/cowrie/gen1.h",
    "core/formats/cowrie/numbers.h",
    "core/formats/cowrie/reader.h",
    "core/formats/cowrie/text.h",
    "core/formats/cvc/cvc.h",
    "core/formats/cvc/draft.h",
    "core/formats/manifest/file_digest.h",
    "core/formats/manifest/manifest.h",
    "core/formats/mcf/mcf.h",
    "core/formats/mcf/quantisation.h",
    "core/formats/megacontext/level.h",
    "core/formats/megacontext/metadata.h",
    "core/formats/mem8/archive.h",
    "core/formats/mem8/fields.h",
    "core/formats/mem8/image.h",
    "core/formats/mem8/kind.h",
    "core/formats/mem8/members.h",
    "core/formats/mem8/sections.h",
    "core/formats/model_shard/delta.h",
    "core/formats/model_shard/merge.h",
    "core/formats/model_shard/model_shard.h",
    "core/formats/sample_shard/sample_shard.h",
    "core/formats/shard/shard.h",
    "core/formats/graph/sjgn_cursor.h",
    "core/formats/graph/sjgn_sections.h",
    "core/formats/graph/sjgn_table.h",
    "core/formats/model_shard/tensor_shard.h",
    "core/formats/model_shard/tensor_v1.h",
    "core/formats/wshard/wshard.h",
    "core/formats/wshard/join.h",
    "core/formats/wshard/lanes.h",
    "core/formats/wshard/manifest.h",
    "core/formats/wshard/repair.h",
    "core/formats/wshard/residual.h",
}

FUSE = re.compile(r"#include\s*<fuse(_lowlevel|_opt|3/.*)?\.?h?>")
MAY_KNOW_FUSE = ("fs/", "tests/bench/")
QUOTED = re.compile(r'^\s*#include\s*"([^"]+)"')


def folder_of(path: str) -> str:
    for folder in sorted(MAY_INCLUDE, key=len, reverse=True):
        if path.startswith(folder + "/"):
            return folder
    return ""


def faults_in(path: pathlib.Path) -> list[str]:
    name = path.relative_to(ROOT).as_posix()
    folder = folder_of(name)
    faults = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{name}:{number}"
        if FUSE.search(line) and not name.startswith(MAY_KNOW_FUSE):
            faults.append(f"{where}: includes FUSE")
        match = QUOTED.match(line)
        if not match:
            continue
        target = match.group(1)
        if target == "fs/version.h":
            continue  # made by CMake
        if not (ROOT / target).is_file():
            faults.append(f"{where}: {target} is not a path from the root")
            continue
        other = folder_of(target)
        if other not in (folder, *MAY_INCLUDE[folder]):
            faults.append(f"{where}: {folder} includes {target}")
        if other == folder == "core/formats" and target not in FORMAT_HEADERS:
            faults.append(f"{where}: a format includes another: {target}")
    return faults


def main() -> int:
    files = [
        path
        for top in ("core", "fs", "tests")
        for path in sorted((ROOT / top).rglob("*"))
        if path.suffix in (".cc", ".h")
    ]
    homeless = [p for p in files if not folder_of(p.relative_to(ROOT).as_posix())]
    faults = [f"{p}: in no known folder" for p in homeless]
    for path in files:
        if path not in homeless:
            faults += faults_in(path)
    for fault in faults:
        print(fault)
    print(f"{len(files)} files, {len(faults)} faults")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
