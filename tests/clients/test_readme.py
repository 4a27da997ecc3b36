# SPDX-License-Identifier: Apache-2.0
"""README's gallery, run as it stands there: each command, and what it prints."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from mounting import BIN, ROOT, is_mounted, run

SECTION = (ROOT / "README.md").read_text().split("\n## Gallery\n")[1].split("\n## ")[0]
BLOCKS = re.findall(r"^```console\n(.*?)^```$", SECTION, re.DOTALL | re.MULTILINE)
assert len(BLOCKS) >= 8, "the gallery is gone"


def commands(block: str) -> list[tuple[str, str]]:
    """Each command with its output; one goes on while its lines begin with `> `."""
    found = []
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append([line[2:], ""])
        elif line.startswith("> ") and not found[-1][1]:
            found[-1][0] += line[2:]
        else:
            found[-1][1] += line
    return [(command, output) for command, output in found if command.strip()]


def title(block: str) -> str:
    return commands(block)[1][0].split()[0]


@pytest.mark.parametrize("block", BLOCKS, ids=title)
def test_gallery(block, tmp_path):
    (tmp_path / "golden").symlink_to(ROOT / "golden")
    path = f"{BIN}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = dict(os.environ, PATH=path, LC_ALL="C.UTF-8")
    try:
        for command, expected in commands(block):
            done = subprocess.run(
                ["bash", "-c", command], cwd=tmp_path, env=environment, timeout=60,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )
            assert done.stdout.decode() == expected, command
    finally:
        if is_mounted(tmp_path / "mnt"):
            run("umount", "-l", tmp_path / "mnt")
