# SPDX-License-Identifier: Apache-2.0
"""The golden containers, and the answers to what is in them."""

import functools
import json
import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "golden"
FOLDERS = sorted(path.stem for path in GOLDEN.glob("*.json"))


@functools.cache
def answers(folder: str) -> dict[str, dict]:
    """By the path of a container below the folder, and its options (golden/README.md)."""
    found = json.loads((GOLDEN / f"{folder}.json").read_text())
    return {name: found[answer] if isinstance(answer, str) else answer
            for name, answer in found.items()}


def golden_path(folder: str, name: str) -> pathlib.Path:
    return GOLDEN / folder / name.partition(" -o ")[0]


def path_of(key: str) -> str:
    """The path in a container that an answer is for: of any bytes, after "hex:"."""
    return os.fsdecode(bytes.fromhex(key[4:])) if key.startswith("hex:") else key


def options_of(name: str, answer: dict, directory: pathlib.Path) -> dict:
    """What `ctxfs.open` takes for the mount options in the name of an answer."""
    options = {"salvage": "-o salvage" in name, "verify": "-o verify=off" not in name}
    if "key" in answer:
        key = directory / "key"
        key.write_text(answer["key"])
        key.chmod(0o600)
        options["key_file"] = key
    return options


@pytest.fixture
def episode() -> pathlib.Path:
    """Arrays of most types, each of 8 rows."""
    return GOLDEN / "wshard" / "all_dtypes.wshard"


@pytest.fixture
def damaged() -> pathlib.Path:
    """meta/episode has a flipped byte, at 736; everything else is sound."""
    return GOLDEN / "wshard" / "corrupt" / "flip_meta_episode.wshard"
