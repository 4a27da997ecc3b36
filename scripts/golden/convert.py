#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes golden/FOLDER.json, the answers that tests compare with, from the sources in
golden/FOLDER/*.json: which writer made a container, what other readers make of it, and
what it holds, in the words of its format. golden/README.md describes the answers.

  convert.py [--check] [FOLDER...]

--check writes nothing, and fails if an answer is not what its source makes."""

import argparse
import json
import sys

from common import GOLDEN, Contradiction, written
import archives
import conventions
import cowrie
import cvc
import mcf
import megacontext
import mem8
import profiles
import recordings
import shards
import tensors
import tfrecord
import trees
import wshard
import zarr

CONVERTERS = {
    "conventions": conventions,
    "cowrie": cowrie,
    "shard-profiles": profiles,
    "wshard": wshard,
    "megacontext": megacontext,
    "mem8": mem8,
    "mcap": recordings,
    "mcf": mcf,
    "cvc": cvc,
    "mds": trees,
    "zarr": zarr,
    "shard": shards,
    "gguf": tensors, "safetensors": tensors,
    "tfrecord": tfrecord,
    "npz": archives, "onnx": archives, "tar": archives, "torch": archives, "zip": archives,
}


def sources(folder: str):
    """(file, its JSON) of all that are no containers' own."""
    for path in sorted((GOLDEN / folder).rglob("*.json")):
        try:
            answer = json.loads(path.read_text())
        except ValueError:
            continue
        if isinstance(answer, dict):
            yield path, answer


def converted(folder: str, changed=None) -> dict:
    """The cases of a folder; `changed` are sources in place of those in their files."""
    cases = {}
    for path, answer in sources(folder) if changed is None else changed:
        try:
            for name, case in CONVERTERS[folder].convert(path, answer):
                if name in cases:
                    raise Contradiction("two sources for", name)
                cases[name] = case
        except (Contradiction, LookupError, TypeError, ValueError, AttributeError,
                OSError) as error:
            raise Contradiction(f"{path.name}: {error!r}") from error
    return cases


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("folders", nargs="*", metavar="FOLDER", default=[])
    options = parser.parse_args()
    stale = 0
    for folder in options.folders or CONVERTERS:
        text = written(converted(folder))
        file = GOLDEN / (folder + ".json")
        if not options.check:
            file.write_text(text)
        elif file.read_text() != text:
            print(f"{file} is not what its sources make", file=sys.stderr)
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
